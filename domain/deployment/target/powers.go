package target

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

func isDialect(err error) bool { return errors.Is(err, ErrDialect) }

// Hook is a hook as a module writes it: its event, and the command that runs then.
type Hook struct {
	Event    string            `json:"event"`
	Matcher  string            `json:"matcher,omitempty"`  // tools, in the syntax of Claude Code
	Matchers map[string]string `json:"matchers,omitempty"` // the same in the syntax of other targets, by their names
	Command  string            `json:"command"`
	Timeout  int               `json:"timeout,omitempty"` // in seconds
}

// hook returns the keys of one hook: a value of the list of its event, so that the user's hooks stay beside it.
func (l line) hook(m Module, object Object) ([]deployment.Key, error) {
	var h Hook
	text, err := EncodeValue(object)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return nil, ErrEntry.WithMessage("not a hook: %v", err)
	}
	event := l.Events[h.Event]
	if event == "" {
		return nil, ErrDialect.WithMessage("it has no event that matches %s", h.Event)
	}
	matcher, said := h.Matchers[l.Agent]
	if !said && h.Matcher != "" && l.Agent != "claude_code" {
		return nil, ErrDialect.WithMessage("it is for the tools %s, which are names in Claude Code; add the names for this host as matchers.%s", h.Matcher, l.Agent)
	}
	if !said {
		matcher = h.Matcher
	}
	one := map[string]any{"command": h.Command}
	if h.Timeout > 0 {
		one["timeout"] = h.Timeout
		if l.Style == "nested-ms" {
			one["timeout"] = h.Timeout * 1000
		}
	}
	entry := one
	if l.Style != "flat" {
		one["type"] = "command"
		entry = map[string]any{"hooks": []any{one}}
	}
	if matcher != "" {
		entry["matcher"] = matcher
	}
	value, err := EncodeValue(entry)
	keys := []deployment.Key{{Path: append(slices.Clone(l.At), event), Value: value, Item: true, Module: m.ID}}
	if l.Style == "flat" {
		keys = append(keys, deployment.Key{Path: []string{"version"}, Value: json.RawMessage("1"), Module: m.ID})
	}
	return keys, err
}

// plugins returns the keys of the plugins of one marketplace, in the syntax of Claude Code: where the marketplace is, and each plugin as enabled.
func (l line) plugins(m Module, object Object) (keys []deployment.Key, err error) {
	var p deployment.Plugins
	text, err := EncodeValue(object)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return nil, ErrEntry.WithMessage("it lists no plugins: %v", err)
	}
	if p.Source != "" {
		at := map[string]any{"source": "git", "url": p.Source}
		if owner, repo, ok := strings.Cut(p.Source, "/"); ok && owner != "" && repo != "" && !strings.ContainsAny(p.Source, ":@") && !strings.Contains(repo, "/") {
			at = map[string]any{"source": "github", "repo": p.Source}
		}
		if p.Ref != "" {
			at["ref"] = p.Ref
		}
		value, err := EncodeValue(map[string]any{"source": at})
		if err != nil {
			return nil, err
		}
		keys = append(keys, deployment.Key{Path: []string{"extraKnownMarketplaces", p.Marketplace}, Value: value, Module: m.ID})
	}
	for _, name := range p.Plugins {
		keys = append(keys, deployment.Key{Path: []string{"enabledPlugins", name + "@" + p.Marketplace}, Value: json.RawMessage("true"), Module: m.ID})
	}
	return keys, nil
}

// permission returns the keys of permissions: every rule is a value of its list. Modules use the syntax of Claude Code.
func (l line) permission(m Module, object Object) (out []deployment.Key, err error) {
	if l.Style == "opencode" {
		return l.opencodePermission(m, object)
	}
	for _, list := range []string{"allow", "ask", "deny"} {
		rules, _ := object[list].([]any)
		if len(rules) > 0 && list == "ask" && l.Style == "cursor" {
			return nil, ErrDialect.WithMessage("it does not support ask, and neither allow nor deny has the same effect")
		}
		for _, rule := range rules {
			text, _ := rule.(string)
			if l.Style == "cursor" {
				if text, err = cursorRule(text); err != nil {
					return nil, err
				}
			}
			value, err := EncodeValue(text)
			if err != nil {
				return nil, err
			}
			if k := (deployment.Key{Path: append(slices.Clone(l.At), list), Value: value, Item: true, Module: m.ID}); !slices.ContainsFunc(out, k.Same) {
				out = append(out, k)
			}
		}
	}
	return out, nil
}

// cursorRule translates a rule to Cursor. It fails with ErrDialect for one that Cursor cannot express, because a weaker rule would allow more.
func cursorRule(rule string) (string, error) {
	tool, rest, inBrackets := strings.Cut(rule, "(")
	pattern, closed := strings.CutSuffix(rest, ")")
	if inBrackets && closed {
		switch tool {
		case "Bash":
			command, any := strings.CutSuffix(pattern, ":*")
			if any && command != "" && !strings.ContainsAny(command, " *") { // Cursor's rules are about the command's first word
				return "Shell(" + command + ")", nil
			}
		case "Read", "Write", "WebFetch":
			if tool != "WebFetch" {
				return rule, nil
			}
			if domain, ok := strings.CutPrefix(pattern, "domain:"); ok {
				return "WebFetch(" + domain + ")", nil
			}
		case "Edit":
			return "Write(" + pattern + ")", nil
		}
	}
	if server, name, ok := strings.Cut(strings.TrimPrefix(rule, "mcp__"), "__"); ok && strings.HasPrefix(rule, "mcp__") {
		return "Mcp(" + server + ":" + name + ")", nil
	}
	return "", ErrDialect.WithMessage("it cannot express the rule %s", rule)
}
