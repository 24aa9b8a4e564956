package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
)

// Whatever garbage comes before, requests on lines of their own behind it are delivered, each once and in
// order, even if the garbage is a value that could go on; only a Content-Length can claim them. Where reads
// end makes no difference.
func FuzzReader(f *testing.F) {
	for _, c := range append(readCases(), messageCases()...) {
		if len(c.in) < 4096 {
			f.Add([]byte(c.in))
		}
	}
	f.Fuzz(func(t *testing.T, garbage []byte) {
		const marks = 3
		in := bytes.Clone(garbage)
		in = append(in, '\n')
		for i := range marks {
			in = append(in, request(9000+i)...)
			in = append(in, '\n')
		}
		whole := read(t, bytes.NewReader(in))
		if pieces := read(t, iotest.OneByteReader(bytes.NewReader(in))); !equal(whole, pieces) {
			t.Fatalf("%q\nread whole: %q\nin pieces:  %q", in, whole, pieces)
		}
		if announcesMore(garbage) {
			return
		}
		last := strings.Join(whole[max(0, len(whole)-marks):], " ")
		if last != "m#9000 m#9001 m#9002" {
			t.Fatalf("%q\nlost a request: %q", in, whole)
		}
	})
}

// announcesMore reports whether a header in text may rightly claim what follows text.
func announcesMore(text []byte) bool {
	return bytes.Contains(bytes.ToLower(text), []byte("content-length"))
}

func equal(a, b []string) bool {
	return strings.Join(a, "\x00") == strings.Join(b, "\x00")
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
