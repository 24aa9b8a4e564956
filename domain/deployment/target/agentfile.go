package target

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// restricting returns the fields of an agent that restrict it, each in the form of one host. Without them the agent could do more, so it is not
// written for a host that cannot express them.
func restricting() []string {
	return []string{"tools", "disallowedTools", "permissionMode", "readonly"}
}

// agentHeader returns the frontmatter of an agent for the line's host: its name and description, the table's fields for every agent there, and the
// module's fields for that host under its name. left are the fields that the host does not get. It fails with ErrDialect if the agent could do more
// there than the module allows.
func (r *renderer) agentHeader(l *line, m Module, doc []byte) (head string, fields []string, err error) {
	all, _, err := r.in.Frontmatter(doc)
	if err != nil {
		return "", nil, err
	}
	own, _ := all[l.Agent].(map[string]any)
	var left []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, is := FindAgent(name)
		if _, said := own[name]; said || is || name == "name" || name == "description" {
			continue
		}
		if slices.Contains(restricting(), name) {
			return "", nil, ErrDialect.WithMessage("it is restricted by %s in the format of another host; add the restrictions for this host under %s: in the frontmatter", name, l.Agent)
		}
		left = append(left, name)
	}
	var b strings.Builder
	b.WriteString("---\n")
	put := func(name string, value any) error {
		text, err := EncodeValue(value)
		b.WriteString(name + ": " + string(text) + "\n")
		return err
	}
	for _, name := range []string{"name", "description"} {
		if err := put(name, all[name]); err != nil {
			return "", nil, err
		}
	}
	if name, value, ok := strings.Cut(l.Style, "="); ok && own[name] == nil {
		b.WriteString(name + ": " + value + "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if err := put(name, own[name]); err != nil {
			return "", nil, err
		}
	}
	return b.String() + "---\n\n", left, nil
}

// agent returns a module's agent for the line's host. false: the host does not get it, and a warning says why.
func (r *renderer) agent(l *line, m Module, doc []byte) ([]byte, bool, error) {
	head, left, err := r.agentHeader(l, m, doc)
	if err != nil {
		if isDialect(err) {
			r.warn("target " + l.Agent + " does not get the agent of module " + m.ID + ": " + err.Error())
			return nil, false, nil
		}
		return nil, false, unusable(l.Agent, m, m.Tree[0].Path, err)
	}
	if len(left) > 0 {
		r.warn("target " + l.Agent + " gets the agent of module " + m.ID + " without " + strings.Join(left, ", ") + ", which is the format of another host; add the restrictions for this host under " + l.Agent + ": in the frontmatter")
	}
	_, body := split(string(doc))
	if l.Shape == ShapeAgentTOML {
		about, _, _ := r.in.Frontmatter(doc)
		name, _ := about["name"].(string)
		text, _ := about["description"].(string)
		return []byte("name = " + basic(name) + "\ndescription = " + basic(text) + "\ndeveloper_instructions = " + multiline(body) + "\n"), true, nil
	}
	return WrapHeader(head, []byte(body)), true, nil
}

// agentBack returns the module's agent from a host's; false if something other than its text was changed.
func (r *renderer) agentBack(o origin, actual []byte) ([]byte, bool) {
	was, ok, err := r.agent(&o.line, o.module, o.data)
	if err != nil || !ok {
		return nil, false
	}
	head, body := split(string(o.data))
	text := ""
	if o.line.Shape == ShapeAgentTOML {
		before, err := parse(string(was))
		after, err2 := parse(string(actual))
		if err != nil || err2 != nil || len(after) != len(before) || after["name"] != before["name"] || after["description"] != before["description"] {
			return nil, false
		}
		text = after["developer_instructions"]
	} else {
		generated, _ := split(string(was))
		unwrapped, ok := UnwrapHeader(generated, []byte(body), actual)
		if !ok {
			return nil, false
		}
		text = string(unwrapped)
	}
	if again, read := split(head + text); again != head || read != text {
		return nil, false
	}
	return []byte(head + text), true
}

// plural returns what a type of module holds, for messages.
func plural(of deployment.ModuleType) string {
	switch of {
	case deployment.ModuleAgent:
		return "agents"
	case deployment.ModuleHooks:
		return "hooks"
	case deployment.ModulePermissions:
		return "permissions"
	case deployment.ModuleStyle:
		return "output styles"
	case deployment.ModuleMCP:
		return "MCP servers"
	}
	return string(of)
}
