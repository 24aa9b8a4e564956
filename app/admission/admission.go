// Package admission lets in what arrives over a network: it makes, knows, notes and revokes credentials, and has the audit know of each.
//
// It refuses to know requests and secrets: who makes a credential keeps its secret and shows the digest.
package admission

import (
	"context"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// auditTool is the name under which credentials stand in the audit. It is no tool: only people make and revoke them.
const auditTool = "access"

// kept is how long a credential that opens nothing any more is remembered.
const kept = 7 * 24 * time.Hour

// Parts is what a Keeper works with. Every field is required.
type Parts struct {
	Credentials ports.Credentials
	Clock       ports.Clock
	IDs         ports.IDs
	Audit       ports.AuditLog
	Log         *slog.Logger
}

// Keeper keeps credentials. It is safe for concurrent use; New makes it.
type Keeper struct{ Parts }

// New is a keeper of those credentials. It opens nothing.
func New(p Parts) *Keeper { return &Keeper{p} }

// Issue stores a new credential of that kind, name, scope, digest and expiry, and returns it with its id. A log-in lasts access.LoginTTL. by is who
// asks ("terminal"). It fails with access.ErrName, access.ErrKind and access.ErrTaken.
func (k *Keeper) Issue(ctx context.Context, by string, c access.Credential) (access.Credential, error) {
	now := k.Clock.Now()
	c.ID, c.CreatedAt, c.UsedAt, c.EndedAt = k.IDs.NewID("key_", 10), now, time.Time{}, time.Time{}
	if c.Kind == access.Login {
		c.ExpiresAt = now.Add(access.LoginTTL)
	}
	if err := c.Valid(); err != nil {
		return access.Credential{}, err
	}
	if err := k.record(ctx, "issue", by, c); err != nil {
		return access.Credential{}, err
	}
	if err := k.Credentials.Add(ctx, c); err != nil {
		return access.Credential{}, err
	}
	if _, err := k.Credentials.Purge(ctx, now.Add(-kept)); err != nil {
		k.Log.Warn("old credentials could not be forgotten", "cause", err.Error())
	}
	return c, nil
}

// Admit is the credential of that digest and kind, as long as it is good, and notes that it is used. It fails with access.ErrUnknown and
// access.ErrExpired. A log-in is not let in: Exchange takes it.
func (k *Keeper) Admit(ctx context.Context, kind access.Kind, d access.Digest) (access.Credential, error) {
	c, err := k.Credentials.Find(ctx, d)
	if err != nil {
		return access.Credential{}, err
	}
	if c.Kind != kind || kind == access.Login {
		return access.Credential{}, access.ErrUnknown
	}
	now := k.Clock.Now()
	if err := c.Live(now); err != nil {
		return access.Credential{}, err
	}
	if c.Stale(now) {
		if _, err := k.Credentials.Change(ctx, c.ID, func(c *access.Credential) error { return c.Use(now) }); err != nil && fault.From(err).Kind == fault.Denied {
			return access.Credential{}, err // it was revoked just now
		} else if err != nil {
			k.Log.Warn("the use of a credential could not be noted", "credential", c.ID, "cause", err.Error())
		}
	}
	return c, nil
}

// Exchange uses up the log-in of one digest for a browser's credential of another. Of all that try with one log-in, exactly one succeeds. It fails
// with access.ErrUnknown, access.ErrUsed and access.ErrExpired.
func (k *Keeper) Exchange(ctx context.Context, login, browser access.Digest) (access.Credential, error) {
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

// Revoke ends the credential of that id, or the token of that name. by is who asks. It fails with access.ErrMissing.
func (k *Keeper) Revoke(ctx context.Context, by, which string) (access.Credential, error) {
	all, err := k.Credentials.List(ctx)
	if err != nil {
		return access.Credential{}, err
	}
	for _, c := range all {
		if c.ID != which && (c.Kind != access.Token || c.Name != which || !c.EndedAt.IsZero()) {
			continue
		}
		if err := k.record(ctx, "revoke", by, c); err != nil {
			return access.Credential{}, err
		}
		now := k.Clock.Now()
		return k.Credentials.Change(ctx, c.ID, func(c *access.Credential) error { c.Revoke(now); return nil })
	}
	return access.Credential{}, access.ErrMissing.Sayf("there is no credential %q", which)
}

// List is the credentials that are good, oldest first.
func (k *Keeper) List(ctx context.Context) ([]access.Credential, error) {
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

// record has the audit know of a credential before anything is done with it.
func (k *Keeper) record(ctx context.Context, verdict, by string, c access.Credential) error {
	args, err := tool.Encode(c)
	if err != nil {
		return err
	}
	return k.Audit.Append(ctx, audit.Event{Time: k.Clock.Now(), Phase: audit.Answer, CallID: c.ID, Tool: auditTool, Args: args, Verdict: verdict, ApprovedBy: by})
}
