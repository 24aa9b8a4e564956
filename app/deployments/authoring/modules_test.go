package authoring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
)

func TestAddAndRemove(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	before := w.Text(w.in("agentpack.yaml"))
	w.Write(w.in("modules/a.b/AGENTS.md"), "# A\n")
	add := yes("module_type", "instructions", "source", "local:./modules/a.b", "tags", []string{"base", " base", ""}, "targets", []string{"codex"})
	dry := w.Quiet("agents_add", args{"module_type": add["module_type"], "source": add["source"], "tags": add["tags"], "dry_run": true})
	out := w.Golden("add", "agents_add", add)
	assert.JSONEq(t, string(dry.Data), string(out.Data))
	text := w.Text(w.in("agentpack.yaml"))
	assert.Contains(t, text, "# kept\n")
	config, err := w.deps.Compiler.Configs.Load(t.Context(), w.repo)
	require.NoError(t, err)
	m, err := config.Manifest.Module("instructions:a")
	require.NoError(t, err)
	assert.Equal(t, []string{"base"}, m.Tags)
	assert.Equal(t, []string{"codex"}, m.Targets)
	assert.Equal(t, "modules/a.b", m.Source.Local)

	details := w.Refused(deployment.ErrConfig, "agents_add", add)
	assert.Equal(t, "instructions:a", details["module_id"])
	assert.Equal(t, text, w.Text(w.in("agentpack.yaml")))

	w.Golden("remove", "agents_remove", yes("module_id", "instructions:a"))
	assert.Equal(t, before, w.Text(w.in("agentpack.yaml")))
	assert.FileExists(t, w.in("modules/a.b/AGENTS.md"))
	details = w.Refused(deployment.ErrConfig, "agents_remove", yes("module_id", "instructions:a"))
	assert.Equal(t, "module_not_found", details["reason_code"])
}

func TestAddGit(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	out := w.Call("agents_add", yes("module_type", "skill", "source", "git:https://example.com/owner/tools.git#subdir=skills/review&ref=v2&shallow=0"))
	assert.Contains(t, string(out.Data), `"module_id":"skill:review"`)
	require.Len(t, out.Warnings, 1)
	assert.Contains(t, out.Warnings[0], "no tags")
	config, err := w.deps.Compiler.Configs.Load(t.Context(), w.repo)
	require.NoError(t, err)
	assert.Equal(t, &deployment.GitSource{URL: "https://example.com/owner/tools.git", Ref: "v2", Subdir: "skills/review"}, config.Manifest.Modules[0].Source.Git)
}

func TestAddRefuses(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	before := w.Shape()
	for name, c := range map[string]struct {
		args args
		want error
	}{
		"no spec":        {yes("module_type", "skill", "source", "modules/x"), deployment.ErrConfig},
		"outside":        {yes("module_type", "skill", "source", "local:../x"), deployment.ErrConfig},
		"absolute":       {yes("module_type", "skill", "source", "local:/x"), deployment.ErrConfig},
		"program":        {yes("module_type", "skill", "source", "git:ext::sh -c x", "id", "skill:x"), deployment.ErrConfig},
		"escaping skill": {yes("module_type", "skill", "source", "local:x", "id", "skill:../x"), deployment.ErrConfig},
		"target":         {yes("module_type", "skill", "source", "local:x", "targets", []string{"emacs"}), deployment.ErrTarget},
	} {
		_, err := w.Try("agents_add", c.args)
		assert.ErrorIs(t, err, c.want, name)
	}
	assert.Equal(t, before, w.Shape())
}

func TestAddDoubtsWhatCannotBeDeployed(t *testing.T) {
	w := newWorld(t)
	w.manifest()
	w.Write(w.in("modules/s/SKILL.md"), "no front matter\n")
	for source, says := range map[string]string{"local:modules/none": "does not exist", "local:modules/s": "frontmatter"} {
		out := w.Call("agents_add", yes("module_type", "skill", "source", source, "tags", []string{"base"}))
		require.Len(t, out.Warnings, 1, source)
		assert.Contains(t, out.Warnings[0], says)
	}
}

// TestAddTellsOfNamesInOtherCase: modules that are deployed to one place where the file system takes no account of case.
func TestAddTellsOfNamesInOtherCase(t *testing.T) {
	w := newWorld(t)
	w.manifest("  - {id: 'skill:Review', type: skill, source: {local_path: {path: modules/r}}}\n")
	w.Write(w.in("modules/r/SKILL.md"), skillText)
	w.Write(w.in("modules/s/SKILL.md"), skillText)
	out := w.Call("agents_add", yes("module_type", "skill", "source", "local:modules/s", "id", "skill:review", "tags", []string{"base"}))
	assert.Contains(t, out.Warnings, "skill:Review and skill:review differ in upper and lower case alone; on macOS and Windows they are deployed to one place, so give one of them another id")

	r := gitfixture.New(t, skillsRepo)
	from := w.Call("agents_add_from", yes("source", r.Remote, "skills", []string{"review"}, "id", "skill:REVIEW"))
	assert.Contains(t, from.Warnings, "skill:Review and skill:REVIEW differ in upper and lower case alone; on macOS and Windows they are deployed to one place, so give one of them another id")
}

// TestEditsAreNotOverwritten changes the manifest between looking and writing.
func TestEditsAreNotOverwritten(t *testing.T) {
	w := newWorld(t)
	w.manifest("  - {id: 'prompt:p', type: prompt, source: {local_path: {path: p.md}}}\n")
	w.Write(w.in("p.md"), "p\n")
	for _, c := range []struct {
		name string
		args args
	}{
		{"agents_add", yes("module_type", "prompt", "source", "local:q.md")}, {"agents_remove", yes("module_id", "prompt:p")},
	} {
		b, err := w.Begin(c.name, c.args)
		require.NoError(t, err)
		text := w.Text(w.in("agentpack.yaml")) + "# edited\n"
		w.Write(w.in("agentpack.yaml"), text)
		_, err = b.Commit()
		require.ErrorIs(t, err, deployment.ErrStale, c.name)
		assert.Equal(t, text, w.Text(w.in("agentpack.yaml")))
	}
	b, err := w.Begin("agents_lock", yes())
	require.NoError(t, err)
	w.Write(w.in("agentpack.lock.json"), "{}")
	_, err = b.Commit()
	require.ErrorIs(t, err, deployment.ErrStale)
	assert.Equal(t, "{}", w.Text(w.in("agentpack.lock.json")))
	assert.False(t, strings.Contains(w.Text(w.in("agentpack.yaml")), "q.md"))
}
