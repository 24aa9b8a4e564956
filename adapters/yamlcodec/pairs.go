package yamlcodec

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Pairs are a mapping whose keys keep their order.
type Pairs []Pair

// Pair is a key and its value.
type Pair struct {
	Key   string
	Value any
}

// MarshalYAML is for the library.
func (p Pairs) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, pair := range p {
		var key, value yaml.Node
		if err := key.Dump(pair.Key); err != nil {
			return nil, err
		}
		if err := value.Dump(pair.Value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &key, &value)
	}
	return n, nil
}

// encodeBlock writes v in block style, lists two further in than their key, but lists of scalars in one line: [a, b]. What is outermost
// is a block in any case. Scalars are written as Encode writes them. Errors are those of Encode.
func encodeBlock(v any) (string, error) {
	return dumped(v, func(n *yaml.Node) {
		if n.Kind == yaml.SequenceNode && scalars(n) {
			n.Style = yaml.FlowStyle
		}
	}, true)
}

func scalars(n *yaml.Node) bool {
	for _, child := range n.Content {
		if child.Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}

// encodeFlow writes v in one line without a line break at its end, with double quotes around every text when quoted is set, as JSON is
// written. Errors are those of Encode.
func encodeFlow(v any, quoted bool) (string, error) {
	out, err := dumped(v, func(n *yaml.Node) {
		switch {
		case n.Kind != yaml.ScalarNode:
			n.Style = yaml.FlowStyle
		case n.Style&yaml.LiteralStyle != 0, quoted && (n.Tag == "" || n.ShortTag() == textTag):
			n.Style, n.Tag = yaml.DoubleQuotedStyle, textTag
		}
	}, false)
	return strings.TrimSuffix(out, "\n"), err
}

// dumped is v as YAML, each node's style chosen as Encode does and then by style. The outermost list of a block stays a block.
func dumped(v any, style func(*yaml.Node), block bool) (string, error) {
	var n yaml.Node
	if err := n.Dump(v); err != nil {
		return "", ErrEncode.WithMessage("the value cannot be written as YAML: %v", err)
	}
	if err := setStyles(&n); err != nil {
		return "", err
	}
	restyle(&n, style)
	if block {
		n.Style = 0
	}
	var out bytes.Buffer
	d, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithIndent(2), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err != nil {
		return "", ErrEncode.WithCause(err)
	}
	if err := d.Dump(&n); err != nil {
		return "", ErrEncode.WithCause(err)
	}
	if err := d.Close(); err != nil {
		return "", ErrEncode.WithCause(err)
	}
	return out.String(), nil
}

func restyle(n *yaml.Node, style func(*yaml.Node)) {
	style(n)
	for _, child := range n.Content {
		restyle(child, style)
	}
}
