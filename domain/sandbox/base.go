package sandbox

import (
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
)

// BaseBranch is the branch that a sandbox's work is compared with, and merged into.
type BaseBranch struct {
	Name  string // for users: "main", or "origin/main"
	Ref   string // in full
	Local bool   // one of the clone's own, and not of its remote
}

// Base returns the branch that a sandbox's work goes back to: the requested one, else the one that it was made from, else the clone's current branch,
// main or master. on is the branch of the sandbox, which is never its own base. It fails with ErrBranch.
func (r BranchRefs) Base(on, recorded, wish string) (BaseBranch, error) {
	if wish != "" {
		if found, ok := r.find(wish); ok && found.Name != on {
			return found, nil
		}
		near := SimilarNames(wish, names(r), MaxNear)
		if wish == on {
			return BaseBranch{}, ErrArguments.WithMessage("%s is the branch of the sandbox itself; use another one", plain(wish))
		}
		hint := "use a branch of the clone or origin/NAME"
		if len(near) > 0 {
			hint = "similar: " + strings.Join(near, ", ")
		}
		return BaseBranch{}, ErrBranch.WithMessage("branch %.80q not found in the clone or on origin; %s", wish, hint).WithDetails(MissingBranch{Branch: wish, Near: near})
	}
	for _, name := range []string{recorded, r.Current, "main", "master", "origin/main", "origin/master"} {
		if found, ok := r.find(name); ok && found.Name != on && found.Name != "origin/"+on {
			return found, nil
		}
	}
	return BaseBranch{}, ErrBranch.WithMessage("the clone has no branch except the sandbox's, %s; name the base branch", plain(on))
}

// find returns the branch of that name: a local one, or one of origin's with or without "origin/".
func (r BranchRefs) find(name string) (BaseBranch, bool) {
	if name == "" {
		return BaseBranch{}, false
	}
	if _, ok := r.Local[name]; ok {
		return BaseBranch{Name: name, Ref: git.HeadsPrefix + name, Local: true}, true
	}
	if short := strings.TrimPrefix(name, "origin/"); r.Origin[short] {
		return BaseBranch{Name: "origin/" + short, Ref: git.RemotesPrefix + short}, true
	}
	return BaseBranch{}, false
}
