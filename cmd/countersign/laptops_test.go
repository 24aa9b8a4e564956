//go:build linux

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/laptop"
)

// tall is a terminal on which every plan is one page.
const tall = 9999

// machine is one person's laptop: a home, three projects, and Countersign as users install it.
type machine struct {
	t             *testing.T
	top, at       string // all of it; where the person stands
	home, profile string
	env           []string
}

// newMachine makes a laptop with the three projects in it, and nothing else.
func newMachine(t *testing.T, base, name, person string) *machine {
	t.Helper()
	m := &machine{t: t, top: filepath.Join(base, name)}
	m.home = filepath.Join(m.top, "home")
	m.env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0", "NO_COLOR=1", "COUNTERSIGN_HOME=" + filepath.Join(base, name+"-countersign"),
		"AGENTPACK_HOME=" + filepath.Join(base, name+"-agents"), "AGENTPACK_MACHINE_ID=" + name, "GIT_AUTHOR_NAME=" + person, "GIT_AUTHOR_EMAIL=" + person + "@example.com", "GIT_COMMITTER_NAME=" + person, "GIT_COMMITTER_EMAIL=" + person + "@example.com"}
	require.NoError(t, os.MkdirAll(m.home, 0o755))
	for _, project := range laptop.Projects {
		dir := filepath.Join(m.top, "work", project)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		m.git(dir, "init", "-q", "-b", "main")
		m.git(dir, "remote", "add", "origin", laptop.Remote(project))
	}
	m.in("shop")
	return m
}

// in goes to another project, whose profile is used from now on.
func (m *machine) in(project string) {
	m.at, m.profile = filepath.Join(m.top, "work", project), ""
}

// repo is where the config repository of a laptop is, when nobody says otherwise.
func (m *machine) repo(name ...string) string {
	return filepath.Join(append([]string{strings.TrimSuffix(m.top, "/") + "-agents", "repo"}, name...)...)
}

func (m *machine) path(name string) string { return filepath.Join(m.top, name) }

func (m *machine) git(dir string, arguments ...string) string {
	m.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, arguments...)...)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	require.NoError(m.t, err, "git %v: %s", arguments, out)
	return strings.TrimSpace(string(out))
}

func (m *machine) command(arguments ...string) *exec.Cmd {
	m.t.Helper()
	exe, err := os.Executable()
	require.NoError(m.t, err)
	arguments = append([]string{"countersign-strict", "agents"}, arguments...)
	if m.profile != "" {
		arguments = append(arguments, "--profile", m.profile)
	}
	return &exec.Cmd{Path: exe, Args: arguments, Dir: m.at, Env: m.env}
}

// does has the person run a command at a terminal and say yes to what it asks. It returns what they saw.
func (m *machine) does(arguments ...string) string {
	m.t.Helper()
	seen, code := typedOn(m.t, m.command(arguments...), "y", tall)
	require.Zero(m.t, code, "%v: %s", arguments, seen)
	return strings.ReplaceAll(seen, "\r\n", "\n")
}

// refused has the person run a command that does not do it, and returns what they saw.
func (m *machine) refused(arguments ...string) string {
	m.t.Helper()
	seen, code := typedOn(m.t, m.command(arguments...), "y", tall)
	require.NotZero(m.t, code, "%v: %s", arguments, seen)
	return seen
}

// reads asks for something that changes nothing.
func (m *machine) reads(into any, arguments ...string) {
	m.t.Helper()
	cmd := m.command(append(arguments, "--json")...)
	out, err := cmd.Output()
	require.NoError(m.t, err, "%v: %s", arguments, out)
	var e envelope
	require.NoError(m.t, json.Unmarshal(out, &e))
	require.NoError(m.t, json.Unmarshal(e.Data, into))
}

// standing counts deployed files by how they stand, without those that are zero.
func (m *machine) standing(flags ...string) map[string]int {
	m.t.Helper()
	var status struct {
		ByState map[string]int `json:"summary_by_state"`
	}
	m.reads(&status, append([]string{"status"}, flags...)...)
	maps.DeleteFunc(status.ByState, func(_ string, n int) bool { return n == 0 })
	return status.ByState
}

// stands is everything on the laptop but what git keeps: kinds, modes, bytes and where links lead.
func (m *machine) stands() map[string]string {
	m.t.Helper()
	var gits []string
	for _, project := range laptop.Projects {
		gits = append(gits, filepath.Join(m.top, "work", project, ".git"))
	}
	out := treeBut(m.t, gits, m.top)
	relative := make(map[string]string, len(out))
	for path, what := range out {
		name, err := filepath.Rel(m.top, path)
		require.NoError(m.t, err)
		relative[name] = what
	}
	return relative
}

// commits records what the config repository holds.
func (m *machine) commits(why string) {
	m.t.Helper()
	m.git(m.repo(), "add", "-A")
	m.git(m.repo(), "commit", "-q", "-m", why)
}

// TestTwoLaptops is what deployments are for: what one laptop has for five agent hosts is taken into a config repository without a byte changed, comes to
// another laptop, and is changed on both sides, here and by a colleague, without anybody's work lost; a second config repository serves the same project; a
// third project has none of it; and every rollback brings back bytes, modes and links. A person reads and answers all of it at a terminal.
func TestTwoLaptops(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	a, b := newMachine(t, base, "a", "anna"), newMachine(t, base, "b", "berta")
	require.NoError(t, laptop.Lay(a.top))
	atA, atB := a.stands(), b.stands()
	origin := filepath.Join(base, "dotagents.git")
	a.git(base, "init", "-q", "--bare", "-b", "main", origin)

	profiles := a.takesOver()
	assert.Equal(t, atA, a.stands(), "nothing was changed by taking it over, and nothing by deploying it")
	a.does("remote", "set", origin)
	a.commits("what this laptop has")
	a.does("sync")

	b.begins(origin, profiles)
	b.hasWhat(a)
	a.worksTogether(b, origin, profiles["shop"])
	a.withATeam(base, profiles["shop"])

	for _, m := range []*machine{a, b} {
		for _, project := range []string{"shop", "blog"} {
			m.in(project)
			m.profile = profiles[project]
			m.does("rollback", "initial")
		}
	}
	assert.Equal(t, atA, a.stands(), "bytes, modes and links of the first laptop are what they were")
	assert.Equal(t, atB, b.stands(), "and nothing is left on the second")
}

// takesOver imports everything into a new config repository and deploys it. It returns the profiles of the projects.
func (m *machine) takesOver() map[string]string {
	t := m.t
	t.Helper()
	profiles := map[string]string{}
	m.does("init")
	for _, project := range laptop.Projects[:2] {
		m.in(project)
		assert.Regexp(t, `next: countersign agents import --apply\n`, m.does("import"))
		seen := m.does("import", "--apply")
		assert.Contains(t, seen, "$schema (stays in the document)", "what is not taken is explained")
		profiles[project] = regexp.MustCompile(`next: countersign agents --profile (project-[0-9a-f]+) preview`).FindStringSubmatch(seen)[1]
		m.profile = profiles[project]
		assert.Contains(t, m.does("preview"), "Plan: +0 ~0 -0", project)
		assert.Contains(t, m.does("deploy", "--apply"), "nothing to change; the deployed files are recorded", project)
		assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(m.standing())), project)
	}
	return profiles
}

// begins makes a laptop a second one: the config repository is cloned, looked at and deployed, for the user and in two projects.
func (m *machine) begins(origin string, profiles map[string]string) {
	t := m.t
	t.Helper()
	before := m.stands()
	assert.Contains(t, m.does("init", "--from", origin), "next: countersign agents preview --diff\n")
	for _, project := range []string{"shop", "blog"} {
		m.in(project)
		assert.Contains(t, m.does("status"), "countersign agents preview --profile "+profiles[project]+" shows what is for the project too", "who has just cloned it is told")
		m.profile = profiles[project]
		assert.Contains(t, m.does("preview", "--diff"), "create  ", project)
		if project == "shop" {
			assert.Equal(t, before, m.stands(), "looking changes nothing")
		}
		m.does("deploy", "--apply")
		assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(m.standing())), project)
	}
	m.in("side")
	assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(m.standing())), "what is the user's is there everywhere, and nothing of the other projects")
	for path, what := range before {
		if strings.HasPrefix(path, "work/side") {
			assert.Equal(t, what, stood(t, m.path(path)), path)
		}
	}
	assert.Empty(t, slices.DeleteFunc(names(t, m.path("work/side")), func(name string) bool { return name == ".git" }))
}

// hasWhat holds a second laptop to having what the first has.
func (m *machine) hasWhat(first *machine) {
	t := m.t
	t.Helper()
	only := map[string]string{ // on the first laptop, and why
		"work/shop/src/cart.ts": "no agent's",
		"work/side/README.md":   "no agent's",
	}
	documents := map[string][]string{ // of which single members are deployed, and the others are each laptop's own
		"home/.claude.json":                   {"mcpServers"},
		"home/.claude/settings.json":          {"permissions", "theme"},
		"home/.config/opencode/opencode.json": {"mcp"},
		"home/.gemini/settings.json":          {"mcpServers"},
		"home/.cursor/mcp.json":               {"mcpServers"},
		"work/shop/.gemini/settings.json":     {"mcpServers"},
		"work/blog/.mcp.json":                 {"mcpServers"},
	}
	there := 0
	for path := range first.stands() {
		info, err := os.Stat(first.path(path))
		require.NoError(t, err)
		switch {
		case info.IsDir():
			continue
		case only[path] != "":
			assert.NoFileExists(t, m.path(path))
			continue
		case documents[path] != nil:
			for _, member := range documents[path] {
				assert.Equal(t, memberOf(t, first.path(path), member), memberOf(t, m.path(path), member), path)
			}
		case strings.HasSuffix(path, "config.toml"):
			for _, line := range []string{`model_reasoning_effort = "low"`, `[mcp_servers.clock]`, `command = "clock-mcp"`, `args = ["--utc"]`} {
				assert.Contains(t, read(t, m.path(path)), line+"\n")
			}
		default:
			assert.Equal(t, read(t, first.path(path)), read(t, m.path(path)), path)
			now, err := os.Stat(m.path(path))
			require.NoError(t, err)
			assert.Equal(t, info.Mode().Perm()&0o100, now.Mode().Perm()&0o100, path)
		}
		there++
	}
	assert.GreaterOrEqual(t, there, 25)
}

// memberOf is a member of a JSON document.
func memberOf(t *testing.T, path, name string) any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(read(t, path)), &doc), path)
	require.Contains(t, doc, name, path)
	return doc[name]
}

// worksTogether: a colleague changes a rule upstream while the first laptop's owner edits another line of the deployed file. Both come to both laptops; and
// when the rule is changed once more, that comes too.
func (m *machine) worksTogether(other *machine, origin, profile string) {
	t := m.t
	t.Helper()
	carl := newMachine(t, filepath.Dir(m.top), "c", "carl")
	m.git(carl.home, "clone", "-q", origin, "dot")
	upstream := filepath.Join(carl.home, "dot")
	changes := func(was, is string) {
		carl.git(upstream, "pull", "-q")
		edit(t, filepath.Join(upstream, "modules/instructions/imported", strings.TrimPrefix(profile, "project-"), "AGENTS.md"), was, is)
		carl.git(upstream, "commit", "-q", "-a", "-m", is)
		carl.git(upstream, "push", "-q")
	}
	m.in("shop")
	m.profile = profile
	rules := m.path("work/shop/AGENTS.md")
	edit(t, rules, "- make down", "- make down, twice")
	assert.Equal(t, 1, m.standing()["edited_here"], "one file, though Codex and opencode read it")
	changes("- Prices are integers.", "- Prices are integers, in cents.")

	m.does("sync")
	assert.Equal(t, 1, m.standing()["conflict"])
	edited := m.stands()
	assert.Contains(t, m.does("preview"), "a deployment overwrites or deletes edits made here: "+rules)
	assert.Contains(t, m.does("status"), "next: countersign agents --profile "+profile+" evolve propose\n")
	assert.Contains(t, m.refused("deploy", "--apply"), "E_ADOPT_CONFIRM_REQUIRED")
	assert.Equal(t, edited, m.stands())
	seen := m.does("evolve", "propose")
	assert.Contains(t, seen, "+- make down, twice\n")
	assert.NotContains(t, seen, "cents", "what a colleague changed is not proposed back")
	assert.Contains(t, seen, "next: countersign agents --profile "+profile+" deploy --apply\n", "another profile would take the project's own files away")
	branch := regexp.MustCompile(`proposed on branch (\S+);`).FindStringSubmatch(seen)[1]
	m.git(m.repo(), "merge", "-q", "--no-edit", branch)
	assert.Equal(t, 1, m.standing()["changed_upstream"])
	m.does("deploy", "--apply")
	both := strings.NewReplacer("Prices are integers.", "Prices are integers, in cents.", "make down", "make down, twice").Replace(shopRules)
	assert.Equal(t, both, read(t, rules), "neither edit is lost")
	m.does("sync")

	other.in("shop")
	other.profile = profile
	other.does("sync")
	assert.Equal(t, 1, other.standing()["changed_upstream"])
	other.does("deploy", "--apply")
	assert.Equal(t, both, read(t, other.path("work/shop/AGENTS.md")))

	changes("- Taxes come last.", "- Taxes come last, rounded.")
	m.does("sync")
	advice := regexp.MustCompile(`to rebase the overlay: countersign agents (overlay rebase \S+ --scope global)`).FindStringSubmatch(m.does("status"))
	require.NotEmpty(t, advice, "what stands in an overlay hides what is new below it, and that is told with the way out")
	m.does(strings.Fields(advice[1])...)
	m.commits("on top of what is new")
	m.does("sync")
	m.does("deploy", "--apply")
	assert.Equal(t, strings.Replace(both, "Taxes come last.", "Taxes come last, rounded.", 1), read(t, rules))
	assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(m.standing())))
}

// shopRules are the instructions of the shop as the first laptop had them.
const shopRules = "# Shop\n\n- Prices are integers.\n- The cart is append-only.\n- Taxes come last.\n\n## Running\n\n- make up\n- make down\n"

// withATeam: a second config repository serves a project beside the first. What both want is refused until one of them yields; then both have their part,
// and the second goes away again without a trace.
func (m *machine) withATeam(base, profile string) {
	t := m.t
	t.Helper()
	m.in("shop")
	m.profile = profile
	team := filepath.Join(base, "team")
	write(t, filepath.Join(team, "agentpack.yaml"), teamManifest)
	write(t, filepath.Join(team, "modules/rules/AGENTS.md"), "# Team\n\nTwo people look at every change.\n")
	write(t, filepath.Join(team, "modules/oncall/SKILL.md"), "---\nname: oncall\ndescription: What to do on call\n---\n\nRing Tina.\n")
	write(t, filepath.Join(team, "modules/pager.json"), `{"command": "pager-mcp"}`)
	m.git(team, "init", "-q", "-b", "main")
	m.git(team, "add", "-A")
	m.git(team, "commit", "-q", "-m", "rules of the team")
	own := *m
	m.profile = ""
	there := filepath.Join(base, "a-agents", "team")
	assert.Contains(t, m.does("--repo", there, "init", "--from", team), "next: countersign agents --repo "+there+" preview --diff\n")

	before := m.stands()
	seen := m.refused("--repo", there, "deploy", "--apply")
	assert.Contains(t, seen, "E_ADOPT_CONFIRM_REQUIRED")
	assert.Contains(t, seen, "belongs to the config repository "+m.repo())
	assert.Equal(t, before, m.stands(), "the first to deploy a file keeps it")

	edit(t, m.repo("agentpack.yaml"), "      codex_home:", "      instructions_mode: section\n      codex_home:")
	edit(t, m.repo("agentpack.yaml"), "  opencode:\n    mode: files\n    scope: both\n", "  opencode:\n    mode: files\n    scope: both\n    options: {instructions_mode: section}\n")
	own.does("deploy", "--apply")
	rules := read(t, m.path("work/shop/AGENTS.md"))
	assert.Regexp(t, `^<!-- agentpack:begin.* -->\n# Shop\n`, rules)
	assert.Equal(t, 1, strings.Count(rules, "# Shop\n"), "what was a file of its own became the block, and stands there once")
	assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(own.standing())))

	before = m.stands()
	m.does("--repo", there, "deploy", "--apply")
	assert.True(t, strings.HasPrefix(read(t, m.path("work/shop/AGENTS.md")), rules), "the first one's block stays as it is")
	assert.Contains(t, read(t, m.path("work/shop/AGENTS.md")), "# Team\n")
	assert.Contains(t, memberOf(t, m.path("work/shop/.gemini/settings.json"), "mcpServers"), "orders")
	assert.Contains(t, memberOf(t, m.path("work/shop/.gemini/settings.json"), "mcpServers"), "pager")
	assert.FileExists(t, m.path("work/shop/.agents/skills/oncall/SKILL.md"))
	assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(m.standing("--repo", there))))
	assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(own.standing())))
	assert.Contains(t, own.does("preview"), "Plan: +0 ~0 -0", "neither takes away what the other deployed")

	assert.Contains(t, m.does("--repo", there, "rollback", "initial"), "belong to the config repository "+m.repo())
	assert.Equal(t, before, m.stands(), "the team's part is gone, and nothing else")
	assert.Equal(t, []string{"up_to_date"}, slices.Collect(maps.Keys(own.standing())))
}

// teamManifest is of a config repository that serves projects alone.
const teamManifest = `version: 1
profiles: {default: {include_tags: [team]}}
targets:
  codex: {mode: files, scope: project, options: {instructions_mode: section}}
  gemini_cli: {mode: files, scope: project, options: {instructions_mode: section}}
modules:
  - {id: "instructions:team", type: instructions, tags: [team], source: {local_path: {path: modules/rules}}}
  - {id: "skill:oncall", type: skill, tags: [team], source: {local_path: {path: modules/oncall}}}
  - {id: "mcp:pager", type: mcp, tags: [team], targets: [gemini_cli], source: {local_path: {path: modules/pager.json}}}
`
