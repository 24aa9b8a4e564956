package release

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// ParseTags returns the versions that a repository's tags name, by tag: those with the prefix before a version.
func ParseTags(prefix string, names []string) map[string]Version {
	found := make(map[string]Version, len(names))
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if v, err := ParseVersion(rest); err == nil {
			found[name] = v
		}
	}
	return found
}

// HighestTag returns the tag of the highest version; empty if there is none. Among equal versions it returns the last by name.
func HighestTag(tags map[string]Version) (tag string, v Version) {
	for name, version := range tags {
		if c := CompareVersions(version, v); tag == "" || c > 0 || c == 0 && name > tag {
			tag, v = name, version
		}
	}
	return tag, v
}

// CommonTag returns the highest version that all repositories have a tag of; the tag is empty, and the version 0.0.0, when they share none. differ are
// the repositories, by their place, whose own highest tag is another one (amof contract §20.6).
func CommonTag(repos []map[string]Version) (tag string, v Version, differ []int) {
	if len(repos) == 0 {
		return "", Version{}, nil
	}
	shared := map[string]Version{}
	for name, version := range repos[0] {
		if !slices.ContainsFunc(repos, func(tags map[string]Version) bool { _, has := tags[name]; return !has }) {
			shared[name] = version
		}
	}
	tag, v = HighestTag(shared)
	for i, tags := range repos {
		if own, _ := HighestTag(tags); own != tag {
			differ = append(differ, i)
		}
	}
	return tag, v, differ
}

// count returns a number of things in words.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// SortRecords returns records with the highest version first: clocks go backwards, versions do not. Releases with independent versions come before,
// the last of them first; what has no version at all comes last, by its tag.
func SortRecords(records []Record) []Record {
	keys := make([]*key, len(records))
	for i := range records {
		v, err := ParseVersion(records[i].Version)
		keys[i] = &key{at: i, version: v, good: err == nil, set: records[i].set()}
	}
	slices.SortStableFunc(keys, func(a, b *key) int {
		switch {
		case a.set != b.set:
			return cmp.Compare(b.set, a.set)
		case a.good != b.good && a.good:
			return -1
		case a.good != b.good:
			return 1
		case !a.good:
			return strings.Compare(records[b.at].Tag, records[a.at].Tag)
		}
		return CompareVersions(b.version, a.version)
	})
	out := make([]Record, len(records))
	for i, k := range keys {
		out[i] = records[k.at]
	}
	return out
}

type key struct {
	at      int
	version Version
	good    bool
	set     uint64
}
