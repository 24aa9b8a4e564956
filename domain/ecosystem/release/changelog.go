package release

import (
	"bytes"
	"regexp"
	"strings"
)

// SetVersion writes a version into a file's text: where the first match of pattern has its first group. Lines are matched one by one (^ and $
// are a line's), and every other byte stays, carriage returns included. A v before the old version stays. It gives what stood there and fails
// with ErrText, name naming the file.
func SetVersion(name string, text []byte, pattern, version string) (out []byte, was string, err error) {
	from, to, err := find(name, text, pattern)
	if err != nil {
		return nil, "", err
	}
	was = string(text[from:to])
	if strings.HasPrefix(was, "v") {
		version = "v" + version
	}
	out = make([]byte, 0, len(text)+len(version))
	out = append(append(append(out, text[:from]...), version...), text[to:]...)
	if first, last, err := find(name, out, pattern); err != nil || first != from || last != from+len(version) {
		return nil, strings.TrimPrefix(was, "v"), ErrText.WithMessage("the first group of pattern %q does not match all of %s in %s; let it match any version, including pre-releases, as in (\\d[^\"]*)", pattern, version, name)
	}
	return out, strings.TrimPrefix(was, "v"), nil
}

// find returns where the pattern's first group is in the text. The pattern sees lines that end in a newline alone.
func find(name string, text []byte, pattern string) (from, to int, err error) {
	form, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return 0, 0, ErrText.WithMessage("the pattern of version file %s is not a valid regular expression: %v", name, err)
	}
	if form.NumSubexp() < 1 {
		return 0, 0, ErrText.WithMessage("the pattern %q of version file %s has no group for the version; put parentheses around the version", pattern, name)
	}
	found := form.FindSubmatchIndex(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	if found == nil || found[2] < 0 || found[2] == found[3] {
		return 0, 0, ErrText.WithMessage("%s has no match for its pattern %q; correct release.version_files of the manifest, or the file", name, pattern)
	}
	return original(text, found[2]), original(text, found[3]-1) + 1, nil
}

// original returns the place in a text of the place at in the same text without the carriage returns before newlines.
func original(text []byte, at int) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			continue
		}
		if at == 0 {
			return i
		}
		at--
	}
	return len(text)
}

// Notes are the entries of a release in a changelog.
type Notes struct {
	Version  string
	Date     string // 2026-01-02
	Subjects []string
	More     int      // subjects that were left out
	Updated  []string // repositories that it depends on and that are released with it: "api to 1.2.0"
}

// UpdateChangelog puts the section of a release into a changelog, in the line endings that it has. What stands under a heading "Unreleased" becomes
// the section's; without that, the subjects do. A section of that version that is there already is left as it is, and changed is false.
func UpdateChangelog(text []byte, n Notes) (out []byte, changed bool) {
	end := "\n"
	if first := bytes.IndexByte(text, '\n'); first > 0 && text[first-1] == '\r' {
		end = "\r\n"
	}
	at, pending := -1, false
	heads := headings(text)
	for i, h := range heads {
		if h.of == strings.ToLower(n.Version) {
			return text, false
		}
		if h.of != "unreleased" || at >= 0 {
			continue
		}
		at = len(text)
		if i+1 < len(heads) {
			at = heads[i+1].from
		}
		if pending = says(text[h.to:at]); pending {
			at = h.to
		}
	}
	switch {
	case at >= 0:
	case len(heads) > 0:
		at = heads[0].from
	default:
		at = len(text)
	}
	return insert(text, at, section(n, pending), end), true
}

// section returns the lines of a release's section. One with pending has its text already, behind it.
func section(n Notes, pending bool) []string {
	lines := []string{"## [" + n.Version + "] - " + n.Date}
	if pending && len(n.Updated) == 0 {
		return lines
	}
	lines = append(lines, "")
	for _, s := range n.Updated {
		lines = append(lines, "- Updated "+s)
	}
	if pending {
		return lines
	}
	for _, s := range n.Subjects {
		lines = append(lines, "- "+s)
	}
	if n.More > 0 {
		lines = append(lines, "- and "+count(n.More, "more commit"))
	}
	if len(lines) == 2 {
		lines = append(lines, "No changes in this repository.")
	}
	return lines
}

// insert puts lines into a text, with an empty line before and after them where there is text.
func insert(text []byte, at int, lines []string, end string) []byte {
	var b bytes.Buffer
	b.Write(text[:at])
	if at > 0 {
		if text[at-1] != '\n' {
			b.WriteString(end)
		}
		if !bytes.HasSuffix(bytes.TrimSuffix(b.Bytes(), []byte(end)), []byte("\n")) {
			b.WriteString(end)
		}
	}
	for _, line := range lines {
		b.WriteString(line + end)
	}
	if rest := text[at:]; len(rest) > 0 && !bytes.HasPrefix(rest, []byte(end)) {
		b.WriteString(end)
	}
	b.Write(text[at:])
	return b.Bytes()
}

// SectionText returns what a changelog says of a version, without its heading.
func SectionText(text []byte, version string) string {
	heads := headings(text)
	for i, h := range heads {
		if h.of != strings.ToLower(version) {
			continue
		}
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1].from
		}
		return strings.TrimSpace(string(text[h.to:end]))
	}
	return ""
}

// NotesText returns the section of a release without its heading, where no changelog has it.
func NotesText(n Notes) string {
	return strings.TrimSpace(strings.Join(section(n, false)[1:], "\n"))
}

// says reports text that is more than blanks and headings.
func says(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}

// heading is a second-level heading: of which version it is, in lower case, and where its line begins and ends.
type heading struct {
	of       string
	from, to int
}

// headings returns the second-level headings of a Markdown text, those in fenced code aside.
func headings(text []byte) (found []heading) {
	at, fenced := 0, false
	for line := range bytes.Lines(text) {
		from := at
		at += len(line)
		said := strings.TrimRight(string(line), " \t\r\n")
		if strings.HasPrefix(strings.TrimLeft(said, " "), "```") {
			fenced = !fenced
		}
		title, ok := strings.CutPrefix(said, "## ")
		if fenced || !ok {
			continue
		}
		title = strings.TrimPrefix(strings.TrimSpace(title), "[")
		if cut := strings.IndexAny(title, "] \t"); cut >= 0 {
			title = title[:cut]
		}
		title = strings.ToLower(title)
		if len(title) > 1 && title[0] == 'v' && digits(title[1:2]) {
			title = title[1:]
		}
		found = append(found, heading{of: title, from: from, to: at})
	}
	return found
}

// PlainSubject returns a commit's subject in one line without control characters, at most a few hundred bytes.
func PlainSubject(subject string) string {
	subject = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(subject, "\uFFFD"))
	subject = strings.Join(strings.Fields(subject), " ")
	if len(subject) > maxSubject {
		subject = strings.ToValidUTF8(subject[:maxSubject], "") + "…"
	}
	return subject
}

const maxSubject = 300
