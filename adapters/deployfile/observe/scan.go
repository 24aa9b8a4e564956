package observe

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// scanner reads manifests as tools write them, many times faster than encoding/json: every plan reads them, with thousands of
// entries each. Whatever else JSON allows (escapes, other keys, keys twice, null) it gives up on, and the library decides. Strings it gives
// are pieces of text.
type scanner struct {
	text string
	at   int
	list []string // of the entry at hand
}

// scan is the document in data without its entries, which go to each, one by one: an entry is each's until the next. It is false when the
// document is not written plainly; each has been called for a part of it then.
func scan(data []byte, each func(e *entry)) (document, bool) {
	if !utf8.Valid(data) {
		return document{}, false
	}
	s := scanner{text: string(data), list: []string{}}
	var doc document
	ok := s.object(func(key string) (ok bool) {
		switch key {
		case "schema_version":
			doc.Version, ok = s.number()
		case "generated_at":
			doc.GeneratedAt, ok = s.word()
		case "tool":
			doc.Tool, ok = s.word()
		case "snapshot_id":
			doc.SnapshotID, ok = s.word()
		case "root":
			doc.Root, ok = s.word()
		case "repo":
			doc.Repo, ok = s.word()
		case "managed_files":
			ok = s.entries(each)
		}
		return ok
	}, "schema_version", "generated_at", "tool", "snapshot_id", "root", "repo", "managed_files")
	doc.GeneratedAt, doc.Tool, doc.SnapshotID = strings.Clone(doc.GeneratedAt), strings.Clone(doc.Tool), strings.Clone(doc.SnapshotID)
	doc.Root, doc.Repo = strings.Clone(doc.Root), strings.Clone(doc.Repo)
	return doc, ok && s.next() == 0 && s.at == len(s.text)
}

func (s *scanner) entries(each func(e *entry)) bool {
	n := 0
	var e entry
	return s.inside('[', ']', func() bool {
		e, s.list = entry{}, s.list[:0]
		if n++; n > maxFiles || !s.common(&e) && !s.entry(&e) {
			return false
		}
		each(&e)
		return true
	})
}

// common reads an entry of one module as Encode writes it, without anything of our own: almost all are. What is anything else it leaves
// where it is.
func (s *scanner) common(e *entry) bool {
	s.next()
	rest, path, sum, module := s.text[s.at:], "", "", ""
	for _, piece := range [...]struct {
		before string
		into   *string
	}{
		{"{\n      \"path\": \"", &path}, {",\n      \"sha256\": \"", &sum}, {",\n      \"module_ids\": [\n        \"", &module},
	} {
		after, ok := strings.CutPrefix(rest, piece.before)
		end := strings.IndexByte(after, '"')
		if !ok || end < 0 || !plain(after[:end]) {
			return false
		}
		*piece.into, rest = after[:end], after[end+1:]
	}
	rest, ok := strings.CutPrefix(rest, "\n      ]\n    }")
	if !ok {
		return false
	}
	s.list = append(s.list, module)
	e.Path, e.Sum, e.Modules, s.at = path, sum, s.list, len(s.text)-len(rest)
	return true
}

// plain reports text without escapes between quotes.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == '\\' {
			return false
		}
	}
	return true
}

func (s *scanner) entry(e *entry) bool {
	return s.object(func(key string) (ok bool) {
		switch key {
		case "path":
			e.Path, ok = s.word()
		case "sha256":
			e.Sum, ok = s.word()
		case "module_ids":
			e.Modules, ok = s.words()
		case "mode":
			e.Mode, ok = s.word()
		case "owner":
			var owner string
			owner, ok = s.word()
			e.Owner = deployment.Owner(owner)
		case "part":
			ok = s.value(&e.Part)
		case "part_sha256":
			e.PartSum, ok = s.word()
		case "made":
			ok = s.value(&e.Made)
		case "created":
			ok = s.value(&e.Created)
		case "over_sha256":
			e.Over, ok = s.word()
		}
		return ok
	}, "path", "sha256", "module_ids", "mode", "owner", "part", "part_sha256", "made", "created", "over_sha256")
}

// next is the next byte that is no blank, 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

// take passes over the next byte if it is c.
func (s *scanner) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

// object calls field before every value. Only these keys may come, in this order, so that none comes twice.
func (s *scanner) object(field func(key string) bool, keys ...string) bool {
	return s.inside('{', '}', func() bool {
		key, ok := s.word()
		i := slices.Index(keys, key)
		if !ok || i < 0 || !s.take(':') {
			return false
		}
		keys = keys[i+1:]
		return field(key)
	})
}

// inside reads the values between two brackets, separated by commas.
func (s *scanner) inside(open, closing byte, item func() bool) bool {
	if !s.take(open) {
		return false
	}
	if s.take(closing) {
		return true
	}
	for item() {
		if s.take(closing) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

// word is a string without escapes.
func (s *scanner) word() (string, bool) {
	if !s.take('"') {
		return "", false
	}
	rest := s.text[s.at:]
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == '"':
			s.at += i + 1
			return rest[:i], true
		case c < ' ' || c == '\\':
			return "", false
		}
	}
	return "", false
}

// words is a list of strings without escapes, which an entry has one of.
func (s *scanner) words() ([]string, bool) {
	ok := s.inside('[', ']', func() bool {
		word, ok := s.word()
		s.list = append(s.list, word)
		return ok
	})
	return s.list, ok
}

// number is a small whole number.
func (s *scanner) number() (int, bool) {
	s.next()
	start := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	digits := s.text[start:s.at]
	n, err := strconv.Atoi(digits)
	return n, err == nil && len(digits) < 10 && (digits[0] != '0' || n == 0 && len(digits) == 1)
}

// value leaves a value to the library, up to what ends it.
func (s *scanner) value(v any) bool {
	start, depth := s.at, 0
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return json.Unmarshal([]byte(s.text[start:s.at]), v) == nil
		case c == '}' || c == ']':
			depth--
		case c == '"':
			for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
				if s.text[s.at] == '\\' {
					s.at++
				}
			}
		}
	}
	return false
}
