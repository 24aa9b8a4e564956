package projectfile

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of brace expansion. A word beyond them stays as it is written.
const (
	maxBraces = 32  // words that one becomes; of more of them the first ones stand for all
	maxPieces = 64  // parts of a word with braces
	maxExtra  = 256 // words with braces and what they become, in all
)

// braces returns the words that one with {a,b} in it becomes in bash; other shells leave it as it is, which changes no program's name to
// another one that exists.
func (w *walker) braces(word *syntax.Word) []*syntax.Word {
	split := *word
	split.Parts = slices.Clone(word.Parts)
	syntax.SplitBraces(&split)
	if !slices.ContainsFunc(split.Parts, func(p syntax.WordPart) bool { _, is := p.(*syntax.BraceExp); return is }) {
		return []*syntax.Word{word}
	}
	w.extra++
	if w.extra >= maxExtra || len(split.Parts) > maxPieces {
		return []*syntax.Word{word}
	}
	var out []*syntax.Word
	for _, parts := range expand(split.Parts) {
		out = append(out, &syntax.Word{Parts: parts})
	}
	w.extra += len(out)
	return out
}

func expand(parts []syntax.WordPart) [][]syntax.WordPart {
	out := [][]syntax.WordPart{nil}
	for _, p := range parts {
		choices := [][]syntax.WordPart{{p}}
		if brace, ok := p.(*syntax.BraceExp); ok {
			choices = nil
			for _, elem := range brace.Elems {
				choices = append(choices, expand(elem.Parts)...)
			}
		}
		var next [][]syntax.WordPart
		for _, left := range out {
			for _, right := range choices {
				if len(next) < maxBraces {
					next = append(next, slices.Concat(left, right))
				}
			}
		}
		out = next
	}
	return out
}

// ansi returns the text of $'…'.
func ansi(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if at := strings.IndexByte(`abefnrtvE`, text[i]); at >= 0 {
			b.WriteByte("\a\b\x1b\f\n\r\t\v\x1b"[at])
			continue
		}
		base, width, from := 8, 3, i
		switch text[i] {
		case 'x':
			base, width, from = 16, 2, i+1
		case 'u':
			base, width, from = 16, 4, i+1
		case 'U':
			base, width, from = 16, 8, i+1
		}
		to := from
		for to < len(text) && to-from < width && digit(text[to], base) {
			to++
		}
		n, err := strconv.ParseUint(text[from:to], base, 32)
		if err != nil { // \\ \' \" and what has no meaning
			b.WriteByte(text[i])
			continue
		}
		if base == 16 && width > 2 {
			b.WriteRune(rune(n))
		} else {
			b.WriteByte(byte(n))
		}
		i = to - 1
	}
	return strings.ReplaceAll(b.String(), "\x00", "")
}

func digit(b byte, base int) bool {
	return '0' <= b && b <= '7' || base == 16 && ('8' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F')
}
