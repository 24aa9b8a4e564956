package docedit_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
)

// judge is a test of either kind.
type judge interface {
	require.TestingT
	Fatalf(format string, args ...any)
}

// holds checks every promise of Set and Remove for entries that the document has or has not, unless the document is refused.
func holds(t judge, format string, doc []byte, entries []docedit.Entry) {
	var edit docedit.Editor
	var paths [][]string
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	before, err := edit.Values(format, doc, paths)
	if known(t, err) {
		return
	}
	made, err := edit.Made(format, doc, entries)
	if known(t, err) {
		return
	}
	set, err := edit.Set(format, doc, entries)
	if known(t, err) {
		return
	}
	after, err := edit.Values(format, set, paths)
	require.NoError(t, err, "%q", set)
	for i, e := range entries {
		want, err := edit.Values("json", append(append([]byte(`{"v":`), e.Value...), '}'), [][]string{{"v"}})
		require.NoError(t, err)
		require.Equal(t, string(want[0]), string(after[i]), "value %d in %q", i, set)
	}
	again, err := edit.Set(format, set, entries)
	require.NoError(t, err)
	require.Equal(t, string(set), string(again), "idempotent")

	gone, err := edit.Remove(format, set, paths, made)
	if len(before) > 0 { // something of ours was there: it is not restored, but everything stays readable
		if !known(t, err) {
			left, err := edit.Values(format, gone, paths)
			require.NoError(t, err)
			require.Empty(t, left)
		}
		return
	}
	require.NoError(t, err, "%q", set)
	require.Equal(t, string(doc), string(gone), "round trip over %q", set)
	slices.Reverse(paths)
	gone, err = edit.Remove(format, set, paths, made)
	require.NoError(t, err)
	require.Equal(t, string(doc), string(gone), "round trip, the other way round, over %q", set)
}

func known(t judge, err error) bool {
	if err == nil {
		return false
	}
	if !errors.Is(err, docedit.ErrFormat) && !errors.Is(err, docedit.ErrShape) {
		t.Fatalf("an error of no kind: %v", err)
	}
	return true
}

// entriesOf reads "a.b=1;c={}" as entries.
func entriesOf(text string) (entries []docedit.Entry) {
	for part := range strings.SplitSeq(text, ";") {
		path, value, found := strings.Cut(part, "=")
		if found && json.Valid([]byte(value)) {
			entries = append(entries, docedit.Entry{Path: strings.Split(path, "."), Value: json.RawMessage(value)})
		}
	}
	return entries
}

func FuzzSetJSON(f *testing.F) {
	for _, doc := range []string{
		"", " ", "\r\n", "\ufeff", "{}", "{}\n", "{\n}", "{ }", "{\n\n}\n", "{ // c\n}", "{ /* c */ }", "{/*\n*/}", "{\r\n}", "[]", "{\"a\":",
		"{\"a\":1}", "{ \"a\" : 1 }", "{\n  \"a\": 1\n}\n", "{\n\t\"a\": {},\n\t\"b\": [1, 2], // c\n}\n", "{\r\n    \"a\": 1 // c\r\n}",
		"{\"a\": 1, \"a\": 2}", "{\n  \"s\": {\n  }\n}", "{\n  \"s\": { \"x\": {\"a\": 1} } /* c */,\n}", "{\"s\":{}} // c", "{\"a\":1\n}",
		"{\n  // one\n  \"s\": {\n    // two\n  },\n  /* three */\n}", "{\"s\": null}", "{\"a\":1, /* x */}", "{\"a\": 1 // c\r\r\n}", "{\"\":\n1//\r\r\n}", "{//\r\r\n\"k\":1,\"x\":2}",
		"// c\n{\n  \"a\": 1,\n\n  // d\n  \"b\": 2\n  // e\n}\n// f",
	} {
		f.Add(doc, "s.k={\"a\":[1,{\"b\":[]}],\"e\":{}};s.l=1.50;z=\"<&>\"")
		f.Add(doc, "a={\"b\":1}")
		f.Add(doc, "k=1;l=2;m.n.o=null")
	}
	f.Fuzz(func(t *testing.T, doc, entries string) { holds(t, "jsonc", []byte(doc), entriesOf(entries)) })
}

func FuzzSetTOML(f *testing.F) {
	for _, doc := range []string{
		"", " ", "\n", "\n\n", "\r\n", "\ufeff", "# c", "# c\n", "# c\n\n[s]\n", "[s]", "[s]\n", "\n[s]\n", "s={}", "s = { }\n", "s = { a = 1 } # c",
		"a = 1", "a = 1\n", "a = 1\r\n[s.x]\r\nb = 2", "[s.x]\nb = 2\n# c\n\n# d\n[t]\n", "[s.x]\nb = 2\n# t\n[t]", "s.x.y = 1\n", "s.x = {}\n[t]",
		"[[s]]\na = 1", "[[t]]\na = 1\n[t.u]\n[[t]]", "a = \"\"\"\n[s]\n\"\"\"\n", "a = [\n  1, # ]\n  { b = '[s]' },\n]\n[s]\nl = 3 # c",
		"[\"s\".'k']\na = 1", "s = {\n  a = 1, # c\n}\n", "s = { x.y = 1 }", "[s.x]\n[s]\n", "a = 1979-05-27 07:32:00 # c\n", "a = [[[[", "= 1", "a = 1 b = 2",
		"  [s]\n    a = 1\n    b = '''\n''''\n", "[s]\r\na = 1\r\n\r\n# c\r\n[t]\r\n", "a = nan\nb = -inf\nc = 1.0\n", "[s.k.e]\nx = 1\n[s.k]\na = [1]",
	} {
		f.Add(doc, "s.k={\"a\":[1,{\"b\":[]}],\"e\":{},\"f\":{\"g\":{\"h\":\"\\u0000\\n\"}}};s.l=1.50;z=\"<&>\"")
		f.Add(doc, "a={\"b\":1}")
		f.Add(doc, "k=1;l=2;m.n.o=true;s.x.z=3;s.m={}")
	}
	f.Fuzz(func(t *testing.T, doc, entries string) { holds(t, "toml", []byte(doc), entriesOf(entries)) })
}
