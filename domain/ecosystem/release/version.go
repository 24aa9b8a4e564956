// Package release holds the rules for releasing several repositories under one version: SemVer 2.0 and its precedence, the results of bump and
// promote, the version that repositories share now, the checks before a release, and edits of version files and changelogs (amof contract §8, §20.6).
//
// The package is pure: names and texts come in and go out.
//
// Its API may change at any time.
package release

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The ways a release is refused.
var (
	ErrVersion = fault.New(fault.Invalid, "eco_version_invalid", "not a version; use MAJOR.MINOR.PATCH, optionally with -alpha.1, -beta.1 or -rc.1")
	ErrStep    = fault.New(fault.State, "eco_release_step_invalid", "the current version does not allow this step; call amof_release_status for the allowed steps")
	ErrTag     = fault.New(fault.Conflict, "eco_tag_exists", "the tag already exists")
	ErrChecks  = fault.New(fault.State, "eco_release_not_ready", "the ecosystem cannot be released; call amof_release_validate for the reasons")
	ErrText    = fault.New(fault.State, "eco_version_file_invalid", "a version file has no version that its pattern matches")
)

// maxVersion is how long a version may be: tags of other kinds are not worth reading.
const maxVersion = 256

// Version is one of SemVer 2.0. The zero Version is 0.0.0, which stands for: none yet.
type Version struct {
	Major, Minor, Patch uint64
	Pre                 string // the pre-release identifiers with their dots; empty when stable
	Build               string // has no precedence
}

// ParseVersion reads a version as SemVer 2.0 writes it, without a prefix. It fails with ErrVersion, also for numbers beyond 64 bits.
func ParseVersion(s string) (Version, error) {
	bad := ErrVersion.WithMessage("invalid version %.80q; use MAJOR.MINOR.PATCH, optionally with -alpha.1, -beta.1 or -rc.1", s)
	if len(s) > maxVersion {
		return Version{}, bad
	}
	var v Version
	rest, build, built := strings.Cut(s, "+")
	core, pre, staged := strings.Cut(rest, "-")
	v.Pre, v.Build = pre, build
	numbers := strings.Split(core, ".")
	if len(numbers) != 3 || staged && !identifiers(pre, true) || built && !identifiers(build, false) {
		return Version{}, bad
	}
	for i, into := range []*uint64{&v.Major, &v.Minor, &v.Patch} {
		n, ok := number(numbers[i])
		if !ok {
			return Version{}, bad
		}
		*into = n
	}
	return v, nil
}

// number reads digits without leading zeros.
func number(s string) (uint64, bool) {
	if !digits(s) || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// identifiers reports dot-separated identifiers. Numeric ones of a pre-release have no leading zeros.
func identifiers(s string, pre bool) bool {
	for id := range strings.SplitSeq(s, ".") {
		if id == "" || pre && digits(id) && len(id) > 1 && id[0] == '0' {
			return false
		}
		for i := range len(id) {
			c := id[i]
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' {
				return false
			}
		}
	}
	return true
}

// String returns the version as Parse reads it.
func (v Version) String() string {
	s := strconv.FormatUint(v.Major, 10) + "." + strconv.FormatUint(v.Minor, 10) + "." + strconv.FormatUint(v.Patch, 10)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	if v.Build != "" {
		s += "+" + v.Build
	}
	return s
}

// Shown returns the version as answers show it: with a v, whatever the prefix of tags (amof contract §8).
func (v Version) Shown() string { return "v" + v.String() }

// CompareVersions orders versions by the precedence of SemVer 2.0 §11: negative when a is before b, zero when neither is before the other.
func CompareVersions(a, b Version) int {
	if c := cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor), cmp.Compare(a.Patch, b.Patch)); c != 0 {
		return c
	}
	switch {
	case a.Pre == b.Pre:
		return 0
	case a.Pre == "":
		return 1
	case b.Pre == "":
		return -1
	}
	return comparePre(strings.Split(a.Pre, "."), strings.Split(b.Pre, "."))
}

func comparePre(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if c := compareIdentifiers(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareIdentifiers: numbers by their value, however long, and before words; words by their bytes.
func compareIdentifiers(a, b string) int {
	switch x, y := digits(a), digits(b); {
	case x && y:
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	case x:
		return -1
	case y:
		return 1
	}
	return strings.Compare(a, b)
}

// The stages, in their order (amof contract §8).
const (
	alpha  = "alpha"
	beta   = "beta"
	rc     = "rc"
	Stable = "stable"
)

// rank returns the place of a stage in their order; zero for a word that is none.
func rank(stage string) int {
	switch stage {
	case alpha:
		return 1
	case beta:
		return 2
	case rc:
		return 3
	case Stable:
		return 4
	}
	return 0
}

// Stage returns the stage of a version and which of its kind it is: Stable, 0 for a stable one. Pre-releases of other forms are a stage of their
// own, which has no rank.
func (v Version) Stage() (stage string, n uint64) {
	if v.Pre == "" {
		return Stable, 0
	}
	word, rest, numbered := strings.Cut(v.Pre, ".")
	if rank(word) == 0 || word == Stable {
		return v.Pre, 0
	}
	if !numbered {
		return word, 0
	}
	n, ok := number(rest)
	if !ok {
		return v.Pre, 0
	}
	return word, n
}
