package confirm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of Differences: the number of differences, the bytes of a text, and the bytes of any larger value that was added or removed.
const (
	MaxDifferences = 50
	MaxDifference  = 400
	MaxPart        = 1024
)

// Difference is one difference between two JSON documents. A missing side is omitted.
type Difference struct {
	Path   string          `json:"path"` // "$.steps[2].command"
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Differences returns the differences between the documents, sorted by name, at most MaxDifferences. A long value is replaced by a string with its
// beginning. Input that is not JSON is compared as a whole.
func Differences(before, after json.RawMessage) []Difference {
	b, bErr := decoded(before)
	a, aErr := decoded(after)
	var c comparison
	switch {
	case bErr == nil && aErr == nil:
		c.compare("$", b, a)
	case !bytes.Equal(before, after):
		c.note("$", string(before), string(after))
	}
	return c.found
}

// decoded returns the decoded document, with numbers as they are written.
func decoded(doc json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if err = dec.Decode(&v); err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = fmt.Errorf("unexpected text after the document")
		}
	}
	return v, err
}

type comparison struct{ found []Difference }

// absent marks a path that one document does not have; null is a value.
type absent struct{}

func (c *comparison) compare(path string, before, after any) {
	if len(c.found) >= MaxDifferences {
		return
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			c.objects(path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			c.lists(path, b, a)
			return
		}
	default:
		if before == after {
			return
		}
	}
	c.note(path, before, after)
}

func (c *comparison) objects(path string, before, after map[string]any) {
	names := map[string]bool{}
	for _, side := range []map[string]any{before, after} {
		for name := range side {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.compare(path+member(name), side(before, name), side(after, name))
	}
}

func side(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return absent{}
}

func (c *comparison) lists(path string, before, after []any) {
	for i := range max(len(before), len(after)) {
		c.compare(fmt.Sprintf("%s[%d]", path, i), item(before, i), item(after, i))
	}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func (c *comparison) note(path string, before, after any) {
	if len(c.found) < MaxDifferences {
		c.found = append(c.found, Difference{Path: shortened(path), Before: shown(before), After: shown(after)})
	}
}

// member returns the path step to a member of an object: .name, or ["name"] if the name needs quoting.
func member(name string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return "." + name
	}
	return "[" + string(encode(name)) + "]"
}

// shown returns the value as JSON, or a string with its beginning.
func shown(v any) json.RawMessage {
	switch v := v.(type) {
	case absent:
		return nil
	case string:
		return encode(shortened(v))
	}
	doc := encode(v)
	if len(doc) > MaxPart {
		return encode(shortened(string(doc)))
	}
	return doc
}

// shortened returns s, cut to at most MaxDifference bytes.
func shortened(s string) string {
	const more = "…"
	if len(s) <= MaxDifference {
		return s
	}
	n := MaxDifference - len(more)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}

// encode returns compact JSON without HTML escapes. A value decoded from JSON can always be encoded.
func encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
