package control_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/softkey"
	"github.com/countersign-dev/countersign/ports"
)

// keyFixture is a core with enrolled keys and an audit log that can be rewritten.
type keyFixture struct {
	*app.App
	t     *testing.T
	store *memstore.Store
	log   *rewritten
	news  *news
}

// news is the notifications to users: pending requests by ID, and what has happened.
type news struct{ asked, announced []string }

func (n *news) Asked(id string, _ bool) { n.asked = append(n.asked, id) }

func (n *news) Announce(what string) { n.announced = append(n.announced, what) }

// rewritten is an audit log whose records can be edited, with every hash computed again, as by an attacker with the machine's key.
type rewritten struct {
	*memstore.Store
	edit func(*audit.Event)
}

func (r *rewritten) Search(ctx context.Context, f audit.Filter) ([]audit.Record, error) {
	found, err := r.Store.Search(ctx, f)
	for i := range found {
		r.edit(&found[i].Event)
	}
	return found, err
}

func enrolling(t *testing.T, change ...func(*app.Options)) *keyFixture {
	t.Helper()
	h := &keyFixture{t: t, store: memstore.New(), news: &news{}}
	h.log = &rewritten{h.store, func(*audit.Event) {}}
	core := app.Dependencies{Clock: &clock.Fake{}, IDs: system.IDs{}, Tokens: system.Tokens{}, Ledger: h.store, Audit: h.log, Settings: h.store, Sessions: h.store.Sessions(), Limiter: memstore.Unlimited{},
		Runs: h.store.Runs(), Owner: system.Owner{}, Redact: func() *redact.Redactor { return redact.New(redact.Options{}) }, Log: slog.New(slog.DiscardHandler),
		Notifier: h.news, Keys: h.store.Keys(), Verifiers: map[enrolled.Kind]ports.KeyVerifier{enrolled.Passkey: passkey.Verifier{}}}
	o := app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}
	for _, c := range change {
		c(&o)
	}
	var err error
	h.App, err = app.New(core, o, control.Capability(control.Deps{Clock: core.Clock, Ledger: core.Ledger, Runs: core.Runs, Audit: core.Audit, Sessions: core.Sessions,
		Settings: core.Settings, Operator: o.Policy, Toolsets: func() []tool.Toolset { return nil },
		Rules: func(ctx context.Context, s ports.Settings) (policy.Resolved, error) { return h.Resolve(ctx, s) },
		Keys:  app.NewKeyManager(app.KeyConfig{Keys: core.Keys, Audit: core.Audit, Verifiers: core.Verifiers, Forgotten: o.Forgotten})}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	return h
}

func byHand(name tool.Name, args string) tool.Call {
	return tool.Call{Session: "console", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: name, Args: json.RawMessage(args), FromUser: true}
}

var atConsole = confirm.Proof{Surface: confirm.SurfaceConsole, User: "browser", Credential: "key_1"}

// asked returns the approval request of the call.
func (h *keyFixture) asked(c tool.Call) *tool.ApprovalRequest {
	h.t.Helper()
	o := h.Call(h.t.Context(), c)
	require.NotNil(h.t, o.Request, "%v", o.Err)
	return o.Request
}

// settle decides the call's approval request with that proof, and lets the call continue.
func (h *keyFixture) settle(c tool.Call, prove func(i *tool.ApprovalRequest) confirm.Proof) tool.Outcome {
	h.t.Helper()
	i := h.asked(c)
	c.Decision = &confirm.Decision{ID: i.ID, Approve: true, Shown: i.PlanHash, By: "person", Proof: prove(i)}
	return h.Call(h.t.Context(), c)
}

func given(p confirm.Proof) func(*tool.ApprovalRequest) confirm.Proof {
	return func(*tool.ApprovalRequest) confirm.Proof { return p }
}

func by(k *softkey.Key) func(*tool.ApprovalRequest) confirm.Proof {
	return func(i *tool.ApprovalRequest) confirm.Proof { return k.Proof(i.PlanHash, i.ID) }
}

// first returns a passkey that was enrolled as the first one.
func (h *keyFixture) first() *softkey.Key {
	h.t.Helper()
	k := softkey.New(h.t)
	require.NoError(h.t, h.settle(byHand("enroll_key", string(k.Input("laptop"))), given(person.AtTerminal)).Err)
	return k
}

func (h *keyFixture) keys() []app.Key {
	h.t.Helper()
	all, err := h.Keys(h.t.Context())
	require.NoError(h.t, err)
	return all
}

// loosen requests a change of the settings that allows more, with a policy that requires a passkey for one tool.
func (h *keyFixture) loosen() tool.Call {
	h.t.Helper()
	person.Settings(h.t, h.App, func(s *app.Settings) error {
		s.Require = map[string]policy.Proving{"run_script": policy.ProvingPasskey}
		return nil
	})
	c, err := h.SettingsCall(h.t.Context(), func(s *app.Settings) error { s.Level = policy.FullAccess; return nil })
	require.NoError(h.t, err)
	c.Session, c.Principal = "console", policy.Principal{ID: "local", Grants: policy.All}
	return c
}

// TestTheFirstPasskeyIsApprovedInATerminal: a program that has stolen a browser session makes a key, but cannot approve it there.
func TestTheFirstPasskeyIsApprovedInATerminal(t *testing.T) {
	h := enrolling(t)
	k := softkey.New(t)
	c := byHand("enroll_key", string(k.Input("laptop")))
	i := h.asked(c)
	assert.Equal(t, policy.ProvingTerminal, i.Needs)
	assert.Equal(t, `enrol the passkey "laptop"`, i.Prompt)
	assert.Contains(t, string(i.Plan), `"opens":"whoever has it approves in your name`)
	assert.Zero(t, i.Masked, "nothing of it looks like a secret: %s", i.Plan)
	for name, p := range map[string]confirm.Proof{"console": atConsole, "program": {Surface: confirm.SurfaceProgram, User: "me"}, "form": {Surface: confirm.SurfaceForm, Entry: "x"}} {
		require.ErrorIs(t, h.settle(c, given(p)).Err, confirm.ErrProof, name)
	}
	require.ErrorIs(t, h.settle(c, by(k)).Err, enrolled.ErrUnproven, "it is not enrolled, and so does not enrol itself")
	_, err := h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "console", Proof: atConsole})
	require.ErrorIs(t, err, confirm.ErrProof)
	assert.Empty(t, h.keys())

	assert.Contains(t, h.news.asked, i.ID)
	assert.Empty(t, h.news.announced, "it was only asked for")

	o := h.settle(c, given(person.AtTerminal))
	require.NoError(t, o.Err)
	assert.Equal(t, []string{"the passkey laptop was enrolled, the first of its kind: whoever has it approves calls"}, h.news.announced)
	all := h.keys()
	require.Len(t, all, 1)
	assert.True(t, all[0].Counts, all[0].Why)
	assert.Equal(t, "person", all[0].EnrolledBy)
	require.ErrorIs(t, h.Call(t.Context(), c).Err, enrolled.ErrTaken)
	agent := c
	agent.FromUser = false
	require.ErrorIs(t, h.Call(t.Context(), agent).Err, tool.ErrUnknown, "no agent is served it")
}

// TestAQuestionThatSomebodyMadeWeaker: the proof that the plan needs counts, not the one in the database row.
func TestAQuestionThatSomebodyMadeWeaker(t *testing.T) {
	h := enrolling(t)
	c := byHand("enroll_key", string(softkey.New(t).Input("mine")))
	weaken := func(i *tool.ApprovalRequest) {
		require.NoError(t, h.store.Settle(t.Context(), i.Digest, func(g *confirm.Request) error { g.Needs = policy.ProvingNone; return nil }))
	}
	i := h.asked(c)
	weaken(i)
	c.Decision = &confirm.Decision{ID: i.ID, Approve: true, By: "console", Proof: atConsole}
	require.ErrorIs(t, h.Call(t.Context(), c).Err, confirm.ErrEdited)
	c.Decision = nil
	i = h.asked(c)
	weaken(i)
	_, err := h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "console", Proof: atConsole})
	require.ErrorIs(t, err, confirm.ErrEdited)
	h.asked(c)
	waiting := c
	waiting.ApprovalDigest = i.Digest
	require.Error(t, h.Call(t.Context(), waiting).Err)
	assert.Empty(t, h.keys())
}

// TestAFurtherPasskeyWantsOneThatCounts: enrolling a further one, or removing one, needs one that counts.
func TestAFurtherPasskeyWantsOneThatCounts(t *testing.T) {
	h := enrolling(t)
	k, second := h.first(), softkey.New(t)
	more := byHand("enroll_key", string(second.Input("phone")))
	require.ErrorIs(t, h.settle(more, given(person.AtTerminal)).Err, confirm.ErrProof)
	require.ErrorIs(t, h.settle(more, given(atConsole)).Err, confirm.ErrProof)
	require.ErrorIs(t, h.settle(more, by(second)).Err, enrolled.ErrUnproven)
	require.NoError(t, h.settle(more, by(k)).Err)
	require.Len(t, h.keys(), 2)
	gone := byHand("remove_key", `{"id":"`+h.keys()[0].ID+`"}`)
	require.ErrorIs(t, h.settle(gone, given(atConsole)).Err, confirm.ErrProof)
	require.NoError(t, h.settle(gone, by(second)).Err)
	assert.Contains(t, h.news.announced[len(h.news.announced)-1], "removed, and proves nothing any more")
	require.Len(t, h.keys(), 1)
	require.ErrorIs(t, h.settle(h.loosen(), by(k)).Err, enrolled.ErrUnproven, "it proves nothing any more")
	require.NoError(t, h.settle(h.loosen(), by(second)).Err)
	report, err := h.CheckAudit(t.Context())
	require.NoError(t, err)
	assert.Empty(t, report.Faults, "what the first one signed while it counted stays proved")
}

// TestAPasskeyApprovesThePlanItSigned: it approves no other plan, request, or time.
func TestAPasskeyApprovesThePlanItSigned(t *testing.T) {
	h := enrolling(t)
	k := h.first()
	c := h.loosen()
	i := h.asked(c)
	require.Equal(t, policy.ProvingPasskey, i.Needs)
	unverified, elsewhere := *k, *k
	unverified.Flags, elsewhere.Origin = 1, "http://localhost:9999"
	none := k.Proof(i.PlanHash, i.ID)
	none.Evidence = nil
	for name, p := range map[string]confirm.Proof{
		"another plan": k.Proof(canon.SumBytes("test", []byte("x")), i.ID), "another question": k.Proof(i.PlanHash, "cf_other"), "nobody verified": unverified.Proof(i.PlanHash, i.ID),
		"another origin": elsewhere.Proof(i.PlanHash, i.ID), "another key": softkey.New(t).Proof(i.PlanHash, i.ID), "no evidence": none,
		"a touch that was none": {Surface: confirm.SurfaceTouch, Credential: k.Handle(), Evidence: k.Proof(i.PlanHash, i.ID).Evidence},
	} {
		_, err := h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "x", Proof: p})
		require.ErrorIs(t, err, enrolled.ErrUnproven, name)
	}
	require.ErrorIs(t, h.settle(c, given(atConsole)).Err, confirm.ErrProof)
	require.ErrorIs(t, h.settle(c, given(person.AtTerminal)).Err, confirm.ErrProof)
	proof := k.Proof(i.PlanHash, i.ID)
	_, err := h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "console", Proof: proof})
	require.NoError(t, err)
	_, err = h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "console", Proof: proof})
	require.ErrorIs(t, err, confirm.ErrAnswered)
	require.NoError(t, h.Call(t.Context(), c).Err, "the same call goes on")

	records, err := h.AuditSearch(t.Context(), audit.Filter{Phase: audit.Answer, Call: i.ID, Text: "approve"})
	require.NoError(t, err)
	require.NotEmpty(t, records)
	said := records[0].Event
	assert.Equal(t, "passkey", said.Surface)
	assert.Contains(t, string(said.Proof), `"client_data":`, "the evidence is on record")

	again := h.loosenAgain()
	j := h.asked(again)
	_, err = h.Answer(t.Context(), confirm.Decision{ID: j.ID, Approve: true, By: "console", Proof: proof})
	require.ErrorIs(t, err, enrolled.ErrUnproven, "what was signed once is good for that question alone")
}

// loosenAgain requests another change that allows more.
func (h *keyFixture) loosenAgain() tool.Call {
	h.t.Helper()
	c, err := h.SettingsCall(h.t.Context(), func(s *app.Settings) error {
		s.Auto = policy.AutoApprove{Enabled: true, Tools: []string{"x"}}
		s.Level = policy.ExecuteWithConfirm
		return nil
	})
	require.NoError(h.t, err)
	c.Session, c.Principal = "console", policy.Principal{ID: "local", Grants: policy.All}
	return c
}

// TestWhatIsRedeemedIsVerifiedAgain: between the decision and the call the key is removed, or the record edited.
func TestWhatIsRedeemedIsVerifiedAgain(t *testing.T) {
	h := enrolling(t)
	k := h.first()
	c := h.loosen()
	i := h.asked(c)
	_, err := h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "console", Proof: k.Proof(i.PlanHash, i.ID)})
	require.NoError(t, err)
	h.log.edit = func(e *audit.Event) {
		if e.CallID == i.ID {
			e.Proof = edited(t, e.Proof, func(s *passkey.Signed) { s.Signature[8]++ })
		}
	}
	require.Error(t, h.Call(t.Context(), c).Err)
	report, err := h.CheckAudit(t.Context())
	require.NoError(t, err)
	require.Len(t, report.Faults, 1, "and audit verify says so, although every sum fits")
	require.ErrorIs(t, report.Faults[0], enrolled.ErrForged)
	h.log.edit = func(e *audit.Event) {
		if e.Tool == "enroll_key" && e.Phase == audit.Outcome {
			e.Code = "gone"
		}
	}
	require.Error(t, h.Call(t.Context(), c).Err)
	h.log.edit = func(e *audit.Event) {
		if e.CallID == i.ID && e.Phase == audit.Answer {
			e.Surface = "terminal"
		}
	}
	require.Error(t, h.Call(t.Context(), c).Err, "a weaker surface than is needed")
	h.log.edit = func(*audit.Event) {}
	require.NoError(t, h.Call(t.Context(), c).Err)
}

// edited returns a recorded proof with an edit in what was signed.
func edited(t *testing.T, doc json.RawMessage, change func(*passkey.Signed)) json.RawMessage {
	var p confirm.Proof
	var v enrolled.Evidence
	var s passkey.Signed
	if len(doc) == 0 {
		return doc
	}
	require.NoError(t, json.Unmarshal(doc, &p))
	if p.Surface != confirm.SurfacePasskey {
		return doc
	}
	require.NoError(t, json.Unmarshal(p.Evidence, &v))
	require.NoError(t, json.Unmarshal(v.Signed, &s))
	change(&s)
	var err error
	v.Signed, err = json.Marshal(s)
	require.NoError(t, err)
	p.Evidence, err = json.Marshal(v)
	require.NoError(t, err)
	doc, err = json.Marshal(p)
	require.NoError(t, err)
	return doc
}

// TestAKeyThatSomebodyPutIntoTheDatabaseProvesNothing: neither a new row, nor an edited one, nor one that was removed and restored.
func TestAKeyThatSomebodyPutIntoTheDatabaseProvesNothing(t *testing.T) {
	h := enrolling(t)
	k, forged := h.first(), softkey.New(t)
	require.NoError(t, h.store.Keys().Add(t.Context(), forged.Enrolled("mine")))
	c := h.loosen()
	require.ErrorIs(t, h.settle(c, by(forged)).Err, enrolled.ErrUnproven)
	require.Contains(t, h.keys()[1].Why, "its enrolment is not in the audit log")

	mine := h.keys()[0]
	swapped := mine.Key
	swapped.Public = forged.Public()
	require.NoError(t, h.store.Keys().Remove(t.Context(), mine.ID))
	require.NoError(t, h.store.Keys().Add(t.Context(), swapped))
	for _, s := range h.keys() {
		assert.False(t, s.Counts, s.Name)
	}
	require.NoError(t, h.store.Keys().Remove(t.Context(), swapped.ID()))
	require.NoError(t, h.store.Keys().Add(t.Context(), mine.Key))
	require.NoError(t, h.settle(c, by(k)).Err, "as it was enrolled")

	require.NoError(t, h.settle(byHand("remove_key", `{"id":"`+mine.ID+`"}`), by(k)).Err)
	require.NoError(t, h.store.Keys().Add(t.Context(), mine.Key))
	i := h.asked(h.loosenAgain())
	_, err := h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "x", Proof: k.Proof(i.PlanHash, i.ID)})
	require.ErrorIs(t, err, enrolled.ErrUnproven)
	assert.Contains(t, err.Error(), "it was removed and then added again outside Countersign")
	require.NoError(t, h.settle(byHand("enroll_key", string(k.Input("laptop"))), given(person.AtTerminal)).Err, "enrolled again, it counts again")
	_, err = h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "x", Proof: k.Proof(i.PlanHash, i.ID)})
	require.NoError(t, err)
}

// TestTheSystemsFileClearsALostPasskey: then the next one is a first one again.
func TestTheSystemsFileClearsALostPasskey(t *testing.T) {
	k := softkey.New(t)
	lost := k.Enrolled("laptop")
	lost.Owner = "local"
	h := enrolling(t, func(o *app.Options) { o.Forgotten = []string{lost.ID()} })
	require.NoError(t, h.settle(byHand("enroll_key", string(k.Input("laptop"))), given(person.AtTerminal)).Err)
	require.Equal(t, lost.ID(), h.keys()[0].ID)
	assert.Contains(t, h.keys()[0].Why, "the system's file")
	require.ErrorIs(t, h.settle(h.loosen(), by(k)).Err, enrolled.ErrUnproven)
	require.NoError(t, h.settle(byHand("enroll_key", string(softkey.New(t).Input("new"))), given(person.AtTerminal)).Err)
}

// TestWhereKeysAreEnrolled: a policy that requires a passkey for high risk allows the first one, and if clients approve, there are none.
func TestWhereKeysAreEnrolled(t *testing.T) {
	h := enrolling(t, func(o *app.Options) {
		o.Policy.Require = map[string]policy.Proving{policy.RequireHigh: policy.ProvingPasskey, policy.RequireType: policy.ProvingPasskey}
	})
	h.first()
	caller := enrolling(t, func(o *app.Options) { *o = person.ByCaller(*o) })
	o := caller.Call(t.Context(), byHand("enroll_key", string(softkey.New(t).Input("x"))))
	require.ErrorIs(t, o.Err, control.ErrKeysByCaller)
	require.Nil(t, o.Request)
	for name, args := range map[string]string{"security key": strings.Replace(string(softkey.New(t).Input("x")), `"passkey"`, `"security_key"`, 1), "name": string(softkey.New(t).Input("a\x07")),
		"address": strings.Replace(string(softkey.New(t).Input("x")), `"localhost"`, `"127.0.0.1"`, 1)} {
		require.ErrorIs(t, h.Call(t.Context(), byHand("enroll_key", args)).Err, enrolled.ErrKey, name)
	}
	require.ErrorIs(t, h.Call(t.Context(), byHand("remove_key", `{"id":"ek_none"}`)).Err, enrolled.ErrMissing)
}

// TestMoreIsRequiredSince: an approval from before policy required more is no longer enough, and the call asks again.
func TestMoreIsRequiredSince(t *testing.T) {
	h := enrolling(t)
	k, row := h.first(), softkey.New(t).Enrolled("somebody's")
	require.NoError(t, h.store.Keys().Add(t.Context(), row))
	c := byHand("remove_key", `{"id":"`+row.ID()+`"}`)
	i := h.asked(c)
	_, err := h.Answer(t.Context(), confirm.Decision{ID: i.ID, Approve: true, By: "console", Proof: atConsole})
	require.NoError(t, err)
	person.Settings(t, h.App, func(s *app.Settings) error {
		s.Require = map[string]policy.Proving{"remove_key": policy.ProvingPasskey}
		return nil
	})
	waiting := c
	waiting.ApprovalDigest = i.Digest
	require.ErrorIs(t, h.Call(t.Context(), waiting).Err, confirm.ErrPending)
	now := h.asked(c)
	assert.NotEqual(t, i.ID, now.ID)
	assert.Equal(t, policy.ProvingPasskey, now.Needs)
	require.NoError(t, h.settle(c, by(k)).Err)
	require.Len(t, h.keys(), 1)
}
