package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
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

// TestWhateverFailsUnderJSONEndsWithOneDocument: every command that is called wrongly with --json prints one document and nothing else on stdout, in the
// form of its contract; those of no contract but Countersign's own say kind, code, message and what to do. The words for users stay on stderr.
func TestWhateverFailsUnderJSONEndsWithOneDocument(t *testing.T) {
	t.Parallel()
	tree := commands(Program{}, &command.Shell{Terminal: &command.Terminal{}})
	contracts := []string{"agents", "connect", "eco", "sandbox"} // their commands' errors have forms and, for the first two, codes of their own
	for _, line := range append(lines(tree, nil), []string{"nonesuch"}, []string{}) {
		if len(line) > 0 && (line[0] == "completion" || line[0] == "help") { // cobra's own
			continue
		}
		name := strings.Join(line, " ")
		var out, errs bytes.Buffer
		code := Run(t.Context(), Program{}, &command.Terminal{In: strings.NewReader(""), Out: &out, Err: &errs}, append(line, "--json", "--no-such-flag"))
		assert.Equal(t, 2, code, name)
		if len(line) == 0 || line[0] != "agents" { // whose contract leaves stderr empty
			assert.Contains(t, errs.String(), "error: ", name)
		}
		var doc map[string]any
		decoder := json.NewDecoder(&out)
		require.NoError(t, decoder.Decode(&doc), name)
		assert.ErrorIs(t, decoder.Decode(&struct{}{}), io.EOF, name)
		if len(line) > 0 && slices.Contains(contracts, line[0]) {
			continue
		}
		assert.Equal(t, true, doc["error"], name)
		assert.Equal(t, "invalid", doc["kind"], name)
		assert.Equal(t, "usage_invalid", doc["code"], name)
		assert.NotEmpty(t, doc["message"], name)
		assert.NotEmpty(t, doc["details"].(map[string]any)["suggestion"], name)
	}
}
