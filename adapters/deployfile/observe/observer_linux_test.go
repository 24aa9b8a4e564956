package observe_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const nobody = 65534

// asNobody runs f as a user who may not do everything. The superuser becomes nobody on a thread of its own, which is thrown away.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan syscall.Errno)
	go func() {
		var failed syscall.Errno = syscall.EINVAL
		defer func() { done <- failed }()
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if _, _, failed = syscall.RawSyscall(syscall.SYS_SETRESGID, nobody, nobody, nobody); failed != 0 {
			return
		}
		if _, _, failed = syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); failed == 0 {
			f()
		}
	}()
	require.Zero(t, <-done)
}

// closed is a root that everybody may look into, with things in it that nobody may.
func closed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	for name, mode := range map[string]os.FileMode{"secret": 0, "open": 0o644, observe.ManifestName("codex"): 0} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "locked"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "locked", "file"), nil, 0o644))
	require.NoError(t, os.Chmod(filepath.Join(dir, "locked"), 0))
	require.NoError(t, os.Symlink("secret", filepath.Join(dir, "to-secret")))
	require.NoError(t, os.Symlink("locked/file", filepath.Join(dir, "to-locked")))
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	return dir
}

func TestWhatMayNotBeReadIsSaid(t *testing.T) {
	dir, k := closed(t), observe.NewObserver(observe.OpenIndex(""))
	asNobody(t, func() {
		for _, name := range []string{"secret", "locked/file", "to-secret"} {
			path := filepath.Join(dir, name)
			_, err := k.Observe(t.Context(), deployport.Look{Paths: []string{path}})
			assert.ErrorIs(t, err, deployment.ErrPermission, name)
			details, _ := fault.From(err).Details.(deployment.Details)
			assert.Equal(t, path, details["path"])
			assert.NotEmpty(t, details["hint"])
			_, _, err = k.Read(t.Context(), path)
			assert.ErrorIs(t, err, deployment.ErrPermission, name)
		}
		seen, err := k.Seen(filepath.Join(dir, "to-locked"))
		assert.NoError(t, err)
		assert.Equal(t, deployment.Seen{Kind: deployment.Link, Link: "locked/file"}, seen, "it leads to nothing that can be seen")

		_, err = k.Extras(t.Context(), deployment.Root{Path: dir})
		assert.ErrorIs(t, err, deployment.ErrPermission)

		o, err := k.Observe(t.Context(), deployport.Look{Roots: []deployment.Root{{Target: "codex", Path: dir}}})
		assert.NoError(t, err)
		assert.Len(t, o.Warnings, 1, "a manifest that may not be read is a warning")
	})
}

func TestWhatMayNotBeWrittenIsSaid(t *testing.T) {
	dir, k := closed(t), observe.NewObserver(observe.OpenIndex(""))
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	asNobody(t, func() {
		h, err := k.Check(t.Context(), deployment.Root{Target: "codex", Path: dir})
		assert.NoError(t, err)
		assert.Equal(t, deployport.RootHealth{Exists: true, Issues: []string{"not_writable"}}, h)
		h, err = k.Check(t.Context(), deployment.Root{Target: "codex", Path: filepath.Join(dir, "locked", "below")})
		assert.NoError(t, err)
		assert.Equal(t, deployport.RootHealth{Issues: []string{"not_writable"}}, h)
	})
}
