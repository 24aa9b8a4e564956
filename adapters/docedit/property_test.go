package docedit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/docedit"
)

func drawEntries(t *rapid.T) (entries []docedit.Entry) {
	for range rapid.IntRange(1, 4).Draw(t, "entries") {
		path := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "s", "k.k", "é"}), 1, 3).Draw(t, "path")
		value := rapid.SampledFrom([]string{`1`, `-0.5`, `"x\ny"`, `true`, `[]`, `[1,"a",{"b":[2]}]`, `{}`, `{"z":1,"a":{"n":{},"m":[{"q":1}]}}`,
			`{"command":"npx","args":["-y"],"env":{"T":"${T}"}}`}).Draw(t, "value")
		entries = append(entries, docedit.Entry{Path: path, Value: json.RawMessage(value)})
	}
	return entries
}

// drawJSON writes an object the way users and programs do, and worse.
func drawJSON(t *rapid.T, nl string, depth int) string {
	gap := func() string {
		return strings.ReplaceAll(rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\n\n\t", " // c\n", "/* c */", " /*\n*/ ", "\n  // c\n    "}).Draw(t, "gap"), "\n", nl)
	}
	var out strings.Builder
	out.WriteString("{")
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "s", "k.k", "x"}), 0, 3, rapid.ID).Draw(t, "keys")
	for i, key := range keys {
		if i > 0 {
			out.WriteString(gap() + ",")
		}
		value := rapid.SampledFrom([]string{`1`, `"}"`, `[1, // c` + nl + ` {}]`, `null`, `{}`}).Draw(t, "value")
		if depth > 0 && rapid.Bool().Draw(t, "nested") {
			value = drawJSON(t, nl, depth-1)
		}
		fmt.Fprintf(&out, "%s%q%s:%s%s", gap(), key, gap(), gap(), value)
	}
	if len(keys) > 0 && rapid.Bool().Draw(t, "trailing comma") {
		out.WriteString(gap() + ",")
	}
	return out.String() + gap() + "}"
}

func TestSetAndRemoveAreInverseInJSON(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "line end")
		frame := rapid.SampledFrom([]string{"", "\ufeff", " ", "// c" + nl, nl}).Draw(r, "frame")
		doc := frame + drawJSON(r, nl, 2) + rapid.SampledFrom([]string{"", nl, nl + nl, " // c"}).Draw(r, "end")
		holds(r, "jsonc", []byte(doc), drawEntries(r))
	})
}

// drawTOML strings lines together; those documents that come out wrong are refused, which is a promise too.
func drawTOML(t *rapid.T, nl string) string {
	var out strings.Builder
	for n := range rapid.IntRange(0, 9).Draw(t, "lines") {
		line := rapid.SampledFrom([]string{"", "", "# c", "  # c", "[a]", "[a.b]", "[s.\"k.k\"] # c", "[a.s]", "[[x]]", "[[x.y]]", "[b.a.s]", " [ s . x ] ",
			"a = 1", "b.a = 'x' # c", "s.a.b = 2", "v%d = [\n  1, # ]\n  '[a]',\n]", "t%d = \"\"\"\n[a]\n\\\"\"\"\" \"\"\"\"", "b = { a = { s = 1 }, s.x = 2 }",
			"s = {}", "a = { } # c", "s = {\n  x = 1, # c\n  y = 2,\n}", "  w%d = 2000-01-01 00:00:00Z", "\"é\" = '''\n'''", "z%d = [{ a = 1 }, {}]"}).Draw(t, "line")
		if strings.Contains(line, "%d") {
			line = fmt.Sprintf(line, n)
		}
		out.WriteString(line + "\n")
	}
	text := out.String()
	if rapid.Bool().Draw(t, "no last line end") {
		text = strings.TrimSuffix(text, "\n")
	}
	return strings.ReplaceAll(text, "\n", nl)
}

func TestSetAndRemoveAreInverseInTOML(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "line end")
		doc := rapid.SampledFrom([]string{"", "", "\ufeff"}).Draw(r, "mark") + drawTOML(r, nl)
		holds(r, "toml", []byte(doc), drawEntries(r))
	})
}
