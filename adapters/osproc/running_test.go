package osproc_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
)

func runEnds(t *testing.T, r *fixture) {
	for text, want := range map[string]process.Result{
		":":                        {Status: process.Completed},
		"exit 3":                   {Status: process.Failed, Exit: process.Exit{Code: 3}},
		"kill -9 $$":               {Status: process.Failed, Exit: process.Exit{Code: -1, Signal: "killed"}},
		"kill -TERM $$":            {Status: process.Failed, Exit: process.Exit{Code: -1, Signal: "terminated"}},
		"echo out; echo err >&2":   {Status: process.Completed, Stdout: []byte("out\n"), Stderr: []byte("err\n")},
		"echo half; exit 1; never": {Status: process.Failed, Exit: process.Exit{Code: 1}, Stdout: []byte("half\n")},
	} {
		var running process.State
		have, err := r.Run(t.Context(), r.script(t, text), func(s process.State) { running = s })
		require.NoError(t, err, text)
		assert.Positive(t, have.Elapsed)
		have.Elapsed, want.Printed = 0, int64(len(want.Stdout)+len(want.Stderr))
		assert.Equal(t, want, have, text)

		assert.Equal(t, process.Running, running.Status)
		assert.Positive(t, running.PID)
		assert.Equal(t, os.Getpid(), running.Owner)
		assert.False(t, running.Background)
		assert.Regexp(t, `^run_[0-9a-f]{8}$`, string(running.ID))
		ended := r.inspect(t, running.ID)
		assert.Equal(t, want.Status, ended.Status)
		assert.Equal(t, want.Exit, ended.Exit)
		assert.False(t, ended.EndedAt.Before(ended.StartedAt))
	}
}

func runRefuses(t *testing.T, r *fixture) {
	plain := filepath.Join(r.work, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	path := map[string]string{"PATH": os.Getenv("PATH")}
	for name, c := range map[string]struct {
		spec process.Spec
		want error
		says string
	}{
		"no program":          {process.Spec{Argv: []string{"no-such-program-at-all"}, Dir: r.work, Env: path}, process.ErrStart, "no-such-program-at-all"},
		"no PATH":             {process.Spec{Argv: []string{"sh"}, Dir: r.work}, process.ErrStart, "sh"},
		"a relative PATH":     {process.Spec{Argv: []string{"plain"}, Dir: r.work, Env: map[string]string{"PATH": ".:"}}, process.ErrStart, "plain"},
		"not executable":      {process.Spec{Argv: []string{plain}, Dir: r.work, Env: path}, process.ErrStart, "permission denied"},
		"no directory":        {process.Spec{Argv: []string{"sh"}, Dir: r.work + "/missing", Env: path}, process.ErrStart, "missing"},
		"a file as directory": {process.Spec{Argv: []string{"sh"}, Dir: plain, Env: path}, process.ErrStart, plain},
		"a relative one":      {process.Spec{Argv: []string{"sh"}, Dir: "work", Env: path}, process.ErrSpec, "work"},
		"nothing":             {process.Spec{}, process.ErrSpec, "argv"},
	} {
		result, err := r.Run(t.Context(), c.spec, func(process.State) { t.Error("it does not run") })
		require.ErrorIs(t, err, c.want, name)
		assert.ErrorContains(t, err, c.says, name)
		assert.False(t, result.OK(), name)
		s, err := r.Start(t.Context(), c.spec)
		require.ErrorIs(t, err, c.want, name)
		assert.ErrorContains(t, err, c.says, name)
		if c.want == process.ErrStart {
			assert.Equal(t, process.Failed, s.Status, name)
			assert.Contains(t, s.Reason, c.says, name)
			assert.Equal(t, s, r.inspect(t, s.ID), "what never started can be looked up")
		}
	}
}

func runEndedContext(t *testing.T, r *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Run(ctx, r.script(t, "touch was-here"), nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = r.Start(ctx, r.script(t, "touch was-here"))
	require.ErrorIs(t, err, context.Canceled)
	states, err := r.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, states)
	assert.NoFileExists(t, filepath.Join(r.work, "was-here"))
	assert.NoDirExists(t, r.dir, "nothing is made before something starts")
}

func runTimesOut(t *testing.T, r *fixture) {
	spec := r.script(t, "echo before; sleep 300; echo after")
	for spec.Timeout = 300 * time.Millisecond; ; spec.Timeout *= 2 { // as long as it takes to begin
		have, err := r.Run(t.Context(), spec, nil)
		require.NoError(t, err)
		require.Equal(t, process.TimedOut, have.Status)
		require.GreaterOrEqual(t, have.Elapsed, spec.Timeout)
		if string(have.Stdout) == "before\n" {
			return
		}
		require.Empty(t, have.Stdout)
		require.Less(t, spec.Timeout, time.Minute, "what was printed in time is not kept")
	}
}

func runCanceled(t *testing.T, r *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	var id process.ID
	var wg sync.WaitGroup
	have, err := r.Run(ctx, r.script(t, "echo ready; sleep 300 & wait"), func(s process.State) {
		id = s.ID
		wg.Go(func() {
			r.awaitReady(t, s.ID)
			cancel()
		})
	})
	wg.Wait()
	require.NoError(t, err)
	assert.Equal(t, process.Stopped, have.Status)
	assert.Equal(t, "ready\n", string(have.Stdout))
	s := r.inspect(t, id)
	assert.Equal(t, process.Stopped, s.Status)
	assert.False(t, s.Escalated)
	assert.Empty(t, carriers(id))
}

func runPrints(t *testing.T, r *fixture) {
	long := strings.Repeat("x", process.MaxLineBytes)
	for text, want := range map[string]process.Result{
		":":                                 {},
		`printf 'no end'`:                   {Stdout: []byte("no end")},
		`printf 'a\r\nb\r\n'`:               {Stdout: []byte("a\nb\n")},
		`printf 'nul\000l \377\376 \303'`:   {Stdout: []byte("null \ufffd\ufffd \ufffd")},
		`printf '\n\n'`:                     {Stdout: []byte("\n\n")},
		`printf '\033[1;31mred\033[0m\a\n'`: {Stdout: []byte("red\n")},
		`printf '\033]0;title\007text\n'`:   {Stdout: []byte("text\n")},
		`printf 'a\342\200\256b\n' >&2`:     {Stderr: []byte("ab\n")},
		`printf 'no end' >&2; echo end`:     {Stdout: []byte("end\n"), Stderr: []byte("no end")},
		"head -c 1048576 /dev/zero | tr '\\0' x; echo; echo next": {Stdout: []byte(long + "\nnext\n"), Dropped: 1<<20 - process.MaxLineBytes},
	} {
		have := r.run(t, text)
		assert.Equal(t, process.Completed, have.Status, text)
		assert.Equal(t, string(want.Stdout), string(have.Stdout), text)
		assert.Equal(t, string(want.Stderr), string(have.Stderr), text)
		assert.Equal(t, want.Dropped, have.Dropped, text)
	}
	binary := r.run(t, "head -c 300000 /dev/urandom")
	assert.True(t, binary.OK())
	assert.NotContains(t, string(binary.Stdout), "\x1b")
}

func runSees(t *testing.T, r *fixture) {
	spec := process.Spec{Argv: []string{"/usr/bin/env"}, Dir: r.work, Env: map[string]string{"ONE": "1", "two": "a b", "COUNTERSIGN_RUN_ID": "forged", "PACKAGEFLOW_RUN_ID": "forged"}}
	var id process.ID
	have, err := r.Run(t.Context(), spec, func(s process.State) { id = s.ID })
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"ONE=1", "two=a b", "COUNTERSIGN_RUN_ID=" + string(id), "PACKAGEFLOW_RUN_ID=" + string(id)}, strings.Split(strings.TrimSpace(string(have.Stdout)), "\n"))

	assert.Equal(t, "end\n", string(r.run(t, "cat; echo end").Stdout), "standard input is empty")
	assert.Equal(t, r.work+"\n", string(r.run(t, "pwd").Stdout))
	odd := []string{"", "a b", "$HOME", "*", "-n", "line\nend", "é"}
	spec = r.script(t, `for a in "$@"; do printf '<%s>' "$a"; done`)
	spec.Argv = append(spec.Argv, odd...)
	have, err = r.Run(t.Context(), spec, nil)
	require.NoError(t, err)
	assert.Equal(t, "<"+strings.Join(odd, "><")+">", string(have.Stdout), "arguments are nobody's to interpret")
	if runtime.GOOS == "linux" {
		assert.Equal(t, "0\n1\n2\n3\n", string(r.run(t, "ls /proc/self/fd").Stdout), "the standard files, and the directory that ls reads")
	}
}

func runLeavesNothing(t *testing.T, r *fixture) {
	for name, text := range map[string]string{
		"a child that is quiet":       "sleep 300 >/dev/null 2>&1 & echo done",
		"a child that holds output":   "sleep 300 & echo done",
		"a stubborn one":              "(trap '' TERM; while :; do sleep 1; done) >/dev/null 2>&1 & echo done",
		"a session of its own":        "setsid sleep 300 >/dev/null 2>&1 & sleep 0.2; echo done",
		"a session that holds output": "setsid sleep 300 & sleep 0.2; echo done",
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(text, "setsid") && runtime.GOOS != "linux" {
				t.Skip("setsid: only on Linux is a session of its own found")
			}
			var id process.ID
			have, err := r.Run(t.Context(), r.script(t, text), func(s process.State) { id = s.ID })
			require.NoError(t, err)
			assert.Equal(t, process.Completed, have.Status)
			assert.Equal(t, "done\n", string(have.Stdout))
			assert.Less(t, have.Elapsed, 4*time.Minute, "nobody waits for what was left")
			assert.Empty(t, carriers(id))
		})
	}
}

func runKeepsSecrets(t *testing.T, r *fixture) {
	const secret, inherited = "correct-horse-battery", "staple/of+the=barn"
	spec := r.script(t, "echo ready $1 $TOKEN; sleep 300")
	spec.Argv = append(spec.Argv, secret)
	spec.Env["TOKEN"], spec.Secrets, spec.Labels = inherited, []string{secret, inherited}, map[string]string{"script": "dev"}
	s, err := r.Start(t.Context(), spec)
	require.NoError(t, err)
	chunk := r.watch(t, s.ID, 0)
	require.NotEmpty(t, chunk.Lines)
	assert.Regexp(t, `^ready \[REDACTED:\w+\] \[REDACTED:\w+\]$`, chunk.Lines[0].Text)
	look := func() {
		require.NoError(t, filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			doc, err := os.ReadFile(path)
			assert.NotContains(t, string(doc), secret, path)
			assert.NotContains(t, string(doc), inherited, path)
			info, _ := d.Info()
			assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
			return err
		}))
	}
	look()
	if runtime.GOOS == "linux" {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(r.inspect(t, s.ID).Owner) + "/cmdline")
		require.NoError(t, err)
		assert.NotContains(t, string(line), secret)
	}
	info, err := os.Stat(r.dir)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	_, err = r.Stop(t.Context(), s.ID, 0)
	require.NoError(t, err)
	look()
	spec.Argv[1] = r.script(t, "echo $1; echo $TOKEN >&2").Argv[1]
	have, err := r.Run(t.Context(), spec, func(s process.State) { assert.NotContains(t, strings.Join(s.Argv, " "), secret) })
	require.NoError(t, err)
	assert.Regexp(t, `^\[REDACTED:\w+\]\n$`, string(have.Stdout))
	assert.Regexp(t, `^\[REDACTED:\w+\]\n$`, string(have.Stderr))
	look()
}

func runLimit(t *testing.T, r *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	running := make(chan process.ID, 4)
	for range 4 {
		spec := r.script(t, "exec sleep 300")
		wg.Go(func() {
			_, err := r.Run(ctx, spec, func(s process.State) { running <- s.ID })
			assert.NoError(t, err)
		})
	}
	var last process.ID
	for range 4 {
		last = <-running
	}
	_, err := r.Run(t.Context(), r.script(t, ":"), nil)
	require.ErrorIs(t, err, process.ErrLimit)
	assert.ErrorContains(t, err, string(last), "it says what runs")
	other := r.Open(t, r.dir)
	_, err = other.Run(t.Context(), r.script(t, ":"), nil)
	require.NoError(t, err, "another Countersign process has its own")
	cancel()
	wg.Wait()
	_, err = r.Run(t.Context(), r.script(t, ":"), nil)
	require.NoError(t, err, "and the slots are free again")
}
