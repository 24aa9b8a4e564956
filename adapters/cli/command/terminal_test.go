package command_test

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

func piped(in string) (*command.Terminal, *bytes.Buffer, *bytes.Buffer) {
	var out, err bytes.Buffer
	return &command.Terminal{In: strings.NewReader(in), Out: &out, Err: &err}, &out, &err
}

// TestPipesGetPlainText: no colour, no drawing, no progress, no paging where nobody looks.
func TestPipesGetPlainText(t *testing.T) {
	term, out, err := piped("")
	assert.False(t, term.Interactive())
	assert.False(t, term.Drawn())
	term.Table([]string{"name", "what"}, [][]string{{"größe", "日本"}, {"x\ty", "two\nlines"}})
	term.Progress(1, 2, "half")
	term.Done()
	require.NoError(t, term.Markdown(context.Background(), "# A\n\x1b[31mraw\n", true))
	term.Fail("it\nfailed\x07", "do\nthis")
	assert.Equal(t, "NAME   WHAT\ngröße  日本\nx y    two lines\n# A\n\x1b[31mraw\n", out.String())
	assert.Equal(t, "error: it failed␣U+0007\nhint: do this\n", err.String())
}

func TestPlainAndBlock(t *testing.T) {
	assert.Equal(t, "a b c", command.Plain(" a\r\n\tb  c "))
	assert.Equal(t, "a␣U+202Eb", command.Plain("a\u202eb"), "text cannot be reordered")
	assert.Equal(t, "a\n\tb␣U+001B", command.Block("a\n\tb\x1b"))
	assert.Equal(t, "größe 日本 🙂", command.Block("größe 日本 🙂"))
}

// TestDiffsInPipes: byte for byte, for whoever applies them, but for what nobody would see in them; what is tinted keeps its width and stays in its line.
func TestDiffsInPipes(t *testing.T) {
	term, out, _ := piped("")
	diff := "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\r\n+y"
	assert.Equal(t, diff, term.Diff(diff))
	assert.Equal(t, "-␣U+001B[2J\n+␣U+202Ey", term.Diff("-\x1b[2J\n+\u202ey"))
	assert.Equal(t, "ab  c␣U+001B", term.Tinted("ab  c\x1b", command.Added))
	assert.Equal(t, "a b", term.Tinted("a\nb", command.Faded))
	require.NoError(t, term.Page(context.Background(), strings.Repeat("long\n", 100)))
	assert.Equal(t, 500, out.Len())
	in, output := term.Terminals()
	assert.False(t, in || output)
}

// TestTablesFitTheScreen: long cells give way first, then columns, the unimportant ones before the others, and what is hidden is said; into a pipe goes everything.
func TestTablesFitTheScreen(t *testing.T) {
	t.Parallel()
	headings := []string{"id", "tool", "where", "arguments", "by"}
	row := func() [][]string {
		return [][]string{{"17", "project_add", "/home/someone/src/acme/a-very-long-name/shop", `{"path":"/home/someone/src/acme/a-very-long-name/shop"}`, "countersign-cli/1.0 (terminal)"}}
	}
	at := func(columns string) (out, notes string) {
		term, o, e := piped("")
		term.Env = func(name string) string { return map[string]string{"COLUMNS": columns}[name] }
		term.Table(headings, row(), "arguments")
		for line := range strings.Lines(o.String()) {
			if columns != "" {
				limit, err := strconv.Atoi(columns)
				require.NoError(t, err)
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), limit, line)
			}
		}
		return o.String(), e.String()
	}
	out, notes := at("")
	assert.Contains(t, out, "a-very-long-name/shop\"}  countersign-cli/1.0 (terminal)\n")
	assert.Empty(t, notes)
	out, notes = at("120")
	assert.Contains(t, out, "…", "cells are shortened before a column goes")
	assert.Contains(t, out, "BY")
	assert.Empty(t, notes)
	out, notes = at("60")
	assert.Contains(t, out, "BY")
	assert.Contains(t, out, "/shop", "the end of a place stays")
	assert.Equal(t, "the column ARGUMENTS is hidden: widen the terminal, or use --json\n", notes)
	out, notes = at("24")
	assert.Contains(t, out, "17")
	assert.Equal(t, "the columns ARGUMENTS, BY and WHERE are hidden: widen the terminal, or use --json\n", notes)
}
