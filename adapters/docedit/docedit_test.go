package docedit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func entry(value string, path ...string) docedit.Entry {
	return docedit.Entry{Path: path, Value: json.RawMessage(value)}
}

func TestSettingsOfAgents(t *testing.T) {
	for _, tc := range []struct {
		file, format string
		entries      []docedit.Entry
	}{
		{"vscode-settings.json", "jsonc", []docedit.Entry{
			entry(`{"type":"stdio","command":"npx"}`, "mcp", "servers", "countersign"), entry(`true`, "chat.mcp.enabled"), entry(`4`, "editor.tabSize")}},
		{"mcp.json", "json", []docedit.Entry{
			entry(`{"command":"countersign-mcp","args":["--read-only"],"env":{"TOKEN":"${TOKEN}"}}`, "mcpServers", "countersign")}},
		{"cursor-mcp.json", "json", []docedit.Entry{entry(`{"url":"https://example.com/mcp?a=1&b=2"}`, "mcpServers", "docs")}},
		{"opencode.json", "jsonc", []docedit.Entry{
			entry(`{"type":"local","command":["countersign-mcp"],"enabled":true}`, "mcp", "countersign"), entry(`"ask"`, "permission", "bash")}},
		{"gemini-settings.json", "json", []docedit.Entry{
			entry(`{"command":"countersign-mcp","timeout":30000,"trust":false}`, "mcpServers", "countersign"), entry(`0.25`, "model", "temperature")}},
		{"codex-config.toml", "toml", []docedit.Entry{
			entry(`{"command":"countersign-mcp","args":["--read-only"],"env":{"TOKEN":"${TOKEN}","A B":"1"},"startup_timeout_sec":2.5}`, "mcp_servers", "countersign"),
			entry(`{"url":"https://example.com"}`, "mcp_servers", "my.server"),
			entry(`"never"`, "approval_policy"), entry(`true`, "features", "web_search"), entry(`"high"`, "profiles", "deep", "model_reasoning_effort"), entry(`"x"`, "tui", "theme")}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			doc, err := os.ReadFile(filepath.Join("testdata", tc.file))
			require.NoError(t, err)
			for _, text := range []string{string(doc), strings.ReplaceAll(string(doc), "\n", "\r\n"), "\ufeff" + string(doc), strings.TrimRight(string(doc), "\n")} {
				holds(t, tc.format, []byte(text), tc.entries)
			}
			set, err := docedit.Editor{}.Set(tc.format, doc, tc.entries)
			require.NoError(t, err)
			golden.Text(t, tc.file, string(set))
		})
	}
}

func TestSetJSON(t *testing.T) {
	server := entry(`{"command":"x","args":["a","b"]}`, "mcpServers", "s")
	for name, tc := range map[string]struct {
		doc, want string
		entries   []docedit.Entry
	}{
		"no document":            {"", "{\n  \"mcpServers\": {\n    \"s\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"a\",\n        \"b\"\n      ]\n    }\n  }\n}\n", []docedit.Entry{server}},
		"an empty object":        {"{}", "{\n  \"k\": 1\n}", []docedit.Entry{entry(`1`, "k")}},
		"two keys":               {"{}", "{\n  \"a\": {\n    \"b\": 1,\n    \"c\": 2\n  }\n}", []docedit.Entry{entry(`1`, "a", "b"), entry(`2`, "a", "c")}},
		"tabs":                   {"{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}", "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"c\": {\n\t\t\t\"d\": 2\n\t\t}\n\t}\n}", []docedit.Entry{entry(`{"d":2}`, "a", "c")}},
		"four spaces":            {"{\n    \"a\": {}\n}", "{\n    \"a\": {\n        \"b\": [\n            1\n        ]\n    }\n}", []docedit.Entry{entry(`[1]`, "a", "b")}},
		"one line":               {`{"a": 1, "b": {}}`, `{"a": 1, "b": {"c": {"d": [1, "x:,\""]}}}`, []docedit.Entry{entry(`{"d":[1,"x:,\""]}`, "b", "c")}},
		"one tight line":         {`{"a":1,"b":{"c":2}}`, `{"a":1,"b":{"c":2,"d":{"e":[1,2]}}}`, []docedit.Entry{entry(`{ "e" : [1, 2] }`, "b", "d")}},
		"a line inside lines":    {"{\n  \"a\": { \"b\": 1 }\n}", "{\n  \"a\": { \"b\": 1, \"c\": 2 }\n}", []docedit.Entry{entry(`2`, "a", "c")}},
		"a comment at the end":   {"{\n  \"a\": 1 // one\n  // two\n}", "{\n  \"a\": 1, // one\n  // two\n  \"b\": 2\n}", []docedit.Entry{entry(`2`, "b")}},
		"only a comment":         {"{\n  // one\n}", "{\n  // one\n  \"b\": 2\n}", []docedit.Entry{entry(`2`, "b")}},
		"a trailing comma":       {"{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"b\": 2,\n}", []docedit.Entry{entry(`2`, "b")}},
		"CRLF":                   {"{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}\r\n", []docedit.Entry{entry(`{"c":2}`, "b")}},
		"a byte order mark":      {"\ufeff{}", "\ufeff{\n  \"b\": 2\n}", []docedit.Entry{entry(`2`, "b")}},
		"another value":          {"{\n  \"a\": /* one */ {\"x\": 1}, // two\n  \"b\": 2\n}", "{\n  \"a\": /* one */ {\n    \"y\": null\n  }, // two\n  \"b\": 2\n}", []docedit.Entry{entry(`{"y":null}`, "a")}},
		"an equal value":         {`{"a": {"y": [1.50, "A"], /* c */ "x": 1e2}}`, `{"a": {"y": [1.50, "A"], /* c */ "x": 1e2}}`, []docedit.Entry{entry(`{"x":100.0,"y":[1.5,"\u0041"]}`, "a")}},
		"the order of its keys":  {`{"a": 1}`, `{"a": {"z": 1, "b": 2}}`, []docedit.Entry{entry(`{"z":1,"b":2}`, "a")}},
		"a last comment":         {"{} // the end", "{\n  \"b\": 2\n} // the end", []docedit.Entry{entry(`2`, "b")}},
		"a key that needs quote": {`{"a": 1}`, `{"a": 1, "\"é<\n": 2}`, []docedit.Entry{entry(`2`, "\"é<\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := docedit.Editor{}.Set("json", []byte(tc.doc), tc.entries)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(set))
			holds(t, "json", []byte(tc.doc), tc.entries)
		})
	}
}

func TestSetTOML(t *testing.T) {
	for name, tc := range map[string]struct {
		doc, want string
		entries   []docedit.Entry
	}{
		"no document":                  {"", "k = 1\n\n[m.s]\na = [\"x\"]\n\n[m.s.e]\nT = \"1\"\n", []docedit.Entry{entry(`{"e":{"T":"1"},"a":["x"]}`, "m", "s"), entry(`1`, "k")}},
		"no last line end":             {"a = 1", "a = 1\n\n[s]\nb = 2", []docedit.Entry{entry(`{"b":2}`, "s")}},
		"next to its group":            {"[m.a]\nx = 1 # c\n# d\n\n# t\n[t]\n", "[m.a]\nx = 1 # c\n# d\n\n[m.b]\nx = 2\n\n# t\n[t]\n", []docedit.Entry{entry(`{"x":2}`, "m", "b")}},
		"the next header's comment":    {"[m.a]\nx = 1\n# t\n[t]\n", "[m.a]\nx = 1\n\n[m.b]\n# t\n[t]\n", []docedit.Entry{entry(`{}`, "m", "b")}},
		"a key in a section":           {"[a]\n  x = 1 # c\n\n[b]\n", "[a]\n  x = 1 # c\n  y = 2\n\n[b]\n", []docedit.Entry{entry(`2`, "a", "y")}},
		"a key under a bare header":    {"[a]\n# c\n", "[a]\ny = 2\n# c\n", []docedit.Entry{entry(`2`, "a", "y")}},
		"a key at the root":            {"# c\n\nx = 1\n# d\n[a]\n", "# c\n\nx = 1\ny = 2\n# d\n[a]\n", []docedit.Entry{entry(`2`, "y")}},
		"the first key at the root":    {"# c\n\n# d\n[a]\n", "# c\ny = 2\n\n# d\n[a]\n", []docedit.Entry{entry(`2`, "y")}},
		"a key above all":              {"# d\n[a]\n", "y = 2\n\n# d\n[a]\n", []docedit.Entry{entry(`2`, "y")}},
		"a table known by what it has": {"[a.b]\nx = 1\n", "[a.b]\nx = 1\n\n[a]\ny = 2\n", []docedit.Entry{entry(`2`, "a", "y")}},
		"a key of a new table":         {"", "[a.b]\ny = 2\n", []docedit.Entry{entry(`2`, "a", "b", "y")}},
		"CRLF":                         {"x = 1\r\n", "x = 1\r\n\r\n[a]\r\ny = 2\r\n", []docedit.Entry{entry(`{"y":2}`, "a")}},
		"quoted keys":                  {"[m.\"my.server\"]\nx = 1\n", "[m.\"my.server\"]\nx = 1\n\"a b\" = 2\n\n[m.\"it\\\"s\".\"é\"]\n", []docedit.Entry{entry(`2`, "m", "my.server", "a b"), entry(`{}`, "m", `it"s`, "é")}},
		"inside an inline table":       {"m = { a = { x = 1 } } # c\n", "m = { a = { x = 1, y = \"2\" }, b = { z = [1, { q = 1 }] } } # c\n", []docedit.Entry{entry(`"2"`, "m", "a", "y"), entry(`{"z":[1,{"q":1}]}`, "m", "b")}},
		"an inline table over lines":   {"m = {\n  a = 1, # c\n}\n", "m = {\n  a = 1, # c\n  b.c = 2,\n}\n", []docedit.Entry{entry(`2`, "m", "b", "c")}},
		"dotted keys":                  {"[m]\na.x = 1\nb = 2\n", "[m]\na.x = 1\na.y = 3\nb = 2\n", []docedit.Entry{entry(`3`, "m", "a", "y")}},
		"another value":                {"x = [ # c\n  1,\n] # d\ny = 1\n", "x = \"a\\nb\\u0000\" # d\ny = 1\n", []docedit.Entry{entry(`"a\nb\u0000"`, "x")}},
		"another table": {"[m.a] # c\nx = 1 # d\n# e\ny = 2\n\n[m.a.z]\nq = 1\n\n[m.b]\n", "[m.a] # c\nx = 1 # d\n# e\ny = 3\n\n[m.a.w]\nr = 2\n\n[m.b]\n",
			[]docedit.Entry{entry(`{"x":1,"y":3,"w":{"r":2}}`, "m", "a")}},
		"a table that becomes a value": {"[m]\nb = 1\n[m.a]\nx = 1\n[t]\n", "[m]\nb = 1\na = 2\n[t]\n", []docedit.Entry{entry(`2`, "m", "a")}},
		"a list of tables":             {"[[a]]\nx = 1\n[[a]]\nx = 2\n", "a = [{ x = 3 }]\n", []docedit.Entry{entry(`[{"x":3}]`, "a")}},
		"text like headers":            {"x = \"\"\"\n[a]\ny = 1\n\"\"\"\n[a]\nx = '''\n[b]'''\n", "x = \"\"\"\n[a]\ny = 1\n\"\"\"\n[a]\nx = '''\n[b]'''\ny = 2\n", []docedit.Entry{entry(`2`, "a", "y")}},
		"an equal value":               {"a = 0xFF\nb = 1_000.0\n", "a = 0xFF\nb = 1_000.0\n", []docedit.Entry{entry(`255`, "a"), entry(`1e3`, "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := docedit.Editor{}.Set("toml", []byte(tc.doc), tc.entries)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(set))
			holds(t, "toml", []byte(tc.doc), tc.entries)
		})
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat(`[`, docedit.MaxDepth+1) + strings.Repeat(`]`, docedit.MaxDepth+1)
	for name, tc := range map[string]struct {
		format, doc string
		entry       docedit.Entry
		is          error
		says        string
	}{
		"not JSON":               {"json", "{\n  \"a\" 1\n}", entry(`1`, "k"), docedit.ErrFormat, "line 2, column 7"},
		"a slip in a secret":     {"json", `{"a": "secret\q"}`, entry(`1`, "k"), docedit.ErrFormat, "not well formed"},
		"not TOML":               {"toml", "a = 1\nb = \n", entry(`1`, "k"), docedit.ErrFormat, "line 2, column"},
		"a secret without quote": {"toml", "a = secret", entry(`1`, "k"), docedit.ErrFormat, "line 1, column 5"},
		"a key twice in TOML":    {"toml", "a = 1\na = 2\n", entry(`1`, "k"), docedit.ErrFormat, "line 2"},
		"no object":              {"json", "[]", entry(`1`, "k"), docedit.ErrShape, "not an object"},
		"a key twice":            {"json", `{"m": {"a": 1, "a": 2}}`, entry(`1`, "m", "k"), docedit.ErrShape, "m.a"},
		"a plain value":          {"json", `{"m": "x"}`, entry(`1`, "m", "k"), docedit.ErrShape, "m is a plain value"},
		"a null":                 {"json", `{"m": {"n": null}}`, entry(`1`, "m", "n", "k"), docedit.ErrShape, "m.n is null"},
		"a list":                 {"toml", "[[m]]\n", entry(`1`, "m", "k"), docedit.ErrShape, "m is a list"},
		"a null for TOML":        {"toml", "", entry(`{"a":[null]}`, "k"), docedit.ErrShape, "TOML does not support"},
		"a number for TOML":      {"toml", "", entry(`9223372036854775808`, "k"), docedit.ErrShape, "64 bits"},
		"a float for TOML":       {"toml", "", entry(`1e999`, "k"), docedit.ErrShape, "does not fit into a TOML integer"},
		"no key":                 {"json", "", entry(`1`), docedit.ErrShape, "names no key"},
		"a key of no text":       {"json", "", entry(`1`, "\xff"), docedit.ErrShape, "UTF-8"},
		"no value":               {"json", "", entry(``, "k"), docedit.ErrFormat, "not JSON"},
		"a value with a comment": {"json", "", entry(`1 // c`, "k"), docedit.ErrFormat, "not JSON"},
		"a value that repeats":   {"json", "", entry(`{"a":{"b":1,"b":1}}`, "k"), docedit.ErrFormat, "a.b twice"},
		"a deep value":           {"json", "", entry(deep, "k"), docedit.ErrFormat, "deeper than 500"},
		"a deep document":        {"json", `{"a": ` + strings.Repeat("[", 10_000_000), entry(`1`, "k"), docedit.ErrFormat, "deeper than 500"},
		"deep TOML":              {"toml", "a = " + strings.Repeat("[", 1_000_000), entry(`1`, "k"), docedit.ErrFormat, "brackets"},
		"deep valid TOML":        {"toml", "a = " + deep, entry(`1`, "k"), docedit.ErrFormat, "deeper than 500"},
		"no format":              {"yaml", "", entry(`1`, "k"), docedit.ErrFormat, `unknown format "yaml"`},
	} {
		t.Run(name, func(t *testing.T) {
			var edit docedit.Editor
			_, err := edit.Set(tc.format, []byte(tc.doc), []docedit.Entry{tc.entry})
			require.ErrorIs(t, err, tc.is)
			assert.Contains(t, err.Error(), tc.says)
			assert.NotContains(t, err.Error(), "secret")
			_, again := edit.Made(tc.format, []byte(tc.doc), []docedit.Entry{tc.entry})
			if !strings.HasSuffix(name, "for TOML") { // Made writes nothing
				assert.Equal(t, err.Error(), fmt.Sprint(again))
			}
		})
	}
	_, err := docedit.Editor{}.Set("json", nil, []docedit.Entry{entry(`1`, "a"), entry(`1`, "a", "b")})
	require.ErrorIs(t, err, docedit.ErrShape)
	assert.Contains(t, err.Error(), "overlap")
}

func TestValues(t *testing.T) {
	var edit docedit.Editor
	paths := [][]string{{"a"}, {"b", "c"}, {"none"}, {"b", "none", "deeper"}, {}}
	values, err := edit.Values("jsonc", []byte("// c\n{\"b\": {\"c\": [1.50, 1e2, -0, 2.0, {\"z\": \"\\u0041\", \"a\": null}]}, \"a\": 12345678901234567890,}"), paths)
	require.NoError(t, err)
	assert.Len(t, values, 3)
	assert.Equal(t, `12345678901234567890`, string(values[0]))
	assert.Equal(t, `[1.5,100.0,0,2.0,{"a":null,"z":"A"}]`, string(values[1]))
	assert.Equal(t, `{"a":12345678901234567890,"b":{"c":[1.5,100.0,0,2.0,{"a":null,"z":"A"}]}}`, string(values[4]))

	values, err = edit.Values("toml", []byte("a = 1979-05-27 07:32:00Z\n[b]\nc = [1.0, inf, -nan, 0x10, 07:32:00, 1979-05-27, 1979-05-27T07:32:00]\n"), paths)
	require.NoError(t, err)
	assert.Equal(t, `"1979-05-27T07:32:00Z"`, string(values[0]))
	assert.Equal(t, `[1.0,"+inf","nan",16,"07:32:00","1979-05-27","1979-05-27T07:32:00"]`, string(values[1]))

	values, err = edit.Values("json", []byte(`{"m": {"z": "<&>", "a": {"y": 1, "x": 2}}}`), [][]string{{"m"}})
	require.NoError(t, err)
	canonical, err := canon.Canonical(values[0])
	require.NoError(t, err)
	assert.Equal(t, string(canonical), string(values[0]))

	_, err = edit.Values("json", []byte(`{"m": {"a": [{"x": 1, "x": 1}]}}`), [][]string{{"m"}})
	require.ErrorIs(t, err, docedit.ErrShape)
	_, err = edit.Values("json", []byte(`{"m": 1, "n": {"x": 1, "x": 2}}`), [][]string{{"m"}})
	require.NoError(t, err, "what is not asked for may be as it is")
	values, err = edit.Values("toml", nil, paths[:4])
	require.NoError(t, err)
	assert.Empty(t, values)
}

func TestADateIsNoText(t *testing.T) {
	set, err := docedit.Editor{}.Set("toml", []byte("a = 1979-05-27 # c\n"), []docedit.Entry{entry(`"1979-05-27"`, "a")})
	require.NoError(t, err)
	assert.Equal(t, "a = \"1979-05-27\" # c\n", string(set))
}

func TestMade(t *testing.T) {
	for _, tc := range []struct {
		format, doc string
		entries     []docedit.Entry
		want        [][]string
	}{
		{"json", "", []docedit.Entry{entry(`1`, "a", "b", "c"), entry(`1`, "a", "d")}, [][]string{{}, {"a"}, {"a", "b"}}},
		{"json", `{"a": {}}`, []docedit.Entry{entry(`1`, "a", "b", "c"), entry(`1`, "a", "d")}, [][]string{{"a", "b"}}},
		{"json", `{"a": {"b": 2}}`, []docedit.Entry{entry(`1`, "a", "b")}, nil},
		{"toml", "", []docedit.Entry{entry(`1`, "a", "b", "c")}, [][]string{{"a"}, {"a", "b"}}},
		{"toml", "[a.b]\n", []docedit.Entry{entry(`1`, "a", "c")}, [][]string{{"a"}}},
		{"toml", "[a.b]\n", []docedit.Entry{entry(`{}`, "a", "c")}, nil},
		{"toml", "[a]\n", []docedit.Entry{entry(`1`, "a", "c")}, nil},
		{"toml", "a.b = 1\n", []docedit.Entry{entry(`1`, "a", "c")}, nil},
		{"toml", "a = {}\n", []docedit.Entry{entry(`1`, "a", "c")}, nil},
	} {
		made, err := docedit.Editor{}.Made(tc.format, []byte(tc.doc), tc.entries)
		require.NoError(t, err)
		assert.Equal(t, tc.want, made, "%s %s", tc.format, tc.doc)
	}
}

func TestRemove(t *testing.T) {
	ab, a := []string{"a", "b"}, []string{"a"}
	for name, tc := range map[string]struct {
		format, doc, want string
		paths, made       [][]string
	}{
		"an empty container stays":          {"json", `{"a": {"b": 1}}`, `{"a": {}}`, [][]string{ab}, nil},
		"a made one goes":                   {"json", `{"a": {"b": 1}, "c": 2}`, `{ "c": 2}`, [][]string{ab}, [][]string{a}},
		"one that has more stays":           {"json", `{"a": {"b": 1, "c": 2}}`, `{"a": { "c": 2}}`, [][]string{ab}, [][]string{{}, a}},
		"one with a comment stays":          {"json", "{\"a\": {\n  // mine\n  \"b\": 1\n}}", "{\"a\": {\n  // mine\n}}", [][]string{ab}, [][]string{{}, a}},
		"a comment of the line":             {"json", "{\n  \"a\": 1,\n  \"b\": 2 // two\n}", "{\n  \"a\": 1 // two\n}", [][]string{{"b"}}, nil},
		"a comment that would go on":        {"json", "{ // one\n  \"a\": 1, \"b\": 2}", "{ // one\n \"b\": 2}", [][]string{a}, nil},
		"nothing to remove":                 {"json", `{"c": 1}`, `{"c": 1}`, [][]string{ab, a}, [][]string{a}},
		"a path and what is below":          {"json", `{"a": {"b": 1}, "c": 1}`, `{ "c": 1}`, [][]string{a, ab}, nil},
		"a section and all below it":        {"toml", "[a.b]\nx = 1\n# c\n\n[t]\n\n[a.b.c]\n# d\ny = 1\n\n[u]\n", "# c\n\n[t]\n\n[u]\n", [][]string{ab}, nil},
		"an empty header stays":             {"toml", "[a]\nb = 1\n", "[a]\n", [][]string{ab}, nil},
		"a made header goes":                {"toml", "[a]\nb = 1\n", "", [][]string{ab}, [][]string{a}},
		"a made header of a table goes":     {"toml", "[a.c]\n\n[a]\nb = 1\n", "[a.c]\n", [][]string{ab}, [][]string{a}},
		"a header with other keys stays":    {"toml", "[a.c]\n\n[a]\nd = 2\nb = 1\n", "[a.c]\n\n[a]\nd = 2\n", [][]string{ab}, [][]string{a}},
		"dotted keys":                       {"toml", "a.b.c = 1\nx = 2\na.b.d = 3\n", "x = 2\n", [][]string{ab}, nil},
		"a member of an inline table":       {"toml", "a = { b = 1, c = 2 } # c\n", "a = { c = 2 } # c\n", [][]string{ab}, nil},
		"dotted members":                    {"toml", "a = { b.c = 1, c = 2, b.d = 3 }\n", "a = { c = 2 }\n", [][]string{ab}, nil},
		"a value of many lines":             {"toml", "x = 1\na = [\n  1,\n] # c\ny = 2\n", "x = 1\ny = 2\n", [][]string{a}, nil},
		"the list of tables with all in it": {"toml", "[[a]]\nx = 1\n[a.b]\n[[a]]\n[t]\n", "[t]\n", [][]string{a}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := docedit.Editor{}.Remove(tc.format, []byte(tc.doc), tc.paths, tc.made)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(got))
		})
	}
	for _, tc := range [][2]string{{"json", `{"a": 1}`}, {"toml", "a = 1\n"}, {"json", `{"a": {}, "a": {}}`}, {"toml", "[[a]]\n"}} {
		_, err := docedit.Editor{}.Remove(tc[0], []byte(tc[1]), [][]string{ab}, nil)
		assert.ErrorIs(t, err, docedit.ErrShape, tc[1])
	}
}

// The arguments are only read: neither the document nor the paths change under the caller.
func TestArgumentsStayAsTheyAre(t *testing.T) {
	doc := []byte("x = 1\n[a.c]\n\n[a]\nb = 1\n")
	room := append(make([]byte, 0, 1000), doc...)
	set, err := docedit.Editor{}.Set("toml", room, []docedit.Entry{entry(`2`, "a", "b"), entry(`3`, "k")})
	require.NoError(t, err)
	_, err = docedit.Editor{}.Remove("toml", set, [][]string{{"k"}, {"a", "b"}}, [][]string{{"a"}})
	require.NoError(t, err)
	assert.Equal(t, string(doc), string(room))
	assert.Equal(t, make([]byte, 1000-len(doc)), room[len(doc):1000])
}

func TestRoot(t *testing.T) {
	for text, format := range map[string]deployment.Format{"{\"a\": {\"b\": 1.5}, // c\n}": deployment.FormatJSONC, "{\"a\":{\"b\":1.5}}": deployment.FormatJSON, "[a]\nb = 1.5\n": deployment.FormatTOML} {
		root, err := docedit.Documents{}.Root(format, []byte("\ufeff"+text))
		require.NoError(t, err)
		assert.JSONEq(t, `{"a":{"b":1.5}}`, string(root))
	}
	for _, text := range []string{`{"a":1,"a":2}`, `{`, `[]`} {
		_, err := docedit.Documents{}.Root(deployment.FormatJSON, []byte(text))
		assert.Error(t, err, text)
	}
}
