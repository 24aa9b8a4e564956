package access_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

var made = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

func after(d time.Duration) time.Time { return made.Add(d) }

func TestLive(t *testing.T) {
	t.Parallel()
	ends := after(time.Hour)
	for name, c := range map[string]struct {
		is   access.Credential
		at   time.Time
		want error
	}{
		"nothing":                            {access.Credential{}, made, access.ErrUnknown},
		"a kind that does not exist":         {access.Credential{Kind: 9}, made, access.ErrUnknown},
		"a token":                            {access.Credential{Kind: access.Token}, after(1000 * time.Hour), nil},
		"a token, a moment before its end":   {access.Credential{Kind: access.Token, ExpiresAt: ends}, ends.Add(-1), nil},
		"a token at its end":                 {access.Credential{Kind: access.Token, ExpiresAt: ends}, ends, access.ErrExpired},
		"a revoked token":                    {access.Credential{Kind: access.Token, EndedAt: made}, made, access.ErrUnknown},
		"a revoked token that has expired":   {access.Credential{Kind: access.Token, EndedAt: made, ExpiresAt: made}, ends, access.ErrUnknown},
		"a log-in":                           {access.Credential{Kind: access.Login, ExpiresAt: ends}, ends.Add(-1), nil},
		"a log-in at its end":                {access.Credential{Kind: access.Login, ExpiresAt: ends}, ends, access.ErrExpired},
		"a log-in that was used":             {access.Credential{Kind: access.Login, ExpiresAt: ends, EndedAt: made}, after(1), access.ErrUsed},
		"a used log-in after its end":        {access.Credential{Kind: access.Login, ExpiresAt: ends, EndedAt: made}, ends, access.ErrUsed},
		"a browser nobody used":              {access.Credential{Kind: access.Browser, CreatedAt: made}, after(access.BrowserIdle - 1), nil},
		"a browser idle since it was made":   {access.Credential{Kind: access.Browser, CreatedAt: made}, after(access.BrowserIdle), access.ErrExpired},
		"a browser in use":                   {access.Credential{Kind: access.Browser, CreatedAt: made, UsedAt: after(access.BrowserIdle)}, after(2*access.BrowserIdle - 1), nil},
		"a browser idle since it was used":   {access.Credential{Kind: access.Browser, CreatedAt: made, UsedAt: after(access.BrowserIdle)}, after(2 * access.BrowserIdle), access.ErrExpired},
		"a browser however busy":             {access.Credential{Kind: access.Browser, CreatedAt: made, UsedAt: after(access.BrowserTTL), ExpiresAt: after(access.BrowserTTL)}, after(access.BrowserTTL), access.ErrExpired},
		"a browser whose person logged out":  {access.Credential{Kind: access.Browser, CreatedAt: made, EndedAt: made}, made, access.ErrUnknown},
		"a browser before it was made":       {access.Credential{Kind: access.Browser, CreatedAt: made}, after(-time.Hour), nil},
		"a token that was not used for ages": {access.Credential{Kind: access.Token, CreatedAt: made, UsedAt: made}, after(1000 * time.Hour), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.is.Live(c.at); c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestALogInIsGoodOnce(t *testing.T) {
	t.Parallel()
	c := access.Credential{Kind: access.Login, CreatedAt: made, ExpiresAt: after(access.LoginTTL)}
	require.NoError(t, c.Use(after(time.Second)))
	assert.Equal(t, after(time.Second), c.UsedAt)
	was := c
	require.ErrorIs(t, c.Use(after(2*time.Second)), access.ErrUsed)
	assert.Equal(t, was, c, "a refusal leaves no trace")
}

func TestOthersAreUsedOften(t *testing.T) {
	t.Parallel()
	c := access.Credential{Kind: access.Token, CreatedAt: made}
	for n := range 3 {
		require.NoError(t, c.Use(after(time.Duration(n)*time.Hour)))
	}
	assert.Equal(t, after(2*time.Hour), c.UsedAt)
	assert.Zero(t, c.EndedAt)
	c.Revoke(after(3 * time.Hour))
	c.Revoke(after(4 * time.Hour))
	assert.Equal(t, after(3*time.Hour), c.EndedAt, "the first end counts")
	require.ErrorIs(t, c.Use(after(5*time.Hour)), access.ErrUnknown)
	assert.Equal(t, after(2*time.Hour), c.UsedAt)
}

func TestWhichUsesAreNoted(t *testing.T) {
	t.Parallel()
	c := access.Credential{Kind: access.Token, CreatedAt: made}
	assert.True(t, c.Stale(after(1)), "the first one is")
	c.UsedAt = after(time.Hour)
	assert.False(t, c.Stale(after(time.Hour+access.UseNoted-1)))
	assert.True(t, c.Stale(after(time.Hour+access.UseNoted)))
}

func TestGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		is   access.Credential
		gone bool
	}{
		"good for ever":    {access.Credential{}, false},
		"ends now":         {access.Credential{ExpiresAt: made}, false},
		"ended now":        {access.Credential{EndedAt: made}, false},
		"expired before":   {access.Credential{ExpiresAt: after(-1)}, true},
		"ended before":     {access.Credential{EndedAt: after(-1), ExpiresAt: after(1)}, true},
		"expires later":    {access.Credential{ExpiresAt: after(1)}, false},
		"idle, not at end": {access.Credential{Kind: access.Browser, CreatedAt: after(-1000 * time.Hour)}, false},
	} {
		assert.Equal(t, c.gone, c.is.Gone(made), name)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ci", "My laptop", "für CI – 東京", "x", strings.Repeat("ü", access.MaxName), "key_1", "a: b"} {
		require.NoError(t, (&access.Credential{Kind: access.Token, Name: name}).Valid(), name)
	}
	for _, name := range []string{"", " ", " ci", "ci ", "a\nb", "a\x00b", "a\tb", "\x1b[31m", "a\u202eb", "\xff", strings.Repeat("x", access.MaxName+1), "a\u00a0b"} {
		require.ErrorIs(t, (&access.Credential{Kind: access.Token, Name: name}).Valid(), access.ErrName, "%q", name)
	}
	for _, kind := range []access.Kind{0, 4, 255} {
		require.ErrorIs(t, (&access.Credential{Kind: kind, Name: "ci"}).Valid(), access.ErrKind)
	}
}

func TestATokenHoldsItsName(t *testing.T) {
	t.Parallel()
	c := access.Credential{Kind: access.Token, Name: "ci"}
	assert.True(t, c.Holds("ci"))
	assert.False(t, c.Holds("CI"))
	c.Revoke(made)
	assert.False(t, c.Holds("ci"))
	assert.False(t, (&access.Credential{Kind: access.Browser, Name: "ci"}).Holds("ci"))
}

func TestKindsInWords(t *testing.T) {
	t.Parallel()
	for _, kind := range []access.Kind{access.Token, access.Login, access.Browser} {
		text, err := kind.MarshalText()
		require.NoError(t, err)
		var back access.Kind
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, kind, back)
	}
	for _, word := range []string{"", "Token", "guest"} {
		require.ErrorIs(t, new(access.Kind).UnmarshalText([]byte(word)), access.ErrKind, word)
	}
	assert.Empty(t, access.Kind(200).String())
}

func TestDigests(t *testing.T) {
	t.Parallel()
	assert.Equal(t, access.DigestOf("a"), access.DigestOf("a"))
	assert.NotEqual(t, access.DigestOf("a"), access.DigestOf("b"))
	assert.NotEqual(t, access.DigestOf(""), access.Digest{})
	assert.Regexp(t, "^[0-9a-f]{64}$", access.DigestOf("a").String())
}

// TestWrittenAndRead: a credential is stored as JSON, without its digest.
func TestWrittenAndRead(t *testing.T) {
	t.Parallel()
	c := access.Credential{ID: "key_1", Kind: access.Token, Name: "ci", Scope: access.Scope{Toolsets: []string{"packs"}, ReadOnly: true, Ceiling: policy.Plan},
		CreatedAt: made, ExpiresAt: after(1), UsedAt: after(2), EndedAt: after(3), Digest: access.DigestOf("secret")}
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), c.Digest.String())
	var back access.Credential
	require.NoError(t, json.Unmarshal(raw, &back))
	want := c
	want.Digest = access.Digest{}
	assert.Equal(t, want, back)
	raw, err = json.Marshal(access.Credential{Kind: access.Login, CreatedAt: made})
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"","kind":"login","name":"","scope":{},"created_at":"2026-03-04T05:06:07.000000008Z"}`, string(raw))
}

func TestCopies(t *testing.T) {
	t.Parallel()
	c := access.Credential{Scope: access.Scope{Toolsets: []string{"packs"}}, CreatedAt: made.In(time.FixedZone("far", 3600))}
	other := c.Copy()
	other.Scope.Toolsets[0] = "projects"
	assert.Equal(t, []string{"packs"}, c.Scope.Toolsets)
	assert.Equal(t, made, other.CreatedAt)
}

func TestScopesNarrow(t *testing.T) {
	t.Parallel()
	assert.Equal(t, tool.Restriction{}, access.Scope{Ceiling: policy.Ask}.Narrowing(), "a mode is no tool")
	n := access.Scope{Toolsets: []string{"packs"}, ReadOnly: true}.Narrowing()
	assert.True(t, n.Covers(tool.Spec{Name: "output", Toolset: "packs", Class: policy.ClassRead}))
	assert.False(t, n.Covers(tool.Spec{Name: "input", Toolset: "packs", Class: policy.ClassWrite}))
	assert.False(t, n.Covers(tool.Spec{Name: "status", Toolset: "deployments", Class: policy.ClassRead}))
}
