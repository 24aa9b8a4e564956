package deployment

import "strings"

// The lines around a managed block. The line that begins one may have a label; its no-newline marks that the text before it had no final line feed.
const (
	blockBegin = "<!-- agentpack:begin -->"
	blockEnd   = "<!-- agentpack:end -->"
)

// beginMark is a line that begins a block. The first owner of a file has an empty label; blocks of other owners follow beside it.
type beginMark struct {
	label string // 8 hex digits, or empty
	bare  bool
}

const (
	beginPrefix = "<!-- agentpack:begin"
	beginSuffix = " -->"
	bareWord    = "no-newline"
	labelDigits = 8
)

// BlockLabel returns the label of a config repository's blocks in files that already have a block of another one.
func BlockLabel(repo string) string { return SumOf([]byte(repo)).Short(labelDigits) }

func (m beginMark) String() string {
	line := beginPrefix
	if m.label != "" {
		line += " " + m.label
	}
	if m.bare {
		line += " " + bareWord
	}
	return line + beginSuffix
}

// parseBegin parses a line that begins a block; it reports false for any other line.
func parseBegin(line string) (m beginMark, ok bool) {
	rest, ok := strings.CutPrefix(line, beginPrefix)
	if !ok {
		return m, false
	}
	if rest, ok = strings.CutSuffix(rest, beginSuffix); !ok {
		return m, false
	}
	if before, cut := strings.CutSuffix(rest, " "+bareWord); cut {
		rest, m.bare = before, true
	}
	if rest == "" {
		return m, true
	}
	m.label = rest[1:]
	return m, rest[0] == ' ' && len(m.label) == labelDigits && strings.Trim(m.label, "0123456789abcdef") == ""
}

// PutBlock is PutBlockOf without a label.
func PutBlock(text, block string) (string, error) { return PutBlockOf("", text, block) }

// PutBlockOf returns text with block between the lines <!-- agentpack:begin --> and <!-- agentpack:end -->. A text with a managed block keeps every
// byte outside of it; to any other text a blank line and the block are appended, so that CutBlock restores it. The lines that PutBlock adds have the
// line ending of the first line of text, those of the block are unchanged, and a block without a final line feed gets one. A deployment changes a
// file if PutBlock returns a different text.
//
// It fails with ErrFormat if the marks in text do not pair up, or if the block could not be found again: because it contains such marks itself, or
// because fenced code that is opened in text or block is not closed there.
func PutBlockOf(label, text, block string) (string, error) {
	old, found, err := find(label, text)
	if err != nil {
		return "", err
	}
	if err := fits(block); err != nil {
		return "", err
	}
	if block != "" && !strings.HasSuffix(block, "\n") {
		block += endOfLine(block)
	}
	head, tail := text, ""
	if found {
		head, tail = text[:old.inner], text[old.end:]
	} else {
		eol := endOfLine(text)
		head += opening(label, text, eol)
		tail = blockEnd + eol
	}
	result := head + block + tail
	now, found, err := find(label, result)
	if err != nil || !found || now.inner != len(head) || now.end != len(head)+len(block) {
		_, unclosed := prose(text)
		return "", ErrFormat.WithMessage("line %d opens fenced code that is not closed, which would hide the block; close it", unclosed)
	}
	return result, nil
}

// CutBlock is CutBlockOf without a label.
func CutBlock(text string) (string, bool, error) { return CutBlockOf("", text) }

// CutBlockOf returns text without its managed block and the blank line that PutBlock added, and whether there was a block. It restores, to the byte,
// a text that had no block before PutBlock. It fails with ErrFormat if the marks in text do not pair up.
func CutBlockOf(label, text string) (string, bool, error) {
	b, found, err := find(label, text)
	if err != nil || !found {
		return text, false, err
	}
	head, tail := text[:b.begin], text[b.after:]
	if rest := withoutEnd(head, b.eol); strings.HasSuffix(rest, "\n") {
		head = rest
	}
	if b.bare && tail == "" { // what now follows the block would become part of the last line
		head = withoutEnd(head, b.eol)
	}
	if b.bare || head == "" {
		tail = bequeath(tail, b.bare)
	}
	return head + tail, true, nil
}

// bequeath makes a block that follows begin take over the position of the removed one: first in the text, or after text that had no final line feed.
func bequeath(tail string, bare bool) string {
	first, rest, _ := strings.Cut(tail, "\n") // the blank line before it
	line, more, _ := strings.Cut(rest, "\n")
	mark := strings.TrimRight(line, " \t\r")
	m, ok := parseBegin(mark)
	if !ok || strings.TrimRight(first, "\r") != "" {
		return tail
	}
	if !bare {
		return rest
	}
	m.bare = true
	return first + "\n" + m.String() + line[len(mark):] + "\n" + more
}

// FindBlock is FindBlockOf without a label.
func FindBlock(text string) (string, bool, error) { return FindBlockOf("", text) }

// FindBlockOf returns the managed block of text with that label, and whether there is one. It fails with ErrFormat if the marks in text do not pair
// up.
func FindBlockOf(label, text string) (string, bool, error) {
	b, found, err := find(label, text)
	if err != nil || !found {
		return "", false, err
	}
	return text[b.inner:b.end], true, nil
}

// bounds is the position of a managed block: the offsets of the line that begins it, of its content, of the line that ends it and of what follows
// that.
type bounds struct {
	begin, inner, end, after int
	bare                     bool   // the text before it had no final line feed
	eol                      string // line ending of the line that begins it
}

// find returns the managed block of text with that label.
func find(label, text string) (b bounds, found bool, err error) {
	free, _ := prose(text)
	lines, first, open, ours := map[string]int{}, 0, false, false
	for _, l := range free {
		mark := strings.TrimRight(l.text, " \t\r\n")
		begin, begins := parseBegin(mark)
		switch {
		case mark == blockEnd && !open:
			return bounds{}, false, ErrFormat.WithMessage("line %d (%s) ends a block without a beginning; remove the line, or put %s where the block begins", l.number, blockEnd, blockBegin)
		case mark == blockEnd:
			if open = false; ours {
				b.end, b.after = l.offset, l.offset+len(l.text)
			}
		case !begins:
		case open:
			return bounds{}, false, ErrFormat.WithMessage("line %d begins a block inside the block of line %d; remove one of the two lines, or end the first block before it (%s)", l.number, first, blockEnd)
		case lines[begin.label] > 0:
			return bounds{}, false, ErrFormat.WithMessage("line %d begins a second block after the block of line %d; remove one of them", l.number, lines[begin.label])
		default:
			lines[begin.label], first, open, ours = l.number, l.number, true, begin.label == label
			if ours {
				found = true
				b = bounds{begin: l.offset, inner: l.offset + len(l.text), bare: begin.bare, eol: endOfLine(l.text)}
			}
		}
	}
	if open {
		return bounds{}, false, ErrFormat.WithMessage("the block that begins at line %d has no end; add the line %s after it", first, blockEnd)
	}
	return b, found, nil
}

// fits rejects a block that could not be told apart from the text around it.
func fits(block string) error {
	free, unclosed := prose(block)
	if unclosed > 0 {
		return ErrFormat.WithMessage("line %d of the block opens fenced code that is not closed; close it", unclosed)
	}
	for _, l := range free {
		mark := strings.TrimRight(l.text, " \t\r\n")
		if _, begins := parseBegin(mark); begins || mark == blockEnd {
			return ErrFormat.WithMessage("line %d of the block is the block marker %s; remove it, or put it in fenced code", l.number, mark)
		}
	}
	return nil
}

// opening returns what separates text from its new block.
func opening(label, text, eol string) string {
	begin := beginMark{label: label}
	switch {
	case text == "":
		return begin.String() + eol
	case strings.HasSuffix(text, "\n"):
		return eol + begin.String() + eol
	}
	begin.bare = true
	return eol + eol + begin.String() + eol
}

// endOfLine returns the line ending of the first line of text; a line feed if there is none.
func endOfLine(text string) string {
	if first, _, _ := strings.Cut(text, "\n"); len(first) < len(text) && strings.HasSuffix(first, "\r") {
		return "\r\n"
	}
	return "\n"
}

// withoutEnd returns text without its last line ending: eol if the text ends with it, else any other, for texts whose line endings were converted.
func withoutEnd(text, eol string) string {
	if rest, ok := strings.CutSuffix(text, eol); ok {
		return rest
	}
	return strings.TrimSuffix(text, "\n")
}
