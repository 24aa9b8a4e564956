package httpauth_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

func noEnd() time.Time { return time.Time{} }

func TestAProgramReachesAsFarAsItsToken(t *testing.T) {
	t.Parallel()
	r := open(t)
	agent := head{"User-Agent", "robot/1.2 \tfür alle " + strings.Repeat("x", 200)}
	got := r.ask(t, http.MethodPost, "/tool", `{"a":1}`, bearer(r.token(t, "ci", access.Scope{}, noEnd())), agent).seen(t)
	assert.Equal(t, policy.Principal{ID: "token:ci", Grants: policy.All}, got.Principal)
	assert.Equal(t, got.Credential, got.Session, "modes and grants of one token are never another's")
	assert.Regexp(t, "^key_[a-z2-7]{10}$", got.Credential)
	assert.Equal(t, `{"a":1}`, got.Body)
	assert.False(t, got.Person)
	assert.Zero(t, got.Proof)
	assert.Empty(t, got.Form)
	assert.Empty(t, got.Toolsets)
	assert.True(t, strings.HasPrefix(got.Client, "robot/1.2 für alle xxx"), got.Client)
	assert.LessOrEqual(t, len(got.Client), 120)

	narrow := access.Scope{Toolsets: []string{"packs", "projects"}, ReadOnly: true, Ceiling: policy.Plan}
	got = r.ask(t, http.MethodGet, "/any", "", bearer(r.token(t, "narrow", narrow, noEnd()))).seen(t)
	assert.Equal(t, policy.Principal{ID: "token:narrow", Grants: app.ReadOnlyPermissions, Ceiling: policy.Plan}, got.Principal)
	assert.Equal(t, narrow.Toolsets, got.Toolsets)
	assert.True(t, got.ReadOnly)
}

func TestNobodyReachesFurtherThanTheOperator(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.guard.Owner.Grants = app.ReadOnlyPermissions })
	assert.Equal(t, app.ReadOnlyPermissions, r.ask(t, http.MethodGet, "/tool", "", bearer(r.token(t, "ci", access.Scope{}, noEnd()))).seen(t).Principal.Grants)
	assert.Equal(t, app.ReadOnlyPermissions, r.ask(t, http.MethodGet, "/page", "", r.browser(t, access.Scope{})).seen(t).Principal.Grants)
}

// TestWhoHasNoTokenGetsNothing: and is told how to get one, but no more.
func TestWhoHasNoTokenGetsNothing(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	cookie := r.browser(t, access.Scope{})
	for name, c := range map[string]struct {
		path  string
		heads []head
		code  string
	}{
		"nothing":                 {"/tool", nil, "credential_missing"},
		"nothing, either may":     {"/any", nil, "credential_missing"},
		"an empty token":          {"/tool", []head{{"Authorization", "Bearer "}}, "credential_missing"},
		"the scheme alone":        {"/tool", []head{{"Authorization", "Bearer"}}, "credential_missing"},
		"another scheme":          {"/tool", []head{{"Authorization", "Basic " + secret}}, "credential_missing"},
		"no scheme":               {"/tool", []head{{"Authorization", secret}}, "credential_missing"},
		"two headers":             {"/tool", []head{bearer(secret), bearer(secret)}, "credential_missing"},
		"a very long one":         {"/tool", []head{bearer(strings.Repeat("x", 4096))}, "credential_missing"},
		"an unknown token":        {"/tool", []head{bearer(httpauth.Secret(httpauth.TokenPrefix))}, "credential_unknown"},
		"one character less":      {"/tool", []head{bearer(secret[:len(secret)-1])}, "credential_unknown"},
		"one character more":      {"/tool", []head{bearer(secret + "x")}, "credential_unknown"},
		"other capitals":          {"/tool", []head{bearer(strings.ToUpper(secret))}, "credential_unknown"},
		"in the URL":              {"/tool?access_token=" + secret, nil, "credential_missing"},
		"a cookie":                {"/tool", []head{cookie}, "credential_missing"},
		"a cookie's secret":       {"/tool", []head{bearer(strings.SplitN(cookie.value, "=", 2)[1])}, "credential_unknown"},
		"a cookie beside a wrong": {"/any", []head{cookie, bearer("wrong")}, "credential_unknown"},
		"a token on a page":       {"/page", []head{bearer(secret)}, "credential_missing"},
		"the digest":              {"/tool", []head{bearer(access.DigestOf(secret).String())}, "credential_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			res := r.ask(t, http.MethodPost, c.path, "{}", c.heads...)
			assert.Equal(t, http.StatusUnauthorized, res.StatusCode)
			assert.Equal(t, c.code, res.code(), res.body)
			assert.Equal(t, "application/json", res.Header.Get("Content-Type"))
			assert.Contains(t, res.Header.Get("WWW-Authenticate"), `Bearer realm="countersign"`)
			assert.Equal(t, c.code == "credential_unknown", strings.Contains(res.Header.Get("WWW-Authenticate"), `error="invalid_token"`))
			assert.NotContains(t, res.body, secret)
		})
	}
	assert.Contains(t, r.ask(t, http.MethodGet, "/tool", "").body, "countersign token create NAME")
	assert.Contains(t, r.ask(t, http.MethodGet, "/tool?access_token="+secret, "").body, "revoke this one")
	assert.NotContains(t, r.ask(t, http.MethodGet, "/tool?q=docs_of_something", "").body, "revoked")
	assert.NotContains(t, r.log.String(), secret)
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/tool", "", head{"Authorization", "bearer   " + secret}).StatusCode, "schemes have no case")
	assert.Equal(t, "local", r.ask(t, http.MethodGet, "/any", "", cookie).seen(t).Principal.ID)
}

func TestATokenExpiresToTheMoment(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := r.token(t, "ci", access.Scope{}, clock.Epoch.Add(time.Hour))
	r.clock.Advance(time.Hour - 1)
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/tool", "", bearer(secret)).StatusCode)
	r.clock.Advance(1)
	res := r.ask(t, http.MethodGet, "/tool", "", bearer(secret))
	assert.Equal(t, http.StatusUnauthorized, res.StatusCode)
	assert.Equal(t, "credential_expired", res.code())
}

// TestRevokedWhileConnected: on a connection that is open already, and in the middle of a stream.
func TestRevokedWhileConnected(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.server.Grace = time.Hour })
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	other := r.token(t, "other", access.Scope{}, noEnd())
	for _, s := range []string{secret, other} {
		r.stream(t.Context(), bearer(s))
	}
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/tool", "", bearer(secret)).StatusCode)
	_, err := r.keeper.Revoke(t.Context(), "terminal", "ci")
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, r.ask(t, http.MethodGet, "/tool", "", bearer(secret)).StatusCode)
	<-r.ended // its stream
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/tool", "", bearer(other)).StatusCode)
	select {
	case <-r.ended:
		t.Error("the other's stream ended as well")
	default:
	}
	r.stop() // which waits for no stream
	<-r.ended
}

func TestAStreamExpiresWithItsCredential(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.stream(t.Context(), bearer(r.token(t, "ci", access.Scope{}, clock.Epoch.Add(time.Hour))))
	r.clock.Advance(time.Hour)
	<-r.ended
}

// TestWrongCredentialsAreJudgedSlowly: those that are good are let in meanwhile.
func TestWrongCredentialsAreJudgedSlowly(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.guard.Limits.Failures = 0 }) // the default
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	statuses := map[int]int{}
	try := func() {
		for range 20 {
			res := r.ask(t, http.MethodGet, "/tool", "", bearer("wrong"))
			statuses[res.StatusCode]++
			if res.StatusCode == http.StatusTooManyRequests {
				assert.Equal(t, "1", res.Header.Get("Retry-After"))
				assert.Equal(t, "credential_attempts_exceeded", res.code())
			}
		}
		assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/tool", "", bearer(secret)).StatusCode)
	}
	try()
	assert.Equal(t, map[int]int{http.StatusUnauthorized: 10, http.StatusTooManyRequests: 10}, statuses)
	r.clock.Advance(time.Second)
	try()
	assert.Equal(t, map[int]int{http.StatusUnauthorized: 15, http.StatusTooManyRequests: 25}, statuses, "five a second")
	res := r.ask(t, http.MethodPost, "/login", "code=wrong", r.ours()...)
	assert.Equal(t, http.StatusTooManyRequests, res.StatusCode, "log-ins too")
	assert.LessOrEqual(t, strings.Count(r.log.String(), "credential_unknown"), 15, "nobody fills the log")
	assert.Equal(t, http.StatusUnauthorized, r.ask(t, http.MethodGet, "/tool", "").StatusCode, "who shows nothing is no guesser")
}

func TestSoManyRequestsAtOnceOfOneCredential(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.guard.Limits.InFlight = 3 })
	secret, other := r.token(t, "ci", access.Scope{}, noEnd()), r.token(t, "other", access.Scope{}, noEnd())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 3 {
		r.stream(ctx, bearer(secret))
	}
	res := r.ask(t, http.MethodGet, "/tool", "", bearer(secret))
	assert.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	assert.Equal(t, "requests_exceeded", res.code())
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/tool", "", bearer(other)).StatusCode)
	cancel()
	require.Eventually(t, func() bool { return r.ask(t, http.MethodGet, "/tool", "", bearer(secret)).StatusCode == http.StatusOK }, time.Minute, 5*time.Millisecond)
}

// gone is a store of credentials that cannot be read.
type gone struct{ httpauth.Credentials }

func (gone) Admit(context.Context, access.Kind, access.Digest) (access.Credential, error) {
	return access.Credential{}, fault.New(fault.Unavailable, "store_unavailable", "the database is unavailable")
}

func TestAStoreThatCannotBeReadLetsNobodyIn(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.guard.Credentials = gone{s.guard.Credentials} })
	res := r.ask(t, http.MethodGet, "/tool", "", bearer("x"))
	assert.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	assert.Equal(t, "store_unavailable", res.code())
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/healthz", "").StatusCode)
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	res := r.ask(t, http.MethodGet, "/boom", "", bearer(secret))
	assert.Equal(t, http.StatusInternalServerError, res.StatusCode)
	assert.Equal(t, "internal", res.code())
	assert.NotContains(t, res.body, "oh")
	assert.Contains(t, r.log.String(), `panic=oh`)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url("/boom?late"), nil)
	require.NoError(t, err)
	q.Header.Set("Authorization", "Bearer "+secret)
	late, err := r.client.Do(q)
	require.NoError(t, err)
	defer late.Body.Close()
	_, err = bufio.NewReader(late.Body).ReadString('\n')
	require.ErrorContains(t, err, "unexpected EOF", "half an answer does not look like a whole one")
	assert.Equal(t, http.StatusOK, r.ask(t, http.MethodGet, "/tool", "", bearer(secret)).StatusCode)
}

func TestAVisitorsCalls(t *testing.T) {
	t.Parallel()
	v := httpauth.Identity{Principal: policy.Principal{ID: "token:ci"}, Session: "s", Client: "c", Person: true, Within: []tool.Restriction{{ReadOnly: true}}}
	assert.Equal(t, tool.Call{Session: "s", Client: "c", Principal: v.Principal, FromUser: true, Restrictions: v.Within, Tool: "status", Args: []byte("{}")}, v.Call("status", []byte("{}")))
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for range 100 {
		s := httpauth.Secret(httpauth.TokenPrefix)
		assert.Regexp(t, `^cs_[A-Za-z0-9_-]{43}$`, s)
		assert.False(t, known[s])
		known[s] = true
	}
}
