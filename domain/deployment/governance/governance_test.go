package governance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func TestRemote(t *testing.T) {
	for url, want := range map[string]string{
		" https://GitHub.com/Org/Repo.git ":    "github.com/org/repo",
		"http://github.com/org/repo/":          "github.com/org/repo",
		"git@github.com:org/repo.git":          "github.com/org/repo",
		"ssh://git@github.com/org/repo":        "github.com/org/repo",
		"ssh://github.com:22/org/repo":         "github.com:22/org/repo",
		"https://token@github.com/org/repo":    "github.com/org/repo",
		"https://github.com@evil.com/org/repo": "evil.com/org/repo",
		"github.com/org/":                      "github.com/org",
		"github.com":                           "github.com",
		"/srv/git/repo.git":                    "/srv/git/repo",
		"file:///srv/git/repo":                 "file:///srv/git/repo",
		"git://github.com/org/repo":            "git://github.com/org/repo",
		"  ":                                   "",
	} {
		assert.Equal(t, want, governance.NormalizeRemote(url), url)
	}
}

func TestAllow(t *testing.T) {
	org := governance.OrgConfig{Path: "/r/agentpack.org.yaml", AllowedRemotes: []string{"github.com/good/", "https://git.example.com/one.git"}}
	for url, fine := range map[string]bool{
		"https://github.com/good/repo.git":      true,
		"git@github.com:GOOD/repo":              true,
		"https://git.example.com/one":           true,
		"https://git.example.com/one/two":       true,
		"https://git.example.com/onetwo":        false,
		"https://github.com/goodish/repo":       false,
		"https://github.com/good/../evil/repo":  false,
		"https://github.com/good/%2E%2e/evil":   false,
		"https://github.com/good/..%2fevil":     false,
		"https://github.com/good@evil.com/x":    false,
		"https://github.com@evil.com/good/repo": false,
		"file:///github.com/good/repo":          false,
	} {
		err := org.Allow(deployment.Source{Git: &deployment.GitSource{URL: url}})
		if fine {
			require.NoError(t, err, url)
			continue
		}
		require.ErrorIs(t, err, deployment.ErrPolicyConfig, url)
		assert.ErrorContains(t, err, "not among")
	}
	require.NoError(t, org.Allow(deployment.Source{Local: "policy"}))
	require.NoError(t, governance.OrgConfig{}.Allow(deployment.Source{Git: &deployment.GitSource{URL: "https://anywhere.com/x"}}), "no list, no limit")
	org.AllowedRemotes = []string{"github.com", " "}
	require.ErrorIs(t, org.Allow(deployment.Source{Local: "policy"}), deployment.ErrPolicyConfig)
}

func TestPack(t *testing.T) {
	for _, source := range []string{"", " ", "https://x", "local:/etc", "local:../x", "git:", "svn:x"} {
		_, err := governance.OrgConfig{PackSource: source}.Pack()
		require.ErrorIs(t, err, deployment.ErrPolicyConfig, source)
	}
	source, err := governance.OrgConfig{PackSource: "git:https://x.com/y#ref=v1&subdir=p"}.Pack()
	require.NoError(t, err)
	assert.Equal(t, deployment.GitSource{URL: "https://x.com/y", Ref: "v1", Subdir: "p", Shallow: true}, *source.Git)
}

// TestLockVector checks the tree sum of agentpack contract §1.7.
func TestLockVector(t *testing.T) {
	tree := deployment.Tree{{Path: "rule.txt", Mode: deployment.PlainMode, Content: deployment.ContentOf([]byte("deny: example\n"))}}
	lock := governance.NewLock("local:policy", deployment.ResolvedSource{Local: &deployment.ResolvedLocal{Path: "policy"}}, tree)
	assert.Equal(t, "db1789261d917b6b01fc77f8b2414fc2c00579c5d272180ae03dbb57cafec7bd", lock.Pack.Sum.String())
	text, err := lock.Encode()
	require.NoError(t, err)
	golden.Text(t, "lock", string(text))
}

// rules returns the rules of issues, in order.
func rules(issues []governance.Issue) (out []string) {
	for _, i := range issues {
		out = append(out, string(i.Rule))
	}
	return out
}

func TestSkill(t *testing.T) {
	for doc, want := range map[string]int{
		"---\nname: a\ndescription: b\n---\n":   0,
		"# no frontmatter\n":                    1,
		"---\nname: a\n":                        1,
		"---\n- a\n---\n":                       1,
		"---\nname: ''\n---\n":                  2,
		"---\nname: [a]\ndescription: 3\n---\n": 2,
	} {
		issues := governance.CheckSkill("x/SKILL.md", []byte(doc), configrepo.Frontmatter)
		assert.Len(t, issues, want, doc)
		for _, i := range issues {
			assert.Equal(t, governance.SkillFrontmatter, i.Rule)
		}
	}
}

func TestCommand(t *testing.T) {
	head := "---\ndescription: d\nallowed-tools: Bash(agentpack:*)\n---\n"
	for doc, want := range map[string][]string{
		"# nothing runs\nagentpack deploy --apply\n":                 nil,
		head + "!bash\nagentpack plan --json\n":                      nil,
		head + "!bash\nagentpack deploy --apply --yes --json\n":      nil,
		head + "!bash\nagentpack deploy\n":                           nil,
		head + "!bash\nagentpack evolve propose --dry-run\n":         nil,
		head + "!bash\nagentpack plan\n\nagentpack deploy --apply\n": nil,
		head + "!bash\necho agentpackage deploy --apply\n":           nil,
		"!bash\nls\n":                                                                   {"claude_command_allowed_tools"},
		"---\ndescription: d\n---\n!bash\nls\n":                                         {"claude_command_allowed_tools"},
		"---\nallowed-tools: [Read]\n---\n!`ls`\n":                                      {"claude_command_allowed_tools"},
		"---\na: [\n---\n!bash\nls\n":                                                   {"claude_command_allowed_tools"},
		head + "!bash\nagentpack deploy --apply --json\n":                               {"dangerous_defaults"},
		head + "!`bash`\nagentpack --repo x init --yes\n":                               {"dangerous_defaults"},
		head + "!bash\n/opt/bin/agentpack lock && agentpack fetch --yes --json; true\n": {"dangerous_defaults"},
		head + "!bash\nagentpack lock --json\nagentpack sync | cat --yes --json\n":      {"dangerous_defaults", "dangerous_defaults"},
		head + "!bash\ncountersign agents rollback --to 1 --yes\n":                      {"dangerous_defaults"},
		head + "!bash\ncountersign agents deploy \\\n  --apply --json\n":                {"dangerous_defaults"},
		head + "run !`agentpack import --apply` now\n":                                  {"dangerous_defaults"},
		head + "!agentpack doctor --fix\n":                                              {"dangerous_defaults"},
		head + "```!\n\nagentpack update\n```\nagentpack update\n":                      {"dangerous_defaults"},
		head + "!bash\nsh -c \"agentpack remote set x\"\n":                              {"dangerous_defaults"},
	} {
		assert.Equal(t, want, rules(governance.CheckCommand("modules/claude-commands/x.md", []byte(doc), configrepo.Frontmatter)), doc)
	}
	found := governance.CheckCommand("c.md", []byte(head+"text\n!bash\ntrue; agentpack --profile p evolve propose --json && x\n"), configrepo.Frontmatter)
	require.Len(t, found, 1)
	golden.JSON(t, "danger", found[0])
}

func TestWhatIsLookedInto(t *testing.T) {
	assert.True(t, governance.IsSkill("SKILL.md"))
	assert.True(t, governance.IsSkill("a/b/SKILL.md"))
	assert.False(t, governance.IsSkill("a/MYSKILL.md"))
	assert.True(t, governance.IsCommand(".claude/commands/a/b.md"))
	assert.True(t, governance.IsCommand("templates/claude/commands/b.md"))
	assert.True(t, governance.IsCommand("modules/claude-commands/b.md"))
	assert.False(t, governance.IsCommand("modules/claude-commands/b.txt"))
	assert.False(t, governance.IsCommand("x/.claude/commands/b.md"))
}

func FuzzCommand(f *testing.F) {
	f.Add("---\na: b\n---\n!bash\nagentpack deploy --apply\n")
	f.Add("!`bash`\nagentpack \\\n\\\n--repo\n")
	f.Add("```!\n`agentpack` --repo=x lock; agentpack")
	f.Fuzz(func(t *testing.T, doc string) {
		for _, i := range governance.CheckCommand("c.md", []byte(doc), configrepo.Frontmatter) {
			if i.Rule != governance.DangerousDefaults {
				continue
			}
			line := i.Details["line"].(int)
			if line < 1 || line > strings.Count(doc, "\n")+1 {
				t.Fatalf("line %d of a document with fewer", line)
			}
			missing := i.Details["missing"].([]string)
			for _, flag := range missing {
				for _, word := range strings.Fields(i.Details["invocation"].(string)) {
					if word == flag {
						t.Fatalf("%s is said to be missing from %q", flag, i.Details["invocation"])
					}
				}
			}
		}
	})
}

// subject returns a repository that violates nothing.
func subject(t *testing.T, change func(*governance.PolicySubject, *deployment.Lock)) governance.PolicySubject {
	t.Helper()
	commit := strings.Repeat("a", 40)
	git := deployment.ResolvedGit{URL: "https://github.com/good/far.git", Commit: commit}
	lock := &deployment.Lock{Version: 1, Modules: []deployment.LockedModule{{ID: "skill:far", Type: deployment.ModuleSkill, Version: commit, Sum: deployment.SumOf(nil), Source: deployment.ResolvedSource{Git: &git}}}}
	packed := governance.NewLock("local:policy", deployment.ResolvedSource{Local: &deployment.ResolvedLocal{Path: "policy"}}, deployment.Tree{})
	s := governance.PolicySubject{
		Org: governance.OrgConfig{Path: "/r/agentpack.org.yaml", HasPack: true, PackSource: "local:policy", RequiredTargets: []string{"codex"}, RequiredModules: []string{"skill:far"},
			AllowedRemotes: []string{"github.com/good"}, RequireLock: true},
		Manifest: &deployment.Manifest{Targets: map[string]deployment.TargetConfig{"codex": {}}, Modules: []deployment.Module{
			{ID: "skill:far", Enabled: true, Source: deployment.Source{Git: &deployment.GitSource{URL: git.URL}}}, {ID: "prompt:near", Source: deployment.Source{Local: "x"}}}},
		OrgLock: &packed, PackSum: packed.Pack.Sum,
	}
	change(&s, lock)
	if s.LockText == nil && lock.Version != 0 {
		var err error
		s.LockText, err = configrepo.EncodeLock(*lock)
		if err != nil {
			s.LockText, s.LockErr = encode(t, lock), "not valid"
		}
	}
	return s
}

func TestLint(t *testing.T) {
	type change = func(s *governance.PolicySubject, l *deployment.Lock)
	git := func(l *deployment.Lock) *deployment.ResolvedGit { return l.Modules[0].Source.Git }
	for name, row := range map[string]struct {
		change change
		want   []string
	}{
		"kept":                  {func(*governance.PolicySubject, *deployment.Lock) {}, nil},
		"nothing asked":         {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Org, s.Manifest = governance.OrgConfig{}, nil }, nil},
		"pack without source":   {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Org.PackSource = " " }, []string{"policy_config"}},
		"pack not locked":       {func(s *governance.PolicySubject, _ *deployment.Lock) { s.OrgLock = nil }, []string{"policy_pack_lock"}},
		"pack lock damaged":     {func(s *governance.PolicySubject, _ *deployment.Lock) { s.OrgLock, s.OrgLockErr = nil, "damaged" }, []string{"policy_pack_lock"}},
		"pack moved":            {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Org.PackSource = "local:other" }, []string{"policy_pack_lock"}},
		"pack changed":          {func(s *governance.PolicySubject, _ *deployment.Lock) { s.PackSum = deployment.SumOf([]byte("x")) }, []string{"policy_pack_lock"}},
		"pack lock lies":        {func(s *governance.PolicySubject, _ *deployment.Lock) { s.OrgLock.Pack.Resolved.Local.Path = "other" }, []string{"policy_pack_lock"}},
		"pack from elsewhere":   {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Org.PackSource = "git:https://evil.com/x" }, []string{"policy_pack_allowed_git_remotes", "policy_pack_lock"}},
		"blank required target": {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Org.RequiredTargets = []string{"codex", " "} }, []string{"distribution_policy"}},
		"target missing":        {func(s *governance.PolicySubject, _ *deployment.Lock) { delete(s.Manifest.Targets, "codex") }, []string{"distribution_required_targets"}},
		"module missing":        {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Org.RequiredModules = []string{"skill:none"} }, []string{"distribution_required_modules"}},
		"module disabled":       {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Org.RequiredModules = []string{"prompt:near"} }, []string{"distribution_required_modules"}},
		"no manifest":           {func(s *governance.PolicySubject, _ *deployment.Lock) { s.Manifest, s.ManifestErr = nil, "gone" }, []string{"distribution_policy", "supply_chain_policy"}},
		"blank remote": {func(s *governance.PolicySubject, _ *deployment.Lock) {
			s.Org.AllowedRemotes = append(s.Org.AllowedRemotes, "")
		}, []string{"supply_chain_policy"}},
		"foreign remotes": {func(s *governance.PolicySubject, _ *deployment.Lock) {
			s.Org.AllowedRemotes = []string{"github.com/other"}
		},
			[]string{"supply_chain_allowed_git_remotes", "supply_chain_allowed_git_remotes"}},
		"no lockfile":        {func(_ *governance.PolicySubject, l *deployment.Lock) { l.Version = 0 }, []string{"supply_chain_lockfile_missing"}},
		"no lockfile needed": {func(s *governance.PolicySubject, l *deployment.Lock) { l.Version, s.Org.RequireLock = 0, false }, nil},
		"lockfile damaged": {func(s *governance.PolicySubject, _ *deployment.Lock) { s.LockText, s.LockErr = []byte("{"), "damaged" },
			[]string{"supply_chain_lockfile_invalid"}},
		"lockfile of another version": {func(s *governance.PolicySubject, _ *deployment.Lock) {
			s.LockText, s.LockErr = []byte(`{"version":2}`), "version"
		},
			[]string{"supply_chain_lockfile_invalid"}},
		"invalid otherwise": {func(s *governance.PolicySubject, _ *deployment.Lock) { s.LockErr = "a module has no sha256" }, []string{"supply_chain_lockfile_invalid"}},
		"module not locked": {func(_ *governance.PolicySubject, l *deployment.Lock) { l.Modules = nil }, []string{"supply_chain_lockfile_missing_module"}},
		"locked as local": {func(_ *governance.PolicySubject, l *deployment.Lock) {
			l.Modules[0].Source = deployment.ResolvedSource{Local: &deployment.ResolvedLocal{Path: "x"}}
		}, []string{"supply_chain_lockfile_source_mismatch"}},
		"locked elsewhere":         {func(_ *governance.PolicySubject, l *deployment.Lock) { git(l).URL = "https://github.com/good/other" }, []string{"supply_chain_lockfile_url_mismatch"}},
		"locked another directory": {func(_ *governance.PolicySubject, l *deployment.Lock) { git(l).Subdir = "x" }, []string{"supply_chain_lockfile_source_mismatch"}},
		"locked to a branch":       {func(_ *governance.PolicySubject, l *deployment.Lock) { git(l).Commit = "main" }, []string{"supply_chain_lockfile_unpinned_commit"}},
	} {
		t.Run(name, func(t *testing.T) {
			issues := subject(t, row.change).Lint()
			assert.Equal(t, row.want, rules(issues))
			for _, i := range issues {
				assert.NotEmpty(t, i.Message)
				assert.NotEmpty(t, i.Path)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	lock := func(modules ...deployment.LockedModule) *deployment.Lock { return &deployment.Lock{Modules: modules} }
	git := func(id, commit string) deployment.LockedModule {
		return deployment.LockedModule{ID: id, Type: deployment.ModuleSkill, Version: commit, Source: deployment.ResolvedSource{Git: &deployment.ResolvedGit{URL: "u", Commit: commit}}}
	}
	golden.JSON(t, "changes", governance.CompareLocks(lock(git("b", "1"), git("c", "1"), git("d", "1"), git("z", "1")), lock(git("a", "1"), git("b", "2"), git("c", "1"), git("d", "3"))))
	assert.Equal(t, []string{"a"}, governance.CompareLocks(nil, lock(git("a", "1"))).Added)
	assert.Equal(t, []string{"a"}, governance.CompareLocks(lock(git("a", "1")), nil).Removed)
}

func TestReport(t *testing.T) {
	assert.NoError(t, governance.NewReport("/r", nil, 1, 2).Fault())
	r := governance.NewReport(`C:\r`, []governance.Issue{governance.NewIssue("b", "x", "2", nil), governance.NewIssue("b", "x", "1", nil), governance.NewIssue("a", "x", "3", nil),
		governance.NewIssue("z", "a", "4", nil)}, 1, 2)
	golden.JSON(t, "report", r)
	require.ErrorIs(t, r.Fault(), deployment.ErrPolicyViolations)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}
