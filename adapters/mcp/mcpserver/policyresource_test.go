package mcpserver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
)

var policyMe = mcpserver.Caller{Principal: policy.Principal{ID: "me", Grants: policy.All}, Session: "s"}

// core returns a real core to the tools about ecosystems.
func core(t *testing.T, serve app.Selection) *app.App {
	t.Helper()
	store, now := memstore.New(), &clock.Fake{}
	core := app.Dependencies{Clock: now, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: store, Audit: store, Settings: store, Sessions: store.Sessions(), Limiter: memstore.Unlimited{},
		Runs: store.Runs(), Owner: system.Owner{}, Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }, Log: slog.New(slog.DiscardHandler)}
	a, err := app.New(core, app.Options{Serve: serve, Policy: policy.Policy{Approval: policy.ApprovalCaller, Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}},
		ecosystems.Capability(ecosystems.Deps{Basis: runs.Deps{Clock: now}}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(context.Background())) })
	return a
}

// other is resources beside the policy: two pages of one each.
type other struct{ watched *int }

func (other) List(_ context.Context, _ mcpserver.Caller, cursor string) ([]mcpserver.Resource, string, error) {
	switch cursor {
	case "":
		return []mcpserver.Resource{{URI: "other://1"}}, "2", nil
	case "2":
		return []mcpserver.Resource{{URI: "other://2"}}, "", nil
	}
	return nil, "", fault.New(fault.Invalid, "bad_cursor", "no such page")
}

func (other) Read(_ context.Context, _ mcpserver.Caller, uri string) (mcpserver.Content, error) {
	return mcpserver.Content{Text: "read " + uri}, nil
}
func (other) Templates() []mcpserver.Resource { return []mcpserver.Resource{{URI: "other://{n}"}} }
func (other) Fixed() []mcpserver.Resource     { return []mcpserver.Resource{{URI: "other://fixed"}} }
func (o other) Watch(func(string))            { *o.watched++ }

func uris(page []mcpserver.Resource) (out []string) {
	for _, r := range page {
		out = append(out, r.URI)
	}
	return out
}

func TestThePolicyIsTheWholeMatrix(t *testing.T) {
	a := core(t, app.Selection{})
	require.True(t, mcpserver.ServesPolicy(a))
	content, err := mcpserver.NewPolicyResources(nil, a, tool.Call{}).Read(t.Context(), policyMe, mcpserver.PolicyURI)
	require.NoError(t, err)
	assert.Equal(t, "application/json", content.MIMEType)
	var got struct {
		Modes   []string               `json:"modes"`
		Default string                 `json:"default_mode"`
		TTL     int                    `json:"confirmation_ttl_seconds"`
		Rows    []ecosystems.PolicyRow `json:"rows"`
		Text    any                    `json:"_text"`
	}
	require.NoError(t, json.Unmarshal([]byte(content.Text), &got))
	assert.Equal(t, []string{"ask", "plan", "execute"}, got.Modes)
	assert.Equal(t, "ask", got.Default)
	assert.Equal(t, 300, got.TTL)
	assert.Equal(t, ecosystems.PolicyMatrix(), got.Rows)
	assert.Nil(t, got.Text)
}

func TestBesideOthers(t *testing.T) {
	watched := 0
	r := mcpserver.NewPolicyResources(other{&watched}, core(t, app.Selection{}), tool.Call{})
	page, next, err := r.List(t.Context(), policyMe, "")
	require.NoError(t, err)
	assert.Equal(t, []string{mcpserver.PolicyURI, "other://1"}, uris(page))
	assert.Equal(t, "2", next)
	page, next, err = r.List(t.Context(), policyMe, next)
	require.NoError(t, err)
	assert.Equal(t, []string{"other://2"}, uris(page), "it is on the first page alone")
	assert.Empty(t, next)
	_, _, err = r.List(t.Context(), policyMe, "x")
	require.ErrorContains(t, err, "no such page")
	content, err := r.Read(t.Context(), policyMe, "other://1")
	require.NoError(t, err)
	assert.Equal(t, "read other://1", content.Text)
	assert.Equal(t, []string{"other://{n}"}, uris(r.Templates()))
	assert.Equal(t, []string{mcpserver.PolicyURI, "other://fixed"}, uris(r.Fixed()))
	r.Watch(func(string) {})
	assert.Equal(t, 1, watched)
}

func TestAlone(t *testing.T) {
	r := mcpserver.NewPolicyResources(nil, core(t, app.Selection{}), tool.Call{})
	page, next, err := r.List(t.Context(), policyMe, "")
	require.NoError(t, err)
	assert.Equal(t, []string{mcpserver.PolicyURI}, uris(page))
	assert.Equal(t, "amof_policy", page[0].Name)
	assert.Empty(t, next)
	page, _, err = r.List(t.Context(), policyMe, "2")
	require.NoError(t, err)
	assert.Empty(t, page)
	assert.Empty(t, r.Templates())
	assert.Equal(t, []string{mcpserver.PolicyURI}, uris(r.Fixed()))
	r.Watch(nil)
	for _, uri := range []string{"", "countersign://ecosystems/", mcpserver.PolicyURI + "?x", mcpserver.PolicyURI + "/../x", "file:///etc/passwd"} {
		_, err := r.Read(t.Context(), policyMe, uri)
		require.ErrorIs(t, err, mcpserver.ErrUnknownResource, uri)
	}
}

func TestWithoutTheToolThereIsNothingToOffer(t *testing.T) {
	a := core(t, app.Selection{Exclude: []string{"amof_policy"}})
	assert.False(t, mcpserver.ServesPolicy(a))
	_, err := mcpserver.NewPolicyResources(nil, a, tool.Call{}).Read(t.Context(), policyMe, mcpserver.PolicyURI)
	require.ErrorIs(t, err, tool.ErrUnknown, "the door has the last word")
	nobody := policyMe
	nobody.Principal.Grants = 0
	_, err = mcpserver.NewPolicyResources(nil, core(t, app.Selection{}), tool.Call{}).Read(t.Context(), nobody, mcpserver.PolicyURI)
	require.ErrorIs(t, err, app.ErrPolicy)
}
