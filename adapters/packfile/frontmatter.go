package packfile

import (
	"bytes"
	"io"
	"strings"

	"github.com/adrg/frontmatter"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
)

const (
	delimiter   = "---"
	matterStart = 2 // the line after the opening delimiter
)

// matter cuts the front matter out of a pack file (context-pack contract §7.2): the file starts with exactly "---\n", and the first later line
// that is "---" once trailing CR and LF are gone closes it. An indented "---" belongs to a block scalar. What follows the closing line is not
// read. A reason says what is wrong instead.
func matter(file []byte) (text []byte, reason string) {
	rest, ok := bytes.CutPrefix(file, []byte(delimiter+"\n"))
	switch {
	case ok:
	case len(file) == 0:
		return nil, "the file is empty"
	case bytes.HasPrefix(file, []byte("\ufeff")):
		return nil, "line 1 starts with a byte order mark; save the file without one"
	case bytes.HasPrefix(file, []byte(delimiter+"\r\n")):
		return nil, "line 1 ends with CR LF; save the file with LF line ends"
	default:
		return nil, "line 1 is not ---"
	}
	for at := 0; at < len(rest); {
		line := rest[at:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end+1]
		}
		if string(bytes.TrimRight(line, "\r\n")) == delimiter {
			return rest[:at], ""
		}
		at += len(line)
	}
	return nil, "the front matter is not closed by a line ---"
}

// parse decodes front matter that matter cut out. The front matter library compares trimmed lines, so it gets a fence of its own, longer than any
// line of dashes in the text: the indented "---" of a block scalar cannot end what it reads.
func parse(text []byte, into any) error {
	fence := strings.Repeat("-", longestDashes(text)+1)
	format := frontmatter.NewFormat(fence, fence, func(data []byte, v any) error {
		return yamlcodec.Decode(data, v, yamlcodec.Options{FirstLine: matterStart, MaxBytes: MaxFile})
	})
	whole := io.MultiReader(strings.NewReader(fence+"\n"), bytes.NewReader(text), strings.NewReader(fence+"\n"))
	_, err := frontmatter.MustParse(whole, into, format)
	return err
}

func longestDashes(text []byte) int {
	longest := len(delimiter)
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(bytes.Trim(line, "-")) == 0 {
			longest = max(longest, len(line))
		}
	}
	return longest
}
