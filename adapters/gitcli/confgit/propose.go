package confgit

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/git"
)

// proposal is a commit in the making: objects and a private index, so that work tree, index and HEAD of the repository stay as they are.
type proposal struct {
	*Client
	dir     string
	scratch string // holds the index and the files' contents
	head    string // empty before the first commit
}

// Propose implements deployport.History (agentpack contract §5.10). Files keep the modes they have at HEAD, new ones are as they are given. It
// touches neither work tree nor index nor HEAD, and runs no hook and no filter. It fails with ErrGitRepo outside a repository, with ErrConfig
// for what no branch can be called, with ErrPath for a path that leaves dir or goes through a link or a submodule, and with ErrGit for a
// branch that exists, for files that are all as they are at HEAD, and while nobody said who commits.
func (c *Client) Propose(ctx context.Context, dir, branch, message string, files deployment.Tree) (string, error) {
	b, err := git.ParseBranch(branch)
	if err != nil {
		return "", deployment.ErrConfig.WithMessage("the proposal cannot be made: %v", err).WithCause(err)
	}
	if len(files) == 0 {
		return "", deployment.ErrGit.WithMessage("there is nothing to propose: no file was given")
	}
	files = slices.Clone(files)
	files.Sort()
	for _, f := range files {
		if _, err := fileName(f.Path); err != nil {
			return "", err
		}
	}
	scratch, err := os.MkdirTemp("", "countersign-propose-*")
	if err != nil {
		return "", disk(err, os.TempDir())
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	p := proposal{Client: c, dir: dir, scratch: scratch}
	prefix, err := p.run(ctx, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return "", err
	}
	if _, err := p.run(ctx, nil, "show-ref", "--verify", "--quiet", b.Ref()); err == nil {
		return "", taken(branch)
	} else if gitcli.ExitOf(err) != 1 {
		return "", err
	}
	if p.head, err = p.run(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil && gitcli.ExitOf(err) != 1 {
		return "", err
	}
	if err := p.stage(ctx, prefix, files); err != nil {
		return "", err
	}
	commit, err := p.commit(ctx, message)
	if err != nil {
		return "", err
	}
	none := strings.Repeat("0", len(commit))
	if _, err := p.run(ctx, nil, "update-ref", "-m", "countersign: proposed", b.Ref(), commit, none); err != nil {
		if strings.Contains(words(err), "reference already exists") {
			return "", taken(branch)
		}
		return "", err
	}
	return commit, nil
}

func taken(branch string) error {
	return deployment.ErrGit.WithMessage("branch %q already exists; choose another name, or delete it with: git branch -D %s", branch, branch).
		WithDetails(deployment.FieldDetails("branch", branch))
}

// run returns one plumbing command over the private index; what it prints comes without its final newline.
func (p proposal) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	out, err := p.git(ctx, gitcli.Command{Dir: p.dir, Args: args, Stdin: stdin, Env: append(gitcli.Identity(), "GIT_INDEX_FILE="+filepath.Join(p.scratch, "index")),
		Settings: []gitcli.Setting{{Name: "core.splitIndex", Value: "false"}, {Name: "user.useConfigOnly", Value: "true"}, {Name: "i18n.commitEncoding", Value: "UTF-8"}}})
	return strings.TrimSuffix(string(out), "\n"), err
}

// stage makes the private index HEAD's with the files over it.
func (p proposal) stage(ctx context.Context, prefix string, files deployment.Tree) error {
	from := "--empty"
	if p.head != "" {
		from = p.head
	}
	if _, err := p.run(ctx, nil, "read-tree", from); err != nil {
		return err
	}
	listing, err := p.run(ctx, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	modes := map[string]string{} // by path relative to dir
	for entry, err := range git.Entries([]byte(listing)) {
		if err != nil {
			return deployment.ErrGit.WithMessage("%v", err).WithCause(err)
		}
		modes[entry.Path] = entry.Mode
	}
	var stored strings.Builder
	for i, f := range files {
		if err := placeable(f.Path, modes); err != nil {
			return err
		}
		content := filepath.Join(p.scratch, strconv.Itoa(i))
		if err := os.WriteFile(content, f.Content.Data, 0o600); err != nil {
			return disk(err, content)
		}
		stored.WriteString(content + "\n")
	}
	ids, err := p.run(ctx, []byte(stored.String()), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return err
	}
	var entries strings.Builder
	for i, id := range strings.Fields(ids) {
		mode := modes[files[i].Path]
		if mode == "" && files[i].Mode == deployment.ExecutableMode {
			mode = git.ScriptMode
		}
		fmt.Fprintf(&entries, "%s %s\t%s%s\x00", cmp.Or(mode, git.FileMode), id, prefix, files[i].Path)
	}
	_, err = p.run(ctx, []byte(entries.String()), "update-index", "-z", "--index-info")
	return err
}

// placeable rejects a path where the commit has something else than a file: writing there would make a link of a text, or take away
// what stands in the way.
func placeable(path string, modes map[string]string) error {
	problem := ""
	switch modes[path] {
	case git.LinkMode, git.SubmoduleMode:
		problem = "is a link or a submodule"
	}
	for i, r := range path {
		if _, file := modes[path[:i]]; r == '/' && file {
			problem = "is below something that is not a directory"
		}
	}
	for other := range modes {
		if strings.HasPrefix(other, path+"/") {
			problem = "is a directory"
		}
	}
	if problem == "" {
		return nil
	}
	return deployment.ErrPath.WithMessage("%q %s at HEAD, so no file can be proposed there; move one of them", path, problem).WithDetails(deployment.FieldDetails("path", path))
}

// commit makes a commit of the private index.
func (p proposal) commit(ctx context.Context, message string) (string, error) {
	tree, err := p.run(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree}
	if p.head != "" {
		was, err := p.run(ctx, nil, "rev-parse", "--verify", p.head+"^{tree}")
		if err != nil {
			return "", err
		}
		if was == tree {
			return "", deployment.ErrGit.WithMessage("there is nothing to propose: no file differs from the last commit of %s", p.dir)
		}
		args = append(args, "-p", p.head)
	}
	commit, err := p.run(ctx, []byte(message+"\n"), append(args, "-F", "-")...)
	if unknown(err) {
		return "", whoCommits(err)
	}
	return commit, err
}

// unknown reports whether git failed because no author is configured.
func unknown(err error) bool {
	said := words(err)
	return strings.Contains(said, "auto-detection is disabled") || strings.Contains(said, "tell me who you are") || strings.Contains(said, "empty ident")
}

// whoCommits says how to say who commits.
func whoCommits(err error) error {
	return deployment.ErrGit.WithMessage("git has no author name and email; run: git config --global user.name \"Your Name\" and git config --global user.email you@example.com, then repeat").
		WithDetails(deployment.FieldDetails("hint", "configure user.name and user.email")).WithCause(err)
}
