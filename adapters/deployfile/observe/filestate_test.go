package observe_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

func TestFaults(t *testing.T) {
	for number, want := range map[syscall.Errno]*fault.Error{
		syscall.EACCES: deployment.ErrPermission, syscall.EPERM: deployment.ErrPermission, syscall.EROFS: deployment.ErrPermission,
		syscall.ENOSPC: deployment.ErrDisk, syscall.EIO: deployment.ErrDisk, syscall.ENAMETOOLONG: deployment.ErrPathLong,
	} {
		err := observe.FileFault(&fs.PathError{Op: "open", Path: "x", Err: number}, `/a\b`)
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, err, number, "the cause is kept")
		assert.ErrorContains(t, err, `/a\b`)
		details := fault.From(err).Details.(deployment.Details)
		assert.Equal(t, `/a\b`, details["path"])
		assert.Equal(t, "/a/b", details["path_posix"])
		assert.Equal(t, int(number), details["raw_os_error"])
	}
	for _, err := range []error{nil, context.Canceled, deployment.ErrStale} {
		assert.Equal(t, err, observe.FileFault(err, "x"), "what is said already")
	}
	details := fault.From(observe.FileFault(syscall.EROFS, "x")).Details.(deployment.Details)
	assert.Equal(t, "permission_denied", details["io_kind"])
}

func TestFinalMode(t *testing.T) {
	seen := func(mode fs.FileMode) deployment.Seen { return deployment.Seen{Kind: deployment.Regular, Mode: mode} }
	for name, c := range map[string]struct {
		before      deployment.Seen
		want, umask fs.FileMode
		final       fs.FileMode
	}{
		"new":                           {deployment.Seen{}, deployment.PlainMode, 0o022, 0o644},
		"new, private":                  {deployment.Seen{}, deployment.ExecutableMode, 0o077, 0o700},
		"over a link":                   {deployment.Seen{Kind: deployment.Link}, deployment.ExecutableMode, 0o002, 0o755},
		"kept":                          {seen(0o664), deployment.PlainMode, 0o077, 0o664},
		"kept executable":               {seen(0o750), deployment.ExecutableMode, 0, 0o750},
		"becomes executable":            {seen(0o640), deployment.ExecutableMode, 0o077, 0o750},
		"that nobody may read, too":     {seen(0o200), deployment.ExecutableMode, 0, 0o300},
		"is no longer executable":       {seen(0o751), deployment.PlainMode, 0, 0o640},
		"meant as it is":                {seen(0o755), 0o600, 0o077, 0o600},
		"meant as it is, where is none": {deployment.Seen{}, 0o666, 0o077, 0o666},
	} {
		w := deployment.Write{Before: c.before, After: seen(c.want)}
		assert.Equal(t, c.final, observe.FinalMode(w, c.umask), name)
	}
}

func TestSee(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("file"), []byte("text"), 0o640))
	require.NoError(t, os.Symlink("file", at("link")))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	for name, want := range map[string]deployment.Seen{
		"file":      {Kind: deployment.Regular, Sum: deployment.SumOf([]byte("text")), Size: 4, Mode: 0o640},
		"link":      {Kind: deployment.Link, Link: "file"},
		"pipe":      {Kind: deployment.Special, Mode: 0o600},
		"none":      {},
		"file/none": {},
	} {
		got, err := observe.InspectPath(at(name))
		require.NoError(t, err, name)
		assert.Equal(t, want, got.Seen, name)
	}
	got, err := observe.InspectPath(dir)
	require.NoError(t, err)
	assert.Equal(t, deployment.Directory, got.Kind)

	data, found, err := observe.ReadFile(at("link"))
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, "text", string(data), "a link is followed")
	for _, name := range []string{"none", "pipe", ""} {
		data, found, err = observe.ReadFile(at(name))
		require.NoError(t, err, name)
		assert.False(t, found, name)
		assert.Empty(t, data, name)
	}
}

func TestUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	look := func() fs.FileInfo { info, _ := os.Lstat(path); return info }
	before := look()
	assert.True(t, observe.SameFile(look(), before))
	assert.True(t, observe.SameFile(nil, nil))
	assert.False(t, observe.SameFile(nil, before))
	assert.False(t, observe.SameFile(before, nil))
	require.NoError(t, os.WriteFile(path+"2", []byte("text"), 0o600))
	require.NoError(t, os.Chtimes(path+"2", before.ModTime(), before.ModTime()))
	require.NoError(t, os.Rename(path+"2", path))
	assert.False(t, observe.SameFile(look(), before), "another file, however alike")
	before = look()
	require.NoError(t, os.Chmod(path, 0o640))
	assert.False(t, observe.SameFile(look(), before))
}

func TestRoots(t *testing.T) {
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	at := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	require.NoError(t, os.MkdirAll(at("real", "sub"), 0o755))
	require.NoError(t, os.WriteFile(at("file"), nil, 0o600))
	require.NoError(t, os.Symlink("real", at("link")))
	require.NoError(t, os.Symlink("nowhere", at("broken")))
	require.NoError(t, os.Symlink("loop", at("loop")))
	for _, root := range []string{at("file"), at("file", "below"), at("broken"), at("broken", "below"), at("loop"), "relative", ""} {
		_, err := observe.NewPathResolver(nil).Parent(root, filepath.Join(root, "x"))
		assert.ErrorIs(t, err, deployment.ErrPath, root)
	}
	m := observe.NewPathResolver(nil)
	spot, err := m.Parent(at("link", "sub"), at("link", "sub", "new", "x"))
	require.NoError(t, err)
	assert.Equal(t, observe.ResolvedDir{Root: at("real", "sub"), Rel: "new", Missing: true}, spot)
	assert.Equal(t, at("real", "sub", "new", "x"), spot.File("x"))
	spot, err = m.Parent(at("link", "to", "come"), at("link", "to", "come", "x"))
	require.NoError(t, err)
	assert.Equal(t, observe.ResolvedDir{Root: at("real", "to", "come"), Rel: ".", Missing: true}, spot)
	assert.Equal(t, []string{at("link", "sub", "new"), at("link", "to"), at("link", "to", "come")}, m.Made, "parents first")

	m = observe.NewPathResolver(map[string]bool{at("real", "gives way"): true})
	require.NoError(t, os.WriteFile(at("real", "gives way"), nil, 0o600))
	spot, err = m.Parent(at("real"), at("real", "gives way", "x"))
	require.NoError(t, err)
	assert.True(t, spot.Missing)
}
