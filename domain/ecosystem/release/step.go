package release

import (
	"math"
	"strconv"
)

// The parts of a version that a bump raises.
const (
	major = "major"
	minor = "minor"
	patch = "patch"
)

// Bump returns the version that a bump of that part leads to, as a pre-release of that stage, or stable when stage is empty. It is always higher
// than v. A pre-release of the very version that the part would lead to is gone on with: patch on 1.0.3-alpha.2 is 1.0.3, patch beta on it
// 1.0.3-beta.1 (amof contract §8). It fails with ErrStep.
func Bump(v Version, part, stage string) (Version, error) {
	series := v.Pre != "" && (part == patch || part == minor && v.Patch == 0 || part == major && v.Minor == 0 && v.Patch == 0)
	base := Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch}
	raised, ok := raise(base, part)
	if !ok {
		return Version{}, ErrStep.WithMessage("%s cannot be bumped by %q; bump_type is patch, minor or major, and numbers are limited to 64 bits", v, part)
	}
	switch {
	case stage == "" && series:
		return base, nil
	case stage == "":
		return raised, nil
	case rank(stage) == 0 || stage == Stable:
		return Version{}, ErrStep.WithMessage("unknown pre-release stage %q; use alpha, beta or rc", stage)
	}
	if series {
		if next, ok := stageAfter(v, stage); ok {
			return next, nil
		}
	}
	raised.Pre = stage + ".1"
	return raised, nil
}

func raise(v Version, part string) (Version, bool) {
	switch {
	case part == patch && v.Patch < math.MaxUint64:
		return Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1}, true
	case part == minor && v.Minor < math.MaxUint64:
		return Version{Major: v.Major, Minor: v.Minor + 1}, true
	case part == major && v.Major < math.MaxUint64:
		return Version{Major: v.Major + 1}, true
	}
	return Version{}, false
}

// stageAfter returns the next pre-release of that stage for the version that v leads to; not ok when that would not be higher than v.
func stageAfter(v Version, stage string) (Version, bool) {
	now, n := v.Stage()
	next := Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch, Pre: stage + ".1"}
	if now == stage && n < math.MaxUint64 {
		next.Pre = stage + "." + strconv.FormatUint(n+1, 10)
	}
	return next, CompareVersions(next, v) > 0
}

// Promote returns the version that a pre-release leads to: stable when target is empty, else the first or next one of a stage that is no earlier
// (amof contract §8). It fails with ErrStep.
func Promote(v Version, target string) (Version, error) {
	stage, _ := v.Stage()
	switch {
	case stage == Stable:
		return Version{}, ErrStep.WithMessage("%s is stable and cannot be promoted; call amof_release_bump to start the next version", v)
	case target == "":
		return Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch}, nil
	case target != beta && target != rc:
		return Version{}, ErrStep.WithMessage("unknown promotion target %q; use beta, rc, or no target for stable", target)
	}
	if next, ok := stageAfter(v, target); ok {
		return next, nil
	}
	return Version{}, ErrStep.WithMessage("%s is already past %s; promote it to a later stage or, without a target, to stable", v, target)
}

// Way is a version that can follow, and the step that leads to it.
type Way struct {
	Version string `json:"version"`
	How     string `json:"how"`
}

// Ways returns the versions that can follow, each once, by the first step that leads to it.
func Ways(v Version) []Way {
	var ways []Way
	seen := map[Version]bool{}
	add := func(how string, next Version, err error) {
		if err == nil && !seen[next] {
			seen[next] = true
			ways = append(ways, Way{Version: next.Shown(), How: how})
		}
	}
	for _, target := range []string{beta, rc} {
		next, err := Promote(v, target)
		add("promote "+target, next, err)
	}
	next, err := Promote(v, "")
	add("promote", next, err)
	for _, stage := range []string{"", alpha} {
		for _, part := range []string{patch, minor, major} {
			next, err := Bump(v, part, stage)
			how := "bump " + part
			if stage != "" {
				how += " " + stage
			}
			add(how, next, err)
		}
	}
	return ways
}
