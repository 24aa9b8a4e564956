package runner_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

func TestOutside(t *testing.T) {
	for arg, outside := range map[string]bool{
		"": false, "a": false, "src/x": false, "./x": false, "/p": false, "/p/x": false, "--out=/p/x": false, "a=b=/p": false, "...": false, "wait...": false, "a..b": false, "x/../y": false,
		"/": true, "/etc": true, "/pp": true, "..": true, "../x": true, "x/../../y": true, "--out=/etc": true, "--out=../x": true, "/p/../x": true,
	} {
		found := runner.ArgsOutside("/p", []string{"fine", arg})
		assert.Equal(t, outside, len(found) == 1, arg)
		assert.Equal(t, outside, found.Risk() == policy.RiskHigh, arg)
	}
	long := runner.ArgsOutside("/p", []string{"/" + strings.Repeat("ü", 500)})
	assert.Len(t, []rune(long[0].Fragment), 120)
}

func TestTimeout(t *testing.T) {
	for ms, want := range map[int64]time.Duration{1: time.Millisecond, 3_600_000: time.Hour} {
		got, err := runner.ParseTimeout(ms)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, ms := range []int64{0, -1, 3_600_001, 1 << 62} {
		_, err := runner.ParseTimeout(ms)
		require.ErrorIs(t, err, project.ErrArgument)
	}
}

func TestMask(t *testing.T) {
	mask := runner.RedactFunc(func(doc json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(doc), "secret", "[masked]"))
	})
	assert.Equal(t, "a [masked] \"b\"\n", mask.Text("a secret \"b\"\n"))
	assert.Empty(t, mask.Text(""))
	for _, broken := range []string{"", "{}", `{"a"`, "null x"} {
		withheld := runner.RedactFunc(func(json.RawMessage) json.RawMessage { return json.RawMessage(broken) })
		assert.Equal(t, "[withheld]", withheld.Text("secret"), "what cannot be read is not stored: %q", broken)
	}
}

func TestTriggeredBy(t *testing.T) {
	for want, sc := range map[string]tool.Scope{
		"webhook": {Principal: policy.Principal{ID: "webhook"}, Client: "countersign-cli/1"},
		"cli":     {Client: "countersign-cli/1"},
		"mcp":     {Client: "rig/1"},
	} {
		assert.Equal(t, want, runner.TriggeredBy(sc))
	}
	assert.Equal(t, 750, runner.OutputBudget(tool.Scope{MaxOutput: 1000}))
	assert.Equal(t, runner.MaxOutput, runner.OutputBudget(tool.Scope{}))
	assert.Equal(t, runner.MaxOutput, runner.OutputBudget(tool.Scope{MaxOutput: 1 << 30}))
}

// TestProcessOf: a process that was lost, or never ran, has no known exit code.
func TestProcessOf(t *testing.T) {
	ended := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		state process.State
		said  string
		code  any
	}{
		"running":       {process.State{Status: process.Running, PID: 7}, "running", nil},
		"stopping":      {process.State{Status: process.Stopping, PID: 7}, "running", nil},
		"completed":     {process.State{Status: process.Completed, PID: 7, EndedAt: ended}, "completed", 0},
		"failed":        {process.State{Status: process.Failed, PID: 7, EndedAt: ended, Exit: process.Exit{Code: 3}}, "failed", 3},
		"lost":          {process.State{Status: process.Failed, PID: 7, EndedAt: ended, Lost: true}, "failed", nil},
		"never started": {process.State{Status: process.Failed, EndedAt: ended}, "failed", nil},
	} {
		v := runner.ProcessOf(c.state)
		assert.Equal(t, c.said, v.Status, name)
		assert.Equal(t, c.state.Status.Final(), v.CompletedAt != nil, name)
		if c.code == nil {
			assert.Nil(t, v.ExitCode, name)
			continue
		}
		assert.Equal(t, c.code, *v.ExitCode, name)
	}
}

// FuzzQuoted: a shell would read exactly the same arguments.
func FuzzQuoted(f *testing.F) {
	f.Add("ls", "a b", "$(x)")
	f.Add("rm", "-rf", `it's "quoted" \`)
	f.Add("x", "a\nb", "ü*?;&|")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		argv := []string{"p" + a, b, c}
		for _, text := range argv {
			if strings.ContainsAny(text, "\x00\r") || strings.ToValidUTF8(text, "") != text || len(text) > 1000 {
				return
			}
		}
		got, plain := projectfile.Parser{}.Parse(runner.QuoteArgs(argv)).Argv()
		require.True(t, plain, "%q", argv)
		require.Equal(t, argv, got)
	})
}
