package worktree_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// TestAPushReachesWhatWasShown: no setting of the clone's own puts another address in the place of the one that a push names.
func TestAPushReachesWhatWasShown(t *testing.T) {
	p, dir := atWork(t)
	evil := filepath.Join(t.TempDir(), "evil.git")
	p.In(p.Clone, "init", "--quiet", "--bare", evil)
	plan, err := p.Repos.PlanPush(t.Context(), p.Clone, p.Access(), dir, "")
	require.NoError(t, err)
	url := p.Access().URL
	for _, key := range []string{"url." + evil + ".pushInsteadOf", "url." + evil + ".insteadOf", "remote." + url + ".pushurl", "remote." + url + ".url"} {
		value := evil
		if key[:4] == "url." {
			value = url[:len(url)-4]
		}
		p.In(p.Clone, "config", key, value)
		require.ErrorIs(t, p.Repos.Push(t.Context(), p.Clone, p.Access(), plan), gitcli.ErrLed, key)
		p.In(p.Clone, "config", "--unset", key)
	}
	assert.Empty(t, p.In(evil, "for-each-ref"))
	require.NoError(t, p.Repos.Push(t.Context(), p.Clone, p.Access(), plan))
	assert.Equal(t, plan.Commit, p.In(p.Remote, "rev-parse", plan.Branch))
}

// TestAPushPlanIsAboutWhatTheRemoteHas: refs that programs in the sandbox wrote into the clone hide no commits, and hooks of a remote on this machine do not run.
func TestAPushPlanIsAboutWhatTheRemoteHas(t *testing.T) {
	p, dir := atWork(t)
	p.Put(p.Remote, "hooks/pre-receive", "#!/bin/sh\n: >"+filepath.Join(p.Remote, "ran")+"\n")
	require.NoError(t, os.Chmod(filepath.Join(p.Remote, "hooks", "pre-receive"), 0o755))
	honest, err := p.Repos.PlanPush(t.Context(), p.Clone, p.Access(), dir, "")
	require.NoError(t, err)
	require.NotEmpty(t, honest.Commits)
	p.In(p.Clone, "update-ref", "refs/remotes/origin/other", honest.Commit)
	p.In(p.Clone, "update-ref", "refs/remotes/origin/"+honest.Branch, honest.Commit)
	plan, err := p.Repos.PlanPush(t.Context(), p.Clone, p.Access(), dir, "")
	require.NoError(t, err)
	assert.Equal(t, honest, plan)
	require.NoError(t, p.Repos.Push(t.Context(), p.Clone, p.Access(), plan))
	assert.Equal(t, plan.Commit, p.In(p.Remote, "rev-parse", plan.Branch))
	assert.NoFileExists(t, filepath.Join(p.Remote, "ran"))
}

// TestCommitsAreWhatTheirNamesSay: a commit that another one replaces on this machine alone is planned, and merged, as it would be pushed; and so is one
// whose parents are said to be others.
func TestCommitsAreWhatTheirNamesSay(t *testing.T) {
	p, dir := atWork(t)
	p.Put(dir, "install.sh", "rm -rf /\n")
	evil := p.Save(dir, "evil")
	p.In(dir, "reset", "--quiet", "--hard", "HEAD~1")
	p.Put(dir, "doc.md", "text\n")
	good := p.Save(dir, "good")
	p.In(dir, "reset", "--quiet", "--hard", evil)
	p.In(dir, "replace", evil, good)
	require.NoError(t, os.MkdirAll(filepath.Join(p.Clone, ".git", "info"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.Clone, ".git", "info", "grafts"), []byte(evil+" "+p.In(p.Clone, "rev-parse", "main")+"\n"), 0o600))
	push, err := p.Repos.PlanPush(t.Context(), p.Clone, p.Access(), dir, "")
	require.NoError(t, err)
	require.Len(t, push.Commits, 3)
	assert.Equal(t, "evil", push.Commits[0].Subject)
	merge := p.planned(dir, sandboxport.Merge{})
	var paths []string
	for _, f := range merge.Files {
		paths = append(paths, f.Path)
	}
	assert.Contains(t, paths, "install.sh")
	assert.NotContains(t, paths, "doc.md")
	assert.Len(t, merge.Commits, 3)
}

// TestLinesStandUnderTheirOwnFile: no file's lines are shown as another's, whatever its name and its lines are.
func TestLinesStandUnderTheirOwnFile(t *testing.T) {
	p, dir := atWork(t)
	names := []string{"evil\"q.txt", "tab\tü.txt", "plain.txt"}
	for _, name := range names {
		p.Put(dir, name, "++ b/README.md\n-- a/README.md\nrename to README.md\n")
	}
	p.Save(dir, "names")
	files, left, err := p.Repos.MergedLines(t.Context(), p.Clone, p.planned(dir, sandboxport.Merge{}), 1<<20)
	require.NoError(t, err)
	assert.Zero(t, left)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	assert.Subset(t, paths, names)
	assert.NotContains(t, paths, "README.md")
}

// TestASandboxDoesNotHideLines: text that its own attributes call binary is shown, and what is binary is not.
func TestASandboxDoesNotHideLines(t *testing.T) {
	p, dir := atWork(t)
	p.Put(dir, ".gitattributes", "*.sh -diff\n")
	p.Put(dir, "run.sh", "rm -rf /\n")
	p.Put(dir, "image.sh", "\x00\x01rubbish\n")
	found, err := p.Repos.Compare(t.Context(), p.Clone, dir, sandboxport.Compare{BaseRef: "main", Files: 100, Lines: 1 << 20})
	require.NoError(t, err)
	assert.Contains(t, found.Lines, "+rm -rf /\n")
	assert.NotContains(t, found.Lines, "rubbish")
}

// TestAMergeShowsWhatFits: a file that is too large hides no other one, and no attributes have text be taken for binary.
func TestAMergeShowsWhatFits(t *testing.T) {
	p, dir := atWork(t)
	p.Put(p.Clone, ".gitattributes", "*.sh -diff\n")
	p.Save(p.Clone, "attributes")
	p.Put(p.Clone, ".git/info/attributes", "*.sh -diff\n*.py -diff\n")
	p.Put(dir, "a-huge.txt", strings.Repeat("many lines\n", 1000))
	p.Put(dir, "b-long.txt", strings.Repeat("x", 9000)+"\n")
	p.Put(dir, "run.sh", "rm -rf /\n")
	p.Put(dir, "run.py", "import os\n")
	p.Put(dir, "image.sh", "\x00\x01rubbish\n")
	p.Save(dir, "more")
	plan := p.planned(dir, sandboxport.Merge{})
	binary := map[string]bool{}
	for _, f := range plan.Files {
		binary[f.Path] = f.Binary
	}
	assert.Equal(t, []bool{false, false, true}, []bool{binary["run.sh"], binary["run.py"], binary["image.sh"]})
	files, left, err := p.Repos.MergedLines(t.Context(), p.Clone, plan, 6000)
	require.NoError(t, err)
	assert.Equal(t, 2, left)
	assert.Len(t, files, len(plan.Files)-2)
	shown := map[string]string{}
	for _, f := range files {
		shown[f.Path] = f.Unified
	}
	assert.NotContains(t, shown, "a-huge.txt")
	assert.NotContains(t, shown, "b-long.txt")
	assert.Contains(t, shown["run.sh"], "+rm -rf /\n")
	assert.Contains(t, shown["run.py"], "+import os\n")
	assert.NotContains(t, strings.Join(slices.Collect(maps.Values(shown)), ""), "rubbish")
}
