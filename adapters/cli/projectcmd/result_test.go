package projectcmd_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/projectcmd"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// at returns a runner whose streams are buffers.
func at() (d projectcmd.Runner, out, problems *bytes.Buffer) {
	out, problems = &bytes.Buffer{}, &bytes.Buffer{}
	return projectcmd.NewRunner(&command.Shell{Terminal: &command.Terminal{In: strings.NewReader(""), Out: out, Err: problems}}), out, problems
}

func TestRefusalsSayTheWayOut(t *testing.T) {
	d, _, _ := at()
	said := fault.From(d.Explain(fault.New(fault.Denied, "path_not_allowed", "the path is not in a registered project; call list_projects")))
	assert.Equal(t, "the path is not in a registered project; call countersign project list", said.Message)
	assert.Contains(t, said.Details, "countersign project add")
}

func TestOnlyWhatRanAndFailedExitsWithOne(t *testing.T) {
	d, out, problems := at()
	err := d.Failed(tool.Outcome{}, fault.New(fault.State, "execution_failed", "script x ended with exit code 3"))
	assert.Equal(t, command.Exit(1), err)
	assert.Equal(t, "error: script x ended with exit code 3\n", problems.String())
	assert.Empty(t, out.String())
	timeout := fault.New(fault.Timeout, "execution_timeout", "m")
	assert.ErrorIs(t, d.Failed(tool.Outcome{}, timeout), timeout)
}

func TestOutputGoesWhereTheProgramSentIt(t *testing.T) {
	d, out, problems := at()
	d.Output(projectcmd.ProgramResult{Stdout: "a\x1b[1m\n", Stderr: "b\x1b[2J"})
	assert.Equal(t, "a\x1b[1m\n", out.String(), "a pipe gets it as it is")
	assert.Equal(t, "b␣U+001B[2J\n", problems.String())
	d, out, problems = at()
	d.JSON = true
	d.Output(projectcmd.ProgramResult{Stdout: "a", Truncated: true})
	assert.Empty(t, out.String(), "the output is the answer's alone")
	assert.Contains(t, problems.String(), "a\n")
	assert.Contains(t, problems.String(), "output truncated")
}
