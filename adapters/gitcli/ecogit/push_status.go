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
	var cargo ecosystemport.WorktreeStatus
	if cargo.Missing = !repository(b.Dir); cargo.Missing {
		return cargo, nil
	}
	args := []string{"status", "--porcelain=v2", "--branch", "--show-stash", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none", "--", "."}
	for _, path := range b.Outside {
		args = append(args, ":(exclude,top,literal)"+filepath.ToSlash(path))
	}
	out, err := gitPush(ctx, b.Dir, gitcli.Command{Args: args})
	if err != nil {
		return cargo, named(b.Dir, err)
	}
	s, err := git.ParseStatus(out)
	if err != nil {
		return cargo, misread(b.Dir, err)
	}
	readPush(s, &cargo)
	if err := inside(ctx, b.Dir, &cargo); err != nil {
		return cargo, err
	}
	if cargo.Remote, err = quiet(ctx, b.Dir, "remote", "get-url", "--push", "--all", "--", "origin"); err != nil || cargo.Remote == "" {
		return cargo, err
	}
	cargo.Remote = gitcli.Mask(strings.ReplaceAll(cargo.Remote, "\n", ", ")) // git pushes to all of them
	return cargo, compare(ctx, b.Dir, ask, &cargo)
}

// readPush takes what git status says.
func readPush(s git.Status, cargo *ecosystemport.WorktreeStatus) {
	cargo.Head, cargo.Branch, cargo.Stashes = s.Head, s.Branch, s.Stashes
	if len(s.Changes) == 0 {
		return
	}
	sum := sha256.New()
	for _, c := range s.Changes {
		_, _ = io.WriteString(sum, c.Record+"\x00")
		cargo.Changes = append(cargo.Changes, ecosystemport.Change{Path: c.Path, Gone: c.Tree == 'D' || c.Tree == git.Same && c.Index == 'D',
			Staged: c.Kind == git.Modified && c.Tree == git.Same})
	}
	cargo.Porcelain = hex.EncodeToString(sum.Sum(nil))
}

// inside looks into the repository's own directory: what is in the middle, and the hooks.
func inside(ctx context.Context, dir string, cargo *ecosystemport.WorktreeStatus) error {
	out, err := gitPush(ctx, dir, gitcli.Command{Hooks: true, Args: []string{"rev-parse", "--absolute-git-dir", "--git-path", "hooks"}})
	if err != nil {
		return named(dir, err)
	}
	admin, hooks, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	cargo.Doing = gitcli.Operation(admin)
	if !filepath.IsAbs(hooks) {
		hooks = filepath.Join(dir, hooks)
	}
	cargo.Hooks, cargo.HooksHash = programs(hooks)
	if len(cargo.Changes) == 0 {
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
		cargo.Filters = append(cargo.Filters, s.Name+" = "+s.Value)
		_, _ = io.WriteString(sum, s.Name+"\x00"+s.Value+"\x00")
	}
	if cargo.Filters != nil {
		cargo.HooksHash += "+" + hex.EncodeToString(sum.Sum(nil))
	}
	return nil
}

// programs are the hooks in a directory that commits and pushes run, and a hash over what they are.
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

// compare says how the branch stands to that of origin.
func compare(ctx context.Context, dir string, ask bool, cargo *ecosystemport.WorktreeStatus) (err error) {
	if cargo.Branch == "" {
		return nil
	}
	ref := "refs/heads/" + cargo.Branch
	if ask {
		heads, err := remoteHeads(ctx, dir, ref)
		if ctx.Err() != nil {
			return err
		}
		cargo.Asked, cargo.RemoteHead = err == nil, heads[ref]
	}
	tracking := "refs/remotes/origin/" + cargo.Branch
	if !cargo.Asked {
		if cargo.RemoteHead, err = quiet(ctx, dir, "rev-parse", "--verify", "--quiet", tracking); err != nil {
			return err
		}
	}
	if cargo.Head == "" || cargo.Head == cargo.RemoteHead {
		return nil
	}
	if cargo.RemoteHead != "" {
		text, err := quiet(ctx, dir, "rev-list", "--left-right", "--count", cargo.RemoteHead+"...HEAD", "--")
		if behind, ahead, ok := strings.Cut(text, "\t"); ok || err != nil {
			cargo.Behind, _ = strconv.Atoi(behind)
			cargo.Ahead, _ = strconv.Atoi(ahead)
			return err
		}
		cargo.Behind = -1 // origin is at a commit that was never fetched
	}
	text, err := word(ctx, dir, "rev-list", "--count", "HEAD", "--not", "--remotes=origin", "--")
	cargo.Ahead, _ = strconv.Atoi(text)
	return named(dir, err)
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
