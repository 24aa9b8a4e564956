package configrepo

import (
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// maxConfig is how large a git config file may be, in bytes.
const maxConfig = 1 << 20

// readLocation is a regular file of at most limit bytes.
func readLocation(file string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > limit:
		return nil, deployment.ErrPath.WithMessage("%s is not a file of at most %d bytes", file, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// configValue is the first value of a variable in git's config format, or "". Sections and names are matched in any case, subsections
// exactly; includes are not followed. Reading ends at the first line that git would not read.
func configValue(data []byte, section, subsection, name string) string {
	s := &scanner{text: strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")}
	here := false
	for {
		switch c := s.skip(); {
		case c == 0:
			return ""
		case c == '[':
			sec, sub, ok := s.header()
			if !ok {
				return ""
			}
			here = strings.EqualFold(sec, section) && sub == subsection
		case letter(c):
			found := s.word()
			value, ok := s.value()
			switch {
			case !ok:
				return ""
			case here && strings.EqualFold(found, name) && value != "":
				return value
			}
		default:
			return ""
		}
	}
}

// scanner walks over the text of a config file.
type scanner struct {
	text string
	at   int
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func wordByte(c byte) bool { return letter(c) || c >= '0' && c <= '9' || c == '-' }

// peek is the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.at >= len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// next takes one byte.
func (s *scanner) next() byte {
	c := s.peek()
	s.at++
	return c
}

// skip passes over white space and comments, and shows what comes then.
func (s *scanner) skip() byte {
	for {
		switch s.peek() {
		case ' ', '\t', '\n', '\r', '\v', '\f':
			s.at++
		case '#', ';':
			s.line()
		default:
			return s.peek()
		}
	}
}

// line passes over the rest of the line.
func (s *scanner) line() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.at++
	}
}

func (s *scanner) word() string {
	start := s.at
	for wordByte(s.peek()) {
		s.at++
	}
	return s.text[start:s.at]
}

// header reads [section], [section "subsection"] and the old [section.subsection], which is in lower case whatever is written.
func (s *scanner) header() (section, subsection string, ok bool) {
	s.at++
	start := s.at
	for wordByte(s.peek()) || s.peek() == '.' {
		s.at++
	}
	section = s.text[start:s.at]
	if s.peek() == ']' {
		s.at++
		section, subsection, _ = strings.Cut(section, ".")
		return section, strings.ToLower(subsection), section != ""
	}
	for s.peek() == ' ' || s.peek() == '\t' {
		s.at++
	}
	if s.next() != '"' {
		return "", "", false
	}
	var sub strings.Builder
	for {
		switch c := s.next(); c {
		case 0, '\n':
			return "", "", false
		case '"':
			return section, sub.String(), s.next() == ']'
		case '\\':
			c = s.next()
			if c == 0 || c == '\n' {
				return "", "", false
			}
			sub.WriteByte(c)
		default:
			sub.WriteByte(c)
		}
	}
}

// value reads what follows a name: nothing, or = and text with quotes, escapes, comments and continued lines.
func (s *scanner) value() (string, bool) {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.at++
	}
	switch s.peek() {
	case 0, '\n', '#', ';':
		s.line()
		return "", true
	case '=':
		s.at++
	default:
		return "", false
	}
	var out strings.Builder
	quoted, kept := false, 0 // kept is the length without unquoted blanks at the end
	for {
		c := s.next()
		switch {
		case c == 0 || c == '\n':
			return out.String()[:kept], !quoted
		case !quoted && (c == '#' || c == ';'):
			s.line()
			continue
		case !quoted && (c == ' ' || c == '\t'):
			if out.Len() > 0 {
				out.WriteByte(c)
			}
			continue
		case c == '"':
			quoted = !quoted
			kept = out.Len()
			continue
		case c == '\\':
			escaped, ok := escape(s.next())
			if !ok {
				return "", false
			}
			out.WriteString(escaped)
		default:
			out.WriteByte(c)
		}
		kept = out.Len()
	}
}

// escape returns the character for a backslash and c; nothing for a continued line.
func escape(c byte) (string, bool) {
	switch c {
	case '\n':
		return "", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'b':
		return "\b", true
	case '"', '\\':
		return string(c), true
	}
	return "", false
}
