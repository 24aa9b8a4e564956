package app_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/ids"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
)

// rig is a keeper over a store in memory, at a time that obeys.
type rig struct {
	*app.Credentials
	clock *clock.Fake
	store *memstore.Store
	log   *bytes.Buffer
}

func openCredentials(change func(*app.CredentialsConfig)) rig {
	r := rig{clock: &clock.Fake{}, store: memstore.New(), log: &bytes.Buffer{}}
	p := app.CredentialsConfig{Credentials: r.store.Credentials(), Clock: r.clock, IDs: &ids.Sequence{}, Audit: r.store,
		Log: slog.New(slog.NewTextHandler(r.log, nil))}
	if change != nil {
		change(&p)
	}
	r.Credentials = app.NewCredentials(p)
	return r
}

func (r rig) issue(t *testing.T, kind access.Kind, name, secret string) access.Credential {
	t.Helper()
	c, err := r.Issue(t.Context(), "terminal", access.Credential{Kind: kind, Name: name, Digest: access.DigestOf(secret)})
	require.NoError(t, err)
	return c
}

func (r rig) events(t *testing.T) []audit.Event {
	t.Helper()
	records, err := r.store.Records(t.Context(), 0, 0)
	require.NoError(t, err)
	var all []audit.Event
	for _, record := range records {
		all = append(all, record.Event)
	}
	return all
}

func TestATokenFromItsIssueToItsEnd(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	scope := access.Scope{Toolsets: []string{"packs"}, ReadOnly: true, Ceiling: policy.Plan}
	made, err := r.Issue(t.Context(), "terminal", access.Credential{ID: "mine", Kind: access.Token, Name: "ci", Scope: scope, Digest: access.DigestOf("s"),
		ExpiresAt: clock.Epoch.Add(time.Hour), EndedAt: clock.Epoch, UsedAt: clock.Epoch})
	require.NoError(t, err)
	assert.Equal(t, access.Credential{ID: "key_aaaaaaaaab", Kind: access.Token, Name: "ci", Scope: scope, CreatedAt: clock.Epoch,
		ExpiresAt: clock.Epoch.Add(time.Hour), Digest: access.DigestOf("s")}, made)

	r.clock.Advance(time.Hour - 1)
	in, err := r.Admit(t.Context(), access.Token, access.DigestOf("s"))
	require.NoError(t, err)
	assert.Equal(t, made.ID, in.ID)
	assert.Equal(t, scope, in.Scope)
	r.clock.Advance(1)
	_, err = r.Admit(t.Context(), access.Token, access.DigestOf("s"))
	require.ErrorIs(t, err, access.ErrExpired)
	live, err := r.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, live)
}

func TestOnlyItsOwnKindLetsIn(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	kinds := []access.Kind{access.Token, access.Login, access.Browser}
	for _, kind := range kinds {
		r.issue(t, kind, "a", kind.String())
	}
	for _, asked := range append(kinds, 0, 9) {
		for _, is := range kinds {
			_, err := r.Admit(t.Context(), asked, access.DigestOf(is.String()))
			if asked == is && is != access.Login {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, access.ErrUnknown, "%v as %v", is, asked)
			}
		}
		_, err := r.Admit(t.Context(), asked, access.DigestOf("nobody's"))
		require.ErrorIs(t, err, access.ErrUnknown)
	}
	for _, is := range []string{"token", "browser", "nobody's"} {
		_, err := r.Exchange(t.Context(), access.DigestOf(is), access.DigestOf("new"))
		require.ErrorIs(t, err, access.ErrUnknown, is)
	}
}

func TestOneBrowserALogIn(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	login, err := r.Issue(t.Context(), "terminal", access.Credential{Kind: access.Login, Name: "console", Scope: access.Scope{ReadOnly: true},
		Digest: access.DigestOf("code"), ExpiresAt: clock.Epoch.Add(1000 * time.Hour)})
	require.NoError(t, err)
	assert.Equal(t, clock.Epoch.Add(access.LoginTTL), login.ExpiresAt, "nobody makes one that lasts longer")
	r.clock.Advance(access.LoginTTL - 1)
	var won atomic.Int64
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			c, err := r.Exchange(t.Context(), access.DigestOf("code"), access.DigestOf(string(rune('a'+n))))
			if err == nil {
				won.Add(1)
				assert.Equal(t, access.Browser, c.Kind)
				assert.Equal(t, access.Scope{ReadOnly: true}, c.Scope, "a browser is let in as far as its log-in said")
				assert.Equal(t, r.clock.Now().Add(access.BrowserTTL), c.ExpiresAt)
			} else {
				assert.ErrorIs(t, err, access.ErrUsed)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, int64(1), won.Load())
	live, err := r.List(t.Context())
	require.NoError(t, err)
	require.Len(t, live, 1)
	assert.Equal(t, access.Browser, live[0].Kind)
	r.clock.Advance(time.Hour)
	_, err = r.Exchange(t.Context(), access.DigestOf("code"), access.DigestOf("late"))
	require.ErrorIs(t, err, access.ErrUsed)
}

func TestALogInExpires(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	r.issue(t, access.Login, "console", "code")
	r.clock.Advance(access.LoginTTL)
	_, err := r.Exchange(t.Context(), access.DigestOf("code"), access.DigestOf("b"))
	require.ErrorIs(t, err, access.ErrExpired)
}

func TestABrowserThatIsUsedStays(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	r.issue(t, access.Login, "console", "code")
	_, err := r.Exchange(t.Context(), access.DigestOf("code"), access.DigestOf("b"))
	require.NoError(t, err)
	hours := 0
	for ; hours < 10*24; hours += 11 {
		if _, err = r.Admit(t.Context(), access.Browser, access.DigestOf("b")); err != nil {
			break
		}
		r.clock.Advance(11 * time.Hour)
	}
	require.ErrorIs(t, err, access.ErrExpired)
	assert.Greater(t, hours, 6*24, "idle for less than twelve hours each time")
	assert.LessOrEqual(t, hours, 7*24+11, "a week is the most")

	r.issue(t, access.Login, "console", "other code")
	_, err = r.Exchange(t.Context(), access.DigestOf("other code"), access.DigestOf("idle"))
	require.NoError(t, err)
	r.clock.Advance(access.BrowserIdle)
	_, err = r.Admit(t.Context(), access.Browser, access.DigestOf("idle"))
	require.ErrorIs(t, err, access.ErrExpired)
}

func TestRevoked(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	ci, other := r.issue(t, access.Token, "ci", "1"), r.issue(t, access.Token, "other", "2")
	browser := r.issue(t, access.Browser, "ci", "3")
	gone, err := r.Revoke(t.Context(), "terminal", "ci")
	require.NoError(t, err)
	assert.Equal(t, ci.ID, gone.ID, "a name is a token's")
	assert.Equal(t, clock.Epoch, gone.EndedAt)
	_, err = r.Admit(t.Context(), access.Token, access.DigestOf("1"))
	require.ErrorIs(t, err, access.ErrUnknown)
	_, err = r.Revoke(t.Context(), "terminal", "ci")
	require.ErrorIs(t, err, access.ErrMissing)
	again := r.issue(t, access.Token, "ci", "4")
	assert.NotEqual(t, ci.ID, again.ID)
	_, err = r.Revoke(t.Context(), "terminal", browser.ID)
	require.NoError(t, err)
	_, err = r.Admit(t.Context(), access.Browser, access.DigestOf("3"))
	require.ErrorIs(t, err, access.ErrUnknown)
	r.issue(t, access.Token, other.ID, "5")
	gone, err = r.Revoke(t.Context(), "terminal", other.ID)
	require.NoError(t, err)
	assert.Equal(t, other.Name, gone.Name, "an id goes before a name that looks like it")
	_, err = r.Revoke(t.Context(), "terminal", "nothing of that name")
	require.ErrorIs(t, err, access.ErrMissing)
	for _, which := range []string{"", " "} {
		_, err = r.Revoke(t.Context(), "terminal", which)
		require.ErrorIs(t, err, access.ErrMissing)
	}
}

func TestAnExpiredTokenGivesItsNameUp(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	_, err := r.Issue(t.Context(), "terminal", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("1"), ExpiresAt: clock.Epoch.Add(time.Hour)})
	require.NoError(t, err)
	r.clock.Advance(time.Hour - 1)
	_, err = r.Issue(t.Context(), "terminal", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("2")})
	require.ErrorIs(t, err, access.ErrTaken)
	assert.Equal(t, "credential_exists", r.events(t)[2].Code, "the audit knows that this one was not made")
	r.clock.Advance(1)
	r.issue(t, access.Token, "ci", "3")
	_, err = r.Issue(t.Context(), "terminal", access.Credential{Kind: access.Browser, Name: "x", Digest: access.DigestOf("3")})
	require.ErrorIs(t, err, access.ErrTaken, "and no digest twice")
}

func TestWhatIsRefusedIsNotStored(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	_, err := r.Issue(t.Context(), "terminal", access.Credential{Kind: access.Token, Name: ""})
	require.ErrorIs(t, err, access.ErrName)
	_, err = r.Issue(t.Context(), "terminal", access.Credential{Name: "ci"})
	require.ErrorIs(t, err, access.ErrKind)
	assert.Empty(t, r.events(t))
	all, err := r.store.Credentials().List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
}

func TestTheAuditKnowsOfEachAndOfNoSecret(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	r.issue(t, access.Token, "ci", "the secret")
	r.issue(t, access.Login, "console", "code")
	_, err := r.Exchange(t.Context(), access.DigestOf("code"), access.DigestOf("b"))
	require.NoError(t, err)
	_, err = r.Revoke(t.Context(), "ann", "ci")
	require.NoError(t, err)
	var said [][]string
	for _, e := range r.events(t) {
		said = append(said, []string{string(e.Phase), e.Tool, e.Verdict, e.ApprovedBy, e.CallID})
		assert.NotContains(t, string(e.Args), access.DigestOf("the secret").String())
		assert.NotContains(t, string(e.Args), "the secret")
	}
	assert.Equal(t, [][]string{
		{"answer", "access", "issue", "terminal", "key_aaaaaaaaab"},
		{"answer", "access", "issue", "terminal", "key_aaaaaaaaac"},
		{"answer", "access", "issue", "login", "key_aaaaaaaaad"},
		{"answer", "access", "revoke", "ann", "key_aaaaaaaaab"},
	}, said)
}

// credentialsMute is an audit that cannot be written.
type credentialsMute struct{ ports.AuditLog }

func (credentialsMute) Append(context.Context, ...audit.Event) error {
	return fault.ErrUnavailable.WithMessage("the disk is full")
}

func TestNothingIsMadeOrEndedUnaudited(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	kept := r.issue(t, access.Token, "ci", "1")
	r.Credentials = app.NewCredentials(app.CredentialsConfig{Credentials: r.store.Credentials(), Clock: r.clock, IDs: &ids.Sequence{}, Audit: credentialsMute{}, Log: r.Log})
	_, err := r.Issue(t.Context(), "terminal", access.Credential{Kind: access.Token, Name: "other", Digest: access.DigestOf("2")})
	require.ErrorContains(t, err, "full")
	_, err = r.Revoke(t.Context(), "terminal", "ci")
	require.ErrorContains(t, err, "full")
	all, err := r.store.Credentials().List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []access.Credential{kept}, all)
}

func TestOldCredentialsAreForgotten(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	r.issue(t, access.Login, "console", "code")
	r.issue(t, access.Token, "ci", "1")
	_, err := r.Revoke(t.Context(), "terminal", "ci")
	require.NoError(t, err)
	r.issue(t, access.Token, "stays", "2")
	left := func() int {
		all, err := r.store.Credentials().List(t.Context())
		require.NoError(t, err)
		return len(all)
	}
	r.clock.Advance(7 * 24 * time.Hour)
	r.issue(t, access.Token, "a", "3")
	assert.Equal(t, 4, left())
	r.clock.Advance(1)
	r.issue(t, access.Token, "b", "4")
	assert.Equal(t, 4, left(), "the revoked one is gone")
	r.clock.Advance(access.LoginTTL)
	r.issue(t, access.Token, "c", "5")
	assert.Equal(t, 4, left(), "and the log-in")
}

// credentialsCounting is a store of credentials that counts how often one is changed, and can refuse to.
type credentialsCounting struct {
	ports.Credentials
	changes atomic.Int64
	fail    error
}

func (c *credentialsCounting) Change(ctx context.Context, id string, change func(*access.Credential) error) (access.Credential, error) {
	c.changes.Add(1)
	if c.fail != nil {
		return access.Credential{}, c.fail
	}
	return c.Credentials.Change(ctx, id, change)
}

// TestUsesAreNotedOnceAMinute: also where many requests come at once.
func TestUsesAreNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	var store *credentialsCounting
	r := openCredentials(func(p *app.CredentialsConfig) {
		store = &credentialsCounting{Credentials: p.Credentials}
		p.Credentials = store
	})
	made := r.issue(t, access.Token, "ci", "1")
	admit := func() {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				_, err := r.Admit(t.Context(), access.Token, made.Digest)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
	}
	for minute := range 3 {
		admit()
		r.clock.Advance(access.UseNoted - 1)
		admit()
		assert.Equal(t, int64(minute+1), store.changes.Load())
		r.clock.Advance(1)
	}
	now, err := r.store.Credentials().Find(t.Context(), made.Digest)
	require.NoError(t, err)
	assert.Equal(t, clock.Epoch.Add(2*access.UseNoted), now.UsedAt)
}

// TestAStoreThatCannotBeWrittenLetsPeopleIn: its complaint is logged, and the next try is a minute away.
func TestAStoreThatCannotBeWrittenLetsPeopleIn(t *testing.T) {
	t.Parallel()
	var store *credentialsCounting
	r := openCredentials(func(p *app.CredentialsConfig) {
		store = &credentialsCounting{Credentials: p.Credentials}
		p.Credentials = store
	})
	made := r.issue(t, access.Token, "ci", "1")
	store.fail = errors.New("the disk is full")
	for range 10 {
		_, err := r.Admit(t.Context(), access.Token, made.Digest)
		require.NoError(t, err)
	}
	assert.Equal(t, int64(1), store.changes.Load())
	assert.Contains(t, r.log.String(), "the disk is full")
	r.clock.Advance(access.UseNoted)
	store.fail = access.ErrUnknown // it was revoked between looking and noting
	_, err := r.Admit(t.Context(), access.Token, made.Digest)
	require.ErrorIs(t, err, access.ErrUnknown)
	r.clock.Advance(access.UseNoted)
	store.fail = access.ErrMissing // and forgotten
	_, err = r.Admit(t.Context(), access.Token, made.Digest)
	require.ErrorIs(t, err, access.ErrUnknown)
}

func TestListIsWhatIsGood(t *testing.T) {
	t.Parallel()
	r := openCredentials(nil)
	r.issue(t, access.Token, "first", "1")
	r.clock.Advance(time.Second)
	r.issue(t, access.Login, "console", "2")
	r.clock.Advance(time.Second)
	r.issue(t, access.Browser, "console", "3")
	r.issue(t, access.Token, "revoked", "4")
	_, err := r.Revoke(t.Context(), "terminal", "revoked")
	require.NoError(t, err)
	names := func() (out []string) {
		live, err := r.List(t.Context())
		require.NoError(t, err)
		for _, c := range live {
			out = append(out, c.Kind.String()+" "+c.Name)
		}
		return out
	}
	assert.Equal(t, []string{"token first", "login console", "browser console"}, names())
	r.clock.Advance(access.BrowserIdle)
	assert.Equal(t, []string{"token first"}, names())
}
