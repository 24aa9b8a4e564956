//go:build linux

package observe_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// indexLater is a clock for which every file was left alone for long enough.
func indexLater() time.Time { return time.Now().Add(2 * observe.RacyWindow) }

// wrong is a sum that no file here has: what comes back when an answer was remembered rather than worked out.
func wrong() deployment.Sum { return deployment.SumOf([]byte("remembered")) }

func write(t testing.TB, path, text string) fs.FileInfo {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return info(t, path)
}

func info(t testing.TB, path string) fs.FileInfo {
	t.Helper()
	at, err := os.Lstat(path)
	require.NoError(t, err)
	return at
}

func sum(t testing.TB, x *observe.Index, path string) deployment.Sum {
	t.Helper()
	got, err := x.Sum(path, info(t, path))
	require.NoError(t, err)
	return got
}

func TestSumOfAnyLength(t *testing.T) {
	x := observe.OpenIndexWithClock("", indexLater)
	for _, n := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		path, text := filepath.Join(t.TempDir(), "f"), strings.Repeat("x", n)
		write(t, path, text)
		for range 2 { // hashed, remembered
			assert.Equal(t, deployment.SumOf([]byte(text)), sum(t, x, path), "%d bytes", n)
		}
	}
}

func TestAnUnchangedFileIsNotHashedAgain(t *testing.T) {
	path, file := filepath.Join(t.TempDir(), "f"), filepath.Join(t.TempDir(), "state", "index")
	x := observe.OpenIndexWithClock(file, indexLater)
	x.Put(path, write(t, path, "text"), wrong())
	assert.Equal(t, wrong(), sum(t, x, path), "by this process")
	require.NoError(t, x.Close())
	assert.Equal(t, wrong(), sum(t, observe.OpenIndexWithClock(file, indexLater), path), "by the next one")
}

func TestEveryDifferenceCounts(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"size":  func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("longer text"), 0o644)) },
		"mtime": func(t *testing.T, path string) { require.NoError(t, os.Chtimes(path, time.Time{}, time.Unix(1, 0))) },
		"ctime": func(t *testing.T, path string) { // the same size and time again, as some tools leave it
			at := info(t, path)
			require.NoError(t, os.WriteFile(path, []byte("TEXT"), 0o644))
			require.NoError(t, os.Chtimes(path, time.Time{}, at.ModTime()))
			require.Equal(t, at.ModTime(), info(t, path).ModTime())
		},
		"inode": func(t *testing.T, path string) {
			write(t, path+"2", "TEXT")
			require.NoError(t, os.Rename(path+"2", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			x := observe.OpenIndexWithClock("", indexLater)
			x.Put(path, write(t, path, "text"), wrong())
			require.Equal(t, wrong(), sum(t, x, path))
			before := info(t, path).Sys().(*syscall.Stat_t).Ctim
			for info(t, path).Sys().(*syscall.Stat_t).Ctim == before {
				change(t, path) // until the file system's clock ticks
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, deployment.SumOf(data), sum(t, x, path))
		})
	}
}

func TestAFreshFileIsNotTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	at := write(t, path, "text")
	fresh := observe.OpenIndexWithClock("", func() time.Time { return at.ModTime().Add(observe.RacyWindow - time.Nanosecond) })
	fresh.Put(path, at, wrong())
	assert.Equal(t, deployment.SumOf([]byte("text")), sum(t, fresh, path))
	_, known := fresh.Known(path, observe.StatOf(at))
	assert.False(t, known, "hashing a fresh file does not make it trusted")

	settled := observe.OpenIndexWithClock("", func() time.Time { return at.ModTime().Add(observe.RacyWindow) })
	settled.Put(path, at, wrong())
	assert.Equal(t, wrong(), sum(t, settled, path))

	require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
	future := observe.OpenIndexWithClock("", indexLater)
	future.Put(path, info(t, path), wrong())
	assert.Equal(t, deployment.SumOf([]byte("text")), sum(t, future, path), "a time that has not come yet proves nothing")
}

func TestWhatIsNoFile(t *testing.T) {
	dir, x := t.TempDir(), observe.OpenIndexWithClock("", indexLater)
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	_, err := x.Sum(pipe, info(t, pipe))
	require.ErrorIs(t, err, deployment.ErrPath)
	_, err = x.Sum(dir, info(t, dir))
	require.ErrorIs(t, err, deployment.ErrPath)
	x.Put(dir, info(t, dir), wrong())
	_, known := x.Known(dir, observe.StatOf(info(t, dir)))
	assert.False(t, known)

	gone := filepath.Join(dir, "gone")
	at := write(t, gone, "text")
	require.NoError(t, os.Remove(gone))
	_, err = x.Sum(gone, at)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestLstatSaysWhatTheSystemSays(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "text")
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sticky"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(dir, "sticky"), fs.ModeSticky|fs.ModeSetgid|0o770))
	require.NoError(t, os.Chmod(filepath.Join(dir, "file"), fs.ModeSetuid|0o755))
	for _, path := range []string{dir, filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe"), filepath.Join(dir, "sticky"), os.DevNull} {
		st, err := observe.Lstat(path)
		require.NoError(t, err)
		assert.Equal(t, observe.StatOf(info(t, path)), st, path)
	}
	for _, path := range []string{filepath.Join(dir, "absent"), filepath.Join(dir, "file", "below"), dir + "/" + strings.Repeat("n", 300), "a\x00b"} {
		_, want := os.Lstat(path)
		_, err := observe.Lstat(path)
		assert.Equal(t, want, err)
	}
}

func TestNothingIsWrittenWithoutNeed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "state", "index")
	x := observe.OpenIndexWithClock(file, indexLater)
	require.NoError(t, x.Save())
	assert.NoDirExists(t, filepath.Dir(file))

	path := filepath.Join(dir, "f")
	write(t, path, "text")
	sum(t, x, path)
	require.NoError(t, x.Save())
	first := info(t, file)
	sum(t, x, path)
	require.NoError(t, x.Save())
	assert.True(t, os.SameFile(first, info(t, file)), "nothing new was remembered")

	names, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, names, 1, "nothing else is left behind")
}

func TestSaveReportsAndRecovers(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "blocked"), "a file where a directory has to be")
	file := filepath.Join(dir, "blocked", "index")
	x := observe.OpenIndexWithClock(file, indexLater)
	path := filepath.Join(dir, "f")
	x.Put(path, write(t, path, "text"), wrong())
	require.Error(t, x.Save())
	assert.Equal(t, wrong(), sum(t, x, path), "it goes on working")
	require.NoError(t, os.Remove(filepath.Join(dir, "blocked")))
	require.NoError(t, x.Save())
	assert.Equal(t, wrong(), sum(t, observe.OpenIndexWithClock(file, indexLater), path))
}

func TestEntriesThatNobodyAsksForDropOut(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "index")
	used, idle := filepath.Join(dir, "used"), filepath.Join(dir, "idle")
	x := observe.OpenIndexWithClock(file, indexLater)
	x.Put(used, write(t, used, "text"), wrong())
	x.Put(idle, write(t, idle, "text"), wrong())
	require.NoError(t, x.Save())
	for n := 1; n <= 5; n++ {
		x := observe.OpenIndexWithClock(file, indexLater)
		require.Equal(t, wrong(), sum(t, x, used))
		fresh := filepath.Join(dir, fmt.Sprint(n))
		x.Put(fresh, write(t, fresh, "text"), wrong())
		require.NoError(t, x.Save())
		_, known := observe.OpenIndexWithClock(file, indexLater).Known(idle, observe.StatOf(info(t, idle)))
		assert.Equal(t, n < 5, known, "after %d saves", n)
	}
	assert.Equal(t, wrong(), sum(t, observe.OpenIndexWithClock(file, indexLater), used))
}

func TestADamagedFileCountsAsEmpty(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "index")
	x := observe.OpenIndexWithClock(file, indexLater)
	path := filepath.Join(dir, "f")
	x.Put(path, write(t, path, "text"), wrong())
	require.NoError(t, x.Save())
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := range good {
		bad := append([]byte{}, good...)
		bad[i] ^= 1
		require.NoError(t, os.WriteFile(file, bad, 0o600))
		require.Equal(t, deployment.SumOf([]byte("text")), sum(t, observe.OpenIndexWithClock(file, indexLater), path), "byte %d is another", i)
		require.NoError(t, os.WriteFile(file, good[:i], 0o600))
		require.Equal(t, deployment.SumOf([]byte("text")), sum(t, observe.OpenIndexWithClock(file, indexLater), path), "%d bytes are left", i)
	}
	x = observe.OpenIndexWithClock(file, indexLater)
	sum(t, x, path)
	require.NoError(t, x.Save(), "and is written anew")
	_, known := observe.OpenIndexWithClock(file, indexLater).Known(path, observe.StatOf(info(t, path)))
	assert.True(t, known)
}

func TestManyGoroutines(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "index")
	for n := range 50 {
		write(t, filepath.Join(dir, fmt.Sprint(n)), fmt.Sprint("text ", n))
	}
	x := observe.OpenIndexWithClock(file, indexLater)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for n := range 50 {
				path := filepath.Join(dir, fmt.Sprint(n))
				assert.Equal(t, deployment.SumOf(fmt.Append(nil, "text ", n)), sum(t, x, path))
				if n%10 == 0 {
					assert.NoError(t, x.Save())
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, x.Close())
	y := observe.OpenIndexWithClock(file, indexLater)
	for n := range 50 {
		path := filepath.Join(dir, fmt.Sprint(n))
		_, known := y.Known(path, observe.StatOf(info(t, path)))
		assert.True(t, known, path)
	}
}
