package ecosystem

import (
	"path"
	"slices"
	"strings"
)

// The words of a status (amof contract §5). Unreadable is ours: a repository that is there and cannot be looked at.
const (
	StatusOK          = "OK"
	StatusMissing     = "MISSING"
	StatusWrongBranch = "WRONG_BRANCH"
	StatusDirty       = "DIRTY"
	StatusUnpushed    = "UNPUSHED"
	StatusUnreadable  = "UNREADABLE"
)

// HasStatus reports whether a status holds that word.
func HasStatus(status, word string) bool { return slices.Contains(strings.Split(status, "+"), word) }

// ExpectedCheckout is a repository of an ecosystem as it should be checked out.
type ExpectedCheckout struct {
	Checkout
	Repo   Repo
	Path   string // of the checkout, relative to the workspace
	Branch string
	Prefix string // branches below it will do too; empty for none
}

// ExpectedCheckouts returns where an installed ecosystem's enabled repositories should be: those that are on record where they were installed, and those that the
// manifest has besides. With a ticket active, the repositories it is about are its worktrees (amof contract §20.3).
func ExpectedCheckouts(m Manifest, s State) []ExpectedCheckout {
	ticket, active := s.Tickets[s.Active()]
	wants := make([]ExpectedCheckout, 0, len(m.Repos))
	add := func(r Repo, pushed *Push) {
		w := ExpectedCheckout{Repo: r, Path: r.Path, Branch: r.Branch, Checkout: Checkout{Name: r.Name}}
		if pushed != nil {
			w.Pushed = pushed.CommitFull
		}
		if !r.ReadOnly {
			w.Prefix = m.TicketPrefix + "/"
			if branch, about := ticket.Repos[r.Name]; active && about {
				w.Branch, w.Prefix = branch, ""
				w.Dir = path.Join(ticket.WorktreeBase, r.Name)
				w.Path = below(s.WorkspaceDir, w.Dir)
			}
		}
		if w.Dir == "" {
			w.Dir = path.Join(s.WorkspaceDir, w.Path)
		}
		wants = append(wants, w)
	}
	for _, r := range m.Active() {
		have := s.Repo(r.Name)
		if have == nil {
			add(r, nil)
			continue
		}
		r.Path = have.Path
		add(r, have.LastPush)
	}
	for _, have := range s.Repos {
		if have.Enabled && !slices.ContainsFunc(m.Repos, func(r Repo) bool { return r.Name == have.Name }) {
			add(Repo{Name: have.Name, URL: have.URL, Path: have.Path, Branch: have.Branch, ReadOnly: have.ReadOnly, Enabled: true}, have.LastPush)
		}
	}
	return wants
}

// below returns dir relative to base if it is inside base; otherwise dir itself.
func below(base, dir string) string {
	if rest, inside := strings.CutPrefix(dir, base+"/"); inside {
		return rest
	}
	return dir
}

// Checkouts returns the places of what is wanted, in its order.
func Checkouts(wants []ExpectedCheckout) []Checkout {
	places := make([]Checkout, len(wants))
	for i, w := range wants {
		places[i] = w.Checkout
	}
	return places
}

// Right reports whether the checkout may be on that branch.
func (w ExpectedCheckout) Right(branch string) bool {
	return branch == w.Branch || w.Prefix != "" && strings.HasPrefix(branch, w.Prefix)
}

// Status returns what a standing comes to beside what is wanted: OK, or the other words joined by + (amof contract §5).
func (w ExpectedCheckout) Status(s GitStatus) string {
	switch {
	case s.Missing:
		return StatusMissing
	case !s.Readable():
		return StatusUnreadable
	}
	var words []string
	if s.Detached || !w.Right(s.Branch) {
		words = append(words, StatusWrongBranch)
	}
	if s.Dirty > 0 {
		words = append(words, StatusDirty)
	}
	if s.Unpushed {
		words = append(words, StatusUnpushed)
	}
	if len(words) == 0 {
		return StatusOK
	}
	return strings.Join(words, "+")
}

// Why says what is out of the ordinary, for users; empty for nothing.
func (w ExpectedCheckout) Why(s GitStatus) string {
	switch {
	case s.Problem != "":
		return s.Problem
	case s.Missing:
		return "no repository found at " + w.Dir + "; amof_sync_ecosystem clones what is missing"
	case s.Operation != "" && s.Taken != "":
		return "in the middle of a " + s.Operation + " of " + s.Taken + "; finish or abort it in " + w.Dir
	case s.Operation != "":
		return "in the middle of a " + s.Operation + "; finish or abort it in " + w.Dir
	case s.Detached:
		return "on no branch (detached HEAD) instead of " + w.Branch
	case s.Head == "":
		return "it has no commits yet"
	}
	return ""
}
