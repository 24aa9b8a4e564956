package admincmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/admincmd"
)

func TestKeys(t *testing.T) {
	for bytes, want := range map[string][]admincmd.KeyKind{
		"\x1b[A\x1b[B\x1b[C\x1b[D": {admincmd.KeyUp, admincmd.KeyDown, admincmd.KeyRight, admincmd.KeyLeft},
		"\x1bOA\x1bOB":             {admincmd.KeyUp, admincmd.KeyDown},
		"\x1b[5~\x1b[6~":           {admincmd.KeyPageUp, admincmd.KeyPageDown},
		"\x1b[H\x1b[4~\x1b[1~":     {admincmd.KeyHome, admincmd.KeyEnd, admincmd.KeyHome},
		"\r\n":                     {admincmd.KeyEnter, admincmd.KeyEnter},
		"\x7f\x08":                 {admincmd.KeyBackspace, admincmd.KeyBackspace},
		"\x03\x04\x1a\x0c":         {admincmd.KeyInterrupt, admincmd.KeyInterrupt, admincmd.KeySuspend, admincmd.KeyRedraw},
		"\x1b\x1b[A":               {admincmd.KeyEscape, admincmd.KeyUp},
		"\x1b[1;5A\x1b[<0;1;1M":    {}, // with Ctrl; a mouse
		"\x1bx":                    {}, // Alt
		"\x00\x01\xff":             {},
		"é漢":                       {admincmd.KeyRune, admincmd.KeyRune},
		"\x1b":                     {admincmd.KeyEscape},
		"\x1b[":                    {},
	} {
		var whole, pieces admincmd.KeyDecoder
		got := append(whole.Feed([]byte(bytes)), whole.Flush()...)
		var inPieces []admincmd.Key
		for i := range len(bytes) {
			inPieces = append(inPieces, pieces.Feed([]byte{bytes[i]})...)
		}
		inPieces = append(inPieces, pieces.Flush()...)
		assert.Equal(t, got, inPieces, "%q", bytes)
		kinds := []admincmd.KeyKind{}
		for _, k := range got {
			kinds = append(kinds, k.Kind)
		}
		assert.Equal(t, want, kinds, "%q", bytes)
		assert.False(t, whole.Waiting())
	}
}

func TestPaste(t *testing.T) {
	var d admincmd.KeyDecoder
	keys := d.Feed([]byte("x\x1b[200~a\x1b[A\rq\x1b[2"))
	assert.Equal(t, []admincmd.Key{{Kind: admincmd.KeyRune, Rune: 'x'}}, keys)
	assert.Empty(t, d.Flush(), "its end is waited for")
	keys = d.Feed([]byte("01~y"))
	assert.Equal(t, []admincmd.Key{{Kind: admincmd.KeyPaste, Paste: "a\x1b[A\rq"}, {Kind: admincmd.KeyRune, Rune: 'y'}}, keys)

	d.Feed([]byte("\x1b[200~" + strings.Repeat("z", 100_000)))
	keys = d.Feed([]byte(strings.Repeat("z", 100_000) + "\x1b[201~q"))
	assert.Len(t, keys, 2)
	assert.LessOrEqual(t, len(keys[0].Paste), 9000)
	assert.Equal(t, 'q', keys[1].Rune)
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[200~a\x1b[201~\x1b[A"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d admincmd.KeyDecoder
		for _, k := range append(d.Feed(data), d.Flush()...) {
			assert.NotEqual(t, admincmd.KeyUnknown, k.Kind)
		}
	})
}
