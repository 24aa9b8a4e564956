package httpauth_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/policy"
)

// mute is an answer that nobody reads.
type mute struct{ head http.Header }

func (m mute) Header() http.Header         { return m.head }
func (m mute) Write(p []byte) (int, error) { return len(p), nil }
func (m mute) WriteHeader(int)             {}

// guarded returns a guard over a real database.
func guarded(t testing.TB) (*httpauth.Guard, *app.Credentials) {
	store := sqlitestore.Open(filepath.Join(t.TempDir(), "countersign.db"))
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	k := app.NewCredentials(app.CredentialsConfig{Credentials: sqlitestore.NewCredentials(store), Clock: system.Clock{}, IDs: system.IDs{}, Audit: store, Log: slog.New(slog.DiscardHandler)})
	return httpauth.NewGuard(httpauth.Options{Credentials: k, Owner: policy.Principal{ID: "local", Grants: policy.All}}), k
}

// cost returns what the guard adds to one request.
func cost(t testing.TB) func() {
	g, k := guarded(t)
	secret := httpauth.Secret(httpauth.TokenPrefix)
	_, err := k.Issue(t.Context(), "test", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf(secret), Scope: access.Scope{Toolsets: []string{"packs"}}})
	require.NoError(t, err)
	let := false
	h := g.Middleware(g.RequireToken(func(http.ResponseWriter, *http.Request, httpauth.Identity) { let = true }))
	q := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8317/mcp", nil)
	q.Header.Set("Authorization", "Bearer "+secret)
	w := mute{http.Header{}}
	ask := func() { h.ServeHTTP(w, q) }
	ask()
	require.True(t, let)
	return ask
}

func BenchmarkGuard(b *testing.B) {
	ask := cost(b)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

func BenchmarkGuardParallel(b *testing.B) {
	g, k := guarded(b)
	secret := httpauth.Secret(httpauth.TokenPrefix)
	_, err := k.Issue(b.Context(), "test", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf(secret)})
	require.NoError(b, err)
	h := g.Middleware(g.RequireToken(func(http.ResponseWriter, *http.Request, httpauth.Identity) {}))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		q := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8317/mcp", nil)
		q.Header.Set("Authorization", "Bearer "+secret)
		for w := (mute{http.Header{}}); pb.Next(); {
			h.ServeHTTP(w, q)
		}
	})
}

// garbage is how many allocations a request may cost in front of its handler.
const garbage = 32.0

// TestTheGuardLeavesLittleBehind: it stands before every request, so it makes little garbage. How long it takes is BenchmarkGuard's to say.
func TestTheGuardLeavesLittleBehind(t *testing.T) {
	ask := cost(t)
	require.LessOrEqual(t, testing.AllocsPerRun(1000, ask), garbage)
}
