package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Letters of other alphabets, and Latin letters beyond ASCII, that look like an ASCII letter in most fonts, and below each that letter.
var (
	standIns = []rune(alike + "ıĸƄƖǀȷɑɡɩɪʋʏᴄᴏᴜᴠᴡᴢꜱ" + "ոսօցհԼՕ")
	standFor = []rune("aeijkopcdhqswxylbABEIJKMHOPCGSTXYYQW3I" + "ayikvoptuxcjwABEZHIKMNOPTYXCj" + "ikblljagiivycouvwzs" + "nuoghLO")
)

// latinOf maps each of these letters to its ASCII letter.
var latinOf = func() map[rune]rune {
	out := make(map[rune]rune, len(standIns))
	for i, r := range standIns {
		out[r] = standFor[i]
	}
	return out
}()

// Latin returns a text as it reads: letters and punctuation that look like ASCII become ASCII, and invisible characters and combining marks are
// removed. It is for word searches, not for display: it removes letters of other languages.
func Latin(s string) string {
	if plain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
				return -1
			}
			return r
		case latinOf[r] != 0:
			return latinOf[r]
		case reads(r) != 0:
			return rune(reads(r))
		case unicode.Is(unicode.Mn, r), shapeless(r) && !posing(r):
			return -1
		case unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, s)
}
