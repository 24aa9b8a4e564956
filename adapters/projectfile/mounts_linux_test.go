package projectfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project"
)

const ownMounts = "PROJECTFILE_TEST_OWN_MOUNTS"

// TestMountedTwice looks at a directory that is mounted in two places: it is the same one by identity, and no spelling says so, which is
// also what a volume that folds case looks like. The mounts are those of a child, and gone with it.
func TestMountedTwice(t *testing.T) {
	if os.Getenv(ownMounts) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMountedTwice$", "-test.v")
		child.Env = append(os.Environ(), ownMounts+"=1")
		child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
		var said strings.Builder
		child.Stdout, child.Stderr = &said, &said
		if err := child.Start(); err != nil {
			t.Skipf("this machine gives no user a mount namespace: %v", err)
		}
		require.NoError(t, child.Wait(), said.String())
		if strings.Contains(said.String(), "--- SKIP") {
			t.Skip(said.String())
		}
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"home", "proj/src/deep", "twin", "hidden/src", "home/people"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	bind(t, base+"/proj", base+"/twin")
	bind(t, base+"/home", base+"/home/people")
	d := projectfile.New(projectfile.Options{Home: base + "/home"})

	dir, root, err := d.Resolve(t.Context(), base+"/twin/src/deep", []string{base + "/proj"})
	require.NoError(t, err)
	assert.Equal(t, [2]string{base + "/proj/src/deep", base + "/proj"}, [2]string{dir, root})
	dir, _, err = d.Planned(t.Context(), base+"/twin/src/new", []string{base + "/proj"})
	require.NoError(t, err)
	assert.Equal(t, base+"/proj/src/new", dir)
	_, err = d.Register(t.Context(), base+"/home/people")
	require.ErrorIs(t, err, project.ErrRegistration, "home by another name is home")

	bind(t, base+"/hidden", base+"/proj/src") // twin/src/deep is not what proj/src/deep is now
	_, _, err = d.Resolve(t.Context(), base+"/twin/src/deep", []string{base + "/proj"})
	require.ErrorIs(t, err, project.ErrPath)
}

func bind(t *testing.T, from, to string) {
	t.Helper()
	if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("mounts are not allowed here: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(to, syscall.MNT_DETACH)) })
}
