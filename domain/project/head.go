package project

import (
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
)

// MaxListedNames is how many names each list of a Status or Diff holds at most. Counts are exact beyond it.
const MaxListedNames = 1000

// Head is what a repository stands on: a branch, which need not have a commit yet, or a commit.
type Head struct {
	Branch   string // without refs/heads/; empty when detached
	Detached bool   // on a commit, or on something that is no branch
	Commit   string // the full ID when detached; else empty, because the branch alone says enough
}

// ParseHead reads a HEAD file. It reports false for what only git can answer: another kind of storage, and names that are no branch's.
func ParseHead(text []byte) (Head, bool) {
	line := strings.TrimRight(string(text), " \t\r\n")
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		name, ok := strings.CutPrefix(strings.TrimLeft(target, " \t"), git.HeadsPrefix)
		if !ok {
			return Head{}, false
		}
		branch, err := git.ParseBranch(name) // the stand-in of other storages, .invalid, is none
		return Head{Branch: branch.String()}, err == nil
	}
	commit, err := git.ParseCommit(line)
	if err != nil {
		return Head{}, false
	}
	return Head{Detached: true, Commit: commit.String()}, true
}

// unexpected reports output that is not what git promises to print.
func unexpected(what, record string) error {
	return ErrExecutionFailed.Sayf("git printed a %s that cannot be read, at %.200q; use git 2.39 or newer", what, record)
}

// plain is text as it can stand in an answer: each byte that is no UTF-8 becomes U+FFFD, so it never gets shorter.
func plain(text string) string { return string([]rune(text)) }

// named adds a name to a list that holds MaxListedNames at most, and counts it.
func named(names *[]string, count *int, name string) {
	if *count++; len(*names) < MaxListedNames {
		*names = append(*names, plain(name))
	}
}
