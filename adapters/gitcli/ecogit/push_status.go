package ecogit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const maxHook = 1 << 20 // bytes of a hook that count

// Look implements ecosystemport.PushGit.
func (c *PushClient) Look(ctx context.Context, b ecosystemport.Worktree, ask bool) (ecosystemport.WorktreeStatus, error) {
	var status ecosystemport.WorktreeStatus
	if status.Missing = !repository(b.Dir); status.Missing {
		return status, nil
	}
	args := []string{"status", "--porcelain=v2", "--branch", "--show-stash", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none", "--", "."}
	for _, path := range b.Outside {
		args = append(args, ":(exclude,top,literal)"+filepath.ToSlash(path))
	}
	out, err := gitPush(ctx, b.Dir, gitcli.Command{Args: args})
	if err != nil {
		return status, named(b.Dir, err)
	}
	s, err := git.ParseStatus(out)
	if err != nil {
		return status, misread(b.Dir, err)
	}
	readPush(s, &status)
	if err := inside(ctx, b.Dir, &status); err != nil {
		return status, err
	}
	if b.Tags {
		if status.Tags, err = localTags(ctx, b.Dir); err != nil {
			return status, err
		}
	}
	if status.Remote, err = quiet(ctx, b.Dir, "remote", "get-url", "--push", "--all", "--", "origin"); err != nil || status.Remote == "" {
		return status, err
	}
	status.Remote = gitcli.Mask(strings.ReplaceAll(status.Remote, "\n", ", ")) // git pushes to all of them
	return status, compare(ctx, b, ask, &status)
}

// readPush takes what git status says.
func readPush(s git.Status, status *ecosystemport.WorktreeStatus) {
	status.Head, status.Branch, status.Stashes = s.Head, s.Branch, s.Stashes
	if len(s.Changes) == 0 {
		return
	}
	sum := sha256.New()
	for _, c := range s.Changes {
		_, _ = io.WriteString(sum, c.Record+"\x00")
		status.Changes = append(status.Changes, ecosystemport.Change{Path: c.Path, Gone: c.Tree == 'D' || c.Tree == git.Same && c.Index == 'D',
			Staged: c.Kind == git.Modified && c.Tree == git.Same})
	}
	status.Porcelain = hex.EncodeToString(sum.Sum(nil))
}

// inside looks into the repository's own directory: what is in the middle, and the hooks.
func inside(ctx context.Context, dir string, status *ecosystemport.WorktreeStatus) error {
	out, err := gitPush(ctx, dir, gitcli.Command{Hooks: true, Args: []string{"rev-parse", "--absolute-git-dir", "--git-path", "hooks"}})
	if err != nil {
		return named(dir, err)
	}
	admin, hooks, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	status.Doing = gitcli.Operation(admin)
	if !filepath.IsAbs(hooks) {
		hooks = filepath.Join(dir, hooks)
	}
	status.Hooks, status.HooksHash = programs(hooks)
	if len(status.Changes) == 0 {
		return nil
	}
	filters, err := gitcli.Command{Dir: dir, Machine: true}.Named(ctx)
	if err != nil {
		return named(dir, err)
	}
	sum := sha256.New()
	for _, s := range filters {
		if !strings.HasSuffix(s.Name, ".clean") && !strings.HasSuffix(s.Name, ".process") {
			continue // git runs it on nothing that is committed
		}
		status.Filters = append(status.Filters, s.Name+" = "+s.Value)
		_, _ = io.WriteString(sum, s.Name+"\x00"+s.Value+"\x00")
	}
	if status.Filters != nil {
		status.HooksHash += "+" + hex.EncodeToString(sum.Sum(nil))
	}
	return nil
}

// programs returns the hooks in a directory that commits and pushes run, and a hash over what they are.
func programs(dir string) (names []string, hash string) {
	sum := sha256.New()
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		names = append(names, name)
		_, _ = io.WriteString(sum, name+"\x00"+strconv.FormatInt(info.Size(), 10)+"\x00")
		if f, err := os.Open(filepath.Join(dir, name)); err == nil {
			_, _ = io.Copy(sum, io.LimitReader(f, maxHook))
			_ = f.Close()
		}
	}
	if names == nil {
		return nil, ""
	}
	return names, hex.EncodeToString(sum.Sum(nil))
}

// compare compares the branch with that of origin.
func compare(ctx context.Context, b ecosystemport.Worktree, ask bool, status *ecosystemport.WorktreeStatus) (err error) {
	if status.Branch == "" && len(status.Tags) == 0 {
		return nil
	}
	dir, ref := b.Dir, git.HeadsPrefix+status.Branch
	var there map[string]string
	if ask {
		wanted := []string{git.HeadsPrefix + "*"}
		if len(status.Tags) > 0 {
			wanted = append(wanted, tags+"*")
		}
		if there, err = remoteHeads(ctx, dir, wanted...); ctx.Err() != nil {
			return err
		}
		if status.Asked, status.RemoteHead = err == nil, there[ref]; status.Asked && len(status.Tags) > 0 {
			status.RemoteTags = map[string]string{}
			for ref, object := range there {
				if name, is := strings.CutPrefix(ref, tags); is && !strings.HasSuffix(name, "^{}") {
					status.RemoteTags[name] = object
				}
			}
		}
	}
	if status.Branch == "" {
		return nil
	}
	tracking := "refs/remotes/origin/" + status.Branch
	if !status.Asked {
		if status.RemoteHead, err = quiet(ctx, dir, "rev-parse", "--verify", "--quiet", tracking); err != nil {
			return err
		}
	}
	if status.Head == "" || status.Head == status.RemoteHead {
		return nil
	}
	if status.RemoteHead != "" {
		text, err := quiet(ctx, dir, "rev-list", "--left-right", "--count", status.RemoteHead+"...HEAD", "--")
		if behind, ahead, ok := strings.Cut(text, "\t"); ok || err != nil {
			status.Behind, _ = strconv.Atoi(behind)
			status.Ahead, _ = strconv.Atoi(ahead)
			return err
		}
		status.Behind = -1 // origin is at a commit that was never fetched
	}
	if status.Asked {
		status.Ahead, err = aheadOf(ctx, dir, there)
		return named(dir, err)
	}
	text, err := word(ctx, dir, "rev-list", "--count", "HEAD", "--not", "--remotes=origin", "--")
	status.Ahead, _ = strconv.Atoi(text)
	return named(dir, err)
}

// aheadOf counts the commits of HEAD that are on no branch of origin, as origin itself lists them: what is noted of it in the clone can be written by any
// program there, and would have a plan show fewer commits than are pushed.
func aheadOf(ctx context.Context, dir string, there map[string]string) (int, error) {
	span := "HEAD\n"
	for ref, commit := range there {
		if strings.HasPrefix(ref, git.HeadsPrefix) {
			span += "^" + commit + "\n"
		}
	}
	out, err := gitPush(ctx, dir, gitcli.Command{Stdin: []byte(span), Args: []string{"rev-list", "--count", "--ignore-missing", "--stdin"}})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// localTags returns the tags of a repository and their objects.
func localTags(ctx context.Context, dir string) (map[string]string, error) {
	list, err := refs(ctx, dir, tags)
	found := make(map[string]string, len(list))
	for _, ref := range list {
		found[strings.TrimPrefix(ref.Name, tags)] = ref.Object
	}
	return found, err
}

// remoteHeads asks origin what the refs are; no ref is all. It does not ask for long.
func remoteHeads(ctx context.Context, dir string, refs ...string) (map[string]string, error) {
	out, err := gitPush(ctx, dir, gitcli.Command{Protocols: gitcli.Network, Timeout: askTime, Args: append([]string{"ls-remote", "--quiet", "--", "origin"}, refs...)})
	if err != nil {
		return nil, named(dir, err)
	}
	heads := map[string]string{}
	for _, line := range lines(string(out)) {
		if commit, ref, ok := strings.Cut(line, "\t"); ok {
			heads[ref] = commit
		}
	}
	return heads, nil
}
