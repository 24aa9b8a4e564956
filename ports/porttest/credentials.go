package porttest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// Exchangers is how many use one log-in at once.
const Exchangers = 16

// Credential returns the nth token of a test. Every field is set but EndedAt; credentials are made a second apart.
func Credential(n int) access.Credential {
	at := issued.Add(time.Duration(n) * time.Second)
	return access.Credential{
		ID: fmt.Sprintf("key_%08d", n), Kind: access.Token, Name: fmt.Sprintf("token %d – für alle", n),
		Scope:     access.Scope{Toolsets: []string{"packs", "deployments"}, ReadOnly: true, Ceiling: policy.Plan},
		CreatedAt: at, ExpiresAt: at.Add(time.Hour), UsedAt: at.Add(time.Minute), Digest: access.DigestOf(fmt.Sprint("secret ", n)),
	}
}

// LogIn returns the nth one-time log-in of a test.
func LogIn(n int) access.Credential {
	c := Credential(n)
	c.Kind, c.Name, c.UsedAt = access.Login, "console", time.Time{}
	return c
}

// Credentials runs the contract of ports.Credentials.
func Credentials(t *testing.T, open func(testing.TB) ports.Credentials) {
	for name, test := range map[string]func(*testing.T, ports.Credentials){
		"EmptyKnowsNothing":       credentialsEmpty,
		"KeepsEveryField":         credentialsKeep,
		"RefusesDoubles":          credentialsDoubles,
		"NamesOfTokensAreUnique":  credentialsNames,
		"OneExchangeWins":         credentialsContention,
		"NoLostChange":            credentialsChanges,
		"FailureStoresNothing":    credentialsFailure,
		"IdentityCannotChange":    credentialsIdentity,
		"PanicStoresNothing":      credentialsPanic,
		"RefusesUnwritable":       credentialsUnwritable,
		"CopiesNotAliases":        credentialsCopies,
		"OldestFirst":             credentialsOrder,
		"FindSeesEveryChange":     credentialsFresh,
		"PurgeForgetsWhatIsGone":  credentialsPurge,
		"EndedContextDoesNothing": credentialsContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func addCredentials(t testing.TB, s ports.Credentials, all ...access.Credential) {
	t.Helper()
	for _, c := range all {
		require.NoError(t, s.Add(t.Context(), c))
	}
}

func findCredential(t testing.TB, s ports.Credentials, c access.Credential) access.Credential {
	t.Helper()
	got, err := s.Find(t.Context(), c.Digest)
	require.NoError(t, err)
	return got
}

func listCredentials(t testing.TB, s ports.Credentials) []access.Credential {
	t.Helper()
	all, err := s.List(t.Context())
	require.NoError(t, err)
	return all
}

func credentialsEmpty(t *testing.T, s ports.Credentials) {
	for range 2 {
		_, err := s.Find(t.Context(), Credential(1).Digest)
		require.ErrorIs(t, err, access.ErrUnknown)
		_, err = s.Find(t.Context(), access.Digest{})
		require.ErrorIs(t, err, access.ErrUnknown)
	}
	_, err := s.Change(t.Context(), "key_1", func(*access.Credential) error { t.Error("there is nothing to change"); return nil })
	require.ErrorIs(t, err, access.ErrMissing)
	assert.Empty(t, listCredentials(t, s))
	n, err := s.Purge(t.Context(), issued.Add(time.Hour))
	require.NoError(t, err)
	assert.Zero(t, n)
}

func credentialsKeep(t *testing.T, s ports.Credentials) {
	full, bare, far := Credential(1), access.Credential{ID: "key_bare", Kind: access.Browser, Name: "b", Digest: access.DigestOf("bare")}, LogIn(2)
	full.EndedAt = issued.Add(time.Hour)
	zone := time.FixedZone("far", -7*3600)
	far.CreatedAt, far.ExpiresAt = far.CreatedAt.In(zone), far.ExpiresAt.In(zone)
	addCredentials(t, s, full, bare, far)
	far = LogIn(2)
	for _, want := range []access.Credential{full, bare, far} {
		assert.Equal(t, want, findCredential(t, s, want))
		changed, err := s.Change(t.Context(), want.ID, func(c *access.Credential) error {
			assert.Equal(t, want, *c)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, want, changed)
	}
	assert.Equal(t, []access.Credential{bare, full, far}, listCredentials(t, s))
}

func credentialsDoubles(t *testing.T, s ports.Credentials) {
	first, second := LogIn(1), LogIn(2)
	addCredentials(t, s, first)
	sameID := second
	sameID.ID = first.ID
	require.ErrorIs(t, s.Add(t.Context(), sameID), access.ErrTaken)
	sameDigest := second
	sameDigest.Digest = first.Digest
	require.ErrorIs(t, s.Add(t.Context(), sameDigest), access.ErrTaken)
	addCredentials(t, s, second) // what was refused left nothing behind
	assert.Equal(t, []access.Credential{first, second}, listCredentials(t, s))
}

func credentialsNames(t *testing.T, s ports.Credentials) {
	named := func(n int, kind access.Kind) access.Credential {
		c := Credential(n)
		c.Kind, c.Name = kind, "ci"
		return c
	}
	addCredentials(t, s, named(1, access.Token))
	err := s.Add(t.Context(), named(2, access.Token))
	require.ErrorIs(t, err, access.ErrTaken)
	assert.ErrorContains(t, err, `"ci"`)
	addCredentials(t, s, named(3, access.Login), named(4, access.Login), named(5, access.Browser), named(6, access.Browser))
	end := func(n int) {
		_, err := s.Change(t.Context(), Credential(n).ID, func(c *access.Credential) error { c.Revoke(issued); return nil })
		require.NoError(t, err)
	}
	end(1)
	addCredentials(t, s, named(7, access.Token))
	other := Credential(8)
	other.Name = "CI"
	addCredentials(t, s, other)
	_, err = s.Change(t.Context(), other.ID, func(c *access.Credential) error { c.Name = "ci"; return nil })
	require.ErrorIs(t, err, access.ErrTaken, "a name is not taken later either")
	assert.Equal(t, other, findCredential(t, s, other))
	end(7)
	addCredentials(t, s, named(9, access.Token))
}

func credentialsContention(t *testing.T, s ports.Credentials) {
	for n := range 5 {
		addCredentials(t, s, LogIn(n))
		var won, used atomic.Int64
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range Exchangers {
			wg.Go(func() {
				<-start
				c, err := s.Find(t.Context(), LogIn(n).Digest)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Change(t.Context(), c.ID, func(c *access.Credential) error { return c.Use(c.CreatedAt.Add(time.Second)) })
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, access.ErrUsed):
					used.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		assert.Equal(t, int64(1), won.Load())
		assert.Equal(t, int64(Exchangers-1), used.Load())
	}
}

func credentialsChanges(t *testing.T, s ports.Credentials) {
	addCredentials(t, s, Credential(1))
	var wg sync.WaitGroup
	for range Exchangers {
		wg.Go(func() {
			for range 5 {
				_, err := s.Change(t.Context(), Credential(1).ID, func(c *access.Credential) error {
					c.UsedAt = c.UsedAt.Add(time.Second)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, Credential(1).UsedAt.Add(5*Exchangers*time.Second), findCredential(t, s, Credential(1)).UsedAt)
}

func credentialsFailure(t *testing.T, s ports.Credentials) {
	addCredentials(t, s, Credential(1))
	no := errors.New("no")
	_, err := s.Change(t.Context(), Credential(1).ID, func(c *access.Credential) error { c.Revoke(issued); return no })
	require.ErrorIs(t, err, no)
	assert.Equal(t, Credential(1), findCredential(t, s, Credential(1)))
}

func credentialsIdentity(t *testing.T, s ports.Credentials) {
	addCredentials(t, s, Credential(1), Credential(2))
	changed, err := s.Change(t.Context(), Credential(1).ID, func(c *access.Credential) error {
		c.ID, c.Kind, c.Digest = Credential(2).ID, access.Browser, Credential(2).Digest
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, Credential(1), changed)
	assert.Equal(t, []access.Credential{Credential(1), Credential(2)}, listCredentials(t, s))
}

func credentialsPanic(t *testing.T, s ports.Credentials) {
	addCredentials(t, s, Credential(1))
	assert.PanicsWithValue(t, "oh", func() {
		_, _ = s.Change(t.Context(), Credential(1).ID, func(c *access.Credential) error { c.Revoke(issued); panic("oh") })
	})
	assert.Equal(t, Credential(1), findCredential(t, s, Credential(1)))
	_, err := s.Change(t.Context(), Credential(1).ID, func(c *access.Credential) error { c.Revoke(issued); return nil })
	require.NoError(t, err, "a panic leaves no lock behind")
}

func credentialsUnwritable(t *testing.T, s ports.Credentials) {
	wrong := Credential(1)
	wrong.Scope.Ceiling = 99
	require.ErrorIs(t, s.Add(t.Context(), wrong), policy.ErrWord)
	addCredentials(t, s, Credential(1))
	_, err := s.Change(t.Context(), wrong.ID, func(c *access.Credential) error { c.Scope.Ceiling = 99; return nil })
	require.ErrorIs(t, err, policy.ErrWord)
	assert.Equal(t, []access.Credential{Credential(1)}, listCredentials(t, s))
}

func credentialsCopies(t *testing.T, s ports.Credentials) {
	given := Credential(1)
	addCredentials(t, s, given)
	given.Scope.Toolsets[0] = "other"
	for range 3 {
		got := findCredential(t, s, given)
		require.Equal(t, Credential(1), got)
		got.Scope.Toolsets[0] = "other"
		all := listCredentials(t, s)
		require.Equal(t, []access.Credential{Credential(1)}, all)
		all[0].Scope.Toolsets[0] = "other"
		var kept *access.Credential
		changed, err := s.Change(t.Context(), given.ID, func(c *access.Credential) error { kept = c; return nil })
		require.NoError(t, err)
		require.Equal(t, Credential(1), changed)
		changed.Scope.Toolsets[0], kept.Scope.Toolsets[0] = "other", "other"
	}
}

func credentialsOrder(t *testing.T, s ports.Credentials) {
	var want []access.Credential
	for _, n := range []int{5, 3, 9, 1, 7} {
		addCredentials(t, s, Credential(n))
	}
	for _, n := range []int{1, 3, 5, 7, 9} {
		want = append(want, Credential(n))
	}
	assert.Equal(t, want, listCredentials(t, s))
}

// credentialsFresh checks that Find returns what is stored now, whatever it caches.
func credentialsFresh(t *testing.T, s ports.Credentials) {
	_, err := s.Find(t.Context(), Credential(1).Digest)
	require.ErrorIs(t, err, access.ErrUnknown)
	addCredentials(t, s, Credential(1))
	for n := range 5 {
		want := Credential(1)
		want.UsedAt = issued.Add(time.Duration(n) * time.Hour)
		_, err := s.Change(t.Context(), want.ID, func(c *access.Credential) error { c.UsedAt = want.UsedAt; return nil })
		require.NoError(t, err)
		for range 2 {
			assert.Equal(t, want, findCredential(t, s, want))
		}
	}
	_, err = s.Change(t.Context(), Credential(1).ID, func(c *access.Credential) error { c.Revoke(issued); return nil })
	require.NoError(t, err)
	assert.Equal(t, issued, findCredential(t, s, Credential(1)).EndedAt)
	_, err = s.Purge(t.Context(), issued.Add(time.Nanosecond))
	require.NoError(t, err)
	_, err = s.Find(t.Context(), Credential(1).Digest)
	require.ErrorIs(t, err, access.ErrUnknown)
}

func credentialsPurge(t *testing.T, s ports.Credentials) {
	ended, expires, forever, both := Credential(1), Credential(2), Credential(3), Credential(4)
	ended.ExpiresAt, ended.EndedAt = time.Time{}, issued.Add(time.Minute)
	expires.ExpiresAt = issued.Add(2 * time.Minute)
	forever.ExpiresAt = time.Time{}
	both.EndedAt, both.ExpiresAt = issued.Add(3*time.Minute), issued.Add(9*time.Minute)
	addCredentials(t, s, ended, expires, forever, both)
	for _, c := range []struct {
		before time.Duration
		gone   int
		left   []access.Credential
	}{
		{time.Minute, 0, []access.Credential{ended, expires, forever, both}},
		{time.Minute + 1, 1, []access.Credential{expires, forever, both}},
		{2 * time.Minute, 0, []access.Credential{expires, forever, both}},
		{3*time.Minute + 1, 2, []access.Credential{forever}},
		{1000 * time.Hour, 0, []access.Credential{forever}},
	} {
		n, err := s.Purge(t.Context(), issued.Add(c.before))
		require.NoError(t, err)
		assert.Equal(t, c.gone, n)
		assert.Equal(t, c.left, listCredentials(t, s))
	}
}

func credentialsContext(t *testing.T, s ports.Credentials) {
	require.Error(t, s.Add(ended(t), Credential(1)))
	assert.Empty(t, listCredentials(t, s))
	addCredentials(t, s, Credential(1))
	_, err := s.Find(ended(t), Credential(1).Digest)
	require.ErrorContains(t, err, "canceled")
	_, err = s.Change(ended(t), Credential(1).ID, func(c *access.Credential) error { c.Revoke(issued); return nil })
	require.Error(t, err)
	_, err = s.List(ended(t))
	require.Error(t, err)
	_, err = s.Purge(ended(t), issued.Add(1000*time.Hour))
	require.Error(t, err)
	assert.Equal(t, []access.Credential{Credential(1)}, listCredentials(t, s))
}

// BenchmarkCredentials measures Find while nothing changes, which happens before every request.
func BenchmarkCredentials(b *testing.B, open func(testing.TB) ports.Credentials) {
	s := open(b)
	for n := range 20 {
		addCredentials(b, s, Credential(n))
	}
	known := Credential(7).Digest
	b.Run("Find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Find(b.Context(), known); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("FindNothing", func(b *testing.B) {
		unknown := access.DigestOf("unknown")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Find(b.Context(), unknown); !errors.Is(err, access.ErrUnknown) {
				b.Fatal(err)
			}
		}
	})
}
