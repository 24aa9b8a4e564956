package control

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Credentials issues, lists and revokes credentials; *app.Credentials implements it.
type Credentials interface {
	Issue(ctx context.Context, by string, c access.Credential) (access.Credential, error)
	List(ctx context.Context) ([]access.Credential, error)
}

// CreateCredential creates an access token or a one-time login link for a browser. Only users may call it, and it always needs an approval.
var CreateCredential = tool.Ref[access.Request, access.Credential]{Name: "create_credential"}

// credentialSpec claims only a read, so that users can log in to a read-only server: the credential is Countersign's own, and in the audit log before
// it is created.
func credentialSpec() tool.Spec {
	return tool.Spec{Title: "Create a credential", Description: "Let a program or a browser in over the network; a person approves it first.", Class: policy.ClassScratch,
		Effects: policy.Read, Human: policy.Preview, Input: json.RawMessage(credentialSchema), UserOnly: true}
}

// credentialPlan is the plan to create a credential.
type credentialPlan struct {
	Opens     string       `json:"opens"`
	Name      string       `json:"name"`
	Kind      access.Kind  `json:"kind"`
	Scope     access.Scope `json:"scope"`
	ExpiresAt time.Time    `json:"expires_at,omitzero"`
	Digest    string       `json:"digest_sha256"`
	require   policy.Proving
	digest    access.Digest
}

// Hash covers everything that is stored.
func (p credentialPlan) Hash() canon.Hash {
	sum, err := canon.Sum("credential.plan.v1", p)
	if err != nil { // words and times always have a form
		return canon.Hash{}
	}
	return sum
}

// Assessment requires an approval. An access token has high risk, because it stays valid.
func (p credentialPlan) Assessment() policy.Assessment {
	a := policy.Assessment{Strength: policy.Preview, Human: policy.Preview, Risk: policy.RiskMedium}
	if p.Kind == access.Token {
		a.Risk = policy.RiskHigh
	}
	return a
}

// Insists requires an approval whatever grants exist.
func (p credentialPlan) Insists() bool { return true }

// Needs requires a decision at a terminal or in a logged-in browser, and for an access token the strongest proof that policy requires for anything. A login
// link does not pass where more than a browser is required, so a user who lost a passkey can still log in.
func (p credentialPlan) Needs() policy.Proving { return max(policy.ProvingPerson, p.require) }

// Prompt says what is created; a row of the plan says what that makes possible.
func (p credentialPlan) Prompt() string {
	if p.Kind == access.Login {
		return "log a browser in to the console"
	}
	return "make a token for " + p.Name
}

// Announcement reports a new credential: its holder acts in the user's name.
func (p credentialPlan) Announcement() string {
	if p.Kind == access.Login {
		return "a link was made that logs a browser in to the console, where calls are approved"
	}
	return "a token was made for " + notice.PlainName(p.Name) + ", with which a program calls tools"
}

func (s service) planCredential(ctx context.Context, sc tool.Scope, in access.Request) (credentialPlan, error) {
	if sc.Narrow || sc.Principal.Ceiling != policy.ModeUnset && sc.Principal.Ceiling != policy.Execute {
		return credentialPlan{}, ErrNarrow
	}
	c := access.Credential{Name: in.Name, Scope: access.Scope{Toolsets: slices.Clone(in.Toolsets), ReadOnly: in.ReadOnly}, ExpiresAt: in.ExpiresAt.UTC().Round(0)}
	if err := c.Kind.UnmarshalText([]byte(in.Kind)); err != nil {
		return credentialPlan{}, err
	}
	if err := c.Scope.Ceiling.UnmarshalText([]byte(in.MaxMode)); err != nil {
		return credentialPlan{}, err
	}
	if c.Kind == access.Browser {
		return credentialPlan{}, access.ErrKind.WithMessage("a browser is let in by a log-in, not by hand")
	}
	if err := c.Valid(); err != nil {
		return credentialPlan{}, err
	}
	if n, err := hex.Decode(c.Digest[:], []byte(in.Digest)); err != nil || n != len(c.Digest) || len(in.Digest) != 2*len(c.Digest) {
		return credentialPlan{}, tool.ErrArguments.WithMessage("digest is no digest: %d hex digits, of the secret that stays with you", 2*len(c.Digest))
	}
	now := s.Clock.Now()
	if c.Kind == access.Login && !c.ExpiresAt.IsZero() || !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt) {
		return credentialPlan{}, tool.ErrArguments.WithMessage("expires_at has to be in the future, and a log-in takes none: it lasts %s", access.LoginTTL)
	}
	there, err := s.Credentials.List(ctx)
	if err != nil {
		return credentialPlan{}, err
	}
	if c.Kind == access.Token && slices.ContainsFunc(there, func(have access.Credential) bool { return have.Holds(c.Name) && have.Live(now) == nil }) {
		return credentialPlan{}, access.ErrTaken.WithMessage("there is a token %q already; revoke it, or choose another name", c.Name)
	}
	rules, err := s.required(ctx)
	if err != nil {
		return credentialPlan{}, err
	}
	p := credentialPlan{Name: c.Name, Kind: c.Kind, Scope: c.Scope, ExpiresAt: c.ExpiresAt, Digest: c.Digest.String(), digest: c.Digest, Opens: opens(c, rules.Approval.ByCaller())}
	if c.Kind == access.Token {
		p.require = strongest(rules)
	}
	return p, nil
}

// required returns the policy in force.
func (s service) required(ctx context.Context) (policy.Resolved, error) {
	set, err := s.Settings.Load(ctx)
	if err != nil {
		return policy.Resolved{}, err
	}
	return s.rules(ctx, set)
}

// strongest returns the strongest proof that policy requires for any call.
func strongest(r policy.Resolved) policy.Proving {
	most := policy.ProvingNone
	for _, needs := range r.Require {
		most = max(most, needs)
	}
	return most
}

// opens describes in a sentence what the credential permits.
func opens(c access.Credential, byCaller bool) string {
	if c.Kind == access.Login {
		return fmt.Sprintf("whoever opens the link first, within %d minutes, approves and changes settings in your name for up to %d days",
			int(access.LoginTTL.Minutes()), int(access.BrowserTTL.Hours()/24))
	}
	what := "every tool that is served"
	if len(c.Scope.Toolsets) > 0 {
		what = "the tools of " + strings.Join(c.Scope.Toolsets, ", ")
	}
	if c.Scope.ReadOnly {
		what += ", only to read"
	}
	if c.Scope.Ceiling != policy.ModeUnset {
		what += ", up to mode " + c.Scope.Ceiling.String()
	}
	until := "until it is revoked"
	if !c.ExpiresAt.IsZero() {
		until = "until " + c.ExpiresAt.Format(time.RFC3339)
	}
	asks := "what needs a person still asks one"
	if byCaller {
		asks = "no person is asked: it approves its own plans"
	}
	return fmt.Sprintf("whoever has it calls %s, %s; %s", what, until, asks)
}

func (s service) createCredential(ctx context.Context, sc tool.Scope, p credentialPlan) (access.Credential, error) {
	return s.Credentials.Issue(ctx, "call "+sc.CallID, access.Credential{Kind: p.Kind, Name: p.Name, Scope: p.Scope, ExpiresAt: p.ExpiresAt, Digest: p.digest})
}
