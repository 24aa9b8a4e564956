package project

import "strings"

// Worktree is one of a repository's working trees (packageflow contract §1.10).
type Worktree struct {
	Path     string // absolute, as git keeps it: it need not exist any more, and links in it are not resolved
	Branch   string // without refs/heads/; empty when detached or bare
	Head     string // full ID of the commit; empty when there is none yet, or bare
	Main     bool   // the one the repository itself lies in; when that is Bare it has no files
	Bare     bool
	Detached bool
	Locked   bool // git will not prune it
	Prunable bool // its directory is gone
}

// ParseWorktrees reads what `git worktree list --porcelain -z` prints: the main working tree comes first. It fails with
// project.ErrExecutionFailed for a record that names no path. Lines that it does not know are left out.
func ParseWorktrees(out []byte) ([]Worktree, error) {
	var found []Worktree
	begun := false
	for rest := string(out); rest != ""; {
		line, after, ended := strings.Cut(rest, "\x00")
		rest = after
		word, value, _ := strings.Cut(line, " ")
		switch {
		case !ended, word != "worktree" && line != "" && !begun, word == "worktree" && (begun || value == ""):
			return nil, unexpected("list of worktrees", line)
		case word == "worktree":
			begun, found = true, append(found, Worktree{Path: value, Main: len(found) == 0})
		case line == "":
			begun = false
		default:
			found[len(found)-1].attribute(word, value)
		}
	}
	return found, nil
}

func (w *Worktree) attribute(word, value string) {
	switch word {
	case "HEAD":
		if strings.Trim(value, "0") != "" { // zeros stand for no commit
			w.Head = value
		}
	case "branch":
		w.Branch = plain(strings.TrimPrefix(value, branches))
	case "detached":
		w.Detached = true
	case "bare":
		w.Bare = true
	case "locked":
		w.Locked = true
	case "prunable":
		w.Prunable = true
	}
}
