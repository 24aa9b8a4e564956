package deployfile_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/domain/deployment"
)

func put(t testing.TB, v *deployfile.Vault, operation string, contents ...string) bool {
	t.Helper()
	w := v.Begin(operation)
	for _, c := range contents {
		require.NoError(t, w.Put(deployment.SumOf([]byte(c)), []byte(c)))
	}
	made, err := w.Commit()
	require.NoError(t, err)
	return made
}

func has(t testing.TB, v *deployfile.Vault, content string) bool {
	t.Helper()
	ok, err := v.Holds(deployment.SumOf([]byte(content)))
	require.NoError(t, err)
	if ok {
		got, err := v.Blob(deployment.SumOf([]byte(content)))
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
	return ok
}

func open(t testing.TB, dir string) *deployfile.Vault {
	v := deployfile.NewVault(dir)
	t.Cleanup(func() { assert.NoError(t, v.Close()) })
	return v
}

func TestKeepsContentsByTheirSum(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	v := open(t, dir)
	assert.False(t, has(t, v, "a"))
	assert.True(t, put(t, v, "1", "a", "b", "a", ""))
	assert.True(t, has(t, v, "a"), "at once")
	assert.True(t, has(t, open(t, dir), ""), "and for whoever looks later; no bytes are a content too")
	assert.False(t, put(t, v, "2", "a", "b"), "what an older archive holds is not stored again, and there is no archive of nothing")
	assert.True(t, put(t, v, "10", "c"))
	operations, err := v.Operations()
	require.NoError(t, err)
	assert.Equal(t, []string{"1", "10"}, operations)
	where, err := v.Where(deployment.SumOf([]byte("c")))
	require.NoError(t, err)
	assert.Equal(t, v.File("10")+"#"+deployment.SumOf([]byte("c")).String(), where)
	_, err = v.Blob(deployment.SumOf([]byte("nowhere")))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	info, err := os.Stat(v.File("1"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode(), "contents may be private")
	require.NoError(t, v.Remove("10"))
	require.NoError(t, v.Remove("10"), "twice is no error")
	assert.False(t, has(t, v, "c"))
}

func TestAbortLeavesNothing(t *testing.T) {
	v := open(t, t.TempDir())
	w := v.Begin("1")
	require.NoError(t, w.Put(deployment.SumOf([]byte("a")), []byte("a")))
	put, err := w.Has(deployment.SumOf([]byte("a")))
	require.NoError(t, err)
	assert.True(t, put)
	require.NoError(t, w.Abort())
	require.NoError(t, w.Abort())
	left, err := os.ReadDir(v.Dir())
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.False(t, has(t, v, "a"))
}

func TestPutFromManyGoroutines(t *testing.T) {
	v := open(t, t.TempDir())
	w := v.Begin("1")
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 100 {
				data := fmt.Appendf(nil, "content %d", i+g%2)
				assert.NoError(t, w.Put(deployment.SumOf(data), data))
			}
		})
	}
	all.Wait()
	_, err := w.Commit()
	require.NoError(t, err)
	for i := range 101 {
		assert.True(t, has(t, v, fmt.Sprintf("content %d", i)))
	}
}

func TestVaultDamage(t *testing.T) {
	dir := t.TempDir()
	v := open(t, dir)
	put(t, v, "1", "precious")
	data, err := os.ReadFile(v.File("1"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(v.File("1"), bytes.Replace(data, []byte("precious"), []byte("previous"), 1), 0o600))
	_, err = open(t, dir).Blob(deployment.SumOf([]byte("precious")))
	assert.ErrorIs(t, err, deployment.ErrSnapshotDamaged, "another content under its sum")

	require.NoError(t, os.WriteFile(v.File("1"), data[:len(data)-5], 0o600))
	fresh := open(t, dir)
	assert.False(t, has(t, fresh, "precious"), "a damaged archive holds nothing")
	assert.True(t, put(t, fresh, "2", "precious"), "so it is stored again")
	assert.True(t, has(t, fresh, "precious"))
	_, err = fresh.Keep(func(deployment.Sum) bool { return false })
	require.NoError(t, err)
	assert.FileExists(t, v.File("1"), "damaged archives stay")
	assert.NoFileExists(t, v.File("2"))
}

func TestSweep(t *testing.T) {
	v := open(t, filepath.Join(t.TempDir(), "vault"))
	require.NoError(t, v.Sweep(), "where there is no directory there is nothing to sweep")
	put(t, v, "1", "a")
	require.NoError(t, os.WriteFile(v.File("2")+".tmp", []byte("half"), 0o600))
	require.NoError(t, v.Sweep())
	assert.NoFileExists(t, v.File("2")+".tmp")
	assert.True(t, has(t, v, "a"))
}

func TestKeepDropsExactlyWhatNobodyNeeds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(r, err)
		v := deployfile.NewVault(dir)
		defer v.Close()
		content := rapid.StringN(0, 40, 200)
		var all []string
		for op := range rapid.IntRange(0, 5).Draw(r, "operations") {
			some := rapid.SliceOfN(content, 0, 6).Draw(r, "contents")
			all = append(all, some...)
			put(t, v, fmt.Sprint(op+8), some...)
		}
		needed := map[deployment.Sum]bool{}
		for _, c := range all {
			needed[deployment.SumOf([]byte(c))] = rapid.Bool().Draw(r, "needed")
		}
		before := total(t, dir)
		freed, err := v.Keep(func(s deployment.Sum) bool { return needed[s] })
		require.NoError(r, err)
		assert.Equal(r, before-total(t, dir), freed)
		for _, c := range all {
			require.Equal(r, needed[deployment.SumOf([]byte(c))], has(t, v, c), "%q", c)
		}
		again, err := v.Keep(func(s deployment.Sum) bool { return needed[s] })
		require.NoError(r, err)
		assert.Zero(r, again, "nothing more comes free")
	})
}

func total(t testing.TB, dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		n += info.Size()
	}
	return n
}

func TestHoldsTheSameContentInTwoArchivesOnlyOnceAfterKeep(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	assert.False(t, has(t, b, "x"), "b has looked, and does not see what comes after")
	put(t, a, "1", "x")
	put(t, b, "2", "x", "y")
	_, err := a.Keep(func(deployment.Sum) bool { return true })
	require.NoError(t, err)
	fresh := open(t, dir)
	assert.True(t, has(t, fresh, "x"))
	assert.True(t, has(t, fresh, "y"))
	info, err := os.Stat(fresh.File("2"))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(300), "x is in the first archive alone")
}
