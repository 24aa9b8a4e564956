package ecocmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

// View writes answers to a terminal.
type View struct {
	command.Runner
	All bool // previews list what they count otherwise, too
}

// answer is what a tool said: an object of its answer.
type answer map[string]any

// ParseAnswer decodes a tool's answer as an object; numbers keep their digits. It returns nil for anything else.
func ParseAnswer(doc json.RawMessage) answer {
	var a answer
	if json.Unmarshal(doc, &a) != nil {
		return nil
	}
	return a
}

// word returns a value in one word or line; a time as how long ago it was.
func word(v any) string {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			if time.Now().Before(at) {
				return at.Local().Format(time.DateTime)
			}
			return command.Age(at)
		}
		return v
	case bool:
		if v {
			return "yes"
		}
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		words := make([]string, 0, len(v))
		for _, each := range v {
			words = append(words, word(each))
		}
		return strings.Join(words, ", ")
	case map[string]any:
		var words []string
		for name, each := range v {
			words = append(words, name+"="+word(each))
		}
		slices.Sort(words)
		return strings.Join(words, " ")
	}
	return ""
}

// Word returns a member in one word or line, a time as how long ago it was; empty for what is not there, and for no.
func (a answer) Word(key string) string { return word(a[key]) }

// Object returns what a member holds, as far as it is an object.
func (a answer) Object(key string) answer {
	o, _ := a[key].(map[string]any)
	return o
}

// List returns the objects of a member that is a list.
func (a answer) List(key string) []answer {
	all, _ := a[key].([]any)
	out := make([]answer, 0, len(all))
	for _, each := range all {
		if o, ok := each.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

// Texts returns the texts of a member that is a list.
func (a answer) Texts(key string) []string {
	all, _ := a[key].([]any)
	out := make([]string, 0, len(all))
	for _, each := range all {
		out = append(out, word(each))
	}
	return out
}

// rows writes a table: a column is its heading, or heading=member where that has another name. Columns in which nothing stands are left out.
func (g View) rows(all []answer, columns ...string) {
	var headings, members []string
	for _, c := range columns {
		heading, member, renamed := strings.Cut(c, "=")
		if !renamed {
			member = c
		}
		if slices.ContainsFunc(all, func(a answer) bool { return a.Word(member) != "" }) {
			headings, members = append(headings, strings.ReplaceAll(heading, "_", " ")), append(members, member)
		}
	}
	var lines [][]string
	for _, a := range all {
		line := make([]string, len(members))
		for i, m := range members {
			line[i] = CommandText(a.Word(m))
			if len(line[i]) == 40 && strings.Trim(line[i], "0123456789abcdef") == "" {
				line[i] = line[i][:7] // a commit
			}
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		g.Table(headings, lines)
	}
}

// pairs writes members as names and values, in the way of rows.
func (g View) pairs(a answer, members ...string) {
	var pairs []command.Pair
	for _, m := range members {
		name, member, renamed := strings.Cut(m, "=")
		if !renamed {
			member = m
		}
		pairs = append(pairs, command.Pair{Name: strings.ReplaceAll(name, "_", " "), Value: CommandText(a.Word(member))})
	}
	g.Pairs(pairs...)
}

// short keeps the beginning of identifiers that users name by it.
func short(all []answer, members ...string) []answer {
	for _, a := range all {
		for _, m := range members {
			if s := a.Word(m); len(s) > 8 {
				a[m] = s[:8]
			}
		}
	}
	return all
}

// prose is an answer's own text, in words of the command line.
func (g View) prose(a answer) {
	text := a.Object("_text")
	if summary := text.Word("summary"); summary != "" {
		g.Line("%s", command.Plain(CommandText(summary)))
	}
	for _, line := range text.Texts("details") {
		g.Line("  %s", command.Plain(CommandText(line)))
	}
}

// Outcome shows an answer: as JSON, as the preview that a dry run is, or as draw lays it out; nil is its own text.
func (g View) Outcome(o tool.Outcome, draw func(answer)) error {
	a := ParseAnswer(o.Value)
	switch {
	case g.JSON || a == nil:
		return g.Show(o)
	case o.DryRun && a.Object("preview") != nil:
		g.preview(a)
	case draw != nil:
		draw(a)
	default:
		g.prose(a)
	}
	return nil
}

// preview shows what would be done.
func (g View) preview(a answer) {
	p := a.Object("preview")
	if p.Word("noop") != "" {
		g.Line("%s", command.Plain(cmp.Or(CommandText(p.Word("message")), "nothing to do")))
		return
	}
	g.Line("dry run: %s", command.Plain(a.Word("summary")))
	if p.Object("totals") != nil && p.Object("validation") != nil {
		g.releasePreview(a, p)
		return
	}
	var tables []string
	rest := answer{}
	for name, v := range p {
		if len(p.List(name)) > 0 {
			tables = append(tables, name)
		} else if name != "steps" && name != "execute_hint" && name != "current_state" {
			rest[name] = v
		}
	}
	if doc, err := tool.Encode(map[string]any{"context": rest}); err == nil {
		if text, ok := command.PlanContextText(doc); ok && text != "" {
			g.Line("%s", CommandText(text))
		}
	}
	for i, step := range p.Texts("steps") {
		g.Line("  %d. %s", i+1, command.Plain(CommandText(step)))
	}
	slices.Sort(tables)
	for _, name := range tables {
		g.Line("")
		g.rows(p.List(name), append([]string{strings.TrimSuffix(name, "s") + "=name", "repo"}, others(p.List(name))...)...)
	}
	for _, warning := range a.Texts("warnings") {
		g.Note("warning: %s", command.Plain(CommandText(warning)))
	}
	g.Note("dry run: nothing was changed")
}

// releasePreview shows a release that would be made. What was committed and checked is counted, unless all is asked for.
func (g View) releasePreview(a, p answer) {
	commits, checks := len(p.List("commits")), len(p.Object("validation").Texts("passed"))
	if !g.All {
		delete(p, "commits")
		delete(p.Object("validation"), "passed")
	}
	doc, err := tool.Encode(map[string]any{"preview": p, "warnings": a["warnings"]})
	if err == nil {
		g.Line("%s", CommandText(command.PlanText(doc)))
	}
	if !g.All {
		g.Note("%s and %s are not listed; to list them: --all", plural(commits, "commit"), plural(checks, "passed check"))
	}
	g.Note("dry run: nothing was changed")
}

// others returns the members of some objects besides their name, in a lasting order.
func others(all []answer) []string {
	var names []string
	for _, a := range all {
		for name := range a {
			if name != "name" && name != "repo" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Ecosystems shows the ecosystems of a workspace root.
func (g View) Ecosystems(a answer) {
	all := a.List("ecosystems")
	if len(all) == 0 {
		g.Note("no ecosystems in %s; to create one: countersign eco create NAME --repo NAME=URL", command.Plain(a.Word("workspace_root")))
		return
	}
	for _, e := range all {
		if e.Word("selected") != "" {
			e["name"] = e.Word("name") + " *"
		}
	}
	g.rows(all, "ecosystem=name", "repositories=repos_count", "installed", "ticket=active_ticket", "provisioner", "retired", "problem", "description")
}

// Description shows what an ecosystem is made of.
func (g View) Description(a answer) {
	g.pairs(a, "ecosystem=name", "description", "directory=path", "provisioner", "installed", "retired", "journal_entries=journal_count")
	g.pairs(answer{"untouched": a.Object("guardrails")["no_touch_paths"]}, "untouched")
	g.Line("")
	g.rows(a.List("repos"), "repository=name", "branch", "readonly", "path", "url")
	problems(a, g.Line)
}

// SavedCommands shows the commands that a manifest has names for.
func (g View) SavedCommands(a answer) {
	all := a.List("commands")
	if len(all) == 0 {
		g.Note("ecosystem.yaml has no commands; add some under commands:, for example test: go test ./...")
	}
	for _, c := range all {
		argv := c.Texts("command")
		if len(argv) == 3 && argv[0] == "sh" && argv[1] == "-c" {
			argv = argv[2:]
		}
		c["command"] = strings.Join(argv, " ")
	}
	g.rows(all, "name", "command")
}

// Validation shows whether a manifest is valid.
func (g View) Validation(a answer) {
	if a.Word("valid") != "" {
		g.Line("valid, %s", plural(len(a.List("warnings")), "warning"))
	}
	problems(a, g.Line)
}

// problems writes what is wrong with a manifest, or speaks against it.
func problems(a answer, write func(format string, args ...any)) {
	for _, level := range []string{"errors", "warnings"} {
		for _, p := range a.List(level) {
			write("%s: %s: %s; %s", strings.TrimSuffix(level, "s"), command.Plain(cmp.Or(p.Word("path"), "ecosystem.yaml")), command.Plain(CommandText(p.Word("message"))), command.Plain(CommandText(p.Word("fix"))))
		}
	}
}

// plural returns a number of things in words.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Workspace shows the repositories of an ecosystem.
func (g View) Workspace(a answer) {
	w := a.Object("workspace")
	if w == nil {
		g.Line("%s", command.Plain(CommandText(a.Word("hint"))))
		return
	}
	if strings.Contains(w.Word("status"), "UNPUSHED") {
		w["status"] = w.Word("status") + " (commits of " + w.Word("workspace_branch") + " are on no remote)"
	}
	g.pairs(w, "ecosystem", "workspace=workspace_dir", "branch=workspace_branch", "status", "changes=dirty_files", "ticket=active_ticket", "problem")
	var deployed []string
	for _, e := range a.List("environments") {
		deployed = append(deployed, e.Word("environment")+" "+e.Word("state")+" "+e.Word("since"))
	}
	g.pairs(answer{"environments": strings.Join(deployed, ", ")}, "environments")
	if len(a.Object("unpushed_releases")) > 0 {
		g.pairs(answer{"releases": command.Plain(CommandText(a.Word("hint")))}, "releases")
	}
	all := a.List("repos")
	for _, r := range all {
		r["changes"], r["apart"] = r.Word("dirty_files"), "no upstream"
		if r["ahead"] != nil || r["behind"] != nil {
			r["apart"] = r.Word("ahead") + "/" + r.Word("behind")
		}
		if r.Word("mode") == "RO" {
			r["readonly"] = "read-only"
		}
		if r["branch"] == nil {
			r["branch"] = "(detached)"
		}
		r["problem"] = strings.Trim(r.Word("operation")+"; "+r.Word("problem"), "; ")
	}
	g.Line("")
	g.rows(all, "repository=name", "branch", "changes", "ahead/behind=apart", "status", "commit", "access=readonly", "problem")
}

// Tickets shows the tickets.
func (g View) Tickets(a answer) {
	all := a.List("tickets")
	if len(all) == 0 {
		g.Note("no tickets; to start one: countersign eco ticket start TICKET")
		return
	}
	for _, t := range all {
		var names, wrong []string
		for _, r := range t.List("repos") {
			names = append(names, r.Word("name"))
			if s := r.Word("status"); s != "ok" && s != "" {
				wrong = append(wrong, r.Word("name")+" "+s)
			}
		}
		t["repositories"], t["attention"] = strings.Join(names, ", "), strings.Join(wrong, ", ")
	}
	g.rows(all, "ticket=ticket_id", "active", "phase", "started=created_at", "repositories", "attention")
}

// Ticket shows what became of one ticket.
func (g View) Ticket(a answer) {
	all := a.List("repos")
	for _, r := range all {
		if words := map[string]string{"create": "new branch", "reuse": "existing branch", "track": "branch from origin", "exists": "already existed"}[r.Word("result")]; words != "" {
			r["result"] = words
		}
	}
	g.rows(all, "repository=name", "branch", "result", "status", "worktree", "problem", "kept=kept_refs")
	summary := a.Object("_text").Word("summary")
	g.Step("%s", command.Plain(CommandText(summary)))
}

// Finished shows what became of a ticket's branches.
func (g View) Finished(a answer) {
	all := a.List("repos")
	for _, r := range all {
		r["conflicts"] = strings.Join(r.Texts("conflicts"), ", ")
		r["result"] = r.Word("result") + r.Word("action")
		if c := r.Word("commit"); c != "" {
			r["commit"] = c[:min(12, len(c))]
		}
	}
	g.rows(all, "repository=name", "branch", "base", "commits=commits_total", "files=files_total", "behind", "result", "commit", "conflicts", "problem")
	g.Step("%s", command.Plain(CommandText(a.Object("_text").Word("summary"))))
}

// Proposals shows requests with their states, and the pages and commands that open them, each in a line of its own: they are for copying.
func (g View) Proposals(a answer) {
	all := a.List("repos")
	if len(all) == 0 {
		g.Note("no commits of this ticket")
	}
	for _, r := range all {
		commits, _ := strconv.Atoi(r.Word("commits"))
		state := cmp.Or(r.Word("state"), "no request yet")
		if result := r.Word("result"); result != "" {
			state = strings.ReplaceAll(result, "_", " ") + map[bool]string{true: ", " + r.Word("state")}[r.Word("state") != ""]
		}
		g.Line("%s: %s into %s, %s: %s", command.Plain(r.Word("name")), command.Plain(r.Word("branch")), command.Plain(r.Word("base")), plural(commits, "commit"), command.Plain(state))
		if pushed, asked := r["pushed"].(bool); asked && !pushed {
			g.Line("  not pushed yet: countersign eco push")
		}
		if page := r.Word("url"); page != "" {
			g.Line("  %s", command.Plain(page))
		}
		if argv := r.Texts("command"); len(argv) > 0 && r.Word("state") == "" {
			g.Line("  countersign eco ticket pr, or: countersign eco exec --repos %s -- %s", command.Plain(r.Word("name")), command.Plain(strings.Join(argv, " ")))
		}
		if problem := r.Word("problem"); problem != "" {
			g.Line("  %s", command.Plain(CommandText(problem)))
		}
	}
}

// Environment shows an environment and its services.
func (g View) Environment(a answer) {
	g.pairs(a, "ecosystem", "environment", "state", "since", "provisioner", "healthy", "interrupted", "error")
	for name, value := range a.Object("outputs") {
		g.pairs(answer{"value": value}, name+"=value")
	}
	g.rows(a.List("services"), "service=repo", "status", "pid", "started=started_at", "command", "log")
	g.rows(a.List("others"), "also=environment", "state", "since")
}

// Asked shows what a provisioner said of itself.
func (g View) Asked(a answer) {
	for _, line := range a.Texts("lines") {
		g.Line("%s", command.Plain(line))
	}
	for name, value := range a.Object("outputs") {
		g.pairs(answer{"value": value}, name+"=value")
	}
	g.Note("%s of %s: %s", command.Plain(a.Word("action")), command.Plain(a.Word("provisioner")), command.Plain(a.Word("status")))
}

// Release shows the current version, and the commands that lead on from it.
func (g View) Release(a answer) {
	g.pairs(a, "version=current_version", "versions", "stage", "tag", "branch", "commits_since=commits_since_tag", "uncommitted_changes=dirty", "versions_differ=version_drift")
	if left := a.Texts("unpushed_records"); len(left) > 0 {
		g.pairs(answer{"unpushed": strings.Join(left, ", ") + " is not pushed everywhere; to push: countersign eco push"}, "unpushed")
	}
	if left := a.Texts("missing_github_releases"); len(left) > 0 {
		g.pairs(answer{"github": strings.Join(left, ", ") + " missing there; to push: countersign eco push"}, "github")
	}
	if broken := a.Object("interrupted"); broken != nil {
		g.pairs(answer{"interrupted": broken.Word("tag") + ", tagged in: " + strings.Join(broken.Texts("tagged"), ", ") + "; not in: " + strings.Join(broken.Texts("missing"), ", ")}, "interrupted")
	}
	g.Line("")
	all := a.List("repos")
	for _, r := range all {
		r["unpushed"] = strings.Join(r.Texts("unpushed_tags"), ", ")
	}
	g.rows(all, "repository=name", "branch", "head", "tag", "commits=commits_since_tag", "next", "changes=dirty", "unpushed", "problem")
	for _, w := range a.List("next_versions") {
		how, pre, _ := strings.Cut(strings.TrimPrefix(w.Word("how"), "bump "), " ")
		command := "bump " + how
		if rest, ok := strings.CutPrefix(w.Word("how"), "promote"); ok {
			command, pre = strings.TrimSpace("promote"+rest), ""
		}
		if pre != "" {
			command += " --pre " + pre
		}
		w["command"] = "countersign eco release " + command
	}
	g.Line("")
	g.rows(a.List("next_versions"), "next=version", "command")
	if a.Word("versions") != "" {
		g.Line("to release the changed repositories and their dependents: countersign eco release bump")
	}
}

// Checks shows whether an ecosystem can be released.
func (g View) Checks(a answer) {
	for _, level := range []string{"errors", "warnings", "passed"} {
		for _, line := range a.Texts(level) {
			g.Line("%-8s %s", strings.TrimSuffix(level, "s"), command.Plain(CommandText(line)))
		}
	}
}

// Releases shows the releases there were.
func (g View) Releases(a answer) {
	if len(a.List("records")) == 0 {
		g.Note("no releases yet; to release: countersign eco release bump patch")
	}
	for _, r := range a.List("records") {
		r["tags"] = strings.Join(r.Texts("tags"), ", ")
	}
	g.rows(a.List("records"), "version=tag", "tags", "released=date", "stage", "action", "commits", "by=origin")
}

// Trash shows what can be restored, and what was archived.
func (g View) Trash(a answer) {
	all := a.List("trash")
	if len(all) == 0 {
		g.Note("the trash is empty")
	}
	for _, t := range all {
		t["branches"] = fmt.Sprint(len(t.List("branches")))
	}
	g.rows(all, "entry=trash_id", "ecosystem", "why", "removed=at", "until=restorable_until", "branches", "restore")
	g.Line("")
	g.rows(a.List("archives"), "archive=id", "file=archive_file", "bundles")
}

// Policy shows how every tool is treated in each mode.
func (g View) Policy(a answer) {
	g.rows(a.List("rows"), "no=num", "tool", "scope", "safety", "ask", "plan", "execute", "confirmation=confirm")
}

// Runs shows runs, one per line.
func (g View) Runs(a answer) {
	all := short(a.List("runs"), "run_id")
	if len(all) == 0 {
		g.Note("no runs")
	}
	g.rows(all, "run=run_id", "ecosystem", "action", "status", "exit=exit_code", "place=position", "asked_for=created_at")
}

// Run shows how far one run is.
func (g View) Run(a answer) {
	g.pairs(a, "run=run_id", "action", "ecosystem", "status", "place=position", "exit=exit_code", "asked_for=created_at", "started=started_at", "ended=finished_at",
		"took_seconds=duration_seconds", "said=log_events", "last=last_message", "error", "errors")
	g.Results(a.Object("result"))
}

// Results shows the repositories of a run's result, one per line, with whatever each of them says.
func (g View) Results(result answer) {
	all := result.List("repos")
	for _, r := range all {
		r["repository"] = r.Word("name") + r.Word("repo")
		if _, identified := r["commit"].(string); !identified { // whether there is one, in a release
			delete(r, "commit")
		}
	}
	g.rows(all, "repository", "ticket", "branch", "commit", "tag", "result", "status", "exit=exit_code", "action", "reason", "problem", "error")
	for name, value := range result.Object("outputs") {
		g.pairs(answer{"value": value}, name+"=value")
	}
}
