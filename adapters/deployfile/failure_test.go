package deployfile_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

func TestTwoProcessesWithOneTransaction(t *testing.T) {
	for range 5 {
		h := host(t)
		h.Put(t, h.Path("root", "mine"), "mine", 0o600)
		tx := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: h.Path("root", "mine"), Text: "theirs"}, wish{Path: h.Path("root", "new"), Text: "x"})
		var outcomes [2]string
		var all sync.WaitGroup
		for i := range outcomes {
			cmd := command(t, order{Action: "apply", Home: h.Home, Tx: tx, At: h.Clock.Now()})
			all.Go(func() {
				out, _ := cmd.Output() // its words tell how it went
				outcomes[i] = strings.TrimSpace(string(out))
			})
		}
		all.Wait()
		assert.ElementsMatch(t, []string{"", string(deployment.ErrStale.Code)}, outcomes[:])
		list, _, err := h.Snapshots.List(t.Context(), h.Home)
		require.NoError(t, err)
		assert.Len(t, list, 1)
	}
}

func TestWaitsForTheLockAsLongAsTheCallerDoes(t *testing.T) {
	h := host(t)
	tx := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: h.Path("root", "x"), Text: "x"})
	held, err := docfile.NewDir(filepath.Join(h.Home, "state")).Lock(t.Context(), "deploy.lock")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = h.Machine.Apply(ctx, tx, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, held.Release())
	h.Apply(t, tx)
}

// sabotaged is a host whose steps are watched.
func sabotaged(t *testing.T) (machineHost, *atomic.Pointer[func(step, path string)]) {
	var saboteur atomic.Pointer[func(step, path string)]
	h := hostWith(t, t.TempDir(), func(step, path string) {
		if act := saboteur.Load(); act != nil {
			(*act)(step, path)
		}
	})
	return h, &saboteur
}

func TestFailureIsTakenBack(t *testing.T) {
	h, saboteur := sabotaged(t)
	tx := h.Upheaval(t)
	act := func(step, path string) {
		if step == "staged" && path == h.Path("root", "new", "dir", "exec") {
			assert.NoError(t, os.RemoveAll(h.Path("root", "new")))
		}
	}
	saboteur.Store(&act)
	before := tree(t, h.Dir)
	_, err := h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrDisk)
	assert.ErrorContains(t, err, h.Path("root", "new", "dir", "exec"))
	assert.Equal(t, before, tree(t, h.Dir))
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, p)
	list, _, err := h.Snapshots.List(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Len(t, list, 2, "what was taken back leaves no record")
	saboteur.Store(nil)
	h.Apply(t, tx)
}

// TestALinkPutThereWhileWriting is not followed, whether it takes the place of a root or of a directory below one: what was written is taken back.
func TestALinkPutThereWhileWriting(t *testing.T) {
	for name, swapped := range map[string][]string{"the root": {"root"}, "below it": {"root", "sub"}, "above it": {}} {
		t.Run(name, func(t *testing.T) {
			h, saboteur := sabotaged(t)
			h.Put(t, h.Path("root", "sub", "mine"), "mine", 0o600)
			tx := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: h.Path("root", "sub", "x"), Text: "x"}, wish{Path: h.Path("root", "sub", "more", "y"), Text: "y"})
			evil := t.TempDir()
			require.NoError(t, os.CopyFS(evil, os.DirFS(h.Path(swapped...))))
			before := tree(t, evil)
			act := func(step, _ string) {
				if step == "journalled" {
					assert.NoError(t, os.Rename(h.Path(swapped...), h.Path(swapped...)+".was"))
					assert.NoError(t, os.Symlink(evil, h.Path(swapped...)))
				}
			}
			saboteur.Store(&act)
			_, err := h.Machine.Apply(t.Context(), tx, nil)
			require.ErrorIs(t, err, deployment.ErrStale)
			assert.Equal(t, before, tree(t, evil))
		})
	}
}

func TestFailureThatCannotBeTakenBack(t *testing.T) {
	h, saboteur := sabotaged(t)
	h.Put(t, h.Path("root", "mine"), "mine", 0o600)
	tx := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: h.Path("root", "mine"), Text: "theirs"}, wish{Path: h.Path("root", "sub", "x"), Text: "x"})
	placed := make(chan struct{})
	var archive string
	var kept []byte
	act := func(step, path string) {
		switch {
		case step == "kept":
			archive = path
			var err error
			kept, err = os.ReadFile(path)
			assert.NoError(t, err)
		case step == "placed" && path == h.Path("root", "mine"):
			assert.NoError(t, os.Truncate(archive, 0))
			close(placed)
		case step == "staged" && path == h.Path("root", "sub", "x"):
			<-placed
			assert.NoError(t, os.RemoveAll(h.Path("root", "sub")))
		}
	}
	saboteur.Store(&act)
	_, err := h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrInterrupted)
	assert.ErrorContains(t, err, h.Path("root", "sub", "x"), "why it failed")
	assert.ErrorContains(t, err, filepath.Base(archive), "and why it could not be taken back")
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	require.NotNil(t, p)
	require.NoError(t, os.WriteFile(archive, kept, 0o600))
	saboteur.Store(nil)
	left, err := h.Recovery.Undo(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Empty(t, left)
	data, err := os.ReadFile(h.Path("root", "mine"))
	require.NoError(t, err)
	assert.Equal(t, "mine", string(data))
}

func TestAnEditInTheLastMomentSurvives(t *testing.T) {
	for name, edit := range map[string]func(path string) error{
		"edited":  func(path string) error { return os.WriteFile(path, []byte("edited in the last moment"), 0o600) },
		"removed": os.Remove,
	} {
		h, saboteur := sabotaged(t)
		h.Put(t, h.Path("root", "mine"), "mine", 0o600)
		h.Put(t, h.Path("root", "other"), "mine", 0o600)
		tx := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: h.Path("root", "mine"), Text: "theirs"}, wish{Path: h.Path("root", "other"), Text: "theirs"})
		act := func(step, path string) {
			if step == "staged" && path == h.Path("root", "mine") {
				assert.NoError(t, edit(path))
			}
		}
		saboteur.Store(&act)
		_, err := h.Machine.Apply(t.Context(), tx, nil)
		require.ErrorIs(t, err, deployment.ErrStale, name)
		tree := tree(t, h.Path("root"))
		if name == "edited" {
			assert.Equal(t, "-rw------- edited in the last moment", tree[h.Path("root", "mine")])
		} else {
			assert.NotContains(t, tree, h.Path("root", "mine"))
		}
		assert.Equal(t, "-rw------- mine", tree[h.Path("root", "other")])
	}
}

func TestPathTooLong(t *testing.T) {
	h := host(t)
	require.NoError(t, os.MkdirAll(h.Path("root"), 0o755))
	data := deployment.ContentOf([]byte("x"))
	long := h.Path("root", strings.Repeat("x", 256))
	_, err := h.Machine.Apply(t.Context(), deployment.Transaction{Kind: deployment.KindDeploy, Claim: true, Place: deployment.Locations{Home: h.Home}, Roots: []deployment.Root{h.Root("codex", "root")},
		Writes: []deployment.Write{{Op: deployment.OpCreate, Path: long, Data: data, After: deployment.Seen{Kind: deployment.Regular, Sum: data.Sum, Mode: deployment.PlainMode}}}}, nil)
	require.ErrorIs(t, err, deployment.ErrPathLong)
}

// TestPermissionDenied runs a child without privileges, because root may write anywhere.
func TestPermissionDenied(t *testing.T) {
	dir, err := os.MkdirTemp("", "deployfile")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	h := hostWith(t, dir, nil)
	h.Put(t, h.Path("root", "mine"), "mine", 0o600)
	require.NoError(t, os.Mkdir(h.Path("root", "fixed"), 0o755))
	tx := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: h.Path("root", "mine"), Text: "theirs"}, wish{Path: h.Path("root", "fixed", "x"), Text: "x"})
	require.NoError(t, os.Chmod(h.Path("root", "fixed"), 0o555))
	require.NoError(t, os.MkdirAll(h.Home, 0o755))
	before := tree(t, h.Dir)
	cmd := unprivileged(t, dir, order{Action: "apply", Home: h.Home, Tx: tx, At: h.Clock.Now()})
	out, err := cmd.Output()
	require.Error(t, err)
	assert.Equal(t, string(deployment.ErrPermission.Code), strings.TrimSpace(string(out)))
	assert.Equal(t, before, tree(t, h.Dir))
	p, err := h.Recovery.Pending(t.Context(), h.Home)
	require.NoError(t, err)
	assert.Nil(t, p)
}

// unprivileged is a child of a user who may not write everywhere, to whom everything in dir belongs.
func unprivileged(t *testing.T, dir string, o order) *exec.Cmd {
	t.Helper()
	cmd := command(t, o)
	if os.Getuid() != 0 {
		return cmd
	}
	const nobody = 65534
	path := strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], childVariable+"=")
	cmd.Path, cmd.Args = copyFile(t, os.Args[0], filepath.Join(dir, "child"), 0o755), []string{"child"}
	cmd.Env = append(cmd.Env, childVariable+"="+copyFile(t, path, filepath.Join(dir, "order"), 0o644))
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	}))
	return cmd
}

func copyFile(t testing.TB, from, to string, mode os.FileMode) string {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return to
}

func TestPermissionDetails(t *testing.T) {
	h, saboteur := sabotaged(t)
	tx := h.Deploy(t, []deployment.Root{h.Root("codex", "root")}, wish{Path: h.Path("root", "x"), Text: "x"})
	act := func(step, _ string) {
		if step == "journalled" { // the root becomes something that cannot be entered
			assert.NoError(t, os.MkdirAll(h.Dir, 0o755))
			assert.NoError(t, os.WriteFile(h.Path("root"), nil, 0o600))
		}
	}
	saboteur.Store(&act)
	_, err := h.Machine.Apply(t.Context(), tx, nil)
	require.ErrorIs(t, err, deployment.ErrDisk)
	details, err := json.Marshal(fault.From(err).Details)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(details, &fields))
	assert.Equal(t, h.Path("root"), fields["path"])
	assert.Equal(t, h.Path("root"), fields["path_posix"])
	assert.EqualValues(t, syscall.ENOTDIR, fields["raw_os_error"])
}

func TestWithFsync(t *testing.T) {
	t.Setenv("AGENTPACK_FSYNC", " Yes ")
	applying(t, host)
}
