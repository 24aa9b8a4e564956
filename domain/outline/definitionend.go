package outline

import "strings"

// maxExtent is how far the end of a definition is looked for.
const maxExtent = 400

// unclosed is how many more lines belong to a definition whose end cannot be made out.
const unclosed = 20

// last returns the index of the last line of the definition that begins at line i.
func (g grammar) last(lines []string, i int) int {
	limit := min(len(lines), i+maxExtent)
	end := i
	switch g.end {
	case braces:
		end = closed(lines[:limit], i, g.hash)
	case indented:
		end = deeper(lines[:limit], i)
	case keyword:
		end = ended(lines[:limit], i)
	case statement:
		for end < limit-1 && !strings.Contains(lines[end], ";") {
			end++
		}
	case paragraph:
		for end < limit-1 && strings.TrimSpace(lines[end+1]) != "" {
			end++
		}
	}
	for end > i && strings.TrimSpace(lines[end]) == "" {
		end--
	}
	return end
}

// closed returns where the brackets opened from line i on are closed again.
func closed(lines []string, i int, hash bool) int {
	depth, inComment := 0, false
	for n := i; n < len(lines); n++ {
		var change int
		change, inComment = brackets(lines[n], inComment, hash)
		depth += change
		if depth <= 0 && !inComment && !goesOn(lines, n) {
			return n
		}
	}
	return min(i+unclosed, len(lines)-1)
}

// goesOn reports a line at depth zero after which the definition has not ended: an open clause, or a body that begins below.
func goesOn(lines []string, n int) bool {
	t := strings.TrimSpace(lines[n])
	for _, open := range []string{",", "=", "|", "&", ":", "->", "=>"} {
		if strings.HasSuffix(t, open) {
			return true
		}
	}
	if n+1 >= len(lines) {
		return false
	}
	next := strings.TrimSpace(lines[n+1])
	return strings.HasPrefix(next, "{") || strings.HasPrefix(next, "where ") || next == "where"
}

// brackets returns by how much a line changes the depth, outside strings and comments.
func brackets(line string, inComment, hash bool) (int, bool) {
	depth := 0
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		two := line[i:min(i+2, len(line))]
		switch {
		case inComment:
			if two == "*/" {
				inComment = false
				i++
			}
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case two == "//" || c == '#' && hash:
			return depth, false
		case two == "/*":
			inComment = true
			i++
		case c == '"' || c == '`':
			quote = c
		case c == '\'': // a character, or a lifetime or apostrophe that never closes
			if end := strings.IndexByte(line[i+1:], '\''); end >= 0 && (end <= 4 || !strings.ContainsAny(line[i+1:i+1+end], " ,<>")) {
				i += end + 1
			}
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		}
	}
	return depth, inComment
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// deeper returns the last line that is indented below line i, after a head that may span lines.
func deeper(lines []string, i int) int {
	depth, end, head := 0, i, true
	for n := i; n < len(lines); n++ {
		if head {
			change, _ := brackets(lines[n], false, true)
			depth += change
			head, end = depth > 0, n
			continue
		}
		if strings.TrimSpace(lines[n]) == "" {
			continue
		}
		if indent(lines[n]) <= indent(lines[i]) {
			break
		}
		end = n
	}
	return end
}

// ended returns the line "end" at the indentation of line i.
func ended(lines []string, i int) int {
	for n := i + 1; n < len(lines); n++ {
		t := strings.TrimSpace(lines[n])
		if (t == "end" || strings.HasPrefix(t, "end ")) && indent(lines[n]) == indent(lines[i]) {
			return n
		}
	}
	return i
}
