package sandbox

import (
	"strconv"
	"strings"
)

// stages returns the stages of git clone, with each one's part of the whole; the last one ends at 100.
func stages() []struct {
	words, what string
	from, to    int
} {
	return []struct {
		words, what string
		from, to    int
	}{
		{"Enumerating objects", "counting objects", 0, 2},
		{"Counting objects", "counting objects", 2, 5},
		{"Compressing objects", "compressing objects", 5, 10},
		{"Writing objects", "copying objects", 10, 90}, // of a repository on this machine
		{"Receiving objects", "receiving objects", 10, 70},
		{"Resolving deltas", "resolving deltas", 70, 90},
		{"Updating files", "writing files", 90, 100},
	}
}

// CloneProgress parses the standard error of git clone --progress, piece by piece. Its zero value is ready.
type CloneProgress struct {
	// Tell is called when the percentage of the whole has grown, or another stage has begun. The percentage never shrinks.
	Tell func(percent int, what string)

	line    []byte
	percent int
	what    string
}

const longest = 4 << 10 // bytes of a line that are examined

// Write accepts everything and never fails.
func (p *CloneProgress) Write(b []byte) (int, error) {
	for _, c := range b {
		switch {
		case c == '\r' || c == '\n':
			p.read(string(p.line))
			p.line = p.line[:0]
		case len(p.line) < longest:
			p.line = append(p.line, c)
		}
	}
	return len(b), nil
}

func (p *CloneProgress) read(line string) {
	words, rest, ok := strings.Cut(strings.TrimPrefix(line, "remote: "), ":")
	digits, _, percent := strings.Cut(strings.TrimSpace(rest), "%")
	n, err := strconv.Atoi(digits)
	if !ok || !percent || err != nil || n < 0 || n > 100 {
		return
	}
	for _, s := range stages() {
		if s.words != words {
			continue
		}
		whole := max(p.percent, s.from+n*(s.to-s.from)/100)
		if whole > p.percent || s.what != p.what {
			p.percent, p.what = whole, s.what
			if p.Tell != nil {
				p.Tell(whole, s.what)
			}
		}
	}
}
