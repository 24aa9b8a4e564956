package osproc

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
)

// carried is how much of what went before is looked at again with the next lines of a stream: a secret over several lines, such as a
// private key, may be in the middle.
const carried = 4 << 10

// line is a stored line, and the number of output bytes that it represents.
type line struct {
	stream process.Stream
	text   string
	raw    int
}

// cleaner makes lines to be kept of output. It is used by one goroutine.
type cleaner struct {
	redactor func() *redact.Redactor
	secrets  []string
	made     *redact.Redactor
	before   [process.Stderr + 1][]string // the last lines of a stream, clean but not masked
}

// CleanLine returns one line as it may be shown: UTF-8 without terminal escapes, control and invisible characters, and without its end. It is
// s itself when that is so already.
func CleanLine(s string) string {
	return strings.TrimRight(redact.StripControl(s), "\r\n")
}

// clean returns the newest lines of the batch, at most MaxLines, clean and masked, and the number of the first.
func (t *cleaner) clean(b batch) (lines []line, first int64) {
	if b.lines == 0 {
		return nil, b.total + 1
	}
	if t.made == nil {
		t.made = t.redactor().With(t.secrets...)
	}
	lines = split(b, max(b.lines-process.MaxLines, 0))
	for _, stream := range []process.Stream{process.Stdout, process.Stderr} {
		t.mask(stream, lines)
	}
	for i := range lines {
		short := shorten(lines[i].text)
		lines[i].raw -= len(lines[i].text) - len(short)
		lines[i].text = short
	}
	return lines, b.total - int64(len(lines)) + 1
}

// split returns the lines of a batch without the first few, not masked yet.
func split(b batch, skip int) []line {
	lines := make([]line, 0, b.lines-skip)
	data := b.data
	for _, r := range b.records {
		piece := data[:r.bytes]
		data = data[r.bytes:]
		if skip >= r.lines {
			skip -= r.lines
			continue
		}
		for ; skip > 0; skip-- {
			piece = piece[bytes.IndexByte(piece, '\n')+1:]
		}
		for rest := string(piece); rest != ""; {
			text, after, _ := strings.Cut(rest, "\n")
			text = text[:min(len(text), rawLine)]
			lines = append(lines, line{r.stream, CleanLine(text), len(text) + 1})
			rest = after
		}
	}
	return lines
}

// mask masks the lines of one stream, which may have lines of the other between them.
func (t *cleaner) mask(stream process.Stream, lines []line) {
	before := t.before[stream]
	texts := append(make([]string, 0, len(before)+len(lines)), before...)
	for _, l := range lines {
		if l.stream == stream {
			texts = append(texts, l.text)
		}
	}
	masked, _ := t.made.Lines(texts)
	next := len(before)
	for i := range lines {
		if lines[i].stream == stream {
			lines[i].text = masked[next]
			next++
		}
	}
	size, from := 0, len(texts)
	for from > 0 && size+len(texts[from-1]) < carried {
		from--
		size += len(texts[from]) + 1
	}
	kept := make([]string, 0, len(texts)-from)
	for _, text := range texts[from:] {
		kept = append(kept, strings.Clone(text)) // not all of the batch they are part of
	}
	t.before[stream] = kept
}

// shorten cuts a text at MaxLineBytes, between two characters.
func shorten(s string) string {
	if len(s) <= process.MaxLineBytes {
		return s
	}
	end := process.MaxLineBytes
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
