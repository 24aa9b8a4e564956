package gitcli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/gitcli"
)

// runStandIn puts a shell script where git is.
func runStandIn(t *testing.T, script string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is not installed")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestTheEnvironmentLeadsGitNowhere(t *testing.T) {
	for _, name := range []string{"GIT_DIR", "GIT_SSH_COMMAND", "GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "GIT_ALLOW_PROTOCOL", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_CONFIG_KEY_7"} {
		t.Setenv(name, "hostile")
	}
	t.Setenv("SSH_AUTH_SOCK", "/agent")
	runStandIn(t, "env")
	environment := func(c gitcli.Command) string {
		out, err := c.Output(t.Context())
		require.NoError(t, err)
		return string(out)
	}
	careful := environment(gitcli.Command{})
	assert.NotContains(t, careful, "hostile")
	for _, pair := range []string{"SSH_AUTH_SOCK=/agent", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_COUNT=13", "GIT_CONFIG_KEY_12=core.hooksPath", "GIT_CONFIG_VALUE_12=/dev/null"} {
		assert.Contains(t, careful, pair+"\n")
	}
	asked := environment(gitcli.Command{Machine: true, Hooks: true, Protocols: gitcli.Network, Settings: []gitcli.Setting{{Name: "a.b=c.d", Value: "x y"}}, Env: []string{"GIT_INDEX_FILE=/i"}})
	assert.NotContains(t, asked, "hooksPath")
	assert.NotContains(t, asked, "NOSYSTEM")
	for _, pair := range []string{"GIT_ALLOW_PROTOCOL=https:http:ssh:git:file", "GIT_CONFIG_COUNT=13", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_KEY_12=a.b=c.d", "GIT_CONFIG_VALUE_12=x y", "GIT_INDEX_FILE=/i"} {
		assert.Contains(t, asked, pair+"\n")
	}
}

func TestFailuresAreWhatTheyAre(t *testing.T) {
	runStandIn(t, "cat\nprintf out\nprintf 'fatal: https://ada:secret@example.com/x' >&2\nexit 3")
	_, err := gitcli.Command{Stdin: []byte("in ")}.Output(t.Context())
	var exit *gitcli.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, &gitcli.ExitError{Code: 3, Output: []byte("in out"), Words: "fatal: https://***@example.com/x"}, exit)
	assert.NotContains(t, err.Error(), "secret")

	runStandIn(t, "exec yes")
	_, err = gitcli.Command{Limit: 1000}.Output(t.Context())
	require.ErrorIs(t, err, gitcli.ErrLarge)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = gitcli.Command{}.Output(ctx)
	require.ErrorIs(t, err, context.Canceled)

	t.Setenv("PATH", t.TempDir())
	var missing *gitcli.MissingError
	_, err = gitcli.Command{}.Output(t.Context())
	require.ErrorAs(t, err, &missing)
	require.ErrorIs(t, err, exec.ErrNotFound)
}

// failing takes so many bytes and then no more.
type failing struct {
	kept bytes.Buffer
	room int
}

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.kept.Len()+len(p) > f.room {
		return 0, errFull
	}
	return f.kept.Write(p)
}

func TestASinkTakesWhatIsPrinted(t *testing.T) {
	runStandIn(t, "printf out\nexit 1")
	sink := &failing{room: 1 << 20}
	_, err := gitcli.Command{Sink: sink}.Output(t.Context())
	var exit *gitcli.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, "out", sink.kept.String())
	assert.Empty(t, exit.Output)

	runStandIn(t, "exec yes")
	_, err = gitcli.Command{Sink: &failing{room: 1 << 20}}.Output(t.Context())
	require.ErrorIs(t, err, errFull, "and git is stopped")
	sink = &failing{room: 1 << 20}
	_, err = gitcli.Command{Sink: sink, Limit: 100_000}.Output(t.Context())
	require.ErrorIs(t, err, gitcli.ErrLarge)
	assert.LessOrEqual(t, sink.kept.Len(), 100_000)
}

func TestOnlyTheEndOfManyWordsIsKept(t *testing.T) {
	runStandIn(t, "i=0; while [ $i -lt 2000 ]; do echo \"line $i https://u:p@h/x\" >&2; i=$((i+1)); done; exit 1")
	_, err := gitcli.Command{}.Output(t.Context())
	var exit *gitcli.ExitError
	require.ErrorAs(t, err, &exit)
	assert.True(t, strings.HasSuffix(exit.Words, "line 1999 https://***@h/x"))
	assert.True(t, strings.HasPrefix(exit.Words, "line "), "it begins with a whole line")
	assert.NotContains(t, exit.Words, "u:p")
	assert.Less(t, len(exit.Words), 5000)
}

// TestNothingOutlivesItsTime: git and what it started are ended, also a child that does not care.
func TestNothingOutlivesItsTime(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	runStandIn(t, "trap '' TERM\nsh -c 'trap \"\" TERM; echo $$ > "+pid+"; while :; do sleep 1; done' &\nwait\nwhile :; do sleep 1; done")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ; ; <-tick.C {
			if text, _ := os.ReadFile(pid); strings.HasSuffix(string(text), "\n") {
				cancel()
				return
			}
		}
	}()
	_, err := gitcli.Command{}.Output(ctx)
	require.ErrorIs(t, err, context.Canceled)
	text, err := os.ReadFile(pid)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	assert.Eventually(t, func() bool { return gone(child) }, time.Minute, 10*time.Millisecond)
}

func TestATimeoutIsNoCancelling(t *testing.T) {
	runStandIn(t, "exec sleep 60")
	_, err := gitcli.Command{Timeout: 50 * time.Millisecond}.Output(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "longer than 50ms")
	require.NoError(t, t.Context().Err())
}

// gone reports whether a process has ended, reaped or not.
func gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"https://github.com/a/b":                 "https://github.com/a/b",
		"x 'https://ada:s3cret@h/x': y":          "x 'https://***@h/x': y",
		"https://token@h/x http://a:b@c@h/y":     "https://***@h/x http://***@h/y",
		"ssh://git@h/x":                          "ssh://git@h/x",
		"ssh://ada:secret@h/x":                   "ssh://***@h/x",
		"git@github.com:a/b":                     "git@github.com:a/b",
		"https://h/x?private_token=abc 'q'":      "https://h/x?*** 'q'",
		"HTTPS://A:B@H/":                         "HTTPS://***@H/",
		"https://h/a@b":                          "https://h/a@b",
		"fetch -- https://u:p@h/x refs/heads/@x": "fetch -- https://***@h/x refs/heads/@x",
	} {
		assert.Equal(t, want, gitcli.Mask(text))
	}
}

func FuzzMask(f *testing.F) {
	f.Add("https", "ada", "secret", "h/x")
	f.Add("ssh", "", "@@", "")
	f.Fuzz(func(t *testing.T, scheme, name, password, rest string) {
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r < 'a' || r > 'z' {
					return -1
				}
				return r
			}, s)
		}
		secret := "S3CRET" + strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n\v\f/'\"", r) {
				return -1
			}
			return r
		}, password)
		masked := gitcli.Mask("a" + letters(scheme) + "://" + letters(name) + ":" + secret + "@host/" + rest)
		assert.NotContains(t, masked, "S3CRET")
		assert.Equal(t, masked, gitcli.Mask(masked))
	})
}
