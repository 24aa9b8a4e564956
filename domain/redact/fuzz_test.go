package redact_test

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/redact"
)

// seed adds a sample of every row in every shape, and odd pieces.
func seed(f *testing.F) {
	m := maker{rand.New(rand.NewSource(1))}
	for _, make := range rows(m) {
		for _, wrap := range shapes() {
			f.Add(wrap(make(0)))
		}
	}
	for _, s := range []string{"", "\x1b[", `{"a":`, "token=", "://:@", "curl -u :", `\"\"\"`, "%3A%2F%2F", "-----BEGIN " + "PRIVATE KEY-----", "cookie=\xff", "é̈",
		"[REDACTED:", "[REDACTED:token]token=", `{"pin":1,"token":["a",{"b":"c"}]}`} {
		f.Add(s)
	}
}

func newKnowing() *redact.Redactor {
	return redact.New(redact.Options{Known: append(knownValues(), "two lines\nof text"), Home: "/home/bob"})
}

func FuzzText(f *testing.F) {
	seed(f)
	r := newKnowing()
	f.Fuzz(func(t *testing.T, s string) {
		masked, n := r.Text(s)
		require.Equal(t, n > 0, masked != s, "the count says whether anything was masked")
		again, more := r.Text(masked)
		require.Equal(t, masked, again, "idempotent")
		require.Zero(t, more)
		require.Equal(t, redact.StripControl(s), redact.StripControl(redact.StripControl(s)))
		r.Paths(s)
		redact.IsSecretKey(s)
	})
}

func FuzzLines(f *testing.F) {
	seed(f)
	r := newKnowing()
	f.Fuzz(func(t *testing.T, s string) {
		lines := strings.Split(s, "\n")
		masked, n := r.Lines(lines)
		require.Len(t, masked, len(lines))
		again, more := r.Lines(masked)
		require.Equal(t, masked, again, "idempotent")
		require.Zero(t, more)
		_, inText := r.Text(s)
		require.Equal(t, inText > 0, n > 0, "Lines masks what Text masks")
	})
}

func FuzzJSON(f *testing.F) {
	seed(f)
	r := newKnowing()
	f.Fuzz(func(t *testing.T, s string) {
		doc := []byte(s)
		masked, n, err := r.JSON(doc)
		require.Equal(t, s, string(doc), "the argument is not written to")
		if !json.Valid(doc) {
			require.Zero(t, n)
			return
		}
		require.NoError(t, err)
		require.True(t, json.Valid(masked), "%q became %q", doc, masked)
		require.Equal(t, shapeOf(doc), shapeOf(masked), "the structure is kept")
		again, more, err := r.JSON(masked)
		require.NoError(t, err)
		require.Equal(t, string(masked), string(again), "idempotent")
		require.Zero(t, more)

		slow, count, err := r.JSON([]byte(`{"\u0061":` + s + `}`)) // an escape makes it walk whatever the filter says
		require.NoError(t, err)
		require.Equal(t, n, count, "the fast path misses nothing: %q became %q", doc, slow)
	})
}

// shapeOf returns a document with all its leaves taken out.
func shapeOf(doc []byte) string {
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(string(doc)))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		if delim, ok := token.(json.Delim); ok {
			b.WriteString(delim.String())
		} else {
			b.WriteString("x")
		}
	}
}
