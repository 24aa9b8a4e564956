package release

import (
	"regexp"
	"strings"
)

// Auto is the part of a bump that the commits decide: major, minor or patch.
const Auto = "auto"

// conventional is a subject in the form of Conventional Commits: type, scope, and a mark for what breaks users.
var conventional = regexp.MustCompile(`^([A-Za-z]+)(?:\([^()]*\))?(!)?:\s`)

// Part returns the part of a version that commits with those subjects raise, by Conventional Commits: major for what breaks users (type!:, or breaking for a
// footer BREAKING CHANGE), minor for feat, and patch for anything else. Before 1.0.0, where nothing is promised yet, what breaks raises minor.
func Part(v Version, subjects []string, breaking bool) string {
	part := patch
	for _, s := range subjects {
		found := conventional.FindStringSubmatch(s)
		if found == nil {
			continue
		}
		breaking = breaking || found[2] != ""
		if strings.EqualFold(found[1], "feat") {
			part = minor
		}
	}
	switch {
	case breaking && v.Major == 0:
		return minor
	case breaking:
		return major
	}
	return part
}

// HigherPart returns the one of two parts that raises a version more.
func HigherPart(a, b string) string {
	order := map[string]int{patch: 1, minor: 2, major: 3}
	if order[b] > order[a] {
		return b
	}
	return a
}

// Patch is the part that a repository is raised by where only something that it depends on is released.
const Patch = patch
