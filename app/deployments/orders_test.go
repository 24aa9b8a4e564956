package deployments_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// standing returns what is below a home, except Countersign's own files: of each file its mode and its bytes, or the target of the link.
func standing(t *testing.T, home string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == home {
			return err
		}
		name := strings.TrimPrefix(path, home+"/")
		if name == ".agentpack" || name == ".cache" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[name] = "-> " + to
			return err
		case !d.IsDir():
			text, err = os.ReadFile(path)
		}
		all[name] = info.Mode().String() + " " + string(text)
		return err
	}))
	return all
}

// TestEveryOrderOfRollbacksRestoresWhatWasThere: two config repositories want the same files of instructions, each whole or as a section, and the
// same key of documents; of three agents, one has nothing yet, one has files and one has links. In any order of deployments and rollbacks, the final
// bytes, modes and links are the original ones.
func TestEveryOrderOfRollbacksRestoresWhatWasThere(t *testing.T) {
	o := newOwners(t)
	put := func(name, text string, mode fs.FileMode) {
		o.Write(o.UserHome, name, text)
		require.NoError(t, os.Chmod(filepath.Join(o.UserHome, name), mode))
	}
	put(".gemini/GEMINI.md", "# My own", 0o600)
	put(".gemini/settings.json", "{\n\t\"mcpServers\": {\"same\": {\"command\": \"own\"}} }", 0o600)
	put(".codex/config.toml", "# Mine.\nmodel = 'x'   # as it is\n\n[mcp_servers.same] # own\ncommand = \"own\"\n", 0o600)
	put("dotfiles/AGENTS.md", "# From elsewhere\n", 0o640)
	put("dotfiles/opencode.json", `{"other": 1}`, 0o600)
	require.NoError(t, os.MkdirAll(filepath.Join(o.UserHome, ".config/opencode"), 0o755))
	for _, name := range []string{"AGENTS.md", "opencode.json"} {
		require.NoError(t, os.Symlink("../../dotfiles/"+name, filepath.Join(o.UserHome, ".config/opencode", name)))
	}
	lays := func(repo, who, mode string) {
		config := "version: 1\nprofiles: {default: {include_tags: [base]}}\ntargets:\n"
		for _, agent := range []string{"codex", "gemini_cli", "opencode"} {
			config += fmt.Sprintf("  %s: {mode: files, scope: user, options: {instructions_mode: %s}}\n", agent, mode)
		}
		o.Write(repo, "agentpack.yaml", config+`modules:
  - {id: "instructions:x", type: instructions, tags: [base], source: {local_path: {path: rules}}}
  - {id: "mcp:x", type: mcp, tags: [base], source: {local_path: {path: servers}}}
`)
		o.Write(repo, "rules/AGENTS.md", "# Rules of "+who+"\n")
		o.Write(repo, "servers/same.json", fmt.Sprintf(`{"command": %q}`, who))
		o.Write(repo, "servers/"+who+".json", fmt.Sprintf(`{"command": %q}`, who))
	}
	was := standing(t, o.UserHome)
	for _, modes := range [][2]string{{"file", "file"}, {"file", "section"}, {"section", "file"}, {"section", "section"}} {
		for _, order := range [][]string{{o.Repo.Dir, o.mine}, {o.mine, o.Repo.Dir}} {
			lays(o.Repo.Dir, "first", modes[0])
			lays(o.mine, "second", modes[1])
			o.deploys(o.Repo.Dir, `,"adopt":true`)
			o.deploys(o.mine, `,"adopt":true`)
			require.Contains(t, o.plans(o.mine), nothing)
			for _, name := range []string{".codex/AGENTS.md", ".gemini/GEMINI.md", ".config/opencode/AGENTS.md"} {
				require.Contains(t, o.Read(o.UserHome, name), "# Rules of second", name)
			}
			for _, repo := range order {
				o.back(repo, "initial")
			}
			require.Equal(t, was, standing(t, o.UserHome), "first %s, then %s; rolled back: %s", modes[0], modes[1], order)
		}
	}

	// What a deployment had in a document is the user's again as it was written, even if it was edited in place.
	lays(o.Repo.Dir, "first", "file")
	o.deploys(o.Repo.Dir, `,"adopt":true`)
	settings := o.Read(o.UserHome, ".gemini/settings.json")
	o.Write(o.UserHome, ".gemini/settings.json", strings.Replace(settings, `"first"}`, `"edited",  "args": []}`, 1))
	require.NotEqual(t, settings, o.Read(o.UserHome, ".gemini/settings.json"))
	o.back(o.Repo.Dir, "initial")
	require.Equal(t, was, standing(t, o.UserHome))

	// Edits around a section that replaced a whole file are the user's, and stay.
	lays(o.Repo.Dir, "first", "file")
	lays(o.mine, "second", "section")
	o.deploys(o.Repo.Dir, `,"adopt":true`)
	o.deploys(o.mine, `,"adopt":true`)
	o.Write(o.UserHome, ".codex/AGENTS.md", "# My line\n"+o.Read(o.UserHome, ".codex/AGENTS.md"))
	o.back(o.mine, "initial")
	assert.Equal(t, "# My line\n# Rules of first\n", o.Read(o.UserHome, ".codex/AGENTS.md"))
}
