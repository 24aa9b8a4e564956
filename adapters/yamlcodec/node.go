package yamlcodec

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Kind is what a Node is.
type Kind uint8

// The kinds. The zero Kind is of a Node that is not there.
const (
	Missing Kind = iota
	Null
	Mapping
	List
	Text // dates are text, too
	Bool
	Number
)

// Node is one value of a parsed document, with its place. The zero Node is Missing. An alias is what it stands for, at the place where
// it stands; the merge key << is a key like any other.
type Node struct {
	at, n *yaml.Node
	shift int
}

// field is a key of a mapping and its value.
type field struct{ Key, Value Node }

// Parse reads the single YAML document in data as Decode does, with the same strictness, into nodes. KnownFields means nothing here. A document
// that is null is Missing.
func Parse(data []byte, o Options) (Node, error) {
	var root captured
	o.KnownFields = false
	if err := Decode(data, &root, o); err != nil {
		return Node{}, err
	}
	return Node{shift: o.shift()}.of(root.node), nil
}

// captured is decoded by keeping the node.
type captured struct{ node *yaml.Node }

// UnmarshalYAML is for the library.
func (c *captured) UnmarshalYAML(n *yaml.Node) error {
	c.node = n
	return nil
}

func (n Node) of(child *yaml.Node) Node {
	value := child
	for range maxAliases { // an alias of an alias
		if value == nil || value.Kind != yaml.AliasNode {
			break
		}
		value = value.Alias
	}
	return Node{child, value, n.shift}
}

// Kind returns what n is.
func (n Node) Kind() Kind {
	if n.n == nil {
		return Missing
	}
	switch n.n.Kind {
	case yaml.MappingNode:
		return Mapping
	case yaml.SequenceNode:
		return List
	}
	switch n.n.ShortTag() {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int", "!!float":
		return Number
	}
	return Text
}

// Given reports a value that is there and is not null.
func (n Node) Given() bool { return n.Kind() > Null }

// Line returns where n stands, from 1; 0 when it is Missing.
func (n Node) Line() int {
	if n.at == nil {
		return 0
	}
	return n.at.Line + n.shift
}

// Column returns where n stands in its line, in characters, from 1; 0 when it is Missing.
func (n Node) Column() int {
	if n.at == nil {
		return 0
	}
	return n.at.Column
}

// Text returns a scalar as it was written, without quotes and escapes. It is the value of a Text; of any other scalar it is what to repeat
// in a message.
func (n Node) Text() string {
	if n.n == nil {
		return ""
	}
	return n.n.Value
}

// form is how a value is written.
type form uint8

// The forms. A null that nobody wrote is Plain without text.
const (
	plain form = iota
	singleQuoted
	doubleQuoted
	literal // a scalar below | or >
	block   // a collection by indentation
	flow    // a collection in brackets, or one pair in a list in brackets
	alias
)

// Form returns how n is written.
func (n Node) Form() form {
	if n.at == nil {
		return plain
	}
	style, scalar := n.at.Style, n.at.Kind == yaml.ScalarNode
	switch {
	case n.at.Kind == yaml.AliasNode:
		return alias
	case style&yaml.FlowStyle != 0:
		return flow
	case !scalar:
		return block
	case style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return literal
	case style&yaml.DoubleQuotedStyle != 0:
		return doubleQuoted
	case style&yaml.SingleQuotedStyle != 0:
		return singleQuoted
	}
	return plain
}

// Anchor returns the name that stands at n after & or, for an alias, after *.
func (n Node) Anchor() string {
	switch {
	case n.at == nil:
		return ""
	case n.at.Kind == yaml.AliasNode:
		return n.at.Value
	}
	return n.at.Anchor
}

// Fields returns the keys and values of a mapping in the order of the document; none of anything else.
func (n Node) Fields() []field {
	if n.Kind() != Mapping {
		return nil
	}
	var out []field
	for pair := range slices.Chunk(n.n.Content, 2) {
		out = append(out, field{n.of(pair[0]), n.of(pair[1])})
	}
	return out
}

// Items returns the values of a list; none of anything else.
func (n Node) Items() []Node {
	if n.Kind() != List {
		return nil
	}
	var out []Node
	for _, item := range n.n.Content {
		out = append(out, n.of(item))
	}
	return out
}

// Load decodes n into what into points at, as Decode does. It fails with ErrInvalid.
func (n Node) Load(into any, o Options) error {
	if n.n == nil {
		return nil
	}
	o.FirstLine = n.shift + 1
	if err := n.n.Load(into, bounds(), yaml.WithKnownFields(o.KnownFields)); err != nil {
		return o.invalid(o.problemsOf(err)...)
	}
	return nil
}

// Problem is something wrong with n, at its place.
func (n Node) Problem(format string, args ...any) Problem {
	return Problem{max(n.Line(), 1), max(n.Column(), 1), fmt.Sprintf(format, args...)}
}

// Say is n in words for a message: what it is, and the beginning of it when it is a scalar.
func (n Node) Say() string {
	switch n.Kind() {
	case Missing:
		return "nothing"
	case Null:
		return "null"
	case Mapping:
		return "a mapping"
	case List:
		return "a list"
	case Text:
		return fmt.Sprintf("%q", clip(n.Text()))
	}
	return clip(strings.ToValidUTF8(n.Text(), ""))
}
