package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/domain/tool"
)

// member is one name and value of a JSON object; schemas keep the order they are written in, which models read.
type member struct {
	name  string
	value json.RawMessage
}

var errNotObject = errors.New("not a JSON object")

// members takes an object apart.
func members(doc json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errNotObject, err)
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)} // the decoder gives nothing else there
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// assemble is members the other way.
func assemble(list []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(m.name)...), ':'), m.value...)
	}
	return append(out, '}')
}

func quoted(text string) json.RawMessage {
	doc, err := tool.Encode(text)
	if err != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	return doc
}

// confirming are the arguments by which a call is confirmed. A model never has what goes into them.
func confirming(name string) bool { return name == "confirm_token" || name == "typed_value" }

// shown returns a published schema without the arguments that confirm.
func shown(schema json.RawMessage) (json.RawMessage, error) {
	list, err := members(schema)
	if err != nil {
		return nil, err
	}
	for i, m := range list {
		if m.name != "properties" {
			continue
		}
		properties, err := members(m.value)
		if err != nil {
			return nil, err
		}
		list[i].value = assemble(slices.DeleteFunc(properties, func(p member) bool { return confirming(p.name) }))
	}
	return assemble(list), nil
}

// takesProject reports the arguments that name a project or a worktree by its path.
func takesProject(name string) bool {
	switch name {
	case "project_path", "projectPath", "worktree_path", "path":
		return true
	}
	return false
}

// withDefault returns a schema whose path arguments default to a project's path.
func withDefault(schema json.RawMessage, projectPath string) json.RawMessage {
	return eachPath(schema, func(argument []member) []member {
		argument = slices.DeleteFunc(argument, func(m member) bool { return m.name == "default" })
		return append(argument, member{"default", quoted(projectPath)})
	})
}

// inWords returns a schema whose path arguments name a project's path in their description, for a provider without defaults.
func inWords(schema json.RawMessage, projectPath string) json.RawMessage {
	return eachPath(schema, func(argument []member) []member {
		said := "default: " + projectPath
		i := slices.IndexFunc(argument, func(m member) bool { return m.name == "description" })
		if i < 0 {
			return append(argument, member{"description", quoted(said)})
		}
		var text string
		if json.Unmarshal(argument[i].value, &text) == nil {
			argument[i].value = quoted(text + " (" + said + ")")
		}
		return argument
	})
}

// eachPath changes the schemas of path arguments. A schema that cannot be read stays as it is; New has read every one.
func eachPath(schema json.RawMessage, change func([]member) []member) json.RawMessage {
	list, err := members(schema)
	if err != nil {
		return schema
	}
	for i, m := range list {
		if m.name != "properties" {
			continue
		}
		properties, err := members(m.value)
		if err != nil {
			return schema
		}
		for j, p := range properties {
			if argument, err := members(p.value); err == nil && takesProject(p.name) {
				properties[j].value = assemble(change(argument))
			}
		}
		list[i].value = assemble(properties)
	}
	return assemble(list)
}
