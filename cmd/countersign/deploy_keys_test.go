package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKeysThatWereTheUsersComeBack: a key that the user had a value for needs adopt, also when the value is the same by chance; going back
// gives it that value again, in the very bytes where nothing else changed, and around what was edited since otherwise.
func TestKeysThatWereTheUsersComeBack(t *testing.T) {
	t.Parallel()
	const config = "# mine\napproval_policy = \"never\" # I mean it\n\n[mcp_servers.search]\nurl = \"https://my.search\" # keep\n"
	const editor = "{\n  // wide\n  \"editor.rulers\": [100, 120], // by chance the same\n}\n"
	for name, change := range map[string]func(s *site){
		"as deployed": func(*site) {},
		"edited around": func(s *site) {
			edit(s.t, s.inHome(".codex/config.toml"), "# mine\n", "# still mine\n")
		},
		"no longer wanted": func(s *site) {
			edit(s.t, s.inRepo("modules/settings/codex.json"), `"approval_policy": "on-request"`, `"model": "large"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newParts(t)
			write(t, s.inHome(".codex/config.toml"), config)
			write(t, s.inProject(".vscode/settings.json"), editor)
			a := s.agent()
			assert.Equal(t, "adopt_update", a.does("plan", nil).at(t, s.inHome(".codex/config.toml")).UpdateKind)
			a.deploys(nil)
			assert.Contains(t, read(t, s.inHome(".codex/config.toml")), `"on-request"`)
			change(s)
			if name == "no longer wanted" {
				a.deploys(nil)
				assert.Contains(t, read(t, s.inHome(".codex/config.toml")), `approval_policy = "never"`, "the user's value is back at once")
			}
			a.does("rollback", args{"to": "initial", "yes": true})
			want := config
			if name == "edited around" {
				want = "# still" + config[1:]
			}
			assert.Equal(t, want, read(t, s.inHome(".codex/config.toml")))
			assert.Equal(t, editor, read(t, s.inProject(".vscode/settings.json")))
		})
	}
}
