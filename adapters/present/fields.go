package present

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Field is a member of an object.
type Field struct {
	Name  string
	Value any // nil, bool, json.Number, string, []any or []Field
}

// Parse reads a document: its value is as those of Field are.
func Parse(doc json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return value(d)
}

func value(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		items := []any{}
		for d.More() {
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
		}
		_, err = d.Token()
		return items, err
	case json.Delim('{'):
		fields := []Field{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			word, _ := name.(string)
			fields = append(fields, Field{word, v})
		}
		_, err = d.Token()
		return fields, err
	}
	return t, nil
}

// Member returns an object's member of that name, or nil.
func Member(fields []Field, name string) any {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Text returns an object's member of that name where it is a text, and empty otherwise.
func Text(fields []Field, name string) string {
	s, _ := Member(fields, name).(string)
	return s
}

// FindingOf returns what an object of a plan's findings says, and what it says it of: of a command its message and the fragment; of a module's file the rule,
// where it stands, and the text there.
func FindingOf(finding []Field) (what, of string) {
	if what = Text(finding, "message"); what != "" {
		return what, Text(finding, "fragment")
	}
	at := strings.TrimSpace(Text(finding, "module_id") + " " + Text(finding, "path"))
	if line := Member(finding, "line"); line != nil {
		at += fmt.Sprintf(":%v", line)
	}
	what = strings.TrimSpace(Text(finding, "severity") + " " + strings.ReplaceAll(Text(finding, "rule"), "_", " "))
	if at != "" {
		what += " in " + at
	}
	return what, Text(finding, "text")
}

// CommandLine returns an argument vector as one would type it into a shell.
func CommandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, special) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func special(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
}
