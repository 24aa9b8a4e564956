package project

import (
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
)

// MaxListedNames is the maximum length of each list of a Status or Diff. Counts are exact beyond it.
const MaxListedNames = 1000

// Head is the HEAD of a repository: a branch, which need not have a commit yet, or a commit.
type Head struct {
	Branch   string // without refs/heads/; empty when detached
	Detached bool   // on a commit, or on something that is not a branch
	Commit   string // full ID when detached; else empty, because the branch is enough
}

// ParseHead parses a HEAD file. It reports false for what only git can answer: another ref storage, and names that are not those of branches.
func ParseHead(text []byte) (Head, bool) {
	line := strings.TrimRight(string(text), " \t\r\n")
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		name, ok := strings.CutPrefix(strings.TrimLeft(target, " \t"), git.HeadsPrefix)
		if !ok {
			return Head{}, false
		}
		branch, err := git.ParseBranch(name) // .invalid, the placeholder of other ref storages, is not a branch
		return Head{Branch: branch.String()}, err == nil
	}
	commit, err := git.ParseCommit(line)
	if err != nil {
		return Head{}, false
	}
	return Head{Detached: true, Commit: commit.String()}, true
}

// unexpected returns the error for output that git does not promise to print.
func unexpected(what, record string) error {
	return ErrExecutionFailed.WithMessage("unexpected git output: cannot parse a %s at %.200q; use git 2.39 or newer", what, record)
}

// plain returns text with each byte that is not UTF-8 replaced by U+FFFD, so it never gets shorter.
func plain(text string) string { return string([]rune(text)) }

// named adds a name to a list of at most MaxListedNames, and counts it.
func named(names *[]string, count *int, name string) {
	if *count++; len(*names) < MaxListedNames {
		*names = append(*names, plain(name))
	}
}
