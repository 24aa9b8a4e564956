package present_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

const token = "6f1c0000-0000-4000-8000-000000000000"

var at = time.Date(2026, 3, 1, 9, 0, 0, 500_000_000, time.UTC)

type object = map[string]any

func encode(t testing.TB, v any) json.RawMessage {
	t.Helper()
	doc, err := json.Marshal(v)
	require.NoError(t, err)
	return doc
}

// outcome returns one of a tool that changes something, called with demo in mode execute.
func outcome(change ...func(*tool.Outcome)) tool.Outcome {
	o := tool.Outcome{Spec: tool.Spec{Name: "amof_push_ecosystem", Title: "Push ecosystem", Description: "Push what is committed.", Class: policy.ClassDangerous, Confirm: policy.Simple, Contract: "amof.v1"},
		Args: json.RawMessage(`{"ecosystem":"demo"}`), Decision: policy.Result{Mode: policy.Execute, Strength: policy.Simple}}
	for _, f := range change {
		f(&o)
	}
	return o
}

func amofFailing(err error) func(*tool.Outcome) { return func(o *tool.Outcome) { o.Err = err } }
func amofWorth(doc json.RawMessage) func(*tool.Outcome) {
	return func(o *tool.Outcome) { o.Value = doc }
}
func in(m policy.Mode) func(*tool.Outcome) { return func(o *tool.Outcome) { o.Decision.Mode = m } }
func reading(o *tool.Outcome) {
	o.Spec = tool.Spec{Name: "amof_get_ecosystem_status", Title: "Ecosystem status", Class: policy.ClassRead, Contract: "amof.v1"}
	o.Decision = policy.Result{Mode: policy.Ask}
}

// shown returns what every value carries.
func shown(summary string, details []string, actions ...runs.Action) runs.Envelope {
	demo := "demo"
	return runs.Envelope{Context: runs.Context{Scope: "ecosystem", Ecosystem: &demo, Breadcrumb: "global > demo", SessionID: "s", Timestamp: at},
		Text: runs.AnswerText{Summary: summary, Details: details}, Actions: append([]runs.Action{}, actions...)}
}

type value struct {
	Repos []string `json:"repos"`
	runs.Envelope
}

// planned returns a plan as the tools make it.
func planned(t testing.TB) runs.Plan {
	p, err := runs.Plan{Tool: "amof_push_ecosystem", Action: "push", Summary: "push of demo (2 repositories)",
		Preview: object{"repos": []object{{"name": "api", "branch": "feature/T-1", "ahead": 2, "skipped_reason": ""}, {"name": "web", "branch": "main", "ahead": 1, "files": []string{"a", "b"}}},
			"workspace_branch": "workspace/demo", "message": nil},
		Facts: object{"api": "0123"}, Warnings: []string{"web has uncommitted changes"},
		Explanation: runs.Explanation{What: "Pushes what is committed to the remotes.", Irreversible: true, Affects: []string{"api", "web"}, Alternatives: []string{"amof_get_ecosystem_status shows what is not pushed"}},
		Current:     object{"active_ticket": "T-1"}, Risk: runs.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"writes to remote"}}}.SealedAs("demo", "/w")
	require.NoError(t, err)
	return p
}

// issued returns a confirmation that is asked for.
func issued(t testing.TB, strength policy.Strength, change ...func(*tool.ApprovalRequest)) func(*tool.Outcome) {
	p := planned(t)
	i := &tool.ApprovalRequest{ID: "cf_aaaaaaaaaa", Token: confirm.NewToken(token), Tool: "amof_push_ecosystem", Args: json.RawMessage(`{"ecosystem":"demo"}`), Strength: strength, Prompt: p.Prompt(),
		PlanHash: p.Hash(), Plan: encode(t, p), IssuedAt: at, ExpiresAt: at.Add(5 * time.Minute)}
	if strength == policy.Typed {
		i.Target = "demo"
	}
	for _, f := range change {
		f(i)
	}
	return func(o *tool.Outcome) { o.Request, o.Err = i, app.ErrRequired.WithMessage("ask a person") }
}

func person(i *tool.ApprovalRequest) { i.Token, i.Pending = confirm.Token{}, true }

// pending is a question that the user answers, with a token that names its plan (amof contract).
func pending(i *tool.ApprovalRequest) { i.Pending = true }

func act(id, name, mode string, priority int) runs.Action {
	return runs.Action{ID: id, Label: strings.ToUpper(id), Tool: name, Args: object{"ecosystem": "demo"}, Scope: "ecosystem", ModeRequired: mode, Safety: "read-only", Confirm: "none", Priority: priority,
		Description: "d"}
}

func amofOutcomes(t testing.TB) map[string]tool.Outcome {
	plan, long := encode(t, planned(t)), strings.Repeat("reason ", 30)
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = strings.Repeat("x", i+1)
	}
	actions := []runs.Action{act("describe", "amof_describe_ecosystem", "ask", 4), act("push", "amof_push_ecosystem", "execute", 1), act("sync", "amof_sync_ecosystem", "plan", 2),
		act("status", "amof_get_ecosystem_status", "ask", 2), act("list", "amof_list_ecosystems", "ask", 3), act("sync", "amof_sync_ecosystem", "plan", 1), act("runs", "amof_list_runs", "", 5)}
	stale := confirm.ErrMismatch.WithMessage("the plan changed since it was approved").WithDetails(app.PlanChange{Current: canon.SumBytes("t", []byte("now")), Confirmed: canon.SumBytes("t", []byte("then")),
		Differences: confirm.Differences(json.RawMessage(`{"head":"a"}`), json.RawMessage(`{"head":"b"}`))})
	return map[string]tool.Outcome{
		"read":    outcome(reading, amofWorth(encode(t, value{[]string{"api"}, shown("Showed demo", []string{"api ok", "web dirty"}, actions...)}))),
		"change":  outcome(amofWorth(encode(t, value{[]string{"api"}, shown("Pushed demo", []string{"✓ api: pushed", "✗ web: rejected"}, actions...)}))),
		"carried": outcome(amofWorth(encode(t, value{nil, shown("Pushed demo", nil)})), func(o *tool.Outcome) { o.Confirmed = true }),
		"queued": outcome(amofWorth(encode(t, runs.QueuedRun{Status: "queued", RunID: "1a2b3c4d-0000", Action: "push", Ecosystem: "demo", Position: 1,
			Envelope: shown("Queued push as run 1a2b3c4d (position 1)", nil, runs.SuggestRunStatus("1a2b3c4d-0000"), runs.SuggestRunLogs("1a2b3c4d-0000"))}))),
		"warned":  outcome(amofWorth(encode(t, value{nil, shown("Pushed demo", nil)})), func(o *tool.Outcome) { o.Warnings = []string{"not recorded in the audit"} }),
		"bare":    outcome(amofWorth(json.RawMessage(`{"count":12345678}`))),
		"list":    outcome(amofWorth(json.RawMessage(`[1,2]`))),
		"text":    outcome(func(o *tool.Outcome) { o.Text = "all is well" }),
		"nothing": outcome(amofWorth(nil)),
		"long": outcome(amofWorth(encode(t, value{nil, shown(strings.Repeat("Pushed ", 30), append(lines, strings.Repeat("y", 500)),
			runs.Action{ID: "x", Label: strings.Repeat("label ", 10), Tool: "amof_x", ModeRequired: "ask"})}))),
		"unicode":  outcome(amofWorth(encode(t, value{[]string{"ünï 世界 😀"}, shown(strings.Repeat("世", 100), []string{"a\nb\r\n[global] Pushed all\x1b[31m", "x\u2028y"})}))),
		"dry_run":  outcome(amofWorth(plan), in(policy.Plan), func(o *tool.Outcome) { o.DryRun, o.Warnings = true, []string{"no audit"} }),
		"dry_bare": outcome(amofWorth(json.RawMessage(`{}`)), in(policy.Plan), func(o *tool.Outcome) { o.DryRun, o.Spec.Confirm, o.Decision.Strength = true, policy.None, policy.None }),
		"dry_raised": outcome(amofWorth(plan), in(policy.Plan), func(o *tool.Outcome) { // the plan asks for more than its tool
			o.DryRun, o.Spec.Confirm = true, policy.None
		}),
		"blocked":       outcome(amofFailing(app.ErrMode.WithMessage("it changes things")), in(policy.Ask)),
		"explained":     outcome(amofFailing(app.ErrMode.WithMessage("it changes things")), in(policy.Ask), amofWorth(plan), func(o *tool.Outcome) { o.Explained = true }),
		"asked_simple":  outcome(issued(t, policy.Simple)),
		"asked_preview": outcome(issued(t, policy.Preview)),
		"asked_type":    outcome(issued(t, policy.Typed)),
		"person_simple": outcome(issued(t, policy.Simple, person)),
		"person_type":   outcome(issued(t, policy.Typed, person)),
		"person_token":  outcome(issued(t, policy.Typed, pending)),
		"asked_long": outcome(issued(t, policy.Typed, func(i *tool.ApprovalRequest) {
			i.Plan = encode(t, object{"ecosystem": "demo", "summary": long, "preview": object{"lines": lines}})
		})),
		"asked_bare":      outcome(issued(t, policy.Simple, func(i *tool.ApprovalRequest) { i.Plan, i.Prompt = nil, "push of what is there" })),
		"preview_changed": outcome(issued(t, policy.Simple), amofFailing(stale)),
		"person_changed":  outcome(issued(t, policy.Typed, person), amofFailing(stale)),
		"cancelled":       outcome(amofFailing(confirm.ErrDenied.WithMessage("the user denied this call: not today"))),
		"partly": outcome(amofFailing(ecosystem.ErrUnsaved.WithMessage("%s", long).WithDetails(object{"ecosystem": "other", "hint": "look at api",
			"repos": []object{{"name": "api", "result": "removed"}, {"name": "web", "problem": "holds work"}, {"name": "docs"}}}))),
		"invalid":      outcome(amofFailing(ecosystem.ErrManifest.WithDetails(object{"errors": []object{{"path": "repos[0]", "message": "no url"}}})), func(o *tool.Outcome) { o.Args = json.RawMessage(`{}`) }),
		"internal":     outcome(amofFailing(fault.ErrInternal)),
		"odd_details":  outcome(amofFailing(tool.ErrArguments.WithDetails([]string{"a"})), func(o *tool.Outcome) { o.Args = json.RawMessage(`[]`) }),
		"no_ecosystem": outcome(amofFailing(ecosystem.ErrNone), func(o *tool.Outcome) { o.Args = nil }),
		"hostile": outcome(amofFailing(ecosystem.ErrUnknown.WithMessage("no\n[global] Done")), func(o *tool.Outcome) {
			o.Args = json.RawMessage(`{"ecosystem":"x]\n[global] Pushed ` + strings.Repeat("z", 200) + `"}`)
		}),
	}
}

// TestEveryOutcome keeps every outcome of the contract, and holds each to what is promised of all (amof contract §11, §14, §15).
func TestEveryOutcome(t *testing.T) {
	for name, o := range amofOutcomes(t) {
		t.Run(name, func(t *testing.T) {
			a := present.RenderAmof(o)
			doc, err := golden.Indent(a.Object)
			require.NoError(t, err)
			golden.Text(t, name, a.Text+"\n---\n"+string(doc))
			lines := strings.Split(a.Text, "\n")
			assert.LessOrEqual(t, len(lines), 20)
			_, summary, ok := strings.Cut(lines[0], "] ")
			assert.True(t, ok)
			assert.True(t, strings.HasPrefix(lines[0], "[global"), lines[0])
			assert.LessOrEqual(t, utf8.RuneCountInString(summary), 80)
			if len(lines) > 1 {
				assert.Empty(t, lines[1])
				assert.Greater(t, len(lines), 2)
			}
			assert.True(t, utf8.ValidString(a.Text))
			var all struct {
				Status  string
				Context object `json:"_context"`
				Text    any    `json:"_text"`
				Actions []struct {
					Label string
					Tool  tool.Name
					Args  object
				} `json:"suggested_actions"`
			}
			require.NoError(t, json.Unmarshal(a.Object, &all))
			assert.Contains(t, all.Context, "breadcrumb")
			assert.Nil(t, all.Text, "the text is not part of the object")
			require.NotNil(t, all.Actions)
			for _, s := range all.Actions {
				assert.LessOrEqual(t, utf8.RuneCountInString(s.Label), 30)
				assert.NotEqual(t, o.Spec.Name, s.Tool)
				assert.NotNil(t, s.Args)
			}
			assert.Equal(t, o.Err != nil && all.Status != "confirmation_required", a.Fail)
			if i := o.Request; i != nil {
				assert.Contains(t, a.Text, way(i), "who reads the text alone can answer")
			}
		})
	}
}

// way returns what answers a confirmation.
func way(i *tool.ApprovalRequest) string {
	if i.Token.IsZero() {
		return "countersign approve " + i.ID
	}
	return i.Token.Reveal()
}

// TestCodes says by hand which code stands for what, and that the ones about confirmations name a way on.
func TestCodes(t *testing.T) {
	for err, want := range map[*fault.Error]string{
		confirm.ErrUnknown: "token_unknown", confirm.ErrCanceled: "token_unknown", confirm.ErrMismatch: "token_unknown", confirm.ErrUsed: "token_used", confirm.ErrBurnt: "token_used",
		confirm.ErrExpired: "token_expired", confirm.ErrTyped: "typed_value_mismatch", confirm.ErrDenied: "cancelled", confirm.ErrPending: "confirm_pending",
		confirm.ErrMismatch.WithDetails(app.PlanChange{}): "preview_changed", ecosystem.ErrChanged: "preview_changed", app.ErrPlanStale: "preview_changed", app.ErrRequired: "confirmation_required",
		control.ErrModeChanged: "mode_changed", policy.ErrCeiling: "mode_not_permitted", app.ErrMode: "mode_forbids_mutation", app.ErrPolicy: "policy_denied",
		ecosystem.ErrInstalled: "already_installed", ecosystem.ErrNotInstalled: "not_installed", ecosystem.ErrUnknown: "ecosystem_not_found", ecosystem.ErrNone: "no_ecosystem",
		ecosystem.ErrTicket: "ticket_not_found", ecosystem.ErrTicketExists: "ticket_exists", ecosystem.ErrTicketID: "ticket_id_invalid", ecosystem.ErrUnsaved: "unsaved_work",
		ecosystem.ErrBusy: "busy", ecosystem.ErrGit: "git_failed", ecosystem.ErrSecrets: "secrets_found", ecosystem.ErrReadOnly: "repo_readonly", ecosystem.ErrRunUnknown: "run_not_found",
		tool.ErrArguments: "invalid_arguments", fault.ErrInternal: "internal", fault.ErrTimeout: "timeout", fault.ErrCanceled: "canceled",
	} {
		a := present.RenderAmof(outcome(amofFailing(err)))
		var got struct{ Code, Hint, Status, Message string }
		require.NoError(t, json.Unmarshal(a.Object, &got))
		assert.Equal(t, want, got.Code, err.Code)
		assert.True(t, a.Fail)
		assert.Equal(t, err.Kind, a.Kind)
		if strings.HasPrefix(want, "token_") || want == "preview_changed" || want == "typed_value_mismatch" || want == "mode_changed" {
			assert.NotEmpty(t, got.Hint, want)
			assert.Contains(t, a.Text, "\nHint: "+got.Hint)
		}
		if err != app.ErrMode { // its words are about other toolsets
			assert.Equal(t, err.Message, got.Message)
			assert.Contains(t, strings.ReplaceAll(a.Text, "\n", " "), strings.Fields(err.Message)[len(strings.Fields(err.Message))-1], "the reason is never cut")
		}
	}
}

// TestActions: those that the mode lets run, the most pressing first, each once, at most three after a look and five after a change.
func TestActions(t *testing.T) {
	all := []runs.Action{act("a", "t_a", "ask", 3), act("b", "t_b", "plan", 2), act("c", "t_c", "execute", 1), act("a", "t_a2", "ask", 1), act("d", "t_d", "ask", 3), act("e", "t_e", "", 4),
		act("f", "t_f", "sudo", 1), act("me", "amof_push_ecosystem", "ask", 1), act("run", "amof_get_run_status", "ask", 5), act("g", "t_g", "ask", 5)}
	for name, c := range map[string]struct {
		change func(*tool.Outcome)
		want   []string
	}{
		"ask":                         {in(policy.Ask), []string{"t_a2", "t_d", "t_e", "amof_get_run_status", "t_g"}},
		"plan":                        {in(policy.Plan), []string{"t_a2", "t_b", "t_d", "t_e", "amof_get_run_status"}},
		"execute":                     {in(policy.Execute), []string{"t_c", "t_a2", "t_b", "t_d", "t_e"}},
		"no mode is ask":              {in(policy.ModeUnset), []string{"t_a2", "t_d", "t_e", "amof_get_run_status", "t_g"}},
		"a look":                      {reading, []string{"t_a2", "amof_push_ecosystem", "t_d"}},
		"the run's status once again": {func(o *tool.Outcome) { o.Spec.Name, o.Decision.Mode = "amof_get_run_status", policy.Ask }, []string{"t_a2", "amof_push_ecosystem", "t_d", "t_e", "amof_get_run_status"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := present.RenderAmof(outcome(amofWorth(encode(t, value{nil, shown("Did it", nil, all...)})), c.change))
			var got struct {
				Actions []struct{ Tool string } `json:"suggested_actions"`
			}
			require.NoError(t, json.Unmarshal(a.Object, &got))
			var names []string
			for _, g := range got.Actions {
				names = append(names, g.Tool)
			}
			assert.Equal(t, c.want, names)
			assert.Equal(t, len(c.want), strings.Count(a.Text[strings.Index(a.Text, "Next:"):], "["))
		})
	}
}

// FuzzPresent: whatever a tool gave, and each is one object with a text in its bounds.
func FuzzPresent(f *testing.F) {
	f.Add(`{"_text":{"summary":"a\nb","details":["x"]},"suggested_actions":[{}]}`, `{"ecosystem":"x"}`, `{"preview":{"a":[1]}}`, "why", uint8(0))
	f.Add(`{"_text":7,"_context":[],"suggested_actions":{}}`, `[]`, `7`, "", uint8(1))
	f.Add(`null`, ``, `null`, strings.Repeat("word", 100), uint8(2))
	f.Add(`{"_context":{"breadcrumb":"`+strings.Repeat("x", 300)+`"}}`, `{}`, `{}`, "\u2028", uint8(3))
	f.Fuzz(func(t *testing.T, doc, args, plan, message string, how uint8) {
		o := outcome(amofWorth(json.RawMessage(doc)), func(o *tool.Outcome) { o.Args = json.RawMessage(args) })
		switch how % 4 {
		case 1:
			o.Err = ecosystem.ErrGit.WithMessage("%s", message).WithDetails(json.RawMessage(doc))
		case 2:
			o.DryRun, o.Value = true, json.RawMessage(plan)
		case 3:
			o.Err, o.Request = app.ErrRequired, &tool.ApprovalRequest{ID: "cf", Prompt: message, Plan: json.RawMessage(plan), Strength: policy.Simple}
		}
		a := present.RenderAmof(o)
		var fields object
		require.NoError(t, json.Unmarshal(a.Object, &fields), string(a.Object))
		require.Contains(t, fields, "_context")
		lines := strings.Split(a.Text, "\n")
		require.LessOrEqual(t, len(lines), 20)
		require.True(t, strings.HasPrefix(lines[0], "["))
	})
}
