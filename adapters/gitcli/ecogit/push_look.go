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
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const maxHook = 1 << 20 // bytes of a hook that count

// Look implements ecosystemport.Shipping.
func (c *PushClient) Look(ctx context.Context, b ecosystemport.Berth, ask bool) (ecosystemport.Cargo, error) {
	var cargo ecosystemport.Cargo
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
	readPush(string(out), &cargo)
	if err := inside(ctx, b.Dir, &cargo); err != nil {
		return cargo, err
	}
	if cargo.Remote, err = quiet(ctx, b.Dir, "remote", "get-url", "--push", "--all", "--", "origin"); err != nil || cargo.Remote == "" {
		return cargo, err
	}
	cargo.Remote = gitcli.Mask(strings.ReplaceAll(cargo.Remote, "\n", ", ")) // git pushes to all of them
	return cargo, compare(ctx, b.Dir, ask, &cargo)
}

// readPush takes what git status says in its second form.
func readPush(text string, cargo *ecosystemport.Cargo) {
	sum := sha256.New()
	for record := range strings.SplitSeq(text, "\x00") {
		if header, ok := strings.CutPrefix(record, "# "); ok {
			readHeader(header, cargo)
			continue
		}
		if record == "" {
			continue
		}
		_, _ = io.WriteString(sum, record+"\x00")
		kind, rest, _ := strings.Cut(record, " ")
		change, before := ecosystemport.Change{Path: rest}, map[string]int{"1": 8, "u": 10}[kind]
		if fields := strings.SplitN(rest, " ", before); before > 0 && len(fields) == before && len(fields[0]) == 2 {
			index, tree := fields[0][0], fields[0][1]
			change = ecosystemport.Change{Path: fields[before-1], Gone: tree == 'D' || tree == '.' && index == 'D', Staged: kind == "1" && tree == '.'}
		}
		cargo.Changes = append(cargo.Changes, change)
	}
	if len(cargo.Changes) > 0 {
		cargo.Porcelain = hex.EncodeToString(sum.Sum(nil))
	}
}

func readHeader(header string, cargo *ecosystemport.Cargo) {
	key, value, _ := strings.Cut(header, " ")
	switch {
	case key == "branch.oid" && value != "(initial)":
		cargo.Head = value
	case key == "branch.head" && value != "(detached)":
		cargo.Branch = value
	case key == "stash":
		cargo.Stashes, _ = strconv.Atoi(value)
	}
}

// inside looks into the repository's own directory: what is in the middle, and the hooks.
func inside(ctx context.Context, dir string, cargo *ecosystemport.Cargo) error {
	out, err := gitPush(ctx, dir, gitcli.Command{Hooks: true, Args: []string{"rev-parse", "--absolute-git-dir", "--git-path", "hooks"}})
	if err != nil {
		return named(dir, err)
	}
	admin, hooks, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	for _, sign := range []struct{ file, doing string }{{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"}} {
		if _, err := os.Lstat(filepath.Join(admin, sign.file)); err == nil {
			cargo.Doing = sign.doing
			break
		}
	}
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
func compare(ctx context.Context, dir string, ask bool, cargo *ecosystemport.Cargo) (err error) {
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
