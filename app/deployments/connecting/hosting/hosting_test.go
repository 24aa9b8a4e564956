package hosting_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments/connecting/hosting"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
	"github.com/countersign-dev/countersign/domain/deployment/target/entry"
	"github.com/countersign-dev/countersign/domain/deployment/target/native"
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
		w := hosting.World{Place: deployment.Place{UserHome: c.home, ProjectRoot: c.home}, System: c.system, Env: func(name string) string { return c.env[name] }, Paths: native.Paths{Sep: c.sep}}
		for _, h := range hosting.All() {
			for _, scope := range []deployment.Scope{deployment.User, deployment.Project} {
				d, err := h.Document(w, scope)
				require.NoError(t, err)
				assert.True(t, w.Paths.Absolute(d.Dir), d.Dir)
				assert.NotEmpty(t, d.Names)
				assert.NotEmpty(t, d.At)
				assert.Equal(t, h.Name == "codex", d.Format == plan.TOML)
				if dir, ok := map[string]string{"vscode": c.code, "codex": c.codex}[h.Name]; ok && scope == deployment.User {
					assert.Equal(t, dir, d.Dir)
				}
			}
			assert.NotEmpty(t, h.Marks(w))
			assert.NotEmpty(t, h.Program)
			assert.NotEmpty(t, h.Next)
		}
	}
	_, err := hosting.All()[0].Document(hosting.World{Env: func(string) string { return "" }, Paths: native.Paths{Sep: '/'}}, deployment.User)
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
		o, err := entry.Parse([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, hosting.Ours(o), text)
	}
}

// TestCommandsTakeAnyArgument: words stay words, and what looks like a flag is not taken for the host's own.
func TestCommandsTakeAnyArgument(t *testing.T) {
	t.Parallel()
	o := hosting.Offer{Name: "countersign", Scope: deployment.User, Program: "/opt/my tools/countersign", Args: hosting.Serve([]string{"packs", "projects"}), Home: "/my home"}
	for host, want := range map[string][]string{
		"claude-code": {"claude", "mcp", "add", "--scope", "user", "countersign", "--env", "COUNTERSIGN_HOME=/my home", "--", "/opt/my tools/countersign", "mcp", "--toolsets", "packs,projects"},
		"codex":       {"codex", "mcp", "add", "countersign", "--env", "COUNTERSIGN_HOME=/my home", "--", "/opt/my tools/countersign", "mcp", "--toolsets", "packs,projects"},
		"gemini-cli":  {"gemini", "mcp", "add", "-s", "user", "-e", "COUNTERSIGN_HOME=/my home", "countersign", "/opt/my tools/countersign", "mcp", "--", "--toolsets", "packs,projects"},
		"vscode":      {"code", "--add-mcp", `{"args":["mcp","--toolsets","packs,projects"],"command":"/opt/my tools/countersign","env":{"COUNTERSIGN_HOME":"/my home"},"name":"countersign"}`},
		"cursor":      nil,
		"opencode":    nil,
	} {
		h, err := hosting.Find(host)
		require.NoError(t, err)
		assert.Equal(t, want, h.Command(o), host)
	}
}
