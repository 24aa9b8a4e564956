package configrepo_test

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/ports/deployport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func added() deployment.Module {
	return deployment.Module{ID: "skill:new", Type: deployment.ModuleSkill, Enabled: true, Tags: []string{"base"}, Source: deployment.Source{Local: "modules/new"}}
}

const one = "{id: a, type: prompt, source: {local_path: {path: p}}}"

// layouts are manifests that an added and removed module leaves as they were, byte by byte.
func layouts() map[string]string {
	block := "id: a # the first\n    type: 'prompt'\n    source:\n        local_path: {path: \"p\"}\n"
	return map[string]string{
		"empty list":        head + "modules: []\n",
		"empty, comment":    head + "modules: [] # none yet\ntargets: {}\n",
		"two spaces":        head + "modules:\n  - " + block + "\n# after\ntargets: {}\n",
		"level":             head + "modules:\n- id: a\n  type: prompt\n  source: {local_path: {path: p}}\n\n\n",
		"deep":              head + "modules:\n        - " + one + "\n",
		"blank lines":       head + "modules:\n\n  # first\n  - " + block + "\n  # second\n  - id: b\n    type: prompt\n    source: {git: {url: /r}}\n\n\n# end\n",
		"no last break":     head + "modules:\n  - " + one,
		"no break, comment": head + "modules:\n  - " + one + " # x",
		"flow":              head + "modules: [" + one + "]\n",
		"flow lines":        head + "modules: [\n  # a\n  " + one + ", # b\n]\n",
		"json":              `{"version": 1, "profiles": {"default": {}}, "modules": [{"id": "a", "type": "prompt", "source": {"local_path": {"path": "p"}}}]}`,
		"json, empty":       `{"version": 1, "modules": [], "profiles": {"default": {}}}` + "\n",
		"literal":           head + "modules:\n  - id: a\n    type: prompt\n    source: {local_path: {path: p}}\n    metadata:\n      note: |+\n        # no comment\n\n\ntargets: {}\n",
		"list first":        "modules:\n  - " + one + "\n# --\nversion: 1\nprofiles:\n  default: {}\n",
		"mark":              "\ufeff" + head + "modules:\n  - " + one + "\n",
		"end mark":          "---\n" + head + "modules:\n  - " + one + "\n...\n",
		"quoted keys":       "\"version\": 1\n'profiles': {default: {}}\n\"modules\":\n  - " + one + "\n",
		"dash alone":        head + "modules:\n  -\n    id: a\n    type: prompt\n    source: {local_path: {path: p}}\n",
		"commented out":     head + "modules:\n  - " + one + "\n  # - id: b\n  #   type: prompt\n",
		"alias in item":     head + "x: &s {local_path: {path: p}}\nmodules:\n  - {id: a, type: prompt, source: *s}\n",
	}
}

func TestAddThenRemoveLeavesEveryByte(t *testing.T) {
	for name, text := range layouts() {
		for ending, in := range map[string]string{"": text, ", crlf": strings.ReplaceAll(text, "\n", "\r\n")} {
			t.Run(name+ending, func(t *testing.T) {
				m := added()
				out, err := configrepo.EditManifest([]byte(in), path, targets(), deployport.ManifestEdit{Add: &m, Metadata: map[string]any{"note": "two\nlines"}})
				require.NoError(t, err)
				decoded, _, err := configrepo.DecodeManifest(out, path, targets())
				require.NoError(t, err)
				last := decoded.Modules[len(decoded.Modules)-1]
				last.Line = 0
				assert.Equal(t, m, last)
				if ending != "" {
					assert.Equal(t, strings.Count(string(out), "\n"), strings.Count(string(out), "\r\n"), "one kind of line end")
				}
				back, err := configrepo.EditManifest(out, path, targets(), deployport.ManifestEdit{Remove: m.ID})
				require.NoError(t, err)
				assert.Equal(t, in, string(back))
				both, err := configrepo.EditManifest([]byte(in), path, targets(), deployport.ManifestEdit{Add: &m}, deployport.ManifestEdit{Remove: m.ID})
				require.NoError(t, err)
				assert.Equal(t, in, string(both))
			})
		}
	}
}

func TestEditWritesTidyBlocks(t *testing.T) {
	m := added()
	git := deployment.Module{ID: "prompt:g", Type: deployment.ModulePrompt, Targets: []string{"codex", "cursor"},
		Source: deployment.Source{Git: &deployment.GitSource{URL: "https://h/r.git", Ref: "v1", Subdir: "p/./q"}}}
	plain := deployment.Module{ID: "123", Type: deployment.ModuleCommand, Enabled: true, Tags: []string{"yes", "1.5", "a: b"},
		Source: deployment.Source{Git: &deployment.GitSource{URL: "git@h:r", Shallow: true}}}
	out, err := configrepo.EditManifest([]byte("# mine\nversion: 1\n\nprofiles:\n  default: {} # all\n"), path, targets(),
		deployport.ManifestEdit{Add: &m, Profile: "default", Tags: []string{"base", "base", "more"}},
		deployport.ManifestEdit{Add: &git, Metadata: map[string]any{"owner": "me", "n": []any{1, "2"}}},
		deployport.ManifestEdit{Add: &plain, Profile: "work", Tags: []string{"yes"}},
		deployport.ManifestEdit{Profile: "bare"},
		deployport.ManifestEdit{Profile: "default", Tags: []string{"more"}})
	require.NoError(t, err)
	golden.Text(t, "edited", string(out))
}

func TestRemoveTakesTheCommentWithIt(t *testing.T) {
	in := head + "modules:\n  # all of them\n\n  # about a\n  - " + one + "\n\n  # about b\n  # at length\n  - {id: b, type: prompt, source: {git: {url: /r}}} # b\n\ntargets: {}\n"
	out, err := configrepo.EditManifest([]byte(in), path, targets(), deployport.ManifestEdit{Remove: "b"})
	require.NoError(t, err)
	assert.Equal(t, head+"modules:\n  # all of them\n\n  # about a\n  - "+one+"\n\ntargets: {}\n", string(out))
	out, err = configrepo.EditManifest(out, path, targets(), deployport.ManifestEdit{Remove: "a"})
	require.NoError(t, err)
	assert.Equal(t, head+"modules: []\n  # all of them\n\n\ntargets: {}\n", string(out))
}

func TestEditRefuses(t *testing.T) {
	m, bad, dup := added(), added(), added()
	bad.Source.Local = "../x"
	dup.ID = "a"
	in := head + "modules:\n  - " + one + "\n"
	for name, c := range map[string]struct {
		in   string
		edit deployport.ManifestEdit
		has  deployment.Details
	}{
		"unknown":        {in, deployport.ManifestEdit{Remove: "z"}, deployment.Details{"module_id": "z", "reason_code": "module_not_found"}},
		"duplicate":      {in, deployport.ManifestEdit{Add: &dup}, deployment.Details{"module_id": "a"}},
		"invalid module": {in, deployport.ManifestEdit{Add: &bad}, deployment.Details{"field": "path"}},
		"anchored list":  {strings.Replace(in, "modules:", "modules: &m", 1), deployport.ManifestEdit{Add: &m}, deployment.Details{"path": path}},
		"shared list":    {head + "x: &m [" + one + "]\nmodules: *m\n", deployport.ManifestEdit{Add: &m}, deployment.Details{"path": path}},
		"shared profile": {"version: 1\nprofiles:\n  default: &d {include_tags: [a]}\n  work: *d\n", deployport.ManifestEdit{Profile: "work", Tags: []string{"b"}}, deployment.Details{"path": path}},
		"shared tags":    {"version: 1\nprofiles:\n  default: &d {include_tags: [a]}\n  work: *d\n", deployport.ManifestEdit{Profile: "default", Tags: []string{"b"}}, deployment.Details{"path": path}},
		"broken before":  {"version: [", deployport.ManifestEdit{Add: &m}, deployment.Details{"path": path}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := configrepo.EditManifest([]byte(c.in), path, targets(), c.edit)
			require.ErrorIs(t, err, deployment.ErrConfig)
			for key, want := range c.has {
				assert.Equal(t, want, fault.From(err).Details.(deployment.Details)[key], key)
			}
		})
	}
}

// FuzzManifest: no text makes a panic; what can be read can be edited or is refused; what was edited can be read; and taking out what
// was put in gives the bytes back, unless there was no list to put it in.
func FuzzManifest(f *testing.F) {
	for _, text := range layouts() {
		f.Add(text)
	}
	f.Add(head + "targets:\n  codex: {mode: files, scope: user, options: {a: [1]}}\nmodules:\n  - {id: g, type: skill, source: {git: {url: https://h/r, ref: v1}}}\n")
	f.Add("{version: 1, profiles: {default: , }, modules: [ ] }")
	f.Add("version: 1\nprofiles: {default}\nmodules:\n  - id: a\n    type: >-\n      prompt\n    source: {local_path:\n  {path: 'p\n\n    q'}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		before, _, err := configrepo.DecodeManifest([]byte(text), path, targets())
		if err != nil {
			require.NotEqual(t, fault.Internal, fault.From(err).Kind)
			return
		}
		m := added()
		out, err := configrepo.EditManifest([]byte(text), path, targets(), deployport.ManifestEdit{Add: &m, Profile: "fuzz", Tags: []string{"t"}})
		if err != nil {
			require.ErrorIs(t, err, deployment.ErrConfig)
			return
		}
		after, _, err := configrepo.DecodeManifest(out, path, targets())
		require.NoError(t, err)
		require.Len(t, after.Modules, len(before.Modules)+1)
		out, err = configrepo.EditManifest([]byte(text), path, targets(), deployport.ManifestEdit{Add: &m}, deployport.ManifestEdit{Remove: m.ID})
		if err == nil && len(before.Modules) > 0 {
			require.Equal(t, text, string(out))
		}
	})
}

// TestEditConfiguresTargets: a target that is missing is made, options that are not set are set, and those that are stay.
func TestEditConfiguresTargets(t *testing.T) {
	edit := deployport.ManifestEdit{Target: "codex", Config: deployment.TargetConfig{Scope: deployment.ScopeBoth, Options: deployment.Options{"skills_dir": "codex", "write_mcp": true}}}
	made := "  codex:\n    mode: files\n    scope: both\n    options:\n      skills_dir: codex\n      write_mcp: true\n"
	for in, want := range map[string]string{
		"":                  "targets:\n" + made,
		"targets: {} # c\n": "targets: # c\n" + made,
		"targets:\n  cursor: {mode: files, scope: project}\n":                                                          "targets:\n  cursor: {mode: files, scope: project}\n" + made,
		"targets:\n  codex: {mode: files, scope: user}\n":                                                              "targets:\n  codex: {mode: files, scope: user, options: {skills_dir: codex, write_mcp: true}}\n",
		"targets:\n  codex:\n    scope: user\n    mode: files\n    options:\n      write_mcp: false # no\n":            "targets:\n  codex:\n    scope: user\n    mode: files\n    options:\n      write_mcp: false # no\n      skills_dir: codex\n",
		"targets:\n  codex: {mode: files, scope: user, options: {skills_dir: agents, write_mcp: true}}\nmodules: []\n": "targets:\n  codex: {mode: files, scope: user, options: {skills_dir: agents, write_mcp: true}}\nmodules: []\n",
	} {
		out, err := configrepo.EditManifest([]byte(head+in), path, targets(), edit)
		require.NoError(t, err, in)
		assert.Equal(t, head+want, string(out))
	}
}

func TestNamesOfModules(t *testing.T) {
	m := added()
	m.ID, m.Type, m.Called, m.Scope = "command:new", deployment.ModuleCommand, "git/new.md", deployment.ScopeProject
	out, err := configrepo.EditManifest([]byte(head+"modules: []\n"), path, targets(), deployport.ManifestEdit{Add: &m})
	require.NoError(t, err)
	assert.Contains(t, string(out), "scope: project\n    name: git/new.md\n")
	for _, bad := range []string{"../x", "/x", "a//b", "."} {
		_, _, err := configrepo.DecodeManifest([]byte(head+"modules:\n  - {id: a, type: command, name: "+bad+", source: {local_path: {path: p}}}\n"), path, targets())
		assert.ErrorIs(t, err, deployment.ErrConfig, bad)
	}
}
