package target

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// effect is a permission in the terms of opencode: what happens when a tool is to be used on something that matches the pattern.
type effect struct{ tool, pattern, effect string }

// opencodePermission returns the keys of permissions for opencode: in its older documents a member of the object of each tool, in newer ones one
// object each in a list. It fails with ErrDialect for a rule that opencode cannot express, if a weaker rule would allow more.
func (l line) opencodePermission(m Module, object Object) (out []deployment.Key, err error) {
	for _, list := range []string{"allow", "ask", "deny"} {
		rules, _ := object[list].([]any)
		for _, rule := range rules {
			text, _ := rule.(string)
			said, err := opencodeRule(text, list)
			if err != nil {
				return nil, err
			}
			for _, e := range said {
				k := deployment.Key{Path: append(slices.Clone(l.At), e.tool, e.pattern), Value: json.RawMessage(quote(e.effect)), Module: m.ID}
				switch whole := e.tool == "webfetch" || e.tool == "websearch"; { // older documents have no patterns for it
				case whole && !l.Newest && e.pattern != "*":
					return nil, ErrDialect.WithMessage("it cannot express the rule %s: there, %s is allowed or denied as a whole", text, e.tool)
				case whole && !l.Newest:
					k.Path = k.Path[:len(k.Path)-1]
				}
				if l.Newest {
					if e.tool == "bash" {
						e.tool = "shell"
					}
					k.Path, k.Item = l.At, true
					if k.Value, err = EncodeValue(map[string]any{"action": e.tool, "resource": e.pattern, "effect": e.effect}); err != nil {
						return nil, err
					}
				}
				if !slices.ContainsFunc(out, k.Same) {
					out = append(out, k)
				}
			}
		}
	}
	slices.SortFunc(out, byKey)
	return out, nil
}

// effectOf returns the permission that a key expresses.
func effectOf(k deployment.Key) (e effect) {
	if k.Item {
		var o struct{ Action, Resource, Effect string }
		if json.Unmarshal(k.Value, &o) == nil {
			e = effect{o.Action, o.Resource, o.Effect}
		}
		return e
	}
	if e.tool, e.pattern = k.Path[1], "*"; len(k.Path) > 2 {
		e.pattern = k.Path[2]
	}
	_ = json.Unmarshal(k.Value, &e.effect) // it was written as a text
	return e
}

// apart fails with ErrDialect if two permissions of one document contradict each other for something: in Claude Code deny wins, in opencode the last
// rule does, and the order of rules beside a user's own is not defined.
func (r *renderer) apart(path string, keys []deployment.Key) error {
	var all []effect
	for _, k := range keys {
		all = append(all, effectOf(k))
	}
	for i, a := range all {
		for _, b := range slices.Concat(r.ruling[path], all[:i]) {
			if a.effect != b.effect && overlap(a.tool, b.tool) && overlap(a.pattern, b.pattern) {
				return ErrDialect.WithMessage("%s %s %s and %s %s %s, but there the last matching rule applies, not the strictest; write rules that do not overlap", a.effect, a.tool, a.pattern, b.effect, b.tool, b.pattern)
			}
		}
	}
	if r.ruling == nil {
		r.ruling = map[string][]effect{}
	}
	r.ruling[path] = append(r.ruling[path], all...)
	return nil
}

// overlap reports whether two patterns, in which * is any text, may match the same text; true if that is hard to tell. A command followed by " *"
// also matches without arguments.
func overlap(a, b string) bool {
	if bare, ok := strings.CutSuffix(a, " *"); ok && !strings.Contains(bare, "*") && overlap(bare, b) {
		return true
	}
	if bare, ok := strings.CutSuffix(b, " *"); ok && !strings.Contains(bare, "*") && !strings.HasSuffix(a, " *") && overlap(a, bare) {
		return true
	}
	beforeA, restA, openA := strings.Cut(a, "*")
	beforeB, restB, openB := strings.Cut(b, "*")
	if !openA && !openB {
		return a == b
	}
	afterA, afterB := restA[strings.LastIndexByte(restA, '*')+1:], restB[strings.LastIndexByte(restB, '*')+1:]
	begins := func(long, short string) bool { return strings.HasPrefix(long, short) }
	ends := func(long, short string) bool { return strings.HasSuffix(long, short) }
	switch {
	case !openA:
		return begins(a, beforeB) && ends(a, afterB)
	case !openB:
		return begins(b, beforeA) && ends(b, afterA)
	}
	return (begins(beforeA, beforeB) || begins(beforeB, beforeA)) && (ends(afterA, afterB) || ends(afterB, afterA))
}

// opencodeRule translates a rule of Claude Code to opencode. The result never allows more, and never denies or asks about less. It fails with
// ErrDialect if that cannot be expressed.
func opencodeRule(rule, list string) ([]effect, error) {
	bad := ErrDialect.WithMessage("it cannot express %s the rule %s", list+"ing", rule)
	tool, rest, inBrackets := strings.Cut(rule, "(")
	pattern, closed := strings.CutSuffix(rest, ")")
	if inBrackets != closed || inBrackets && pattern == "" {
		return nil, bad
	}
	names := map[string]string{"Bash": "bash", "Read": "read", "Edit": "edit", "Write": "edit", "WebFetch": "webfetch", "WebSearch": "websearch"}
	name := names[tool]
	allows := list == "allow"
	switch {
	case strings.HasPrefix(rule, "mcp__"):
		server, of, one := strings.Cut(strings.TrimPrefix(rule, "mcp__"), "__")
		switch {
		case inBrackets || server == "" || strings.ContainsAny(rule, "*? "), one && of == "":
			return nil, bad
		case one:
			return []effect{{server + "_" + of, "*", list}}, nil
		case allows: // names of other servers may begin alike
			return nil, bad
		}
		return []effect{{server + "_*", "*", list}}, nil
	case name == "", tool == "Write" && allows: // there, writing is editing
		return nil, bad
	case !inBrackets:
		return []effect{{name, "*", list}}, nil
	}
	var patterns []string
	switch tool {
	case "Bash":
		patterns = opencodeCommand(pattern, allows)
	case "WebFetch":
		domain, ok := strings.CutPrefix(pattern, "domain:")
		if ok && domain != "" && !strings.ContainsAny(domain, "*?/ ") {
			patterns = []string{"*" + domain + "*"}
			if allows {
				patterns = []string{"https://" + domain + "/*"}
			}
		}
	case "Read", "Edit", "Write":
		patterns = opencodePaths(pattern, allows)
	}
	if len(patterns) == 0 {
		return nil, bad
	}
	var out []effect
	for _, p := range patterns {
		out = append(out, effect{name, p, list})
	}
	return out, nil
}

// opencodeCommand returns a command's pattern: for a deny rule, the beginning that Claude Code matches may be the beginning of any word.
func opencodeCommand(pattern string, allows bool) []string {
	if pattern == "*" {
		return []string{"*"}
	}
	command, open := strings.CutSuffix(pattern, ":*")
	if !open {
		command, open = strings.CutSuffix(pattern, " *")
	}
	switch {
	case command == "" || strings.ContainsAny(command, "*?&|;<>$`\n"):
		return nil
	case !open:
		return []string{command}
	case allows:
		return []string{command + " *"}
	}
	return []string{command + "*"}
}

// opencodePaths returns the patterns for a path of Claude Code's, which is written as in a .gitignore; here * also matches slashes.
func opencodePaths(path string, allows bool) []string {
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || strings.ContainsAny(path, "?[]{}!\\") {
		return nil
	}
	below := strings.TrimPrefix(path, "./")
	if dir, ok := strings.CutSuffix(below, "/"); ok {
		below = dir + "/**"
	}
	everything, tree := below == "**" || below == "*" && !allows, false
	if dir, ok := strings.CutSuffix(below, "/**"); ok {
		below, tree = dir, true
	}
	switch {
	case below == "" || strings.Contains("/"+below+"/", "/../"):
		return nil
	case everything:
		return []string{"*"}
	case allows && strings.Contains(below, "*"):
		return nil
	case allows && tree:
		return []string{below + "/*"}
	case allows:
		return []string{below}
	}
	below = strings.TrimPrefix(below, "**/")
	anywhere := strings.HasPrefix(path, "**/") || !strings.Contains(strings.TrimSuffix(path, "/"), "/")
	ways := []string{below}
	if strings.Contains(below, "/**/") {
		ways = append(ways, strings.ReplaceAll(below, "/**/", "/"))
	}
	var out []string
	for _, way := range ways {
		way = strings.ReplaceAll(way, "**", "*")
		for _, from := range []string{"", "*/"} {
			if from == "" || anywhere {
				if !tree {
					out = append(out, from+way)
				}
				out = append(out, from+way+"/*")
			}
		}
	}
	return out
}
