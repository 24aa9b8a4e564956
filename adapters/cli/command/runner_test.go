package command_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// at returns a shell whose streams are buffers.
func at() (d command.Runner, out, problems *bytes.Buffer) {
	out, problems = &bytes.Buffer{}, &bytes.Buffer{}
	return command.Runner{Shell: &command.Shell{Terminal: &command.Terminal{In: strings.NewReader("from the input"), Out: out, Err: problems}}}, out, problems
}

func TestRefusalsSayTheWayOut(t *testing.T) {
	d, _, problems := at()
	d.Words = command.Words{Text: func(s string) string { return strings.ReplaceAll(s, "make_it", "countersign make") },
		Hint: func(f *fault.Error) command.Hint {
			return map[fault.Code]command.Hint{"path_not_allowed": "to register one: countersign project add DIR"}[f.Code]
		},
		Details: func(d command.Runner, err error) { d.Note("beside it") }}
	said := fault.From(d.Explain(fault.New(fault.Denied, "path_not_allowed", "call make_it")))
	assert.Equal(t, []any{"call countersign make", command.Hint("to register one: countersign project add DIR")}, []any{said.Message, said.Details})
	said = fault.From(d.Explain(fault.New(fault.State, "x", "m").WithDetails(command.Hint("make_it again"))))
	assert.Equal(t, command.Hint("countersign make again"), said.Details)
	for name, same := range map[string]error{
		"another failure":              fault.New(fault.State, "execution_failed", "m").WithDetails(map[string]int{"exit_code": 3}),
		"one that says its own way":    fault.New(fault.Denied, "path_not_allowed", "m").WithDetails(command.Hint("that way")),
		"one that is nobody's failure": errors.New("x"),
		"a tool that is not served":    tool.ErrUnknown.WithMessage("there is no tool make_it"),
	} {
		assert.Equal(t, same, d.Explain(same), name)
	}
	assert.NoError(t, d.Explain(nil))
	failure := fault.New(fault.State, "x", "m")
	assert.Equal(t, failure, command.Runner{Shell: d.Shell}.Explain(failure), "no words are everybody's")
	assert.ErrorIs(t, d.Refused(tool.Outcome{}, failure), failure)
	assert.Equal(t, "beside it\n", problems.String())
	d.JSON = true
	assert.ErrorIs(t, d.Refused(tool.Outcome{}, failure), failure)
	assert.Equal(t, "beside it\n", problems.String())
}

func TestDetailsOfFailures(t *testing.T) {
	var r struct {
		Code int `json:"exit_code"`
	}
	require.True(t, command.FailureDetails(fault.New(fault.State, "execution_failed", "m").WithDetails(map[string]any{"exit_code": 3, "stdout": "x"}), &r))
	assert.Equal(t, 3, r.Code)
	assert.False(t, command.FailureDetails(fault.New(fault.State, "execution_failed", "m"), &r))
	assert.False(t, command.FailureDetails(nil, &r))
	assert.False(t, command.FailureDetails(fault.New(fault.State, "x", "m").WithDetails(command.Hint("text")), &r))
}

func TestFlagsThatAreFiles(t *testing.T) {
	d, _, _ := at()
	for given, want := range map[string]string{"": "", "plain": "plain", "@-": "from the input"} {
		text, err := d.File("template", given)
		require.NoError(t, err)
		assert.Equal(t, want, text)
	}
	_, err := d.File("template", "@/nowhere/at/all")
	assert.ErrorIs(t, err, command.ErrUsage)
}

func TestAssignments(t *testing.T) {
	got, err := command.Assignments("var", []string{"a=1", " b =x=y", "c="})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "1", "b": "x=y", "c": ""}, got)
	for _, bad := range []string{"a", "=1", " =1"} {
		_, err := command.Assignments("var", []string{bad})
		assert.ErrorIs(t, err, command.ErrUsage, bad)
	}
}

func TestTimesForPeople(t *testing.T) {
	ms, err := command.Milliseconds("timeout", 90*time.Second)
	require.NoError(t, err)
	assert.EqualValues(t, 90000, ms)
	for _, bad := range []time.Duration{-time.Second, time.Microsecond} {
		_, err := command.Milliseconds("timeout", bad)
		assert.ErrorIs(t, err, command.ErrUsage)
	}
	assert.Equal(t, "", command.Age(time.Time{}))
	assert.Equal(t, "0s ago", command.Age(time.Now().Add(time.Hour)), "clocks differ")
	assert.Equal(t, "5m ago", command.Age(time.Now().Add(-5*time.Minute-time.Second)))
	assert.Equal(t, "2h ago", command.Age(time.Now().Add(-2*time.Hour-time.Second)))
	assert.Regexp(t, `^\d{4}-\d\d-\d\d$`, command.Age(time.Now().Add(-100*time.Hour)))
	assert.Equal(t, "1.2s", command.Took(1234))
	assert.Equal(t, "15ms", command.Took(15))
}

func TestPairs(t *testing.T) {
	d, out, _ := at()
	d.Pairs(command.Pair{Name: "name", Value: "a\x1bb"}, command.Pair{Name: "nothing"}, command.Pair{Name: "much longer", Value: "c"})
	assert.Equal(t, "name         a␣U+001Bb\nmuch longer  c\n", out.String())
}
