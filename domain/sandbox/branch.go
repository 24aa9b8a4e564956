package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/git"
)

// BranchPrefix is the prefix of the branches that are made for sandboxes (opencode contract §12.3).
const BranchPrefix = "sandbox/"

// BranchRefs are the branches that a decision depends on.
type BranchRefs struct {
	Current string            // the clone's current branch; empty when detached
	Commit  string            // its commit; empty before the first one
	Local   map[string]string // local branches → the directory where one is checked out, or is being rebased; empty for none
	Origin  map[string]bool   // branches on origin, as last fetched
}

// NewBranchRefs returns the branches among the refs, without Current and Commit.
func NewBranchRefs(refs []git.Ref) BranchRefs {
	r := BranchRefs{Local: map[string]string{}, Origin: map[string]bool{}}
	for _, ref := range refs {
		if name, ok := strings.CutPrefix(ref.Name, git.HeadsPrefix); ok {
			r.Local[name] = ref.Worktree
		} else if name, ok := strings.CutPrefix(ref.Name, git.RemotesPrefix); ok && ref.Symbolic == "" { // origin/HEAD is an alias
			r.Origin[name] = true
		}
	}
	return r
}

// BranchPlan is what a new worktree starts from.
type BranchPlan struct {
	Branch string // its branch
	From   string // local branch, origin/branch, or commit
	Create bool   // Branch is made
	Track  bool   // Branch tracks From
	Note   string // why it is not the requested one
}

// MissingBranch is the details of sandbox.ErrBranch.
type MissingBranch struct {
	Branch string   `json:"branch"`
	Near   []string `json:"near"` // at most sandbox.MaxNear, the nearest first
}

// PlanBranch makes the decision of opencode contract §12.3: without a request, a new branch from the clone's current one; else the local branch, a
// new one from it if it is checked out elsewhere, or a new one that tracks origin's. It fails with sandbox.ErrName, with sandbox.ErrArguments for an
// invalid branch name, and with sandbox.ErrBranch, whose details are MissingBranch.
func PlanBranch(r BranchRefs, name, wish string) (BranchPlan, error) {
	if err := CheckName(name); err != nil {
		return BranchPlan{}, err
	}
	if wish == "" {
		from := cmp.Or(r.Current, r.Commit)
		if from == "" || r.Commit == "" {
			return BranchPlan{}, ErrBranch.WithMessage("%s", noStart(r)).
				WithDetails(MissingBranch{Near: names(r)})
		}
		return r.fresh(name, from, "")
	}
	if _, err := git.ParseBranch(wish); err != nil {
		return BranchPlan{}, ErrArguments.WithMessage("branch %.80q cannot be used: %v", wish, err).WithCause(err)
	}
	place, local := r.Local[wish]
	switch {
	case local && place == "":
		return BranchPlan{Branch: wish, From: wish}, nil
	case local:
		return r.fresh(name, wish, fmt.Sprintf("%s is checked out in %s, and a branch can be checked out only once", wish, plain(place)))
	case r.Origin[wish]:
		if conflicting := r.conflicting(wish); conflicting != "" {
			return BranchPlan{}, ErrArguments.WithMessage("branch %s conflicts with the local branch %s, because git stores one as a directory of the other; rename %s first", wish, conflicting, conflicting)
		}
		return BranchPlan{Branch: wish, From: "origin/" + wish, Create: true, Track: true}, nil
	}
	near := SimilarNames(wish, names(r), MaxNear)
	hint := "opencode_sandbox_create without branch uses the current one"
	if len(near) > 0 {
		hint = "similar: " + strings.Join(near, ", ")
	}
	return BranchPlan{}, ErrBranch.WithMessage("branch %q not found in the clone or on origin; %s", wish, hint).WithDetails(MissingBranch{Branch: wish, Near: near})
}

// noStart returns the error if there is no branch or commit to start from.
func noStart(r BranchRefs) string {
	if known := names(r); len(known) > 0 {
		return fmt.Sprintf("the clone has no checked-out branch, because the HEAD of its origin is missing; name a branch: %s", strings.Join(known[:min(len(known), MaxNear)], ", "))
	}
	return "the clone has no commits; push one to its origin, or name a branch"
}

const tries = 1000 // number of names that are tried

// fresh returns a new branch for the sandbox: sandbox/{name}, or the next one that is free.
func (r BranchRefs) fresh(name, from, note string) (BranchPlan, error) {
	base := BranchPrefix + name
	if _, blocked := r.Local[strings.TrimSuffix(BranchPrefix, "/")]; blocked { // then no branch can be below it
		base = strings.TrimSuffix(BranchPrefix, "/") + "-" + name
	}
	for i := range tries {
		branch := base
		if i > 0 {
			branch = fmt.Sprintf("%s-%d", base, i+1)
		}
		if _, taken := r.Local[branch]; taken || r.conflicting(branch) != "" {
			continue
		}
		if branch != BranchPrefix+name {
			note = strings.TrimPrefix(note+"; "+BranchPrefix+name+" could not be created, because a branch with a conflicting name exists", "; ")
		}
		return BranchPlan{Branch: branch, From: from, Create: true, Note: note}, nil
	}
	return BranchPlan{}, ErrArguments.WithMessage("all names like %s%s are taken by branches; delete some, or choose another name", BranchPrefix, name)
}

// conflicting returns a local branch whose name is a directory of this one's, or the reverse; git can only have one of them.
func (r BranchRefs) conflicting(branch string) string {
	for i := range len(branch) {
		if _, ok := r.Local[branch[:i]]; ok && branch[i] == '/' {
			return branch[:i]
		}
	}
	for other := range r.Local {
		if strings.HasPrefix(other, branch+"/") {
			return other
		}
	}
	return ""
}

// names returns all branches, each once, sorted.
func names(r BranchRefs) []string {
	var all []string
	for name := range r.Local {
		all = append(all, name)
	}
	for name := range r.Origin {
		if _, local := r.Local[name]; !local {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// SimilarNames returns the names that may have been meant, the nearest first: those that differ by a few letters, and those that contain, or are part
// of, the other.
func SimilarNames(wish string, among []string, limit int) []string {
	type candidate struct {
		name     string
		distance int
	}
	lower := strings.ToLower(strings.TrimPrefix(wish, "origin/"))
	allowed := max(2, len(lower)/3)
	var found []candidate
	for _, name := range among {
		other := strings.ToLower(name)
		last := other[strings.LastIndexByte(other, '/')+1:]
		d := min(distance(lower, other, allowed), distance(lower, last, allowed)+1, distance(lower[strings.LastIndexByte(lower, '/')+1:], last, allowed/2)+2)
		if part := strings.Contains(other, lower) || len(other) > 2 && strings.Contains(lower, other); part {
			d = min(d, allowed)
		}
		if d <= allowed {
			found = append(found, candidate{name, d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	near := make([]string, 0, min(len(found), limit))
	for _, c := range found[:min(len(found), limit)] {
		near = append(near, plain(c.name))
	}
	return near
}

const longName = 256 // characters; longer names are not mistyped ones

// distance returns the number of insertions, deletions and replacements of characters between a and b, or a number above most if there are more than
// most.
func distance(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if len(x) > longName || len(x)-len(y) > most || len(y)-len(x) > most {
		return 2*most + 1
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(y)]
}
