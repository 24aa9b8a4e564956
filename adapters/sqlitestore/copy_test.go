package sqlitestore_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// ofSchema makes a database as the program wrote it that knew that many migrations.
func ofSchema(t *testing.T, path string, known int) {
	t.Helper()
	scripts, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	db := raw(t, path)
	for _, name := range scripts[:known] {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		do(t, db, string(body))
	}
	do(t, db, `INSERT INTO sessions (key, body) VALUES (x'01', CAST('{"mode":"plan"}' AS BLOB))`)
	do(t, db, fmt.Sprintf("PRAGMA user_version = %d", known))
	require.NoError(t, db.Close())
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestAnUpgradeKeepsTheDatabaseAsItWas: with its version in the name, its permissions, and what is in it; the last three stay, and it is told of.
func TestAnUpgradeKeepsTheDatabaseAsItWas(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countersign.db")
	for i, known := range []int{1, 5, 7, 9, 10} {
		require.NoError(t, os.RemoveAll(path))
		ofSchema(t, path, known)
		require.NoError(t, os.Chmod(path, 0o640))
		var told []sqlitestore.Upgrade
		s := sqlitestore.Open(path)
		s.OnUpgrade(func(u sqlitestore.Upgrade) { told = append(told, u) })
		_, err := s.Load(t.Context()) // a read brings it up to date as well
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), porttest.Event("call")))
		require.NoError(t, s.Close())

		copies := sqlitestore.SchemaCopies(path)
		require.Len(t, copies, min(i+1, 3))
		newest := copies[0]
		assert.Equal(t, known, newest.Schema)
		assert.Equal(t, []sqlitestore.Upgrade{{Path: path, From: known, To: sqlitestore.SchemaVersion(), Copy: newest.Path}}, told)
		info, err := os.Stat(newest.Path)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
		var version, sessions, audited int
		db := raw(t, newest.Path)
		require.NoError(t, db.QueryRow("SELECT user_version, (SELECT count(*) FROM sessions), (SELECT count(*) FROM audit) FROM pragma_user_version").Scan(&version, &sessions, &audited))
		assert.Equal(t, []int{known, 1, 0}, []int{version, sessions, audited})
		require.NoError(t, db.Close())
	}
	require.NoError(t, os.WriteFile(path+".schema-9-yesterday", nil, 0o600))
	assert.Len(t, sqlitestore.SchemaCopies(path), 3, "what has another name is none of them")

	s := openAt(t, path)
	s.OnUpgrade(func(sqlitestore.Upgrade) { t.Error("it is up to date") })
	require.NoError(t, s.Append(t.Context(), porttest.Event("call")))
}

// TestOneOfManyProcessesUpgrades: the others wait for it, and there is one copy.
func TestOneOfManyProcessesUpgrades(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countersign.db")
	ofSchema(t, path, 8)
	crowd := make([]*child, 16)
	for i := range crowd {
		crowd[i] = spawn(t, "append once", path, fmt.Sprint(i))
	}
	for _, c := range crowd {
		c.start()
	}
	for _, c := range crowd {
		assert.Equal(t, []string{"ok"}, c.lines(t))
	}
	assert.Len(t, sqlitestore.SchemaCopies(path), 1)
}

func childAppendsOnce(s *sqlitestore.Store) {
	fmt.Println(code(s.Append(context.Background(), porttest.Event("call_"+os.Getenv(envName)))))
}

// TestNoUpgradeWithoutACopy: where the disk is full nothing is changed, nothing is left, and the reason is said; with room again it goes on.
func TestNoUpgradeWithoutACopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "countersign.db")
	ofSchema(t, path, 9)
	db := raw(t, path)
	do(t, db, "CREATE TABLE ballast (b BLOB)")
	do(t, db, "INSERT INTO ballast VALUES (zeroblob(2000000))")
	require.NoError(t, db.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".copy-OFADEADPROCESS", []byte("x"), 0o600))

	full := spawn(t, "upgrade on a full disk", path, "")
	full.start()
	said := strings.Join(full.lines(t), "\n")
	assert.Contains(t, said, "store_copy_failed: the database "+path+" was not upgraded or changed, because it could not be copied first")
	assert.Contains(t, said, "free space in "+dir)
	assert.Equal(t, []string{"countersign.db"}, names(t, dir))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before[100:], after[100:], "the header says that it has a log now, and nothing else differs")

	require.NoError(t, openAt(t, path).Append(t.Context(), porttest.Event("call")))
	assert.Len(t, sqlitestore.SchemaCopies(path), 1)
}

func childUpgradesOnAFullDisk(s *sqlitestore.Store) {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		panic(err)
	}
	err := s.Append(context.Background(), porttest.Event("call"))
	fmt.Printf("%s: %s\n", code(err), fault.From(err).Message)
}
