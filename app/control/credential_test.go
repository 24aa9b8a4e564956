package control_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// gate is a core with credentials.
type gate struct {
	*app.App
	t     *testing.T
	keys  *app.Credentials
	store *memstore.Store
	clock *clock.Fake
}

func gated(t *testing.T, p policy.Policy) *gate {
	t.Helper()
	g := &gate{t: t, store: memstore.New(), clock: &clock.Fake{}}
	log := slog.New(slog.DiscardHandler)
	core := app.Dependencies{Clock: g.clock, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: g.store, Audit: g.store, Settings: g.store, Sessions: g.store.Sessions(), Limiter: memstore.Unlimited{},
		Runs: g.store.Runs(), Owner: system.Owner{}, Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }, Log: log}
	g.keys = app.NewCredentials(app.CredentialsConfig{Credentials: g.store.Credentials(), Clock: g.clock, IDs: system.IDs{}, Audit: g.store, Log: log})
	p.Ceiling, p.Level = policy.Execute, policy.ExecuteWithConfirm
	var err error
	g.App, err = app.New(core, app.Options{Policy: p}, control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Runs: core.Runs, Audit: core.Audit, Sessions: core.Sessions,
		Settings: core.Settings, Operator: p, Toolsets: func() []tool.Toolset { return nil }, Credentials: g.keys}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close(context.Background())) })
	return g
}

func (g *gate) call(c access.Credential, grants policy.Effects) tool.Call {
	g.t.Helper()
	doc, err := tool.Encode(c.Request())
	require.NoError(g.t, err)
	return tool.Call{Session: "cli", Principal: policy.Principal{ID: "local", Grants: grants}, Tool: control.CreateCredential.Name, Args: doc, FromUser: true}
}

func (g *gate) live() []access.Credential {
	g.t.Helper()
	all, err := g.keys.List(g.t.Context())
	require.NoError(g.t, err)
	return all
}

// TestACredentialIsMadeOnceAPersonHasApprovedIt: the client that makes the call keeps the secret, and only what was shown is stored.
func TestACredentialIsMadeOnceAPersonHasApprovedIt(t *testing.T) {
	g := gated(t, policy.Policy{})
	ends := g.clock.Now().Add(time.Hour)
	c := g.call(access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("secret"), ExpiresAt: ends, Scope: access.Scope{Toolsets: []string{"packs"}, ReadOnly: true,
		Ceiling: policy.Plan}}, policy.All)
	asked := g.Call(t.Context(), c)
	require.NotNil(t, asked.Request, "%v", asked.Err)
	assert.True(t, asked.Request.Pending)
	assert.Equal(t, "high", asked.Request.Risk)
	assert.Equal(t, policy.ProvingPerson, asked.Request.Needs)
	assert.Equal(t, "make a token for ci", asked.Request.Prompt)
	assert.Contains(t, string(asked.Request.Plan), `"opens":"whoever has it calls the tools of packs, only to read, up to mode plan, until `)
	assert.Empty(t, g.live(), "asking makes nothing")

	c.Decision = &confirm.Decision{ID: asked.Request.ID, Approve: true, By: "form", Proof: confirm.Proof{Surface: confirm.SurfaceForm, Entry: "codex"}}
	require.ErrorIs(t, g.Call(t.Context(), c).Err, confirm.ErrProof, "a form approves nothing that lets somebody in")
	require.Empty(t, g.live())

	c.Decision.Proof = person.AtTerminal
	done := g.Call(t.Context(), c)
	require.NoError(t, done.Err)
	var made access.Credential
	require.NoError(t, json.Unmarshal(done.Value, &made))
	assert.Equal(t, access.Credential{ID: made.ID, Kind: access.Token, Name: "ci", Scope: access.Scope{Toolsets: []string{"packs"}, ReadOnly: true, Ceiling: policy.Plan},
		CreatedAt: g.clock.Now(), ExpiresAt: ends}, made)
	admitted, err := g.keys.Admit(t.Context(), access.Token, access.DigestOf("secret"))
	require.NoError(t, err)
	assert.Equal(t, made.ID, admitted.ID)
	records, err := g.AuditSearch(t.Context(), audit.Filter{Tool: "access"})
	require.NoError(t, err)
	require.Len(t, records, 1)
	assert.Equal(t, "call "+done.CallID, records[0].Event.ApprovedBy, "the record of the credential names the call that a person approved")

	require.ErrorIs(t, g.Call(t.Context(), g.call(access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("other")}, policy.All)).Err, access.ErrTaken)
	o := g.Call(t.Context(), tool.Call{Session: "s", Principal: c.Principal, Tool: c.Tool, Args: c.Args})
	require.ErrorIs(t, o.Err, tool.ErrUnknown, "no agent is served it")
}

// TestWhatLetsSomebodyInAsksWhateverWasAllowed: no level, list or tool setting approves it.
func TestWhatLetsSomebodyInAsksWhateverWasAllowed(t *testing.T) {
	g := gated(t, policy.Policy{})
	person.Settings(t, g.App, func(s *app.Settings) error {
		s.Level, s.Tools["create_credential"], s.Auto = policy.FullAccess, policy.Allowed, policy.AutoApprove{Enabled: true, Tools: []string{"create_credential"}}
		s.Require = map[string]policy.Proving{"run_script": policy.ProvingPasskey}
		return nil
	})
	login := g.Call(t.Context(), g.call(access.Credential{Kind: access.Login, Name: "console", Digest: access.DigestOf("code")}, app.ReadOnlyPermissions))
	require.NotNil(t, login.Request, "%v", login.Err)
	assert.Equal(t, policy.ProvingPerson, login.Request.Needs, "a lost passkey keeps nobody out of the console")
	assert.Contains(t, string(login.Request.Plan), "approves and changes settings in your name")
	made := g.Call(t.Context(), g.call(access.Credential{Kind: access.Token, Name: "x", Digest: access.DigestOf("x")}, policy.All))
	require.NotNil(t, made.Request, "%v", made.Err)
	assert.Equal(t, policy.ProvingPasskey, made.Request.Needs, "a token wants the strongest proof that anything wants")
	assert.Empty(t, g.live())
}

// TestACredentialThatCannotBeMadeAsksNobody: a call that would fail is not approved first.
func TestACredentialThatCannotBeMadeAsksNobody(t *testing.T) {
	g := gated(t, policy.Policy{})
	for name, in := range map[string]access.Request{
		"browser":   {Kind: "browser", Name: "x", Digest: access.DigestOf("x").String()},
		"no digest": {Kind: "token", Name: "x", Digest: "secret"},
		"long":      {Kind: "token", Name: "x", Digest: access.DigestOf("x").String() + "00"},
		"no name":   {Kind: "token", Name: "a\x07", Digest: access.DigestOf("x").String()},
		"past":      {Kind: "token", Name: "x", Digest: access.DigestOf("x").String(), ExpiresAt: g.clock.Now()},
		"log-in":    {Kind: "login", Name: "x", Digest: access.DigestOf("x").String(), ExpiresAt: g.clock.Now().Add(time.Hour)},
	} {
		doc, err := tool.Encode(in)
		require.NoError(t, err)
		o := g.Call(t.Context(), tool.Call{Session: "cli", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: control.CreateCredential.Name, Args: doc, FromUser: true})
		require.Error(t, o.Err, name)
		assert.Nil(t, o.Request, name)
	}
}
