package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The letters of other alphabets, and of Latin beyond ASCII, that stand for one of ASCII in most fonts, and below each the one that it stands for.
var (
	standIns = []rune(alike + "ıĸƄƖǀȷɑɡɩɪʋʏᴄᴏᴜᴠᴡᴢꜱ" + "ոսօցհԼՕ")
	standFor = []rune("aeijkopcdhqswxylbABEIJKMHOPCGSTXYYQW3I" + "ayikvoptuxcjwABEZHIKMNOPTYXCj" + "ikblljagiivycouvwzs" + "nuoghLO")
)

// latinOf are they by letter.
var latinOf = func() map[rune]rune {
	out := make(map[rune]rune, len(standIns))
	for i, r := range standIns {
		out[r] = standFor[i]
	}
	return out
}()

// Latin returns a text as it reads: letters that stand for one of ASCII are that one, punctuation that reads as that of ASCII likewise, and what nobody sees, or
// stands upon a letter, is gone. It is for looking for words, and not for showing: other languages lose their letters to it.
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
