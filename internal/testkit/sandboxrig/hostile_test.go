package sandboxrig_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

func TestMain(m *testing.M) { sandboxrig.Main(m.Run) }

type args = map[string]any

// machine is one on which every toolset has a repository to look at.
type machine struct {
	*sandboxrig.Rig
	t      *testing.T
	core   *projectrig.Core
	gits   string // where each git that is started is noted: first what it was told to leave, then its arguments
	shop   string // a project
	url    string // what sandboxes are of
	clone  string
	ground string // the workspace root of an ecosystem
	config string // a config repository
	module string // a repository with a module
	pack   string
}

// attributes have git ask for every kind of driver.
const attributes = "* filter=evil diff=evil merge=evil\n"

// newMachine puts everything there with git as it is, so that nothing but the repositories' configuration is to fear.
func newMachine(t *testing.T) *machine {
	m := &machine{Rig: sandboxrig.New(t), t: t}
	m.url, m.clone = m.Project("shop", map[string]string{".gitattributes": attributes, "a.txt": "one\n"})
	m.clone = filepath.Join(m.clone, "repo")
	m.Git(m.clone, "branch", "late")
	box := m.Do("opencode_sandbox_create", args{"git_url": m.url, "name": "one"})["worktree"].(args)["directory"].(string)
	m.Write(box, "a.txt", "one\ntwo\n")
	m.Git(box, "commit", "-q", "-a", "-m", "two")
	_, m.shop = m.Origin("site", map[string]string{".gitattributes": attributes, "a.txt": "one\n", "package.json": `{"name":"site"}`})

	_, m.ground = m.Origin("ground", map[string]string{".gitattributes": attributes})
	t.Setenv("AMOF_WORKSPACE_ROOT", m.ground)
	t.Setenv("AMOF_HOME", filepath.Join(m.Top, "amof"))
	api, _ := m.Origin("api", map[string]string{".gitattributes": attributes, "a.txt": "one\n", "CHANGELOG.md": "# Changelog\n"})

	m.config = filepath.Join(m.Top, "config")
	require.NoError(t, os.MkdirAll(m.config, 0o755))
	t.Setenv("AGENTPACK_HOME", filepath.Join(m.Top, "agentpack"))
	t.Setenv("CODEX_HOME", filepath.Join(m.Home, ".codex"))
	m.module, _ = m.Origin("module", map[string]string{"AGENTS.md": "Be kind.\n", ".gitattributes": attributes})

	m.core = m.Rig.Rig.OpenCore(func(c *local.Config) {
		c.Packs.Source, c.Ecosystems.Dir, c.Deployments.Dir = m.shop, m.ground, m.shop
	})
	m.core.Register(m.shop)
	m.ecosystem(api)
	m.deployments()
	m.packs()
	return m
}

// ecosystem installs one with that repository.
func (m *machine) ecosystem(api string) {
	m.t.Helper()
	m.core.Do("amof_create_ecosystem", args{"name": "demo", "provisioner": "noop", "mode": "execute", "repos": []args{{"name": "api", "url": api, "branch": "main"}}})
	m.Git(m.ground, "add", "-A")
	m.Git(m.ground, "commit", "-q", "-m", "demo")
	run := m.core.Do("amof_install_ecosystem", args{"ecosystem": "demo", "mode": "execute"})
	m.Soon(func() bool {
		return m.core.Do("amof_get_run_status", args{"run_id": run["run_id"], "wait_seconds": 20})["status"] == "success"
	}, "the ecosystem is installed")
}

// checkout returns the ecosystem's clone.
func (m *machine) checkout() string {
	return filepath.Join(m.ground, "worktrees", "demo", "repos", "api")
}

// deployments has a module out of a repository, and one of its own that was deployed and edited.
func (m *machine) deployments() {
	m.t.Helper()
	for _, step := range []struct {
		name tool.Name
		in   args
	}{
		{"agents_init", args{"git": true, "targets": []string{"codex"}, "scope": "both", "yes": true}}, {"agents_add", args{"module_type": "instructions", "source": "git:" + m.module, "tags": []string{"base"}, "yes": true}},
		{"agents_lock", args{"yes": true}}, {"agents_fetch", args{"yes": true}},
	} {
		step.in["repo"] = m.config
		m.core.Do(step.name, step.in)
	}
	m.Write(m.config, ".gitattributes", attributes)
	m.Git(m.config, "add", "-A")
	m.Git(m.config, "commit", "-q", "-m", "config")
	shown := m.core.Ask("deploy", args{"repo": m.config})
	require.NotNil(m.t, shown.Request, string(shown.Value))
	m.core.Do("deploy_apply", args{"repo": m.config, "yes": true, "confirm_token": shown.Request.Token.Reveal()})
	edited := filepath.Join(m.Home, ".codex", "AGENTS.md")
	text, err := os.ReadFile(edited)
	require.NoError(m.t, err)
	require.NoError(m.t, os.WriteFile(edited, []byte(strings.Replace(string(text), "kind", "very kind", 1)), 0o644))
}

// packs has an anchor whose text has changed since.
func (m *machine) packs() {
	m.t.Helper()
	made := m.core.Do("input", args{"action": "create", "name": "notes", "ttl_minutes": 60})["payload"].(args)
	m.pack = made["id"].(string)
	for i, in := range []args{{"action": "upsert_section", "section_key": "section", "section_title": "S"},
		{"action": "upsert_ref", "section_key": "section", "ref_key": "ref", "path": "a.txt", "line_start": 1, "line_end": 1, "commit": m.Git(m.shop, "rev-parse", "HEAD")[:12]}} {
		in["id"], in["expected_revision"] = m.pack, made["revision"].(float64)+float64(i)
		m.core.Do("input", in)
	}
	m.Write(m.shop, "a.txt", "two\n")
}

// hostile has every repository's configuration name programs, and each file be compared again. Each git that is started is noted from now on.
func (m *machine) hostile() gitfixture.Traps {
	m.t.Helper()
	traps := gitfixture.NewTraps(m.t, "")
	for _, dir := range []string{m.clone, m.shop, m.ground, m.checkout(), m.config} {
		m.Git(dir, "config", "user.name", "A")
		traps.Configure(filepath.Join(dir, ".git"), dir == m.checkout())
	}
	traps.Configure(m.module, true)
	then := time.Now().Add(time.Hour)
	for _, dir := range []string{m.clone, filepath.Join(m.clone, "..", "worktrees", "one"), m.shop, m.ground, filepath.Join(m.ground, "worktrees", "demo"), m.checkout(), m.config} {
		require.NoError(m.t, os.Chtimes(filepath.Join(dir, ".gitattributes"), then, then))
	}
	git, err := exec.LookPath("git")
	require.NoError(m.t, err)
	m.gits = filepath.Join(m.Top, "gits")
	m.Write(filepath.Join(m.Home, "bin"), "git", "#!/bin/sh\nn=0; k=; while [ $n -lt \"${GIT_CONFIG_COUNT:-0}\" ]; do eval k=\\\"\\$k \\$GIT_CONFIG_KEY_$n\\\"; n=$((n+1)); done\necho \"$k | $*\" >> '"+m.gits+"'\nexec "+git+" \"$@\"\n")
	require.NoError(m.t, os.Chmod(filepath.Join(m.Home, "bin", "git"), 0o755))
	traps.Sprung()
	return traps
}

// started returns the gits that were started since it was last asked.
func (m *machine) started() []string {
	m.t.Helper()
	text := strings.TrimSpace(m.Read(m.Top, "gits"))
	require.NoError(m.t, os.RemoveAll(m.gits))
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}

// TestNoToolRunsWhatARepositoryNames calls every tool that asks git about a repository, in every mode and unconfirmed, over repositories that name a
// program wherever git takes one. None runs, and every git that was started was told to run none. What is carried out here is what runs nothing of a
// repository's even then.
func TestNoToolRunsWhatARepositoryNames(t *testing.T) {
	m := newMachine(t)
	traps := m.hostile()
	repo, demo, site, shop := args{"repo": m.config}, args{"ecosystem": "demo"}, args{"project_path": m.shop}, args{"git_url": m.url}
	changed := func() { m.Write(m.checkout(), "new.txt", "new\n") }
	uncached := func() { require.NoError(t, os.RemoveAll(filepath.Join(m.Top, "agentpack", "cache"))) }
	manifested := func() { // as earlier versions left it: doctor asks whether git ignores it
		for _, dir := range []string{m.shop, m.config} {
			m.Write(dir, ".agentpack.manifest.codex.json", `{"schema_version":1,"tool":"codex","managed_files":[]}`)
		}
	}
	reads, changes, unconfirmed := []string{"ask"}, []string{"ask", "plan", "execute"}, []string{"ask", "plan"}
	for _, call := range []struct {
		tool   tool.Name
		modes  []string
		in     []args
		before func()
	}{
		{"get_git_status", reads, []args{site}, nil}, {"get_staged_diff", reads, []args{site}, nil}, {"list_worktrees", reads, []args{site}, nil},
		{"get_git_diff", reads, []args{{"worktree_path": m.shop}}, nil}, {"get_worktree_status", reads, []args{{"worktree_path": m.shop}}, nil},

		{"amof_get_ecosystem_status", reads, []args{demo}, nil}, {"amof_release_status", reads, []args{demo}, nil}, {"amof_release_validate", reads, []args{demo}, nil},
		{"amof_release_bump", changes, []args{demo, {"bump_type": "patch"}}, nil}, {"amof_archive_ecosystem", changes, []args{demo}, nil},
		{"amof_push_ecosystem", changes, []args{demo, {"commit_all": true, "message": "x"}}, changed}, {"amof_discard_ecosystem", changes, []args{demo}, nil},
		{"amof_sync_ecosystem", unconfirmed, []args{demo}, nil}, {"amof_ticket_start", changes, []args{demo, {"ticket_id": "T-1"}}, nil},

		{"doctor", reads, []args{repo}, manifested}, {"plan", reads, []args{repo}, uncached}, {"preview", reads, []args{repo, {"diff": true}}, uncached}, {"deploy", reads, []args{repo}, uncached},
		{"agents_policy_audit", reads, []args{repo}, nil}, {"agents_lock", changes, []args{repo, {"dry_run": true}}, uncached}, {"agents_fetch", changes, []args{repo, {"yes": true}}, uncached},
		{"evolve_propose", changes, []args{repo, {"yes": true}}, nil}, {"agents_sync", unconfirmed, []args{repo, {"yes": true}}, nil},

		{"output", reads, []args{{"action": "diff", "id": m.pack}}, nil},

		{"opencode_sandbox_list", reads, []args{shop}, nil}, {"opencode_sandbox_create", changes, []args{shop, {"name": "two"}}, nil},
		{"sandbox_diff", reads, []args{shop, {"name": "one"}}, nil}, {"sandbox_update", changes, []args{shop, {"name": "one", "from": "late"}}, nil}, {"sandbox_merge", changes, []args{shop, {"name": "one", "method": "squash"}}, nil},
		{"opencode_sandbox_reset", changes, []args{shop, {"name": "one"}}, nil}, {"opencode_sandbox_delete", changes, []args{shop, {"name": "one"}}, nil},
		{"opencode_project_destroy", changes, []args{shop}, nil},
	} {
		if call.before != nil {
			call.before()
		}
		gits := 0
		for _, mode := range call.modes {
			in := args{}
			for _, part := range call.in {
				maps.Copy(in, part)
			}
			if strings.HasPrefix(string(call.tool), "amof_") && len(call.modes) > 1 {
				in["mode"] = mode
			} else {
				m.core.Do("set_mode", args{"mode": mode})
			}
			m.started()
			m.core.Ask(call.tool, in)
			all := m.started()
			gits += len(all)
			for _, git := range all {
				assert.Contains(t, git, "core.fsmonitor", "%s in mode %s starts git past the guard", call.tool, mode)
			}
			assert.Empty(t, traps.Sprung(), "%s in mode %s", call.tool, mode)
		}
		assert.Positive(t, gits, "%s asks git nothing", call.tool)
	}
	_ = exec.Command("git", "-C", m.checkout(), "status").Run()
	assert.NotEmpty(t, traps.Sprung(), "the traps work")
}
