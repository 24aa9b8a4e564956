package worktree_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// repos is an adapter's ports.
type repos struct {
	Repos sandboxport.Repositories
}

// when returns the time of everything that is told one.
func when() time.Time { return time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC) }

// place is a clone of an origin that holds files, as a project has it.
type place struct {
	repos
	*gitfixture.Repo        // somebody else's clone
	Base             string // of the project
	Clone            string // the project's
	t                testing.TB
}

// openPlace makes a place whose origin holds the files of a txtar archive. The configuration of whoever runs the tests is kept out.
func openPlace(t testing.TB, newRepos repos, archive string) *place {
	t.Helper()
	p := placeWith(t, newRepos, archive)
	require.NoError(t, newRepos.Repos.Clone(t.Context(), p.Access(), p.Clone, nil))
	return p
}

// placeWith returns a place that the project has no clone of yet.
func placeWith(t testing.TB, newRepos repos, archive string) *place {
	t.Helper()
	alone(t)
	base := t.TempDir()
	return &place{repos: newRepos, Repo: gitfixture.New(t, archive), Base: base, Clone: filepath.Join(base, "repo"), t: t}
}

// alone keeps the configuration of whoever runs the tests out of them.
func alone(t testing.TB) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// Access is of the place's origin.
func (p *place) Access() sandboxport.Access { return sandboxport.Access{URL: "file://" + p.Remote} }

// In runs git in a directory.
func (p *place) In(dir string, args ...string) string {
	p.t.Helper()
	return p.Git(append([]string{"-C", dir}, args...)...)
}

// At returns where the sandbox of that name lies.
func (p *place) At(name string) string { return filepath.Join(p.Base, "worktrees", name) }

// Make plans and adds a sandbox, and returns its directory.
func (p *place) Make(name, branch string) string {
	p.t.Helper()
	plan, err := p.Repos.Plan(p.t.Context(), p.Clone, name, branch)
	require.NoError(p.t, err)
	_, err = p.Repos.Add(p.t.Context(), p.Clone, p.At(name), plan)
	require.NoError(p.t, err)
	return p.At(name)
}

// Put writes a file.
func (p *place) Put(dir, name, text string) {
	p.t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(p.t, os.WriteFile(file, []byte(text), 0o644))
}

// text returns what a file says; empty when it is not there.
func text(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	return string(text)
}

// Save commits everything in a directory.
func (p *place) Save(dir, message string) string {
	p.t.Helper()
	p.In(dir, "add", "--all")
	p.In(dir, "commit", "--quiet", "--allow-empty", "--message", message)
	return p.In(dir, "rev-parse", "HEAD")
}

// Traces returns everything of the clone that something half-made would show in: worktrees, refs, directories and what the configuration says.
func (p *place) Traces() string {
	p.t.Helper()
	var files []string
	require.NoError(p.t, filepath.WalkDir(p.Base, func(path string, entry os.DirEntry, err error) error {
		if err == nil && path != p.Clone && !strings.Contains(path, string(filepath.Separator)+".git"+string(filepath.Separator)) && path != filepath.Join(p.Base, "worktrees") {
			files = append(files, path)
		}
		return err
	}))
	slices.Sort(files)
	return strings.Join([]string{p.In(p.Clone, "worktree", "list", "--porcelain"), p.In(p.Clone, "for-each-ref"), p.In(p.Clone, "config", "--list", "--local"), strings.Join(files, "\n")}, "\n---\n")
}

// force returns a removal of everything.
func force(name, branch string) sandboxport.Removal {
	return sandboxport.Removal{Name: name, Branch: branch, DeleteBranch: branch != "", Force: true, At: when()}
}

// Gone asserts that nothing of a sandbox is left.
func (p *place) Gone(name, branch string) {
	p.t.Helper()
	assert.NoDirExists(p.t, p.At(name))
	assert.NotContains(p.t, p.In(p.Clone, "worktree", "list", "--porcelain"), "/"+name+"\n")
	if branch != "" {
		assert.Empty(p.t, p.In(p.Clone, "for-each-ref", "refs/heads/"+branch))
	}
}

// Find returns the surveyed tree of that name.
func (p *place) Find(name string) sandboxport.Tree {
	p.t.Helper()
	list, err := p.Repos.Survey(p.t.Context(), p.Clone)
	require.NoError(p.t, err)
	for _, tree := range list {
		if filepath.Base(tree.Directory) == name {
			return tree
		}
	}
	require.Fail(p.t, "not surveyed", name)
	return sandboxport.Tree{}
}

// strange is a file name with all that git quotes, or takes for an option.
const strange = "-n \"q\"\n\tü 日"

// files is an archive for a place, with files and with what git ignores.
const files = "first\n-- a.txt --\none\n-- b.txt --\nb\n-- dir/c.txt --\nc\n-- .gitignore --\n*.log\n.env*\nnode_modules/\n"

// lines are both lists of a loss.
func lines(l sandboxport.Loss) []string { return append(slices.Clone(l.Changes), l.Commits...) }

// jsonOf is a value as a document.
func jsonOf(t testing.TB, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	require.NoError(t, err)
	return string(doc)
}
