package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// quotedWords is an argument in quotes, or the output of a command.
var quotedWords = regexp.MustCompile(`"[^"]*"|'[^']*'|\$\([^)]*\)`)

// TestEveryCommandHasAnExampleThatCanBeTyped: the help of every command that is shown ends with examples, each of which the command line understands.
func TestEveryCommandHasAnExampleThatCanBeTyped(t *testing.T) {
	t.Parallel()
	root := commands(Program{}, &command.Shell{Terminal: &command.Terminal{}})
	addExamples(root)
	seen := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			look(below)
		}
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		seen++
		if !assert.NotEmpty(t, c.Example, "%s has no example", c.CommandPath()) || c == root {
			return
		}
		own := false // examples may show other commands around their own
		for line := range strings.SplitSeq(c.Example, "\n") {
			_, line, ours := strings.Cut(quotedWords.ReplaceAllString(line, ".words"), "countersign ")
			if strings.Contains(line, "countersign ") { // it is the program that another one starts
				continue
			}
			if !ours { // another program's, or a remark
				continue
			}
			line, _, _ = strings.Cut(line, "  ")
			for _, end := range []string{" > ", " | ", " # ", ")"} {
				line, _, _ = strings.Cut(line, end)
			}
			found, rest, err := root.Find(strings.Fields(line))
			require.NoError(t, err, line)
			own = own || found == c || strings.HasPrefix(found.CommandPath(), c.CommandPath()+" ")
			require.NoError(t, found.ParseFlags(rest), line)
			if found.Args != nil && !found.DisableFlagParsing {
				assert.NoError(t, found.Args(found, found.Flags().Args()), line)
			}
		}
		assert.True(t, own, "no example of %s calls it", c.CommandPath())
	}
	look(root)
	assert.Greater(t, seen, 200)
}
