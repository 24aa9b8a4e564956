package sqlitestore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func storeAt(t testing.TB, path string) *sqlitestore.Store {
	s := sqlitestore.Open(path)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func openAccess(t testing.TB) ports.Credentials {
	return sqlitestore.NewCredentials(storeAt(t, filepath.Join(t.TempDir(), "home", "countersign.db")))
}

func TestCredentials(t *testing.T) { porttest.Credentials(t, openAccess) }

func BenchmarkCredentials(b *testing.B) { porttest.BenchmarkCredentials(b, openAccess) }

// TestReadsMakeNoDatabase: looking for what is not there leaves no file.
func TestReadsMakeNoDatabase(t *testing.T) {
	dir := t.TempDir()
	s := sqlitestore.NewCredentials(storeAt(t, filepath.Join(dir, "countersign.db")))
	_, err := s.Find(t.Context(), porttest.Credential(1).Digest)
	require.ErrorIs(t, err, access.ErrUnknown)
	_, err = s.List(t.Context())
	require.NoError(t, err)
	_, err = s.Change(t.Context(), "key_1", func(*access.Credential) error { return nil })
	require.ErrorIs(t, err, access.ErrMissing)
	_, err = s.Purge(t.Context(), time.Now())
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// TestOneProcessSeesTheOthers: two stores of one database, as two processes have it. A revocation counts with the next request.
func TestOneProcessSeesTheOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	one, other := sqlitestore.NewCredentials(storeAt(t, path)), sqlitestore.NewCredentials(storeAt(t, path))
	c := porttest.Credential(1)
	_, err := other.Find(t.Context(), c.Digest)
	require.ErrorIs(t, err, access.ErrUnknown)
	require.NoError(t, one.Add(t.Context(), c))
	for n := range 20 {
		got, err := other.Find(t.Context(), c.Digest)
		require.NoError(t, err)
		require.Equal(t, c, got)
		c.UsedAt = c.UsedAt.Add(time.Duration(n+1) * time.Second)
		_, err = one.Change(t.Context(), c.ID, func(have *access.Credential) error { have.UsedAt = c.UsedAt; return nil })
		require.NoError(t, err)
	}
	_, err = one.Change(t.Context(), c.ID, func(c *access.Credential) error { c.Revoke(c.UsedAt); return nil })
	require.NoError(t, err)
	got, err := other.Find(t.Context(), c.Digest)
	require.NoError(t, err)
	assert.False(t, got.EndedAt.IsZero())
}

// TestOneExchangeWinsAcrossProcesses: of all that use one log-in at once, on two handles, exactly one succeeds.
func TestOneExchangeWinsAcrossProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	handles := []*sqlitestore.Credentials{sqlitestore.NewCredentials(storeAt(t, path)), sqlitestore.NewCredentials(storeAt(t, path))}
	for n := range 5 {
		login := porttest.LogIn(n)
		require.NoError(t, handles[n%2].Add(t.Context(), login))
		var won, used atomic.Int64
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range porttest.Exchangers {
			wg.Go(func() {
				<-start
				_, err := handles[i%2].Change(t.Context(), login.ID, func(c *access.Credential) error { return c.Use(c.CreatedAt.Add(time.Second)) })
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
		assert.Equal(t, []int64{1, porttest.Exchangers - 1}, []int64{won.Load(), used.Load()})
	}
}

// TestItSurvivesReopening: everything is there for the next process.
func TestItSurvivesReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	first := sqlitestore.Open(path)
	want := []access.Credential{porttest.Credential(1), porttest.LogIn(2)}
	for _, c := range want {
		require.NoError(t, sqlitestore.NewCredentials(first).Add(t.Context(), c))
	}
	require.NoError(t, first.Close())
	again := sqlitestore.NewCredentials(storeAt(t, path))
	all, err := again.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, all)
	got, err := again.Find(t.Context(), want[0].Digest)
	require.NoError(t, err)
	assert.Equal(t, want[0], got)
}

// TestADatabaseThatWasReplacedIsNotRemembered: what the old one knew lets nobody in, though the new one has seen as many changes.
func TestADatabaseThatWasReplacedIsNotRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	s := sqlitestore.NewCredentials(storeAt(t, path))
	require.NoError(t, s.Add(t.Context(), porttest.LogIn(1)))
	_, err := s.Find(t.Context(), porttest.LogIn(1).Digest)
	require.NoError(t, err)
	for _, file := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.Rename(path+file, path+".old"+file))
	}
	require.NoError(t, s.Add(t.Context(), porttest.LogIn(2)), "a database that was taken away is made anew")
	_, err = s.Find(t.Context(), porttest.LogIn(1).Digest)
	require.ErrorIs(t, err, access.ErrUnknown)
	_, err = s.Find(t.Context(), porttest.LogIn(2).Digest)
	require.NoError(t, err)
}

// TestSecretsAreNowhere: what lets in is in no file.
func TestSecretsAreNowhere(t *testing.T) {
	dir := t.TempDir()
	s := storeAt(t, filepath.Join(dir, "countersign.db"))
	c := porttest.Credential(7)
	c.Digest = access.DigestOf("cs_the-secret-itself")
	require.NoError(t, sqlitestore.NewCredentials(s).Add(t.Context(), c))
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, "countersign.db"+suffix))
		require.NoError(t, err)
		assert.NotContains(t, string(content), "cs_the-secret-itself")
		if suffix == "-wal" {
			assert.Contains(t, string(content), c.ID, "this looks in the right place")
		}
	}
}

// TestTheDatabaseItselfKeepsTheEnd: whoever writes, what has ended stays ended, and of a name there is one token.
func TestTheDatabaseItselfKeepsTheEnd(t *testing.T) {
	store := storeAt(t, filepath.Join(t.TempDir(), "countersign.db"))
	s := sqlitestore.NewCredentials(store)
	say := func(query string) error {
		return store.Change(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query)
			return err
		})
	}
	used := porttest.LogIn(1)
	require.NoError(t, used.Use(used.CreatedAt))
	require.NoError(t, s.Add(t.Context(), used))
	require.NoError(t, s.Add(t.Context(), porttest.Credential(2)))
	require.Error(t, say(`UPDATE credentials SET ended_at = 0 WHERE kind = 'login'`))
	require.Error(t, say(`INSERT INTO credentials SELECT seq + 9, 'other', kind, name, zeroblob(32), 0, 0, 0, body FROM credentials WHERE kind = 'token'`))
	require.Error(t, say(`UPDATE credentials SET digest = x'00' WHERE kind = 'token'`))
	require.Error(t, say(`UPDATE credentials SET kind = 'guest' WHERE kind = 'token'`))
	require.NoError(t, say(`UPDATE credentials SET ended_at = 1 WHERE kind = 'token'`))
}

// TestALockedDatabaseLetsPeopleIn: another process that writes for long keeps nobody out, and no request waiting; log-ins wait, and are told.
func TestALockedDatabaseLetsPeopleIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	store := storeAt(t, path)
	var log bytes.Buffer
	k := app.NewCredentials(app.CredentialsConfig{Credentials: sqlitestore.NewCredentials(store), Clock: system.Clock{}, IDs: system.IDs{}, Audit: store, Log: slog.New(slog.NewTextHandler(&log, nil))})
	token, err := k.Issue(t.Context(), "test", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("1")})
	require.NoError(t, err)
	login, err := k.Issue(t.Context(), "test", access.Credential{Kind: access.Login, Name: "console", Digest: access.DigestOf("2")})
	require.NoError(t, err)

	other, err := sql.Open("sqlite", path+"?_txlock=immediate")
	require.NoError(t, err)
	defer other.Close()
	lock, err := other.Begin()
	require.NoError(t, err)
	for range 20 {
		_, err := k.Admit(t.Context(), access.Token, token.Digest)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "the use of a credential could not be recorded"), "one of them tries, and waits for a moment")
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = k.Exchange(short, login.Digest, access.DigestOf("3"))
	require.Error(t, err)
	require.NoError(t, lock.Rollback())
	_, err = k.Exchange(t.Context(), login.Digest, access.DigestOf("3"))
	require.NoError(t, err, "it was not used up")
}
