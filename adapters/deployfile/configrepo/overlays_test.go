package configrepo_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const base = "overlays/instructions_base--d39861fff1"

func overlays() *configrepo.Overlays { return configrepo.NewOverlays(files()) }

func TestLayerWithoutAnything(t *testing.T) {
	r := newRepo(t)
	for scope, dir := range map[deployment.OverlayScope]string{
		deployment.GlobalScope:  base,
		deployment.MachineScope: "overlays/machines/box/instructions_base--d39861fff1",
		deployment.ProjectScope: "projects/0123456789abcdef/overlays/instructions_base--d39861fff1",
	} {
		l, err := overlays().Layer(context.Background(), r.at, "instructions:base", scope)
		require.NoError(t, err)
		assert.Equal(t, overlay.Layer{Scope: scope, Dir: r.path(dir), Kind: overlay.KindDir}, l)
		there, err := overlays().Candidates(context.Background(), r.at, "instructions:base", scope)
		require.NoError(t, err)
		assert.Empty(t, there)
	}
}

func TestLayerBelowADirectoryNamedAgentpack(t *testing.T) {
	r := newRepo(t)
	require.Contains(t, r.at.Repo, "/.agentpack/", "the default place of a config repository")
	r.file(base+"/AGENTS.md", "mine")
	r.file(base+"/sub/more.md", "more")
	r.file(base+"/.agentpack/module_id", "instructions:base\n")
	r.file(base+"/.agentpack/overlay.json", "{\n  \"overlay_kind\": \"dir\"\n}\n")
	r.file(base+"/.git/x", "no")
	sum := deployment.SumOf([]byte("x")).String()
	r.file(base+"/.agentpack/baseline.json", `{"version":2,"created_at":"2026-03-01T10:00:00.5Z","upstream_sha256":"`+sum+`","file_manifest":[{"path":"AGENTS.md","sha256":"`+sum+`","bytes":1}],"upstream":{"kind":"local_path","repo_rel_path":"modules/base","repo_git_rev":null,"repo_dirty":null}}`)
	l, err := overlays().Layer(context.Background(), r.at, "instructions:base", deployment.GlobalScope)
	require.NoError(t, err)
	assert.True(t, l.Exists)
	assert.Equal(t, []string{"AGENTS.md", "sub/more.md"}, paths(l.Overrides))
	assert.Equal(t, deployment.SumOf([]byte("mine")), l.Overrides[0].Content.Sum)
	assert.Equal(t, "instructions:base", l.ModuleID)
	assert.Empty(t, l.Patches)
	require.NotNil(t, l.Baseline)
	assert.Equal(t, &overlay.Origin{Local: &overlay.LocalOrigin{Path: "modules/base"}}, l.Baseline.Upstream)
	assert.Equal(t, "AGENTS.md", l.Baseline.Manifest[0].Path)

	r.file(base+"/.agentpack/baseline.json", `{"version":1,"created_at":"2026-03-01T10:00:00Z","upstream_sha256":"`+sum+`","file_manifest":[]}`)
	l, err = overlays().Layer(context.Background(), r.at, "instructions:base", deployment.GlobalScope)
	require.NoError(t, err)
	assert.Equal(t, 1, l.Baseline.Version)
	assert.Nil(t, l.Baseline.Upstream)
}

func TestLayerOfPatches(t *testing.T) {
	r := newRepo(t)
	r.file(base+"/.agentpack/overlay.json", `{"overlay_kind":"patch"}`)
	r.file(base+"/.agentpack/patches/b.md.patch", "b")
	r.file(base+"/.agentpack/patches/a/b.md.PATCH", "ab")
	r.file(base+"/.agentpack/patches/readme.txt", "no patch")
	r.file(base+"/.agentpack/conflicts/b.md", "<<<<<<<")
	r.file(base+"/.agentpack/conflicts/a/c.md", "<<<<<<<")
	l, err := overlays().Layer(context.Background(), r.at, "instructions:base", deployment.GlobalScope)
	require.NoError(t, err)
	assert.Equal(t, overlay.KindPatch, l.Kind)
	assert.Empty(t, l.Overrides)
	require.Len(t, l.Patches, 2)
	assert.Equal(t, []string{"a/b.md.PATCH", "b.md.patch"}, []string{l.Patches[0].Name, l.Patches[1].Name})
	got, err := files().Content(context.Background(), l.Patches[1].Content)
	require.NoError(t, err)
	assert.Equal(t, "b", string(got))
	assert.Equal(t, []string{"a/c.md", "b.md"}, l.Conflicts)
}

func TestLayerIsFoundUnderEveryName(t *testing.T) {
	ctx, r := context.Background(), newRepo(t)
	id := "skill:" + strings.Repeat("x", 80)
	names := deployment.OverlayNames(id)
	require.Len(t, names, 3)
	for i := len(names) - 1; i >= 0; i-- {
		r.file("overlays/"+names[i]+"/f", names[i])
		l, err := overlays().Layer(ctx, r.at, id, deployment.GlobalScope)
		require.NoError(t, err)
		assert.Equal(t, r.path("overlays/"+names[i]), l.Dir)
		there, err := overlays().Candidates(ctx, r.at, id, deployment.GlobalScope)
		require.NoError(t, err)
		assert.Len(t, there, len(names)-i)
	}
	long := strings.Repeat("y", 300) // no directory can have that name
	l, err := overlays().Layer(ctx, r.at, long, deployment.GlobalScope)
	require.NoError(t, err)
	assert.False(t, l.Exists)

	r.file("overlays/machines/box/other/f", "x")
	l, err = overlays().Layer(ctx, r.at, "machines", deployment.GlobalScope)
	require.NoError(t, err)
	assert.False(t, l.Exists, "the directory of all machines is no module's")
}

func TestLayerRefuses(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		prepare func(r repo)
		want    error
		has     string
	}{
		"kind unreadable":  {func(r repo) { r.file(base+"/.agentpack/overlay.json", "{") }, deployment.ErrConfig, "meta_path"},
		"kind unknown":     {func(r repo) { r.file(base+"/.agentpack/overlay.json", `{"overlay_kind":"both"}`) }, deployment.ErrConfig, "meta_path"},
		"kind a number":    {func(r repo) { r.file(base+"/.agentpack/overlay.json", `{"overlay_kind":1}`) }, deployment.ErrConfig, "meta_path"},
		"baseline damaged": {func(r repo) { r.file(base+"/.agentpack/baseline.json", `{"version":2`) }, deployment.ErrConfig, "baseline_path"},
		"baseline empty":   {func(r repo) { r.file(base+"/.agentpack/baseline.json", `{}`) }, deployment.ErrConfig, "baseline_path"},
		"baseline kind": {func(r repo) {
			r.file(base+"/.agentpack/baseline.json", `{"upstream_sha256":"`+deployment.SumOf(nil).String()+`","upstream":{"kind":"x"}}`)
		}, deployment.ErrConfig, "baseline_path"},
		"a file":     {func(r repo) { r.file(base, "x") }, deployment.ErrPath, "path"},
		"out":        {func(r repo) { r.link(r.at.Home, base) }, deployment.ErrPath, "target"},
		"link out":   {func(r repo) { r.link("/etc/hostname", base+"/x") }, deployment.ErrPath, "target"},
		"meta out":   {func(r repo) { r.file("kind", "{}"); r.link("../../../kind", base+"/.agentpack/overlay.json") }, deployment.ErrPath, "path"},
		"patch out":  {func(r repo) { r.file("p/x.patch", ""); r.link("../../../p", base+"/.agentpack/patches") }, deployment.ErrPath, "target"},
		"patch file": {func(r repo) { r.file(base+"/.agentpack/patches", "x") }, deployment.ErrPath, "path"},
		"nowhere":    {func(r repo) { r.link("nowhere", base) }, deployment.ErrPath, "path"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			c.prepare(r)
			_, err := overlays().Layer(ctx, r.at, "instructions:base", deployment.GlobalScope)
			require.ErrorIs(t, err, c.want)
			assert.NotEmpty(t, details(t, err)[c.has])
			if c.want == deployment.ErrConfig {
				assert.Equal(t, r.path(base), details(t, err)["overlay_dir"])
				assert.NotEmpty(t, details(t, err)["hint"])
			}
		})
	}
	r := newRepo(t)
	r.file(base+"/.agentpack/overlay.json", "{}")
	r.file("overlays/plain", "x")
	l, err := overlays().Layer(ctx, r.at, "instructions:base", deployment.GlobalScope)
	require.NoError(t, err)
	assert.Equal(t, overlay.KindDir, l.Kind, "a file without the key says nothing")
	require.NoError(t, os.Remove(r.path(base+"/.agentpack/overlay.json")))
	r.link(r.path(base), "overlays/prompt_hello--e9bfb440fc")
	l, err = overlays().Layer(ctx, r.at, "prompt:hello", deployment.GlobalScope)
	require.NoError(t, err)
	assert.True(t, l.Exists, "a link within the repository is followed")
}
