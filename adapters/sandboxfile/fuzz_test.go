package sandboxfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// meaning returns what a document says, read by another parser than the one that edits it; ok is false if it is no object.
func meaning(t *testing.T, doc string) (fields map[string]any, ok bool) {
	t.Helper()
	text := bytes.TrimPrefix([]byte(doc), []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, true
	}
	plain, err := hujson.Standardize(append(text, '\n'))
	if err != nil {
		return nil, false
	}
	numbers := json.NewDecoder(bytes.NewReader(plain))
	numbers.UseNumber()
	return fields, numbers.Decode(&fields) == nil && fields != nil
}

// FuzzWrite: whatever the file says, either it is refused and stays, byte for byte, or it says the same afterwards but for the model, and
// every byte that is not of the model's value, or of the new line, is where it was.
func FuzzWrite(f *testing.F) {
	for _, doc := range documents() {
		f.Add(doc, "new/one")
		f.Add(strings.ReplaceAll(doc, "\n", ""), `a/"b\`)
	}
	for _, doc := range []string{"{", "[]", "nonsense", `{"model":"a/b","model":"c/d"}`, `{"a":{"b":1,"b":2}}`, `{"model":1e999}`, `{"x":1.0,"model":[]}`,
		"{\"a\":\"\xff\"}", "{/*", "//", `{"":0}`, `{"MODEL":"x"}`, "{\"model\"\n:\n\"a/b\"\n,}", "{\r}", `{"a":[{},[],{"model":null}]}`} {
		f.Add(doc, "a/b")
	}
	f.Fuzz(func(t *testing.T, doc, model string) {
		h := newHome(t)
		path := h.put("opencode.jsonc", doc)
		read, _, exists, readErr := h.open().Read(t.Context())
		previous, _, err := h.open().Write(t.Context(), model)
		after := h.text(path)
		if err != nil {
			require.True(t, errors.Is(err, sandbox.ErrConfig) || errors.Is(err, sandbox.ErrArguments), "%v", err)
			require.Equal(t, doc, after)
			return
		}
		require.NoError(t, readErr)
		require.True(t, exists)
		require.Equal(t, read, previous)

		before, ok := meaning(t, doc)
		require.True(t, ok, "%q was written though it says nothing", doc)
		now, ok := meaning(t, after)
		require.True(t, ok, "%q", after)
		require.Equal(t, model, now["model"])
		_, had := before["model"]
		delete(before, "model")
		delete(now, "model")
		require.Equal(t, before, now)
		if had {
			a, b := outside(doc, after)
			require.LessOrEqual(t, a, len(raw(t, doc)))
			require.LessOrEqual(t, b, len(raw(t, after)))
		} else {
			require.GreaterOrEqual(t, len(after), len(doc))
			require.True(t, inOrder(doc, after), "%q is not all in %q", doc, after)
		}

		_, _, err = h.open().Write(t.Context(), model)
		require.NoError(t, err)
		require.Equal(t, after, h.text(path), "idempotent")
		entries, err := os.ReadDir(h.path(""))
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing else is left")
	})
}

// outside returns how many bytes of each text are left when what both begin and end with is taken away.
func outside(a, b string) (int, int) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a), len(b)
}

// raw returns the text of the model's value.
func raw(t *testing.T, doc string) string {
	t.Helper()
	tree, err := hujson.Parse(append(bytes.TrimPrefix([]byte(doc), []byte("\ufeff")), '\n'))
	require.NoError(t, err)
	object, ok := tree.Value.(*hujson.Object)
	require.True(t, ok)
	for _, m := range object.Members {
		if name, ok := m.Name.Value.(hujson.Literal); ok && name.String() == "model" {
			value := m.Value
			value.BeforeExtra, value.AfterExtra = nil, nil
			return string(value.Pack())
		}
	}
	require.Fail(t, "there is no model")
	return ""
}

// inOrder reports whether part can be had from whole by taking bytes away.
func inOrder(part, whole string) bool {
	for i := 0; i < len(whole) && part != ""; i++ {
		if whole[i] == part[0] {
			part = part[1:]
		}
	}
	return part == ""
}
