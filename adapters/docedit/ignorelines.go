package docedit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// The lines around the managed section of a .gitignore. The first remembers that the text before it had no final line end.
const (
	ignoreBegin = "# agentpack:begin"
	ignoreBare  = ignoreBegin + " no-newline"
	ignoreEnd   = "# agentpack:end"
)

// ignoreFile is a .gitignore with its managed section: as a document it is an object whose keys are the section's lines, each with the value true.
type ignoreFile struct {
	before, after string
	lines         []string // of the section
	found, bare   bool
	eol           string
}

func readIgnore(doc []byte) (f ignoreFile, err error) {
	f.eol = lineEndOf(doc)
	number, open, at := 0, 0, &f.before
	for line := range strings.Lines(string(doc)) {
		number++
		switch text := strings.TrimRight(line, " \t\r\n"); {
		case open == 0 && (text == ignoreBegin || text == ignoreBare):
			if f.found {
				return f, ErrFormat.WithMessage("line %d begins a second managed section; remove one of the two", number)
			}
			f.found, f.bare, open = true, text == ignoreBare, number
		case text == ignoreBegin || text == ignoreBare:
			return f, ErrFormat.WithMessage("line %d begins a section inside the section of line %d; put %s before it", number, open, ignoreEnd)
		case open > 0 && text == ignoreEnd:
			open, at = 0, &f.after
		case text == ignoreEnd:
			return f, ErrFormat.WithMessage("line %d ends a section that was not begun; remove the line", number)
		case open > 0:
			f.lines = append(f.lines, strings.TrimRight(line, "\r\n"))
		default:
			*at += line
		}
	}
	if open > 0 {
		return f, ErrFormat.WithMessage("the section that begins at line %d has no end; add the line %s after it", open, ignoreEnd)
	}
	return f, nil
}

// text is the file again. A section without lines is none.
func (f ignoreFile) text() []byte {
	if len(f.lines) == 0 {
		if f.bare && f.after == "" {
			f.before = strings.TrimSuffix(f.before, f.eol)
		}
		return []byte(f.before + f.after)
	}
	begin := ignoreBegin
	if f.bare {
		begin = ignoreBare
	}
	return []byte(f.before + begin + f.eol + strings.Join(f.lines, f.eol) + f.eol + ignoreEnd + f.eol + f.after)
}

// set puts lines into the section, each in its place by name; those that are there stay where they are.
func (f *ignoreFile) set(keys []deployment.Key) {
	if !f.found && len(keys) > 0 {
		if f.found = true; f.before != "" && !strings.HasSuffix(f.before, "\n") {
			f.before, f.bare = f.before+f.eol, true
		}
	}
	for _, k := range keys {
		line := k.Path[0]
		if slices.Contains(f.lines, line) {
			continue
		}
		at := slices.IndexFunc(f.lines, func(have string) bool { return have > line })
		if at < 0 {
			at = len(f.lines)
		}
		f.lines = slices.Insert(f.lines, at, line)
	}
}

// ignoreValues are the keys whose lines are there.
func ignoreValues(doc []byte, keys []deployment.Key) (map[int]json.RawMessage, error) {
	f, err := readIgnore(doc)
	if err != nil {
		return nil, err
	}
	values := map[int]json.RawMessage{}
	for i, k := range keys {
		if slices.Contains(f.lines, k.Path[0]) {
			values[i] = json.RawMessage("true")
		}
	}
	return values, nil
}

func setIgnore(doc []byte, keys []deployment.Key) ([]byte, error) {
	f, err := readIgnore(doc)
	if err != nil {
		return nil, err
	}
	if f.set(keys); len(f.lines) == 0 {
		return doc, nil
	}
	return f.text(), nil
}

func removeIgnore(doc []byte, keys []deployment.Key) ([]byte, error) {
	f, err := readIgnore(doc)
	if err != nil || !f.found {
		return doc, err
	}
	f.lines = slices.DeleteFunc(f.lines, func(line string) bool {
		return slices.ContainsFunc(keys, func(k deployment.Key) bool { return k.Path[0] == line })
	})
	return f.text(), nil
}
