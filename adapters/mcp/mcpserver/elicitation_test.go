package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// What is sealed is of use to the call it was sealed for alone: the same tool and arguments of the same caller, in time.
func TestSeal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := mcpserver.NewSeal("secret")
	call := tool.Call{Entry: "host", Tool: "wipe", Args: []byte(`{"name": "x"}`), Session: "s", Principal: policy.Principal{ID: "p"}}
	st := mcpserver.CallState{Confirmation: "cf_1", Call: "call_1", Subject: mcpserver.CallSubject(call), Expires: now.Add(time.Minute), Lasting: true, Entry: "host", Offered: true}
	sealed, err := s.Close(st)
	require.NoError(t, err)
	got, err := s.Open(sealed, call, now)
	require.NoError(t, err)
	assert.Equal(t, st, got)
	same := call
	same.Args = []byte(`{"name":"x"}`)
	_, err = s.Open(sealed, same, now)
	require.NoError(t, err, "white space is no other call")
	for name, change := range map[string]func(c *tool.Call){
		"tool": func(c *tool.Call) { c.Tool = "wip" }, "arguments": func(c *tool.Call) { c.Args = []byte(`{"name":"y"}`) },
		"host entry": func(c *tool.Call) { c.Entry = "other" },
		"session":    func(c *tool.Call) { c.Session = "t" }, "principal": func(c *tool.Call) { c.Principal.ID = "q" },
		"what runs together": func(c *tool.Call) { c.Session, c.Principal.ID = "", "ps" },
	} {
		other := call
		change(&other)
		_, err = s.Open(sealed, other, now)
		require.Error(t, err, name)
	}
	_, err = s.Open(sealed, call, now.Add(time.Minute))
	require.Error(t, err, "now ≥ expires_at is expired")
	unoffered := st
	unoffered.Offered = false
	silent, err := s.Close(unoffered)
	require.NoError(t, err)
	_, err = s.Open(silent, call, now)
	require.Error(t, err, "no form was offered")
	_, err = mcpserver.NewSeal("another").Open(sealed, call, now)
	require.Error(t, err)
	for _, broken := range []string{"", "!", sealed[1:], sealed[:len(sealed)-1], sealed[:20]} {
		_, err = s.Open(broken, call, now)
		require.Error(t, err, broken)
	}
}

// TestAnswer: only an accepted form says something, in a word that was offered; whatever else comes back is no answer.
func TestAnswer(t *testing.T) {
	form := func(action string, content map[string]any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: action, Content: content}
	}
	said := func(decision any) map[string]any { return map[string]any{"decision": decision} }
	for _, c := range []struct {
		form            *mcp.ElicitResult
		lasting         bool
		approve, always bool
	}{
		{form("accept", said("approve")), false, true, false}, {form("accept", said("deny")), true, false, false}, {form("accept", said("always")), true, true, true},
	} {
		a := mcpserver.ParseAnswer("cf_1", "claude-code", c.lasting, c.form)
		require.NotNil(t, a, "%v", c.form)
		assert.Equal(t, confirm.Decision{ID: "cf_1", By: "form", Approve: c.approve, Always: c.always, Proof: confirm.Proof{Surface: confirm.SurfaceForm, Entry: "claude-code"}}, *a)
	}
	for _, nobody := range []*mcp.ElicitResult{
		nil, form("accept", nil), form("accept", said("APPROVE")), form("accept", said(true)), form("accept", said("always")), form("accept", map[string]any{}),
		form("decline", said("approve")), form("decline", said("deny")), form("cancel", said("approve")), form("", said("approve")),
	} {
		assert.Nil(t, mcpserver.ParseAnswer("cf_1", "claude-code", false, nobody), "%v", nobody)
	}
}

// TestFormShowsAll of what would happen, laid out in lines, or is not offered.
func TestFormShowsAll(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	asked := func(change func(*tool.ApprovalRequest)) *tool.ApprovalRequest {
		i := &tool.ApprovalRequest{ID: "cf_1", Tool: "wipe", Prompt: "wipe it", Formable: true, Strength: policy.Simple, ExpiresAt: at, Args: []byte(`{"name":"x"}`),
			Plan:    []byte(`{"command":["rm","-r","x"],"count":2,"keeps":[],"note":null,"deep":{"more":true,"none":{}}}`),
			Exhibit: []byte("{\"files\":[{\"path\":\"a\",\"unified\":\"-old\\n+new\\r\\nApprove: yes\\n\"}]}")}
		if change != nil {
			change(i)
		}
		return i
	}
	form, why := mcpserver.ApprovalForm(asked(nil))
	require.Empty(t, why)
	assert.Equal(t, `Countersign asks: wipe it

Arguments:
  name: x

Plan:
  command:
    - rm
    - -r
    - x
  count: 2
  keeps:
    (none)
  note: -
  deep:
    more: true
    none:
      (nothing)

Changes:
  files:
    -
      path: a
      unified:
        | -old
        | +new␍
        | Approve: yes

Tool wipe, plan sha256:0000000000000000000000000000000000000000000000000000000000000000. Expires 2026-01-02T03:04:05Z.`, form.Message)
	fields := form.RequestedSchema.(map[string]any)["properties"].(map[string]any)
	assert.Equal(t, "deny", fields["decision"].(map[string]any)["enum"].([]string)[0], "what a host chooses beforehand approves nothing")
	for reason, change := range map[string]func(*tool.ApprovalRequest){
		"risk is too high": func(i *tool.ApprovalRequest) { i.Formable = false },
		"too long for this host's form": func(i *tool.ApprovalRequest) {
			i.Plan = []byte(`{"text":"` + strings.Repeat("x", mcpserver.MaxMessage) + `"}`)
		},
		"parts of the plan are redacted": func(i *tool.ApprovalRequest) { i.Args = []byte(`{"key":"[REDACTED:aws_key]"}`) },
		"cannot show the plan":           func(i *tool.ApprovalRequest) { i.Exhibit = []byte(`{`) },
	} {
		form, why := mcpserver.ApprovalForm(asked(change))
		assert.Nil(t, form, reason)
		assert.Contains(t, why, reason)
	}
}

func TestPossible(t *testing.T) {
	assert.False(t, mcpserver.SupportsForms(nil))
	assert.False(t, mcpserver.SupportsForms(&mcp.ClientCapabilities{}))
	assert.True(t, mcpserver.SupportsForms(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}), "an empty one is forms")
	assert.True(t, mcpserver.SupportsForms(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}}))
	assert.False(t, mcpserver.SupportsForms(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}))
}

// TestAlwaysSaysWhatItBinds: the tool, what of it, and what may be different the next time.
func TestAlwaysSaysWhatItBinds(t *testing.T) {
	for scope, want := range map[string]string{
		"shop: test@5f2c": "in this session: run_script of shop: test, as it reads now, with these arguments, for at most 12 hours; not bound: how often it runs",
		"":                "in this session: run_script, for at most 12 hours; not bound: its arguments",
	} {
		form, why := mcpserver.ApprovalForm(&tool.ApprovalRequest{Formable: true, Tool: "run_script", Strength: policy.Simple, Prompt: "run test of shop", Scope: scope})
		require.NotNil(t, form, why)
		said, err := json.Marshal(form.RequestedSchema)
		require.NoError(t, err)
		assert.Contains(t, string(said), want)
	}
}
