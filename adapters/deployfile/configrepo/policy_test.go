package configrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

var (
	_ deployport.Orgs   = (*configrepo.PolicyReader)(nil)
	_ deployport.Lister = (*configrepo.PolicyReader)(nil)
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func TestOrg(t *testing.T) {
	dir := t.TempDir()
	_, found, err := configrepo.NewPolicyReader().Org(t.Context(), dir)
	require.NoError(t, err)
	assert.False(t, found)
	write(t, dir, "agentpack.org.yaml", `version: 1
policy_pack: {source: "local:policy"}
distribution_policy: {required_targets: [codex], required_modules: ["skill:a", b]}
supply_chain_policy:
  allowed_git_remotes: [github.com/good]
  require_lockfile: true
`)
	got, found, err := configrepo.NewPolicyReader().Org(t.Context(), dir)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, governance.OrgConfig{Path: filepath.Join(dir, "agentpack.org.yaml"), HasPack: true, PackSource: "local:policy", RequiredTargets: []string{"codex"},
		RequiredModules: []string{"skill:a", "b"}, AllowedRemotes: []string{"github.com/good"}, RequireLock: true}, got)

	write(t, dir, "agentpack.org.yaml", "version: 1\n")
	got, _, err = configrepo.NewPolicyReader().Org(t.Context(), dir)
	require.NoError(t, err)
	assert.False(t, got.HasPack)
	assert.False(t, got.RequireLock)
}

func TestOrgRefuses(t *testing.T) {
	for text, as := range map[string]*fault.Error{
		"":                                     deployment.ErrPolicyConfig,
		"version: [":                           deployment.ErrPolicyConfig,
		"policy_pack: {source: x}\n":           deployment.ErrPolicyConfig,
		"version: 2\nnew_key: 1\n":             deployment.ErrPolicyVersion,
		"version: one\n":                       deployment.ErrPolicyConfig,
		"version: 1\nsuply_chain_policy: {}\n": deployment.ErrPolicyConfig,
		"version: 1\nsupply_chain_policy: {allowed_git_remotes: github.com}\n": deployment.ErrPolicyConfig,
	} {
		dir := t.TempDir()
		write(t, dir, "agentpack.org.yaml", text)
		_, _, err := configrepo.NewPolicyReader().Org(t.Context(), dir)
		require.ErrorIs(t, err, as, text)
		assert.Contains(t, fault.From(err).Details, "path_posix", text)
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "agentpack.org.yaml")))
	_, _, err := configrepo.NewPolicyReader().Org(t.Context(), dir)
	require.ErrorIs(t, err, deployment.ErrPolicyConfig, "a link to nothing switches no policy off")
	write(t, t.TempDir(), "x", "")
	outside := filepath.Join(t.TempDir(), "org.yaml")
	require.NoError(t, os.WriteFile(outside, []byte("version: 1\n"), 0o644))
	require.NoError(t, os.Remove(filepath.Join(dir, "agentpack.org.yaml")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "agentpack.org.yaml")))
	_, _, err = configrepo.NewPolicyReader().Org(t.Context(), dir)
	require.ErrorIs(t, err, deployment.ErrPolicyConfig, "no link leads out")
}

func TestOrgLock(t *testing.T) {
	dir := t.TempDir()
	_, found, err := configrepo.NewPolicyReader().OrgLock(t.Context(), dir)
	require.NoError(t, err)
	assert.False(t, found)
	want := governance.NewLock("local:policy", deployment.ResolvedSource{Local: &deployment.ResolvedLocal{Path: "policy"}},
		deployment.Tree{{Path: "a", Content: deployment.ContentOf([]byte("a"))}})
	text, err := want.Encode()
	require.NoError(t, err)
	write(t, dir, "agentpack.org.lock.json", string(text))
	got, found, err := configrepo.NewPolicyReader().OrgLock(t.Context(), dir)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, want, got)

	for text, as := range map[string]*fault.Error{
		"{": deployment.ErrPolicyConfig, "{}": deployment.ErrPolicyConfig, `{"version":2}`: deployment.ErrPolicyVersion, `{"version":1}`: deployment.ErrPolicyConfig,
		`{"version":1,"policy_pack":3}`: deployment.ErrPolicyConfig,
		strings.Replace(string(text), `"git": null`, `"git": {"url":"u","commit":"c","subdir":""}`, 1): deployment.ErrPolicyConfig,
	} {
		write(t, dir, "agentpack.org.lock.json", text)
		_, _, err := configrepo.NewPolicyReader().OrgLock(t.Context(), dir)
		require.ErrorIs(t, err, as, text)
	}
}

func TestList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "target") // the names in skip are of what lies inside
	for _, name := range []string{"b/SKILL.md", "a-b", "a/b", "target/x", "deep/node_modules/x", ".git/x", "deep/.agentpack/x", "deep/target.md"} {
		write(t, dir, name, "x")
	}
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, nil, 0o644))
	for link, to := range map[string]string{"inside": "a/b", "outside": outside, "nowhere": "gone", "dir": "a"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	got, err := configrepo.NewPolicyReader().List(t.Context(), dir, governance.SkippedDirs())
	require.NoError(t, err)
	var paths []string
	for _, f := range got {
		require.NoError(t, f.Err)
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"a-b", "a/b", "b/SKILL.md", "deep/target.md", "inside"}, paths)
	for _, none := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "a-b")} {
		_, err = configrepo.NewPolicyReader().List(t.Context(), none, nil)
		require.ErrorIs(t, err, deployment.ErrPath)
	}
}

func TestListNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "closed/x", "")
	require.NoError(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o755) })
	got, err := configrepo.NewPolicyReader().List(t.Context(), dir, nil)
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		assert.Len(t, got, 1, "root may read everything")
		return
	}
	require.Len(t, got, 1)
	require.ErrorIs(t, got[0].Err, deployment.ErrPermission)
}

func TestDecodeLock(t *testing.T) {
	_, err := configrepo.NewPolicyReader().DecodeLock([]byte("{"), "x")
	require.ErrorIs(t, err, deployment.ErrLock)
}
