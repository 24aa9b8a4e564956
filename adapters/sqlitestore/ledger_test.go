package sqlitestore_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func grantStoreAt(t testing.TB, path string) *sqlitestore.Store {
	s := sqlitestore.Open(path)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func openGrant(t testing.TB) ports.ApprovalStore {
	return sqlitestore.NewLedger(grantStoreAt(t, filepath.Join(t.TempDir(), "home", "countersign.db")))
}

func TestLedger(t *testing.T) { porttest.Ledger(t, openGrant) }

func TestDatedGrants(t *testing.T) {
	porttest.DatedGrants(t, func(t testing.TB) ports.DatedGrants {
		return sqlitestore.NewDated(grantStoreAt(t, filepath.Join(t.TempDir(), "home", "countersign.db")))
	})
}

func BenchmarkLedger(b *testing.B) { porttest.BenchmarkLedger(b, openGrant) }

func BenchmarkIssue(b *testing.B) {
	l, n := openGrant(b), 0
	for b.Loop() {
		g, _ := porttest.Grant(n)
		require.NoError(b, l.Issue(b.Context(), g))
		n++
	}
}

// grantRaw returns the database as another program sees it.
func grantRaw(t testing.TB, path string) *sql.DB {
	t.Helper()
	file := url.URL{Scheme: "file", OmitHost: true, Path: path}
	db, err := sql.Open("sqlite", file.String()+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// grantEverything returns the bytes of the database and of its log.
func grantEverything(t testing.TB, path string) string {
	t.Helper()
	var all []byte
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		all = append(all, content...)
	}
	return string(all)
}

const secret = "hunter2-the-password"

func asking(n int) confirm.Request {
	g, _ := porttest.Grant(n)
	g.Args = json.RawMessage(`{"env":{"PASSWORD":"` + secret + `"}}`)
	return g
}

// TestArgumentsAreNowhereInClear: neither while a confirmation waits nor after any of its ends.
func TestArgumentsAreNowhereInClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	s := grantStoreAt(t, path)
	l := sqlitestore.NewLedger(s)
	ends := map[int]func(g *confirm.Request, now time.Time) error{
		1: func(g *confirm.Request, now time.Time) error { return g.Redeem(g.Binding, "work", now) },
		2: func(g *confirm.Request, now time.Time) error { return g.Deny("terminal", now) },
		3: func(g *confirm.Request, now time.Time) error { return g.Cancel(now) },
		4: func(g *confirm.Request, _ time.Time) error { g.State = confirm.Burnt; return nil },
		5: func(g *confirm.Request, now time.Time) error { return g.Approve("terminal", "work", now) },
		6: func(*confirm.Request, time.Time) error { return nil },
	}
	for n, end := range ends {
		g := asking(n)
		require.NoError(t, l.Issue(t.Context(), g))
		require.True(t, strings.Contains(grantEverything(t, path), g.ID), "this looks in the right place")
		require.NoError(t, l.Settle(t.Context(), g.Digest, func(g *confirm.Request) error { return end(g, g.IssuedAt) }))
		var args []byte
		db := grantRaw(t, path)
		require.NoError(t, db.QueryRow("SELECT args FROM grants WHERE id = ?", g.ID).Scan(&args))
		require.NoError(t, db.Close()) // else the log would stay
		assert.Equal(t, n <= 4, args == nil, "%d: kept while it can be carried out, and no longer", n)
		assert.False(t, strings.Contains(grantEverything(t, path), secret))
	}
	waiting, err := l.Pending(t.Context(), ports.PendingFilter{}, asking(1).IssuedAt)
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	assert.Equal(t, asking(5).Args, waiting[0].Args)
	_, err = l.Purge(t.Context(), asking(99).ExpiresAt)
	require.NoError(t, err)
	assert.False(t, strings.Contains(grantEverything(t, path), secret))
	require.NoError(t, s.Close())
	assert.False(t, strings.Contains(grantEverything(t, path), secret))
	assert.False(t, strings.Contains(grantEverything(t, path), asking(1).ID), "what is deleted is overwritten")
}

// TestOneLostArgumentTakesNoOtherWithIt: what was sealed for another confirmation, or under another key, cannot be carried out.
func TestOneLostArgumentTakesNoOtherWithIt(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string, db *sql.DB){
		"another row's": func(t *testing.T, _ string, db *sql.DB) {
			_, err := db.Exec(`UPDATE grants SET args = (SELECT args FROM grants WHERE id = 'cf_00000002') WHERE id = 'cf_00000001'`)
			require.NoError(t, err)
		},
		"altered": func(t *testing.T, _ string, db *sql.DB) {
			_, err := db.Exec(`UPDATE grants SET args = CAST(substr(args, 1, length(args) - 1) || CASE substr(args, -1) WHEN x'00' THEN x'01' ELSE x'00' END AS BLOB) WHERE id = 'cf_00000001'`)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "countersign.db")
			l := sqlitestore.NewLedger(grantStoreAt(t, path))
			for n := range 3 {
				require.NoError(t, l.Issue(t.Context(), asking(n)))
			}
			spoil(t, dir, grantRaw(t, path))
			found, err := l.Pending(t.Context(), ports.PendingFilter{}, asking(0).IssuedAt)
			require.NoError(t, err)
			assert.Equal(t, []confirm.Request{asking(0), asking(2)}, found)
			_, err = l.Pending(t.Context(), ports.PendingFilter{ID: asking(1).ID}, asking(0).IssuedAt)
			require.ErrorIs(t, err, docfile.ErrSecretLost)
			ran := false
			err = l.Settle(t.Context(), asking(1).Digest, func(*confirm.Request) error { ran = true; return nil })
			require.ErrorIs(t, err, docfile.ErrSecretLost)
			assert.ErrorContains(t, err, filepath.Join(dir, "keys", "secret.key"))
			assert.False(t, ran, "nobody carries out what nobody can read")
			_, err = l.Purge(t.Context(), asking(9).ExpiresAt)
			require.NoError(t, err)
		})
	}
}

// TestWhoCannotHaveTheKeyStoresNothing: nothing goes in clear where it cannot be sealed.
func TestWhoCannotHaveTheKeyStoresNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "countersign.db")
	l := sqlitestore.NewLedger(grantStoreAt(t, path))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "keys"), 0o755))
	err := l.Issue(t.Context(), asking(1))
	require.ErrorIs(t, err, docfile.ErrSecretKey)
	assert.ErrorContains(t, err, "chmod 700 "+filepath.Join(dir, "keys"))
	require.NoError(t, os.Chmod(filepath.Join(dir, "keys"), 0o700))
	require.NoError(t, l.Issue(t.Context(), asking(1)), "the way out leads out")
	found, err := l.Pending(t.Context(), ports.PendingFilter{}, asking(1).IssuedAt)
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

// BenchmarkWaiting lists what waits where one of it has a plan of 20 MB, whole and in brief.
func BenchmarkWaiting(b *testing.B) {
	l := openGrant(b)
	g, _ := porttest.Grant(0)
	g.Plan = json.RawMessage(`{"changes":["` + strings.Repeat("x", 20<<20) + `"]}`)
	require.NoError(b, l.Issue(b.Context(), g))
	for name, f := range map[string]ports.PendingFilter{"whole": {}, "brief": {Brief: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := l.Pending(b.Context(), f, g.IssuedAt)
				require.NoError(b, err)
				require.Len(b, found, 1)
			}
		})
	}
}
