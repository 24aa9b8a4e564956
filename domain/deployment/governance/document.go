package governance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// SkippedDirs returns the directories that lint skips, at any depth.
func SkippedDirs() []string { return []string{".agentpack", ".git", "node_modules", "target"} }

// IsSkill reports whether the slash path is that of a skill's own file.
func IsSkill(path string) bool { return path == "SKILL.md" || strings.HasSuffix(path, "/SKILL.md") }

// IsCommand reports whether the slash path is that of a Claude Code command.
func IsCommand(path string) bool {
	return strings.HasSuffix(path, ".md") && slices.ContainsFunc([]string{".claude/commands/", "templates/claude/commands/", "modules/claude-commands/"},
		func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// CheckSkill returns what is wrong with a SKILL.md: it must begin with a name and a description (agentpack contract §2.5).
func CheckSkill(path string, doc []byte, frontmatter deployment.FrontmatterFunc) []Issue {
	fields, found, err := frontmatter(doc)
	switch {
	case err != nil:
		return []Issue{NewIssue(SkillFrontmatter, path, fault.From(err).Message, deployment.FieldDetails("error", err.Error()))}
	case !found:
		return []Issue{NewIssue(SkillFrontmatter, path, "it has no frontmatter; add name and description between two lines ---",
			deployment.FieldDetails("missing", []string{"frontmatter"}).Add("required_fields", []string{"name", "description"}))}
	}
	var out []Issue
	for _, name := range []string{"name", "description"} {
		text, isText := fields[name].(string)
		switch {
		case fields[name] == nil, isText && strings.TrimSpace(text) == "":
			out = append(out, NewIssue(SkillFrontmatter, path, "its frontmatter has no "+name, deployment.FieldDetails("field", name).Add("missing", []string{name})))
		case !isText:
			out = append(out, NewIssue(SkillFrontmatter, path, name+" in its frontmatter is not text", deployment.FieldDetails("field", name).Add("expected", "string")))
		}
	}
	return out
}

// CheckCommand returns what is wrong with a Claude Code command: one that runs shell commands must say which it may run, and one that changes
// something must be called with --json and --yes.
func CheckCommand(path string, doc []byte, frontmatter deployment.FrontmatterFunc) []Issue {
	var out []Issue
	if deployment.RunsShell(doc) {
		fields, found, err := frontmatter(doc)
		switch {
		case err != nil:
			out = append(out, NewIssue(commandTools, path, "it runs shell commands, and "+fault.From(err).Message, deployment.FieldDetails("error", err.Error())))
		case !found:
			out = append(out, NewIssue(commandTools, path, "it runs shell commands but has no frontmatter; add allowed-tools with the commands",
				deployment.FieldDetails("missing", []string{"frontmatter", "allowed-tools"})))
		case !deployment.AllowsBash(fields["allowed-tools"]):
			out = append(out, NewIssue(commandTools, path, "it runs shell commands, but its allowed-tools has no Bash(…) entry",
				deployment.FieldDetails("field", "allowed-tools").Add("missing", []string{"allowed-tools"})))
		}
	}
	for _, d := range dangers(string(doc)) {
		out = append(out, NewIssue(DangerousDefaults, path, fmt.Sprintf("line %d runs %s, which changes something, without %s", d.line, d.id, strings.Join(d.missing, " and ")),
			deployment.FieldDetails("line", d.line).Add("command_id", d.id).Add("invocation", d.invocation).Add("missing", d.missing)))
	}
	return out
}
