package pin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli/run"
	"github.com/countersign-dev/countersign/domain/sandbox/tree"
)

const deepest = 8 // submodules in submodules

// guard finds the filters that the clone and the submodules in the tree configure. Git runs them when it compares or writes files, and a
// repository's own configuration may name any program as one. What the machine or the user configured for all repositories stays, so that large
// files kept elsewhere look as they do to git.
func (t *Tree) guard(ctx context.Context) error {
	if t.guarded {
		return nil
	}
	said := t.config() + text(filepath.Join(t.Admin, "config.worktree"))
	if strings.Contains(said, "filter") || strings.Contains(said, "include") {
		off, err := filters(ctx, t.Git)
		if err != nil {
			return err
		}
		t.off = off
	}
	if err := t.submodules(ctx, "", t.Git, deepest); err != nil {
		return err
	}
	t.guarded = true
	return nil
}

type starter func(context.Context, run.Command) ([]byte, error)

// filters are the settings that switch off what the repository names.
func filters(ctx context.Context, git starter) ([]run.Setting, error) {
	out, err := git(ctx, run.Command{Args: []string{"config", "-z", "--show-scope", "--name-only", "--get-regexp", `^filter\.`}})
	if ExitOf(err) == 1 { // there is none
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var off []run.Setting
	said := tree.Records(out)
	for ; len(said) > 1; said = said[2:] {
		scope, key := said[0], said[1]
		if end := strings.LastIndexByte(key, '.'); scope != "global" && scope != "system" && end > len("filter.") {
			off = append(off, run.Setting{Name: key[:end] + ".clean"}, run.Setting{Name: key[:end] + ".smudge"}, run.Setting{Name: key[:end] + ".process"},
				run.Setting{Name: key[:end] + ".required", Value: "false"})
		}
	}
	return off, nil
}

// submodules adds those below a directory of the tree. A tree without a file of submodules is taken to have none: git is told not to look into
// whatever else is there (see Ignore).
func (t *Tree) submodules(ctx context.Context, below string, git starter, depth int) error {
	if _, err := os.Lstat(filepath.Join(t.Dir, below, Modules)); err != nil || depth == 0 {
		return nil
	}
	out, err := git(ctx, run.Command{Args: []string{"ls-files", "--stage", "-z"}, Limit: largeList})
	if err != nil {
		return err
	}
	links, err := tree.ParseLinks(out)
	if err != nil {
		return err
	}
	for _, link := range links {
		path := filepath.Join(below, filepath.FromSlash(link))
		if !filepath.IsLocal(path) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(t.Dir, path, gitDir)); err != nil {
			continue // not there
		}
		inner := t.inner(path)
		off, err := filters(ctx, inner)
		var own *run.ExitError
		if errors.As(err, &own) {
			continue // a broken one, which git does not look into either
		}
		if err != nil {
			return err
		}
		t.links, t.off = append(t.links, path), append(t.off, off...)
		if err := t.submodules(ctx, path, inner, depth-1); err != nil {
			return err
		}
	}
	return nil
}

const largeList = 1 << 30

// inner runs git in a submodule as git itself does: by what its own .git says.
func (t *Tree) inner(path string) starter {
	dir := filepath.Join(t.Dir, path)
	return func(ctx context.Context, cmd run.Command) ([]byte, error) {
		cmd.Dir, cmd.Timeout, cmd.Inherit = dir, t.timeout, t.busy
		cmd.Env = append(cmd.Env, "GIT_DIR="+filepath.Join(dir, gitDir), "GIT_WORK_TREE="+dir)
		return Start(ctx, cmd)
	}
}

// Inner runs a command in a submodule that Submodules named, with the filters off.
func (t *Tree) Inner(ctx context.Context, path string, cmd run.Command) ([]byte, error) {
	if err := t.guard(ctx); err != nil {
		return nil, err
	}
	cmd.Settings = append(cmd.Settings, t.off...)
	return t.inner(path)(ctx, cmd)
}

// Ignore is the option that keeps git's comparisons out of repositories within the tree that were not guarded.
func (t *Tree) Ignore(ctx context.Context) (string, error) {
	if err := t.guard(ctx); err != nil {
		return "", err
	}
	if len(t.links) > 0 {
		return "--ignore-submodules=none", nil
	}
	return "--ignore-submodules=dirty", nil
}
