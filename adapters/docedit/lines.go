package docedit

import (
	"bytes"
)

// slot returns the statement behind which a plain key of that table can stand on a line of its own, or -1.
func slot(statements []statement, table []string) int {
	for i, st := range statements {
		if st.header && !st.array && len(st.Key) == len(table) && within(st.Key, table) {
			return sectionEnd(statements, i)
		}
	}
	for i := len(statements) - 1; i >= 0; i-- { // a table made of dotted keys goes on with dotted keys
		st := statements[i]
		inTable := len(st.Key) > len(table) && within(st.Key, table) && st.table < len(table)
		if !st.header && (inTable || len(table) == 0 && st.section < 0) {
			return i
		}
	}
	return -1
}

// sectionEnd returns the last statement that stands under header i, or i itself.
func sectionEnd(statements []statement, i int) int {
	end := i
	for end+1 < len(statements) && !statements[end+1].header {
		end++
	}
	return end
}

// addLines writes lines where a line begins. At the end of a document without a last line end they have none either: by that Remove
// knows what was there.
func addLines(doc []byte, at int, text string) []byte {
	nl := lineEndOf(doc)
	if at > 0 && doc[at-1] != '\n' {
		return splice(doc, at, at, nl+text)
	}
	return splice(doc, at, at, text+nl)
}

// addSection writes a section and an empty line in front of it, behind the sections it belongs with, or at the end.
func addSection(doc []byte, statements []statement, path []string, text string) []byte {
	at, nl := place(doc, statements, path), lineEndOf(doc)
	if at == 0 {
		return addLines(doc, at, text)
	}
	return addLines(doc, at, nl+text)
}

// place returns where a section of that path goes: behind the last one that shares the longest part of it, and the comments there.
func place(doc []byte, statements []statement, path []string) int {
	for n := len(path); n > 0; n-- {
		for i := len(statements) - 1; i >= 0; i-- {
			if statements[i].header && within(statements[i].Key, path[:n]) {
				return pastComments(doc, statements[sectionEnd(statements, i)].to)
			}
		}
	}
	return len(doc)
}

// pastComments returns the end of the comment lines that begin at an offset, unless they lead up to the next header.
func pastComments(doc []byte, from int) int {
	at := from
	for at < len(doc) {
		end := nextLine(doc, at)
		switch line := bytes.TrimSpace(doc[at:end]); {
		case len(line) == 0:
			return at
		case line[0] != '#':
			return from
		}
		at = end
	}
	return at
}

// addFirst writes the first plain key of the root: above every header and the comment that belongs to it, below the words the
// document opens with.
func addFirst(doc []byte, statements []statement, line string) []byte {
	if len(statements) == 0 {
		return addLines(doc, len(doc), line)
	}
	at := statements[0].from
	for at > 0 {
		above := bytes.LastIndexByte(doc[:at-1], '\n') + 1
		if !bytes.HasPrefix(bytes.TrimSpace(doc[above:at]), []byte("#")) {
			break
		}
		at = above
	}
	if opening := bytes.TrimSpace(doc[:at]); len(opening) == 0 {
		return addLines(doc, at, line+lineEndOf(doc))
	}
	for above := at; blankText(doc[above:at]); above = bytes.LastIndexByte(doc[:at-1], '\n') + 1 {
		at = above
	}
	return addLines(doc, at, line)
}

// cutLine takes out a key with its lines. If it was the first of the root and nothing is above, so does the empty line addFirst left.
func cutLine(doc []byte, statements []statement, i int) []byte {
	st := statements[i]
	from, to := st.from, st.to
	others := 0
	for _, other := range statements {
		if other.section < 0 {
			others++
		}
	}
	if st.section < 0 && others == 1 && blankText(doc[:from]) {
		if next := nextLine(doc, to); emptyLine(doc[to:next]) {
			to = next
		}
	}
	return cut(doc, from, to)
}

// cutSection takes out a header, the keys under it and the empty line in front of it.
func cutSection(doc []byte, statements []statement, i int) []byte {
	from, to := statements[i].from, statements[sectionEnd(statements, i)].to
	if from > 0 {
		if above := bytes.LastIndexByte(doc[:from-1], '\n') + 1; emptyLine(doc[above:from]) {
			from = above
		}
	}
	return cut(doc, from, to)
}

// cut takes whole lines out. If the last one has no line end, the one that is last then has none.
func cut(doc []byte, from, to int) []byte {
	if to == len(doc) && to > 0 && doc[to-1] != '\n' {
		head := bytes.TrimSuffix(doc[:from], []byte("\n"))
		from = len(bytes.TrimSuffix(head, []byte("\r")))
	}
	return splice(doc, from, to, "")
}

func nextLine(doc []byte, at int) int {
	if n := bytes.IndexByte(doc[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(doc)
}

func emptyLine(line []byte) bool { return string(line) == "\n" || string(line) == "\r\n" }

func blankText(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
