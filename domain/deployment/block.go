package deployment

import "strings"

// The lines around a managed block. A line that begins one may have a label, and remembers with no-newline that the text before it had no final
// line feed.
const (
	blockBegin = "<!-- agentpack:begin -->"
	blockEnd   = "<!-- agentpack:end -->"
)

// beginMark is a line that begins a block. An empty label is the first owner's of a file: others have blocks of their own beside that one.
type beginMark struct {
	label string // 8 hex digits, or nothing
	bare  bool
}

const (
	beginPrefix = "<!-- agentpack:begin"
	beginSuffix = " -->"
	bareWord    = "no-newline"
	labelDigits = 8
)

// BlockLabel is the label of a config repository's blocks in files in which another one has a block already.
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

// parseBegin reads a line that begins a block; false is any other line.
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

// PutBlockOf is text with block between the lines <!-- agentpack:begin --> and <!-- agentpack:end -->. A text that has a managed block keeps
// every byte outside of it; any other text is followed by a blank line and the block, so that Cut gives it back. The lines that Put
// adds end as the first line of text does, those of the block stay as they are, and a block without a final line feed gets one.
// Whether a deployment would change a file is whether Put gives another text.
//
// It fails with ErrFormat when the marks in text do not pair up, and when the block would not be found again: because it has such
// marks itself, or because fenced code that is opened in one of the two is not closed there.
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
		return "", ErrFormat.Sayf("line %d opens fenced code that is not closed, which would hide the block; close it", unclosed)
	}
	return result, nil
}

// CutBlock is CutBlockOf without a label.
func CutBlock(text string) (string, bool, error) { return CutBlockOf("", text) }

// CutBlockOf is text without its managed block and the blank line that Put added, and whether there was a block. What Put made of a text
// without a block becomes that text again, to the byte. It fails with ErrFormat when the marks in text do not pair up.
func CutBlockOf(label, text string) (string, bool, error) {
	b, found, err := find(label, text)
	if err != nil || !found {
		return text, false, err
	}
	head, tail := text[:b.begin], text[b.after:]
	if rest := withoutEnd(head, b.eol); strings.HasSuffix(rest, "\n") {
		head = rest
	}
	if b.bare && tail == "" { // what stands behind the block by now would become part of the last line
		head = withoutEnd(head, b.eol)
	}
	if b.bare || head == "" {
		tail = bequeath(tail, b.bare)
	}
	return head + tail, true, nil
}

// bequeath has a block that follows begin as the one that is gone did: as the first thing of a text, or behind text that had no final line feed.
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

// FindBlockOf is the managed block of text with that label, and whether there is one. It fails with ErrFormat when the marks in text do not pair up.
func FindBlockOf(label, text string) (string, bool, error) {
	b, found, err := find(label, text)
	if err != nil || !found {
		return "", false, err
	}
	return text[b.inner:b.end], true, nil
}

// bounds are where a managed block is: offsets of the line that begins it, of its content, of the line that ends it and of what
// follows that.
type bounds struct {
	begin, inner, end, after int
	bare                     bool   // the text before it had no final line feed
	eol                      string // how the line that begins it ends
}

// find is the managed block of text with that label.
func find(label, text string) (b bounds, found bool, err error) {
	free, _ := prose(text)
	lines, first, open, ours := map[string]int{}, 0, false, false
	for _, l := range free {
		mark := strings.TrimRight(l.text, " \t\r\n")
		begin, begins := parseBegin(mark)
		switch {
		case mark == blockEnd && !open:
			return bounds{}, false, ErrFormat.Sayf("line %d (%s) ends a block that nothing begins; take the line out, or put %s where the block begins", l.number, blockEnd, blockBegin)
		case mark == blockEnd:
			if open = false; ours {
				b.end, b.after = l.offset, l.offset+len(l.text)
			}
		case !begins:
		case open:
			return bounds{}, false, ErrFormat.Sayf("line %d begins a block inside the block of line %d; take out one of the two lines, or end the first block before it (%s)", l.number, first, blockEnd)
		case lines[begin.label] > 0:
			return bounds{}, false, ErrFormat.Sayf("line %d begins a second block, after the one of line %d; take one of the two out", l.number, lines[begin.label])
		default:
			lines[begin.label], first, open, ours = l.number, l.number, true, begin.label == label
			if ours {
				found = true
				b = bounds{begin: l.offset, inner: l.offset + len(l.text), bare: begin.bare, eol: endOfLine(l.text)}
			}
		}
	}
	if open {
		return bounds{}, false, ErrFormat.Sayf("the block that begins at line %d has no end; put the line %s behind it", first, blockEnd)
	}
	return b, found, nil
}

// fits refuses a block that could not be told from what is around it.
func fits(block string) error {
	free, unclosed := prose(block)
	if unclosed > 0 {
		return ErrFormat.Sayf("line %d of the block opens fenced code that is not closed, so it would run on behind the block; close it", unclosed)
	}
	for _, l := range free {
		mark := strings.TrimRight(l.text, " \t\r\n")
		if _, begins := parseBegin(mark); begins || mark == blockEnd {
			return ErrFormat.Sayf("line %d of the block is %s, which marks blocks; take it out, or show it in fenced code", l.number, mark)
		}
	}
	return nil
}

// opening is what goes between text and its new block.
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

// endOfLine is how the first line of text ends; a line feed if it has no end.
func endOfLine(text string) string {
	if first, _, _ := strings.Cut(text, "\n"); len(first) < len(text) && strings.HasSuffix(first, "\r") {
		return "\r\n"
	}
	return "\n"
}

// withoutEnd is text without its last end of line: eol if it ends so, or else whichever it has, for texts whose ends were converted.
func withoutEnd(text, eol string) string {
	if rest, ok := strings.CutSuffix(text, eol); ok {
		return rest
	}
	return strings.TrimSuffix(text, "\n")
}
