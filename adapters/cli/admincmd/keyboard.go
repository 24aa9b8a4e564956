package admincmd

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Key is one key that was pressed, or a text that was pasted.
type Key struct {
	Kind  KeyKind
	Rune  rune   // of Printed
	Paste string // of Pasted
}

// Is reports that key, or that character. Unknown is no key.
func (k Key) Is(other KeyKind, r rune) bool {
	return k.Kind == KeyRune && k.Rune == r || other != KeyUnknown && k.Kind == other
}

// KeyKind is which key it is.
type KeyKind uint8

// The kinds.
const (
	KeyUnknown KeyKind = iota
	KeyRune            // a character
	KeyUp
	KeyDown
	KeyLeft
	KeyRight
	KeyPageUp
	KeyPageDown
	KeyHome
	KeyEnd
	KeyEnter
	KeyEscape
	KeyBackspace
	KeyInterrupt // Ctrl-C, Ctrl-D
	KeySuspend   // Ctrl-Z
	KeyRedraw    // Ctrl-L
	KeyPaste
)

// What terminals put around a text that is pasted, once they are asked to.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// maxPaste bounds a pasted text, in bytes; what is longer is nobody's name and nobody's reason.
const maxPaste = 8192

// KeyDecoder makes keys of bytes. Sequences may come in any pieces. The zero Decoder is ready.
type KeyDecoder struct{ rest []byte }

// Feed takes bytes in, and gives the keys that are whole.
func (d *KeyDecoder) Feed(data []byte) (keys []Key) {
	d.rest = append(d.rest, data...)
	for len(d.rest) > 0 {
		k, n := next(d.rest)
		if n == 0 {
			break
		}
		d.rest = d.rest[n:]
		if k.Kind != KeyUnknown {
			keys = append(keys, k)
		}
	}
	d.drop()
	return keys
}

// Waiting reports the beginning of a sequence of which nothing more has come.
func (d *KeyDecoder) Waiting() bool { return len(d.rest) > 0 }

// Flush gives up waiting: a lone escape is the key, and any other beginning is nothing.
func (d *KeyDecoder) Flush() (keys []Key) {
	if len(d.rest) == 1 && d.rest[0] == 0x1b {
		keys = []Key{{Kind: KeyEscape}}
	}
	if !bytes.HasPrefix(d.rest, []byte(pasteBegins)) { // the end of a paste comes, however slowly
		d.rest = nil
	}
	return keys
}

// next is the first key, and how many bytes it is; none while it is not whole.
func next(data []byte) (Key, int) {
	switch c := data[0]; {
	case c == 0x1b:
		return sequence(data)
	case c == '\r' || c == '\n':
		return Key{Kind: KeyEnter}, 1
	case c == 0x7f || c == 0x08:
		return Key{Kind: KeyBackspace}, 1
	case c == 0x03 || c == 0x04:
		return Key{Kind: KeyInterrupt}, 1
	case c == 0x1a:
		return Key{Kind: KeySuspend}, 1
	case c == 0x0c:
		return Key{Kind: KeyRedraw}, 1
	case c < ' ':
		return Key{}, 1
	}
	if !utf8.FullRune(data) {
		return Key{}, 0
	}
	r, n := utf8.DecodeRune(data)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return Key{}, n
	}
	return Key{Kind: KeyRune, Rune: r}, n
}

// sequence is a key that begins with an escape.
func sequence(data []byte) (Key, int) {
	if len(data) == 1 {
		return Key{}, 0
	}
	if bytes.HasPrefix(data, []byte(pasteBegins)) {
		return paste(data)
	}
	switch data[1] {
	case '[':
		for i := 2; i < len(data); i++ {
			if c := data[i]; c >= 0x40 && c <= 0x7e {
				return Key{Kind: named(string(data[2 : i+1]))}, i + 1
			}
		}
		if len(data) > 32 { // no terminal sends that
			return Key{}, len(data)
		}
		return Key{}, 0
	case 'O':
		if len(data) == 2 {
			return Key{}, 0
		}
		return Key{Kind: named(string(data[2:3]))}, 3
	case 0x1b:
		return Key{Kind: KeyEscape}, 1
	}
	return Key{}, 2 // Alt and a character: nothing here listens to that
}

// named are the keys by what follows the escape and the bracket.
func named(name string) KeyKind {
	switch name {
	case "A":
		return KeyUp
	case "B":
		return KeyDown
	case "C":
		return KeyRight
	case "D":
		return KeyLeft
	case "H", "1~", "7~":
		return KeyHome
	case "F", "4~", "8~":
		return KeyEnd
	case "5~":
		return KeyPageUp
	case "6~":
		return KeyPageDown
	}
	return KeyUnknown
}

func paste(data []byte) (Key, int) {
	text := data[len(pasteBegins):]
	at := bytes.Index(text, []byte(pasteEnds))
	if at < 0 {
		return Key{}, 0
	}
	return Key{Kind: KeyPaste, Paste: string(text[:min(at, maxPaste)])}, len(pasteBegins) + at + len(pasteEnds)
}

// forget drops the middle of a paste that is longer than anything here takes. Its end may have begun.
func (d *KeyDecoder) drop() {
	const kept = len(pasteBegins) + maxPaste
	if tail := len(pasteEnds); len(d.rest) > kept+tail && bytes.HasPrefix(d.rest, []byte(pasteBegins)) {
		d.rest = append(d.rest[:kept:kept], d.rest[len(d.rest)-tail:]...)
	}
}
