// Package golden compares output with a reviewed file. Run a test with -update to write the file; where CI is set nothing is written, so that a missing file
// fails. Normalise times, IDs and paths before the comparison.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// T is what golden needs of a *testing.T.
type T interface {
	require.TestingT
	Helper()
}

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Updating reports whether golden files are being written: -update is given and CI is not set.
func Updating() bool { return *update && os.Getenv("CI") == "" }

// Text compares got with testdata/<name>.golden. The name may have slashes.
func Text(t T, name, got string) {
	t.Helper()
	Compare(t, filepath.Join("testdata", filepath.FromSlash(name)+".golden"), []byte(got))
}

// JSON compares got, indented, with testdata/<name>.golden.json. A []byte or json.RawMessage is a document already; every other
// value is marshalled. Keys keep the order they are written in.
func JSON(t T, name string, got any) {
	t.Helper()
	text, err := Indent(got)
	require.NoError(t, err, "golden %s", name)
	Compare(t, filepath.Join("testdata", filepath.FromSlash(name)+".golden.json"), text)
}

// Indent returns the JSON document of v as golden files hold it: two spaces, no HTML escapes, a final newline.
func Indent(v any) ([]byte, error) {
	var document bytes.Buffer
	switch doc := v.(type) {
	case []byte:
		document.Write(doc)
	case json.RawMessage:
		document.Write(doc)
	default:
		encoder := json.NewEncoder(&document)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(document.Bytes()), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// Compare compares got with the file, or writes the file when Updating. A missing file fails and names the way to make it.
func Compare(t T, file string, got []byte) {
	t.Helper()
	if Updating() {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run this test once with -update, then read %s before you keep it", file)
	if change := diff.Diff(file, want, "got", got); len(change) > 0 {
		assert.Fail(t, file+" has moved; if that is meant, run with -update and review the diff", "%s", change)
	}
}
