package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
)

// After any bytes and a newline, a ping is answered: it is delivered as soon as its own line has ended, without anything more having to
// come, and so are those behind it, each once and in order. Where reads end makes no difference.
func FuzzReader(f *testing.F) {
	for _, c := range append(readCases(), messageCases()...) {
		if len(c.in) < 4096 {
			f.Add([]byte(c.in))
		}
	}
	for _, text := range []string{
		"[", "[\n", "{\"a\":", "[[{\"a\":[\n1,\n", "[" + request(1) + ",", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":`, "\"", "{\"", "\xef\xbb",
		strings.Repeat("[", 1100), strings.Repeat("[", 1100) + "\n\"", strings.Repeat(`{"a":`, 1001), strings.Repeat("[", 1000), strings.Repeat("[", 1000) + "{\"", "X: y", "Content-Length: 5", "Content-Length: 5\n",
		"Content-Length: 5\n\n", "Content-Length: 5\n\n{", "Content-Length: 44\n", "Content-Length: 45\n\n", "Content-Length: 999\n\n", "Content-Length: 999\n\n[1,\n", "Content-Length: 2000000\n\n",
		"Content-Length: 2000000\n\n[[", "Content-Length: 2000000\n\nX\n", "Content-Length: 2000000\n\n{", "Content-Length: 99\n\n\xef\xbb\n", "Content-Length: 999\n\n" + strings.Repeat("[", 1100) + "\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(pingsGetThrough)
}

// TestNoLengthTakesAPing: wherever a frame of a wrong length ends, before, inside of or behind the pings.
func TestNoLengthTakesAPing(t *testing.T) {
	for _, begin := range []string{"", "\n", "[1,\n", "{\"a\":", "{\"a\":\n", "{}\n", "[[\n [1],\n", "x\n", strings.Repeat("[", 1100) + "\n"} {
		for length := range 150 {
			pingsGetThrough(t, fmt.Appendf(nil, "Content-Length: %d\n\n%s", length, begin))
			pingsGetThrough(t, fmt.Appendf(nil, "Content-Length: %d\n\n%s", length+len(begin), begin))
		}
	}
}

func pingsGetThrough(t *testing.T, garbage []byte) {
	in := append(bytes.Clone(garbage), '\n')
	for id := range 3 {
		in = fmt.Appendf(in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", 9000+id)
	}
	whole := answeredAtOnce(t, in, len(in))
	if pieces := answeredAtOnce(t, in, 1); !slices.Equal(whole, pieces) {
		t.Fatalf("%q\nread whole: %q\nin pieces:  %q", in, whole, pieces)
	}
	last := strings.ReplaceAll(strings.Join(whole[max(0, len(whole)-3):], " "), "/f", "") // one may be the body of a frame
	if last != "ping#9000 ping#9001 ping#9002" {
		t.Fatalf("%q\nlost a ping: %q", in, whole)
	}
}

// answeredAtOnce returns a word for every message that a reader of in delivers before it asks for more than there is.
func answeredAtOnce(t *testing.T, in []byte, step int) (words []string) {
	src := &trickle{rest: in, step: step}
	for r := wire.NewReader(src); ; {
		m, err := r.Next()
		if src.dry {
			return words
		}
		if err != nil {
			t.Fatalf("%q\nended with %v", in, err)
		}
		words = append(words, word(m))
	}
}

// trickle gives a few bytes at a time, and knows when it was asked for more than it has.
type trickle struct {
	rest []byte
	step int
	dry  bool
}

func (s *trickle) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		s.dry = true
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// An object is taken exactly when encoding/json takes it.
func FuzzGrammar(f *testing.F) {
	for _, c := range messageCases() {
		if len(c.in) < 4096 {
			f.Add(c.in)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "\n", " ")
		if !strings.HasPrefix(text, "{") {
			return
		}
		m, err := wire.NewReader(strings.NewReader(text)).Next()
		if err == io.EOF {
			t.Fatal("nothing was read")
		}
		if taken := !strings.HasPrefix(m.Problem, "not JSON"); json.Valid([]byte(text)) && !taken {
			t.Fatalf("%q was refused: %s", text, m.Problem)
		}
		if !json.Valid([]byte(text)) && m.Kind == wire.Request {
			dec := json.NewDecoder(strings.NewReader(text))
			var first json.RawMessage
			if dec.Decode(&first) != nil {
				t.Fatalf("%q was taken", text)
			}
		}
		if m.ID != nil && !json.Valid(m.ID) {
			t.Fatalf("%q has the id %q", text, m.ID)
		}
	})
}
