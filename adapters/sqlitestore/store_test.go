package sqlitestore_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// open returns a store in a database of its own, in a directory that does not exist yet.
func open(t testing.TB) *sqlitestore.Store {
	return openAt(t, filepath.Join(t.TempDir(), "home", "countersign.db"))
}

func openAt(t testing.TB, path string) *sqlitestore.Store {
	s := sqlitestore.Open(path)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func auditLog(t testing.TB) ports.AuditLog      { return open(t) }
func settings(t testing.TB) ports.SettingsStore { return open(t) }
func sessions(t testing.TB) ports.Sessions      { return open(t).Sessions() }

func TestAuditLog(t *testing.T)      { porttest.AuditLog(t, auditLog) }
func TestSettingsStore(t *testing.T) { porttest.SettingsStore(t, settings) }
func TestSessions(t *testing.T)      { porttest.Sessions(t, sessions) }

func BenchmarkAuditLog(b *testing.B)      { porttest.BenchmarkAuditLog(b, auditLog) }
func BenchmarkSettingsStore(b *testing.B) { porttest.BenchmarkSettingsStore(b, settings) }
func BenchmarkSessions(b *testing.B)      { porttest.BenchmarkSessions(b, sessions) }

// entries returns everything in and below dir, with permissions.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		if name != "." {
			all = append(all, info.Mode().String()+" "+name)
		}
		return nil
	}))
	return all
}

func TestOpensNothingUntilSomethingIsStored(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "home", "countersign.db"))
	for range 2 {
		g, token := porttest.Grant(1)
		_, err := s.Load(t.Context())
		require.NoError(t, err)
		_, err = s.Sessions().Load(t.Context(), "key")
		require.NoError(t, err)
		_, err = s.Records(t.Context(), 0, 0)
		require.NoError(t, err)
		_, err = s.Tail(t.Context(), 5)
		require.NoError(t, err)
		_, err = sqlitestore.NewLedger(s).Pending(t.Context(), ports.PendingFilter{}, g.IssuedAt)
		require.NoError(t, err)
		_, err = sqlitestore.NewLedger(s).Purge(t.Context(), g.IssuedAt)
		require.NoError(t, err)
		require.NoError(t, s.Sessions().End(t.Context(), "key"))
		require.NoError(t, s.Append(t.Context()))
		require.ErrorIs(t, sqlitestore.NewLedger(s).Settle(t.Context(), token.Digest(), func(*confirm.Request) error { return nil }), confirm.ErrUnknown)
	}
	assert.Empty(t, entries(t, dir))
	require.NoError(t, s.Close())
	assert.Empty(t, entries(t, dir))
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "home", "countersign.db"))
	require.NoError(t, s.Append(t.Context(), porttest.Event("call_1")))
	assert.Equal(t, []string{
		"drwx------ home", "-rw------- home/countersign.db", "-rw------- home/countersign.db-shm", "-rw------- home/countersign.db-wal",
	}, entries(t, dir))
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"drwx------ home", "-rw------- home/countersign.db"}, entries(t, dir), "closing leaves one file")
}

func TestSettingsOfTheConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	seed(t, path)
	var mode string
	require.NoError(t, raw(t, path).QueryRow("PRAGMA journal_mode").Scan(&mode))
	assert.Equal(t, "wal", mode)
	var problem string
	require.NoError(t, raw(t, path).QueryRow("PRAGMA integrity_check").Scan(&problem))
	assert.Equal(t, "ok", problem)
}

func TestTokenIsNowhereOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "countersign.db"))
	g, token := porttest.Grant(1)
	g.Strength = policy.Typed
	require.NoError(t, sqlitestore.NewLedger(s).Issue(t.Context(), g))
	for _, typed := range []string{"", "wrong", "work"} {
		sqlitestore.NewLedger(s).Settle(t.Context(), token.Digest(), func(g *confirm.Request) error { return g.Redeem(g.Binding, typed, g.IssuedAt) }) //nolint:errcheck // either way
	}
	secret := []byte(token.Reveal())
	bare := bytes.ReplaceAll(secret, []byte("-"), nil)
	check := func() {
		found := false
		for _, name := range []string{"countersign.db", "countersign.db-wal"} {
			content, err := os.ReadFile(filepath.Join(dir, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			require.NoError(t, err)
			found = found || bytes.Contains(content, g.Digest[:])
			assert.NotContains(t, string(content), string(secret), name)
			assert.NotContains(t, string(content), string(bare), name)
			packed, err := hex.DecodeString(string(bare))
			require.NoError(t, err)
			assert.False(t, bytes.Contains(content, packed), name)
		}
		assert.True(t, found, "the digest is there, so this looked in the right place")
	}
	check()
	require.NoError(t, s.Close())
	check()
}

func TestSurvivesRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	seed(t, path)
	for n := range 3 {
		s := sqlitestore.Open(path)
		g, token := porttest.Grant(1)
		err := sqlitestore.NewLedger(s).Settle(t.Context(), token.Digest(), func(g *confirm.Request) error { return g.Redeem(g.Binding, "", g.IssuedAt) })
		if n == 0 {
			require.NoError(t, err, "a token outlives the process that issued it")
		} else {
			require.ErrorIs(t, err, confirm.ErrUsed, "and so does its being spent")
		}
		pending, err := sqlitestore.NewLedger(s).Pending(t.Context(), ports.PendingFilter{}, g.IssuedAt)
		require.NoError(t, err)
		assert.Empty(t, pending)
		assert.Equal(t, int64(2+n), porttest.Verify(t, s))
		require.NoError(t, s.Append(t.Context(), porttest.Event("call_next")))
		now, err := s.Load(t.Context())
		require.NoError(t, err)
		want := porttest.Settings()
		want.Revision = 1
		assert.Equal(t, want, now)
		require.NoError(t, s.Close())
	}
}

// A change by anybody is seen by the next Load of everybody, however warm the cache is.
func TestLoadsAreNeverStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	a, b := openAt(t, path), openAt(t, path)
	for n := range 50 {
		writer, reader := a, b
		if n%2 == 1 {
			writer, reader = b, a
		}
		now, err := writer.Load(t.Context())
		require.NoError(t, err)
		want, err := writer.Save(t.Context(), now)
		require.NoError(t, err)
		require.NoError(t, writer.Sessions().Update(t.Context(), "key", func(have *ports.Session) error { have.Grant(porttest.Always(fmt.Sprint(n))[0]); return nil }))
		for _, s := range []*sqlitestore.Store{reader, writer, reader} {
			now, err = s.Load(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, now)
			session, err := s.Sessions().Load(t.Context(), "key")
			require.NoError(t, err)
			require.Len(t, session.Granted, n+1)
		}
	}
}

// Looking at a grant must not cost a write: of calls that find their token used there can be many.
func TestSettleWithoutChangeWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	seed(t, path)
	s := openAt(t, path)
	_, token := porttest.Grant(1)
	conn, err := raw(t, path).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // closed with its pool
	version := func() (v int) {
		require.NoError(t, conn.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&v))
		return v
	}
	before := version()
	other := errors.New("other")
	require.ErrorIs(t, sqlitestore.NewLedger(s).Settle(t.Context(), token.Digest(), func(*confirm.Request) error { return other }), other)
	require.NoError(t, sqlitestore.NewLedger(s).Settle(t.Context(), token.Digest(), func(g *confirm.Request) error { return g.Check(g.Binding, "", g.IssuedAt) }))
	require.NoError(t, s.Sessions().Update(t.Context(), "key", func(have *ports.Session) error { have.Grant(porttest.Always("deploy")[0]); return nil }))
	assert.Equal(t, before, version())
	require.NoError(t, sqlitestore.NewLedger(s).Settle(t.Context(), token.Digest(), func(g *confirm.Request) error { g.Misses++; return nil }))
	assert.NotEqual(t, before, version(), "the version would have told")
}

// Every way to change the log behind its back is named by Verify, with the first record that does not hold.
func TestTamperingIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		query string
		want  string
	}{
		"event changed":       {`UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), 'deploy_apply', 'status') AS BLOB) WHERE seq = 4`, "record 4 was changed"},
		"space added":         {`UPDATE audit SET event = CAST(event || ' ' AS BLOB) WHERE seq = 4`, "record 4 was changed"},
		"field added":         {`UPDATE audit SET event = CAST(replace(CAST(event AS TEXT), '{"time"', '{"x":1,"time"') AS BLOB) WHERE seq = 4`, "record 4 was changed"},
		"not JSON":            {`UPDATE audit SET event = x'00' WHERE seq = 4`, "record 4 was changed"},
		"hash changed":        {`UPDATE audit SET hash = zeroblob(32) WHERE seq = 4`, "record 4 was changed"},
		"hash cut":            {`UPDATE audit SET hash = substr(hash, 1, 31) WHERE seq = 4`, "record 4 does not continue record 3"},
		"first prev cut":      {`UPDATE audit SET prev = x'' WHERE seq = 1`, "record 1 was changed"},
		"prev changed":        {`UPDATE audit SET prev = zeroblob(32) WHERE seq = 4`, "record 4 does not continue record 3"},
		"record removed":      {`DELETE FROM audit WHERE seq = 4`, "record 4 is missing"},
		"first removed":       {`DELETE FROM audit WHERE seq = 1`, "record 1 is missing"},
		"removed and closed":  {`DELETE FROM audit WHERE seq = 4; UPDATE audit SET seq = seq - 1 WHERE seq > 4`, "record 4 does not continue record 3"},
		"swapped":             {`UPDATE audit SET seq = 99 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 99`, "record 4 does not continue"},
		"inserted at the end": {`INSERT INTO audit SELECT 11, event, hash, hash FROM audit WHERE seq = 10`, "record 11 was changed"},
		"end cut off":         {`DELETE FROM audit WHERE seq > 8`, "record 9 is missing"},
		"everything removed":  {`DELETE FROM audit`, "record 1 is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "countersign.db")
			s := openAt(t, path)
			for n := range 10 {
				require.NoError(t, s.Append(t.Context(), porttest.Event(fmt.Sprint(n))))
			}
			do(t, raw(t, path), c.query)
			_, err := audit.Verify(audit.Record{}, porttest.All(t.Context(), s))
			require.ErrorIs(t, err, audit.ErrBroken)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// A plain chain cannot show that its end was cut off and that the head was set back with it, and the next record would then continue
// the shorter chain. What the store can promise is this: who cuts the records alone leaves a gap that stays.
func TestCutChainNeverHeals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	s := openAt(t, path)
	for n := range 3 {
		require.NoError(t, s.Append(t.Context(), porttest.Event(fmt.Sprint(n))))
	}
	db := raw(t, path)
	do(t, db, "DELETE FROM audit WHERE seq = 3")
	require.NoError(t, s.Append(t.Context(), porttest.Event("next")), "a broken past does not stop the present")
	n, err := audit.Verify(audit.Record{}, porttest.All(t.Context(), s))
	assert.Equal(t, int64(2), n)
	require.ErrorIs(t, err, audit.ErrBroken)
	require.ErrorContains(t, err, "record 3 is missing")
	tail, err := s.Tail(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, int64(4), tail[0].Seq)
}

// modernc.org/sqlite works with exactly the version of modernc.org/libc that it was released with.
func TestLibcIsTheOneSQLiteNames(t *testing.T) {
	module := func(format, path string) string {
		out, err := exec.Command("go", "list", "-m", "-f", format, path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	needs, err := os.ReadFile(module("{{.GoMod}}", "modernc.org/sqlite"))
	require.NoError(t, err)
	assert.Contains(t, string(needs), "\tmodernc.org/libc "+module("{{.Version}}", "modernc.org/libc")+"\n")
}
