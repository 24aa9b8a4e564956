package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// auditTool is the tool name of credentials in the audit log. It is not a tool: only users create and revoke credentials.
const auditTool = "access"

// kept is how long an expired or revoked credential is remembered.
const kept = 7 * 24 * time.Hour

// noting is how long a request waits for the use of its credential to be recorded, so that a locked or full store does not keep users out.
const noting = 250 * time.Millisecond

// watched is the maximum number of credentials whose last recorded use is remembered.
const watched = 1024

// CredentialsConfig configures Credentials. Every field is required.
type CredentialsConfig struct {
	Credentials ports.Credentials
	Clock       ports.Clock
	IDs         ports.IDs
	Audit       ports.AuditLog
	Log         *slog.Logger
}

// Credentials issues, checks and revokes credentials. It is safe for concurrent use. NewCredentials makes one.
type Credentials struct {
	CredentialsConfig
	mu    sync.Mutex
	noted map[string]time.Time // when a use was last recorded or tried, by credential ID
}

// NewCredentials returns Credentials over that store. It opens nothing.
func NewCredentials(p CredentialsConfig) *Credentials {
	return &Credentials{CredentialsConfig: p, noted: map[string]time.Time{}}
}

// Issue stores a new credential and returns it with its ID. A login link is valid for access.LoginTTL. The name of an expired token can be used again. by is
// who requests it ("terminal"). It fails with access.ErrName, access.ErrKind and access.ErrTaken.
func (k *Credentials) Issue(ctx context.Context, by string, c access.Credential) (access.Credential, error) {
	now := k.Clock.Now()
	c.ID, c.CreatedAt, c.UsedAt, c.EndedAt = k.IDs.NewID("key_", 10), now, time.Time{}, time.Time{}
	if c.Kind == access.Login {
		c.ExpiresAt = now.Add(access.LoginTTL)
	}
	if err := c.Valid(); err != nil {
		return access.Credential{}, err
	}
	if err := k.record(ctx, "issue", by, c, nil); err != nil {
		return access.Credential{}, err
	}
	err := k.Credentials.Add(ctx, c)
	if errors.Is(err, access.ErrTaken) && k.released(ctx, c.Name, now) {
		err = k.Credentials.Add(ctx, c)
	}
	if err != nil {
		if unsaid := k.record(context.WithoutCancel(ctx), "issue", by, c, err); unsaid != nil {
			k.Log.Warn("the audit log has a credential that was not created", "credential", c.ID, "cause", unsaid.Error())
		}
		return access.Credential{}, err
	}
	if _, err := k.Credentials.Purge(ctx, now.Add(-kept)); err != nil {
		k.Log.Warn("old credentials could not be deleted", "cause", err.Error())
	}
	return c, nil
}

// released ends an expired token that still holds the name, and reports whether there was one.
func (k *Credentials) released(ctx context.Context, name string, now time.Time) bool {
	all, err := k.Credentials.List(ctx)
	for _, c := range all {
		if err == nil && c.Holds(name) && c.Live(now) != nil {
			_, err = k.Credentials.Change(ctx, c.ID, func(c *access.Credential) error { c.Revoke(now); return nil })
			return err == nil
		}
	}
	return false
}

// Admit returns the valid credential with that digest and kind and records its use. It fails with access.ErrUnknown and access.ErrExpired. It does not accept
// login links: use Exchange.
func (k *Credentials) Admit(ctx context.Context, kind access.Kind, d access.Digest) (access.Credential, error) {
	now := k.Clock.Now()
	c, err := k.known(ctx, kind, d, now)
	if err != nil || !c.Stale(now) || !k.turn(c.ID, now) {
		return c, err
	}
	if err := k.note(ctx, c.ID, now); err != nil {
		return access.Credential{}, err
	}
	return c, nil
}

// Still fails as Admit does without recording a use. Long requests call it to find out whether they may continue.
func (k *Credentials) Still(ctx context.Context, kind access.Kind, d access.Digest) error {
	_, err := k.known(ctx, kind, d, k.Clock.Now())
	return err
}

// known returns the credential with that digest and kind if it is valid.
func (k *Credentials) known(ctx context.Context, kind access.Kind, d access.Digest, now time.Time) (access.Credential, error) {
	c, err := k.Credentials.Find(ctx, d)
	if err == nil && (c.Kind != kind || kind == access.Login) {
		err = access.ErrUnknown
	}
	if err == nil {
		err = c.Live(now)
	}
	if err != nil {
		return access.Credential{}, err
	}
	return c, nil
}

// turn reports whether this request records the use of the credential: one request a minute does, also if recording fails.
func (k *Credentials) turn(id string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, ok := k.noted[id]; ok && now.Sub(last) < access.UseNoted && !now.Before(last) {
		return false
	}
	if len(k.noted) >= watched {
		clear(k.noted)
	}
	k.noted[id] = now
	return true
}

// note records the use of a credential. It fails if the credential is no longer valid, but not if the record cannot be written.
func (k *Credentials) note(ctx context.Context, id string, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, noting)
	defer cancel()
	_, err := k.Credentials.Change(ctx, id, func(c *access.Credential) error { return c.Use(now) })
	switch f := fault.From(err); {
	case err == nil:
		return nil
	case f.Kind == fault.Denied:
		return err // it was just revoked
	case errors.Is(err, access.ErrMissing):
		return access.ErrUnknown // and deleted
	default:
		k.Log.Warn("the use of a credential could not be recorded", "credential", id, "cause", err.Error())
		return nil
	}
}

// Exchange uses a login link, by its digest, to create a browser session with another digest. A link can be used once. It fails with access.ErrUnknown,
// access.ErrUsed and access.ErrExpired.
func (k *Credentials) Exchange(ctx context.Context, login, browser access.Digest) (access.Credential, error) {
	l, err := k.Credentials.Find(ctx, login)
	if err != nil {
		return access.Credential{}, err
	}
	if l.Kind != access.Login {
		return access.Credential{}, access.ErrUnknown
	}
	now := k.Clock.Now()
	if l, err = k.Credentials.Change(ctx, l.ID, func(c *access.Credential) error { return c.Use(now) }); err != nil {
		return access.Credential{}, err
	}
	return k.Issue(ctx, "login", access.Credential{Kind: access.Browser, Name: l.Name, Scope: l.Scope, Digest: browser, ExpiresAt: now.Add(access.BrowserTTL)})
}

// Revoke ends the credential with that ID, else the token with that name; by is who revokes it. It fails with access.ErrMissing. Revoking an ended credential
// does nothing.
func (k *Credentials) Revoke(ctx context.Context, by, which string) (access.Credential, error) {
	all, err := k.Credentials.List(ctx)
	if err != nil {
		return access.Credential{}, err
	}
	for _, meant := range []func(*access.Credential) bool{
		func(c *access.Credential) bool { return c.ID == which },
		func(c *access.Credential) bool { return c.Holds(which) },
	} {
		for i := range all {
			if meant(&all[i]) {
				return k.revoke(ctx, by, all[i])
			}
		}
	}
	return access.Credential{}, access.ErrMissing.WithMessage("credential %q not found", which)
}

func (k *Credentials) revoke(ctx context.Context, by string, c access.Credential) (access.Credential, error) {
	if err := k.record(ctx, "revoke", by, c, nil); err != nil {
		return access.Credential{}, err
	}
	now := k.Clock.Now()
	return k.Credentials.Change(ctx, c.ID, func(c *access.Credential) error { c.Revoke(now); return nil })
}

// List returns the valid credentials, oldest first.
func (k *Credentials) List(ctx context.Context) ([]access.Credential, error) {
	all, err := k.Credentials.List(ctx)
	if err != nil {
		return nil, err
	}
	now, live := k.Clock.Now(), []access.Credential{}
	for _, c := range all {
		if c.Live(now) == nil {
			live = append(live, c)
		}
	}
	return live, nil
}

// record writes an action on a credential to the audit log before it is performed, and once more if it failed.
func (k *Credentials) record(ctx context.Context, verdict, by string, c access.Credential, failed error) error {
	args, err := tool.Encode(c)
	if err != nil {
		return err
	}
	e := audit.Event{Time: k.Clock.Now(), Phase: audit.Answer, CallID: c.ID, Tool: auditTool, Args: args, Verdict: verdict, ApprovedBy: by}
	if failed != nil {
		e.Code = string(fault.From(failed).Code)
	}
	return k.Audit.Append(ctx, e)
}
