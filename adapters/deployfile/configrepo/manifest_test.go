package configrepo_test

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const path = "/r/agentpack.yaml"

func targets() configrepo.Targets {
	return configrepo.Targets{
		"codex":  {deployment.ScopeUser, deployment.ScopeProject, deployment.ScopeBoth},
		"cursor": {deployment.ScopeProject, deployment.ScopeBoth},
	}
}

const head = "version: 1\nprofiles:\n  default: {}\n"

func TestDecode(t *testing.T) {
	m, warnings, err := configrepo.DecodeManifest([]byte("\ufeff"+head+`  work: {include_tags: [base], include_modules: ["skill:x"], exclude_modules: [gone]}
targets:
  codex:
    mode: files
    scope: both
    options: {codex_home: ~/c, write_agents_repo_root: "yes", n: 3}
modules:
  - id: instructions:base
    type: instructions
    tags: [base, "2"]
    source: {local_path: {path: ./modules/base}, git: null}
  - id: skill:x
    type: skill
    enabled: false
    targets: [codex]
    source:
      git: {url: "git@h:o/r.git", ref: v1, subdir: a/./b, shallow: false}
    metadata: {owner: [1, {a: b}]}
  - {id: mcp:s, type: mcp, source: {git: {url: https://h/r, ref:, subdir: .}}}
`), path, targets())
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, deployment.Profile{IncludeTags: []string{"base"}, IncludeModules: []string{"skill:x"}, ExcludeModules: []string{"gone"}}, m.Profiles["work"])
	assert.Contains(t, m.Profiles, deployment.DefaultProfile)
	assert.Equal(t, deployment.TargetConfig{Scope: deployment.ScopeBoth, Options: deployment.Options{"codex_home": "~/c", "write_agents_repo_root": "yes", "n": 3}}, m.Targets["codex"])
	assert.Equal(t, []deployment.Module{
		{ID: "instructions:base", Type: deployment.ModuleInstructions, Enabled: true, Tags: []string{"base", "2"}, Source: deployment.Source{Local: "modules/base"}, Line: 11},
		{ID: "skill:x", Type: deployment.ModuleSkill, Targets: []string{"codex"}, Source: deployment.Source{Git: &deployment.GitSource{URL: "git@h:o/r.git", Ref: "v1", Subdir: "a/b"}}, Line: 15},
		{ID: "mcp:s", Type: deployment.ModuleMCP, Enabled: true, Source: deployment.Source{Git: &deployment.GitSource{URL: "https://h/r", Ref: "main", Shallow: true}}, Line: 22},
	}, m.Modules)
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	_, warnings, err := configrepo.DecodeManifest([]byte(`version: 1
profils: {}
profiles:
  default: {include_tag: [a]}
targets:
  codex: {mode: files, scope: user, option: {}, options: {anything: 1}}
modules:
  - id: a
    type: prompt
    enabeld: false
    source: {local_path: {path: x, pth: y}, gti: {}}
  - id: b
    type: prompt
    source: {git: {url: https://h/r, branch: main}}
    metadata: {free: 1}
`), path, targets())
	require.NoError(t, err)
	want := []string{
		`line 2, column 1: unknown key "profils" in the document is ignored; did you mean profiles?`,
		`line 4, column 13: unknown key "include_tag" in profile "default" is ignored; did you mean include_tags?`,
		`line 6, column 37: unknown key "option" in target "codex" is ignored; did you mean options?`,
		`line 10, column 5: unknown key "enabeld" in module "a" is ignored; did you mean enabled?`,
		`line 11, column 45: unknown key "gti" in the source of module "a" is ignored`,
		`line 11, column 36: unknown key "pth" in local_path is ignored; did you mean path?`,
		`line 14, column 38: unknown key "branch" in git is ignored`,
	}
	require.Len(t, warnings, len(want))
	for i := range want {
		assert.Equal(t, path+", "+want[i], warnings[i])
	}
}

func TestShapeProblemsAreAllReportedAtTheirPlaces(t *testing.T) {
	module := func(fields string) string { return head + "modules:\n  - {" + fields + "}\n" }
	ok := "id: a, type: prompt, source: {local_path: {path: p}}"
	for name, c := range map[string]struct {
		in           string
		line, column int
		say          string
	}{
		"syntax":            {"version: [1\n", 2, 1, ""},
		"list":              {"- 1\n", 1, 1, "a list where a mapping"},
		"null":              {"~\n", 1, 1, "nothing where a mapping"},
		"repeated":          {head + "version: 1\n", 4, 1, "given twice"},
		"version text":      {"version: \"1\"\n", 1, 10, `"1" where a number`},
		"profiles":          {"version: 1\nprofiles: [a]\n", 2, 11, "a list where a mapping"},
		"profile":           {"version: 1\nprofiles:\n  default: 3\n", 3, 12, "3 where a mapping"},
		"tags":              {"version: 1\nprofiles:\n  default: {include_tags: a}\n", 3, 27, `"a" where a list`},
		"tag":               {"version: 1\nprofiles:\n  default: {include_tags: [a, 3]}\n", 3, 31, "put it in quotes"},
		"targets":           {head + "targets: 1\n", 4, 10, "1 where a mapping"},
		"mode missing":      {head + "targets:\n  codex: {scope: user}\n", 5, 3, "mode of target"},
		"mode":              {head + "targets:\n  codex: {scope: user, mode: link}\n", 5, 30, "use files"},
		"scope missing":     {head + "targets:\n  codex: {mode: files}\n", 5, 3, "scope of target"},
		"scope":             {head + "targets:\n  codex: {mode: files, scope: all}\n", 5, 31, "user, project, both"},
		"options":           {head + "targets:\n  codex: {mode: files, scope: user, options: [a]}\n", 5, 46, "a list where a mapping"},
		"modules":           {head + "modules: {a: b}\n", 4, 10, "a mapping where a list"},
		"module":            {head + "modules:\n  - x\n", 5, 5, `"x" where a mapping`},
		"id missing":        {module("type: prompt, source: {local_path: {path: p}}"), 5, 5, "the id of a module is missing"},
		"id blank":          {module("id: ' ', type: prompt, source: {local_path: {path: p}}"), 5, 10, "is blank"},
		"id number":         {module("id: 7, type: prompt, source: {local_path: {path: p}}"), 5, 10, "put it in quotes"},
		"type missing":      {module("id: a, source: {local_path: {path: p}}"), 5, 5, `the type of module "a" is missing`},
		"enabled":           {module(ok + ", enabled: yes"), 5, 69, "true or false"},
		"module tags":       {module(ok + ", tags: a"), 5, 66, "a list is expected"},
		"module target":     {module(ok + ", targets: [[codex]]"), 5, 70, "a list where text"},
		"metadata":          {module(ok + ", metadata: a"), 5, 70, "a mapping is expected"},
		"source missing":    {module("id: a, type: prompt"), 5, 5, "source"},
		"source both":       {module("id: a, type: prompt, source: {local_path: {path: p}, git: {url: /r}}"), 5, 35, "exactly one"},
		"source neither":    {module("id: a, type: prompt, source: {local_path: null}"), 5, 35, "exactly one"},
		"source text":       {module("id: a, type: prompt, source: p"), 5, 35, "a mapping is expected"},
		"path missing":      {module("id: a, type: prompt, source: {local_path: {}}"), 5, 48, "path"},
		"local_path text":   {module("id: a, type: prompt, source: {local_path: p}"), 5, 48, "a mapping is expected"},
		"url missing":       {module("id: a, type: prompt, source: {git: {ref: x}}"), 5, 41, "url"},
		"shallow":           {module("id: a, type: prompt, source: {git: {url: /r, shallow: 1}}"), 5, 60, "true or false"},
		"explicit tag":      {head + "modules: !!seq []\n", 4, 10, "not supported"},
		"two documents":     {head + "---\na: 1\n", 1, 1, "more than one"},
		"more at once":      {head + "targets: 1\nmodules: 2\n", 4, 10, "line 5, column 10"},
		"second is shorter": {head + "targets:\n  codex: {scope: [a], mode: b}\n", 5, 29, "line 5, column 18"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := configrepo.DecodeManifest([]byte(c.in), path, targets())
			require.ErrorIs(t, err, deployment.ErrConfig)
			details, ok := fault.From(err).Details.(deployment.Details)
			require.True(t, ok)
			assert.Equal(t, []any{c.line, c.column, path}, []any{details["line"], details["column"], details["path"]}, err.Error())
			assert.Contains(t, err.Error(), c.say)
			assert.Contains(t, err.Error(), path)
			assert.NotEmpty(t, details["error"])
		})
	}
}

func TestRefusalsHaveDetailsOfTheirOwn(t *testing.T) {
	module := func(fields string) string { return head + "modules:\n  - {" + fields + "}\n" }
	source := ", source: {local_path: {path: p}}"
	local := func(p string) string {
		return module("id: a, type: prompt, source: {local_path: {path: '" + p + "'}}")
	}
	git := func(fields string) string { return module("id: a, type: prompt, source: {git: {" + fields + "}}") }
	for name, c := range map[string]struct {
		in   string
		want error
		has  deployment.Details
	}{
		"no version":     {"profiles: {}\n", deployment.ErrConfigVersion, deployment.Details{"version": nil, "supported": []int{1}}},
		"other version":  {"version: 2\nmodules: 7\n", deployment.ErrConfigVersion, deployment.Details{"version": int64(2), "supported": []int{1}}},
		"odd version":    {"version: 1.5\n", deployment.ErrConfigVersion, deployment.Details{"version": "1.5"}},
		"no default":     {"version: 1\nprofiles: {a: {}}\n", deployment.ErrConfig, deployment.Details{"profile": "default", "line": 2}},
		"no profiles":    {"version: 1\n", deployment.ErrConfig, deployment.Details{"profile": "default", "line": 1}},
		"target":         {head + "targets:\n  codx: {mode: files, scope: user}\n", deployment.ErrTarget, deployment.Details{"target": "codx", "allowed": []string{"codex", "cursor"}, "reason_code": "target_not_compiled", "line": 5, "next_actions": []string{"inspect_help_json", "edit_manifest_targets", "rebuild_with_target_feature", "retry_command"}}},
		"module target":  {module("id: a, type: prompt, targets: [codex, zed]" + source), deployment.ErrTarget, deployment.Details{"target": "zed", "module_id": "a", "reason_code": "target_not_compiled"}},
		"scope":          {head + "targets:\n  cursor: {mode: files, scope: user}\n", deployment.ErrConfig, deployment.Details{"target": "cursor", "allowed_scopes": []string{"project", "both"}, "scope": "user"}},
		"duplicate":      {head + "modules:\n  - {id: a, type: prompt" + source + "}\n  - {id: a, type: skill" + source + "}\n", deployment.ErrConfig, deployment.Details{"module_id": "a", "line": 6}},
		"type":           {module("id: a, type: skil" + source), deployment.ErrConfig, deployment.Details{"module_id": "a", "type": "skil"}},
		"skill up":       {module("id: 'skill:..', type: skill" + source), deployment.ErrConfig, deployment.Details{"module_id": "skill:.."}},
		"skill slash":    {module("id: 'skill:../../x', type: skill" + source), deployment.ErrConfig, deployment.Details{"module_id": "skill:../../x"}},
		"skill back":     {module(`id: 'skill:a\b', type: skill` + source), deployment.ErrConfig, deployment.Details{"module_id": `skill:a\b`}},
		"skill nameless": {module("id: 'skill:', type: skill" + source), deployment.ErrConfig, deployment.Details{"module_id": "skill:"}},
		"skill bare up":  {module("id: '..', type: skill" + source), deployment.ErrConfig, deployment.Details{"module_id": ".."}},
		"skill long":     {module("id: 'skill:" + strings.Repeat("x", 300) + "', type: skill" + source), deployment.ErrConfig, deployment.Details{"column": 10}},
		"control":        {module(`id: "a\nb", type: prompt` + source), deployment.ErrConfig, deployment.Details{"module_id": "a\nb"}},
		"local absolute": {local("/etc"), deployment.ErrConfig, deployment.Details{"field": "path", "value": "/etc"}},
		"local drive":    {local(`C:\x`), deployment.ErrConfig, deployment.Details{"field": "path"}},
		"local up":       {local("a/../../b"), deployment.ErrConfig, deployment.Details{"field": "path"}},
		"local up back":  {local(`a\..\b`), deployment.ErrConfig, deployment.Details{"field": "path"}},
		"local git":      {local(".git/config"), deployment.ErrConfig, deployment.Details{"field": "path"}},
		"subdir up":      {git("url: /r, subdir: ../x"), deployment.ErrConfig, deployment.Details{"field": "subdir"}},
		"subdir abs":     {git("url: /r, subdir: /x"), deployment.ErrConfig, deployment.Details{"field": "subdir"}},
		"url":            {git("url: '-u'"), deployment.ErrConfig, deployment.Details{"field": "url", "value": "-u"}},
		"ref":            {git("url: /r, ref: --x"), deployment.ErrConfig, deployment.Details{"field": "ref", "value": "--x"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := configrepo.DecodeManifest([]byte(c.in), path, targets())
			require.ErrorIs(t, err, c.want)
			details, ok := fault.From(err).Details.(deployment.Details)
			require.True(t, ok)
			for key, want := range c.has {
				assert.Equal(t, want, details[key], key)
			}
			assert.Equal(t, path, details["path"])
			assert.Contains(t, err.Error(), path)
		})
	}
}

func TestURLs(t *testing.T) {
	for _, url := range []string{"https://h/o/r.git", "http://u:p@h:8080/r", "ssh://git@h:22/r", "git://h/r", "file:///a/b", "git@h:o/r", "h:o/r", "u.n@h.x:~/r", "/abs/r", `C:\r`, "C:/r"} {
		assert.Empty(t, configrepo.URLProblem(url), url)
	}
	for _, url := range []string{"", "-x", "--upload-pack=x", "ext::sh -c x", "fd::17", "https::x", "ftp://h/r", "ext://x", "ssh://-oProxyCommand=x/r", "ssh://u@-oX/r", "ssh://-u@h/r", "https:///r", "-h:o/r", "u@-h:o/r", "-u@h:o/r", "../r", "r", "a/b:c", "h::x", "a\nb:c", "h:", "javascript:"} {
		assert.NotEmpty(t, configrepo.URLProblem(url), url)
	}
	for _, ref := range []string{"main", "feature/x", "v1.2.3", strings.Repeat("a", 40)} {
		assert.Empty(t, configrepo.RefProblem(ref), ref)
	}
	for _, ref := range []string{"-b", "a b", "a..b", "x*", "a:b", "a^", "a~1", "a@{1}", "a[", `a\b`, "/a", "a/", "a.lock", "a.", "a\x01"} {
		assert.NotEmpty(t, configrepo.RefProblem(ref), ref)
	}
}
