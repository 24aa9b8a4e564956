package ecosystems_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

const (
	list     = "amof_list_ecosystems"
	describe = "amof_describe_ecosystem"
	status   = "amof_get_ecosystem_status"
	validate = "amof_validate_manifest"
	create   = "amof_create_ecosystem"
	journal  = "amof_create_journal"
	switchTo = "amof_switch_ecosystem"
	alias    = "amof_use_ecosystem"
	info     = "amof_scope_info"
	back     = "amof_scope_back"
	global   = "amof_scope_global"
	use      = "ecosystem_use"
)

// summary holds an answer's text to its bounds and returns its first line.
func summary(t *testing.T, a args) string {
	t.Helper()
	text := a["_text"].(args)
	assert.LessOrEqual(t, utf8.RuneCountInString(text["summary"].(string)), 80)
	if details, some := text["details"].([]any); some {
		assert.LessOrEqual(t, len(details), 15)
	}
	return text["summary"].(string)
}

func TestList(t *testing.T) {
	r := newRig(t)
	none := r.do(list, args{})
	assert.EqualValues(t, 0, none["count"])
	assert.Equal(t, []any{}, none["ecosystems"])
	assert.Equal(t, []string{"create_ecosystem"}, actions(none))

	r.manifest("demo", simple("demo", "api", "docs!"))
	r.manifest("old", simple("old", "x")+"retired: true\n")
	r.manifest("broken", "repos: [\n")
	r.manifest("wrong", "name: wrong\nrepos: 3\n")
	r.write(filepath.Join(r.root.Dir, "ecosystems", "demo", "kb", "a.md"), "x")
	r.write(filepath.Join(r.root.Dir, "ecosystems", "demo", "journal", "b.md"), "x")
	ticket := "T"
	r.installed("demo", func(_ string, s *ecosystem.State) { s.ActiveTicket = &ticket })
	require.NoError(t, r.deps.Places.SetDefault(t.Context(), r.root.Dir, "demo"))
	t.Setenv("PATH", "") // no git is needed
	got := r.do(list, args{})
	assert.EqualValues(t, 3, got["count"])
	items := got["ecosystems"].([]any)
	broken, demo, wrong := items[0].(args), items[1].(args), items[2].(args)
	assert.Equal(t, args{"name": "demo", "path": filepath.Join(r.root.Dir, "ecosystems", "demo"), "description": "about demo", "repos_count": 2.0, "repos": []any{"api", "docs"}, "provisioner": nil,
		"installed": true, "active_ticket": "T", "kb_files_count": 1.0, "journal_files_count": 1.0, "active_tasks": 0.0, "selected": true}, demo)
	assert.NotEmpty(t, broken["problem"])
	assert.NotEmpty(t, wrong["problem"])
	assert.Equal(t, "Listed 3 ecosystems", summary(t, got))
	assert.Equal(t, []string{"status", "describe"}, actions(got))
	assert.EqualValues(t, 4, r.do(list, args{"include_retired": true})["count"])
}

// TestListOfHundreds: no program is run for any of them.
func TestListOfHundreds(t *testing.T) {
	r := newRig(t)
	for i := range 400 {
		r.manifest(fmt.Sprintf("e%03d", i), simple(fmt.Sprintf("e%03d", i), "a", "b", "c"))
	}
	t.Setenv("PATH", "")
	got := r.do(list, args{})
	assert.EqualValues(t, 400, got["count"])
	assert.Equal(t, "Listed 400 ecosystems", summary(t, got))
}

func TestDescribe(t *testing.T) {
	r := newRig(t)
	r.manifest("demo", simple("demo", "api", "docs!")+"provisioner: local\nworkspace: {repo_branch_prefix: work/}\nguardrails: {no_touch_paths: ['*.pem']}\n")
	got := r.do(describe, args{"ecosystem": "demo"})
	assert.Equal(t, []any{args{"name": "api", "url": "file:///origins/api.git", "branch": "main", "path": "repos/api", "readonly": false, "enabled": true},
		args{"name": "docs", "url": "file:///origins/docs.git", "branch": "main", "path": "repos/docs", "readonly": true, "enabled": true}}, got["repos"])
	assert.Equal(t, args{"branch_prefix": "workspace", "repo_branch_prefix": "work", "workspace_dir": "worktrees/demo"}, got["workspace"])
	assert.Equal(t, args{"no_touch_paths": []any{"*.pem"}}, got["guardrails"])
	assert.Equal(t, "local", got["provisioner"])
	assert.Nil(t, got["index_time"])
	assert.Len(t, got["manifest_sha256"], 64)
	assert.Equal(t, true, got["valid"])
	assert.Equal(t, []string{"install", "validate", "describe"}, actions(got), "the tool just called is the presenter's to leave out")
	assert.Equal(t, "Described demo: 2 repositories", summary(t, got))

	r.manifest("leaky", "name: leaky\nrepos: [{name: a, url: 'https://me:sesame@host.example/o/r.git', branch: main}]\n")
	assert.NotContains(t, string(r.raw("s", describe, args{"ecosystem": "leaky"}).Value), "sesame")
	r.refused("eco_no_ecosystem", describe, args{})
	said := r.refused("eco_ecosystem_not_found", describe, args{"ecosystem": "nope"})
	assert.Contains(t, said.Message, "demo, leaky")
	r.refused("eco_name_invalid", describe, args{"ecosystem": "../up"})
}

func TestValidate(t *testing.T) {
	r := newRig(t)
	r.manifest("good", simple("good", "a"))
	got := r.do(validate, args{"ecosystem": "good", "strict": true})
	assert.Equal(t, true, got["valid"], got)
	assert.Equal(t, []any{}, got["errors"])
	assert.Equal(t, []any{}, got["warnings"])

	r.manifest("doubtful", "name: doubtful\nsurprise: 1\nrepos: [{name: a, url: 'file:///x', branch: main}]\n")
	got = r.do(validate, args{"ecosystem": "doubtful"})
	assert.Equal(t, true, got["valid"], "a warning is no error")
	require.Len(t, got["warnings"], 1)
	got = r.do(validate, args{"ecosystem": "doubtful", "strict": true})
	assert.Equal(t, false, got["valid"], "unless it is meant to be")
	require.Len(t, got["errors"], 1)
	assert.Equal(t, []any{}, got["warnings"])
	assert.NotEmpty(t, got["errors"].([]any)[0].(args)["fix"])

	r.manifest("bad", "name: bad\nrepos: [{name: a, url: 'file:///x'}, {name: a, url: 'file:///y', path: ../up}]\n")
	got = r.do(validate, args{"ecosystem": "bad"})
	assert.Equal(t, false, got["valid"])
	assert.Equal(t, "Validated bad: "+fmt.Sprint(len(got["errors"].([]any)))+" errors", summary(t, got))
	r.manifest("none", "repos: [\n")
	got = r.do(validate, args{"ecosystem": "none"})
	assert.Equal(t, false, got["valid"], "a file that cannot be read is an answer")
	assert.NotEmpty(t, got["errors"])
	r.manifest("many", "repos: ["+strings.Repeat("{name: a, url: b},", 40)+"]\n")
	summary(t, r.do(validate, args{"ecosystem": "many"}))
	r.refused("eco_ecosystem_not_found", validate, args{"ecosystem": "nope"})
	r.refused("eco_no_ecosystem", validate, args{})
}

func TestStatusOfWhatIsNotInstalled(t *testing.T) {
	r := newRig(t)
	r.manifest("demo", simple("demo", "api"))
	got := r.do(status, args{"ecosystem": "demo"})
	assert.Nil(t, got["workspace"])
	assert.Equal(t, []any{}, got["repos"])
	assert.Contains(t, got["hint"], "amof_install_ecosystem")
	assert.Equal(t, args{"state": "none", "since": nil, "run_id": nil}, got["spin"])
	assert.Equal(t, "install", actions(got)[0])
	summary(t, got)
}

// TestStatusOnABadDay: whatever a repository is like, the others are told of.
func TestStatusOnABadDay(t *testing.T) {
	r := newRig(t)
	r.manifest("demo", simple("demo", "fine", "dirty", "ahead", "gone", "detached", "rebasing", "docs!", "ticketed", "broken"))
	active := "T"
	dir := r.installed("demo", func(dir string, s *ecosystem.State) {
		base := filepath.Join(dir, "tickets", "T")
		s.ActiveTicket, s.Tickets = &active, map[string]ecosystem.Ticket{"T": {WorktreeBase: base, Repos: map[string]string{"ticketed": "feature/T"}}}
		s.Repo("fine").LastPush = &ecosystem.Push{Branch: "main", Commit: "abc1234", CommitFull: "abc"}
	})
	repo := func(name string) string { return filepath.Join(dir, "repos", name) }
	git := func(name string, a ...string) { r.root.Git(append([]string{"-C", repo(name)}, a...)...) }
	r.write(filepath.Join(repo("dirty"), "new"), "x")
	r.write(filepath.Join(repo("fine"), ".amof", "x"), "x")
	git("ahead", "commit", "-q", "--allow-empty", "-m", "more")
	require.NoError(t, os.RemoveAll(repo("gone")))
	git("detached", "checkout", "-q", "--detach")
	git("rebasing", "commit", "-q", "--allow-empty", "-m", "more")
	git("rebasing", "-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "--keep-empty", "-i", "HEAD~1")
	git("docs", "checkout", "-q", "-b", "feature/x")
	git("ticketed", "worktree", "add", "-q", "-b", "feature/T", filepath.Join(dir, "tickets", "T", "ticketed"))
	r.write(filepath.Join(repo("broken"), ".git", "HEAD"), "nonsense")
	since := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	note, err := json.Marshal(ecosystem.EnvironmentState{Environment: "default", State: ecosystem.PhaseDeployed, RunID: "r1", Since: since})
	require.NoError(t, err)
	found, err := r.deps.FindAt(t.Context(), r.root.Dir, "demo")
	require.NoError(t, err)
	require.NoError(t, r.deps.States.Note(t.Context(), found.Layout, ecosystem.StateKey("default"), note))

	got := r.do(status, args{"ecosystem": "demo"})
	rows, words := map[string]args{}, map[string]any{}
	for _, row := range got["repos"].([]any) {
		name := row.(args)["name"].(string)
		rows[name], words[name] = row.(args), row.(args)["status"]
	}
	assert.Equal(t, map[string]any{"fine": "OK", "dirty": "DIRTY", "ahead": "UNPUSHED", "gone": "MISSING", "detached": "WRONG_BRANCH", "rebasing": "WRONG_BRANCH+UNPUSHED",
		"docs": "WRONG_BRANCH", "ticketed": "OK", "broken": "UNREADABLE"}, words)
	fine := rows["fine"]
	assert.Equal(t, args{"name": "fine", "branch": "main", "commit": fine["commit_full"].(string)[:7], "mode": "RW", "status": "OK", "dirty": false, "unpushed": false, "ahead": 0.0, "behind": 0.0,
		"path": "repos/fine", "directory": repo("fine"), "commit_full": fine["commit_full"], "expected_branch": "main", "dirty_files": 0.0}, fine)
	assert.EqualValues(t, 1, rows["ahead"]["ahead"])
	assert.Nil(t, rows["detached"]["branch"])
	assert.Nil(t, rows["detached"]["ahead"])
	assert.Equal(t, "rebase", rows["rebasing"]["operation"])
	assert.Contains(t, rows["rebasing"]["problem"], "rebase of main")
	assert.Equal(t, "RO", rows["docs"]["mode"])
	assert.Equal(t, "tickets/T/ticketed", rows["ticketed"]["path"])
	assert.NotEmpty(t, rows["broken"]["problem"])
	assert.Contains(t, rows["gone"]["problem"], "amof_sync_ecosystem")
	ws := got["workspace"].(args)
	assert.Equal(t, []any{"demo", "workspace/demo", dir, "T", 1.0}, []any{ws["ecosystem"], ws["workspace_branch"], ws["workspace_dir"], ws["active_ticket"], ws["ticket_count"]})
	assert.EqualValues(t, 0, ws["dirty_files"])
	assert.Equal(t, "main", got["last_pushed"].(args)["fine"].(args)["branch"])
	assert.Equal(t, args{"state": "deployed", "since": "2026-02-01T00:00:00Z", "run_id": "r1"}, got["spin"])
	assert.Equal(t, "Checked demo: 7 of 9 repositories to look at", summary(t, got))
	assert.Equal(t, []string{"sync", "push", "ticket_switch", "ticket_list"}, actions(got))

	require.NoError(t, os.RemoveAll(dir))
	got = r.do(status, args{"ecosystem": "demo"})
	assert.Equal(t, "MISSING", got["workspace"].(args)["status"])
	assert.Contains(t, got["workspace"].(args)["problem"], "amof_discard_ecosystem")
	for _, row := range got["repos"].([]any) {
		assert.Equal(t, "MISSING", row.(args)["status"])
	}
}

// TestStatusWithAManifestThatHasErrors shows what is on record all the same.
func TestStatusWithAManifestThatHasErrors(t *testing.T) {
	r := newRig(t)
	r.manifest("demo", simple("demo", "api"))
	r.installed("demo", nil)
	r.manifest("demo", "name: demo\nrepos: 3\n")
	got := r.do(status, args{"ecosystem": "demo"})
	require.Len(t, got["repos"], 1)
	assert.Equal(t, "OK", got["repos"].([]any)[0].(args)["status"])
	assert.Contains(t, got["hint"], "amof_validate_manifest")
	assert.Equal(t, "validate", actions(got)[0])
}

func TestScopes(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.manifest(name, simple(name, "x"))
	}
	got := r.do(info, args{})
	assert.Equal(t, []any{"global", nil, nil, nil, "ask", "execute", "global", false, nil}, []any{got["scope"], got["ecosystem"], got["run_id"], got["release_tag"], got["mode"], got["max_mode"],
		got["breadcrumb"], got["can_go_back"], got["pending_confirmations"]})
	got = r.do(switchTo, args{"ecosystem": "a"})
	assert.Equal(t, []any{"a", "ecosystem", "global > a"}, []any{got["active_ecosystem"], got["scope"], got["breadcrumb"]})
	r.do(switchTo, args{"ecosystem": "a"}) // again, which is nowhere to go back from
	assert.Equal(t, "global > b", r.do(alias, args{"name": "b"})["breadcrumb"])
	r.do(switchTo, args{"ecosystem": "c"})
	assert.Equal(t, "c", r.do(describe, args{})["name"], "what is selected is meant")
	assert.Equal(t, "a", r.do(describe, args{"ecosystem": "a"})["name"], "unless another is named")
	assert.Equal(t, "global", r.do(global, args{})["breadcrumb"])
	require.NoError(t, os.RemoveAll(filepath.Join(r.root.Dir, "ecosystems", "b")))
	assert.Equal(t, "global > c", r.do(back, args{})["breadcrumb"])
	assert.Equal(t, "global > a", r.do(back, args{})["breadcrumb"], "past one that is gone")
	got = r.do(back, args{})
	assert.Equal(t, []any{"global", false}, []any{got["breadcrumb"], got["can_go_back"]})
	assert.Contains(t, summary(t, r.do(back, args{})), "Stayed")

	said := r.refused("eco_ecosystem_not_found", switchTo, args{"ecosystem": "nope"})
	assert.Contains(t, said.Message, "a, c")
	assert.JSONEq(t, `{"available":["a","c"]}`, string(said.Details.(json.RawMessage)))
	r.do(switchTo, args{"ecosystem": "a"})
	other := r.answer(r.raw("other", info, args{}))
	assert.Nil(t, other["ecosystem"], "sessions share nothing")
	for range 50 {
		r.do(switchTo, args{"ecosystem": "c"})
		r.do(switchTo, args{"ecosystem": "a"})
	}
	focus, err := r.deps.Focus(t.Context(), tool.Scope{Session: "s", Principal: policy.Principal{ID: "me"}})
	require.NoError(t, err)
	assert.Len(t, focus.Back, 32)

	focus.Run = "12345678-aaaa"
	require.NoError(t, r.deps.SetFocus(t.Context(), tool.Scope{Session: "s", Principal: policy.Principal{ID: "me"}}, focus))
	assert.Equal(t, "global > a > run:12345678", r.do(info, args{})["breadcrumb"])
	assert.Equal(t, "global > a", r.do(back, args{})["breadcrumb"], "out of the run")
}

// TestUse: only users select for everybody; a session's own choice, even of none, beats it.
func TestUse(t *testing.T) {
	r := newRig(t)
	r.manifest("a", simple("a", "x"))
	require.Error(t, r.raw("s", use, args{"ecosystem": "a"}).Err, "no agent is served it")
	person := func(a args) tool.Outcome {
		doc, err := json.Marshal(a)
		require.NoError(t, err)
		return r.Call(t.Context(), tool.Call{Session: "p", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: use, Args: doc, FromUser: true})
	}
	assert.Equal(t, "eco_ecosystem_not_found", string(fault.From(person(args{"ecosystem": "nope"}).Err).Code))
	assert.Equal(t, "a", r.answer(person(args{"ecosystem": "a"}))["default_ecosystem"])
	assert.FileExists(t, filepath.Join(r.root.Dir, ".amof", "agent.yaml"))
	assert.Equal(t, "global > a", r.do(info, args{})["breadcrumb"])
	r.do(global, args{})
	assert.Equal(t, "global", r.do(info, args{})["breadcrumb"])
	assert.Nil(t, r.answer(person(args{}))["default_ecosystem"])
	assert.Nil(t, r.answer(r.raw("fresh", info, args{}))["ecosystem"])
}

func TestCreate(t *testing.T) {
	r := newRig(t)
	call := args{"name": "demo", "description": "it's: \"quoted\"\n# and more", "repos": []any{args{"name": "api", "url": "file:///o/api.git"}, args{"name": "docs", "url": "/o/docs", "branch": "trunk",
		"readonly": true}}, "provisioner": "local"}
	with := func(mode string) args {
		out := args{"mode": mode}
		for k, v := range call {
			out[k] = v
		}
		return out
	}
	before := r.files()
	blocked := r.raw("s", create, call)
	require.Error(t, blocked.Err, "ask is the default")
	assert.Equal(t, before, r.files())
	planned := r.raw("s", create, with("plan"))
	require.NoError(t, planned.Err)
	assert.True(t, planned.DryRun)
	assert.Contains(t, string(planned.Value), filepath.Join(r.root.Dir, "ecosystems", "demo"))
	assert.Equal(t, before, r.files(), "a dry run changes nothing")

	got := r.do(create, with("execute"))
	assert.Equal(t, filepath.Join(r.root.Dir, "ecosystems", "demo"), got["path"])
	text, err := os.ReadFile(filepath.Join(r.root.Dir, "ecosystems", "demo", "ecosystem.yaml"))
	require.NoError(t, err)
	assert.Equal(t, string(text), got["manifest"])
	assert.Equal(t, "Created demo with 2 repositories", summary(t, got))
	assert.Equal(t, []string{"install", "validate", "switch_ecosystem"}, actions(got))
	assert.Equal(t, true, r.do(validate, args{"ecosystem": "demo"})["valid"])
	described := r.do(describe, args{"ecosystem": "demo"})
	assert.Equal(t, call["description"], described["description"])
	assert.Equal(t, "trunk", described["repos"].([]any)[1].(args)["branch"])

	for _, mode := range []string{"plan", "execute"} {
		r.refused("eco_ecosystem_exists", create, with(mode))
	}
	r.manifest("broken", "repos: [\n")
	call["name"] = "broken"
	r.refused("eco_ecosystem_exists", create, with("execute"))
	for name, repos := range map[string][]any{"twice": {args{"name": "a", "url": "/a"}, args{"name": "a", "url": "/b"}}, "leaky": {args{"name": "a", "url": "https://me:sesame@host.example/o/r.git"}},
		"bad": {args{"name": "../a", "url": "/a"}}} {
		call["name"], call["repos"] = name, repos
		said := r.refused("eco_manifest_invalid", create, with("execute"))
		assert.NotContains(t, said.Error(), "sesame")
		assert.NoDirExists(t, filepath.Join(r.root.Dir, "ecosystems", name))
	}
}

func TestJournal(t *testing.T) {
	r := newRig(t)
	r.manifest("demo", simple("demo", "api"))
	call := func(mode, title, body string) args {
		return args{"ecosystem": "demo", "mode": mode, "title": title, "body": body}
	}
	before := r.files()
	require.Error(t, r.raw("s", journal, call("", "x", "y")).Err)
	require.True(t, r.raw("s", journal, call("plan", "x", "y")).DryRun)
	assert.Equal(t, before, r.files())

	got := r.do(journal, call("execute", "  Über the\n# Moon! ", "All went well.\n\n"))
	at := filepath.Join(r.root.Dir, "ecosystems", "demo", "journal", "20260301_120000_ber-the-moon.md")
	assert.Equal(t, at, got["path"])
	text, err := os.ReadFile(at)
	require.NoError(t, err)
	assert.Equal(t, "# Über the # Moon!\n\nDate: 2026-03-01T12:00:00Z\n\nAll went well.\n\nTags: journal, demo\n", string(text))
	assert.Equal(t, "20260301_120000_ber-the-moon-2.md", r.do(journal, call("execute", "Über the moon", "Again."))["name"], "nothing is written over")
	assert.Equal(t, "20260301_120000_entry.md", r.do(journal, call("execute", "!?", "x"))["name"])
	long := r.do(journal, call("execute", strings.Repeat("long ", 30), "x"))["name"].(string)
	assert.Less(t, len(long), 80)
	summary(t, r.do(journal, call("execute", "x", "y")))
	r.refused("eco_invalid_arguments", journal, call("execute", " \t", "y"))
	assert.EqualValues(t, 5, r.do(describe, args{"ecosystem": "demo"})["journal_count"])
}

// TestGate: where the core says how far a session may go, that is what is told.
func TestGate(t *testing.T) {
	r := newRig(t)
	var asked tool.Scope
	r.deps.Gate = func(_ context.Context, sc tool.Scope) (ecosystems.ModeGate, error) {
		asked = sc
		return ecosystems.ModeGate{Mode: "plan", MaxMode: "plan", Pending: 2}, nil
	}
	for _, e := range ecosystems.InfoEntries(r.deps) {
		if e.Spec.Name != info {
			continue
		}
		inv, err := e.Handler.Decode(json.RawMessage(`{}`))
		require.NoError(t, err)
		out, err := inv.Commit(t.Context(), tool.Scope{Session: "s"}, nil)
		require.NoError(t, err)
		answer := out.(ecosystems.ScopeAnswer)
		assert.Equal(t, []any{"plan", "plan", 2}, []any{answer.Mode, answer.MaxMode, *answer.Pending})
	}
	assert.Equal(t, "s", asked.Session)
}

// TestTheOnlyEcosystemNeedsNoName, and either word selects one of several.
func TestTheOnlyEcosystemNeedsNoName(t *testing.T) {
	r := newRig(t)
	r.refused("eco_no_ecosystem", describe, args{})
	r.manifest("demo", simple("demo", "api"))
	assert.Equal(t, "demo", r.do(describe, args{})["name"])
	assert.Equal(t, true, r.do(validate, args{})["valid"])
	r.manifest("shop", simple("shop", "web"))
	r.refused("eco_no_ecosystem", describe, args{})
	for _, a := range []args{{"ecosystem": "shop"}, {"name": "demo"}, {"ecosystem": "shop", "name": "shop"}} {
		for _, name := range []string{switchTo, alias} {
			r.do(name, a)
			want := a["ecosystem"]
			if want == nil {
				want = a["name"]
			}
			assert.Equal(t, want, r.do(describe, args{})["name"])
		}
	}
	r.refused("eco_invalid_arguments", switchTo, args{})
	r.refused("eco_invalid_arguments", alias, args{"ecosystem": "shop", "name": "demo"})
}
