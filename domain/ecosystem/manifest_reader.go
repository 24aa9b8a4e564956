package ecosystem

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/relpath"
)

// The bounds of texts, in bytes, and of what is reported and repeated.
const (
	maxText     = 2048
	maxProse    = 16 << 10 // descriptions and commands
	maxPatterns = 1000
	maxProblems = 100 // of each sort
	maxQuoted   = 80
)

// reader collects what is wrong.
type reader struct{ errors, warnings []Problem }

// object is a mapping of the document; at is the way to it ("repos[1]"), empty for the document itself.
type object struct {
	r       *reader
	at      string
	members map[string]any
}

func (o object) way(key string) string {
	switch {
	case key == "":
		return o.at
	case o.at == "":
		return key
	}
	return o.at + "." + key
}

// wrong records an error, doubt a warning, about the member of that name.
func (o object) wrong(key, fix, format string, args ...any) {
	if len(o.r.errors) < maxProblems {
		o.r.errors = append(o.r.errors, Problem{o.way(key), fmt.Sprintf(format, args...), fix})
	}
}

func (o object) doubt(key, fix, format string, args ...any) {
	if len(o.r.warnings) < maxProblems {
		o.r.warnings = append(o.r.warnings, Problem{o.way(key), fmt.Sprintf(format, args...), fix})
	}
}

// absent reports a member that is not there, or is null.
func (o object) absent(key string) bool { return o.members[key] == nil }

// known warns about all members but those.
func (o object) known(keys ...string) {
	for _, key := range slices.Sorted(maps.Keys(o.members)) {
		if !slices.Contains(keys, key) {
			o.doubt(manifestClip(key), "remove it, or correct its name; use one of: "+strings.Join(keys, ", "), "unknown key %q", manifestClip(key))
		}
	}
}

// child returns the mapping under key; empty when it is absent or wrong.
func (o object) child(key string) object {
	inner := object{r: o.r, at: o.way(key)}
	if o.absent(key) {
		return inner
	}
	members, ok := o.members[key].(map[string]any)
	if !ok {
		o.wrong(key, "write it as "+key+": {…}", "%s where a mapping is expected", kind(o.members[key]))
	}
	inner.members = members
	return inner
}

// text returns one line of text without blanks around it; empty when it is absent or wrong.
func (o object) text(key string) string {
	s := o.prose(key, maxText)
	if strings.ContainsAny(s, "\n\t") {
		o.wrong(key, "write it in one line", "the text contains line breaks or tabs")
		return ""
	}
	return s
}

// prose returns text that may have line breaks.
func (o object) prose(key string, most int) string {
	if o.absent(key) {
		return ""
	}
	s, ok := o.members[key].(string)
	if !ok {
		o.wrong(key, `put it in quotes: "…"`, "%s where text is expected", kind(o.members[key]))
		return ""
	}
	return o.checked(key, s, most)
}

// checked returns s without blanks around it, or empty when it is too long or cannot be given to a program.
func (o object) checked(key, s string, most int) string {
	switch s = strings.TrimSpace(s); {
	case len(s) > most:
		o.wrong(key, "shorten it", "the text has %d bytes; at most %d are allowed", len(s), most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		o.wrong(key, "remove the character", "the text contains a control character, or is not valid UTF-8")
	default:
		return s
	}
	return ""
}

// named reports text that is a name, and records it when it is none.
func (o object) named(key, s string) bool {
	if err := CheckName(s); err != nil {
		o.wrong(key, "rename it", "%s", fault.From(err).Message)
		return false
	}
	return true
}

// path returns a relative path in its shortest form.
func (o object) path(key string) (string, bool) {
	s := o.text(key)
	if s == "" {
		return "", false
	}
	p, err := relpath.Parse(s)
	if err != nil {
		o.wrong(key, "write a path relative to and below the directory, such as src/x", "%s", fault.From(err).Message)
		return "", false
	}
	return p.Clean().String(), true
}

// flag is true or false.
func (o object) flag(key string, standard bool) bool {
	if o.absent(key) {
		return standard
	}
	b, ok := o.members[key].(bool)
	if !ok {
		o.wrong(key, "write true or false", "%s where true or false is expected", kind(o.members[key]))
		return standard
	}
	return b
}

// number returns a whole number within bounds; zero when it is absent or wrong.
func (o object) number(key string, least, most int) (int, bool) {
	if o.absent(key) {
		return 0, false
	}
	n, ok := whole(o.members[key])
	switch {
	case !ok:
		o.wrong(key, "write a whole number", "%s where a whole number is expected", kind(o.members[key]))
	case n < int64(least) || n > int64(most):
		o.wrong(key, "write a number in this range", "%d is outside the range %d to %d", n, least, most)
	default:
		return int(n), true
	}
	return 0, false
}

func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case uint64:
		return int64(min(n, math.MaxInt64)), true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

// list returns the values under key; nil when it is absent or wrong.
func (o object) list(key string) []any {
	if o.absent(key) {
		return nil
	}
	items, ok := o.members[key].([]any)
	if !ok {
		o.wrong(key, "write it as "+key+": […]", "%s where a list is expected", kind(o.members[key]))
	}
	return items
}

// objects returns the mappings in a list.
func (o object) objects(key string) []object {
	items := o.list(key)
	out := make([]object, 0, len(items))
	for i, item := range items {
		at := key + "[" + strconv.Itoa(i) + "]"
		members, ok := item.(map[string]any)
		if !ok {
			o.wrong(at, "write it as {name: …}", "%s where a mapping is expected", kind(item))
			continue
		}
		out = append(out, object{r: o.r, at: o.way(at), members: members})
	}
	return out
}

// texts are the texts in a list, none of them empty. visit is called with the name of each.
func (o object) texts(key string, visit func(at, text string)) {
	items := o.list(key)
	if len(items) > maxPatterns {
		o.wrong(key, "shorten the list", "the list has %d entries; at most %d are allowed", len(items), maxPatterns)
		return
	}
	for i, item := range items {
		at := key + "[" + strconv.Itoa(i) + "]"
		s, ok := item.(string)
		switch {
		case !ok:
			o.wrong(at, `put it in quotes: "…"`, "%s where text is expected", kind(item))
		case strings.TrimSpace(s) == "":
			o.wrong(at, "remove it", "the text is empty")
		default:
			if s = o.checked(at, s, maxText); s != "" {
				visit(at, s)
			}
		}
	}
}

// patterns returns patterns of paths. One that begins with a slash is warned about when it counts from a repository.
func (o object) patterns(key string, relative bool) (out []string) {
	o.texts(key, func(at, text string) {
		if _, err := path.Match(text, ""); err != nil {
			o.wrong(at, "close the bracket, or write a backslash before it", "invalid pattern %q", manifestClip(text))
			return
		}
		if relative && text[0] == '/' {
			o.doubt(at, "remove the slash", "%q begins with a slash; patterns are always relative to the repository", manifestClip(text))
		}
		out = append(out, text)
	})
	return out
}

// kind returns what a value is, in words for a message.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}

// manifestClip keeps what a file says at a length that fits a message.
func manifestClip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
}
