package packs

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/ports/packport"
)

const (
	keyLines = 200 // maximum distance of the beginning of a private key above an excerpt; the longest in use have about half as many lines
	keyRun   = 40  // length of a run of base64 characters that may be a piece of one
)

// keyLike reports whether text may be the inside of a private key that begins above it.
func keyLike(lines []string) bool {
	for _, l := range lines {
		if strings.Contains(l, "-----END ") {
			return true
		}
		run := 0
		for i := range len(l) {
			c := l[i]
			if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '/' || c == '=' {
				if run++; run >= keyRun {
					return true
				}
				continue
			}
			run = 0
		}
	}
	return false
}

// above reads the lines before line first that masking needs.
func (s SourceReader) above(ctx context.Context, at packport.Location, first int) (lines []string, err error) {
	if first <= 1 {
		return nil, nil
	}
	_, err = s.Excerpts.Read(ctx, at, max(1, first-keyLines), func(n int, line []byte) int {
		if n >= first {
			return 0
		}
		lines = append(lines, string(line))
		return n + 1
	})
	return lines, err
}

// mask returns the redacted text, judged together with the lines above it, and the number of secrets.
func (s SourceReader) mask(e pack.Evidence) ([]string, int) {
	if len(e.Above) == 0 {
		return s.Mask(e.Text)
	}
	whole, all := s.Mask(append(e.Above[:len(e.Above):len(e.Above)], e.Text...))
	text := whole[len(e.Above):]
	if _, before := s.Mask(e.Above); all > before {
		return text, all - before
	}
	for i, l := range text { // a key that begins above counts here if one of its lines is shown
		if l != e.Text[i] {
			return text, 1
		}
	}
	return text, 0
}
