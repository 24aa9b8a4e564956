package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// tipsFile is, in a localObjects, the commits and tags that its objects are complete for, one a line.
const tipsFile = "tips"

// localObjects are the objects of a repository on this machine, packed anew beside a clone before git makes that clone, so that git has nothing to
// transfer, index and check for connections: most of what a clone through the pack protocol takes.
//
// Nothing of the repository is linked, and no file of it is copied. Hard links would let whatever runs in a sandbox write into the repository's own
// objects, because their mode does not hold against their owner; and whole files would bring along what no branch or tag reaches: stashes, amended
// commits, files that were once added by mistake. git pack-objects walks from what the repository shows to anybody who clones it, and copies the
// packed form of what it reaches. It does so in a directory of its own: the repository's configuration is not read, and nothing is written there.
type localObjects struct{ dir string }

// packLocal packs what a repository shows. It returns nil where the objects have to come through the protocol: the repository is a worktree or
// submodule, keeps its objects elsewhere, is shallow or damaged, belongs to somebody else, has no commits, or the user has git check what it receives.
// dir is an empty directory, which the caller removes.
func (c *Remotes) packLocal(ctx context.Context, r remote, dir string, watch *sandbox.CloneProgress) *localObjects {
	objects := objectsOf(r.identity.Path())
	if objects == "" || c.checksReceived(ctx) {
		return nil
	}
	said, err := gitcli.Start(ctx, gitcli.Command{Timeout: c.limits.Clone, Protocols: r.protocols, Env: []string{"GIT_DIR=" + os.DevNull},
		Args: []string{"ls-remote", "--upload-pack=git-upload-pack", "--", r.url, "HEAD", "refs/heads/*", "refs/tags/*"}})
	tips := tipsOf(string(said))
	if err != nil || len(tips) == 0 {
		return nil
	}
	l := &localObjects{dir}
	if err := l.prepare(objects, tips); err != nil {
		return nil
	}
	_, err = gitcli.Start(ctx, gitcli.Command{Dir: dir, Timeout: c.limits.Clone, Watch: watch, Env: []string{"GIT_DIR=" + dir}, Stdin: []byte(strings.Join(tips, "\n") + "\n"),
		Settings: []gitcli.Setting{{Name: "core.commitGraph", Value: "false"}, {Name: "pack.packSizeLimit", Value: "0"}},
		// what is packed there keeps its form, and what is loose is compressed as loose objects are
		Args: []string{"pack-objects", "--progress", "--revs", "--window=0", "--threads=1", "--compression=1", "--delta-base-offset", filepath.Join(dir, "objects", "pack", "pack")}})
	if err != nil || os.Remove(l.alternates()) != nil {
		return nil
	}
	return l
}

// objectsOf returns the directory of a repository's objects; empty unless it is inside the repository.
func objectsOf(path string) string {
	for _, admin := range []string{filepath.Join(path, ".git"), path} {
		if info, err := os.Lstat(admin); err != nil || !info.IsDir() {
			if !os.IsNotExist(err) {
				return ""
			}
			continue
		}
		objects := filepath.Join(admin, "objects")
		if info, err := os.Lstat(objects); err == nil {
			if !info.IsDir() {
				return ""
			}
			return objects
		}
	}
	return ""
}

// checksReceived reports whether the user has git look through all that it receives.
func (c *Remotes) checksReceived(ctx context.Context) bool {
	said, err := gitcli.Start(ctx, gitcli.Command{Timeout: c.limits.Timeout, Env: []string{"GIT_DIR=" + os.DevNull},
		Args: []string{"config", "--type=bool", "--get-regexp", `^(transfer|fetch)\.fsckobjects$`}})
	return strings.Contains(string(said), " true") || err != nil && gitcli.ExitOf(err) != 1
}

// tipsOf returns the objects that git ls-remote lists, each once.
func tipsOf(said string) (tips []string) {
	for line := range strings.Lines(said) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasSuffix(name, "^{}") { // what a tag is of comes with the tag
			tips = append(tips, id)
		}
	}
	slices.Sort(tips)
	return slices.Compact(tips)
}

const sha256Digits = 64

// prepare makes a bare repository that reads the objects of another one.
func (l *localObjects) prepare(objects string, tips []string) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if len(tips[0]) == sha256Digits {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n"
	}
	for _, sub := range []string{"refs", filepath.Join("objects", "info"), filepath.Join("objects", "pack")} {
		if err := os.MkdirAll(filepath.Join(l.dir, sub), remoteDirMode); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{filepath.Join(l.dir, "HEAD"): "ref: refs/heads/none\n", filepath.Join(l.dir, "config"): config,
		filepath.Join(l.dir, tipsFile): strings.Join(tips, "\n") + "\n", l.alternates(): objects + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (l *localObjects) alternates() string {
	return filepath.Join(l.dir, "objects", "info", "alternates")
}

// offer has a git clone take the objects for its own, and know that they are complete.
func (l *localObjects) offer(cmd gitcli.Command) gitcli.Command {
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.Join(l.dir, "objects")) + `"`
	cmd.Env = append(cmd.Env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoted)
	cmd.Settings = append(cmd.Settings, gitcli.Setting{Name: "core.alternateRefsCommand", Value: `sh -c 'cat "$0/` + tipsFile + `"'`}) // git puts the directory behind it
	return cmd
}

// give moves the objects into the clone.
func (l *localObjects) give(clone string) error {
	from := filepath.Join(l.dir, "objects", "pack")
	entries, err := os.ReadDir(from)
	if err != nil {
		return gitcli.Disk(err, from)
	}
	for _, entry := range entries {
		to := filepath.Join(clone, ".git", "objects", "pack", entry.Name())
		if err := os.Rename(filepath.Join(from, entry.Name()), to); err != nil {
			return gitcli.Disk(err, to)
		}
	}
	return nil
}
