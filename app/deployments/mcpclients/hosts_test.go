package mcpclients_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

func TestEveryHostHasItsDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system      string
		sep         byte
		home        string
		env         map[string]string
		code, codex string
	}{
		{"linux", '/', "/home/me", nil, "/home/me/.config/Code/User", "/home/me/.codex"},
		{"darwin", '/', "/Users/me", map[string]string{"XDG_CONFIG_HOME": "relative"}, "/Users/me/Library/Application Support/Code/User", "/Users/me/.codex"},
		{"windows", '\\', `C:\Users\me`, map[string]string{"APPDATA": `C:\Users\me\AppData\Roaming`}, `C:\Users\me\AppData\Roaming\Code\User`, `C:\Users\me\.codex`},
	} {
		w := mcpclients.Locations{Place: deployment.Locations{UserHome: c.home, ProjectRoot: c.home}, System: c.system, Env: func(name string) string { return c.env[name] }, Paths: target.Paths{Sep: c.sep}}
		for _, h := range mcpclients.AllHosts() {
			for _, scope := range []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject} {
				d, err := h.Document(w, scope)
				require.NoError(t, err)
				assert.True(t, w.Paths.Absolute(d.Dir), d.Dir)
				assert.NotEmpty(t, d.Names)
				assert.NotEmpty(t, d.At)
				assert.Equal(t, h.Name == "codex", d.Format == deployment.FormatTOML)
				if dir, ok := map[string]string{"vscode": c.code, "codex": c.codex}[h.Name]; ok && scope == deployment.ScopeUser {
					assert.Equal(t, dir, d.Dir)
				}
			}
			assert.NotEmpty(t, h.Marks(w))
			assert.NotEmpty(t, h.Program)
			assert.NotEmpty(t, h.Next)
		}
	}
	_, err := mcpclients.AllHosts()[0].Document(mcpclients.Locations{Env: func(string) string { return "" }, Paths: target.Paths{Sep: '/'}}, deployment.ScopeUser)
	require.ErrorIs(t, err, deployment.ErrPath, "without a home")
}

func TestWhatIsOurs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"command": "/usr/local/bin/countersign", "args": ["mcp"]}`:          true,
		`{"command": "C:\\Program Files\\Countersign.exe", "args": ["mcp"]}`:  true,
		`{"command": "countersign-mcp"}`:                                      true,
		`{"command": ["countersign", "mcp", "--read-only"], "type": "local"}`: true,
		`{"command": "countersign", "args": ["gateway"]}`:                     false,
		`{"command": "sh", "args": ["-c", "countersign mcp"]}`:                false,
		`{"command": "/opt/countersign/other", "args": ["mcp"]}`:              false,
		`{"url": "http://127.0.0.1:8317/mcp"}`:                                false,
		`{"command": 7}`:                                                      false,
		`{}`:                                                                  false,
	} {
		o, err := target.ParseObject([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, mcpclients.IsCountersignEntry(o), text)
	}
}

// TestCommandsTakeAnyArgument: words stay words, and what looks like a flag is not taken for the host's own. If a command cannot raise the host's
// limit, the server waits for a shorter time.
func TestCommandsTakeAnyArgument(t *testing.T) {
	t.Parallel()
	o := mcpclients.Connection{Name: "countersign", Scope: deployment.ScopeUser, Program: "/opt/my tools/countersign", Toolsets: []string{"packs", "projects"}, Home: "/my home"}
	for host, want := range map[string][]string{
		"claude-code": {"claude", "mcp", "add", "--scope", "user", "countersign", "--env", "COUNTERSIGN_HOME=/my home", "--", "/opt/my tools/countersign",
			"mcp", "--host", "claude-code", "--confirm-wait", "23h30m", "--toolsets", "packs,projects"},
		"codex": {"codex", "mcp", "add", "countersign", "--env", "COUNTERSIGN_HOME=/my home", "--", "/opt/my tools/countersign", "mcp", "--host", "codex", "--toolsets", "packs,projects"},
		"gemini-cli": {"gemini", "mcp", "add", "-s", "user", "--timeout", "86400000", "-e", "COUNTERSIGN_HOME=/my home", "countersign", "/opt/my tools/countersign",
			"mcp", "--", "--host", "gemini-cli", "--confirm-wait", "23h30m", "--toolsets", "packs,projects"},
		"vscode": {"code", "--add-mcp", `{"args":["mcp","--host","vscode","--confirm-wait","4m30s","--toolsets","packs,projects"],"command":"/opt/my tools/countersign",` +
			`"env":{"COUNTERSIGN_HOME":"/my home"},"name":"countersign"}`},
		"cursor":   nil,
		"opencode": nil,
	} {
		h, err := mcpclients.FindHost(host)
		require.NoError(t, err)
		assert.Equal(t, want, h.Command(o), host)
	}
}

// TestTheServerAnswersBeforeTheHostGivesUp: the server waits for less than the host's limit, and leaves time to run an approved call.
func TestTheServerAnswersBeforeTheHostGivesUp(t *testing.T) {
	t.Parallel()
	for _, h := range mcpclients.AllHosts() {
		for _, o := range []mcpclients.Connection{{Name: "countersign", Program: "/x/countersign"}, {Name: "countersign", URL: "http://127.0.0.1:1/mcp", Secret: "s"}} {
			d := target.Dialect{URL: "url", Headers: "headers", Env: "env"}
			e, err := o.Server(h, d)
			require.NoError(t, err)
			limit := 5 * time.Minute // of hosts that read none
			if ms, ok := e["timeout"].(int64); ok {
				limit = time.Duration(ms) * time.Millisecond
			} else if s, ok := e["tool_timeout_sec"].(int64); ok {
				limit = time.Duration(s) * time.Second
			}
			wait := h.Wait(o.Remote())
			assert.LessOrEqual(t, wait, limit-30*time.Second, h.Name)
			if headers, ok := e["headers"].(map[string]any); ok {
				assert.LessOrEqual(t, wait, 5*time.Minute-30*time.Second, h.Name)
				if wait > 0 {
					said, err := time.ParseDuration(headers[mcpclients.WaitHeader].(string))
					require.NoError(t, err)
					assert.Equal(t, wait, said)
				}
				continue
			}
			argv := mcpclients.EntryCommand(e)
			at := slices.Index(argv, "--confirm-wait")
			require.Equal(t, wait > 0, at > 0, argv)
			if at > 0 {
				said, err := time.ParseDuration(argv[at+1])
				require.NoError(t, err)
				assert.Equal(t, wait, said)
			}
			assert.Contains(t, argv, h.Name, "the server knows the entry")
		}
	}
}

func TestEntriesHaveNames(t *testing.T) {
	t.Parallel()
	h, err := mcpclients.FindHost("codex")
	require.NoError(t, err)
	assert.Equal(t, "codex", h.Entry("countersign", deployment.ScopeUser))
	assert.Equal(t, "codex:cs", h.Entry("cs", deployment.ScopeUser))
	assert.Equal(t, "codex@project", h.Entry("countersign", deployment.ScopeProject))
	assert.Equal(t, "codex:cs@project", h.Entry("cs", deployment.ScopeProject))
}
