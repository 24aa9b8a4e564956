package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// OwnPrefix begins the names of hosts that a config repository describes itself, so that they never equal a built-in one.
const OwnPrefix = "x_"

// agentOf returns the table of a target: the built-in one with its name, or its own.
func agentOf(name string, cfg deployment.TargetConfig) (agent, bool) {
	if cfg.Host == nil {
		return FindAgent(name)
	}
	a := agent{Name: name, Title: cfg.Host.Title, Scopes: []deployment.Scope{deployment.ScopeUser, deployment.ScopeProject, deployment.ScopeBoth}}
	for _, r := range cfg.Host.Rules {
		root := r.Root
		if rest, ok := strings.CutPrefix(root, "~"); ok {
			root = "{home}" + rest
		}
		dialect := []string{name, "", "", "", "", "url", "", "headers", "env", "", r.References}
		a.Rules = append(a.Rules, ruleOf([]string{name, r.Type, r.Scope, "", "", root, r.Path, r.Form, r.Format, r.At, ""}, [][]string{dialect}))
	}
	return a, true
}

// CheckOwnHost returns what is wrong with a host that a config repository describes, rule by rule.
func CheckOwnHost(name string, h deployment.OwnHost) (problems []string) {
	if !strings.HasPrefix(name, OwnPrefix) {
		problems = append(problems, fmt.Sprintf("the name of a custom host must begin with %s; use %s%s", OwnPrefix, OwnPrefix, name))
	}
	if len(h.Rules) == 0 {
		problems = append(problems, "it has no rules; add at least one rule")
	}
	forms := map[deployment.ModuleType][]string{
		deployment.ModuleInstructions: {"aggregate", "verbatim", "cursor-rule", "copilot-rule"}, deployment.ModuleSkill: {"tree"}, deployment.ModulePrompt: {"verbatim", "prompt-skill", "toml-command"},
		deployment.ModuleCommand: {"verbatim", "toml-command"}, deployment.ModuleMCP: {"keys"}, deployment.ModuleSettings: {"keys"}, deployment.ModuleAgent: {"verbatim", "agent-md", "agent-toml"}, deployment.ModuleStyle: {"verbatim"},
	}
	marks := map[string]string{"tree": "{skill}", "prompt-skill": "{skill}", "cursor-rule": "{key}", "copilot-rule": "{key}"}
	for i, r := range h.Rules {
		say := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("rule %d: %s", i+1, fmt.Sprintf(format, args...)))
		}
		allowed := forms[deployment.ModuleType(r.Type)]
		keys := r.Form == "keys"
		switch {
		case allowed == nil:
			say("type %q is not supported for a custom host", r.Type)
		case !slices.Contains(allowed, r.Form):
			say("form %q is not supported for %s; use one of %s", r.Form, r.Type, strings.Join(allowed, ", "))
		case r.Scope != string(deployment.ScopeUser) && r.Scope != string(deployment.ScopeProject):
			say("unknown scope %q; use user or project", r.Scope)
		case !strings.HasPrefix(r.Root+"/", "~/") && !strings.HasPrefix(r.Root+"/", "{project}/"):
			say("invalid root %q; it must begin with ~/ or {project}", r.Root)
		case !ownPlace(r.Root + "/" + r.Path):
			say("root %q with path %q is not a directory for an agent; for the user scope, use a directory below ~/.NAME or ~/.config/NAME; for a project, use any directory except .git", r.Root, r.Path)
		case strings.HasPrefix(r.Root, "{project}") != (r.Scope == string(deployment.ScopeProject)):
			say("root %q does not match the scope %s", r.Root, r.Scope)
		case (Paths{Sep: '/'}).Confined(r.Path) != nil || strings.Contains("/"+r.Root+"/", "/../"):
			say("invalid path %q: it is empty or leads out of its root", r.Path)
		case marks[r.Form] != "" && !strings.Contains(r.Path, marks[r.Form]), r.Form == "verbatim" && !strings.Contains(r.Path, "{"):
			say("path %q has no placeholder, so all modules would have the same file; use %s", r.Path, strings.TrimSpace(marks[r.Form]+" {file} or {key}"))
		case r.Form == "tree" && r.Path != "{skill}":
			say("invalid path %q of a skill; use {skill}, and put the part before it in root", r.Path)
		case keys && deployment.HandoverOf(r.Root+"/"+r.Path, 0) == "":
			say("unsupported document path %q; use a name such as mcp.json or settings.json", r.Path)
		case keys && !slices.Contains([]deployment.Format{deployment.FormatJSON, deployment.FormatJSONC, deployment.FormatTOML}, deployment.Format(r.Format)):
			say("unknown format %q; use json, jsonc or toml", r.Format)
		case !keys && r.Format+r.At+r.References != "":
			say("format, at and references are only for keys")
		case r.Type == string(deployment.ModuleMCP) && r.At == "":
			say("at is missing; set it to the key that contains the servers")
		case r.Type == string(deployment.ModuleMCP) && !slices.Contains([]references{ReferencesPlain, ReferencesEnv, ReferencesBraces, ReferencesNone}, references(r.References)):
			say("unknown references %q; use ${}, ${env:}, {env:} or none", r.References)
		}
	}
	return problems
}

// notAgents are directories in a home, and in its .config, of other programs, which run or trust what is in them.
var notAgents = []string{".ssh", ".gnupg", ".git", ".local", ".cache", ".countersign", ".agentpack", ".pki", ".aws", ".kube", ".docker", ".cargo", ".rustup", ".npm", ".nvm",
	".pyenv", ".rbenv", ".gem", ".m2", ".gradle", ".mozilla", ".vim", ".emacs.d", ".oh-my-zsh", ".zfunc", ".bashrc.d", ".profile.d", ".fonts", ".themes", ".icons", ".terraform.d", ".password-store",
	"systemd", "autostart", "environment.d", "git", "fish", "zsh", "bash", "nushell", "pip", "nvim", "gtk-3.0", "gtk-4.0", "containers", "plasma-workspace", "amof", "countersign"}

// ownPlace reports whether a host that a config repository describes may write to a path. It cannot guarantee that only an agent reads the path:
// plans say for each such file that the config repository chose its place.
func ownPlace(path string) bool {
	parts := strings.FieldsFunc(strings.ToLower(path), func(r rune) bool { return r == '/' })
	if len(parts) == 0 || slices.Contains(parts, ".git") {
		return false
	}
	if parts[0] != "~" {
		return true
	}
	parts = parts[1:]
	if len(parts) > 0 && parts[0] == ".config" {
		parts = parts[1:]
		return len(parts) > 1 && !slices.Contains(notAgents, parts[0]) && !strings.Contains(parts[0], "{")
	}
	return len(parts) > 1 && strings.HasPrefix(parts[0], ".") && !slices.Contains(notAgents, parts[0]) && !strings.Contains(parts[0], "{")
}
