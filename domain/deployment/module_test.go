package deployment_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// tree returns a sorted tree of names and texts.
func tree(files map[string]string) (t deployment.Tree) {
	for name, text := range files {
		t = append(t, deployment.File{Path: name, Mode: deployment.PlainMode, Content: deployment.ContentOf([]byte(text))})
	}
	t.Sort()
	return t
}

func read(c deployment.Content) ([]byte, error) { return c.Data, nil }

// frontmatter does what an adapter does, with a real YAML decoder.
func frontmatter(doc []byte) (fields map[string]any, found bool, err error) {
	rest, ok := bytes.CutPrefix(doc, []byte("---\n"))
	if !ok {
		return nil, false, nil
	}
	text, _, ok := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
	if !ok {
		return nil, true, errors.New("the frontmatter has no end")
	}
	return fields, true, yaml.Unmarshal(text, &fields)
}

type example struct {
	name  string
	id    string
	files map[string]string
	// in the error; none means that the module is valid
	words   string
	details deployment.Details
}

func examine(t *testing.T, kind deployment.ModuleType, examples []example) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			id := e.id
			if id == "" {
				id = string(kind) + ":x"
			}
			err := deployment.ValidateModule(deployment.Module{ID: id, Type: kind}, tree(e.files), read, frontmatter)
			if e.words == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, deployment.ErrConfig)
			f := fault.From(err)
			assert.Contains(t, f.Message, e.words)
			assert.Contains(t, f.Message, id)
			assert.Contains(t, f.Message, "; ", "the way out follows")
			details, ok := f.Details.(deployment.Details)
			require.True(t, ok)
			assert.Equal(t, id, details["module_id"])
			for name, want := range e.details {
				assert.Equal(t, want, details[name], name)
			}
		})
	}
}

func TestInstructions(t *testing.T) {
	examine(t, deployment.ModuleInstructions, []example{
		{name: "at the root", files: map[string]string{"AGENTS.md": "# hi\n", "notes/x.txt": ""}},
		{name: "empty tree", words: "no AGENTS.md", details: deployment.Details{"path": "AGENTS.md", "missing": []string{"AGENTS.md"}}},
		{name: "below the root", files: map[string]string{"docs/AGENTS.md": ""}, words: "no AGENTS.md"},
		{name: "other case", files: map[string]string{"agents.md": ""}, words: "no AGENTS.md"},
	})
}

func TestSkill(t *testing.T) {
	good := "---\nname: x\ndescription: does y\n---\nbody\n"
	with := func(text string) map[string]string { return map[string]string{"SKILL.md": text} }
	examine(t, deployment.ModuleSkill, []example{
		{name: "good", files: with(good)},
		{name: "good with files", files: map[string]string{"SKILL.md": good, "scripts/run.sh": "!bash"}},
		{name: "an identifier without a colon", id: "../x", files: with(good)},
		{name: "missing file", words: "no SKILL.md", details: deployment.Details{"missing": []string{"SKILL.md"}, "path": "SKILL.md"}},
		{name: "no frontmatter", files: with("# hi\n"), words: "missing YAML frontmatter",
			details: deployment.Details{"missing": []string{"frontmatter"}, "required_fields": []string{"name", "description"}, "path": "SKILL.md"}},
		{name: "no end", files: with("---\nname: x\n"), words: "no end", details: deployment.Details{"error": "the frontmatter has no end"}},
		{name: "a list", files: with("---\n- a\n---\n"), words: "frontmatter", details: deployment.Details{"expected": "mapping"}},
		{name: "empty", files: with("---\n---\n"), words: "no name", details: deployment.Details{"missing": []string{"name"}, "field": "name"}},
		{name: "null name", files: with("---\nname:\ndescription: y\n---\n"), words: "no name", details: deployment.Details{"missing": []string{"name"}}},
		{name: "no description", files: with("---\nname: x\n---\n"), words: "no description", details: deployment.Details{"missing": []string{"description"}}},
		{name: "a number", files: with("---\nname: 7\ndescription: y\n---\n"), words: "is not text", details: deployment.Details{"field": "name", "expected": "string"}},
		{name: "blank", files: with("---\nname: x\ndescription: '  '\n---\n"), words: "blank", details: deployment.Details{"field": "description", "expected": "string"}},
	})
}

func TestSkillNameIsOneSafeComponent(t *testing.T) {
	good := map[string]string{"SKILL.md": "---\nname: x\ndescription: y\n---\n"}
	for _, name := range []string{"a", "A-b_c.d", "über", "a b", ".hidden", "COM", "COM10", "console"} {
		examine(t, deployment.ModuleSkill, []example{{name: name, id: "skill:" + name, files: good}})
	}
	for _, name := range []string{
		"", ".", "..", "../../x", "a/b", `a\b`, "/etc", "a:b", "a\x00b", "a\nb", " a", "a ", "a.", ".git", ".GIT", ".agentpack", "nul", "Com1.txt", "LPT9", "a*", "\xff",
		strings.Repeat("x", 256),
	} {
		err := deployment.ValidateModule(deployment.Module{ID: "skill:" + name, Type: deployment.ModuleSkill}, tree(good), read, frontmatter)
		require.ErrorIs(t, err, deployment.ErrConfig, "%q", name)
		assert.Equal(t, "id", fault.From(err).Details.(deployment.Details)["field"])
	}
}

func TestPrompt(t *testing.T) {
	examine(t, deployment.ModulePrompt, []example{
		{name: "one", files: map[string]string{"draft.md": "x"}},
		{name: "one below a directory", files: map[string]string{"a/draft.prompt.md": "x"}},
		{name: "none", words: "0 files", details: deployment.Details{"expected": "one .md file", "files": []string{}}},
		{name: "two", files: map[string]string{"a.md": "", "b.md": ""}, words: "2 files", details: deployment.Details{"files": []string{"a.md", "b.md"}}},
		{name: "another extension", files: map[string]string{"a.txt": ""}, words: "not a .md file", details: deployment.Details{"path": "a.txt", "expected": "one .md file"}},
		{name: "an extension alone", files: map[string]string{"x/.md": ""}, words: "not a .md file"},
	})
}

func TestCommand(t *testing.T) {
	with := func(fields, body string) map[string]string {
		return map[string]string{"go.md": "---\ndescription: d\n" + fields + "---\n" + body}
	}
	missing := deployment.Details{"field": "allowed-tools", "missing": []string{"allowed-tools"}, "path": "go.md"}
	examine(t, deployment.ModuleCommand, []example{
		{name: "runs nothing", files: with("", "Say hi!\n![image](x.png)\nWow! `code` and a!b\n")},
		{name: "may run", files: with("allowed-tools: Bash(git status:*)\n", "!`git status`\n")},
		{name: "may run, in a list", files: with("allowed-tools: [Read, \"Bash(ls)\"]\n", "x !`ls` y\n")},
		{name: "two files", files: map[string]string{"a.md": "", "b.md": ""}, words: "2 files"},
		{name: "no frontmatter", files: map[string]string{"go.md": "hi\n"}, words: "missing YAML frontmatter",
			details: deployment.Details{"missing": []string{"frontmatter"}, "required_fields": []string{"description"}}},
		{name: "no description", files: map[string]string{"go.md": "---\na: b\n---\n"}, words: "no description"},
		{name: "the word", files: with("", "!bash ls\n"), words: "missing allowed-tools", details: missing},
		{name: "the word in backticks", files: with("", "a !`bash` b\n"), words: "missing allowed-tools", details: missing},
		{name: "an inline command", files: with("", "Status: !`git status`\n"), words: "missing allowed-tools", details: missing},
		{name: "a line", files: with("", "text\n!git status\n"), words: "missing allowed-tools", details: missing},
		{name: "a fence", files: with("", "```!\nls\n```\n"), words: "missing allowed-tools", details: missing},
		{name: "other tools", files: with("allowed-tools: Read, Write\n", "!`ls`\n"), words: "missing allowed-tools", details: missing},
		{name: "all of Bash", files: with("allowed-tools: [Bash, 7]\n", "!`ls`\n"), words: "missing allowed-tools", details: missing},
	})
}

func TestWhatIsTakenAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		module deployment.Module
		file   string
		words  string
	}{
		"a command without frontmatter": {deployment.Module{Type: deployment.ModuleCommand, Targets: []string{"cursor"}}, "go.md", ""},
		"an agent in TOML":              {deployment.Module{Type: deployment.ModuleAgent, Targets: []string{"codex"}}, "deep.toml", ""},
		"for nobody by name":            {deployment.Module{Type: deployment.ModuleCommand}, "go.md", "as_is needs targets, because the file is in the format of its targets"},
		"of another type":               {deployment.Module{Type: deployment.ModulePrompt, Targets: []string{"codex"}}, "go.md", "for commands and agents"},
		"of another form":               {deployment.Module{Type: deployment.ModuleCommand, Targets: []string{"codex"}}, "go.sh", "not a .md or .toml file"},
	} {
		c.module.ID, c.module.AsIs = string(c.module.Type)+":x", true
		err := deployment.ValidateModule(c.module, tree(map[string]string{c.file: "hi\n"}), read, frontmatter)
		if c.words == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, deployment.ErrConfig, name)
		assert.Contains(t, err.Error(), c.words, name)
	}
}

func TestServers(t *testing.T) {
	with := func(text string) map[string]string { return map[string]string{"mcp/docs.json": text} }
	examine(t, deployment.ModuleMCP, []example{
		{name: "a command", files: with(`{"command": "npx", "args": ["-y"], "x": 1.5}`)},
		{name: "a url", files: map[string]string{"a.json": `{"url": "https://x"}`, "b.json": `{"command": "b"}`, "README.md": "no JSON"}},
		{name: "none", files: map[string]string{"README.md": ""}, words: "no .json file", details: deployment.Details{"missing": []string{"<name>.json"}}},
		{name: "both", files: with(`{"command": "a", "url": "b"}`), words: "both command and url", details: deployment.Details{"path": "mcp/docs.json"}},
		{name: "neither", files: with(`{}`), words: "neither command nor url", details: deployment.Details{"missing": []string{"command", "url"}}},
		{name: "a list", files: with(`["command"]`), words: "not a JSON object", details: deployment.Details{"expected": "object"}},
		{name: "null", files: with(`null`), words: "not a JSON object"},
		{name: "no JSON", files: with(`{"command": "a",}`), words: "not a JSON object"},
		{name: "more than one", files: with(`{"command": "a"} {}`), words: "not a JSON object"},
		{name: "a list for a command", files: with(`{"command": ["a"]}`), words: "command", details: deployment.Details{"field": "command", "expected": "string"}},
		{name: "blank url", files: with(`{"url": " "}`), words: "blank", details: deployment.Details{"field": "url"}},
		{name: "no name", files: map[string]string{"mcp/.json": `{"url": "x"}`}, words: "has no name"},
		{name: "one name twice", files: map[string]string{"a/x.json": `{"url": "x"}`, "x.json": `{"url": "x"}`}, words: "same name"},
	})
}

func TestSettings(t *testing.T) {
	examine(t, deployment.ModuleSettings, []example{
		{name: "two agents", files: map[string]string{"claude_code.json": `{"a": {"b": 1}}`, "codex.json": `{}`}},
		{name: "none", words: "no .json file"},
		{name: "no object", files: map[string]string{"codex.json": `7`}, words: "not a JSON object", details: deployment.Details{"path": "codex.json"}},
		{name: "is in a subdirectory, where agents do not read it", files: map[string]string{"a/codex.json": `{}`}, words: "is in a subdirectory, where agents do not read it"},
	})
}

func TestPlugins(t *testing.T) {
	with := func(text string) map[string]string { return map[string]string{"acme.json": text} }
	examine(t, deployment.ModulePlugins, []example{
		{name: "of a repository", files: with(`{"marketplace": "acme", "source": "acme/plugins", "ref": "v1.2", "plugins": ["formatter", "a.b_c-d"]}`)},
		{name: "of a known marketplace", files: with(`{"marketplace": "acme", "plugins": ["formatter"]}`)},
		{name: "none", words: "no .json file"},
		{name: "no plugins", files: with(`{"marketplace": "acme"}`), words: "names no plugins", details: deployment.Details{"missing": []string{"plugins"}}},
		{name: "no marketplace", files: with(`{"plugins": ["a"]}`), words: "invalid marketplace"},
		{name: "another name", files: with(`{"marketplace": "acme", "plugins": ["a@b"]}`), words: "invalid marketplace or plugin name"},
		{name: "a text for a list", files: with(`{"marketplace": "acme", "plugins": "a"}`), words: "are invalid"},
		{name: "another key", files: with(`{"marketplace": "acme", "plugins": ["a"], "run": "x"}`), words: "has the key run", details: deployment.Details{"field": "run"}},
		{name: "a ref of nothing", files: with(`{"marketplace": "acme", "ref": "v1", "plugins": ["a"]}`), words: "a ref but no source"},
		{name: "an option", files: with(`{"marketplace": "acme", "source": "--upload-pack=x", "plugins": ["a"]}`), words: "source or ref"},
	})
}

func TestUnknownTypeAndReadErrors(t *testing.T) {
	err := deployment.ValidateModule(deployment.Module{ID: "x", Type: "rule"}, nil, read, frontmatter)
	require.ErrorIs(t, err, deployment.ErrConfig)
	assert.Contains(t, fault.From(err).Message, "settings")

	_, absent := os.ReadFile(filepath.Join(t.TempDir(), "absent"))
	broken := func(deployment.Content) ([]byte, error) { return nil, absent }
	for kind, name := range map[deployment.ModuleType]string{deployment.ModuleSkill: "SKILL.md", deployment.ModuleCommand: "a.md", deployment.ModuleMCP: "a.json", deployment.ModuleSettings: "a.json"} {
		err := deployment.ValidateModule(deployment.Module{ID: "x", Type: kind}, tree(map[string]string{name: ""}), broken, frontmatter)
		assert.ErrorIs(t, err, absent, kind)
	}
}

// FuzzValidate: no document makes validation panic, and every error is a configuration error that names the module.
func FuzzValidate(f *testing.F) {
	for _, text := range []string{"", "---\n---\n", "---\nname: x\ndescription: y\n---\n!`ls`", `{"command": "x"}`, "---\n\xff: [\n---\n", "![", "!`"} {
		f.Add(text, "skill:x", "SKILL.md")
		f.Add(text, "x", "a.md")
		f.Add(text, "mcp:x", "a.json")
	}
	plain := func(doc []byte) (map[string]any, bool, error) { // the fuzzer is to find faults here, not in a YAML decoder
		fields := map[string]any{}
		for line := range strings.Lines(string(doc)) {
			if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
				fields[key] = value
			}
		}
		return fields, bytes.HasPrefix(doc, []byte("---\n")), nil
	}
	f.Fuzz(func(t *testing.T, text, id, name string) {
		for _, kind := range deployment.ModuleTypes() {
			err := deployment.ValidateModule(deployment.Module{ID: id, Type: kind}, tree(map[string]string{name: text}), read, plain)
			if err == nil {
				continue
			}
			require.ErrorIs(t, err, deployment.ErrConfig)
			assert.Equal(t, id, fault.From(err).Details.(deployment.Details)["module_id"])
		}
	})
}
