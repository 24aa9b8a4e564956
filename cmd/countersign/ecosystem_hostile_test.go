//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// queued returns the run of a call that was confirmed.
func (c *ecosystemClient) queued(tool string, in args) said {
	c.t.Helper()
	asked := c.ask(tool, in)
	require.Equal(c.t, "confirmation_required", asked.Status, "%s: %s %s", tool, asked.Code, asked.Message)
	out := c.ask("amof_confirm", agreed(asked))
	require.Equal(c.t, "queued", out.Status, "%s: %s %s", tool, out.Code, out.Message)
	return out
}

// agreed returns what the user who agrees says.
func agreed(asked said) args {
	a := args{"token": asked.Confirmation.Token}
	if asked.Confirmation.Target != nil {
		a["typed_value"] = *asked.Confirmation.Target
	}
	return a
}

// ended returns a run at its end, whichever that is.
func (c *ecosystemClient) ended(id string) (out struct {
	said
	Started, Finished time.Time
	Code              string
}) {
	c.t.Helper()
	var times struct {
		Started  *time.Time `json:"started_at"`
		Finished *time.Time `json:"finished_at"`
		Terminal bool
	}
	for range 60 {
		r := c.Call("amof_get_run_status", args{"run_id": id, "wait_seconds": 15})
		require.NoError(c.t, json.Unmarshal(r.Structured, &out.said))
		require.NoError(c.t, json.Unmarshal(r.Structured, &times))
		if times.Terminal {
			out.Code = out.said.Code
			if times.Started != nil {
				out.Started, out.Finished = *times.Started, *times.Finished
			}
			return out
		}
	}
	c.t.Fatalf("run %s does not end", id)
	return out
}

// deploys has the ecosystem's environment made by that command.
func (c *ecosystemClient) deploys(name, command string) {
	c.t.Helper()
	file := c.at("ws/ecosystems/" + name + "/ecosystem.yaml")
	text, _, _ := strings.Cut(read(c.t, file), "spin:")
	write(c.t, file, text+fmt.Sprintf("spin:\n  deploy: %s\n  destroy: \"true\"\n", strconv.Quote(command)))
}

func (c *ecosystemClient) over() {
	c.t.Helper()
	c.CloseStdin()
	assert.Equal(c.t, 0, c.Wait())
	c.deserted()
}

// TestEcosystemModePrecedence: the call's mode before the session's, that before the default, none above the operator's (amof contract §11, §20.8).
func TestEcosystemModePrecedence(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	in := func(mode string) args {
		a := args{"ecosystem": "demo"}
		if mode != "" {
			a["mode"] = mode
		}
		return a
	}
	want := map[string]string{"ask": "blocked", "plan": "dry_run", "execute": "confirmation_required"}
	modes := []string{"ask", "plan", "execute"}
	for _, from := range modes {
		for _, session := range modes {
			c.mode(from)
			_, out := c.object("amof_set_mode", args{"mode": session})
			assert.Equal(t, []any{"success", session, from, "execute"}, []any{out["status"], out["mode"], out["previous_mode"], out["max_mode"]})
			if from != "ask" {
				continue
			}
			assert.Equal(t, want[session], c.ask("amof_install_ecosystem", in("")).Status)
			for _, own := range modes {
				assert.Equal(t, want[own], c.ask("amof_install_ecosystem", in(own)).Status, "session %s, call %s", session, own)
			}
		}
	}
	assert.Equal(t, "invalid_arguments", c.ask("amof_set_mode", args{"mode": "yolo"}).Code)
	settings := c.at("amof/config/amof.yaml")
	for _, x := range []struct {
		name, file string
		env, flags []string
		mode, most string
	}{
		{"operator's variable", "", []string{"AMOF_MAX_MODE=plan"}, nil, "ask", "plan"},
		{"operator's flag", "", nil, []string{"--max-mode", "plan"}, "ask", "plan"},
		{"default of the file", "default_mode: plan\n", nil, nil, "plan", "execute"},
		{"ceiling of the file", "default_mode: execute\nmax_mode: ask\n", nil, nil, "ask", "ask"},
		{"unreadable file", "default_mode: execute\n{{{", nil, nil, "ask", "ask"},
		{"a word that is none", "", []string{"AMOF_MAX_MODE=all"}, nil, "ask", "ask"},
	} {
		write(t, settings, x.file)
		s := c.another(x.env, x.flags...)
		assert.Equal(t, want[x.mode], s.ask("amof_install_ecosystem", in("")).Status, x.name)
		_, info := s.object("amof_scope_info", args{})
		assert.Equal(t, []any{x.mode, x.most}, []any{info["mode"], info["max_mode"]}, x.name)
		bad := strings.HasPrefix(x.name, "unreadable") || strings.HasPrefix(x.name, "a word")
		assert.Equal(t, bad, info["settings_problem"] != nil, "%s: %v", x.name, info["settings_problem"])
		if x.most != "execute" {
			refused := s.ask("amof_set_mode", args{"mode": "execute"})
			assert.Equal(t, "mode_not_permitted", refused.Code, x.name)
			assert.Contains(t, refused.Message, "amof.yaml", x.name)
			assert.Equal(t, "mode_not_permitted", s.ask("amof_install_ecosystem", in("execute")).Code, x.name)
		}
		s.CloseStdin()
		assert.Equal(t, 0, s.Wait())
	}
	c.over()
}

// TestEcosystemTokens: a token is good once, for its session, for what it showed (amof contract §14).
func TestEcosystemTokens(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	c.does("simple", "amof_install_ecosystem", args{"ecosystem": "demo"})
	other := c.another(nil)
	other.mode("execute")
	in := args{"ecosystem": "demo"}
	discard := func() said { return c.ask("amof_discard_ecosystem", in) }
	first := discard()
	assert.Equal(t, "token_unknown", other.ask("amof_confirm", agreed(first)).Code, "another session's")
	assert.Equal(t, "token_unknown", other.ask("amof_cancel_confirm", args{"token": first.Confirmation.Token}).Code)
	for i, code := range []string{"typed_value_mismatch", "typed_value_mismatch", "token_used", "token_used"} {
		assert.Equal(t, code, c.ask("amof_confirm", args{"token": first.Confirmation.Token, "typed_value": "Demo"}).Code, "miss %d", i)
	}
	assert.Equal(t, "token_used", c.ask("amof_confirm", agreed(first)).Code, "three misses burn it")
	older, newer := discard(), discard()
	assert.Equal(t, "token_unknown", c.ask("amof_confirm", agreed(older)).Code, "superseded")
	assert.Equal(t, "cancelled", c.ask("amof_cancel_confirm", args{"token": newer.Confirmation.Token}).Status)
	assert.Equal(t, "token_unknown", c.ask("amof_confirm", agreed(newer)).Code)
	no := agreed(discard())
	no["decision"] = "no"
	assert.Equal(t, "cancelled", c.ask("amof_confirm", no).Status)
	lowered := discard()
	c.mode("plan")
	assert.Equal(t, "mode_changed", c.ask("amof_confirm", agreed(lowered)).Code)
	c.mode("execute")
	assert.Equal(t, "token_unknown", c.ask("amof_confirm", agreed(lowered)).Code, "lowering cancelled it")

	stale := discard()
	write(t, c.at("ws/worktrees/demo/repos/api/new.txt"), "new\n")
	r, changed := c.object("amof_confirm", agreed(stale))
	assert.True(t, r.IsError)
	assert.Equal(t, []any{"preview_changed", false, "execute", "demo"}, []any{changed["code"], changed["executed"], changed["mode"], changed["ecosystem"]})
	has(t, "changed", changed, "changes confirmation preview risk confirm_with cancel_with")
	assert.NotEmpty(t, changed["changes"])
	assert.DirExists(t, c.at("ws/worktrees/demo"))
	assert.Equal(t, "token_unknown", c.ask("amof_confirm", agreed(stale)).Code, "it is spent")
	fresh := changed["confirmation"].(map[string]any)["token"]
	done := c.ask("amof_confirm", args{"token": fresh, "typed_value": " demo "})
	assert.True(t, done.Confirmed, done.Message)
	c.await(done.RunID)
	assert.NoDirExists(t, c.at("ws/worktrees/demo"))
	other.CloseStdin()
	assert.Equal(t, 0, other.Wait())
	c.over()
}

// TestEcosystemKilled: a run outlives the server that queued it, and what a killed worker left the next call puts in order.
func TestEcosystemKilled(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	run := c.queued("amof_install_ecosystem", args{"ecosystem": "demo"})
	c.Kill()
	c = c.another(nil)
	c.mode("execute")
	c.await(run.RunID)
	c.does("type", "amof_discard_ecosystem", args{"ecosystem": "demo"})
	c.CloseStdin()
	require.Equal(t, 0, c.Wait())

	slow := c.at("bin/git")
	write(t, slow, "#!/bin/sh\ncase \" $* \" in *\" clone \"*) [ -e "+c.at("slow")+" ] && : >"+c.at("cloning")+" && sleep 60;; esac\nexec "+gitAt(t)+" \"$@\"\n")
	require.NoError(t, os.Chmod(slow, 0o755))
	write(t, c.at("slow"), "")
	c = c.another([]string{"PATH=" + c.at("bin") + ":" + os.Getenv("PATH")})
	c.mode("execute")
	run = c.queued("amof_install_ecosystem", args{"ecosystem": "demo"})
	require.Eventually(t, func() bool { _, err := os.Stat(c.at("cloning")); return err == nil }, time.Minute, 20*time.Millisecond)
	for _, p := range c.running() {
		if strings.Contains(fmt.Sprint(p), "ecosystem-worker") {
			require.NoError(t, p.kill())
		}
	}
	require.NoError(t, os.Remove(c.at("slow")))
	end := c.ended(run.RunID)
	assert.Equal(t, []string{"failed", "interrupted"}, []string{end.Status, end.Code})
	c.does("simple", "amof_install_ecosystem", args{"ecosystem": "demo"})
	assert.FileExists(t, c.at("ws/worktrees/demo/repos/api/main.txt"))
	left, err := filepath.Glob(c.at("ws/worktrees/.*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	c.over()
}

// TestEcosystemForgedOperations: journals of interrupted operations are files. One that the audit does not know is neither finished nor taken back, not by a
// call that only shows what it would do, and not on the way of a run that was approved.
func TestEcosystemForgedOperations(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	c.does("simple", "amof_install_ecosystem", args{"ecosystem": "demo"})
	object := func(name string) string { return strings.TrimSpace(c.git("api", "rev-parse", name)) }
	head, was, becomes := object("HEAD"), object("HEAD:main.txt"), object("HEAD:CHANGELOG.md")
	file := args{"path": "main.txt", "mode": "100644", "was": was, "becomes": becomes, "before": was, "after": becomes}
	step := args{"name": "api", "dir": c.at("api"), "branch": "main", "old": head, "new": head, "files": []any{file}}
	state := filepath.Join(c.at("amof"), "state", "ecosystems", "demo")
	forge := func(name string, doc any) func() {
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		write(t, filepath.Join(state, name), string(text))
		return func() { require.NoError(t, os.Remove(filepath.Join(state, name))) }
	}
	refused := func(code string) { assert.Equal(t, "state_unreadable", code) }

	away := forge("release/journal", args{"tag": "v1.0.0", "finish": true, "steps": []any{step}, "record": args{"files": []any{args{"path": "x"}}}})
	refused(c.ask("amof_release_bump", args{"ecosystem": "demo", "bump_type": "patch", "mode": "plan"}).Code)
	assert.Equal(t, "api\n", read(t, c.at("api/main.txt")))
	away()
	away = forge("shipping.json", args{"phase": "saving", "file": "../../../api/main.txt", "stowed": args{"id": "demo-1"}})
	refused(c.ended(c.queued("amof_discard_ecosystem", args{"ecosystem": "demo"}).RunID).Code)
	assert.FileExists(t, c.at("api/main.txt"))
	away()
	assert.FileExists(t, c.at("ws/worktrees/demo/repos/api/main.txt"))
	c.does("type", "amof_discard_ecosystem", args{"ecosystem": "demo"})
	c.over()
}

// TestEcosystemQueue: runs of one ecosystem one after the other, of several side by side, four at most; those that wait and those that are carried
// out can be cancelled (amof contract §9).
func TestEcosystemQueue(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	names := []string{"demo", "e1", "e2", "e3", "e4", "e5"}
	for _, name := range names[1:] {
		c.make(name)
	}
	var runs []string
	require.NoError(t, os.Mkdir(c.at("side"), 0o755))
	for _, name := range names {
		// Nobody goes on alone: the first waits for a second, for as long as it takes on a busy machine.
		c.deploys(name, ": >"+c.at("side")+"/"+name+"; i=0; until [ $(ls "+c.at("side")+" | wc -l) -gt 1 ] || [ $i -gt 300 ]; do i=$((i+1)); sleep 0.1; done; sleep 0.4")
		runs = append(runs, c.queued("amof_install_ecosystem", args{"ecosystem": name}).RunID)
	}
	for _, id := range runs {
		c.await(id) // one install does not change what another was confirmed from
	}
	runs = nil
	for _, name := range names {
		runs = append(runs, c.queued("amof_spin_deploy", args{"ecosystem": name}).RunID)
	}
	var marks []struct {
		at time.Time
		by int
	}
	for _, id := range runs {
		e := c.ended(id)
		require.Equal(t, "success", e.Status, e.Error)
		marks = append(marks, struct {
			at time.Time
			by int
		}{e.Started, 1}, struct {
			at time.Time
			by int
		}{e.Finished, -1})
	}
	slices.SortFunc(marks, func(a, b struct {
		at time.Time
		by int
	}) int {
		return a.at.Compare(b.at)
	})
	now, most := 0, 0
	for _, m := range marks {
		now += m.by
		most = max(most, now)
	}
	assert.LessOrEqual(t, most, 4)
	assert.Greater(t, most, 1)

	c.deploys("demo", ": >"+c.at("begun")+"; sleep 60")
	long := c.queued("amof_spin_deploy", args{"ecosystem": "demo"})
	require.Eventually(t, func() bool { _, err := os.Stat(c.at("begun")); return err == nil }, time.Minute, 20*time.Millisecond)
	c.deploys("demo", "true")
	runs = nil
	for i := range 30 {
		asked := c.ask("amof_spin_deploy", args{"ecosystem": "demo", "environment": "e" + strconv.Itoa(i)})
		_, out := c.object("amof_confirm", agreed(asked))
		require.EqualValues(t, i+2, out["position"])
		runs = append(runs, out["run_id"].(string))
	}
	last := runs[len(runs)-1]
	assert.Equal(t, "cancelled", c.ask("amof_cancel_run", args{"run_id": last}).Status)
	assert.Equal(t, "run_state_invalid", c.ask("amof_cancel_run", args{"run_id": last}).Code)
	assert.Equal(t, "name_invalid", c.ask("amof_list_runs", args{"ecosystem": "../../etc"}).Code)
	c.ask("amof_cancel_run", args{"run_id": long.RunID})
	stopped := c.ended(long.RunID)
	assert.NotEqual(t, "success", stopped.Status)
	before := stopped.Finished
	for _, id := range runs[:len(runs)-1] {
		e := c.ended(id)
		require.Equal(t, "success", e.Status, e.Error)
		assert.False(t, e.Started.Before(before), "one after the other")
		before = e.Finished
	}
	assert.Equal(t, "cancelled", c.ended(last).Status)
	gone := c.queued("amof_discard_ecosystem", args{"ecosystem": "e1"})
	late := c.ask("amof_archive_ecosystem", args{"ecosystem": "e1"})
	if late.Confirmation.Token != "" {
		late = c.ask("amof_confirm", agreed(late))
	}
	c.await(gone.RunID)
	if late.RunID != "" {
		assert.Equal(t, "not_installed", c.ended(late.RunID).Code)
	}
	c.over()
}

// TestEcosystemBadInput: whatever is sent, or lies where things should be, is answered in the contract's form.
func TestEcosystemBadInput(t *testing.T) {
	t.Parallel()
	c := newTeam(t)
	file := c.at("ws/ecosystems/demo/ecosystem.yaml")
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 9), ","))
	}
	repo := func(rest string) string { return "repos:\n  - {name: a, url: /x, branch: main" + rest + "}\n" }
	for _, text := range []string{"{{{\x00", "\xff\xfe", bomb, "x: \"" + strings.Repeat("y", 1<<20) + "\"\n", repo("") + "  - {name: a, url: /y, path: b}\n", repo(", path: ../../x"), repo(", path: /etc"), ""} {
		write(t, file, text)
		v := c.ask("amof_validate_manifest", args{"ecosystem": "demo"})
		assert.False(t, v.Valid)
		assert.Equal(t, "manifest_invalid", c.ask("amof_install_ecosystem", args{"ecosystem": "demo"}).Code)
		assert.Empty(t, c.ask("amof_list_ecosystems", args{}).Code, "one bad manifest does not hide the others")
	}
	for _, in := range []args{{"zzz": 1}, {"ecosystem": 5}, {"mode": "yolo"}, {"ecosystem": "../../etc"}, {"ecosystem": "é\u202e\x00"}, {"ecosystem": strings.Repeat("x", 200_000)}, {"ecosystem": "-demo"}} {
		out := c.ask("amof_push_ecosystem", in)
		assert.Equal(t, "error", out.Status)
		assert.Contains(t, []string{"invalid_arguments", "name_invalid"}, out.Code)
	}
	write(t, c.at("file"), "")
	for _, x := range []struct{ env, code string }{
		{"AMOF_WORKSPACE_ROOT=" + c.at("nowhere"), "workspace_root_invalid"},
		{"AMOF_WORKSPACE_ROOT=" + c.at("file"), "workspace_root_invalid"},
		{"AMOF_WORKSPACE_ROOT=/proc", "storage_failed"},
		{"AMOF_HOME=/proc/x", "storage_failed"},
	} {
		s := c.another([]string{x.env, "COUNTERSIGN_LOG=error"})
		s.mode("execute")
		assert.Equal(t, x.code, s.ask("amof_create_ecosystem", args{"name": "new", "repos": []any{}}).Code, x.env)
		assert.Empty(t, s.ask("amof_get_server_status", args{}).Code, x.env)
		s.CloseStdin()
		assert.Equal(t, 0, s.Wait())
	}
	c.over()
}

func gitAt(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("git")
	require.NoError(t, err)
	return path
}
