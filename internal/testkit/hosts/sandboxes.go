//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// story is one person's day with three agents. What goes wrong in it panics with blind, which told turns into an error.
type story struct {
	ground
	model   *model
	work    string            // the person's own directory: clones and bare remotes
	clone   string            // of the project that the sandboxes are of
	heads   map[string]string // what the sandboxes had when their agents were done
	by      map[string]int    // how many requests were approved, by surface
	answers int
}

// project is the name that the clone of shop.git gets: its last two path segments.
const project = "work-shop"

// agents are the sandboxes, with what each agent is told.
var agents = map[string]string{
	"cart":  "Give the cart a discount.",
	"price": "Round prices to the nearest cent.",
	"web":   "Put the number of articles into the title.",
}

// again is what the agent whose work was sent back is told.
const again = "Read the review and go on."

// comment is what a person says of that work.
const comment = "Negative amounts round the wrong way: use math.Round."

// sandboxes has three agents work in three sandboxes of one repository, and a person bring their work together; then the repository is released as part of an
// ecosystem.
func sandboxes(exe, dir string, h host, m *model) (err error) {
	s, err := newStory(exe, dir, m)
	if err != nil {
		return err
	}
	defer func() {
		m.plays(nil)
		_, _ = s.atTerminal("y", "sandbox", "stop", project) // it is stopped already, or the story broke off
		if left := s.leave(); err == nil {
			err = left
		}
	}()
	return s.told(func() {
		s.lays()
		s.connects(h)
		s.sends()
		s.looks()
		s.merges()
		s.rebases()
		s.reviews()
		s.finishes()
		s.founds()
		s.tickets()
		s.releases()
		s.archives()
		s.judges()
	})
}

func newStory(exe, dir string, m *model) (*story, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	s := &story{model: m, work: filepath.Join(dir, "work"), heads: map[string]string{}, by: map[string]int{}}
	s.trial = trial{account: me.Username, exe: exe, home: filepath.Join(dir, "home")}
	s.project = s.work
	bin := filepath.Join(dir, "bin") // no runner is looked for in a node_modules
	for _, name := range []string{"opencode", "pnpm"} {
		found, err := exec.LookPath(name)
		if err == nil {
			err = errors.Join(os.MkdirAll(bin, 0o755), os.Symlink(found, filepath.Join(bin, name)))
		}
		if err != nil {
			return nil, err
		}
	}
	s.env = []string{"HOME=" + s.home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=xterm-256color", "NO_COLOR=1", "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "NO_PROXY=127.0.0.1",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
	return s, errors.Join(os.MkdirAll(s.home, 0o700), os.MkdirAll(s.work, 0o755))
}

// told runs a part of the story.
func (s *story) told(part func()) error { return (&eyes{}).look(part) }

// tells prints a line of the record.
func (s *story) tells(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "  "+format+"\n", a...)
}

func (s *story) must(err error) {
	if err != nil {
		panic(blind{err.Error()})
	}
}

// holds is what must be true.
func (s *story) holds(is bool, format string, a ...any) {
	if !is {
		panic(blind{"not so: " + fmt.Sprintf(format, a...)})
	}
}

func (s *story) shows(seen string, wants ...string) {
	for _, want := range wants {
		s.holds(strings.Contains(seen, want), "%q is shown in:\n%s", want, seen)
	}
}

// person has the user run a command of countersign at a terminal, and say yes to what it asks. It returns what they saw.
func (s *story) person(words ...string) string {
	seen, err := s.atTerminal("y", words...)
	s.by["terminal, at the command"] += len(prompts.FindAllString(seen, -1))
	if err != nil {
		panic(blind{fmt.Sprintf("countersign %s: %v\n%s", strings.Join(words, " "), err, seen)})
	}
	return seen
}

// reads is what a command of countersign prints that asks nothing.
func (s *story) reads(words ...string) string {
	out, err := s.command(s.exe, words...).CombinedOutput()
	if err != nil {
		panic(blind{fmt.Sprintf("countersign %s: %v\n%s", strings.Join(words, " "), err, out)})
	}
	return string(out)
}

// git runs git in a directory below the person's own, and returns what it prints.
func (s *story) git(dir string, words ...string) string {
	cmd := exec.Command("git", words...) //nolint:gosec // the story's own words
	cmd.Dir, cmd.Env = dir, s.env
	if !filepath.IsAbs(dir) {
		cmd.Dir = filepath.Join(s.work, dir)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		panic(blind{fmt.Sprintf("git %q in %s: %v\n%s", words, cmd.Dir, err, out)})
	}
	return strings.TrimSpace(string(out))
}

// writes lays files into a directory.
func (s *story) writes(dir string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(dir, name)
		s.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)))
	}
}

// file is what a file holds.
func (s *story) file(words ...string) string {
	text, err := os.ReadFile(filepath.Join(words...))
	s.must(err)
	return string(text)
}

// lays makes three repositories with a bare remote each. One is a pnpm workspace, a Makefile and a Go module.
func (s *story) lays() {
	s.git(s.work, "config", "--global", "user.name", "Ada")
	s.git(s.work, "config", "--global", "user.email", "ada@example.com")
	s.git(s.work, "config", "--global", "init.defaultBranch", "main")
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	s.must(err)
	s.must(s.runs("go", "env", "-w", "GOCACHE="+strings.TrimSpace(string(cache)), "CGO_ENABLED=0", "GOFLAGS=-trimpath"))
	for name, files := range map[string]map[string]string{
		"lib":  {"package.json": `{"name": "lib", "version": "0.0.0"}` + "\n"},
		"site": {"package.json": `{"name": "site", "version": "0.0.0"}` + "\n"},
		"shop": {
			".gitignore":                 "node_modules\n",
			"package.json":               `{"name": "shop", "private": true, "version": "0.0.0"}` + "\n",
			"pnpm-workspace.yaml":        "packages:\n  - packages/*\n",
			"packages/cart/package.json": `{"name": "cart", "version": "0.0.0", "scripts": {"test": "node test.js"}}` + "\n",
			"packages/cart/index.js":     "exports.total = (prices) => prices.reduce((a, b) => a + b, 0);\n",
			"packages/cart/test.js":      "const { total } = require(\"./index.js\");\nif (total([1, 2]) !== 3) process.exit(1);\nconsole.log(\"the cart adds up\");\n",
			"packages/web/package.json":  `{"name": "web", "version": "0.0.0", "dependencies": {"cart": "workspace:*"}, "scripts": {"test": "node test.js"}}` + "\n",
			"packages/web/index.js":      "exports.title = (n) => \"Shop\";\n",
			"packages/web/test.js":       "const { title } = require(\"./index.js\");\nif (!title(2).startsWith(\"Shop\")) process.exit(1);\nconsole.log(\"the page has a title\");\n",
			"Makefile":                   "test:\n\tgo test ./...\n",
			"go.mod":                     "module example.com/shop\n\ngo 1.26\n",
			"price/price.go":             "package price\n\n// Cents returns an amount in cents.\nfunc Cents(amount float64) int {\n\treturn int(amount * 100)\n}\n",
			"price/price_test.go":        "package price\n\nimport \"testing\"\n\nfunc TestCents(t *testing.T) {\n\tif got := Cents(1.5); got != 150 {\n\t\tt.Fatal(got)\n\t}\n}\n",
		},
	} {
		files["README.md"], files["CHANGELOG.md"] = "# "+name+"\n", "# Changelog\n"
		s.git(s.work, "init", "-q", name)
		s.writes(filepath.Join(s.work, name), files)
		if files["pnpm-workspace.yaml"] != "" {
			install := s.command("pnpm", "install", "--lockfile-only", "--offline")
			install.Dir = filepath.Join(s.work, name)
			s.must(install.Run())
		}
		s.git(name, "add", "-A")
		s.git(name, "commit", "-q", "-m", "feat: "+name)
		s.git(s.work, "clone", "-q", "--bare", name, name+".git")
	}
}

// connects sets everything up: the settings of agent servers, the clone, the project that scripts are run of, and the host.
func (s *story) connects(h host) {
	s.person("sandbox", "init")
	s.shows(s.person("sandbox", "clone", filepath.Join(s.work, "shop.git")), "cloned "+project)
	s.clone = filepath.Join(s.home, ".opencode-projects", project, "repo")
	s.shows(s.person("project", "add", s.clone, "--name", "shop"), "registered shop", "pnpm")
	_, env := h.command(s.model.URL, true)
	var config object
	for _, pair := range env {
		if text, ok := strings.CutPrefix(pair, "OPENCODE_CONFIG_CONTENT="); ok {
			s.must(json.Unmarshal([]byte(text), &config))
		}
	}
	s.must(settled(filepath.Join(s.home, ".config", "opencode", "opencode.json"), config))
	s.person("connect", "opencode", "--toolsets", "projects,sandboxes,git")
	s.must(s.logsIn())
	s.tells("set up: cloned shop.git as %s, registered it, connected opencode, opened the console", project)
}

// box is a sandbox as sandbox ls lists it.
type box struct {
	Name, Branch, Directory, Head string
	Dirty                         bool
	Unpushed                      int
	Agent                         struct{ Agent, Status string }
}

func (s *story) boxes() map[string]box {
	var list struct{ Sandboxes []box }
	s.must(s.asks(&list, "sandbox", "ls", project))
	out := map[string]box{}
	for _, b := range list.Sandboxes {
		out[b.Name] = b
	}
	return out
}

// own are steps with the tools of the host itself: what it changes in a file, and what it runs in its shell.
func own(name string, was, is string) []step {
	path := func(results []string) string {
		return filepath.Join(found(`(?m)^(/\S+/worktrees/[a-z]+)\s*$`, results), name)
	}
	return []step{
		{"bash", given(object{"command": "pwd && git remote get-url origin", "description": "Where this is"})},
		{"read", func(results []string) map[string]any { return object{"filePath": path(results)} }},
		{"edit", func(results []string) map[string]any {
			return object{"filePath": path(results), "oldString": was, "newString": is}
		}},
	}
}

// at are arguments with the sandbox's directory among them.
func at(name, below string, more map[string]any) func([]string) map[string]any {
	return func(results []string) map[string]any {
		out := object{name: filepath.Join(found(`(?m)^(/\S+/worktrees/[a-z]+)\s*$`, results), below)}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
}

func committed(message string) step {
	return step{"bash", given(object{"command": "git commit -qam '" + message + "' && git status --short", "description": "Commit it"})}
}

// scripts are what the model does on each prompt.
func scripts() map[string][]step {
	through := func(message string) []step { // the commit is Countersign's, which a person sees
		return []step{
			{"git_stage", at("path", "", object{"files": []string{"."}})},
			{"git_commit", at("path", "", object{"message": message})},
		}
	}
	read := own("price/price.go", "func Cents(amount float64) int {\n\treturn int(amount*100 + 0.5)\n}", "func Cents(amount float64) int {\n\treturn int(math.Round(amount * 100))\n}")
	read = append(read, step{"edit", func(results []string) map[string]any {
		return object{"filePath": filepath.Join(found(`(?m)^(/\S+/worktrees/[a-z]+)\s*$`, results), "price/price.go"), "oldString": "package price\n", "newString": "package price\n\nimport \"math\"\n"}
	}})
	return map[string][]step{
		agents["cart"]: append(own("packages/cart/index.js", "exports.total = (prices) => prices.reduce((a, b) => a + b, 0);", "exports.total = (prices, off = 0) => prices.reduce((a, b) => a + b, 0) * (1 - off);"),
			step{"run_script", at("project_path", "packages/cart", object{"script_name": "test"})}, committed("feat: the cart knows discounts")),
		agents["web"]: slices.Concat(own("packages/web/index.js", `exports.title = (n) => "Shop";`, "exports.title = (n) => `Shop (${n})`;"),
			[]step{{"run_task", at("projectPath", "", object{"task": "test", "members": []string{"web"}})}}, through("feat: the title counts articles")),
		agents["price"]: append(own("price/price.go", "return int(amount * 100)", "return int(amount*100 + 0.5)"),
			step{"run_task", at("projectPath", "", object{"task": "make:test", "timeoutMs": 280000})}, committed("fix: prices are rounded")),
		again: slices.Concat(read[:1], []step{{"sandbox_review", func(results []string) map[string]any {
			return object{"git_url": found(`(?m)^(file://\S+|/\S+\.git)\s*$`, results), "name": "price"}
		}}}, read[1:], []step{{"run_task", at("projectPath", "", object{"task": "make:test", "timeoutMs": 280000})}, committed("fix: negative prices are rounded, too")}),
	}
}

// sends has three agents started, and answers what they ask until each is done.
func (s *story) sends() {
	s.model.plays(scripts())
	base := s.git(s.clone, "rev-parse", "main")
	for _, name := range []string{"cart", "web", "price"} {
		seen := s.person("sandbox", "create", project, name, "--agent", "opencode", "--prompt", agents[name])
		s.shows(seen, agents[name])
	}
	s.waits("cart", "web", "price")
	boxes := s.boxes()
	for name := range agents {
		b := boxes[name]
		s.holds(s.git(b.Directory, "rev-parse", "HEAD~1") == base, "%s is one commit on top of the base", name)
		s.heads[name] = b.Head
	}
	s.holds(s.git(s.clone, "rev-parse", "main") == base, "the base has not moved")
	s.holds(s.git(s.clone, "status", "--porcelain") == "", "the clone is clean")
	s.tells("three agents of opencode edited, ran a script or task, and committed, each in its own sandbox; %d requests were answered", s.answers)
}

// waits is until the agents in these sandboxes are done, and meanwhile approves what they ask: by turns in the console and at a terminal.
func (s *story) waits(names ...string) {
	last := time.Now()
	for time.Since(last) < 2*patience {
		list, err := s.questions()
		s.must(err)
		for _, q := range list {
			s.answer(q)
			last = time.Now()
		}
		boxes, done := s.boxes(), 0
		for _, name := range names {
			b := boxes[name]
			s.holds(b.Agent.Status != "off" && b.Agent.Status != "failed", "the agent of %s works: %+v", name, b)
			if b.Agent.Status == "idle" && b.Head != s.heads[name] && b.Unpushed > 0 && !b.Dirty {
				done++
			}
		}
		if done == len(names) {
			list, err := s.questions()
			s.must(err)
			s.holds(len(list) == 0, "nothing is asked any more: %v", list)
			return
		}
		time.Sleep(300 * time.Millisecond) // each look starts the program, as a user would, and takes a processor that the agents need
	}
	s.holds(false, "the agents are done; they are %+v, the model was told %q, and it complains: %q", s.boxes(), s.model.results(), s.model.complaints())
}

// answer approves one request of an agent, and sees that it says in which sandbox it is.
func (s *story) answer(q question) {
	s.answers++
	which := regexp.MustCompile(`/worktrees/(cart|web|price)\b`)
	if s.answers%2 == 1 {
		s.by["console"]++
		s.must(s.inConsole(q, job{shows: "/worktrees/"}))
		return
	}
	seen := s.person("approve", q.ID)
	s.holds(which.MatchString(seen), "the request of %s says in which sandbox:\n%s", q.Tool, seen)
}

// looks has the person see the three results side by side.
func (s *story) looks() {
	s.shows(s.reads("sandbox", "list"), project, "running")
	s.shows(s.reads("sandbox", "ls", project), "cart", "web", "price", "1 unpushed", "idle")
	s.shows(s.reads("sandbox", "status", project, "web"), "1 commit")
	s.shows(s.reads("sandbox", "diff", project, "cart"), "off = 0", "packages/cart/index.js")
	s.opensPage(s.at(""), "price", "project")
	s.opensPage(s.at("/work/cart"), "off = 0", "work of cart")
	s.tells("sandbox list, ls, status, diff and the console show the three side by side")
}

// at is the address of a page of the project.
func (s *story) at(below string) string { return "/sandboxes/" + project + below }

// opensPage opens a page of the console, waits for a text, and keeps a picture.
func (s *story) opensPage(path, want, name string) {
	s.must(s.eyes.look(func() {
		s.page.Go(s.console() + path)
		s.page.WaitText("main", want)
		s.page.Shot("story " + name)
	}))
}

// console is the address of the console.
func (s *story) console() string {
	var origin string
	s.page.Eval("location.origin", &origin)
	return origin
}

// merges has the person merge one sandbox's work on its page of the console.
func (s *story) merges() {
	s.opensPage(s.at("/work/cart"), "Merge", "before the merge")
	s.must(s.eyes.look(func() {
		s.page.Press("Merge sandbox cart")
		s.page.WaitText("h1", "Merge sandbox cart")
		s.page.WaitText("main", "off = 0")
		s.page.Shot("story merge asks")
		s.page.WaitFor(`performance.now() > 1500 && !("held" in document.body.dataset)`) // what has just moved under a pointer takes no press
		s.page.Click(`button[value="approve"]`)
		s.page.WaitText("main", "Merge sandbox cart: done")
	}))
	s.by["console"]++
	s.holds(s.git(s.clone, "rev-parse", "main") == s.heads["cart"], "the base stands where the sandbox cart does")
	s.tells("cart: merged in the console; main moved forward to %.7s", s.heads["cart"])
}

// rebases has the person rebase a sandbox whose base has moved, and merge it.
func (s *story) rebases() {
	b := s.boxes()["web"]
	s.shows(s.reads("sandbox", "status", project, "web"), "1 behind")
	s.person("sandbox", "update", project, "web", "--rebase")
	s.holds(s.git(b.Directory, "rev-parse", "HEAD~1") == s.heads["cart"], "web stands on the new base")
	s.shows(s.person("sandbox", "merge", project, "web"), "the title counts articles", "packages/web/index.js", "Shop (${n})")
	s.holds(s.git(s.clone, "log", "--format=%s", "-3", "main") == "feat: the title counts articles\nfeat: the cart knows discounts\nfeat: shop", "main has both, in one line")
	s.tells("web: rebased onto the moved base, and merged at a terminal")
}

// reviews has the person send one back, and its agent go on.
func (s *story) reviews() {
	s.person("sandbox", "review", project, "price", "--seen")
	s.shows(s.person("sandbox", "review", project, "price", "--at", "price/price.go:5", "--message", comment), "price/price.go:5")
	s.person("sandbox", "agent", project, "price", "--prompt", again)
	s.waits("price")
	s.holds(strings.Contains(s.model.everything(), comment), "the agent's model was told the comment")
	s.shows(s.reads("sandbox", "diff", project, "price", "--since-review"), "math.Round")
	s.opensPage(s.at("/work/price"), "math.Round", "work that was sent back")
	seen := s.reads("sandbox", "review", project, "price")
	s.shows(seen, comment)
	s.person("sandbox", "review", project, "price", "--done", "1")
	s.tells("price: sent back with a comment, which its agent read, fixed and committed")
}

// finishes merges that, too, pushes the base, and archives the sandboxes.
func (s *story) finishes() {
	s.shows(s.person("sandbox", "merge", project, "price"), "math.Round", "negative prices")
	s.holds(strings.Contains(s.file(s.clone, "price/price.go"), "math.Round"), "the clone's files are those of main")
	s.holds(s.git(s.clone, "status", "--porcelain") == "", "the clone is clean")
	s.person("sandbox", "push", project, "web", "--branch", "main")
	s.holds(s.git("shop.git", "rev-parse", "main") == s.git(s.clone, "rev-parse", "main"), "the remote has main")
	for _, name := range []string{"cart", "web", "price"} {
		s.person("sandbox", "archive", project, name)
	}
	s.holds(len(s.boxes()) == 0, "no sandbox is left")
	for _, subject := range []string{"the cart knows discounts", "the title counts articles", "prices are rounded", "negative prices are rounded, too"} {
		s.shows(s.git("shop.git", "log", "--format=%s", "main"), subject)
	}
	s.person("sandbox", "stop", project)
	s.tells("price merged; main pushed to shop.git with the work of all three; the sandboxes are archived")
}
