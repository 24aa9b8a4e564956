package target_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// edited returns the sample with one file of one module changed.
func (s sample) edited(id, path string, data []byte) sample {
	modules := make([]target.Module, len(s.Modules))
	for i, m := range s.Modules {
		if m.ID == id {
			m.Tree = append(deployment.Tree(nil), m.Tree...)
			for j, f := range m.Tree {
				if f.Path == path {
					m.Tree[j].Content = deployment.ContentOf(data)
				}
			}
		}
		modules[i] = m
	}
	s.Modules = modules
	return s
}

// onDisk returns the bytes of a desired file; a block is inside a file that is the user's.
func onDisk(t require.TestingT, f deployment.Desired) []byte {
	if f.Part == nil {
		return f.Content.Data
	}
	text, err := deployment.PutBlock("# Mine\n\nMy own text.\n", f.Part.Block)
	require.NoError(t, err)
	return []byte(text)
}

func (s sample) invert(t require.TestingT, f deployment.Desired, actual []byte) target.Inverse {
	inverse, err := target.Invert(target.DriftedFile{Input: s.Input, File: f, Actual: actual})
	require.NoError(t, err)
	return inverse
}

func (s sample) module(id string) (m target.Module) {
	for _, m = range s.Modules {
		if m.ID == id {
			return m
		}
	}
	return target.Module{}
}

// link is a deployed file and a module's file that it comes from.
type link struct {
	index int // in the output
	file  deployment.Desired
	id    string
	path  string
	was   string
}

// links returns the links of an output that can be traced back.
func (s sample) links(t *testing.T, out target.Output) (all []link) {
	for i, f := range out.Files {
		if f.Part != nil && f.Part.Format != deployment.FormatMarkdown {
			continue
		}
		for _, id := range f.Modules {
			m := s.module(id)
			path := target.ModulePath(f.Target, m, f.Root, f.Path, '/')
			file, ok := m.Tree.Find(path)
			require.True(t, ok, "%s: module path %q", f.Path, path)
			all = append(all, link{i, f, id, path, string(file.Content.Data)})
		}
	}
	return all
}

// follow changes the module's file, renders it, and asks where the result came from.
func (s sample) follow(t require.TestingT, l link, now string) {
	if head, _, ok := strings.Cut(l.was, "---\n\n"); ok {
		now = head + "---\n\n" + now // frontmatter is not changed here
	}
	if strings.HasSuffix(l.was, "\n") {
		now += "\n"
	}
	if now == l.was {
		return
	}
	after, err := target.Render(s.edited(l.id, l.path, []byte(now)).Input)
	require.NoError(t, err)
	got := s.invert(t, l.file, onDisk(t, after.Files[l.index]))
	require.Equal(t, target.Inverse{Edits: []target.ModuleEdit{{Module: l.id, Path: l.path, Data: []byte(now)}}}, got, l.file.Path)
}

// TestWhatModulesMakeLeadsBackToThem traces back every file of every module for any target, and then random ones with random texts.
func TestWhatModulesMakeLeadsBackToThem(t *testing.T) {
	words := rapid.StringMatching(`[a-z #*'"\\{}]{0,12}`)
	text := rapid.Custom(func(t *rapid.T) string {
		return "x" + strings.Join(rapid.SliceOfN(words, 1, 6).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", "'''", `"""`}).Draw(t, "between"))
	})
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			before := s.render(t)
			links := s.links(t, before)
			require.NotEmpty(t, links)
			for _, l := range links {
				assert.Equal(t, target.Inverse{}, s.invert(t, l.file, onDisk(t, l.file)), "%s: nothing changed", l.file.Path)
				s.follow(t, l, "changed\n\nand more")
			}
			rapid.Check(t, func(t *rapid.T) { s.follow(t, rapid.SampledFrom(links).Draw(t, "link"), text.Draw(t, "text")) })
		})
	}
}

// fileOf returns the output's file of that path.
func fileOf(t *testing.T, out target.Output, path string) deployment.Desired {
	t.Helper()
	for _, f := range out.Files {
		if f.Path == path {
			return f
		}
	}
	require.Fail(t, "no such file", path)
	return deployment.Desired{}
}

func TestOnlyWhatIsTheModulesLeadsBack(t *testing.T) {
	s := samples()["cursor_all"]
	rule := fileOf(t, s.render(t), "/w/app/.cursor/rules/instructions_one--460e6a93c0.mdc")
	text := string(rule.Content.Data)
	for name, c := range map[string]struct {
		actual string
		want   target.Reason
	}{
		"description":    {strings.Replace(text, "House", "Your", 1), target.ReasonHeaderChanged},
		"globs":          {strings.Replace(text, "**/*.go", "**", 1), target.ReasonHeaderChanged},
		"no header":      {"# one\n", target.ReasonHeaderChanged},
		"the blank line": {strings.Replace(text, "---\n\n", "---\n", 1), target.ReasonHeaderChanged},
		"empty":          {"", target.ReasonHeaderChanged},
	} {
		got := s.invert(t, rule, []byte(c.actual))
		assert.Equal(t, c.want, got.Reason, name)
		assert.NotEmpty(t, got.Message, name)
		assert.Empty(t, got.Edits, name)
	}
	s = samples()["vscode_all"]
	assert.Equal(t, target.ReasonHeaderChanged, s.invert(t, fileOf(t, s.render(t), "/w/app/.github/instructions/instructions_two--315524c426.instructions.md"), []byte("---\napplyTo: \"**\"\n---\n\n# two\n")).Reason)

	s = samples()["gemini_cli"]
	command := fileOf(t, s.render(t), "/h/.gemini/commands/ship.toml")
	for actual, reason := range map[string]target.Reason{
		"description = \"Sink it\"\nprompt = \"Run make.\\n\"\n": target.ReasonUnsupported,
		"this is no TOML": target.ReasonUnsupported,
	} {
		assert.Equal(t, reason, s.invert(t, command, []byte(actual)).Reason, actual)
	}
	got := s.invert(t, command, []byte("prompt = \"Run make twice.\\n\"\ndescription = 'Ship it' # as it was\n"))
	require.Len(t, got.Edits, 1)
	assert.Equal(t, "---\ndescription: Ship it\nallowed-tools: [\"Bash(make:*)\"]\n---\n\nRun make twice.\n", string(got.Edits[0].Data), "written otherwise, it says the same")
	assert.Equal(t, target.ReasonManagedKeys, s.invert(t, fileOf(t, s.render(t), "/h/.gemini/settings.json"), []byte("{}")).Reason)
}

func TestSectionsLeadBackOneByOne(t *testing.T) {
	s := with([]target.Module{
		module("instructions:a", deployment.ModuleInstructions, "AGENTS.md", "# a"), // no final newline
		module("instructions:b", deployment.ModuleInstructions, "AGENTS.md", "# b\n"),
		module("instructions:c", deployment.ModuleInstructions, "AGENTS.md", "# c\n"),
	}).set("codex", deployment.ScopeProject)
	f := s.render(t).Files[0]
	text := string(f.Content.Data)
	replace := strings.NewReplacer("# a\n", "# A\nmore\n", "# c\n", "")
	assert.Equal(t, []target.ModuleEdit{{Module: "instructions:a", Path: "AGENTS.md", Data: []byte("# A\nmore")}, {Module: "instructions:c", Path: "AGENTS.md", Data: []byte{}}},
		s.invert(t, f, []byte(replace.Replace(text)+"\n\nmine\n")).Edits, "text around the sections is nobody's")
	assert.Equal(t, target.Inverse{}, s.invert(t, f, []byte(text+"\n")), "editors put a newline at the end")
	for name, actual := range map[string]string{
		"only around":    "mine\n" + text,
		"no marks":       "# a\n# b\n# c\n",
		"a mark is gone": strings.Replace(text, "<!-- agentpack:module=instructions:b -->\n", "", 1),
		"no end":         strings.TrimSuffix(text, "<!-- /agentpack -->"),
		"empty":          "",
		"no UTF-8":       text + "\xff",
	} {
		got := s.invert(t, f, []byte(actual))
		assert.Equal(t, target.ReasonMultiModule, got.Reason, name)
		assert.NotEmpty(t, got.Message, name)
	}
	marked := s.edited("instructions:b", "AGENTS.md", []byte("<!-- /agentpack -->\n"))
	f = marked.render(t).Files[0]
	assert.Equal(t, target.ReasonMultiModule, marked.invert(t, f, []byte("x"+string(f.Content.Data))).Reason)
}

func TestBlocksLeadBack(t *testing.T) {
	for _, was := range []string{"# a", "# a\n"} {
		s := with([]target.Module{module("instructions:a", deployment.ModuleInstructions, "AGENTS.md", was)}).set("zed", deployment.ScopeProject, "instructions_mode", "section")
		f := s.render(t).Files[0]
		require.NotNil(t, f.Part)
		assert.Equal(t, deployment.Part{Format: deployment.FormatMarkdown, Block: was}, *f.Part)
		disk := string(onDisk(t, f))
		assert.Equal(t, target.Inverse{}, s.invert(t, f, []byte("more\n"+disk)), "the rest is the user's")
		got := s.invert(t, f, []byte(strings.Replace(disk, "# a", "# b", 1)))
		assert.Equal(t, []target.ModuleEdit{{Module: "instructions:a", Path: "AGENTS.md", Data: []byte(strings.Replace(was, "a", "b", 1))}}, got.Edits)
		assert.Equal(t, target.ReasonUnsupported, s.invert(t, f, []byte("# all new\n")).Reason)
		emptied := s.invert(t, f, []byte(strings.Replace(disk, "# a\n", "", 1)))
		require.Len(t, emptied.Edits, 1)
		assert.Empty(t, emptied.Edits[0].Data)
	}
}

func TestFilesOfSeveralOrNoModulesDoNotLeadBack(t *testing.T) {
	s := with([]target.Module{module("prompt:a", deployment.ModulePrompt, "p.md", "x\n"), module("prompt:b", deployment.ModulePrompt, "p.md", "x\n")}).set("export_dir", deployment.ScopeUser)
	f := s.render(t).Files[0]
	assert.Equal(t, target.ReasonMultiModule, s.invert(t, f, []byte("y\n")).Reason)
	f.Modules = []string{"prompt:gone"}
	assert.Equal(t, target.ReasonUnrelated, s.invert(t, f, []byte("y\n")).Reason)
	f.Modules = nil
	assert.Equal(t, target.ReasonUnrelated, s.invert(t, f, []byte("y\n")).Reason)
	f.Modules, f.Path = []string{"prompt:a"}, "/out/prompts/q.md"
	assert.Equal(t, target.ReasonUnrelated, s.invert(t, f, []byte("y\n")).Reason)
	f.Target = "emacs"
	_, err := target.Invert(target.DriftedFile{Input: s.Input, File: f})
	require.ErrorIs(t, err, deployment.ErrTarget)
}

func TestModulePath(t *testing.T) {
	empty := func(id string, of deployment.ModuleType) target.Module { return module(id, of) }
	for name, c := range map[string]struct {
		target              string
		m                   target.Module
		dir, deployed, want string
	}{
		"instructions":                 {"cursor", empty("instructions:a", deployment.ModuleInstructions), "/r", "/r/a--1.mdc", "AGENTS.md"},
		"skill":                        {"codex", empty("skill:s", deployment.ModuleSkill), "/r", "/r/s/bin/x", "bin/x"},
		"skill of an export":           {"export_dir", empty("skill:s", deployment.ModuleSkill), "/r", "/r/skills/s/bin/x", "bin/x"},
		"prompt":                       {"codex", module("prompt:p", deployment.ModulePrompt, "p.md", ""), "/r", "/r/p.md", "p.md"},
		"prompt in a directory":        {"codex", module("prompt:p", deployment.ModulePrompt, "sub/p.md", ""), "/r", "/r/p.md", "sub/p.md"},
		"prompt that is renamed":       {"vscode", module("prompt:p", deployment.ModulePrompt, "p.md", ""), "/r", "/r/p.prompt.md", "p.md"},
		"prompt whose module is gone":  {"vscode", empty("prompt:p", deployment.ModulePrompt), "/r", "/r/p.prompt.md", "p.prompt.md"},
		"command as TOML":              {"gemini_cli", module("command:c", deployment.ModuleCommand, "c.md", ""), "/r", "/r/c.toml", "c.md"},
		"one server":                   {"cursor", module("mcp:m", deployment.ModuleMCP, "x.json", ""), "/r", "/r/mcp.json", "x.json"},
		"several servers":              {"cursor", module("mcp:m", deployment.ModuleMCP, "x.json", "", "y.json", ""), "/r", "/r/mcp.json", ""},
		"settings":                     {"zed", empty("settings:s", deployment.ModuleSettings), "/r", "/r/settings.json", "zed.json"},
		"directly below the root of /": {"codex", empty("skill:s", deployment.ModuleSkill), "/", "/s/x", "x"},
	} {
		assert.Equal(t, c.want, target.ModulePath(c.target, c.m, c.dir, c.deployed, '/'), name)
	}
	assert.Equal(t, "bin/x", target.ModulePath("codex", empty("skill:s", deployment.ModuleSkill), `C:\r`, `C:\r\s\bin\x`, '\\'))
}

// TestEveryTarget checks what holds for all targets and any modules.
func TestEveryTarget(t *testing.T) {
	for name, s := range samples() {
		out := s.render(t)
		assert.Equal(t, out, s.render(t), "%s: twice the same", name)
		known := map[string]bool{}
		for i, r := range out.Roots {
			assert.NotEmpty(t, r.Path)
			known[r.Path] = true
			if i > 0 {
				assert.Less(t, out.Roots[i-1].Path, r.Path, name)
			}
		}
		for i, f := range out.Files {
			assert.True(t, known[f.Root] && deployment.IsBelow(f.Root, f.Path, '/') && f.Path != f.Root, "%s: %s below %s", name, f.Path, f.Root)
			for r := range known {
				assert.False(t, deployment.IsBelow(r, f.Path, '/') && len(r) > len(f.Root), "%s: %s has a deeper root %s", name, f.Path, r)
			}
			assert.NotEmpty(t, f.Modules, f.Path)
			assert.Equal(t, f.Part != nil, f.Content.Sum.IsZero(), f.Path)
			if i > 0 {
				assert.Less(t, out.Files[i-1].Path, f.Path, name)
			}
		}
		for _, m := range s.Modules {
			one := with([]target.Module{m})
			one.Targets, one.Chosen = s.Targets, s.Chosen
			for _, f := range one.render(t).Files {
				assert.Equal(t, []string{m.ID}, f.Modules, "%s %s", name, f.Path)
			}
		}
	}
}

func BenchmarkRender(b *testing.B) {
	for _, files := range []int{1000, 10000} {
		var modules []target.Module
		for i := range 10 {
			m := target.Module{Module: deployment.Module{ID: fmt.Sprintf("skill:s%03d", i), Type: deployment.ModuleSkill}}
			for j := range files / 10 {
				m.Tree = append(m.Tree, deployment.File{Path: fmt.Sprintf("d%02d/f%05d.md", j%100, j), Mode: deployment.PlainMode, Content: deployment.Content{Size: 9, Origin: "/o"}})
			}
			m.Tree.Sort()
			modules = append(modules, m)
		}
		s := with(modules).set("codex", deployment.ScopeUser)
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := target.Render(s.Input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
