package target_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment/target"
)

func TestHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		header          target.Header
		cursor, copilot string
	}{
		"plain": {target.Header{Description: "agentpack: instructions:base", Always: true},
			"---\ndescription: \"agentpack: instructions:base\"\nglobs: []\nalwaysApply: true\n---\n\n",
			"---\ndescription: \"agentpack: instructions:base\"\napplyTo: \"**\"\n---\n\n"},
		"globs": {target.Header{Globs: []string{"*.go", `a "b".md`}},
			"---\ndescription: \"\"\nglobs: *.go,a \"b\".md\nalwaysApply: false\n---\n\n",
			"---\napplyTo: \"*.go,a \\\"b\\\".md\"\n---\n\n"},
		"no HTML escapes": {target.Header{Description: "a <b> & c"},
			"---\ndescription: \"a <b> & c\"\nglobs: []\nalwaysApply: false\n---\n\n",
			"---\ndescription: \"a <b> & c\"\napplyTo: \"**\"\n---\n\n"},
	} {
		assert.Equal(t, c.cursor, c.header.Cursor(), name)
		assert.Equal(t, c.copilot, c.header.Copilot(), name)
	}
}

func TestWrapAndUnwrap(t *testing.T) {
	head := target.Header{}.Cursor()
	for _, text := range []string{"", "a", "a\n", "\n", "a\n\n", "a\r\nb\r\n"} {
		wrapped := target.WrapHeader(head, []byte(text))
		assert.True(t, strings.HasSuffix(string(wrapped), "\n"), "%q", text)
		back, ok := target.UnwrapHeader(head, []byte(text), wrapped)
		require.True(t, ok, "%q", text)
		if text == "" { // nothing was appended: the header ends with a newline already
			assert.Empty(t, back)
			continue
		}
		assert.Equal(t, text, string(back))
	}
	_, ok := target.UnwrapHeader(head, nil, []byte(strings.Replace(head, "false", "true", 1)+"text"))
	assert.False(t, ok, "a header somebody changed is no header of ours")
}

func TestCommand(t *testing.T) {
	for name, c := range map[string]struct{ markdown, toml string }{
		"no frontmatter":      {"Say hello.\n", "prompt = '''\nSay hello.\n'''\n"},
		"description":         {"---\ndescription: Greets\nallowed-tools: [\"Bash(echo:*)\"]\n---\n\nSay hello.\n", "description = \"Greets\"\nprompt = '''\nSay hello.\n'''\n"},
		"words of the agent":  {"Look at $ARGUMENTS:\n!`git diff`, not a!`b` or ![x](y) or $1.\n", "prompt = '''\nLook at {{args}}:\n!{git diff}, not a!`b` or ![x](y) or $1.\n'''\n"},
		"double quotes":       {"---\ndescription: \"a \\\"b\\\" c\"\n---\nx\n", "description = \"a \\\"b\\\" c\"\nprompt = '''\nx\n'''\n"},
		"single quotes":       {"---\ndescription: 'it''s # so'\n---\nx\n", "description = \"it's # so\"\nprompt = '''\nx\n'''\n"},
		"comment":             {"---\ndescription: a # b\n---\nx\n", "description = \"a\"\nprompt = '''\nx\n'''\n"},
		"folded":              {"---\ndescription: >-\n  a\n  b\nname: c\n---\nx\n", "description = \"a b\"\nprompt = '''\nx\n'''\n"},
		"continued":           {"---\ndescription: a\n  b\n---\nx\n", "description = \"a b\"\nprompt = '''\nx\n'''\n"},
		"only nested":         {"---\nmeta:\n  description: a\n---\nx\n", "prompt = '''\nx\n'''\n"},
		"null":                {"---\ndescription:\n---\nx\n", "prompt = '''\nx\n'''\n"},
		"unclosed":            {"---\ndescription: a\nx\n", "prompt = '''\n---\ndescription: a\nx\n'''\n"},
		"three single quotes": {"a ''' b\n", "prompt = \"\"\"\na ''' b\n\"\"\"\n"},
		"quote at the end":    {"a'", "prompt = \"\"\"\na'\"\"\"\n"},
		"all quotes":          {"''' \"\"\"\" \\ \t\x01\"", "prompt = \"\"\"\n''' \"\\\"\"\\\" \\\\ \t\\u0001\\\"\"\"\"\n"},
		"carriage returns":    {"a\r\nb", "prompt = \"\"\"\na\\r\nb\"\"\"\n"},
		"empty":               {"", "prompt = '''\n'''\n"},
	} {
		t.Run(name, func(t *testing.T) {
			toml, err := target.CommandToTOML([]byte(c.markdown))
			require.NoError(t, err)
			assert.Equal(t, c.toml, string(toml))
			back, err := target.CommandFromTOML([]byte(c.markdown), toml)
			require.NoError(t, err)
			assert.Equal(t, c.markdown, string(back))
		})
	}
	_, err := target.CommandToTOML([]byte("a\xff"))
	require.ErrorIs(t, err, target.ErrText)
}

func TestUncommandReadsWhatPeopleWrite(t *testing.T) {
	original := "---\ndescription: d\n---\n\nold\n"
	for toml, want := range map[string]string{
		"# mine\ndescription = 'd'\r\n\r\nprompt = \"new\" # there\r\n":        "new",
		"prompt=\"\"\"new \\\n   line\"\"\"\ndescription = \"\\u0064\"":        "new line",
		"prompt = '''a''b'''''\ndescription = \"d\"\n":                         "a''b''",
		"prompt = \"\"\"\r\na\"\"\"\"\ndescription = \"\"\"d\"\"\"\n":          "a\"",
		"prompt = 'C:\\new'\ndescription = \"d\"\n":                            "C:\\new",
		"description = \"d\"\nprompt = \"\\U0001F600\\b\\t\\n\\f\\r\\\"\\\\\"": "😀\b\t\n\f\r\"\\",
	} {
		back, err := target.CommandFromTOML([]byte(original), []byte(toml))
		if assert.NoError(t, err, "%q", toml) {
			assert.Equal(t, "---\ndescription: d\n---\n\n"+want, string(back), "%q", toml)
		}
	}
	for toml, says := range map[string]string{
		"description = \"d\"\n":                                "no prompt",
		"prompt = \"a\"\n":                                     "description",
		"description = \"e\"\nprompt = \"a\"\n":                "description",
		"description = \"d\"\nprompt = \"a\"\nmodel = \"x\"\n": `"model"`,
		"description = \"d\"\nprompt = \"\\nblank first\"\n":   "blank lines",
		"description = \"d\"\nprompt = [\"a\"]\n":              "line 2",
		"[table]\n":                        "line 1",
		"prompt = \"a\" b\n":               "line 1",
		"prompt = \"a\n":                   "does not end",
		"prompt = \"a\nb\"\n":              "does not end",
		"prompt = '''a\n":                  "does not end",
		"\n\nprompt = \"\\x\"\n":           "line 3",
		"prompt = \"\\uD800\"\n":           "escape",
		"prompt = \"\\u12\"\n":             "escape",
		"prompt = \"a\"\nprompt = \"b\"\n": "repeats",
		"\"prompt\" = \"a\"\n":             "line 1",
		"prompt = '''\na\n'''\nx":          "line 4",
		"prompt = '''\na\n''' '\n":         "line 3",
		"description = \"d\"\nprompt = \"a\" # c\nprompt.x = \"b\"": "line 3",
	} {
		_, err := target.CommandFromTOML([]byte(original), []byte(toml))
		if assert.ErrorIs(t, err, target.ErrText, "%q", toml) {
			assert.ErrorContains(t, err, says, "%q", toml)
		}
	}
}

// FuzzCommand: every text is restored after conversion to TOML and back, and every TOML gives a result.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"", "a\n", "---\ndescription: >\n a\n---\n\n\nb", "'''\"\"\"\\", "---\n---", "---\r\ndescription: 'a''\r\n---\r\nb\r\n", "prompt = '''\na'''''\n", "a = \"\\u0041\\\n  b\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = target.CommandFromTOML(nil, []byte(text))
		toml, err := target.CommandToTOML([]byte(text))
		if !utf8.ValidString(text) {
			require.ErrorIs(t, err, target.ErrText)
			return
		}
		require.NoError(t, err)
		back, err := target.CommandFromTOML([]byte(text), toml)
		require.NoError(t, err)
		require.Equal(t, text, string(back))
	})
}

// FuzzUnwrap: text is restored after it is wrapped in each frontmatter and unwrapped.
func FuzzUnwrap(f *testing.F) {
	f.Add("d", "*.go", "text\n")
	f.Add("", "", "---\nx")
	f.Fuzz(func(t *testing.T, description, glob, text string) {
		h := target.Header{Description: description, Globs: []string{glob}}
		for _, head := range []string{h.Cursor(), h.Copilot()} {
			back, ok := target.UnwrapHeader(head, []byte(text), target.WrapHeader(head, []byte(text)))
			require.True(t, ok)
			require.Equal(t, text, string(back))
		}
	})
}
