package gitcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/domain/git"
)

const repoDeepest = 8 // submodules in submodules

// find finds the submodules that are in the tree.
func (t *Tree) find(ctx context.Context) error {
	if t.looked {
		return nil
	}
	if err := t.submodules(ctx, "", t.Git, repoDeepest); err != nil {
		return err
	}
	t.looked = true
	return nil
}

type starter func(context.Context, Command) ([]byte, error)

// submodules adds those below a directory of the tree. A tree without a file of submodules is taken to have none, as package run does.
func (t *Tree) submodules(ctx context.Context, below string, run starter, depth int) error {
	if _, err := os.Lstat(filepath.Join(t.Dir, below, Modules)); err != nil || depth == 0 {
		return nil
	}
	out, err := run(ctx, Command{Args: []string{"ls-files", "--stage", "-z"}, Limit: largeList})
	if err != nil {
		return err
	}
	last := ""
	for entry, err := range git.Entries(out) {
		if err != nil {
			return unread(err)
		}
		if entry.Mode != git.SubmoduleMode || entry.Path == last { // conflicts list a path several times
			continue
		}
		last = entry.Path
		path := filepath.Join(below, filepath.FromSlash(last))
		if !filepath.IsLocal(path) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(t.Dir, path, gitDir)); err != nil {
			continue // not there
		}
		inner := t.inner(path)
		var own *ExitError
		if _, err := inner(ctx, Command{Args: []string{"rev-parse", "--git-dir"}}); errors.As(err, &own) {
			continue // a broken one, which git does not look into either
		} else if err != nil {
			return err
		}
		t.links = append(t.links, path)
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
	return func(ctx context.Context, cmd Command) ([]byte, error) {
		cmd.Dir, cmd.Timeout, cmd.Inherit = dir, t.timeout, t.busy
		cmd.Env = append(cmd.Env, "GIT_DIR="+filepath.Join(dir, gitDir), "GIT_WORK_TREE="+dir)
		return Start(ctx, cmd)
	}
}

// Inner runs a command in a submodule that Submodules named.
func (t *Tree) Inner(ctx context.Context, path string, cmd Command) ([]byte, error) {
	return t.inner(path)(ctx, cmd)
}
