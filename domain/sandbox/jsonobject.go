package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

var errNoObject = errors.New("not a JSON object")

// Object is a JSON object. The zero Object is {}.
type Object struct{ members []member }

type member struct {
	key   string
	value json.RawMessage
}

// ParseObject parses exactly one object. If a key occurs twice, the last value counts, in the place of the first.
func ParseObject(text []byte) (*Object, error) {
	o := &Object{}
	return o, o.UnmarshalJSON(text)
}

// UnmarshalJSON sets o to the object in text; it fails for null.
func (o *Object) UnmarshalJSON(text []byte) error {
	if !json.Valid(text) {
		return errNoObject
	}
	return o.scan(bytes.Clone(text))
}

// scan finds the members of valid JSON. It only looks for the ends of values, because every level of a document is scanned again.
func (o *Object) scan(text []byte) error {
	o.members = nil
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		return errNoObject
	}
	places := map[string]int{}
	for at := past(text, 1); text[at] != '}'; {
		end := after(text, at)
		key, err := unquote(text[at:end])
		if err != nil {
			return err
		}
		at = past(text, past(text, end)+1) // over the colon
		end = after(text, at)
		value := json.RawMessage(text[at:end:end])
		if i, twice := places[key]; twice {
			o.members[i].value = value
		} else {
			places[key] = len(o.members)
			o.members = append(o.members, member{key, value})
		}
		if at = past(text, end); text[at] == ',' {
			at = past(text, at+1)
		}
	}
	return nil
}

// past returns the end of the blanks at i.
func past(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r' {
		i++
	}
	return i
}

// after returns the end of the value that begins at i.
func after(text []byte, i int) int {
	depth := 0
	for ; ; i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 { // a number or a word
				for i < len(text) && !ends(text[i]) {
					i++
				}
				return i
			}
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// ends reports whether a number or a word can end before the character.
func ends(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

func unquote(text []byte) (key string, err error) {
	if !bytes.ContainsRune(text, '\\') && utf8.Valid(text) {
		return string(text[1 : len(text)-1]), nil
	}
	return key, json.Unmarshal(text, &key)
}

// MarshalJSON returns the object, compact.
func (o *Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := EncodeJSON(m.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Text returns the object in the form of files: indented by two blanks, with a final newline.
func (o *Object) Text() ([]byte, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// EncodeJSON returns v as JSON in which <, > and & are not escaped.
func EncodeJSON(v any) (json.RawMessage, error) {
	if o, ok := v.(*Object); ok {
		return o.MarshalJSON()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Keys returns the members' names in their order.
func (o *Object) Keys() []string {
	keys := make([]string, len(o.members))
	for i, m := range o.members {
		keys[i] = m.key
	}
	return keys
}

// Has reports whether the member exists, including null.
func (o *Object) Has(key string) bool { return o.index(key) >= 0 }

// Raw returns the member's value, nil if there is none.
func (o *Object) Raw(key string) json.RawMessage {
	if i := o.index(key); i >= 0 {
		return o.members[i].value
	}
	return nil
}

// IsNull reports whether the member is missing or null.
func (o *Object) IsNull(key string) bool {
	value := o.Raw(key)
	return value == nil || string(value) == "null"
}

// Read decodes the member into v, which is unchanged if the member is missing or null.
func (o *Object) Read(key string, v any) error {
	value := o.Raw(key)
	if o.IsNull(key) {
		return nil
	}
	if s, ok := v.(*string); ok && value[0] == '"' { // most members
		text, err := unquote(value)
		if err == nil {
			*s = text
		}
		return err
	}
	return json.Unmarshal(value, v)
}

// Child returns the member as an object, empty if it is missing or null. It is a copy: Put stores it back.
func (o *Object) Child(key string) (*Object, error) {
	child := &Object{}
	if o.IsNull(key) {
		return child, nil
	}
	return child, child.scan(o.Raw(key))
}

// Put sets the member, in its place or at the end.
func (o *Object) Put(key string, v any) error {
	value, err := EncodeJSON(v)
	if err == nil {
		o.put(key, value)
	}
	return err
}

func (o *Object) put(key string, value json.RawMessage) {
	if i := o.index(key); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = append(o.members, member{key, value})
}

// Rename renames the member in its place. It removes another member with the new name.
func (o *Object) Rename(from, to string) {
	if from != to && o.Has(from) {
		o.Delete(to)
		o.members[o.index(from)].key = to
	}
}

// Delete removes the member, if it exists.
func (o *Object) Delete(key string) {
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return m.key == key })
}

func (o *Object) index(key string) int {
	return slices.IndexFunc(o.members, func(m member) bool { return m.key == key })
}
