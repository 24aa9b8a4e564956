package isolation_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/isolation"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// The words by which the test program is started as the launcher, as a program that calls somebody, and as one that types into its terminal.
const (
	launch = "isolation-launch"
	dial   = "isolation-dial"
	types  = "isolation-types"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		var err error
		switch os.Args[1] {
		case launch:
			err = isolation.Launch(os.Args[2:])
		case dial:
			var c net.Conn
			if c, err = net.Dial("tcp", os.Args[2]); err == nil {
				err = c.Close()
			}
		case types:
			key := byte('x')
			if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCSTI, uintptr(unsafe.Pointer(&key))); no != 0 {
				err = no
			}
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// home is a home with a secret, a clone, and a worktree of it.
func home(t *testing.T) (top, repo, box string, git func(dir string, args ...string) string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, value := range map[string]string{"HOME": top, "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		t.Setenv(name, value)
	}
	git = func(dir string, args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
		return strings.TrimSpace(string(out))
	}
	repo, box = filepath.Join(top, "clone"), filepath.Join(top, "boxes", "one")
	require.NoError(t, os.WriteFile(filepath.Join(top, "secret"), []byte("secret\n"), 0o600))
	require.NoError(t, os.MkdirAll(repo, 0o755))
	git(repo, "init", "-q", "-b", "main")
	git(repo, "commit", "-q", "--allow-empty", "-m", "first")
	git(repo, "worktree", "add", "-q", "-b", "one", box)
	return top, repo, box, git
}

// TestLandlockKeepsProgramsInside: files outside are neither written nor read, commits are made, and without network nobody is called; where the kernel has no
// such thing, it is refused.
func TestLandlockKeepsProgramsInside(t *testing.T) {
	top, repo, box, git := home(t)
	i := isolation.New(isolation.Options{Launcher: []string{os.Args[0], launch}})
	if err := i.Check("landlock-offline"); err != nil {
		require.ErrorIs(t, err, sandbox.ErrIsolation)
		_, err = i.Wrap("landlock-offline", repo, box, os.Getenv("PATH"), nil, []string{"true"})
		require.ErrorIs(t, err, sandbox.ErrIsolation)
		require.Error(t, isolation.Launch([]string{"offline", "--", "true"}), "it is not started without")
		return
	}
	in := func(word string, argv ...string) (string, error) {
		t.Helper()
		wrapped, err := i.Wrap(word, repo, box, os.Getenv("PATH"), nil, argv)
		require.NoError(t, err)
		cmd := exec.Command(wrapped[0], wrapped[1:]...)
		cmd.Dir = box
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := in("landlock", "sh", "-c", "echo made > made && cat made && echo t > \"$TMPDIR/t\" && git add made && git commit -q -m inside && echo gone > /dev/null")
	require.NoError(t, err, out)
	assert.Equal(t, "made\n", out)
	assert.Equal(t, "inside", git(repo, "log", "-1", "--format=%s", "one"))
	for _, command := range []string{"cat ../../secret", "echo x > ../../secret", "echo x > ../two", "ls ../..", "rm -f ../../secret && test ! -e ../../secret", ": > ../../clone/.git/config",
		"echo x > ../../clone/.git/hooks/pre-commit", "truncate -s 0 ../../secret", "ln -s ../../secret link && cat link", "mv made ../made", "kill -0 " + fmt.Sprint(os.Getpid())} {
		out, err := in("landlock", "sh", "-c", command)
		var failed *exec.ExitError
		assert.True(t, errors.As(err, &failed), "%s: %v %s", command, err, out)
	}
	said, err := os.ReadFile(filepath.Join(top, "secret"))
	require.NoError(t, err)
	assert.Equal(t, "secret\n", string(said))
	for _, place := range []string{"logs/refs/heads/link", "refs/heads/link", "objects/link", "worktrees/one/link"} {
		_, err = in("landlock", "sh", "-c", "ln -s "+top+"/secret link2; ln -s "+top+"/secret ../../clone/.git/"+place+"; mv link2 ../../clone/.git/"+place+"; rm -f link2")
		require.NoError(t, err)
		_, err = os.Lstat(filepath.Join(repo, ".git", place))
		require.ErrorIs(t, err, os.ErrNotExist, "no link is made where git would follow it")
	}
	temp := filepath.Join(repo, ".git", "worktrees", "one", "countersign-tmp")
	require.NoError(t, os.RemoveAll(temp))
	require.NoError(t, os.Symlink(top, temp))
	out, err = in("landlock", "cat", filepath.Join(top, "secret"))
	require.Error(t, err, "a link in the place of the temporary directory widens nothing")
	assert.NotContains(t, out, "secret\n")
	require.NoError(t, os.Remove(temp))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	out, err = in("landlock", os.Args[0], dial, l.Addr().String())
	require.NoError(t, err, out)
	out, err = in("landlock-offline", os.Args[0], dial, l.Addr().String())
	require.Error(t, err)
	assert.Contains(t, out, "permission denied")
	out, err = in("landlock", os.Args[0], types, "x")
	require.Error(t, err)
	assert.Contains(t, out, "operation not permitted", "that its input is no terminal is not what stops it")
}

// TestAWorktreeCannotWidenItsOwnRules: what its .git says is not asked.
func TestAWorktreeCannotWidenItsOwnRules(t *testing.T) {
	top, repo, box, _ := home(t)
	require.NoError(t, os.WriteFile(filepath.Join(box, ".git"), []byte("gitdir: "+top+"\n"), 0o600))
	bin := filepath.Join(top, "bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "bwrap"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o755))
	t.Setenv("PATH", bin)
	wrapped, err := isolation.New(isolation.Options{}).Wrap("bubblewrap-offline", repo, box, bin+":/usr/bin:relative:"+box+"/node_modules/.bin:"+bin+"/../boxes/one/bin", nil, []string{"npm", "test"})
	require.NoError(t, err)
	line := strings.Join(wrapped, " ")
	assert.True(t, strings.HasPrefix(line, filepath.Join(bin, "bwrap")+" --die-with-parent"), line)
	assert.True(t, strings.HasSuffix(line, "--chdir "+box+" -- npm test"), line)
	assert.Contains(t, line, "--unshare-net")
	assert.Contains(t, line, "--bind-try "+filepath.Join(repo, ".git", "worktrees", "one")+" ")
	assert.Contains(t, line, "--ro-bind-try "+filepath.Join(repo, ".git")+" ")
	assert.NotContains(t, line, "bind-try "+top+" ")
	assert.NotContains(t, line, "relative")
	assert.NotContains(t, line, "node_modules")
	assert.NotContains(t, line, "one/bin")
	_, err = isolation.New(isolation.Options{}).Wrap("bubblewrap", repo, filepath.Join(top, "boxes", "two"), bin, nil, []string{"true"})
	require.ErrorIs(t, err, sandbox.ErrIsolation, "of nothing else than a worktree")
}

// TestAContainerHasTheSandboxAlone: a program in the place of docker notes its arguments, and runs what follows the image.
func TestAContainerHasTheSandboxAlone(t *testing.T) {
	top, repo, box, _ := home(t)
	bin := filepath.Join(top, "bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\nprintf '%s\\n' \"$*\" > '"+top+"/said'\nwhile [ \"$1\" != here:1 ]; do shift; done\nshift\nexec \"$@\"\n"), 0o755))
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", path)
	i := isolation.New(isolation.Options{})
	for word, offline := range map[string]bool{"container:here:1": false, "container-offline:here:1": true} {
		require.NoError(t, i.Check(word))
		wrapped, err := i.Wrap(word, repo, box, path, []string{"SANDBOX_PORT", "HOME", "PATH"}, []string{"/opt/somewhere/sh", "-c", "echo made > made; pwd"})
		require.NoError(t, err)
		cmd := exec.Command(wrapped[0], wrapped[1:]...)
		cmd.Dir = box
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, box+"\n", string(out))
		text, err := os.ReadFile(filepath.Join(top, "said"))
		require.NoError(t, err)
		said := string(text)
		assert.True(t, strings.HasPrefix(said, "run --rm --init --interactive --cap-drop ALL --security-opt no-new-privileges --user "), said)
		assert.Contains(t, said, "--env HOME=/tmp --env TMPDIR=/tmp --env SANDBOX_PORT --workdir "+box+" here:1 sh -c ")
		git := filepath.Join(repo, ".git")
		for _, one := range []string{box, filepath.Join(git, "objects"), filepath.Join(git, "refs"), filepath.Join(git, "worktrees", "one")} {
			assert.Contains(t, said, " --mount type=bind,source="+one+",target="+one+" ")
		}
		assert.Contains(t, said, "source="+git+",target="+git+",readonly ")
		assert.NotContains(t, said, "source="+top+",")
		assert.Equal(t, offline, strings.Contains(said, " --network none "))
		begins, err := i.Begins(word, repo, box, []string{"SANDBOX_PORT", "HOME", "PATH"})
		require.NoError(t, err)
		assert.Equal(t, wrapped[:len(begins)], begins, "what a plan shows is what runs")
		assert.Equal(t, []string{"sh", "-c", "echo made > made; pwd"}, wrapped[len(begins):])
	}
	require.NoError(t, os.Rename(filepath.Join(bin, "docker"), filepath.Join(bin, "podman")))
	t.Setenv("PATH", bin)
	begins, err := i.Begins("container", repo, filepath.Join(top, "boxes", "late"), nil)
	require.NoError(t, err, "of a sandbox that is still to be made")
	line := strings.Join(begins, " ")
	assert.Contains(t, line, "--userns keep-id")
	assert.True(t, strings.HasSuffix(line, " "+sandbox.DefaultImage), line)
	_, err = i.Wrap("container", repo, filepath.Join(top, "boxes", "late"), bin, nil, []string{"true"})
	require.ErrorIs(t, err, sandbox.ErrIsolation, "nothing runs in what is no worktree")
}

// TestWhatIsNotThereIsRefused: with a way out.
func TestWhatIsNotThereIsRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	i := isolation.New(isolation.Options{})
	for word, way := range map[string]string{"bubblewrap": "use landlock", "container": "docker and podman", "container:-rm": "invalid image", "landlock": "this program has none", "chroot": "use landlock"} {
		require.ErrorContains(t, i.Check(word), way)
	}
	require.NoError(t, i.Check("none"))
	argv, err := i.Wrap("", "", "", "", nil, []string{"true"})
	require.NoError(t, err)
	assert.Equal(t, []string{"true"}, argv)
	require.Error(t, isolation.Launch([]string{"anything"}))
}
