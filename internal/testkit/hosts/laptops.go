//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/testkit/laptop"
)

// mark is something that somebody has for their agents, and what a host says to its model, or lists, when it has read it.
type mark struct {
	name  string
	owner string // user, a project, or team: where it is from
	says  []string
}

// marks are what hosts are looked through for. What no host but Cursor reads is not among them.
func marks() []mark {
	return []mark{
		{"CLAUDE.md", "user", []string{"Nobody merges on Friday."}},
		{"Codex' AGENTS.md", "user", []string{"Say what you are about to do."}},
		{"opencode's AGENTS.md", "user", []string{"Ask before deleting."}},
		{"GEMINI.md", "user", []string{"Show your sources."}},
		{"skill review", "user", []string{"Reviews a change as a stranger would"}},
		{"skill changelog", "user", []string{"Writes the changelog of a release"}},
		{"command tidy", "user", []string{"Tidy the porch until it shines."}},
		{"command ship", "user", []string{"Ship the porch by noon."}},
		{"command explain", "user", []string{"Explain the porch to a newcomer."}},
		{"agent tester", "user", []string{"Writes the tests that nobody else wanted to write"}},
		{"agent planner", "user", []string{"Plans work before anybody does it"}},
		{"server clock", "user", []string{"tell_utc"}},
		{"the shop's AGENTS.md", "shop", []string{"The cart is append-only."}},
		{"skill restock", "shop", []string{"Orders what the shop runs out of"}},
		{"command fixture", "shop", []string{"Make a fixture of order the porch."}},
		{"server orders", "shop", []string{"tell_orders"}},
		{"the blog's AGENTS.md", "blog", []string{"Posts are Markdown."}},
		{"skill publish", "blog", []string{"Publishes a post of the blog"}},
		{"command post", "blog", []string{"Write a post about the porch."}},
		{"server drafts", "blog", []string{"tell_drafts", "clock-mcp --drafts"}},
		{"the team's AGENTS.md", "team", []string{"Two people look at every change."}},
		{"skill oncall", "team", []string{"What to do on call"}},
		{"server pager", "team", []string{"tell_pager"}},
		{"what a colleague changed", "flow", []string{"Prices are integers, in cents."}},
		{"what the owner changed", "flow", []string{"make down, twice"}},
	}
}

// commands are those that a host is told to run by name in a project, beside what it is told in words.
func (h host) commands(project string) []string {
	return map[string]map[string][]string{
		"claude-code": {"shop": {"tidy", "fixture"}, "side": {"fixture"}},
		"opencode":    {"shop": {"ship"}, "blog": {"post"}, "side": {"post"}},
		"gemini-cli":  {"shop": {"explain"}},
	}[h.name][project]
}

// lists are the host's own lists, where they tell more than the host tells its model.
func (h host) lists() [][]string {
	return map[string][][]string{
		"claude-code": {{"mcp", "list"}}, // servers of a project that are not allowed yet are listed only there
		"codex":       {{"mcp", "list"}},
		"opencode":    {{"agent", "list"}},
		"gemini-cli":  {{"skills", "list"}},
	}[h.name]
}

// needed is what a host has to find at the least, so that finding nothing everywhere is no success. User's things are found in every project.
func (h host) needed(place string) []string {
	at := map[string]map[string][]string{
		"claude-code": {"user": {"CLAUDE.md", "skill review", "agent tester", "server clock"}, "shop": {"the shop's AGENTS.md", "skill restock", "command tidy", "command fixture"}, "blog": {"server drafts"}},
		"codex":       {"user": {"Codex' AGENTS.md", "skill review", "skill changelog", "server clock"}, "shop": {"the shop's AGENTS.md"}, "blog": {"the blog's AGENTS.md", "skill publish"}},
		"opencode":    {"user": {"opencode's AGENTS.md", "skill review", "agent planner", "server clock"}, "shop": {"the shop's AGENTS.md", "command ship"}, "blog": {"the blog's AGENTS.md", "command post"}},
		"gemini-cli":  {"user": {"GEMINI.md", "server clock"}, "shop": {"server orders", "command explain"}, "blog": {"the blog's AGENTS.md"}},
	}[h.name]
	return slices.Concat(at["user"], at[place])
}

// ground is a laptop: a trial whose project changes.
type ground struct {
	trial
	profiles map[string]string
}

// newGround makes a laptop below dir, with the projects in it and nothing else, on which programs are found in bin.
func newGround(exe, dir, bin string) (*ground, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	g := &ground{trial{account: me.Username, exe: exe, home: filepath.Join(dir, "home")}, map[string]string{}}
	g.env = []string{"HOME=" + g.home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=xterm-256color", "NO_COLOR=1", "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "NO_PROXY=127.0.0.1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com"}
	for _, project := range laptop.Projects {
		g.project = filepath.Join(dir, "work", project)
		if err := os.MkdirAll(g.project, 0o755); err != nil {
			return nil, err
		}
		if err := errors.Join(g.runs("git", "init", "-q", "-b", "main"), g.runs("git", "remote", "add", "origin", laptop.Remote(project))); err != nil {
			return nil, err
		}
	}
	return g, os.MkdirAll(g.home, 0o755)
}

func (g *ground) in(project string) {
	g.project = filepath.Join(filepath.Dir(g.project), project)
}

func (g *ground) repo() string { return filepath.Join(g.home, ".agentpack", "repo") }

func (g *ground) runs(name string, arguments ...string) error {
	if out, err := g.command(name, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w: %s", name, arguments, err, out)
	}
	return nil
}

// agents has the user run commands of countersign agents in the project, and say yes. It returns what they saw of the last.
func (g *ground) agents(all ...string) (seen string, err error) {
	for _, line := range all {
		words := append([]string{"agents"}, strings.Fields(line)...)
		if profile := g.profiles[filepath.Base(g.project)]; profile != "" && !strings.Contains(line, "--repo") {
			words = append(words, "--profile", profile)
		}
		if seen, err = g.atTerminal("y", words...); err != nil {
			return seen, fmt.Errorf("countersign %s: %w\n%s", strings.Join(words, " "), err, seen)
		}
	}
	return seen, nil
}

// commits records all that is in the config repository.
func (g *ground) commits() error {
	return errors.Join(g.runs("git", "-C", g.repo(), "add", "-A"), g.runs("git", "-C", g.repo(), "commit", "-q", "-m", "all of it"))
}

// finds is what a host finds of the marks in a project: it is started with words and with each of its commands, and its own lists are asked for.
func (g *ground) finds(h host, m *model, project string) (map[string]bool, error) {
	g.in(project)
	evidence := ""
	m.play()
	for _, name := range append([]string{""}, h.commands(project)...) {
		arguments, env := h.command(m.URL, true)
		if i := slices.Index(arguments, prompt); name != "" && h.name == "opencode" {
			arguments = append(slices.Insert(arguments, i, "--command", name)[:i+2], "the", "porch") // what has a space in it is quoted
		} else if name != "" {
			arguments[i] = "/" + name + " the porch"
		}
		cmd := g.command(h.program, arguments...)
		cmd.Env = append(slices.Clone(g.env), env...)
		s, err := g.begins(cmd)
		if err != nil {
			return nil, err
		}
		if err := s.waits(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", h.name, err, s.said.String())
		}
		if name == "" && !m.asked() {
			return nil, fmt.Errorf("%s asks its model nothing: %s", h.name, s.said.String())
		}
	}
	for _, list := range h.lists() {
		_, env := h.command(m.URL, true)
		cmd := g.command(h.program, list...)
		cmd.Env = append(slices.Clone(g.env), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w: %s", h.program, list, err, out)
		}
		evidence += string(out)
	}
	evidence += m.everything()
	found := map[string]bool{}
	for _, one := range marks() {
		if slices.ContainsFunc(one.says, func(text string) bool { return strings.Contains(evidence, text) }) {
			found[one.name] = true
		}
	}
	return found, nil
}

// laptops is the story of two laptops with one host on both: what it finds at each step, held to what it should find.
func laptops(exe, dir string, h host, m *model) error {
	bin := filepath.Join(dir, "bin")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"clock-mcp", "pager-mcp"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	a, err := newGround(exe, filepath.Join(dir, "a"), bin)
	if err != nil {
		return err
	}
	b, err := newGround(exe, filepath.Join(dir, "b"), bin)
	if err != nil {
		return err
	}
	if err := laptop.Lay(filepath.Join(dir, "a")); err != nil {
		return err
	}
	for _, g := range []*ground{a, b} {
		for _, project := range laptop.Projects {
			g.in(project)
			if h.prepare != nil {
				if err := h.prepare(g.home, g.project); err != nil {
					return err
				}
			}
		}
	}
	var problems []error
	var before map[string]map[string]bool
	expect := func(when string, g *ground, project string, want func(map[string]bool)) {
		should := maps.Clone(before[project])
		if want != nil {
			want(should)
		}
		maps.DeleteFunc(should, func(_ string, is bool) bool { return !is })
		got, err := g.finds(h, m, project)
		if err == nil && !maps.Equal(got, should) {
			err = fmt.Errorf("in the %s, %s, it finds %q, and should find %q", project, when, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(should)))
		}
		fmt.Fprintf(os.Stderr, "%s, two laptops, in the %s %s: found %d of %d\n", h.name, project, when, len(got), len(should))
		problems = append(problems, err)
	}
	found := map[string]map[string]bool{}
	for _, project := range laptop.Projects {
		if found[project], err = a.finds(h, m, project); err != nil {
			return err
		}
		for _, name := range h.needed(project) {
			if !found[project][name] {
				problems = append(problems, fmt.Errorf("in the %s it does not find %s, before anything was done; it finds %q", project, name, slices.Sorted(maps.Keys(found[project]))))
			}
		}
	}
	before = found

	a.in("shop")
	if _, err := a.agents("init"); err != nil {
		return err
	}
	for _, project := range []string{"shop", "blog"} {
		a.in(project)
		seen, err := a.agents("import --apply")
		if err != nil {
			return err
		}
		profile := regexp.MustCompile(`--profile (project-[0-9a-f]+) preview`).FindStringSubmatch(seen)
		if profile == nil {
			return fmt.Errorf("import names no profile: %s", seen)
		}
		a.profiles[project], b.profiles[project] = profile[1], profile[1]
		if _, err := a.agents("deploy --apply"); err != nil {
			return err
		}
		expect("after everything was taken over", a, project, nil)
	}
	origin := filepath.Join(dir, "dotagents.git")
	if err := a.runs("git", "init", "-q", "--bare", "-b", "main", origin); err != nil {
		return err
	}
	if _, err := a.agents("remote set " + origin); err != nil {
		return err
	}
	if err := a.commits(); err != nil {
		return err
	}
	if _, err := a.agents("sync"); err != nil {
		return err
	}

	b.in("side")
	if _, err := b.agents("init --from " + origin); err != nil {
		return err
	}
	for _, project := range []string{"shop", "blog"} {
		b.in(project)
		if _, err := b.agents("deploy --apply"); err != nil {
			return err
		}
	}
	for _, project := range laptop.Projects {
		expect("on the second laptop", b, project, nil)
	}

	if err := flows(a, b, origin); err != nil {
		return err
	}
	both := func(should map[string]bool) {
		if should["the shop's AGENTS.md"] {
			should["what a colleague changed"], should["what the owner changed"] = true, true
		}
	}
	expect("after both changes", a, "shop", both)
	expect("after both changes, on the second laptop", b, "shop", both)

	b.in("side")
	if err := teams(dir); err != nil {
		return err
	}
	there := filepath.Join(b.home, "team")
	if _, err := b.agents("init --repo "+there+" --from "+filepath.Join(dir, "team"), "deploy --apply --repo "+there); err != nil {
		return err
	}
	expect("where the team's repository was deployed", b, "side", func(should map[string]bool) {
		should["skill oncall"] = true
		switch h.name {
		case "claude-code":
			should["skill oncall"] = false // the team has none for it
		case "gemini-cli":
			should["the team's AGENTS.md"], should["server pager"] = true, true
		default:
			should["the team's AGENTS.md"] = true
		}
	})
	expect("where the team's repository was not deployed", b, "blog", nil)

	b.in("side")
	if _, err := b.agents("rollback initial --repo " + there); err != nil {
		return err
	}
	expect("after the team's repository was rolled back", b, "side", nil)
	for _, project := range []string{"shop", "blog"} {
		b.in(project)
		if _, err := b.agents("rollback initial"); err != nil {
			return err
		}
	}
	for _, project := range laptop.Projects {
		expect("after the way back", b, project, func(should map[string]bool) { clear(should) })
	}
	a.in("shop")
	if _, err := a.agents("rollback initial"); err != nil {
		return err
	}
	expect("after the way back on the first laptop", a, "shop", nil)
	return errors.Join(problems...)
}

// flows has a colleague and the owner change different lines of one file, and brings both to both laptops.
func flows(a, b *ground, origin string) error {
	a.in("shop")
	b.in("shop")
	colleague := filepath.Join(filepath.Dir(origin), "colleague")
	if err := a.runs("git", "clone", "-q", origin, colleague); err != nil {
		return err
	}
	module := filepath.Join(colleague, "modules/instructions/imported", strings.TrimPrefix(a.profiles["shop"], "project-"), "AGENTS.md")
	if err := replaced(module, "Prices are integers.", "Prices are integers, in cents."); err != nil {
		return err
	}
	if err := errors.Join(a.runs("git", "-C", colleague, "commit", "-q", "-a", "-m", "cents"), a.runs("git", "-C", colleague, "push", "-q")); err != nil {
		return err
	}
	if err := replaced(filepath.Join(a.project, "AGENTS.md"), "make down", "make down, twice"); err != nil {
		return err
	}
	seen, err := a.agents("sync", "evolve propose")
	if err != nil {
		return err
	}
	branch := regexp.MustCompile(`proposed on branch (\S+):`).FindStringSubmatch(seen)
	if branch == nil {
		return fmt.Errorf("nothing is proposed: %s", seen)
	}
	if err := a.runs("git", "-C", a.repo(), "merge", "-q", "--no-edit", branch[1]); err != nil {
		return err
	}
	if _, err := a.agents("deploy --apply", "sync"); err != nil {
		return err
	}
	_, err = b.agents("sync", "deploy --apply")
	return err
}

func replaced(name, was, is string) error {
	text, err := os.ReadFile(name)
	if err == nil && !strings.Contains(string(text), was) {
		err = fmt.Errorf("%s does not say %q", name, was)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(strings.Replace(string(text), was, is, 1)), 0o600)
}

// teams makes a config repository for projects.
func teams(dir string) error {
	files := map[string]string{
		"agentpack.yaml": `version: 1
profiles: {default: {include_tags: [team]}}
targets:
  codex: {mode: files, scope: project}
  gemini_cli: {mode: files, scope: project}
modules:
  - {id: "instructions:team", type: instructions, tags: [team], source: {local_path: {path: modules/rules}}}
  - {id: "skill:oncall", type: skill, tags: [team], source: {local_path: {path: modules/oncall}}}
  - {id: "mcp:pager", type: mcp, tags: [team], targets: [gemini_cli], source: {local_path: {path: modules/pager.json}}}
`,
		"modules/rules/AGENTS.md": "# Team\n\nTwo people look at every change.\n",
		"modules/oncall/SKILL.md": "---\nname: oncall\ndescription: What to do on call\n---\n\nRing Tina.\n",
		"modules/pager.json":      `{"command": "pager-mcp", "args": ["--pager"]}` + "\n",
	}
	g := &ground{}
	g.project = filepath.Join(dir, "team")
	g.env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com"}
	for name, text := range files {
		path := filepath.Join(g.project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return errors.Join(g.runs("git", "init", "-q", "-b", "main"), g.runs("git", "add", "-A"), g.runs("git", "commit", "-q", "-m", "rules of the team"))
}

// serveMCP is an MCP server on standard input and output with one tool, named after its only argument: --utc is tell_utc.
func serveMCP(in io.Reader, out io.Writer, argument string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return err
		}
		if q.ID == nil {
			continue
		}
		var result any = object{}
		switch q.Method {
		case "initialize":
			result = object{"protocolVersion": q.Params.ProtocolVersion, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "clock", "version": "1"}}
		case "tools/list":
			result = object{"tools": []any{object{"name": "tell" + strings.ReplaceAll(argument, "--", "_"), "description": "Tells", "inputSchema": object{"type": "object"}}}}
		}
		if err := json.NewEncoder(out).Encode(object{"jsonrpc": "2.0", "id": q.ID, "result": result}); err != nil {
			return err
		}
	}
	return lines.Err()
}
