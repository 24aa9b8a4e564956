package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// lines returns the command lines of every command of a tree that can be run.
func lines(c *cobra.Command, above []string) [][]string {
	var out [][]string
	for _, below := range c.Commands() {
		line := append(above[:len(above):len(above)], below.Name())
		if below.Runnable() {
			out = append(out, line)
		}
		out = append(out, lines(below, line)...)
	}
	return out
}

// TestWhateverFailsUnderJSONEndsWithOneDocument: every command that is called wrongly with --json prints one document and nothing else on stdout, which says kind, code,
// message and what to do; only those of agents have the form of their contract. The words for users stay on stderr.
func TestWhateverFailsUnderJSONEndsWithOneDocument(t *testing.T) {
	t.Parallel()
	tree := commands(Program{}, &command.Shell{Terminal: &command.Terminal{}})
	for _, line := range append(lines(tree, nil), []string{"nonesuch"}, []string{}) {
		if len(line) > 0 && (line[0] == "completion" || line[0] == "help") { // cobra's own
			continue
		}
		name := strings.Join(line, " ")
		for _, wrong := range [][]string{{"--json", "--no-such-flag"}, {"--no-such-flag", "--json=true"}} {
			var out, errs bytes.Buffer
			code := Run(t.Context(), Program{}, &command.Terminal{In: strings.NewReader(""), Out: &out, Err: &errs}, append(line[:len(line):len(line)], wrong...))
			assert.Equal(t, 2, code, name)
			doc := onlyDocument(t, name, out.Bytes())
			if len(line) > 0 && line[0] == "agents" { // whose contract leaves stderr empty
				assert.Equal(t, false, doc["ok"], name)
				continue
			}
			assert.Equal(t, 1, strings.Count(errs.String(), "error: "), "%s: said once: %s", name, errs.String())
			assert.Equal(t, true, doc["error"], name)
			assert.Equal(t, "invalid", doc["kind"], name)
			assert.Equal(t, "usage_invalid", doc["code"], name)
			assert.NotEmpty(t, doc["message"], name)
			assert.NotEmpty(t, doc["hint"], name)
		}
	}
}

// onlyDocument returns the object that is all of an output.
func onlyDocument(t *testing.T, name string, output []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(output))
	var doc map[string]any
	require.NoError(t, decoder.Decode(&doc), "%s: %s", name, output)
	assert.ErrorIs(t, decoder.Decode(&struct{}{}), io.EOF, name)
	return doc
}
