package redact_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/domain/redact"
)

// seeds are the harmless lines, and the corpus with one text a row and shape.
func seeds() []string {
	m := maker{rand.New(rand.NewPCG(1, 1))}
	out := append([]string{"", "[REDACTED:assignment]", "token=x[REDACTED:jwt]y"}, harmless...)
	for _, row := range corpus() {
		for _, shape := range shapes {
			out = append(out, row.in(shape, row.make(m).core)...)
		}
	}
	return out
}

// Masking what is masked changes nothing, and what is said to be clean is.
func FuzzText(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	r := redact.New(redact.Options{Known: []string{"tulip-mania-1637"}, Home: "/home/ann"})
	f.Fuzz(func(t *testing.T, s string) {
		out, n := r.Text(s)
		if n == 0 && out != s {
			t.Fatalf("nothing found, and yet %q became %q", s, out)
		}
		if again, more := r.Text(out); again != out || more != 0 {
			t.Fatalf("%q became %q and then %q", s, out, again)
		}
		if clean := redact.Clean(s); redact.Clean(clean) != clean {
			t.Fatalf("cleaning %q twice differs", s)
		}
	})
}

// As many lines come out as go in, and they are what Text says unless a private key spans them.
func FuzzLines(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	r := redact.New(redact.Options{})
	f.Fuzz(func(t *testing.T, s string) {
		in := strings.Split(s, "\n")
		out, n := r.Lines(in)
		if len(out) != len(in) {
			t.Fatalf("%d lines became %d", len(in), len(out))
		}
		text, m := r.Text(s)
		if n != m || !strings.Contains(text, "private_key") && strings.Join(out, "\n") != text {
			t.Fatalf("lines say %q, text says %q", out, text)
		}
	})
}

// A document keeps its shape: the same keys in the same order, the same numbers; only strings change, and values that a name calls secret.
func FuzzJSON(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Add(`{"a":[1,{"token":{"b":[true,null,"x"]}},"{\"password\":1}"],"":-0.10e+5,"\ud800":"\ud800"}`)
	r := redact.New(redact.Options{})
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		out, n, err := r.JSON([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && string(out) != s {
			t.Fatalf("nothing found, and yet %q became %q", s, out)
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q, which is no JSON", s, out)
		}
		if again, more, err := r.JSON(out); err != nil || string(again) != string(out) || more != 0 {
			t.Fatalf("%q became %q and then %q (%v)", s, out, again, err)
		}
		if a, b := skeleton(s), skeleton(string(out)); a != b {
			t.Fatalf("%q has the shape %s, %q has %s", s, a, out, b)
		}
	})
}

// skeleton is a document without the values of its strings, and without its masked numbers and booleans.
func skeleton(s string) string {
	d := json.NewDecoder(strings.NewReader(s))
	var b strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		if delim, ok := token.(json.Delim); ok {
			b.WriteString(delim.String())
			continue
		}
		b.WriteByte('.')
	}
}
