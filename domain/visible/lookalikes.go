package visible

import (
	"strings"
	"unicode/utf8"
)

// posing reports a letter or digit that stands only for an ASCII one: mathematical bold, italic and double-struck letters, the digits of old
// terminals, and the signs of units and constants that are Latin letters. Information (ℹ) is not one: it is an emoji.
func posing(r rune) bool {
	switch {
	case r < 0x2102:
		return false
	case r >= 0x1d400 && r <= 0x1d6a5, r >= 0x1d7ce && r <= 0x1d7ff, r >= 0x1fbf0 && r <= 0x1fbf9:
		return true
	case r >= 0x1d6a8 && r <= 0x1d7cb: // Greek, in five styles: capitals that look like Latin ones, and omicron
		return strings.ContainsRune("\x00\x01\x04\x05\x06\x08\x09\x0b\x0c\x0e\x10\x13\x14\x16\x28", (r-0x1d6a8)%58)
	case r > 0x2149:
		return false
	}
	return strings.ContainsRune("ℂℊℋℌℍℎℐℑℒℓℕℙℚℛℜℝℤℨ\u212aℬℭℯℰℱℳℴⅅⅆⅇⅈⅉ", r)
}

// wide reports a fullwidth ASCII letter or digit.
func wide(r rune) bool {
	return r >= '０' && r <= '９' || r >= 'Ａ' && r <= 'Ｚ' || r >= 'ａ' && r <= 'ｚ'
}

// asciiLike reports a Latin letter, a ligature or a Roman numeral that most fonts draw like ASCII letters.
func asciiLike(r rune) bool {
	return r >= 0x131 && r <= 0xfb06 && strings.ContainsRune("ıĸſƄƖƧƽǀǃȷɑɡɩɪʋʏᴄᴏᴜᴠᴡᴢꜱ"+"ⅠⅤⅩⅬⅭⅮⅯⅰⅴⅹⅼⅽⅾⅿ"+"ﬀﬁﬂﬃﬄﬅﬆ", r)
}

// reads returns the ASCII punctuation that r looks like in most fonts; 0 for none. Dashes and quotation marks of ordinary prose have none, nor do
// characters as wide as a Chinese one.
func reads(r rune) byte {
	if r < 0x2cb {
		return 0
	}
	switch r {
	case 0x1735, 0x2041, 0x2044, 0x2215, 0x2571, 0x27cb, 0x29f8, 0x2f03, 0x3033, 0x31d3, 0x1d23a:
		return '/'
	case 0x2216, 0x2572, 0x27cd, 0x29f5, 0x29f9, 0x2f02, 0x31d4, 0xfe68, 0x1d20f, 0x1d23b:
		return '\\'
	case 0x0701, 0x0702, 0x2024, 0xa4f8, 0xa60e, 0xfe52, 0x10a50, 0x1d16d:
		return '.'
	case 0x02d7, 0x06d4, 0x2010, 0x2011, 0x2012, 0x2043, 0x2212, 0xfe58, 0xfe63:
		return '-'
	case 0x02d0, 0x02f8, 0x0589, 0x05c3, 0x0703, 0x0704, 0x16ec, 0x1803, 0x1809, 0x205a, 0x2236, 0xa4fd, 0xa789, 0xfe13, 0xfe30, 0xfe55:
		return ':'
	case 0x037e, 0xfe14, 0xfe54:
		return ';'
	case 0x055a, 0x1fbd, 0x1fbf:
		return '\''
	case 0x02cb, 0x1fef, 0x2035:
		return '`'
	case 0x05c0, 0x2223, 0x2758, 0xffe8:
		return '|'
	case 0x02dc, 0x1fc0, 0x2053, 0x223c:
		return '~'
	case 0xfe4d, 0xfe4e, 0xfe4f:
		return '_'
	case 0xa78a:
		return '='
	}
	return 0
}

// misleads reports whether the signs s[from:to], all of which look like punctuation, mislead in their position: between characters of ASCII names,
// and not in a fraction or a range of numbers. It ignores what is before floor: it is a mark.
func misleads(s string, floor, from, to int) bool {
	if from == floor || to == len(s) || !namely(s[from-1]) || !namely(s[to]) {
		return false
	}
	r, n := utf8.DecodeRuneInString(s[from:])
	switch { // prose: "plug‑in" with a non-breaking hyphen, "UTC−5"
	case n != to-from:
	case (r == 0x2010 || r == 0x2011) && endsWord(s[floor:from]) && beginsWord(s[to:]), r == 0x2212 && digit(s[to]) && endsWord(s[floor:from]):
		return false
	}
	if kind := reads(r); n == to-from && (kind == '/' || kind == '-' || kind == ':') && digit(s[from-1]) && digit(s[to]) {
		return !endsNumber(s[floor:from]) || !beginsNumber(s[to:])
	}
	return true
}

// namely reports whether c is a character of paths, host names, options and commands.
func namely(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit(c) || strings.IndexByte("/.-_:", c) >= 0
}

// endsWord reports whether the letters at the end of s are a word of prose, not part of an option, a path or a host name.
func endsWord(s string) bool {
	rest := strings.TrimRightFunc(s, asciiLetter)
	return rest != s && (rest == "" || !namely(rest[len(rest)-1]))
}

// beginsWord is the same for the letters at the beginning of s. A sentence may end after them.
func beginsWord(s string) bool {
	rest := strings.TrimLeftFunc(s, asciiLetter)
	return rest != s && (rest == "" || !namely(rest[0]) || strings.IndexByte(".:", rest[0]) >= 0 && (len(rest) == 1 || !namely(rest[1])))
}

func asciiLetter(r rune) bool { return r < utf8.RuneSelf && letter(byte(r)) }

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// endsNumber reports whether the digits at the end of s are a number, not part of a name: "0.5" and ".5" are one, "v2" and "10.0.0.1" are not.
func endsNumber(s string) bool {
	s = strings.TrimRight(s, "0123456789")
	if n := len(s); n > 0 && (s[n-1] == '.' || s[n-1] == ',') {
		s = strings.TrimRight(s[:n-1], "0123456789")
	}
	return s == "" || !namely(s[len(s)-1]) || s[len(s)-1] == '-'
}

// beginsNumber is the same for the digits at the beginning of s. A unit may follow ("20ms"), a file name may not ("2.txt").
func beginsNumber(s string) bool {
	s = strings.TrimLeft(s, "0123456789")
	if len(s) > 1 && (s[0] == '.' || s[0] == ',') && digit(s[1]) {
		s = strings.TrimLeft(s[1:], "0123456789")
	}
	switch {
	case s == "":
		return true
	case s[0] == '.':
		return len(s) == 1 || !namely(s[1])
	}
	return strings.IndexByte("/_:", s[0]) < 0
}
