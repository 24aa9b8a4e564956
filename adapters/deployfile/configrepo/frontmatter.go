package configrepo

import (
	"bytes"
	"strings"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// MaxFrontmatter is how large the front matter of a document may be, in bytes.
const MaxFrontmatter = 64 << 10

const (
	fence       = "---"
	matterStart = 2 // the line after the opening fence
)

// Frontmatter is the YAML mapping between two lines --- at the beginning of a document (agentpack contract §2.5). A byte order mark and
// CR LF are put up with. found is false when the first line is no ---. It fails with ErrConfig when there is no closing line, when the
// text in between is larger than MaxFrontmatter, or when it is no mapping; an empty one has no fields.
func Frontmatter(doc []byte) (fields map[string]any, found bool, err error) {
	first, rest, _ := bytes.Cut(unmarked(doc), []byte("\n"))
	if string(bytes.TrimSuffix(first, []byte("\r"))) != fence {
		return nil, false, nil
	}
	text, closed := matter(rest)
	switch {
	case len(text) > MaxFrontmatter:
		return nil, true, badMatter("the front matter has more than %d bytes", MaxFrontmatter)
	case !closed:
		return nil, true, badMatter("the front matter is not closed by a line ---")
	}
	if fields, plain := plainMatter(string(text)); plain {
		return fields, true, nil
	}
	return matterFields(text)
}

// matterFields are the fields of front matter as YAML has them.
func matterFields(text []byte) (fields map[string]any, found bool, err error) {
	fields = map[string]any{}
	root, err := yamlcodec.Parse(text, yamlcodec.Options{FirstLine: matterStart, MaxBytes: MaxFrontmatter})
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return fields, true, nil
	case err != nil:
		return nil, true, badMatter("the front matter is not valid: %s", fault.From(err).Message)
	case !root.Given():
		return fields, true, nil
	case root.Kind() != yamlcodec.Mapping:
		bad := badMatter("the front matter is %s where a mapping is expected", root.Say())
		return nil, true, bad.WithDetails(deployment.FieldDetails("error", bad.Message).Add("expected", "mapping"))
	}
	if err := root.Load(&fields, yamlcodec.Options{}); err != nil {
		return nil, true, badMatter("the front matter is not valid: %s", fault.From(err).Message)
	}
	return fields, true, nil
}

// matter returns the text before the closing fence, or its beginning if it is too long.
func matter(rest []byte) (text []byte, closed bool) {
	for at := 0; at < len(rest) && at <= MaxFrontmatter; {
		line, _, more := bytes.Cut(rest[at:], []byte("\n"))
		if string(bytes.TrimSuffix(line, []byte("\r"))) == fence {
			return rest[:at], true
		}
		at += len(line)
		if more {
			at++
		}
	}
	return rest[:min(len(rest), MaxFrontmatter+1)], false
}

func badMatter(format string, args ...any) *fault.Error {
	bad := deployment.ErrConfig.WithMessage(format, args...)
	return bad.WithDetails(deployment.FieldDetails("error", bad.Message))
}

// plainMatter reads front matter as almost all skills and commands have it, lines of a name and a plain text, and gives up on everything else:
// thousands of them are read for each plan, and YAML takes a hundred times as long.
func plainMatter(text string) (map[string]any, bool) {
	fields := map[string]any{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if _, again := fields[name]; !ok || again || len(name) > maxPlainName || !plainWord(name) || !plainText(value) {
			return nil, false
		}
		fields[name] = value
	}
	return fields, len(fields) > 0
}

const maxPlainName = 100

// plainWord reports whether a word consists of letters with - or _ between them.
func plainWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return plainText(s)
}

// plainText reports text in one line that YAML takes for just that, without quotes: it begins with a letter, and is no word that means something else.
func plainText(s string) bool {
	if s == "" || !letter(s[0]) || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return false
		}
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		return false
	}
	return true
}
