package yamlcodec

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"go.yaml.in/yaml/v4"
)

// ErrEncode reports a value that has no YAML form, such as text that is not UTF-8.
var ErrEncode = fault.New(fault.Invalid, "yaml_not_encodable", "the value cannot be written as YAML")

// Encode writes v as one YAML document in the layout that serde_yaml writes: block style with two spaces, lists level with their
// key, [] for empty ones, null written out, no line folding. Decode reads back what was written.
//
// A string stands plain when YAML 1.2 would read it back as text (so yes and 012x stay bare), in single quotes when it would not ('123',
// 'null'), and as a literal block when it has several lines. It stands in double quotes when a block could change it: control
// characters, tabs, space at the end of a line or before the first, line breaks at either end. So it does when one of its lines, trimmed, is
// --- or ..., because readers of front matter take an indented delimiter for the real one.
func Encode(v any) ([]byte, error) {
	var n yaml.Node
	if err := n.Dump(v); err != nil {
		return nil, ErrEncode.WithMessage("the value cannot be written as YAML: %v", err)
	}
	if err := setStyles(&n); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	d, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithIndent(2), yaml.WithCompactSeqIndent(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, ErrEncode.WithCause(err)
	}
	if err := d.Dump(&n); err != nil {
		return nil, ErrEncode.WithCause(err)
	}
	if err := d.Close(); err != nil {
		return nil, ErrEncode.WithCause(err)
	}
	return out.Bytes(), nil
}

// setStyles chooses the style of every string below n.
func setStyles(n *yaml.Node) error {
	for _, child := range n.Content {
		if err := setStyles(child); err != nil {
			return err
		}
	}
	switch {
	case n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode:
		n.Style = 0
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!binary":
		return ErrEncode.WithMessage("text is not valid UTF-8 and would be stored as !!binary")
	case n.Kind == yaml.ScalarNode && n.ShortTag() == textTag:
		n.Style = styleOf(n.Value)
		if n.Style == 0 {
			n.Tag = "" // or the library would quote what only YAML 1.1 takes for a date or a number
		}
	}
	return nil
}

func styleOf(s string) yaml.Style {
	switch {
	case !printable(s):
		return yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		if blockSafe(s) {
			return yaml.LiteralStyle
		}
		return yaml.DoubleQuotedStyle
	case mistakable(s):
		return yaml.SingleQuotedStyle
	}
	return 0 // plain where the syntax allows it, else quoted by the library
}

// printable reports text without control characters, tabs and exotic line breaks, which only an escape keeps.
func printable(s string) bool {
	for _, r := range s {
		switch {
		case r == '\n':
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xfffe && r <= 0xffff:
			return false
		}
	}
	return true
}

func blockSafe(s string) bool {
	if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasSuffix(line, " ") {
			return false
		}
		if bare := strings.TrimSpace(line); bare == "---" || bare == "..." {
			return false
		}
	}
	return true
}

// mistakable reports a string that a YAML 1.2 reader would take for something else when it stood plain.
func mistakable(s string) bool {
	switch s {
	case "", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE",
		".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "<<":
		return true
	}
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" {
		return false
	}
	switch digits {
	case ".inf", ".Inf", ".INF":
		return true
	}
	if digits[0] != '.' && (digits[0] < '0' || digits[0] > '9') || strings.ContainsAny(digits, "_pP") {
		return false
	}
	if _, err := strconv.ParseUint(digits, 0, 64); err == nil {
		return true
	}
	_, err := strconv.ParseFloat(digits, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// Timestamp is a time that is written unquoted as RFC 3339 in UTC with 0, 3, 6 or 9 fraction digits, the fewest that lose nothing.
// It reads a quoted or plain one, with any offset, and with a space for the T; a time without an offset is a problem.
type Timestamp struct{ time.Time }

// String returns the form that is written.
func (t Timestamp) String() string {
	s := t.UTC().Format("2006-01-02T15:04:05.999999999")
	if _, fraction, ok := strings.Cut(s, "."); ok {
		s += "00"[:(9-len(fraction))%3]
	}
	return s + "Z"
}

// MarshalYAML is for the library. RFC 3339 has four digits for the year.
func (t Timestamp) MarshalYAML() (any, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("the year %d cannot be written", y)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: t.String()}, nil
}

// UnmarshalYAML is for the library.
func (t *Timestamp) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode {
		for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00"} {
			if at, err := time.Parse(layout, strings.ToUpper(n.Value)); err == nil {
				t.Time = at.UTC()
				return nil
			}
		}
	}
	return fmt.Errorf("%q is not an RFC 3339 time with an offset", clip(n.Value)) // the library adds the position
}
