package environment_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// TestLocalService is the whole way with the built-in provisioner: deployed, it says where it is and answers; deploying again does nothing; moved
// on, it is started anew; destroyed, nothing answers and nothing is left.
func TestLocalService(t *testing.T) {
	t.Parallel()
	r := newRig(t, services("exec '"+os.Args[0]+"' web", "echo ready; exec sleep 300"))
	r.settles(r.said)
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	result := object(t, rec.Result)
	url := result["outputs"].(args)["url"].(string)
	body, err := fetch(t, url)
	require.NoError(t, err)
	assert.Equal(t, "demo default api", body, "it runs in its clone and knows what it belongs to")
	assert.Contains(t, log, "web: ready")
	require.Len(t, r.living(), 2)

	st := r.state()
	assert.Equal(t, "deployed", st["state"])
	assert.Equal(t, rec.ID, st["run_id"], "it says which run")
	assert.Equal(t, true, st["healthy"])
	assert.Equal(t, url, st["outputs"].(args)["url"])
	assert.FileExists(t, st["services"].([]any)[0].(args)["log"].(string))
	assert.Len(t, r.note().Repos["api"], 40)

	again := object(t, r.confirmed(deploy, nil).Value)
	assert.Equal(t, true, again["noop"], "it runs already")

	r.commit(r.clones["web"])
	rec, log = r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.Len(t, r.living(), 2, "the old ones have ended")
	_, err = fetch(t, url)
	require.Error(t, err)
	url = object(t, rec.Result)["outputs"].(args)["url"].(string)

	rec, log = r.done(destroy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.Empty(t, r.living())
	_, err = fetch(t, url)
	require.Error(t, err, "the port is closed")
	assert.Equal(t, "none", r.state()["state"])
	assert.Empty(t, r.state()["outputs"])
	assert.Equal(t, true, object(t, r.confirmed(destroy, nil).Value)["noop"], "nothing is left to destroy")
}

// TestThreeModes: the same call explained, tried and confirmed; ask and plan start nothing and write nothing (amof contract).
func TestThreeModes(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("spin: {deploy: \"echo up > up\", destroy: \"rm up\", plan: \"echo would > planned\", estimate_seconds: 30, timeout_seconds: 60}\n"))
	o := r.say(deploy, nil)
	require.Error(t, o.Err)
	assert.True(t, o.Explained)
	explained := object(t, o.Value)
	assert.Contains(t, explained["explanation"].(args)["what"], "echo up > up")
	assert.Equal(t, "none", explained["current_state"].(args)["state"])

	o = r.say(deploy, args{"mode": "plan"})
	require.NoError(t, o.Err)
	require.True(t, o.DryRun)
	preview := object(t, o.Value)["preview"].(args)
	assert.Equal(t, "inline", preview["provisioner"])
	assert.Equal(t, "echo up > up", preview["script"], "the whole shell line")
	assert.Regexp(t, "^[0-9a-f]{64}$", preview["script_sha256"])
	assert.EqualValues(t, 30, preview["estimated_duration_seconds"])
	assert.Equal(t, "manifest", preview["estimate_source"])
	assert.Equal(t, "echo would > planned", preview["plan_command"])
	assert.NotEmpty(t, preview["execute_hint"])

	o = r.say(deploy, args{"mode": "execute"})
	require.NotNil(t, o.Request)
	assert.Equal(t, "preview", o.Request.Strength.String())
	for _, name := range []string{"up", "planned"} {
		assert.NoFileExists(t, filepath.Join(r.root, name))
	}
	assert.NoDirExists(t, filepath.Join(r.layout.State, "spin"))
	assert.Empty(t, r.living())

	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.FileExists(t, filepath.Join(r.root, "up"), "the working directory is the workspace root")
	o = r.say(destroy, args{"mode": "execute"})
	require.NotNil(t, o.Request)
	assert.Equal(t, "type", o.Request.Strength.String())
	assert.Equal(t, "demo", o.Request.Target)
	assert.NotEmpty(t, object(t, o.Request.Plan)["preview"].(args)["destroys"])
	rec, log = r.done(destroy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.NoFileExists(t, filepath.Join(r.root, "up"))
}

// TestWhatTheProvisionerPlans stands in the plan of a deployment once a user has had it asked, until something changes; a plan alone asks nobody.
func TestWhatTheProvisionerPlans(t *testing.T) {
	t.Parallel()
	text := "spin: {deploy: \"echo up > up\", destroy: \"rm up\", plan: \"echo asked >> asked; echo + would write up\"}\n"
	r := newRig(t, manifest(text))
	shown := func() any {
		o := r.say(deploy, args{"mode": "plan"})
		require.NoError(t, o.Err)
		return object(t, o.Value)["preview"].(args)["plan_output"]
	}
	assert.Nil(t, shown())
	o := r.say(ask, args{"mode": "plan", "action": "plan"}, person)
	require.NoError(t, o.Err)
	assert.NoFileExists(t, filepath.Join(r.root, "asked"))
	if o = r.say(ask, args{"mode": "execute", "action": "plan"}, person); o.Request != nil {
		o = r.say(ask, args{"mode": "execute", "action": "plan"}, person, with(o.Request.Token, o.Request.Target))
	}
	require.NoError(t, o.Err)
	assert.Equal(t, []any{"+ would write up"}, shown())
	assert.Equal(t, []any{"+ would write up"}, shown())
	asked, err := os.ReadFile(filepath.Join(r.root, "asked"))
	require.NoError(t, err)
	assert.Equal(t, "asked\n", string(asked), "once")
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.Contains(t, string(r.say(deploy, args{"mode": "plan"}).Value), "preview")
	r.write("ecosystems/demo/ecosystem.yaml", manifest(strings.Replace(text, "would write", "might write", 1)), 0o644)
	assert.Nil(t, shown(), "something has changed")
}

// TestProtocol: what a script is started with (amof contract §20.5).
func TestProtocol(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("provisioner: box\n"))
	r.script("box", `printf '%s|' "$0" "$@"; echo; pwd; env | grep ^AMOF_ | sort; [ -d "$AMOF_SPIN_DIR" ] && stat -c %a "$AMOF_SPIN_DIR"; echo "::amof url=http://x=1"; echo "::amof bad key=1"; cat`)
	rec, log := r.done(deploy, args{"environment": "test", "args": []string{"--a b", "$HOME"}})
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	l := r.layout
	for _, want := range []string{
		filepath.Join(r.root, "provisioners/box/spin.sh") + "|deploy|" + l.Dir + "|--a b|$HOME|", "info " + r.root + "\n", "AMOF_ECOSYSTEM=demo\n", "AMOF_ECOSYSTEM_DIR=" + l.Dir + "\n",
		"AMOF_WORKSPACE_DIR=" + l.Workspace + "\n", "AMOF_REPOS_DIR=" + l.Workspace + "/repos\n", "AMOF_TICKET=\n", "AMOF_ENVIRONMENT=test\n", "AMOF_RUN_ID=" + rec.ID + "\n", "AMOF_SPIN_DIR=" + l.State + "/", "info 700\n",
	} {
		assert.Contains(t, log, want)
	}
	assert.NotContains(t, log, "AMOF_DRY_RUN")
	assert.Equal(t, args{"url": "http://x=1"}, object(t, rec.Result)["outputs"])
	assert.Equal(t, ecosystem.PhaseNone, r.note().State, "environments are apart")

	o := r.say(ask, args{"environment": "test", "action": "plan", "mode": "execute"}, person)
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), "AMOF_DRY_RUN=1")
	assert.Contains(t, string(o.Value), "|plan|")
}

// TestLookUp: the manifest's own commands come first, then the ecosystem's script, the workspace's, and what is built in; k3d is told a name.
func TestLookUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("provisioner: noop\n"))
	provisioner := func() args {
		o := r.say(deploy, args{"mode": "plan"})
		require.NoError(t, o.Err)
		return object(t, o.Value)["preview"].(args)
	}
	assert.Equal(t, "noop", provisioner()["provisioner_kind"])
	r.script("noop", "true")
	assert.Equal(t, "provisioners/noop/spin.sh", provisioner()["script"])
	r.write("ecosystems/demo/provisioners/noop/spin.sh", "true", 0o644)
	found := provisioner()
	assert.Equal(t, "ecosystems/demo/provisioners/noop/spin.sh", found["script"])
	assert.Equal(t, []any{"bash", filepath.Join(r.layout.Dir, "provisioners/noop/spin.sh"), "deploy", r.layout.Dir}, found["command"], "what is not executable is run by bash")
	r.write("ecosystems/demo/ecosystem.yaml", manifest("provisioner: noop\nspin: {deploy: \"true\"}\n"), 0o644)
	assert.Equal(t, "inline", provisioner()["provisioner"])
	r.write("ecosystems/demo/ecosystem.yaml", manifest("provisioner: k3d\n"), 0o644)
	r.script("k3d", "true")
	assert.Equal(t, []any{filepath.Join(r.root, "provisioners/k3d/spin.sh"), "deploy", "demo"}, provisioner()["command"])
}

// TestNoop: the provisioner for demonstrations leaves a mark, and takes it away.
func TestNoop(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("provisioner: noop\n"))
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	mark := object(t, rec.Result)["outputs"].(args)["marker"].(string)
	assert.FileExists(t, mark)
	answer := object(t, r.say(ask, args{"action": "status", "mode": "execute"}, person).Value)
	assert.Equal(t, []any{"deployed"}, answer["lines"])
	preview := object(t, r.say(deploy, args{"mode": "plan"}).Value)["preview"].(args)
	assert.Equal(t, "history", preview["estimate_source"])
	assert.Positive(t, preview["estimated_duration_seconds"])
	rec, log = r.done(deploy, args{"environment": "staging"})
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	rec, log = r.done(destroy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.NoFileExists(t, mark)
	others := object(t, r.say(status, nil, person).Value)["others"].([]any)
	require.Len(t, others, 1, "what is deployed elsewhere is told of")
	assert.Equal(t, "staging", others[0].(args)["environment"])
	assert.Equal(t, "deployed", others[0].(args)["state"])
}

// TestChangedSince: what was confirmed is done, and nothing else.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rig){
		"the script":   func(r *rig) { r.script("box", "echo other") },
		"a commit":     func(r *rig) { r.commit(r.clones["api"]) },
		"the manifest": func(r *rig) { r.write("ecosystems/demo/ecosystem.yaml", manifest("provisioner: box\n# more\n"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, manifest("provisioner: box\n"))
			r.script("box", "echo ran")
			id := r.queued(deploy, nil)
			change(r)
			require.NoError(t, r.worker.Drain(t.Context(), r.root, "demo"))
			rec, log := r.ended(id)
			assert.Equal(t, ecosystem.RunFailed, rec.Status)
			assert.Equal(t, "eco_preview_changed", rec.Code, log)
			assert.NotContains(t, log, "ran\n")
			assert.Equal(t, ecosystem.PhaseNone, r.note().State)
		})
	}
}

// TestFilesBehindProvisioners: what a shell line or a script starts is bound as well, and what is not is said.
func TestFilesBehindProvisioners(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ manifest, reads string }{
		"of a shell line": {"spin: {deploy: \"sh tools/up.sh\", destroy: \"true\"}\n", "tools/up.sh"},
		"of a script":     {"provisioner: box\n", "tools/up.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, manifest(c.manifest))
			r.write("tools/up.sh", "echo ran", 0o755)
			r.script("box", "sh tools/up.sh")
			o := r.say(deploy, args{"mode": "plan"})
			require.NoError(t, o.Err)
			preview := object(t, o.Value)["preview"].(args)
			assert.Contains(t, string(o.Value), `"path":"`+c.reads+`"`)
			assert.Contains(t, preview["not_bound"], "what the provisioner does elsewhere: on other machines, in containers, at a provider")
			id := r.queued(deploy, nil)
			r.write("tools/up.sh", "echo swapped", 0o755)
			require.NoError(t, r.worker.Drain(t.Context(), r.root, "demo"))
			rec, log := r.ended(id)
			assert.Equal(t, "eco_preview_changed", rec.Code, log)
			assert.NotContains(t, log, "swapped")
		})
	}
}

// TestDeployTwice: of two that were confirmed of one state, one is done.
func TestDeployTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("spin: {deploy: \"echo x >> ups\", destroy: \"true\"}\n"))
	first, second := r.queued(deploy, nil), r.queued(deploy, args{"environment": "default"})
	require.NoError(t, r.worker.Drain(t.Context(), r.root, "demo"))
	rec, _ := r.ended(first)
	assert.Equal(t, ecosystem.RunSuccess, rec.Status)
	rec, _ = r.ended(second)
	assert.Equal(t, "eco_preview_changed", rec.Code)
	text, err := os.ReadFile(filepath.Join(r.root, "ups"))
	require.NoError(t, err)
	assert.Equal(t, "x\n", string(text))
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, "asked again, it is deployed again: %s", log)
}

// TestAnotherProvisioner: what deployed an environment destroys it, whatever the manifest says meanwhile.
func TestAnotherProvisioner(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("provisioner: box\n"))
	r.script("box", `echo "box $1"`)
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	r.write("ecosystems/demo/ecosystem.yaml", manifest("provisioner: noop\n"), 0o644)
	assert.Equal(t, "eco_spin_other_provisioner", code(r.say(deploy, args{"mode": "execute"}).Err))
	rec, log = r.done(destroy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	assert.Contains(t, log, "box destroy")
}

// TestWhatADeployLeaves goes on: a provisioner's script may start what stays.
func TestWhatADeployLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t, manifest("spin: {deploy: \"sleep 300 > /dev/null 2>&1 & echo ::amof pid=$!\", destroy: \"kill $(cat pid)\"}\n"))
	rec, log := r.done(deploy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
	pid := object(t, rec.Result)["outputs"].(args)["pid"].(string)
	require.DirExists(t, "/proc/"+pid)
	r.write("pid", pid, 0o644)
	rec, log = r.done(destroy, nil)
	require.Equal(t, ecosystem.RunSuccess, rec.Status, log)
}
