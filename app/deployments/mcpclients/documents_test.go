package mcpclients_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// beginning is a possible document of a host before it is connected. A %s in it is the key that contains the servers.
type beginning struct{ name, json, toml string }

var beginnings = []beginning{
	{"an empty file", "", ""},
	{"a blank file", "\n", "\n"},
	{"comments and other servers", `// whose this is
{
    "theme": "dark", // stays
    "%s": {
        // an index of files
        "files": {"command": "/bin/files", "env": {"API_KEY": "abc1234567"}},
    },
    "last": [1, 2,
             3]
}
`, "# whose this is\nmodel = \"o9\"   # stays\n\n[%s.files]\ncommand = \"/bin/files\" # an index\n[%s.files.env]\nAPI_KEY = \"abc1234567\"\n\n[profiles.x]\nmodel = 'a'\n"},
	{"an older entry of ours", `{
  "%s": {
    "countersign": {
      // mine
      "command": "/old/countersign",
      "args": ["mcp", "--read-only"],
      "disabled": false,
      "env": {"TOKEN_OF_MINE": "keep"}
    }
  }
}
`, "[%s.countersign]\n# mine\ncommand = \"/old/countersign\"\nargs = [\"mcp\", \"--read-only\"]\nenabled = true\n[%s.countersign.env]\nTOKEN_OF_MINE = \"keep\"\n"},
	{"other servers and CRLF", "{\r\n\t\"%s\": {\r\n\t\t\"a\": {\r\n\t\t\t\"command\": \"a\"\r\n\t\t}\r\n\t}\r\n}\r\n", "a = 1\r\n\r\n[%s.a]\r\ncommand = \"a\"\r\n"},
	{"a byte order mark", "\ufeff{\n  \"a\": 1\n}\n", "\ufeffa = 1\n"},
	{"no last line end", `{"a":{"b":1}}`, "[a]\nb = 1"},
}

// file is the location of a host's document, below the top, and the key of its servers.
type file struct{ host, scope, path, key string }

var files = []file{
	{"claude-code", "user", "/home/.claude.json", "mcpServers"}, {"claude-code", "project", "/project/.mcp.json", "mcpServers"},
	{"codex", "user", "/home/.codex/config.toml", "mcp_servers"}, {"codex", "project", "/project/.codex/config.toml", "mcp_servers"},
	{"cursor", "user", "/home/.cursor/mcp.json", "mcpServers"}, {"cursor", "project", "/project/.cursor/mcp.json", "mcpServers"},
	{"vscode", "user", "/home/.config/Code/User/mcp.json", "servers"}, {"vscode", "project", "/project/.vscode/mcp.json", "servers"},
	{"gemini-cli", "user", "/home/.gemini/settings.json", "mcpServers"}, {"gemini-cli", "project", "/project/.gemini/settings.json", "mcpServers"},
	{"opencode", "user", "/home/.config/opencode/opencode.json", "mcp"}, {"opencode", "project", "/project/opencode.json", "mcp"},
}

func (f file) text(b beginning) string {
	text := b.json
	if strings.HasSuffix(f.path, ".toml") {
		text = b.toml
	}
	return strings.ReplaceAll(text, "%s", f.key)
}

// TestDocuments connects every host in every scope, from every beginning: each result is a golden file; a second call changes nothing; after removal
// every byte is as before.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, f := range files {
		t.Run(f.host+" "+f.scope, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			call := args{"host": f.host, "scope": f.scope}
			show := func(s *stage, name string) {
				fmt.Fprintf(&out, "== %s\n%s\n", name, visible(s.plain(s.read(s.top+f.path))))
			}
			s := newStage(t)
			before := s.tree()
			answer := s.must(call)
			assert.Equal(t, s.top+f.path, answer.File)
			assert.Empty(t, answer.Backup, "there was nothing to copy")
			show(s, "no file")
			s.goesAgain(call, before)

			for _, b := range beginnings {
				s := newStage(t)
				s.put(s.top+f.path, f.text(b))
				require.NoError(t, os.Chmod(s.top+f.path, 0o600))
				before := s.tree()
				answer := s.must(call)
				assert.Equal(t, "connected", answer.State)
				assert.Equal(t, f.text(b), s.read(answer.Backup), b.name)
				info, err := os.Stat(answer.Backup)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
				show(s, b.name)
				if b.name == "an older entry of ours" {
					before = map[string]string{}
				}
				s.goesAgain(call, before)
			}
			golden.Text(t, "documents/"+f.host+"-"+f.scope, out.String())
		})
	}
}

// goesAgain checks what follows for a connected host.
func (s *stage) goesAgain(call args, before map[string]string) {
	s.Helper()
	connected := s.tree()
	answer := s.must(call)
	assert.Equal(s, "already_connected", answer.State)
	assert.False(s, answer.Applied)
	assert.Equal(s, connected, s.tree())
	info, err := os.Stat(answer.File)
	require.NoError(s, err)
	if len(before) > len(s.gitFiles()) {
		assert.Equal(s, os.FileMode(0o600), info.Mode().Perm(), "the mode stays")
	}

	answer = s.must(call.with("remove", true))
	assert.Equal(s, "removed", answer.State)
	if len(before) > 0 {
		assert.Equal(s, before, s.tree(), "every byte is as it was")
	}
	answer = s.must(call.with("remove", true))
	assert.Equal(s, "not_connected", answer.State)
	assert.False(s, answer.Applied)
}

// gitFiles returns those of a tree that no host has.
func (s *stage) gitFiles() []string { return []string{"/project/.git/HEAD"} }

// visible returns text with what one does not see in it spelled out.
func visible(text string) string {
	return strings.NewReplacer("\r", "␍", "\ufeff", "(mark)", "\t", "→").Replace(text)
}

// TestTheNewerShapeOfOpencode: a document of opencode 2 gets the entry in its format, and is restored to the byte.
func TestTheNewerShapeOfOpencode(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"servers":     "{\n  \"mcp\": {\n    \"servers\": {\n      \"a\": {\"type\": \"local\", \"command\": [\"a\"]}\n    }\n  }\n}\n",
		"permissions": "{\n  // mine\n  \"permissions\": [{\"action\": \"*\", \"resource\": \"*\", \"effect\": \"ask\"}]\n}\n",
	} {
		s := newStage(t)
		path := s.top + "/home/.config/opencode/opencode.json"
		s.put(path, text)
		require.NoError(t, os.Chmod(path, 0o600))
		before, call := s.tree(), args{"host": "opencode"}
		s.must(call)
		after := s.read(path)
		entry := strings.Join(strings.Fields(after[strings.Index(after, `"countersign"`):]), "")
		assert.Contains(t, entry, `"disabled":false`, name)
		assert.Contains(t, entry, `"timeout":{"catalog":86400000,"execution":86400000}`, name)
		assert.NotContains(t, entry, "enabled", name)
		assert.Contains(t, strings.Join(strings.Fields(after), ""), `"mcp":{"servers":{`, name)
		s.goesAgain(call, before)
	}
}
