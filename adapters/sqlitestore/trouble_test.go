package sqlitestore_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// raw speaks SQL to the database, past the store.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

func do(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	_, err := db.Exec(query, args...)
	require.NoError(t, err)
}

func TestMissingPlacesReadEmpty(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "file") // alone: beside the traces of a database it would be one that was emptied
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, path := range map[string]string{
		"no directory":             filepath.Join(dir, "none", "countersign.db"),
		"below a regular file":     filepath.Join(file, "countersign.db"),
		"an empty file":            file,
		"name with odd characters": filepath.Join(dir, "100% a?b#c&d=e.db"),
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, path)
			assert.Equal(t, emptyReads, everything(t.Context(), s)[:len(emptyReads)])
		})
	}
}

// The odd characters of a path must not leak into the options of the connection.
func TestPathIsNoOption(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "100% a?mode=memory#c&_pragma=x.db")
	seed(t, path)
	assert.Equal(t, slices.Concat(seededReads, allChanges), everything(t.Context(), openAt(t, path)))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() == "keys" {
			continue
		}
		assert.Contains(t, e.Name(), "100% a?mode=memory#c&_pragma=x.db")
	}
}

func TestUnusablePlaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte("this has never been a database, although it is longer than a header would be"), 0o600))
	folder := filepath.Join(dir, "folder.db")
	require.NoError(t, os.Mkdir(folder, 0o700))
	damaged := filepath.Join(dir, "damaged.db")
	seed(t, damaged)
	scribble(t, damaged)
	foreign := filepath.Join(dir, "foreign.db")
	do(t, raw(t, foreign), "CREATE TABLE theirs (a)")

	nothing := []string{"settle: confirm_token_unknown", "purge: 0", "end: ok"}
	for name, c := range map[string]struct {
		path           string
		reads, changes []string
	}{
		"below a regular file": {filepath.Join(file, "countersign.db"), emptyReads, merged(noChanges, nothing)},
		"not a database":       {garbage, noReads, noChanges},
		"a directory":          {folder, noReads, noChanges},
		"damaged":              {damaged, noReads, noChanges},
		"another program's":    {foreign, emptyReads, noChanges},
	} {
		t.Run(name, func(t *testing.T) {
			before := snapshot(t, c.path)
			s := openAt(t, c.path)
			for range 2 {
				got := everything(t.Context(), s)
				assert.Equal(t, c.reads, got[:len(c.reads)])
				assert.Equal(t, c.changes, got[len(c.reads):])
			}
			assert.Equal(t, before, snapshot(t, c.path), "nothing was written over it")
		})
	}
}

// merged is refused, with what calls say that have nothing to do in place of their refusal.
func merged(refused, instead []string) []string {
	out := slices.Clone(refused)
	for i, line := range out {
		for _, other := range instead {
			if name, _, _ := strings.Cut(other, ":"); strings.HasPrefix(line, name+":") {
				out[i] = other
			}
		}
	}
	return out
}

// scribble overwrites every page but the first, where the schema starts.
func scribble(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	junk := make([]byte, info.Size()-4096)
	for i := range junk {
		junk[i] = 0xA5
	}
	_, err = f.WriteAt(junk, 4096)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// snapshot names the file's content.
func snapshot(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	seed(t, path)
	db := raw(t, path)
	do(t, db, "PRAGMA user_version = 999")
	do(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	before := snapshot(t, path)
	s := openAt(t, path)
	for _, line := range everything(t.Context(), s) {
		assert.Contains(t, line, "store_schema_newer")
	}
	_, err := s.Load(t.Context())
	require.ErrorIs(t, err, sqlitestore.ErrNewer)
	assert.ErrorContains(t, err, "schema 999")
	assert.ErrorContains(t, err, "update this program")
	assert.Equal(t, before, snapshot(t, path))
}

func TestMessagesNameTheFileAndTheWayOut(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte("this has never been a database, although it is longer than a header would be"), 0o600))
	f := fault.From(openAt(t, garbage).Append(t.Context(), porttest.Event("call_1")))
	assert.Equal(t, fault.Unavailable, f.Kind)
	assert.Contains(t, f.Message, garbage)
	assert.Contains(t, f.Message, "move it away")
	assert.Error(t, f.Err, "the cause is kept for the log")
}

// A user who may read but not write gets answers; a user who may do neither gets a clear refusal.
func TestUnprivilegedUser(t *testing.T) {
	closed := []string{"pending: secret_key_unusable", "issue: secret_key_unusable", "settle: secret_key_unusable"}
	for name, c := range map[string]struct {
		file, dir      os.FileMode
		live           bool // another process has it open, so there is a write-ahead log
		reads, changes []string
		sealed         []string // what another user is told instead
	}{
		"read-only, at rest":  {0o444, 0o555, false, seededReads, noChanges, closed[:1]},
		"read-only, in use":   {0o444, 0o555, true, seededReads, noChanges, closed},
		"file read-only":      {0o444, 0o777, false, seededReads, noChanges, closed},
		"unreadable":          {0o000, 0o555, false, noReads, noChanges, nil},
		"directory is closed": {0o444, 0o000, false, noReads, noChanges, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := public(t)
			path := filepath.Join(dir, "home", "countersign.db")
			seed(t, path)
			if c.live {
				require.NoError(t, os.Chmod(path, 0o644)) // the log's files get the mode of the database
				s := openAt(t, path)
				require.NoError(t, sqlitestore.NewLedger(s).Issue(t.Context(), crowded()))
				require.NoError(t, s.Sessions().End(t.Context(), "other"))
			}
			require.NoError(t, os.Chmod(path, c.file))
			require.NoError(t, os.Chmod(filepath.Dir(path), c.dir))
			t.Cleanup(func() { assert.NoError(t, os.Chmod(filepath.Dir(path), 0o700)) })
			reads := c.reads
			if c.live {
				reads = slices.Clone(reads)
				reads[len(reads)-1] = "pending: 2"
			}
			changes := c.changes
			if os.Geteuid() == 0 && len(c.sealed) > 0 { // the child is another user, to whom the key is closed
				reads = append(slices.Clone(reads[:len(reads)-1]), c.sealed[0])
				changes = merged(changes, c.sealed[1:])
			}
			child := launch(t, unprivileged(t, dir), "try everything", path, "")
			child.start()
			assert.Equal(t, slices.Concat(reads, changes), child.lines(t))
		})
	}
}

func TestUnprivilegedUserCannotCreate(t *testing.T) {
	dir := public(t)
	path := filepath.Join(dir, "home", "countersign.db")
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { assert.NoError(t, os.Chmod(dir, 0o700)) })
	child := launch(t, unprivileged(t, public(t)), "try everything", path, "")
	child.start()
	changes := merged(noChanges, []string{"settle: confirm_token_unknown", "purge: 0", "end: ok"})
	assert.Equal(t, slices.Concat(emptyReads, changes), child.lines(t))
}

// public returns a directory that another user may enter.
func public(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// unprivileged is this test binary, run by a user whom permissions hold back: root is held back by none.
func unprivileged(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	if os.Geteuid() != 0 {
		return exec.Command(self)
	}
	from, err := os.Open(self)
	require.NoError(t, err)
	defer from.Close() //nolint:errcheck // it was only read
	copied := filepath.Join(dir, "child.test")
	to, err := os.OpenFile(copied, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	cmd := exec.Command(copied)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

// A file that was replaced or removed under an open store must not swallow what is written: it goes where users will look for it.
func TestReplacedFileIsLetGo(t *testing.T) {
	for name, c := range map[string]struct {
		replace bool
		held    int
	}{"removed": {false, 0}, "replaced": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, spare := filepath.Join(dir, "countersign.db"), filepath.Join(dir, "spare.db")
			seed(t, path)
			seed(t, spare)
			s := openAt(t, path)
			require.NoError(t, s.Append(t.Context(), porttest.Event("call_3")))
			for _, suffix := range []string{"", "-wal", "-shm"} {
				require.NoError(t, os.Remove(path+suffix))
			}
			if c.replace {
				require.NoError(t, os.Rename(spare, path))
			}
			require.NoError(t, s.Append(t.Context(), porttest.Event("fresh")))
			records, err := openAt(t, path).Records(t.Context(), 0, 0)
			require.NoError(t, err)
			require.Len(t, records, c.held+1)
			assert.Equal(t, "fresh", records[c.held].Event.CallID)
			now, err := s.Load(t.Context())
			require.NoError(t, err)
			assert.Equal(t, c.replace, now.Revision == 1, "reads follow")
		})
	}
}

func TestHeldLockRefusesInTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countersign.db")
	seed(t, path)
	holder, err := raw(t, path).Conn(t.Context())
	require.NoError(t, err)
	_, err = holder.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	s := openAt(t, path)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Append(ctx, porttest.Event("call_3")), context.DeadlineExceeded, "the caller's time counts, not the store's")
	now, err := s.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, int64(1), now.Revision, "reads do not wait for writers")

	began := time.Now()
	err = s.Append(t.Context(), porttest.Event("call_3"))
	require.ErrorIs(t, err, sqlitestore.ErrUnavailable)
	assert.ErrorContains(t, err, "locked for more than 5s")
	assert.GreaterOrEqual(t, time.Since(began), 5*time.Second, "it has waited as long as it says")
	var said strings.Builder
	for range 4 { // one of them, at the least, begins soon enough after the one before it
		err = s.Append(t.Context(), porttest.Event("call_3"))
		require.ErrorIs(t, err, sqlitestore.ErrUnavailable)
		said.WriteString(err.Error())
	}
	assert.Contains(t, said.String(), "locked for more than 250ms", "whoever comes next is told sooner")
	_, err = holder.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, holder.Close())
	require.NoError(t, s.Append(t.Context(), porttest.Event("call_3")))
	assert.Equal(t, int64(3), porttest.Verify(t, s))
}

func TestCanceledChangeIsUndone(t *testing.T) {
	s := open(t)
	g, _ := porttest.Grant(1)
	require.NoError(t, sqlitestore.NewLedger(s).Issue(t.Context(), g))
	ctx, cancel := context.WithCancel(t.Context())
	err := sqlitestore.NewLedger(s).Settle(ctx, g.Digest, func(g *confirm.Request) error {
		cancel()
		g.State = confirm.Spent
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, sqlitestore.NewLedger(s).Settle(t.Context(), g.Digest, func(g *confirm.Request) error {
		assert.Equal(t, confirm.Pending, g.State)
		return nil
	}))
}

func TestDamagedSettingsRefuse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	seed(t, path)
	s := openAt(t, path)
	_, err := s.Load(t.Context())
	require.NoError(t, err)
	db := raw(t, path)
	for _, body := range []string{`{`, `{"permission_level":"all"}`, `[]`} {
		do(t, db, "UPDATE settings SET body = ?", []byte(body))
		_, err = s.Load(t.Context())
		require.Error(t, err, "settings nobody can read do not count as none: %s", body)
	}
	do(t, db, "UPDATE settings SET body = ?", []byte(`{"revision":7,"permission_level":"read_only"}`))
	now, err := s.Load(t.Context())
	require.NoError(t, err, "and repairing them is enough")
	assert.Equal(t, policy.ReadOnly, now.Level)
}

func TestClosedStoreRefuses(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, string){"database": seed, "none": func(*testing.T, string) {}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "countersign.db")
			prepare(t, path)
			s := openAt(t, path)
			_, err := s.Load(t.Context())
			require.NoError(t, err)
			for range 3 {
				require.NoError(t, s.Close())
			}
			for _, line := range everything(t.Context(), s) {
				assert.Contains(t, line, "store_unavailable")
			}
		})
	}
}

func TestCloseWaitsForCallsUnderWay(t *testing.T) {
	s := open(t)
	g, _ := porttest.Grant(1)
	require.NoError(t, sqlitestore.NewLedger(s).Issue(t.Context(), g))
	inside, closing := make(chan struct{}), make(chan error, 1)
	done := make(chan error, 1)
	go func() {
		done <- sqlitestore.NewLedger(s).Settle(context.Background(), g.Digest, func(g *confirm.Request) error {
			close(inside)
			for {
				// Close has begun once calls are refused; this one goes on.
				if _, err := sqlitestore.NewLedger(s).Pending(context.Background(), ports.PendingFilter{}, g.IssuedAt); err != nil {
					g.State = confirm.Spent
					return nil
				}
			}
		})
	}()
	<-inside
	go func() { closing <- s.Close() }()
	require.NoError(t, <-done)
	require.NoError(t, <-closing)
}
