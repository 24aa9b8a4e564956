package docfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/docfile"
)

const limit = 1 << 20

// TestMain lets the test binary be the other processes that the tests need.
func TestMain(m *testing.M) {
	if dir, child := os.LookupEnv(envDir); child {
		sealChild(dir)
		return
	}
	switch os.Getenv("DOCFILE_CHILD") {
	case "":
		goleak.VerifyTestMain(m)
	case "count": // add one to a number, as often as told, under its lock
		d := docfile.NewDir(os.Args[1])
		times, _ := strconv.Atoi(os.Args[2])
		for range times {
			must(increment(d))
		}
	case "write": // rewrite one document until killed
		d := docfile.NewDir(os.Args[1])
		for i := 0; ; i++ {
			must(d.Write("doc", bytes.Repeat([]byte{byte('a' + i%26)}, 200_000)))
		}
	case "full": // write what the limit on file sizes does not allow
		signal.Ignore(syscall.SIGXFSZ)
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}))
		err := docfile.NewDir(os.Args[1]).Write("doc", make([]byte, 100_000))
		fmt.Println(errors.Is(err, syscall.EFBIG), err)
	case "hold": // hold a lock until killed
		lock, err := docfile.NewDir(os.Args[1]).Lock(context.Background(), "l.lock")
		must(err)
		fmt.Println("held")
		_, _ = os.Stdin.Read(make([]byte, 1))
		must(lock.Release())
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t testing.TB, role string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "DOCFILE_CHILD="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func increment(d *docfile.Dir) error {
	lock, err := d.Lock(context.Background(), "n.lock")
	if err != nil {
		return err
	}
	defer lock.Release()
	data, _, err := d.Read("n", limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n, _ := strconv.Atoi(string(data))
	return d.Write("n", []byte(strconv.Itoa(n+1)))
}

func names(t testing.TB, d *docfile.Dir, sub string) []string {
	t.Helper()
	found := []string{}
	require.NoError(t, d.Scan(sub, func(name string, _ func() (fs.FileInfo, error)) error {
		found = append(found, name)
		return nil
	}))
	slices.Sort(found)
	return found
}

func mode(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestWriteMakesDirectoriesForTheOwnerAlone(t *testing.T) {
	base := t.TempDir()
	d := docfile.NewDir(filepath.Join(base, "a", "b"))
	require.NoError(t, d.Write("sub/deep/doc", []byte("x")))
	for _, dir := range []string{"a", "a/b", "a/b/sub", "a/b/sub/deep"} {
		assert.Equal(t, fs.FileMode(0o700), mode(t, filepath.Join(base, dir)), dir)
	}
	assert.Equal(t, fs.FileMode(0o600), mode(t, d.File("sub/deep/doc")))
	data, info, err := d.Read("sub/deep/doc", limit)
	require.NoError(t, err)
	assert.Equal(t, "x", string(data))
	assert.EqualValues(t, 1, info.Size())
}

func TestExistingModesAreAccepted(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	d := docfile.NewDir(dir)
	require.NoError(t, os.WriteFile(d.File("doc"), []byte("old"), 0o644))
	require.NoError(t, d.Write("doc", []byte("new")))
	assert.Equal(t, fs.FileMode(0o755), mode(t, dir))
	assert.Equal(t, fs.FileMode(0o600), mode(t, d.File("doc")), "what we write is for the owner alone")
	assert.Equal(t, []string{"doc"}, names(t, d, "."), "no temporary file stays")
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	d := docfile.NewDir(dir)
	require.NoError(t, d.Write("doc", []byte("12345")))
	require.NoError(t, os.Mkdir(d.File("dir"), 0o700))
	require.NoError(t, syscall.Mkfifo(d.File("pipe"), 0o600))
	require.NoError(t, os.Symlink(outside, d.File("leak")))
	require.NoError(t, os.Symlink("doc", d.File("link")))

	_, _, err := d.Read("doc", 4)
	require.ErrorIs(t, err, docfile.ErrTooLarge)
	_, _, err = d.Read("doc", 5)
	require.NoError(t, err)
	data, _, err := d.Read("link", 5)
	require.NoError(t, err)
	assert.Equal(t, "12345", string(data))
	for _, name := range []string{"dir", "pipe"} {
		_, _, err = d.Read(name, limit)
		require.ErrorIs(t, err, docfile.ErrNotFile, name)
	}
	for _, name := range []string{"leak", "../" + filepath.Base(dir) + "/doc", outside} {
		data, _, err = d.Read(name, limit)
		require.Error(t, err, name)
		assert.Empty(t, data)
	}
	_, _, err = d.Read("missing", limit)
	require.ErrorIs(t, err, fs.ErrNotExist)
	var at *fs.PathError
	require.ErrorAs(t, err, &at)
	assert.Equal(t, filepath.Join(dir, "missing"), at.Path, "errors carry the full path")
	_, _, err = docfile.NewDir(filepath.Join(dir, "no", "where")).Read("doc", limit)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, _, err = docfile.NewDir(d.File("doc")).Read("doc", limit)
	require.ErrorIs(t, err, syscall.ENOTDIR)
}

func TestMove(t *testing.T) {
	d := docfile.NewDir(t.TempDir())
	require.NoError(t, d.Write("packs/a", []byte("1")))
	require.NoError(t, d.Write("packs/b", []byte("2")))
	require.NoError(t, d.Move("packs/a", "trash/a"))
	require.ErrorIs(t, d.Move("packs/b", "trash/a"), fs.ErrExist)
	require.ErrorIs(t, d.Move("packs/a", "trash/c"), fs.ErrNotExist)
	assert.Equal(t, []string{"b"}, names(t, d, "packs"))
	assert.Equal(t, []string{"a"}, names(t, d, "trash"))
	data, _, err := d.Read("trash/a", limit)
	require.NoError(t, err)
	assert.Equal(t, "1", string(data))
}

func TestRemoveToleratesAbsence(t *testing.T) {
	d := docfile.NewDir(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, d.Remove("a"))
	require.NoError(t, d.Write("a", nil))
	require.NoError(t, d.Remove("a"))
	require.NoError(t, d.Remove("a"))
	require.Error(t, d.Remove("../x"))
}

func TestScan(t *testing.T) {
	d := docfile.NewDir(t.TempDir())
	require.ErrorIs(t, d.Scan("sub", nil), fs.ErrNotExist)
	require.NoError(t, d.Write("sub/a", []byte("abc")))
	require.NoError(t, d.Write("near", []byte("12")))
	require.NoError(t, os.Symlink("../near", d.File("sub/link")))
	require.NoError(t, os.Symlink("/etc/passwd", d.File("sub/leak")))
	sizes := map[string]int64{}
	require.NoError(t, d.Scan("sub", func(name string, look func() (fs.FileInfo, error)) error {
		info, err := look()
		if err == nil {
			sizes[name] = info.Size()
		}
		return nil
	}))
	assert.Equal(t, map[string]int64{"a": 3, "link": 2}, sizes, "links are followed inside, and only there")
	stop := errors.New("stop")
	require.ErrorIs(t, d.Scan("sub", func(string, func() (fs.FileInfo, error)) error { return stop }), stop)
}

func TestSweepRemovesOldLeftoversAlone(t *testing.T) {
	d := docfile.NewDir(t.TempDir())
	require.NoError(t, d.Write("sub/doc.tmp", nil))
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{".doc.OLD.tmp", ".doc.NEW.tmp", "doc.tmp", ".hidden"} {
		require.NoError(t, os.WriteFile(d.File("sub/"+name), nil, 0o600))
		if name != ".doc.NEW.tmp" {
			require.NoError(t, os.Chtimes(d.File("sub/"+name), old, old))
		}
	}
	n, err := d.Sweep("sub", 10*time.Minute)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, []string{".doc.NEW.tmp", ".hidden", "doc.tmp"}, names(t, d, "sub"))
}

func TestLockExcludesGoroutines(t *testing.T) {
	d := docfile.NewDir(filepath.Join(t.TempDir(), "made", "on", "demand"))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 5 {
				assert.NoError(t, increment(d))
			}
		})
	}
	group.Wait()
	data, _, err := d.Read("n", limit)
	require.NoError(t, err)
	assert.Equal(t, "80", string(data))
	assert.Equal(t, fs.FileMode(0o600), mode(t, d.File("n.lock")))
}

func TestLockExcludesProcesses(t *testing.T) {
	dir := t.TempDir()
	var running []*exec.Cmd
	for range 4 {
		cmd := child(t, "count", dir, "25")
		require.NoError(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		require.NoError(t, cmd.Wait())
	}
	data, _, err := docfile.NewDir(dir).Read("n", limit)
	require.NoError(t, err)
	assert.Equal(t, "100", string(data))
}

func TestLockWaitsNoLongerThanItsContext(t *testing.T) {
	d := docfile.NewDir(t.TempDir())
	held, err := d.Lock(t.Context(), "l.lock")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = d.Lock(ctx, "l.lock")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	none, err := d.TryLock("l.lock")
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, held.Release())
	require.NoError(t, held.Release(), "releasing twice is harmless")
	again, err := d.TryLock("l.lock")
	require.NoError(t, err)
	require.NotNil(t, again)
	require.NoError(t, again.Release())
}

func TestLockIsAPlainFileInside(t *testing.T) {
	d := docfile.NewDir(t.TempDir())
	outside := filepath.Join(t.TempDir(), "made")
	require.NoError(t, os.Symlink(outside, d.File("link.lock")))
	require.NoError(t, syscall.Mkfifo(d.File("pipe.lock"), 0o600))
	for _, name := range []string{"link.lock", "pipe.lock"} {
		_, err := d.Lock(t.Context(), name)
		require.ErrorIs(t, err, docfile.ErrNotFile, name)
	}
	assert.NoFileExists(t, outside)
	for _, name := range []string{"../x.lock", "/x.lock", ""} {
		_, err := d.TryLock(name)
		require.ErrorIs(t, err, fs.ErrInvalid, name)
	}
}

func TestLockGoesWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "hold", dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 5))
	require.NoError(t, err)
	none, err := docfile.NewDir(dir).TryLock("l.lock")
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	lock, err := docfile.NewDir(dir).Lock(t.Context(), "l.lock")
	require.NoError(t, err)
	require.NoError(t, lock.Release())
}

// TestRetiredLockIsNotHeldTwice: whoever waited on a lock file that was removed starts over on the file that others find.
func TestRetiredLockIsNotHeldTwice(t *testing.T) {
	d := docfile.NewDir(t.TempDir())
	var inside, most int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				lock, err := d.Lock(context.Background(), "l.lock")
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				assert.NoError(t, lock.Retire())
			}
		})
	}
	group.Wait()
	assert.Equal(t, 1, most)
	assert.Empty(t, names(t, d, "."))
}

// TestKilledWriterLeavesAWholeDocument kills a process in the middle of its writes, again and again.
func TestKilledWriterLeavesAWholeDocument(t *testing.T) {
	dir := t.TempDir()
	d := docfile.NewDir(dir)
	require.NoError(t, d.Write("doc", bytes.Repeat([]byte{'a'}, 200_000)))
	for i := range 15 {
		cmd := child(t, "write", dir)
		require.NoError(t, cmd.Start())
		var last []byte
		for changes := 0; changes < 2+i%3; { // it is certainly writing
			data, _, err := d.Read("doc", limit)
			require.NoError(t, err)
			require.Len(t, data, 200_000)
			require.Equal(t, 200_000, bytes.Count(data, data[:1]), "never a mixture")
			if !bytes.Equal(last, data[:1]) {
				last = bytes.Clone(data[:1])
				changes++
			}
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		data, _, err := d.Read("doc", limit)
		require.NoError(t, err)
		require.Equal(t, 200_000, bytes.Count(data, data[:1]))
	}
	left := names(t, d, ".")
	_, err := d.Sweep(".", 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"doc"}, names(t, d, "."), "of %v", left)
}

func TestFullDiskLeavesTheDocumentAlone(t *testing.T) {
	dir := t.TempDir()
	d := docfile.NewDir(dir)
	require.NoError(t, d.Write("doc", []byte("old")))
	out, err := child(t, "full", dir).Output()
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(out), "true "), "%s", out)
	assert.Contains(t, string(out), d.File("doc"), "the error names the document, not a temporary file")
	data, _, err := d.Read("doc", limit)
	require.NoError(t, err)
	assert.Equal(t, "old", string(data))
	assert.Equal(t, []string{"doc"}, names(t, d, "."), "nothing half-written stays")
}

func TestPlainFileForADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d := docfile.NewDir(file)
	require.ErrorIs(t, d.Write("doc", nil), syscall.ENOTDIR)
	_, err := d.Lock(t.Context(), "l.lock")
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.ErrorIs(t, d.Scan(".", nil), syscall.ENOTDIR)
	require.ErrorIs(t, docfile.NewDir(filepath.Join(file, "below")).Write("doc", nil), syscall.ENOTDIR)
}

func BenchmarkWrite(b *testing.B) {
	d := docfile.NewDir(b.TempDir())
	data := make([]byte, 16<<10)
	for b.Loop() {
		require.NoError(b, d.Write("doc", data))
	}
}

func BenchmarkLock(b *testing.B) {
	d := docfile.NewDir(b.TempDir())
	for b.Loop() {
		lock, err := d.Lock(b.Context(), "l.lock")
		require.NoError(b, err)
		require.NoError(b, lock.Release())
	}
}
