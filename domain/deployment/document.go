package deployment

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// documents returns the JSON files of a module, each an object, by name: the file's name without directory and suffix. At least one is required, and
// names must be unique.
func (c check) documents(visit func(file File, object map[string]json.RawMessage) error) error {
	seen := map[string]string{}
	for _, f := range c.tree {
		name, ok := strings.CutSuffix(path.Base(f.Path), ".json")
		if !ok {
			continue
		}
		if !component(name) {
			return c.refuse(f.Path+" has no name", "rename the file to <name>.json", c.details(f.Path).Add("expected", "<name>.json"))
		}
		if other, twice := seen[name]; twice {
			return c.refuse(other+" and "+f.Path+" have the same name", "rename one of them", c.details(f.Path).Add("error", "duplicate name "+name))
		}
		seen[name] = f.Path
		object, err := c.object(f)
		if err != nil {
			return err
		}
		if err := visit(f, object); err != nil {
			return err
		}
	}
	if len(seen) == 0 {
		return c.refuse("it has no .json file", "add a .json file named after what it configures", c.details("").Add("missing", []string{"<name>.json"}))
	}
	return nil
}

// object returns a file's JSON object.
func (c check) object(f File) (map[string]json.RawMessage, error) {
	data, err := c.read(f.Content)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		details := c.details(f.Path).Add("expected", "object")
		if err != nil {
			details.Add("error", err.Error())
		}
		return nil, c.refuse(f.Path+" is not a JSON object", "write a JSON object without comments", details)
	}
	return object, nil
}

// settings checks fragments of agents' settings, one file per agent.
func (c check) settings() error {
	return c.documents(func(f File, _ map[string]json.RawMessage) error {
		if strings.Contains(f.Path, "/") {
			return c.refuse(f.Path+" is in a subdirectory, where agents do not read it", "move it to the module's root", c.details(f.Path).Add("expected", "<target>.json"))
		}
		return nil
	})
}

// servers checks MCP servers, one per file: each has either a command that starts it or a url.
func (c check) servers() error {
	return c.documents(func(f File, object map[string]json.RawMessage) error {
		var ways []string
		for _, way := range []string{"command", "url"} {
			value, ok := object[way]
			if !ok {
				continue
			}
			ways = append(ways, way)
			var text string
			if json.Unmarshal(value, &text) != nil || strings.TrimSpace(text) == "" {
				return c.refuse(way+" in "+f.Path+" is blank or not text", "write it as text; put arguments in args", c.details(f.Path).Add("field", way).Add("expected", "string"))
			}
		}
		if len(ways) == 1 {
			return nil
		}
		details := c.details(f.Path).Add("expected", "exactly one of command and url")
		if len(ways) == 0 {
			return c.refuse(f.Path+" has neither command nor url", "state how to start or reach the server", details.Add("missing", []string{"command", "url"}))
		}
		return c.refuse(f.Path+" has both command and url", "keep one of them", details.Add("field", "command"))
	})
}

// hooks checks hooks, one per file: each has an event and a command.
func (c check) hooks() error {
	return c.documents(func(f File, object map[string]json.RawMessage) error {
		text := map[string]string{}
		for _, name := range []string{"event", "command"} {
			var value string
			if json.Unmarshal(object[name], &value) != nil || strings.TrimSpace(value) == "" {
				return c.refuse(f.Path+" has no "+name, "add the event that triggers it and the command that runs then", c.details(f.Path).Add("field", name).Add("missing", []string{name}))
			}
			text[name] = value
		}
		if !slices.Contains(HookEvents(), text["event"]) {
			return c.refuse("event in "+f.Path+" is "+text["event"]+", which is not an event", "write one of "+strings.Join(HookEvents(), ", "), c.details(f.Path).Add("field", "event").Add("allowed", HookEvents()))
		}
		for name := range object {
			if !slices.Contains([]string{"event", "command", "matcher", "matchers", "timeout"}, name) {
				return c.refuse(f.Path+" has the key "+name, "a hook has event, command, matcher, matchers and timeout", c.details(f.Path).Add("field", name))
			}
		}
		return nil
	})
}

// permissions checks permissions: lists of rules that allow, ask for or deny something.
func (c check) permissions() error {
	return c.documents(func(f File, object map[string]json.RawMessage) error {
		for name, value := range object {
			var rules []string
			switch {
			case name != "allow" && name != "ask" && name != "deny":
				return c.refuse(f.Path+" has the key "+name, "it may have allow, ask and deny", c.details(f.Path).Add("field", name))
			case json.Unmarshal(value, &rules) != nil || slices.Contains(rules, ""):
				return c.refuse(name+" in "+f.Path+" is not a list of rules", "write rules as text, like Bash(git status:*)", c.details(f.Path).Add("field", name).Add("expected", "list of strings"))
			}
		}
		return nil
	})
}

// Plugins names plugins of one marketplace; a module contains none of their code.
type Plugins struct {
	Marketplace string   `json:"marketplace"`      // its name
	Source      string   `json:"source,omitempty"` // owner/repo on GitHub, or the URL of a git repository; empty if the host knows the marketplace
	Ref         string   `json:"ref,omitempty"`    // branch, tag or commit of the source
	Plugins     []string `json:"plugins"`
}

// plugins checks plugins, one file per marketplace.
func (c check) plugins() error {
	return c.documents(func(f File, object map[string]json.RawMessage) error {
		for name := range object {
			if !slices.Contains([]string{"marketplace", "source", "ref", "plugins"}, name) {
				return c.refuse(f.Path+" has the key "+name, "allowed keys: marketplace, plugins, source and ref", c.details(f.Path).Add("field", name))
			}
		}
		var p Plugins
		text, err := json.Marshal(object)
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return c.refuse("the values in "+f.Path+" are invalid: "+err.Error(), "write plugins as a list of names, and the others as text", c.details(f.Path).Add("error", err.Error()))
		}
		for _, name := range append([]string{p.Marketplace}, p.Plugins...) {
			if name == "" || strings.ContainsFunc(name, func(r rune) bool {
				return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r))
			}) {
				return c.refuse(fmt.Sprintf("invalid marketplace or plugin name %q in %s", name, f.Path), "use only letters, digits, -, _ and .", c.details(f.Path).Add("field", "plugins"))
			}
		}
		switch {
		case len(p.Plugins) == 0:
			return c.refuse(f.Path+" names no plugins", "list them as plugins", c.details(f.Path).Add("field", "plugins").Add("missing", []string{"plugins"}))
		case p.Ref != "" && p.Source == "":
			return c.refuse(f.Path+" has a ref but no source", "add the location of the marketplace as source", c.details(f.Path).Add("field", "source").Add("missing", []string{"source"}))
		case strings.ContainsFunc(p.Source+p.Ref, func(r rune) bool { return r <= ' ' || r == 0x7f }) || strings.HasPrefix(p.Source, "-") || strings.HasPrefix(p.Ref, "-"):
			return c.refuse("the source or ref in "+f.Path+" is invalid", "write owner/repo or the URL of a git repository", c.details(f.Path).Add("field", "source"))
		}
		return nil
	})
}
