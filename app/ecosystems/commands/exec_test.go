package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems/commands"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemrig"
	"github.com/countersign-dev/countersign/internal/testkit/gitfixture"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/resultschema"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain lets the test binary be the supervisors of what is started.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		if osproc.Supervise(os.Stdin, osproc.Options{}) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	_ = flag.Set("test.parallel", "4")
	code := workroom.Run(m, "[user]\n\tname = A\n\temail = a@example.com\n")
	for { // supervisors that nobody asked about since they ended
		if pid, err := syscall.Wait4(-1, nil, 0, nil); pid <= 0 && !errors.Is(err, syscall.EINTR) {
			os.Exit(code)
		}
	}
}

type args = map[string]any

// rig is an installed ecosystem "demo" of three repositories.
type rig struct {
	*app.App
	t      *testing.T
	root   string
	deps   commands.Deps
	worker runs.Worker
	clones map[string]*gitfixture.Repo
	layout ecosystem.Layout
}

func newRig(t *testing.T) *rig {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &rig{t: t, root: filepath.Join(top, "w"), clones: map[string]*gitfixture.Repo{}}
	env := map[string]string{"AMOF_WORKSPACE_ROOT": r.root, "AMOF_HOME": filepath.Join(top, "amof")}
	store := ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return env[name] }, Home: top, Dir: r.root, Clock: system.Clock{}, Carry: osproc.ForWork})
	workers := ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: store.WorkerDir, Start: func(context.Context, []string, string) error { return nil }}) // the test drains
	kept := memstore.New()
	r.deps = commands.Deps{Deps: runs.Deps{Places: store, Manifests: store, States: store.States(), Runs: store.Runs(), Workers: workers, Sessions: kept.Sessions(),
		Owner: system.Owner{}, Clock: system.Clock{}, UUIDs: system.IDs{}}, Surveyor: ecogit.NewSurveyor(), Git: ecogit.NewReleaseClient(),
		Processes: osproc.New(osproc.Options{Dir: filepath.Join(top, "processes"), Supervisor: []string{os.Args[0], "supervise"}}), Code: projectfile.Reader{Parser: projectfile.Parser{}}, Inherited: os.Environ}
	text := "name: demo\nrepos:\n"
	require.NoError(t, os.MkdirAll(filepath.Join(r.root, "worktrees", "demo", "repos"), 0o755))
	for _, name := range []string{"api", "docs", "web"} {
		text += "  - {name: " + name + ", url: \"file:///nowhere/" + name + "\", branch: main}\n"
		repo := gitfixture.New(t, "first\n-- name.txt --\n"+name+"\n-- check.sh --\n#!/bin/sh\ncat name.txt\n")
		require.NoError(t, os.Rename(repo.Dir, r.at(name)))
		repo.Dir = r.at(name)
		r.clones[name] = repo
	}
	text += "commands:\n  say: [sh, check.sh]\n  both: cat name.txt && pwd\n"
	r.write(filepath.Join(r.root, "ecosystems", "demo", "ecosystem.yaml"), text)
	r.layout, err = store.Layout(t.Context(), r.root, "demo")
	require.NoError(t, err)
	_, err = store.States().Update(t.Context(), r.layout, func(s *ecosystem.State) error {
		*s = ecosystem.State{Version: ecosystem.StateVersion, Ecosystem: "demo", Root: r.root, WorkspaceBranch: "workspace/demo", WorkspaceDir: r.layout.Workspace, Tickets: map[string]ecosystem.Ticket{}, CreatedAt: time.Now().UTC()}
		return nil
	})
	require.NoError(t, err)
	core := app.Dependencies{Clock: system.Clock{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: kept, Audit: kept, Settings: kept, Sessions: kept.Sessions(), Limiter: memstore.Unlimited{},
		Runs: kept.Runs(), Owner: system.Owner{}, Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }, Log: slog.New(slog.DiscardHandler)}
	r.App, err = app.New(core, app.Options{Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		tool.Capability{Name: "ecosystems", Contract: "amof.v1", Mode: policy.Ask, Entries: commands.Entries(r.deps)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	r.worker = runs.Worker{QueueDeps: runs.QueueDeps{Deps: r.deps.Deps, Watch: ecosystemfile.NewWatch(store.Runs()), Audit: ecosystemrig.Known{Runs: store.Runs()}}, Performers: commands.Performers(r.deps)}
	return r
}

func (r *rig) at(name string) string {
	return filepath.Join(r.root, "worktrees", "demo", "repos", name)
}

func (r *rig) write(file, text string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(r.t, os.WriteFile(file, []byte(text), 0o755))
}

func (r *rig) say(mode string, in args) tool.Outcome {
	r.t.Helper()
	all := args{"ecosystem": "demo", "mode": mode}
	for k, v := range in {
		all[k] = v
	}
	doc, err := json.Marshal(all)
	require.NoError(r.t, err)
	return resultschema.Checked(r.t, r.Call(r.t.Context(), tool.Call{Session: "s", Client: "t/1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: commands.Exec.Name, Args: doc}))
}

func object(t *testing.T, doc json.RawMessage) args {
	t.Helper()
	var out args
	require.NoError(t, json.Unmarshal(doc, &out), string(doc))
	return out
}

// shown returns the repositories that a preview names, those that it skips, and all of it.
func (r *rig) shown(in args) (names, skipped []string, preview args) {
	r.t.Helper()
	o := r.say("plan", in)
	require.NoError(r.t, o.Err)
	preview = object(r.t, o.Value)["preview"].(args)
	for key, into := range map[string]*[]string{"repos": &names, "skipped": &skipped} {
		for _, one := range preview[key].([]any) {
			*into = append(*into, one.(args)["name"].(string))
		}
	}
	return names, skipped, preview
}

// queued returns the run that a confirmed call queues.
func (r *rig) queued(in args) string {
	r.t.Helper()
	o := r.say("execute", in)
	require.NotNil(r.t, o.Request, "it asks")
	assert.NotContains(r.t, o.Request.Prompt, "run the ", "a command has no article")
	all := args{"confirm_token": o.Request.Token.Reveal()}
	for k, v := range in {
		all[k] = v
	}
	o = r.say("execute", all)
	require.NoError(r.t, o.Err)
	return object(r.t, o.Value)["run_id"].(string)
}

// ended drains the queue, and returns a run with its result and its log.
func (r *rig) ended(id string) (ecosystem.Run, map[string]args, string) {
	r.t.Helper()
	require.NoError(r.t, r.worker.Drain(r.t.Context(), r.root, "demo"))
	run, err := r.deps.Runs.Load(r.t.Context(), id)
	require.NoError(r.t, err)
	chunk, err := r.deps.Runs.Events(r.t.Context(), id, 0)
	require.NoError(r.t, err)
	var log strings.Builder
	for _, e := range chunk.Events {
		log.WriteString(e.Level + " " + e.Message + "\n")
	}
	repos := map[string]args{}
	if len(run.Result) > 0 {
		for _, one := range object(r.t, run.Result)["repos"].([]any) {
			repos[one.(args)["name"].(string)] = one.(args)
		}
	}
	return run, repos, log.String()
}

// TestExec runs in every repository, says which is which, and fails with those that fail.
func TestExec(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Error(t, r.say("ask", args{"command": []string{"true"}}).Err, "nothing runs in ask")
	names, _, preview := r.shown(args{"command": []string{"sh", "check.sh", "it's"}})
	assert.Equal(t, []string{"api", "docs", "web"}, names)
	assert.Equal(t, `sh check.sh 'it'\''s'`, preview["text"])
	assert.Len(t, preview["reads"], 3, "each script is bound")
	run, repos, log := r.ended(r.queued(args{"command": []string{"sh", "check.sh"}, "parallel": 2}))
	require.Equal(t, ecosystem.RunSuccess, run.Status, run.Error)
	for _, name := range names {
		assert.EqualValues(t, 0, repos[name]["exit_code"])
		assert.Equal(t, []any{name}, repos[name]["last_lines"])
		assert.Contains(t, log, "info "+name+": "+name+"\n")
	}
	run, repos, log = r.ended(r.queued(args{"command": []string{"sh", "-c", "test $AMOF_REPO = web || { echo no >&2; exit 3; }"}}))
	assert.Equal(t, ecosystem.RunFailed, run.Status)
	assert.Equal(t, "eco_run_failed", run.Code)
	assert.Contains(t, run.Error, "failed in 2 of 3 repositories: api (exit code 3: no); docs (exit code 3: no)")
	assert.EqualValues(t, 3, repos["api"]["exit_code"])
	assert.Equal(t, "success", repos["web"]["status"])
	assert.Contains(t, log, "warning docs: no\n")
	run, repos, _ = r.ended(r.queued(args{"command": []string{"no-such-program-anywhere"}, "repos": []string{"api"}}))
	assert.Equal(t, ecosystem.RunFailed, run.Status)
	assert.Nil(t, repos["api"]["exit_code"])
	run, repos, _ = r.ended(r.queued(args{"command": []string{"sleep", "60"}, "repos": []string{"api"}, "timeout_seconds": 1}))
	assert.Equal(t, ecosystem.RunFailed, run.Status)
	assert.Equal(t, "timed_out", repos["api"]["status"])
}

// TestSavedCommands run as the manifest has them, which the plan shows; what is approved runs, whatever the manifest says by then.
func TestSavedCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, _, preview := r.shown(args{"saved": "both"})
	assert.Equal(t, []any{"sh", "-c", "cat name.txt && pwd"}, preview["command"])
	assert.Equal(t, "both", preview["saved"])
	_, repos, _ := r.ended(r.queued(args{"saved": "say", "repos": []string{"web"}}))
	assert.Equal(t, []any{"web"}, repos["web"]["last_lines"])
	o := r.say("plan", args{"saved": "nope"})
	require.Error(t, o.Err)
	assert.Contains(t, o.Err.Error(), "both, say")
	require.Error(t, r.say("plan", args{"saved": "say", "command": []string{"true"}}).Err)
	for _, bad := range []args{{"parallel": 17}, {"timeout_seconds": 3601}, {"changed": "-x"}} {
		bad["saved"] = "say"
		require.ErrorIs(t, r.say("plan", bad).Err, ecosystem.ErrArguments, "a saved command has the same bounds: %v", bad)
	}
	o = r.say("plan", args{"command": []string{"true"}, "changed": "v9"})
	require.Error(t, o.Err)
	for _, name := range []string{"api", "docs", "web"} {
		assert.Contains(t, o.Err.Error(), name+" (", "every repository without that ref is named")
	}
}

// TestWhereItRuns: by name, by what is not committed, by what changed since, in the active ticket.
func TestWhereItRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	command := []string{"true"}
	r.clones["api"].Git("tag", "v1")
	r.clones["docs"].Git("tag", "v1")
	r.clones["web"].Git("tag", "v1")
	r.write(filepath.Join(r.at("docs"), "new.txt"), "x")
	r.clones["web"].Commit("later")
	for what, c := range map[string]struct {
		in   args
		want []string
	}{
		"by name": {args{"repos": []string{"web", "api"}}, []string{"api", "web"}}, "dirty": {args{"dirty": true}, []string{"docs"}},
		"changed": {args{"changed": "v1"}, []string{"docs", "web"}}, "both": {args{"changed": "v1", "dirty": true}, []string{"docs"}},
	} {
		c.in["command"] = command
		names, skipped, _ := r.shown(c.in)
		assert.Equal(t, c.want, names, what)
		if c.in["repos"] == nil {
			assert.Len(t, skipped, 3-len(names), what)
		}
	}
	for what, in := range map[string]args{"no program": {"command": []string{""}}, "an option": {"command": command, "changed": "--all"}, "a range": {"command": command, "changed": "a..b"},
		"no such ref": {"command": command, "changed": "v9"}, "repository not found": {"command": command, "repos": []string{"nope"}}, "nothing to do": {"command": command, "dirty": true, "repos": []string{"api"}}} {
		assert.Error(t, r.say("plan", in).Err, what)
	}
	base := filepath.Join(r.layout.Workspace, "tickets", "T-1")
	r.clones["api"].Git("worktree", "add", "--quiet", "-b", "feature/T-1", filepath.Join(base, "api"))
	_, err := r.deps.States.Update(t.Context(), r.layout, func(s *ecosystem.State) error {
		id := "T-1"
		s.Tickets[id], s.ActiveTicket = ecosystem.Ticket{Repos: map[string]string{"api": "feature/T-1"}, WorktreeBase: base, Ecosystem: "demo"}, &id
		return nil
	})
	require.NoError(t, err)
	_, repos, _ := r.ended(r.queued(args{"command": []string{"pwd"}, "repos": []string{"api", "web"}}))
	assert.Equal(t, []any{filepath.Join(base, "api")}, repos["api"]["last_lines"])
	assert.Equal(t, []any{r.at("web")}, repos["web"]["last_lines"])
}

// TestWhatIsConfirmedIsWhatRuns: a script that was changed since is not run; what an interrupted run started is ended.
func TestWhatIsConfirmedIsWhatRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.queued(args{"command": []string{"sh", "check.sh"}})
	r.write(filepath.Join(r.at("web"), "check.sh"), "#!/bin/sh\necho other\n")
	run, repos, _ := r.ended(id)
	assert.Equal(t, "eco_preview_changed", run.Code)
	assert.Empty(t, repos)

	st, err := r.deps.Processes.Start(t.Context(), process.Spec{Argv: []string{"sleep", "600"}, Dir: r.root, Env: map[string]string{"PATH": os.Getenv("PATH")},
		Labels: map[string]string{"ecosystem_state": r.layout.State, "run": id, "exec_repository": "api"}})
	require.NoError(t, err)
	found, err := r.deps.FindAt(t.Context(), r.root, "demo")
	require.NoError(t, err)
	require.NoError(t, commands.Performers(r.deps)[0].Recover(t.Context(), runs.Job{Found: found, Run: run, Log: func(string, string) {}}))
	st, err = r.deps.Processes.Inspect(t.Context(), st.ID)
	require.NoError(t, err)
	assert.True(t, st.Status.Final())
}
