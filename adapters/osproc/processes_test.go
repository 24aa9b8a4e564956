package osproc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/ports"
)

// adapter is what an adapter offers one Countersign process.
type adapter = ports.Processes

// opener is how to open an adapter whose limits are 4 and 20.
type opener struct {
	Open      func(t testing.TB, dir string) adapter   // as one more Countersign process over that directory, within this one
	Elsewhere func(t testing.TB, dir string) *exec.Cmd // a program that opens it over that directory and calls Serve
}

// processes runs the contract.
func processes(t *testing.T, h opener) {
	for name, test := range map[string]func(*testing.T, *fixture){
		"Ends":                      runEnds,
		"RefusesWhatCannotStart":    runRefuses,
		"TimesOut":                  runTimesOut,
		"EndsWithItsContext":        runCanceled,
		"PrintsAnything":            runPrints,
		"SeesOnlyWhatItWasGiven":    runSees,
		"LeavesNothingBehind":       runLeavesNothing,
		"KeepsSecrets":              runKeepsSecrets,
		"ForegroundLimit":           runLimit,
		"BackgroundLimit":           startLimit,
		"Background":                startEnds,
		"BackgroundTimesOut":        startTimesOut,
		"StubbornIsKilled":          stopStubborn,
		"StopIsForEverybody":        stopElsewhere,
		"StopEnded":                 stopEnded,
		"StopLosesPatience":         stopImpatient,
		"Cursors":                   outputCursors,
		"KeepsTheNewest":            outputNewest,
		"Watch":                     outputWatch,
		"OwnerOfRunKilled":          recoverRun,
		"RunEndsWithItsOwner":       endsWithItsOwner,
		"ServerKilledThenOwner":     recoverStart,
		"StopOfALostOne":            recoverByStop,
		"NothingToRecover":          recoverNothing,
		"NewestFirstAndLabelled":    listOrder,
		"UnknownIsNotFound":         listUnknown,
		"EndedContextStartsNothing": runEndedContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRoom(t, h))
		})
	}
}

// request is what Serve reads, one a line.
type request struct {
	Background bool         `json:"background"`
	Spec       process.Spec `json:"spec"`
}

// serve is the other end of the fixture's Elsewhere: it starts what it reads and writes the state of each as it runs, one a line.
func serve(in io.Reader, out io.Writer, p adapter) error {
	say := json.NewEncoder(out)
	for requests := json.NewDecoder(in); ; {
		var r request
		if err := requests.Decode(&r); err != nil {
			return err
		}
		if !r.Background {
			go p.Run(context.Background(), r.Spec, func(s process.State) { _ = say.Encode(s) }) //nolint:errcheck // it is killed before
			continue
		}
		s, err := p.Start(context.Background(), r.Spec)
		if err != nil {
			return err
		}
		if err := say.Encode(s); err != nil {
			return err
		}
	}
}

// fixture is where one case works: a directory of processes, and one for scripts.
type fixture struct {
	opener
	adapter
	dir, work string
}

func newRoom(t *testing.T, h opener) *fixture {
	base := t.TempDir()
	r := &fixture{opener: h, dir: filepath.Join(base, "home", "processes"), work: filepath.Join(base, "work")}
	require.NoError(t, os.Mkdir(r.work, 0o700))
	r.adapter = h.Open(t, r.dir)
	t.Cleanup(func() { r.clear(t) })
	return r
}

// clear ends what a case left running, and looks that ended means gone.
func (r *fixture) clear(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := r.Recover(ctx)
	require.NoError(t, err)
	states, err := r.List(ctx)
	require.NoError(t, err)
	for _, s := range states {
		_, err := r.Stop(ctx, s.ID, 0)
		assert.NoError(t, err)
		assert.Empty(t, carriers(s.ID), "whatever carries the mark of %s is gone", s.ID)
	}
}

// script returns a Spec that runs the text in sh.
func (r *fixture) script(t testing.TB, text string) process.Spec {
	file, err := os.CreateTemp(r.work, "script-*.sh")
	require.NoError(t, err)
	_, err = file.WriteString(text + "\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return process.Spec{Argv: []string{"sh", file.Name()}, Dir: r.work, Env: map[string]string{"PATH": os.Getenv("PATH")}}
}

func (r *fixture) run(t testing.TB, text string) process.Result {
	t.Helper()
	result, err := r.Run(t.Context(), r.script(t, text), nil)
	require.NoError(t, err)
	return result
}

// start starts a script in the background and waits until it has printed "ready".
func (r *fixture) start(t testing.TB, text string) process.State {
	t.Helper()
	s, err := r.Start(t.Context(), r.script(t, text))
	require.NoError(t, err)
	r.awaitReady(t, s.ID)
	return s
}

func (r *fixture) awaitReady(t testing.TB, id process.ID) {
	t.Helper()
	chunk := r.watch(t, id, 0)
	require.NotEmpty(t, chunk.Lines, "process %s printed nothing", id)
	require.Equal(t, "ready", chunk.Lines[0].Text)
}

// watch is Watch, for a minute at most.
func (r *fixture) watch(t testing.TB, id process.ID, from process.Cursor) process.Chunk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	chunk, err := r.Watch(ctx, id, from)
	require.NoError(t, err)
	return chunk
}

// final waits until the process has ended.
func (r *fixture) final(t testing.TB, id process.ID) process.State {
	t.Helper()
	for from := process.Cursor(0); ; {
		chunk := r.watch(t, id, from)
		if chunk.Ended {
			return r.inspect(t, id)
		}
		require.NotEqual(t, from, chunk.Next, "process %s does not end", id)
		from = chunk.Next
	}
}

func (r *fixture) inspect(t testing.TB, id process.ID) process.State {
	t.Helper()
	s, err := r.Inspect(t.Context(), id)
	require.NoError(t, err)
	return s
}

// server is a Countersign process of its own.
type server struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func (r *fixture) server(t testing.TB) *server {
	cmd := r.Elsewhere(t, r.dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	s := &server{cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() { s.kill() })
	return s
}

// start has the server start something, and returns it when it runs.
func (s *server) start(t testing.TB, background bool, spec process.Spec) (state process.State) {
	t.Helper()
	require.NoError(t, json.NewEncoder(s.in).Encode(request{background, spec}))
	line, err := s.out.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &state))
	return state
}

// kill ends the server as nobody can prepare for.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// carriers returns the processes that were started with the mark of a process, where that can be seen.
func carriers(id process.ID) (pids []int) {
	if runtime.GOOS != "linux" {
		return nil
	}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		env, _ := os.ReadFile(file)
		if bytes.Contains(append([]byte{0}, env...), []byte("\x00COUNTERSIGN_RUN_ID="+string(id)+"\x00")) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}
