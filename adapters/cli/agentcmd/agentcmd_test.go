package agentcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli"
	"github.com/countersign-dev/countersign/adapters/cli/agentcmd"
	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// run is a command line on pipes, over a door that does not open.
func run(args ...string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = cli.Run(context.Background(), cli.Program{Version: "1.0", Open: func(func(string) string) (command.Core, error) {
		return command.Core{}, errors.New("the inside of the machine")
	}}, &command.Terminal{In: strings.NewReader("{}"), Out: &stdout, Err: &stderr}, append([]string{"agents"}, args...))
	return code, stdout.String(), stderr.String()
}

type answer struct {
	OK      bool            `json:"ok"`
	ID      string          `json:"command_id"`
	Command string          `json:"command"`
	Data    json.RawMessage `json:"data"`
	Errors  []struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"errors"`
}

// read is the one envelope on stdout.
func read(t *testing.T, out string) answer {
	t.Helper()
	var a answer
	require.NoError(t, json.Unmarshal([]byte(out), &a), out)
	assert.True(t, strings.HasPrefix(out, "{\n  \"schema_version\": 1,\n"), "laid out with two spaces")
	return a
}

func commands(t *testing.T) agentcmd.Help {
	t.Helper()
	code, out, _ := run("help", "--json")
	require.Zero(t, code)
	var h agentcmd.Help
	require.NoError(t, json.Unmarshal(read(t, out).Data, &h))
	return h
}

func TestCatalogue(t *testing.T) {
	code, out, err := run("help", "--json")
	require.Zero(t, code)
	assert.Empty(t, err)
	golden.JSON(t, "help", read(t, out).Data)
	_, out, _ = run("schema", "--json")
	golden.JSON(t, "schema", read(t, out).Data)
}

// TestCatalogueNamesWhatThereIs: targets are the domain's, and what the catalogue says of changes is there.
func TestCatalogueNamesWhatThereIs(t *testing.T) {
	assert.Equal(t, target.TargetNames(), agentcmd.Targets())
	ids := map[string]bool{}
	for _, c := range commands(t).Commands {
		ids[c.ID] = c.Mutating
		assert.True(t, c.JSON, c.ID)
	}
	for _, id := range agentcmd.MutatingCommands() {
		command, flag, variant := strings.Cut(id, " --")
		_, there := ids[command]
		assert.True(t, there, id)
		if variant && ids[id] == false {
			code, out, _ := run(append(strings.Fields(command), "--help")...)
			assert.Zero(t, code)
			assert.Contains(t, out, "--"+flag)
		}
	}
}

// TestEveryCommandAnswersWithAnEnvelope: for what is not understood with 2, and for what does not work with 1; the inside of a failure
// stays inside.
func TestEveryCommandAnswersWithAnEnvelope(t *testing.T) {
	for _, c := range commands(t).Commands {
		if strings.Contains(c.ID, "--") {
			continue
		}
		first, _, _ := strings.Cut(strings.ReplaceAll(c.ID, " ", "."), ".")
		for _, line := range [][]string{append(c.Path, "--frobnicate", "--json"), append([]string{"--json"}, append(c.Path, "--frobnicate")...)} {
			code, out, stderr := run(line...)
			a := read(t, out)
			assert.Equal(t, 2, code, line)
			assert.Empty(t, stderr, line)
			assert.False(t, a.OK, line)
			assert.Equal(t, c.ID, a.ID, line)
			assert.Equal(t, first, a.Command, line)
			assert.Equal(t, "E_CONFIG_INVALID", a.Errors[0].Code, line)
			assert.Equal(t, "arguments_invalid", a.Errors[0].Details["reason_code"], line)
		}
		if c.ID == "help" || c.ID == "schema" {
			continue
		}
		line := append([]string{"--json", "--yes"}, c.Path...)
		for _, a := range c.Args {
			if a.Required && a.Long != "" {
				line = append(line, a.Long, "x")
			} else if a.Required {
				line = append(line, "x")
			}
		}
		code, out, _ := run(line...)
		a := read(t, out)
		assert.Equal(t, 1, code, line)
		assert.Equal(t, c.ID, a.ID, line)
		assert.Equal(t, "E_UNEXPECTED", a.Errors[0].Code, line)
		assert.NotContains(t, out, "inside of the machine")
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, c := range []struct {
		line string
		says string
	}{
		{"frobnicate", `countersign agents has no command "frobnicate"`},
		{"overlay frobnicate", `has no command "frobnicate"`},
		{"add skill", "an argument is missing"},
		{"add skill x y", "too many arguments: y"},
		{"plan x", "too many arguments: x"},
		{"rollback", "the snapshot is missing"},
		{"rollback a --to b", "two snapshots"},
		{"rollback initial --target codex", "--target is not supported"},
		{"update --lock --no-lock", "--no-lock excludes --lock"},
		{"update --fetch --no-fetch", "exclude each other"},
		{"overlay edit x --sparse --materialize", "exclude each other"},
		{"recover --resume --undo", "exclude each other"},
		{"plan --target", "needs an argument"},
		{"snapshots prune --keep many", "invalid argument"},
		{"help frobnicate", "unknown command"},
	} {
		code, out, stderr := run(strings.Fields(c.line)...)
		assert.Equal(t, 2, code, c.line)
		assert.Empty(t, out, c.line)
		assert.Contains(t, stderr, " (E_CONFIG_INVALID)\n", c.line)
		assert.Contains(t, stderr, c.says, c.line)
		code, out, _ = run(append([]string{"--json"}, strings.Fields(c.line)...)...)
		assert.Equal(t, 2, code, c.line)
		assert.Contains(t, read(t, out).Errors[0].Message, c.says, c.line)
	}
	code, _, _ := run("plan", "--detailed-exitcode", "--frobnicate")
	assert.Equal(t, 1, code, "2 would mean changes")
	code, out, _ := run("plan", "--frobnicate", "--", "--json")
	assert.Equal(t, 2, code)
	assert.Empty(t, out, "what stands behind -- is no flag")
}

func TestHelpForPeople(t *testing.T) {
	code, out, _ := run("help", "overlay", "edit")
	assert.Zero(t, code)
	assert.Contains(t, out, "overlay edit MODULE_ID")
	code, out, _ = run("help", "--markdown")
	assert.Zero(t, code)
	for _, c := range commands(t).Commands {
		if !strings.Contains(c.ID, "--") {
			assert.Contains(t, out, "## countersign agents "+c.ID+"\n")
		}
	}
	code, out, _ = run("schema")
	assert.Zero(t, code)
	assert.Contains(t, out, "data of preview\n")
	code, out, _ = run("overlay", "--json")
	assert.Zero(t, code)
	assert.True(t, read(t, out).OK)
	code, _, _ = run("help", "--markdown", "--json")
	assert.Equal(t, 2, code)
}
