package webhook

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
)

// A syntax is how a variable's value is escaped in a body, so that it stays a value.
type syntax uint8

const (
	syntaxPlain syntax = iota
	syntaxJSON
	syntaxForm
	syntaxMarkup
)

// syntaxOf returns the syntax of bodies of that content type; without one a body is JSON.
func syntaxOf(contentType string) syntax {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case media == "" || media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json"):
		return syntaxJSON
	case media == "application/x-www-form-urlencoded":
		return syntaxForm
	case media == "text/html" || media == "application/xml" || media == "text/xml" || strings.HasSuffix(media, "+xml"):
		return syntaxMarkup
	}
	return syntaxPlain
}

// expandBody returns a template with its variables escaped for the body's syntax. It fails with project.ErrArgument if the result should be JSON but
// is not, or is longer than MaxRequest bytes.
func expandBody(template string, form syntax, variables map[string]string) (string, error) {
	switch form {
	case syntaxJSON:
		return expandJSON(template, variables, nil)
	case syntaxForm:
		return expand(template, variables, url.QueryEscape)
	case syntaxMarkup:
		return expand(template, variables, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace)
	}
	return expand(template, variables, func(s string) string { return s })
}

var errTooLong = project.ErrArgument.WithMessage("with its variables filled in, the request has more than %d bytes", MaxRequest)

// expand replaces every {{name}} that has a value by encode of it. Variables in values are not expanded.
func expand(template string, variables map[string]string, encode func(string) string) (string, error) {
	var b strings.Builder
	for template != "" {
		literal, name, rest := cut(template)
		b.WriteString(literal)
		if name != "" {
			if value, ok := variables[name]; ok {
				b.WriteString(encode(value))
			} else {
				b.WriteString("{{" + name + "}}")
			}
		}
		if b.Len() > MaxRequest {
			return "", errTooLong
		}
		template = rest
	}
	return b.String(), nil
}

// cut splits a template before and after its first {{name}}; name is empty when there is none.
func cut(template string) (literal, name, rest string) {
	for from := 0; ; {
		i := strings.Index(template[from:], "{{")
		if i < 0 {
			return template, "", ""
		}
		from += i
		end := strings.Index(template[from:], "}}")
		if end < 0 {
			return template, "", ""
		}
		if name := template[from+2 : from+end]; identifier(name) {
			return template[:from], name, template[from+end+2:]
		}
		from++
	}
}

// identifier reports whether s can name a variable.
func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'; !letter && (i == 0 || c != '-' && c != '.' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// standIn replaces variables outside strings when a template is checked by itself.
func standIn(string) string { return "0" }

// expandJSON is expand for a JSON document. Within a string a value is escaped; elsewhere it becomes a value of its own: a number, true, false or
// null unchanged, everything else a string. So no value ends the string it is in, adds a member, or changes the document's structure. unknown, if not
// empty, replaces variables without a value outside strings; otherwise they are unchanged, and the result is not JSON. Two members with one name are
// rejected as well: a variable in a name could hide another member.
func expandJSON(template string, variables map[string]string, unknown func(string) string) (string, error) {
	var b strings.Builder
	var at jsonPlace
	for rest := template; rest != ""; {
		literal, name, after := cut(rest)
		b.WriteString(literal)
		at.pass(literal)
		value, known := variables[name]
		switch {
		case name == "":
		case at.escaped:
			return "", project.ErrArgument.WithMessage("in the payload, variable %s comes directly after a backslash", name)
		case known && at.inString:
			text := quoted(value)
			b.WriteString(text[1 : len(text)-1])
		case known && scalar(value):
			b.WriteString(value)
		case known:
			b.WriteString(quoted(value))
		case unknown != nil && !at.inString:
			b.WriteString(unknown(name))
		default:
			b.WriteString("{{" + name + "}}")
		}
		if b.Len() > MaxRequest {
			return "", errTooLong
		}
		rest = after
	}
	return b.String(), checkJSON(b.String())
}

// jsonPlace is a reader's position in a JSON document, as far as strings are concerned.
type jsonPlace struct{ inString, escaped bool }

func (p *jsonPlace) pass(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case p.escaped:
			p.escaped = false
		case p.inString && c == '\\':
			p.escaped = true
		case c == '"':
			p.inString = !p.inString
		}
	}
}

// quoted returns s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func quoted(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)         // the body is no HTML, and users read it
	_ = encoder.Encode(s)                // a string always encodes
	return strings.TrimSpace(b.String()) // the encoder ends the line
}

// scalar reports whether s is a JSON number, true, false or null, and nothing around it.
func scalar(s string) bool {
	return !strings.ContainsAny(s, "\"{[ \t\r\n") && json.Valid([]byte(s))
}

// checkJSON rejects everything except a single JSON document, and objects with two members of one name.
func checkJSON(doc string) error {
	if err := json.Unmarshal([]byte(doc), new(json.RawMessage)); err != nil {
		return project.ErrArgument.WithMessage("the payload is not valid JSON (%v); outside strings, every variable needs a value", err)
	}
	if name, twice := repeatedName(doc); twice {
		return project.ErrArgument.WithMessage("the payload has two members named %q in one object", name)
	}
	return nil
}

// repeatedName returns a name that an object of a valid document has twice.
func repeatedName(doc string) (name string, twice bool) {
	type container struct {
		names map[string]bool // nil in an array
		value bool            // the next token is the value of a member
	}
	var open []container
	for d := json.NewDecoder(strings.NewReader(doc)); ; {
		t, err := d.Token()
		if err != nil { // the end
			return "", false
		}
		if name, ok := t.(string); ok && len(open) > 0 && open[len(open)-1].names != nil && !open[len(open)-1].value {
			top := open[len(open)-1]
			if top.names[name] {
				return name, true
			}
			top.names[name] = true
			open[len(open)-1].value = true
			continue
		}
		switch t {
		case json.Delim('{'):
			open = append(open, container{names: map[string]bool{}})
			continue
		case json.Delim('['):
			open = append(open, container{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1].value = false
		}
	}
}
