package ecogit

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const (
	savedRefs = "refs/countersign/saved/" // of stashes and of worktrees on no branch, while they are bundled
	maxAlone  = 50
)

// Trees implements ecosystemport.PushGit.
func (c *PushClient) Trees(ctx context.Context, dir string) ([]string, error) {
	if !repository(dir) {
		return nil, nil
	}
	list, err := worktrees(ctx, dir)
	dirs := make([]string, len(list))
	for i, t := range list {
		dirs[i] = t.Path
	}
	return dirs, err
}

func worktrees(ctx context.Context, dir string) ([]git.Worktree, error) {
	out, err := gitPush(ctx, dir, gitcli.Command{Args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, named(dir, err)
	}
	list, err := git.ParseWorktrees(out)
	if err != nil {
		return nil, misread(dir, err)
	}
	return list, nil
}

// tips returns what a repository has by itself: its refs, without what origin said and without stashes, and the commits of worktrees on no branch.
func tips(ctx context.Context, dir string) (own map[string]string, stashes []string, err error) {
	list, err := refs(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	own = map[string]string{}
	for _, ref := range list {
		switch {
		case ref.Name == "refs/stash":
			text, err := word(ctx, dir, "rev-list", "--walk-reflogs", "refs/stash", "--")
			if err != nil {
				return nil, nil, named(dir, err)
			}
			if stashes = lines(text); !slices.Contains(stashes, ref.Object) {
				stashes = append(stashes, ref.Object)
			}
		case !strings.HasPrefix(ref.Name, "refs/remotes/") && !strings.HasPrefix(ref.Name, savedRefs):
			own[ref.Name] = ref.Object
		}
	}
	trees, err := worktrees(ctx, dir)
	for _, t := range trees {
		if t.Branch == "" && t.Head != "" {
			own["HEAD of "+t.Path] = t.Head
		}
	}
	return own, stashes, err
}

// Alone implements ecosystemport.PushGit.
func (c *PushClient) Alone(ctx context.Context, dir string) (found ecosystemport.UnpushedWork, err error) {
	refs, stashes, err := tips(ctx, dir)
	if err != nil {
		return found, err
	}
	found.Stashes = len(stashes)
	var there map[string]string
	origin, err := quiet(ctx, dir, "remote", "get-url", "origin")
	if err == nil && origin != "" {
		there, err = remoteHeads(ctx, dir)
	}
	if err != nil {
		return found, err
	}
	for ref, object := range refs {
		if name, is := strings.CutPrefix(ref, tags); is && there[ref] != object {
			found.Tags = append(found.Tags, name)
		}
	}
	slices.Sort(found.Tags)
	missing, err := without(ctx, dir, refs, there)
	if err == nil && len(missing) > 0 && len(there) > 0 { // origin may have them below commits that were never fetched
		if _, err := gitPush(ctx, dir, gitcli.Command{Protocols: gitcli.Network, Timeout: netTime, Args: []string{"fetch", "--quiet", "--no-write-fetch-head", "--recurse-submodules=no", "--", "origin"}}); err != nil {
			return found, named(dir, err)
		}
		missing, err = without(ctx, dir, refs, there)
	}
	for _, ref := range missing {
		if strings.HasPrefix(ref, sandbox.BackupsRoot) {
			found.Backups = append(found.Backups, ref)
		}
	}
	missing = slices.DeleteFunc(missing, func(ref string) bool { return strings.HasPrefix(ref, sandbox.BackupsRoot) })
	found.More = max(0, len(missing)-maxAlone)
	found.Refs = missing[:len(missing)-found.More]
	return found, err
}

// without returns the refs, sorted, with commits that are not below those that origin has.
func without(ctx context.Context, dir string, refs, there map[string]string) (missing []string, err error) {
	known, err := present(ctx, dir, there)
	if err != nil {
		return nil, err
	}
	below := ""
	for _, commit := range known {
		below += "^" + commit + "\n"
	}
	some := func(tips string) (bool, error) {
		out, err := gitPush(ctx, dir, gitcli.Command{Stdin: []byte(tips + below), Args: []string{"rev-list", "--max-count=1", "--stdin"}})
		return len(out) > 0, named(dir, err)
	}
	every := ""
	for _, commit := range refs {
		every += commit + "\n"
	}
	if any, err := some(every); every == "" || !any || err != nil { // most often
		return nil, err
	}
	for ref, commit := range refs {
		alone, err := some(commit + "\n")
		if err != nil {
			return nil, err
		}
		if alone {
			missing = append(missing, strings.TrimPrefix(ref, "refs/heads/"))
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// present returns those of the commits that are in the repository.
func present(ctx context.Context, dir string, heads map[string]string) (known []string, err error) {
	asked := ""
	for _, commit := range heads {
		asked += commit + "\n"
	}
	if asked == "" {
		return nil, nil
	}
	out, err := gitPush(ctx, dir, gitcli.Command{Stdin: []byte(asked), Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}})
	for _, line := range lines(string(out)) {
		if id, kind, _ := strings.Cut(line, " "); kind == "commit" || kind == "tag" {
			known = append(known, id)
		}
	}
	return known, named(dir, err)
}

// Bundle implements ecosystemport.PushGit. Git leaves tags that are no objects of their own out of a bundle that does not hold their commits, so that such
// a tag has the bundle hold everything.
func (c *PushClient) Bundle(ctx context.Context, dir, file string, o ecosystemport.BundleOptions) (bool, error) {
	rest, names := o.Rest, o.Tags
	own, stashes, err := tips(ctx, dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = unmark(context.WithoutCancel(ctx), dir) }()
	if err := mark(ctx, dir, own, stashes); err != nil {
		return false, err
	}
	for _, name := range names {
		if kind, err := word(ctx, dir, "cat-file", "-t", tags+name); err != nil || kind != "tag" {
			rest = false
		}
	}
	choice, limits := []string{"--all", "--stdin"}, ""
	if rest {
		all, err := refs(ctx, dir)
		if err != nil {
			return false, err
		}
		_, known, err := atRemotes(ctx, dir, all, o.Ask)
		if err != nil {
			return false, err
		}
		choice, limits = append([]string{"--exclude=" + remotes + "*"}, choice...), below(known)
	}
	some, err := gitPush(ctx, dir, gitcli.Command{Stdin: []byte(limits), Args: append([]string{"rev-list", "--max-count=1"}, choice...)})
	if err != nil || len(some) == 0 && len(names) == 0 {
		return false, named(dir, err)
	}
	if err := MakeParentDir(file); err != nil {
		return false, err
	}
	for _, cmd := range []gitcli.Command{{Stdin: []byte(limits), Args: append([]string{"bundle", "create", "--quiet", file}, choice...)}, {Args: []string{"bundle", "verify", "--quiet", file}}} {
		cmd.Timeout = netTime
		if _, err := gitPush(ctx, dir, cmd); err != nil {
			_ = os.Remove(file)
			return false, ecosystem.ErrUnsaved.WithMessage("%s cannot be saved as %s: %s; nothing was removed", dir, file, words(err)).WithCause(err)
		}
	}
	wanted := stashes
	if !rest {
		wanted = slices.AppendSeq(slices.Clone(stashes), maps.Values(own))
	}
	for _, name := range names {
		wanted = append(slices.Clone(wanted), own[tags+name])
	}
	if err := covered(ctx, dir, file, wanted); err != nil {
		_ = os.Remove(file)
		return false, err
	}
	return true, SyncToDisk(file)
}

// covered has a bundle hold those commits.
func covered(ctx context.Context, dir, file string, wanted []string) error {
	text, err := word(ctx, dir, "bundle", "list-heads", file)
	if err != nil {
		return named(dir, err)
	}
	has := map[string]bool{}
	for _, line := range lines(text) {
		commit, _, _ := strings.Cut(line, " ")
		has[commit] = true
	}
	for _, commit := range wanted {
		if !has[commit] {
			return ecosystem.ErrUnsaved.WithMessage("the bundle %s of %s lacks commit %s; nothing was removed", file, dir, commit)
		}
	}
	return nil
}

// mark gives names to what has none that a bundle could hold.
func mark(ctx context.Context, dir string, refs map[string]string, stashes []string) error {
	orders := ""
	for i, commit := range stashes {
		orders += "update " + savedRefs + "stash/" + strconv.Itoa(i) + " " + commit + "\n"
	}
	i := 0
	for ref, commit := range refs {
		if strings.HasPrefix(ref, "HEAD of ") {
			orders += "update " + savedRefs + "head/" + strconv.Itoa(i) + " " + commit + "\n"
			i++
		}
	}
	return order(ctx, dir, orders)
}

// unmark takes them away again.
func unmark(ctx context.Context, dir string) error {
	text, err := word(ctx, dir, "for-each-ref", "--format=delete %(refname)", savedRefs)
	if err != nil || text == "" {
		return named(dir, err)
	}
	return order(ctx, dir, text+"\n")
}

func order(ctx context.Context, dir, orders string) error {
	if orders == "" {
		return nil
	}
	_, err := gitPush(ctx, dir, gitcli.Command{Stdin: []byte(orders), Args: []string{"update-ref", "--stdin"}})
	return named(dir, err)
}

// Strays implements ecosystemport.PushGit. Empty directories are none.
func (c *PushClient) Strays(_ context.Context, workspace string, known []string) ([]string, error) {
	parents := map[string]bool{"repos": true, "tickets": true}
	for _, path := range known {
		for up := filepath.Dir(path); up != "." && up != string(filepath.Separator); up = filepath.Dir(up) {
			parents[up] = true
		}
	}
	for _, path := range known {
		delete(parents, path)
	}
	var strays []string
	for parent := range parents {
		entries, err := os.ReadDir(filepath.Join(workspace, parent))
		if err != nil {
			continue // it is not there, or no directory; whoever looks at what should be in it says so
		}
		for _, entry := range entries {
			path := filepath.Join(parent, entry.Name())
			if !slices.Contains(known, path) && !parents[path] && !empty(filepath.Join(workspace, path), entry.IsDir()) {
				strays = append(strays, path)
			}
		}
	}
	slices.Sort(strays)
	return strays, nil
}

func empty(dir string, directory bool) bool {
	entries, err := os.ReadDir(dir)
	if !directory || err != nil {
		return false
	}
	for _, entry := range entries {
		if !empty(filepath.Join(dir, entry.Name()), entry.IsDir()) {
			return false
		}
	}
	return true
}

// Drop implements ecosystemport.PushGit.
func (c *PushClient) Drop(ctx context.Context, path string, repos []string) error {
	for _, dir := range repos {
		if !repository(dir) {
			continue
		}
		if err := unmark(ctx, dir); err != nil {
			return err
		}
	}
	return RemoveTree(path)
}
