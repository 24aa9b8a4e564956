package sandbox

import (
	"strings"
	"unicode/utf8"
)

// The prefixes of refs.
const (
	HeadsPrefix   = "refs/heads/"
	RemotesPrefix = "refs/remotes/origin/"
)

// Worktree is one line of a repository's list of worktrees.
type Worktree struct {
	Path     string // absolute, as git keeps it
	Branch   string // without refs/heads/; empty when detached
	Head     string // full ID; empty before the first commit
	Locked   bool
	Prunable bool // git takes it for gone
}

// ParseWorktrees reads what `git worktree list --porcelain -z` prints, the main working tree first. It fails with sandbox.ErrGit for a record
// that names no path; attributes that it does not know are left out.
func ParseWorktrees(out []byte) ([]Worktree, error) {
	var found []Worktree
	begun := false
	for rest := string(out); rest != ""; {
		line, after, ended := strings.Cut(rest, "\x00")
		rest = after
		word, value, _ := strings.Cut(line, " ")
		switch {
		case !ended, word != "worktree" && line != "" && !begun, word == "worktree" && (begun || value == ""):
			return nil, unexpected("worktree list", line)
		case word == "worktree":
			begun, found = true, append(found, Worktree{Path: value})
		case line == "":
			begun = false
		case word == "HEAD" && strings.Trim(value, "0") != "":
			found[len(found)-1].Head = value
		case word == "branch":
			found[len(found)-1].Branch = strings.TrimPrefix(value, HeadsPrefix)
		case word == "locked":
			found[len(found)-1].Locked = true
		case word == "prunable":
			found[len(found)-1].Prunable = true
		}
	}
	return found, nil
}

const (
	linkMode    = "160000"
	entryFields = 3 // mode, object and stage, then a tab and the path
)

// ParseSubmodules reads what `git ls-files --stage -z` prints, and gives the paths where other repositories are put (submodules).
func ParseSubmodules(out []byte) ([]string, error) {
	var links []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if entry == "" {
			continue
		}
		facts, path, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(facts)
		if !ok || path == "" || len(fields) != entryFields {
			return nil, unexpected("ls-files", entry)
		}
		if fields[0] == linkMode && (len(links) == 0 || links[len(links)-1] != path) { // conflicts list a path several times
			links = append(links, path)
		}
	}
	return links, nil
}

// SplitRecords splits what git printed with a NUL behind every entry.
func SplitRecords(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

func unexpected(what, line string) error {
	return ErrGit.Sayf("git printed %.80q for %s, which is not in the form that this version reads; use git 2.39 or newer", line, what)
}

// plain is text as people and JSON take it.
func plain(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
