package yamlcodec

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// text is a document's bytes and where its lines begin. The library says where a value begins, in lines and characters, and nothing
// about where it ends: that is found here.
type text struct {
	data   []byte
	starts []int // offset of each line
}

func newText(data []byte) text {
	t := text{data, []int{0}}
	for i := 0; i < len(data); {
		n := lineBreak(data[i:])
		if n > 0 {
			t.starts = append(t.starts, i+n)
		}
		i += max(n, 1)
	}
	return t
}

// lineBreak returns the length of the line break that data begins with: everything that the library counts as one.
func lineBreak(data []byte) int {
	for _, b := range [...]string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if len(data) >= len(b) && string(data[:len(b)]) == b {
			return len(b)
		}
	}
	return 0
}

// offset returns where in the bytes n begins, after its anchor.
func (t text) offset(n Node) (int, error) {
	if n.Line() < 1 || n.Line() > len(t.starts) {
		return 0, errPlace(n)
	}
	at := t.starts[n.Line()-1]
	for range n.Column() - 1 {
		if at >= len(t.data) {
			break
		}
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	if n.Form() != alias && n.Anchor() != "" && at < len(t.data) && t.data[at] == '&' {
		at = t.skipBlank(at + 1 + len(n.Anchor()))
	}
	return at, nil
}

// line returns the index of the line that the byte at offset at belongs to.
func (t text) line(at int) int {
	i, found := slices.BinarySearch(t.starts, at)
	if found {
		return i
	}
	return i - 1
}

// lineEnd returns the offset of the line break at the end of line i, or of the end of the document.
func (t text) lineEnd(i int) int {
	if i+1 >= len(t.starts) {
		return len(t.data)
	}
	end := t.starts[i+1]
	for n := 1; n <= 3; n++ {
		if end-n >= t.starts[i] && lineBreak(t.data[end-n:end]) == n {
			if n == 1 && end-2 >= t.starts[i] && t.data[end-1] == '\n' && t.data[end-2] == '\r' {
				return end - 2
			}
			return end - n
		}
	}
	return end
}

// content is line i without its break.
func (t text) content(i int) []byte { return t.data[t.starts[i]:t.lineEnd(i)] }

func (t text) blank(i int) bool { return len(bytes.TrimSpace(t.content(i))) == 0 }

// indent returns how many spaces line i begins with.
func (t text) indent(i int) int {
	line := t.content(i)
	return len(line) - len(bytes.TrimLeft(line, " "))
}

func (t text) skipBlank(at int) int {
	for at < len(t.data) && strings.IndexByte(" \t\r\n", t.data[at]) >= 0 {
		at++
	}
	return at
}

// end returns the offset right after n. outer is the indentation of what n stands in, -1 for the root.
func (t text) end(n Node, outer int) (int, error) {
	at, err := t.offset(n)
	switch {
	case err != nil:
		return 0, err
	case n.Form() == alias:
		return at + 1 + len(n.Anchor()), nil
	case n.Form() == flow:
		return t.flowEnd(n, at)
	case n.Form() != block:
		return t.scalarEnd(n, at, outer)
	case n.Kind() == Mapping:
		fields := n.Fields()
		return t.fieldEnd(fields[len(fields)-1], fields[0].Key.Column()-1)
	}
	items := n.Items()
	last := items[len(items)-1]
	if implicit(last) { // a dash with nothing after it
		return 0, errPlace(last)
	}
	return t.end(last, n.Column()-1)
}

// implicit reports a null that nobody wrote.
func implicit(n Node) bool {
	return n.Kind() == Null && n.Form() == plain && n.Text() == ""
}

// fieldEnd returns the offset right after a field's value, or after its colon where it has none.
func (t text) fieldEnd(f field, indent int) (int, error) {
	if !implicit(f.Value) {
		return t.end(f.Value, indent)
	}
	if f.Value.Anchor() != "" {
		return 0, errPlace(f.Value)
	}
	return t.colon(f.Key, indent)
}

// colon returns the offset right after the colon of a key; in a flow mapping a key can do without, and then it is the key's end.
func (t text) colon(key Node, indent int) (int, error) {
	end, err := t.end(key, indent)
	if err != nil {
		return 0, err
	}
	if at := t.skipBlank(end); at < len(t.data) && t.data[at] == ':' {
		return at + 1, nil
	}
	return end, nil
}

func (t text) scalarEnd(n Node, at, outer int) (int, error) {
	if at >= len(t.data) {
		return 0, errPlace(n)
	}
	switch n.Form() {
	case literal:
		return t.blockEnd(at, outer), nil
	case doubleQuoted:
		for i := at + 1; i < len(t.data); i++ {
			switch t.data[i] {
			case '\\':
				i++
			case '"':
				return i + 1, nil
			}
		}
	case singleQuoted:
		for i := at + 1; i < len(t.data); i++ {
			if t.data[i] != '\'' {
				continue
			}
			if i+1 >= len(t.data) || t.data[i+1] != '\'' {
				return i + 1, nil
			}
			i++ // a quote inside is written twice
		}
	default:
		return t.plainEnd(n, at)
	}
	return 0, errPlace(n)
}

// plainEnd follows a plain scalar through its lines: nothing in it is escaped, and only white space is folded.
func (t text) plainEnd(n Node, at int) (int, error) {
	for _, word := range strings.Fields(n.Text()) {
		at = t.skipBlank(at)
		if !bytes.HasPrefix(t.data[min(at, len(t.data)):], []byte(word)) {
			return 0, errPlace(n)
		}
		at += len(word)
	}
	return at, nil
}

// blockEnd returns the end of a | or > scalar whose indicator stands at offset at. Blank lines after it are its own only when it keeps them.
func (t text) blockEnd(at, outer int) int {
	first := t.line(at)
	header, _, _ := bytes.Cut(t.data[at:t.lineEnd(first)], []byte{' '})
	indent, last := 0, first
	if i := bytes.IndexAny(header, "123456789"); i >= 0 {
		indent = max(outer, 0) + int(header[i]-'0')
	}
	i := first + 1
	for ; i < len(t.starts); i++ {
		if t.blank(i) {
			continue
		}
		if indent == 0 {
			indent = max(t.indent(i), outer+1)
		}
		if t.indent(i) < indent {
			break
		}
		last = i
	}
	if bytes.IndexByte(header, '+') >= 0 {
		last = max(last, i-1)
		if last > first && t.starts[last] == len(t.data) {
			last-- // what follows the document's last line break is no line
		}
	}
	return t.lineEnd(last)
}

// flowEnd returns the offset after the bracket that closes what is open at offset at.
func (t text) flowEnd(n Node, at int) (int, error) {
	single := n.Kind() == Mapping && !t.is(at, '{') // the a: b of [a: b]
	if !single {
		at++
	}
	end, err := t.membersEnd(n, at)
	if err != nil || single {
		return end, err
	}
	for ; end < len(t.data); end++ {
		switch t.data[end] {
		case '#':
			end = t.lineEnd(t.line(end)) - 1
		case '}', ']':
			return end + 1, nil
		}
	}
	return 0, errPlace(n)
}

// membersEnd returns the offset after the last member of a flow collection, or at where it has none.
func (t text) membersEnd(n Node, at int) (int, error) {
	if fields := n.Fields(); len(fields) > 0 {
		return t.fieldEnd(fields[len(fields)-1], -1)
	}
	if items := n.Items(); len(items) > 0 {
		if implicit(items[len(items)-1]) {
			return 0, errPlace(n)
		}
		return t.end(items[len(items)-1], -1)
	}
	return at, nil
}

func (t text) is(at int, b byte) bool { return at >= 0 && at < len(t.data) && t.data[at] == b }
