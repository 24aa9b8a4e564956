package workgit

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/project"
)

// branches returns the local ones.
func (t tree) branches(ctx context.Context) ([]project.GitBranch, error) {
	out, err := t.git(ctx, "for-each-ref", "--format=%(refname:lstrip=2)%00%(objectname)%00%(upstream:short)%00%(HEAD)%00%(worktreepath)", "refs/heads")
	if err != nil {
		return nil, err
	}
	var all []project.GitBranch
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(fields) != 5 {
			return nil, project.ErrExecutionFailed.WithMessage("git printed %.80q where a branch was expected; use git 2.39 or newer", line)
		}
		b := project.GitBranch{Name: fields[0], Commit: fields[1], Upstream: fields[2], Current: fields[3] == "*", Place: fields[4]}
		if b.Current {
			b.Place = ""
		}
		all = append(all, b)
	}
	return all, nil
}

func (t tree) local(ctx context.Context, name string) (project.GitBranch, bool, error) {
	all, err := t.branches(ctx)
	i := slices.IndexFunc(all, func(b project.GitBranch) bool { return b.Name == name })
	if i < 0 {
		return project.GitBranch{}, false, err
	}
	return all[i], true, err
}

func named(name string) error {
	if _, err := git.ParseBranch(name); err != nil {
		return project.ErrArgument.WithMessage("invalid branch name %.100q: %v", name, err).WithCause(err)
	}
	return nil
}

func unknownBranch(name, top string) error {
	return project.ErrArgument.WithMessage("branch %.100q not found in %s; git_changes lists the branches", name, top)
}

func noCommit(name, top string) error {
	return project.ErrArgument.WithMessage("%.100q is not a commit in %s; give a branch, a tag or a commit", name, top)
}

// PlanBranch implements projectport.WorkTrees.
func (Client) PlanBranch(ctx context.Context, dir, name, from string, remove bool) (project.BranchChange, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.BranchChange{}, err
	}
	p := project.BranchChange{Top: t.top, Name: name, Delete: remove}
	if err := named(name); err != nil {
		return p, err
	}
	have, known, err := t.local(ctx, name)
	if err != nil {
		return p, err
	}
	if !remove {
		if known {
			return p, project.ErrArgument.WithMessage("branch %s already exists at %.12s; choose another name", name, have.Commit)
		}
		if from == "" {
			from = "HEAD"
		}
		if p.Commit, err = t.commit(ctx, from); err == nil && p.Commit == "" {
			err = noCommit(from, t.top)
		}
		return p, err
	}
	if !known {
		return p, unknownBranch(name, t.top)
	}
	p.Commit = have.Commit
	if have.Current || have.Place != "" {
		return p, project.ErrArgument.WithMessage("branch %s is checked out; check out another one there first", name)
	}
	out, err := t.git(ctx, "for-each-ref", "--contains="+have.Commit, "--format=%(refname)", "refs/heads", "refs/remotes")
	if err != nil {
		return p, err
	}
	for ref := range strings.Lines(string(out)) {
		if ref = strings.TrimSuffix(ref, "\n"); ref != git.HeadsPrefix+name && p.Into == "" {
			p.Into = strings.TrimPrefix(strings.TrimPrefix(ref, git.HeadsPrefix), "refs/remotes/")
		}
	}
	if p.Into == "" {
		return p, project.ErrArgument.WithMessage("branch %s has commits that no other branch has, and they would be lost; merge or push them first, or delete it by hand with git branch -D %s", name, name)
	}
	return p, nil
}

// Branch implements projectport.WorkTrees.
func (Client) Branch(ctx context.Context, p project.BranchChange) error {
	t, err := open(ctx, p.Top)
	if err != nil {
		return err
	}
	if !p.Delete {
		_, err := t.git(ctx, "branch", "--no-track", "--", p.Name, p.Commit)
		return err
	}
	have, known, err := t.local(ctx, p.Name)
	if err != nil {
		return err
	}
	if !known || have.Commit != p.Commit || have.Current || have.Place != "" {
		return project.ErrConflict.WithMessage("branch %s moved in the meantime; call again to get the new plan", p.Name)
	}
	_, err = t.git(ctx, "branch", "-D", "--", p.Name) // that another branch has all of it, the plan has made sure of
	return err
}

// changed returns the names of the files in which two commits differ.
func (t tree) changed(ctx context.Context, from, to string) ([]string, error) {
	if from == "" || from == to {
		return nil, nil
	}
	out, err := t.git(ctx, "diff-tree", "-r", "--name-only", "-z", "--no-renames", from, to)
	return git.SplitRecords(out), err
}

// dirty returns the files that differ from the last commit or that git does not know.
func (t tree) dirty(ctx context.Context) ([]string, error) {
	s, err := t.status(ctx)
	var names []string
	for _, c := range s.Changes {
		names = append(names, c.Path)
	}
	return names, err
}

// inTheWay returns the files of which both sides have something.
func inTheWay(dirty, files []string) (both []string) {
	for _, name := range dirty {
		if slices.ContainsFunc(files, func(f string) bool {
			return f == name || strings.HasPrefix(f, strings.TrimSuffix(name, "/")+"/") || strings.HasPrefix(name, f+"/")
		}) {
			both = append(both, name)
		}
	}
	return both
}

// some returns the names of a list, or the first of them.
func some(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// PlanSwitch implements projectport.WorkTrees.
func (Client) PlanSwitch(ctx context.Context, dir, name, from string, create bool) (project.BranchMove, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.BranchMove{}, err
	}
	p := project.BranchMove{Top: t.top, Branch: name, Create: create}
	if err := named(name); err != nil {
		return p, err
	}
	if err := t.unfiltered(ctx); err != nil {
		return p, err
	}
	if doing := t.doing(); doing != "" && doing != "bisect" {
		return p, project.ErrArgument.WithMessage("a %s is in progress in %s; finish it first, or abort it with git %s --abort", doing, t.top, doing)
	}
	if p.From, err = t.branch(ctx); err != nil {
		return p, err
	}
	if p.Old, err = t.commit(ctx, "HEAD"); err != nil {
		return p, err
	}
	have, known, err := t.local(ctx, name)
	switch {
	case err != nil:
		return p, err
	case known && create:
		return p, project.ErrArgument.WithMessage("branch %s already exists at %.12s; switch to it without create, or choose another name", name, have.Commit)
	case known && have.Place != "":
		return p, project.ErrArgument.WithMessage("branch %s is checked out in %s; a branch can be checked out only once", name, have.Place)
	case known:
		p.Commit = have.Commit
	case create:
		if from == "" {
			from = "HEAD"
		}
		if p.Commit, err = t.commit(ctx, from); err == nil && p.Commit == "" {
			err = noCommit(from, t.top)
		}
	default:
		p.Track, p.Commit, err = t.remoteBranch(ctx, name)
		p.Create = true
	}
	if err != nil {
		return p, err
	}
	if p.Files, err = t.changed(ctx, p.Old, p.Commit); err != nil {
		return p, err
	}
	if p.Dirty, err = t.dirty(ctx); err != nil {
		return p, err
	}
	if both := inTheWay(p.Dirty, p.Files); len(both) > 0 {
		return p, project.ErrArgument.WithMessage("%s differ from the last commit and from %s: %s; commit or stash them first", counted(len(both), "file"), name, some(both))
	}
	return p, nil
}

// remoteBranch returns the one remote branch of that name.
func (t tree) remoteBranch(ctx context.Context, name string) (track, commit string, err error) {
	out, err := t.git(ctx, "for-each-ref", "--format=%(refname:lstrip=2)%00%(objectname)", "refs/remotes")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(out)) {
		ref, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		if _, short, _ := strings.Cut(ref, "/"); short == name {
			if track != "" {
				return "", "", project.ErrArgument.WithMessage("%s and %s are both branches of that name; make yours with create and from", track, ref)
			}
			track, commit = ref, at
		}
	}
	if track == "" {
		return "", "", unknownBranch(name, t.top)
	}
	return track, commit, nil
}

// Switch implements projectport.WorkTrees.
func (c Client) Switch(ctx context.Context, p project.BranchMove) error {
	t, err := open(ctx, p.Top)
	if err != nil {
		return err
	}
	if old, err := t.commit(ctx, "HEAD"); err != nil || old != p.Old {
		if err == nil {
			err = project.ErrConflict.WithMessage("%s moved to another commit since the plan was made; call again", t.top)
		}
		return err
	}
	args := []string{"checkout", "--quiet", "--no-guess", "--no-overwrite-ignore"}
	switch {
	case p.Track != "":
		if at, err := t.commit(ctx, "refs/remotes/"+p.Track); err != nil || at != p.Commit {
			if err == nil {
				err = project.ErrConflict.WithMessage("%s moved in the meantime; call again to get the new plan", p.Track)
			}
			return err
		}
		args = append(args, "--track", "-b", p.Branch, "refs/remotes/"+p.Track) // its whole name: a tag or a branch of yours may be called like it
	case p.Create:
		args = append(args, "--no-track", "-b", p.Branch, p.Commit)
	default:
		args = append(args, p.Branch)
	}
	_, err = run(ctx, gitcli.Command{Dir: t.top, Args: append(args, "--"), Timeout: longTime})
	return err
}

func counted(n int, what string) string { return project.Counted(n, what) }

// stashes returns what was laid aside, the newest first.
func (t tree) stashes(ctx context.Context) ([]project.GitStash, error) {
	if at, err := t.commit(ctx, "refs/stash"); err != nil || at == "" {
		return nil, err
	}
	out, err := t.git(ctx, "log", "--walk-reflogs", "--no-color", "--format=%gd%x00%H%x00%gs", "--date=default", "-n", "100", "refs/stash", "--")
	var all []project.GitStash
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(fields) == 3 {
			all = append(all, project.GitStash{Name: "stash@{" + number(len(all)) + "}", Commit: fields[1], Subject: fields[2]})
		}
	}
	return all, err
}

// PlanStash implements projectport.WorkTrees.
func (c Client) PlanStash(ctx context.Context, dir string) (project.StashPlan, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.StashPlan{}, err
	}
	p := project.StashPlan{Top: t.top}
	if err := t.unfiltered(ctx); err != nil {
		return p, err
	}
	w, err := c.Look(ctx, dir)
	if err != nil {
		return p, err
	}
	p.Head, p.Branch = w.Head, w.Branch
	switch {
	case len(w.Conflicted) > 0 || w.Doing != "" && w.Doing != "bisect":
		return p, project.ErrArgument.WithMessage("a %s is in progress in %s; finish it first", w.Doing, t.top)
	case w.MoreUntracked > 0:
		return p, project.ErrArgument.WithMessage("%s has too many untracked files to show; add them to .gitignore, or commit them", t.top)
	case w.Head == "":
		return p, project.ErrArgument.WithMessage("%s has no commit yet, so nothing can be stashed", t.top)
	}
	var fresh []string
	for _, f := range w.Unstaged {
		if f.New {
			fresh = append(fresh, f.Path)
		}
	}
	if p.Files, err = t.diff(ctx, diffOptions{fresh: fresh, args: []string{w.Head}}); err == nil && len(p.Files) == 0 {
		err = project.ErrArgument.WithMessage("nothing differs from the last commit in %s, so there is nothing to stash", t.top)
	}
	return p, err
}

// Stash implements projectport.WorkTrees.
func (c Client) Stash(ctx context.Context, p project.StashPlan, message string) (project.GitStash, error) {
	now, err := c.PlanStash(ctx, p.Top)
	if err != nil {
		return project.GitStash{}, err
	}
	if now.Head != p.Head || !sameFiles(now.Files, p.Files) {
		return project.GitStash{}, project.ErrConflict.WithMessage("the files of %s changed in the meantime; call again to get the new plan", p.Top)
	}
	t, err := open(ctx, p.Top)
	if err != nil {
		return project.GitStash{}, err
	}
	args := []string{"stash", "push", "--quiet", "--include-untracked"}
	if message != "" {
		args = append(args, "--message="+message)
	}
	if _, err := run(ctx, gitcli.Command{Dir: t.top, Args: args, Env: []string{"GIT_LITERAL_PATHSPECS=0"}, Timeout: longTime}); err != nil {
		return project.GitStash{}, err
	}
	all, err := t.stashes(ctx)
	if err != nil || len(all) == 0 {
		return project.GitStash{}, err
	}
	return all[0], nil
}

func sameFiles(a, b []project.FilePatch) bool {
	return slices.EqualFunc(a, b, func(a, b project.FilePatch) bool { return a.Text() == b.Text() })
}

// PlanUnstash implements projectport.WorkTrees.
func (c Client) PlanUnstash(ctx context.Context, dir, name string) (project.StashPlan, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.StashPlan{}, err
	}
	if err := t.unfiltered(ctx); err != nil {
		return project.StashPlan{Top: t.top}, err
	}
	p, err := t.stashed(ctx, name)
	if err != nil {
		return p, err
	}
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Path)
	}
	dirty, err := t.dirty(ctx)
	if err != nil {
		return p, err
	}
	if both := inTheWay(dirty, names); len(both) > 0 {
		return p, project.ErrArgument.WithMessage("%s of the stash already differ from the last commit: %s; commit them first", counted(len(both), "file"), some(both))
	}
	return p, nil
}

// stashed returns a stash with the lines that it holds.
func (t tree) stashed(ctx context.Context, name string) (project.StashPlan, error) {
	p := project.StashPlan{Top: t.top}
	all, err := t.stashes(ctx)
	if err != nil {
		return p, err
	}
	if name == "" {
		name = "stash@{0}"
	}
	i := slices.IndexFunc(all, func(s project.GitStash) bool {
		return s.Name == name || s.Commit == name || s.Name == "stash@{"+name+"}"
	})
	if i < 0 {
		return p, project.ErrArgument.WithMessage("stash %.100q not found in %s; git_changes lists the stashes", name, t.top)
	}
	p.Stash = all[i]
	if p.Head, err = t.commit(ctx, "HEAD"); err != nil {
		return p, err
	}
	if p.Branch, err = t.branch(ctx); err != nil {
		return p, err
	}
	if p.Files, err = t.diff(ctx, diffOptions{args: []string{p.Stash.Commit + "^1", p.Stash.Commit}}); err != nil {
		return p, err
	}
	untracked, err := t.commit(ctx, p.Stash.Commit+"^3")
	if err != nil {
		return p, err
	}
	if untracked != "" {
		noFiles, err := t.word(ctx, "hash-object", "-t", "tree", "--stdin") // of nothing: the tree without files
		if err != nil {
			return p, err
		}
		fresh, err := t.diff(ctx, diffOptions{args: []string{noFiles, untracked}})
		if err != nil {
			return p, err
		}
		p.Files = append(p.Files, fresh...)
	}
	return p, nil
}

// PlanDrop implements projectport.WorkTrees.
func (Client) PlanDrop(ctx context.Context, dir, name string) (project.StashPlan, error) {
	t, err := open(ctx, dir)
	if err != nil {
		return project.StashPlan{}, err
	}
	return t.stashed(ctx, name)
}

// Drop implements projectport.WorkTrees.
func (Client) Drop(ctx context.Context, p project.StashPlan) error {
	t, err := open(ctx, p.Top)
	if err != nil {
		return err
	}
	return t.drop(ctx, p.Stash)
}

// drop deletes a stash at its current position in the list.
func (t tree) drop(ctx context.Context, of project.GitStash) error {
	all, err := t.stashes(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Commit == of.Commit {
			_, err := t.git(ctx, "stash", "drop", "--quiet", s.Name)
			return err
		}
	}
	return project.ErrConflict.WithMessage("%s (%.12s) no longer exists; call again to list the stashes", of.Name, of.Commit)
}

// Unstash implements projectport.WorkTrees. A stash is forgotten only when all of it was brought back.
func (c Client) Unstash(ctx context.Context, p project.StashPlan, drop bool) error {
	now, err := c.PlanUnstash(ctx, p.Top, p.Stash.Commit)
	if err != nil {
		return err
	}
	if now.Stash.Commit != p.Stash.Commit || now.Head != p.Head {
		return project.ErrConflict.WithMessage("the stashes of %s changed in the meantime; call again to list them", p.Top)
	}
	t, err := open(ctx, p.Top)
	if err != nil {
		return err
	}
	apply := func(flags ...string) error {
		_, err := run(ctx, gitcli.Command{Dir: t.top, Args: append(append([]string{"stash", "apply", "--quiet"}, flags...), p.Stash.Commit), Env: []string{"GIT_LITERAL_PATHSPECS=0"}, Timeout: longTime})
		return err
	}
	err = apply("--index") // else what was staged, and is other lines than those of the file, would not come back
	if strings.Contains(gitcli.Words(err), "without --index") {
		if err = apply(); err == nil && drop {
			return project.ErrExecutionFailed.WithMessage("the files were restored, but not their staged changes, which no longer apply; the stash is kept as %s", p.Stash.Name)
		}
	}
	if err != nil {
		if words := string(gitcli.Printed(err)) + gitcli.Words(err); strings.Contains(words, "CONFLICT") {
			return project.ErrExecutionFailed.WithMessage("the stash does not apply without conflicts; it is kept as %s, and git status in %s shows the conflicts", p.Stash.Name, t.top).WithCause(err)
		}
		return err
	}
	if !drop {
		return nil
	}
	return t.drop(ctx, p.Stash)
}
