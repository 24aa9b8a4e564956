package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/manual"
)

// TestTheManualFitsTheCommands: a topic never hides behind a command of the same name, and what the help of a command points to is a topic.
func TestTheManualFitsTheCommands(t *testing.T) {
	t.Parallel()
	root := commands(Program{}, &command.Shell{Terminal: &command.Terminal{}})
	topics := map[string]bool{}
	for _, topic := range manual.Topics() {
		topics[topic.Name] = true
		assert.False(t, slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == topic.Name || c.HasAlias(topic.Name) }), topic.Name)
		assert.NotEmpty(t, topic.Title, topic.Name)
		assert.Less(t, utf8.RuneCountInString(topic.Title), 90, topic.Name)
	}
	require.Greater(t, len(topics), 10)
	for name, topic := range topicOf {
		assert.True(t, topics[topic], "%s points to %s", name, topic)
		assert.True(t, slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name }), "%s is a command", name)
	}
}

// TestTopicsAreReadInATerminal: nothing of Markdown is left, and only code is wider than the screen.
func TestTopicsAreReadInATerminal(t *testing.T) {
	t.Parallel()
	marks := regexp.MustCompile(`\*\*|\]\(|^#|^\||^>`)
	for _, topic := range manual.Topics() {
		for line := range strings.Lines(command.ManualText(topic.Text, 80, false)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "    ") || line == topic.Title { // code, or the cells of a table
				continue
			}
			assert.NotRegexp(t, marks, line, topic.Name)
			if strings.Contains(strings.TrimSpace(strings.TrimPrefix(line, "- ")), " ") {
				assert.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s: %s", topic.Name, line)
			}
		}
	}
}

// TestLinksOfTheManualLeadSomewhere: those of the README and of the topics, to files that there are.
func TestLinksOfTheManualLeadSomewhere(t *testing.T) {
	t.Parallel()
	top := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(top, "adapters", "cli", "manual", "*.md"))
	require.NoError(t, err)
	links := 0
	for _, page := range append(pages, filepath.Join(top, "README.md")) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
			file, _, _ := strings.Cut(m[1], "#")
			if file == "" || strings.Contains(file, "://") {
				continue
			}
			links++
			assert.FileExists(t, filepath.Join(filepath.Dir(page), file), page)
		}
	}
	require.Greater(t, links, 20)
}

// TestFlagsAreWrapped: to the width that COLUMNS asks for, between words.
func TestFlagsAreWrapped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	columns := func(string) string { return "60" }
	require.Zero(t, Run(t.Context(), Program{}, &command.Terminal{In: strings.NewReader(""), Out: &out, Err: &out, Env: columns}, []string{"serve", "--help"}))
	_, flags, found := strings.Cut(out.String(), "\nFlags:\n")
	require.True(t, found)
	flags, _, _ = strings.Cut(flags, "\nGlobal Flags:")
	for line := range strings.SplitSeq(flags, "\n") {
		assert.LessOrEqual(t, len(line), 60)
	}
	assert.Contains(t, strings.Join(strings.Fields(flags), " "), "serve without TLS on an address that other machines can reach; a proxy must provide TLS")
}

// TestHelpShowsTopics: as Markdown where nobody reads it on a screen, as one document for programs, in the list of topics and in completions.
func TestHelpShowsTopics(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := Run(t.Context(), Program{}, &command.Terminal{In: strings.NewReader(""), Out: &out, Err: &errs}, args)
		return out.String(), errs.String(), code
	}
	topics := manual.Topics()
	out, _, code := run("help", "packs")
	require.Zero(t, code)
	at := slices.IndexFunc(topics, func(d manual.Topic) bool { return d.Name == "packs" })
	assert.Equal(t, topics[at].Text, out)

	out, _, _ = run("help", "packs", "--json")
	var one topicDoc
	require.NoError(t, json.Unmarshal([]byte(out), &one))
	assert.Equal(t, topicDoc{"packs", topics[at].Title, topics[at].Text}, one)
	out, _, _ = run("help", "--json")
	var all topicsDoc
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	assert.Len(t, all.Topics, len(topics))

	list, _, _ := run("help")
	names, _, _ := run("__complete", "help", "")
	for _, topic := range topics {
		assert.Contains(t, list, "  "+topic.Name+" ")
		assert.Contains(t, names, topic.Name+"\t")
	}
	out, _, _ = run("pack", "show", "--help")
	assert.Contains(t, out, "\nMore: countersign help packs\n")

	for word, hint := range map[string]string{"aproving": "did you mean approving?", "pakcs": "packs", "notification": "notifications", "nosuch": "topics: approving, "} {
		out, problem, code := run("help", word)
		assert.Equal(t, 2, code, word)
		assert.Empty(t, out, word)
		assert.Contains(t, problem, `command or topic "`+word+`" not found`)
		assert.Contains(t, problem, hint, word)
	}
	_, problem, code := run("help", "packs", "more")
	assert.Equal(t, 2, code)
	assert.Contains(t, problem, "countersign help packs")
}
