package osproc_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/process"

	"github.com/countersign-dev/countersign/ports"
)

var (
	_ ports.Processes = (*osproc.Processes)(nil)
)

// TestMain lets the test binary be the supervisors and the other Countersign processes that the tests need.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "supervise":
			if osproc.Supervise(os.Stdin, osproc.Options{}) != nil {
				os.Exit(1)
			}
			os.Exit(0)
		case "serve":
			_ = serve(os.Stdin, os.Stdout, open(os.Args[2]))
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for { // supervisors that nobody asked about since they ended
			if pid, err := syscall.Wait4(-1, nil, 0, nil); pid <= 0 && err != syscall.EINTR {
				os.Exit(code)
			}
		}
	}))
}

func open(dir string) *osproc.Processes {
	return osproc.New(osproc.Options{Dir: dir, Supervisor: []string{os.Args[0], "supervise"}})
}

func TestProcesses(t *testing.T) {
	processes(t, opener{
		Open:      func(_ testing.TB, dir string) adapter { return open(dir) },
		Elsewhere: func(_ testing.TB, dir string) *exec.Cmd { return exec.Command(os.Args[0], "serve", dir) },
	})
}

func sh(t testing.TB, text string) process.Spec {
	return process.Spec{Argv: []string{"sh", "-c", text}, Dir: t.TempDir(), Env: map[string]string{"PATH": os.Getenv("PATH")}}
}

func stop(t testing.TB, p *osproc.Processes, id process.ID) {
	_, err := p.Stop(context.WithoutCancel(t.Context()), id, 0)
	assert.NoError(t, err)
}

func TestJudgingIsAboutOneProcess(t *testing.T) {
	self := osproc.Self()
	assert.Equal(t, owner.Alive, osproc.Judge(self))
	assert.Equal(t, self, osproc.Self())
	id, ok := owner.ParseID(self)
	require.True(t, ok)
	assert.Equal(t, os.Getpid(), id.PID)
	assert.Equal(t, owner.Dead, osproc.Judge(""), "nobody")
	with := func(change func(*owner.ID)) string {
		other := id
		change(&other)
		return other.String()
	}
	for other, want := range map[string]owner.Verdict{
		with(func(id *owner.ID) { id.Start = "1" }):                       owner.Dead,
		with(func(id *owner.ID) { id.Boot = "another-boot" }):             owner.Dead,
		with(func(id *owner.ID) { id.Boot, id.Machine = "b", "another" }): owner.Unknown,
		with(func(id *owner.ID) { id.Space = "1" }):                       owner.Unknown,
		with(func(id *owner.ID) { id.Space, id.Start = "1", "1" }):        owner.Unknown,
		with(func(id *owner.ID) { id.Start = "" }):                        owner.Unknown,
		":": owner.Unknown, "::": owner.Unknown, "x:y:z": owner.Unknown, "-1:1:" + id.Boot: owner.Unknown,
		strconv.Itoa(id.PID) + ":" + id.Start + ":" + id.Boot: owner.Alive,
		strconv.Itoa(id.PID) + ":1:" + id.Boot:                owner.Unknown,
		strconv.Itoa(id.PID) + ":" + id.Start + ":older":      owner.Dead,
	} {
		assert.Equal(t, want, osproc.Judge(other), "%q", other)
	}
}

// innocent returns a process that has nothing to do with anything, and leads a group.
func innocent(t *testing.T) *exec.Cmd {
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// A number that came again belongs to somebody else, who is left alone, whatever is written about it.
func TestNumbersThatCameAgain(t *testing.T) {
	parts := strings.Split(osproc.Self(), ":")
	require.Len(t, parts, 5)
	for name, identity := range map[string]func(pid string) string{
		"another start": func(pid string) string { return pid + ":1:" + parts[2] },
		"another boot":  func(pid string) string { return pid + ":" + parts[1] + ":00000000-0000-0000-0000-000000000000" },
		"no identity":   func(string) string { return "" },
		"everybody":     func(string) string { return "-1:1:" + parts[2] },
		"the group":     func(string) string { return "0:1:" + parts[2] },
		"the first":     func(string) string { return "1:0:" + parts[2] },
		"its own, of a program that Countersign never started": func(pid string) string {
			n, err := strconv.Atoi(pid)
			require.NoError(t, err)
			own, ok := osproc.IdentityOf(n)
			require.True(t, ok)
			return string(own)
		},
	} {
		dir := t.TempDir()
		other := innocent(t)
		const id = "bp_0badcafe"
		state := process.State{ID: id, Argv: []string{"npm"}, Dir: "/", Background: true, Status: process.Running, PID: other.Process.Pid, StartedAt: time.Now()}
		doc, err := json.Marshal(map[string]any{"state": state, "owner": "999999999:1:" + strings.Join(parts[2:], ":"), "leader": identity(strconv.Itoa(other.Process.Pid))})
		require.NoError(t, err)
		for file, text := range map[string][]byte{id + "/state.json": doc, "active/" + id: nil} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
		}
		p := open(dir)
		s, err := p.Inspect(t.Context(), id)
		require.NoError(t, err, name)
		assert.True(t, s.Lost, name)
		settled, err := p.Recover(t.Context())
		require.NoError(t, err, name)
		require.Len(t, settled, 1, name)
		assert.Contains(t, settled[0].Reason, "none of its known processes was left", name)
		s, err = p.Stop(t.Context(), id, 0)
		require.NoError(t, err, name)
		assert.Equal(t, process.Failed, s.Status, name)
		assert.NoError(t, other.Process.Signal(syscall.Signal(0)), "%s: it lives", name)
	}
}

// A directory that cannot be written hurts neither the program nor its caller.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("/dev/full: there is no full disk to try")
	}
	dir := t.TempDir()
	p := open(dir)
	spec := sh(t, "until [ -e go ]; do sleep 0.01; done; seq 1 50000; echo err >&2")
	var id process.ID
	result, err := p.Run(t.Context(), spec, func(s process.State) {
		id = s.ID
		require.NoError(t, os.Symlink("/dev/full", filepath.Join(dir, string(id), "0000000000000000001.lines")))
		require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "go"), nil, 0o600))
	})
	require.NoError(t, err)
	assert.True(t, result.OK())
	assert.Contains(t, string(result.Stdout), "\n49999\n50000\n")
	s, err := p.Inspect(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, process.Completed, s.Status)
}

func TestStateThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	p := open(dir)
	spec := sh(t, "until [ -e go ]; do sleep 0.01; done; echo done")
	var id process.ID
	result, err := p.Run(t.Context(), spec, func(s process.State) {
		id = s.ID
		require.NoError(t, os.Mkdir(filepath.Join(dir, string(id), "state.json.new"), 0o700), "where the new state would be written")
		require.NoError(t, os.Mkdir(filepath.Join(dir, string(id), "0000000000000000001.lines"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "go"), nil, 0o600))
	})
	require.NoError(t, err)
	assert.True(t, result.OK())
	assert.Equal(t, "done\n", string(result.Stdout))
	s, err := p.Inspect(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, process.Completed, s.Status, "whoever ran it knows better than the directory")
	assert.Contains(t, s.Reason, "some of its output could not be written")
	require.NoError(t, os.Remove(filepath.Join(dir, string(id), "state.json.new")))
	_, err = p.Recover(t.Context())
	require.NoError(t, err)
	s, err = open(dir).Inspect(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, process.Completed, s.Status, "and says so when it can")
}

func TestSupervisorsThatAreNone(t *testing.T) {
	for name, argv := range map[string][]string{
		"none":        nil,
		"missing":     {"/no/such/supervisor"},
		"another":     {"/bin/false"},
		"a deaf one":  {"/bin/sleep", "300"},
		"a wrong one": {os.Args[0], "serve", t.TempDir()},
	} {
		p := osproc.New(osproc.Options{Dir: t.TempDir(), Supervisor: argv})
		ctx, cancel := context.WithCancel(t.Context())
		if name == "a deaf one" {
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		}
		spec := sh(t, "touch here")
		spec.Env["BIG"] = strings.Repeat("x", 30<<10)
		spec.Argv = append(spec.Argv, strings.Repeat("y", 1<<19))
		s, err := p.Start(ctx, spec)
		cancel()
		if name == "a deaf one" {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		} else {
			require.ErrorIs(t, err, process.ErrStart, name)
		}
		if argv != nil {
			assert.Equal(t, process.Failed, s.Status, name)
			assert.False(t, s.Lost, name)
		}
		states, err := p.List(t.Context())
		require.NoError(t, err)
		for _, listed := range states {
			assert.Equal(t, s, listed, name)
		}
		settled, err := p.Recover(t.Context())
		require.NoError(t, err)
		assert.Empty(t, settled, name)
		assert.NoFileExists(t, filepath.Join(spec.Dir, "here"), name)
	}
}

// What is started in the background gets its arguments and variables byte for byte.
func TestBackgroundGetsBytes(t *testing.T) {
	p := open(t.TempDir())
	spec := sh(t, `printf '%s' "$0$ODD" > bytes; echo "$1" >&2`)
	spec.Argv = append(spec.Argv, "\xff\xfe\x80", "a\nb")
	spec.Env["ODD"] = "\xc3("
	s, err := p.Start(t.Context(), spec)
	require.NoError(t, err)
	chunk, err := p.Watch(t.Context(), s.ID, 1)
	require.NoError(t, err)
	require.NotEmpty(t, chunk.Lines)
	doc, err := os.ReadFile(filepath.Join(spec.Dir, "bytes"))
	require.NoError(t, err)
	assert.Equal(t, "\xff\xfe\x80\xc3(", string(doc))
	stop(t, p, s.ID)
}

func TestSuperviseIsNotForPeople(t *testing.T) {
	err := osproc.Supervise(strings.NewReader("hello"), osproc.Options{})
	require.ErrorIs(t, err, process.ErrSpec)
}

// A supervisor that is told to end, as at the end of a session, ends its program first.
func TestSupervisorThatIsToldToEnd(t *testing.T) {
	p := open(t.TempDir())
	s, err := p.Start(t.Context(), sh(t, "echo ready; exec sleep 300"))
	require.NoError(t, err)
	chunk, err := p.Watch(t.Context(), s.ID, 0)
	require.NoError(t, err)
	require.Len(t, chunk.Lines, 1)
	require.Greater(t, s.Owner, 1)
	require.NoError(t, syscall.Kill(s.Owner, syscall.SIGTERM))
	chunk, err = p.Watch(t.Context(), s.ID, 1)
	require.NoError(t, err)
	assert.True(t, chunk.Ended)
	s, err = p.Inspect(t.Context(), s.ID)
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, s.Status)
	assert.False(t, s.Lost)
}

type later struct{ by time.Duration }

func (l later) Now() time.Time { return time.Now().Add(l.by).UTC() }

func TestEndedOnesAreForgotten(t *testing.T) {
	dir := t.TempDir()
	p := open(dir)
	_, err := p.Run(t.Context(), sh(t, ":"), nil)
	require.NoError(t, err)
	running, err := p.Start(t.Context(), sh(t, "sleep 300"))
	require.NoError(t, err)
	defer stop(t, p, running.ID)
	kept := sh(t, "exit 3")
	kept.Keep = 65 * time.Minute
	_, err = p.Run(t.Context(), kept, nil)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bp_00000000"), 0o700), "somebody died while making it")
	_, err = osproc.New(osproc.Options{Dir: dir, Clock: later{50 * time.Minute}}).Recover(t.Context())
	require.NoError(t, err)
	states, err := p.List(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 3)
	assert.DirExists(t, filepath.Join(dir, "bp_00000000"))
	_, err = osproc.New(osproc.Options{Dir: dir, Clock: later{64 * time.Minute}}).Recover(t.Context())
	require.NoError(t, err)
	states, err = p.List(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 2, "one that is to be kept for longer")
	older := osproc.New(osproc.Options{Dir: dir, Clock: later{70 * time.Minute}})
	_, err = older.Recover(t.Context())
	require.NoError(t, err)
	states, err = older.List(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 1, "what runs is not forgotten, however long")
	assert.Equal(t, running, states[0])
	assert.NoDirExists(t, filepath.Join(dir, "bp_00000000"))
}

// Nothing that this process has open, on purpose or by inheritance, is open in what it starts.
func TestNoDescriptorsAreInherited(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc: descriptors of others are seen on Linux alone")
	}
	file, err := os.Open("/dev/null")
	require.NoError(t, err)
	defer file.Close()
	fd, err := syscall.Dup(int(file.Fd())) // as if it had been given to this process: not closed by exec
	require.NoError(t, err)
	defer syscall.Close(fd)
	p := open(t.TempDir())
	spec := sh(t, "")
	spec.Argv = []string{"ls", "/proc/self/fd"}
	result, err := p.Run(t.Context(), spec, nil)
	require.NoError(t, err)
	assert.Equal(t, "0\n1\n2\n3\n", string(result.Stdout), "3 is the directory that is read")
	s, err := p.Start(t.Context(), spec)
	require.NoError(t, err)
	var text string
	for from, ended := process.Cursor(0), false; !ended; {
		chunk, err := p.Watch(t.Context(), s.ID, from)
		require.NoError(t, err)
		for _, l := range chunk.Lines {
			text += l.Text
		}
		from, ended = chunk.Next, chunk.Ended
	}
	assert.Equal(t, "0123", text)
}

// 100 MB cost no more memory than what is kept of them, some times.
func TestMemoryIsBounded(t *testing.T) {
	p := open(t.TempDir())
	spec := sh(t, "yes 'one line like all the others, of a length that is ordinary' | head -c 100000000")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, err := p.Run(t.Context(), spec, nil)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	assert.True(t, result.OK())
	assert.Equal(t, int64(100_000_000), result.Printed)
	assert.Less(t, len(result.Stdout), process.HeadBytes+process.MaxBytes+100)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(90_000_000))
	assert.Less(t, after.HeapSys-min(after.HeapSys, before.HeapSys), uint64(40<<20))
}

// What a program prints is in its log as well, masked, whether somebody waits for it or not, and the log outlives what is kept of it.
func TestLog(t *testing.T) {
	p := open(t.TempDir())
	log := filepath.Join(t.TempDir(), "server.log")
	spec := sh(t, "echo first; echo the password is $WORD >&2")
	spec.Log, spec.Env["WORD"], spec.Secrets = log, "correct-horse", []string{"correct-horse"}
	var seen process.State
	_, err := p.Run(t.Context(), spec, func(s process.State) { seen = s })
	require.NoError(t, err)
	assert.Equal(t, log, seen.Log)
	s, err := p.Start(t.Context(), spec)
	require.NoError(t, err)
	assert.Equal(t, log, s.Log)
	require.Eventually(t, func() bool {
		s, err = p.Inspect(t.Context(), s.ID)
		return err == nil && s.Status.Final()
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, log, s.Log)
	assert.Empty(t, s.Reason)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(text), "first\n"), "%s", text)
	assert.Equal(t, 2, strings.Count(string(text), "the password is "), "%s", text)
	assert.NotContains(t, string(text), "correct-horse")
	info, err := os.Stat(log)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	spec.Log = filepath.Join(t.TempDir(), "none", "server.log")
	result, err := p.Run(t.Context(), spec, nil)
	require.NoError(t, err, "a log that cannot be written does not keep a program from running")
	assert.True(t, result.OK())
	for _, bad := range []string{"relative.log", "/a/../b", "/nul\x00"} {
		spec.Log = bad
		_, err := p.Run(t.Context(), spec, nil)
		require.ErrorIs(t, err, process.ErrSpec, bad)
	}
}
