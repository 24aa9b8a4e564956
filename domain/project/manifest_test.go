package project_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

func TestParseManifest(t *testing.T) {
	m, err := project.ParseManifest([]byte(`{
		"name": "@scope/shop", "version": "1.2.3", "description": "A shop \u2014 of sorts", "packageManager": "pnpm@9.1.0+sha512.abc",
		"scripts": {"build": "vite build", "dev": "vite", "empty": "", "": "nameless", "quote": "echo \"a\\b\" && exit 1"},
		"volta": {"node": "20.1.0", "pnpm": "9.1.0"}, "engines": {"node": ">=18", "npm": ">=9"},
		"dependencies": {"react": "^19"}, "devDependencies": {"vite": "workspace:*"}, "peerDependencies": {"vue": "3"},
		"workspaces": ["packages/*"], "private": true, "custom": [[[1, null, {"a": "b"}]]]
	}`))
	require.NoError(t, err)
	assert.Equal(t, project.Manifest{
		Name: "@scope/shop", Version: "1.2.3", Description: "A shop — of sorts", PackageManager: "pnpm@9.1.0+sha512.abc",
		Scripts: map[string]string{"build": "vite build", "dev": "vite", "empty": "", "": "nameless", "quote": `echo "a\b" && exit 1`},
		Volta:   map[string]string{"node": "20.1.0", "pnpm": "9.1.0"}, EnginesNode: ">=18", Workspaces: true,
		Dependencies: map[string]bool{"react": true, "vite": true},
	}, m)
	assert.Equal(t, []string{"", "build", "dev", "empty", "quote"}, m.ScriptNames())
}

func TestParseManifestReadsAsNpmDoes(t *testing.T) {
	nothing := map[string]string{}
	for name, c := range map[string]struct {
		text    string
		scripts map[string]string
		notes   int
	}{
		"no scripts":                   {`{}`, nothing, 0},
		"byte order mark":              {"\xef\xbb\xbf{\"scripts\":{\"a\":\"1\"}}", map[string]string{"a": "1"}, 0},
		"white space around":           {" \r\n\t{\"scripts\":{\"a\":\"1\"}}\n\n", map[string]string{"a": "1"}, 0},
		"a script twice":               {`{"scripts":{"a":"1","b":"2","a":"3"}}`, map[string]string{"a": "3", "b": "2"}, 1},
		"a script three times":         {`{"scripts":{"a":"1","a":"2","a":"3"}}`, map[string]string{"a": "3"}, 1},
		"twice by an escape":           {`{"scripts":{"a":"1","\u0061":"3"}}`, map[string]string{"a": "3"}, 1},
		"scripts twice":                {`{"scripts":{"a":"1"},"scripts":{"b":"2"}}`, map[string]string{"b": "2"}, 1},
		"the last is no object":        {`{"scripts":{"a":"1"},"scripts":null}`, nothing, 1},
		"the last is no string":        {`{"scripts":{"a":"1","a":null}}`, nothing, 1},
		"other letters are other keys": {`{"Scripts":{"a":"1"},"SCRIPTS":{"b":"1"},"scripts":{"A":"1","a":"2"}}`, map[string]string{"A": "1", "a": "2"}, 0},
		"a K that folds to k":          {`{"ſcripts":{"a":"1"}}`, nothing, 0},
		"scripts is a string":          {`{"scripts":"rm -rf /"}`, nothing, 0},
		"scripts is an array":          {`{"scripts":["rm"]}`, nothing, 0},
		"values of other types":        {`{"scripts":{"a":1,"b":["x"],"c":{"d":"e"},"f":true,"g":null,"h":"1"}}`, map[string]string{"h": "1"}, 0},
		"names like a prototype":       {`{"scripts":{"__proto__":"1","constructor":"2"}}`, map[string]string{"__proto__": "1", "constructor": "2"}, 0},
		"twice in what nobody reads":   {`{"config":{"a":1,"a":2}}`, nothing, 0},
		"twice in two places":          {`{"scripts":{"a":"1","a":"2"},"volta":{"node":"1","node":"2"},"x":1,"x":2}`, map[string]string{"a": "2"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := project.ParseManifest([]byte(c.text))
			require.NoError(t, err)
			assert.Equal(t, c.scripts, m.Scripts)
			assert.Len(t, m.Notes, c.notes)
			assert.NotNil(t, m.Volta)
			assert.NotNil(t, m.Dependencies)
		})
	}
	m, err := project.ParseManifest([]byte(`{"scripts":{"build":"1","build":"2"}}`))
	require.NoError(t, err)
	assert.Equal(t, []string{`package.json defines "scripts.build" more than once; the last one counts`}, m.Notes)

	var many strings.Builder // hundreds of thousands of names, all of them twice
	for i := range 400_000 {
		fmt.Fprintf(&many, `"%d":1,`, i%200_000)
	}
	m, err = project.ParseManifest([]byte(`{"scripts":{` + many.String() + `"\n":"1","\n":"` + "2" + `"}}`))
	require.NoError(t, err)
	assert.Len(t, m.Notes, 20)
	m, err = project.ParseManifest([]byte(`{"scripts":{"\n\u001b` + strings.Repeat("x", 9999) + `":"1","\n\u001b` + strings.Repeat("x", 9999) + `":"1"}}`))
	require.NoError(t, err)
	assert.Less(t, len(m.Notes[0]), 200)
	assert.NotContains(t, m.Notes[0], "\n")
}

func TestParseManifestRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "blanks": " \n", "a mark only": "\xef\xbb\xbf", "an array": "[]", "a string": `"x"`, "null": "null", "a number": "1", "half": `{"a":`,
		"an open object": `{"a":1`, "a comment": "{} // x", "two objects": "{}{}", "a trailing comma": `{"a":1,}`, "single quotes": "{'a':1}", "a control character": "{\"a\":\"\x01\"}",
		"no separator": `{"a" 1}`, "a key that is none": `{1:2}`, "UTF-16": "\xff\xfe{\x00}\x00", "bytes": "\x00\x01\x02", "scripts broken off": `{"scripts":{"a":"b}`,
		"deep": strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000), "deep arrays": `{"a":` + strings.Repeat("[", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := project.ParseManifest([]byte(text))
			require.ErrorIs(t, err, project.ErrManifest)
			assert.Less(t, len(err.Error()), 300)
			assert.Empty(t, m.Scripts)
		})
	}
	long := []byte(`{"scripts":{"a":"` + strings.Repeat("x", project.MaxManifest) + `"}}`)
	_, err := project.ParseManifest(long)
	require.ErrorIs(t, err, project.ErrManifest)
	fits := append([]byte(`{"scripts":{"a":"1"}}`), strings.Repeat(" ", project.MaxManifest-21)...)
	m, err := project.ParseManifest(fits)
	require.NoError(t, err)
	assert.Equal(t, "1", m.Scripts["a"])
}

// FuzzParseManifest: nothing panics; whatever is parsed is JSON, and its scripts are what encoding/json finds under exactly that key.
func FuzzParseManifest(f *testing.F) {
	for _, seed := range []string{`{}`, `{"scripts":{"a":"1","a":"2","b":3}}`, `{"scripts":{},"scripts":{"x":"\ud800\u0000"}}`, "\xef\xbb\xbf{\"name\":\"x\"}",
		`{"volta":{"node":"1"},"engines":{"node":"2"},"workspaces":[]}`, `{"dependencies":{"a":"1"},"devDependencies":{"b":null}}`, `{"a":[{"b":[]}]}`, `[`, "{\"scripts\":{\"\xff\":\"\xfe\"}}",
		`{"packageManager":"npm;rm -rf /"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := project.ParseManifest(data)
		var top map[string]json.RawMessage
		failed := json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\xef\xbb\xbf")), &top)
		if err != nil {
			require.ErrorIs(t, err, project.ErrManifest)
			assert.True(t, failed != nil || top == nil, "%v", err)
			return
		}
		require.NoError(t, failed)
		want := map[string]string{}
		var values map[string]json.RawMessage
		if json.Unmarshal(top["scripts"], &values) == nil {
			for name, raw := range values {
				var s *string
				if json.Unmarshal(raw, &s) == nil && s != nil {
					want[name] = *s
				}
			}
		}
		assert.Equal(t, want, m.Scripts)
		for name, text := range m.Scripts {
			assert.True(t, utf8.ValidString(name) && utf8.ValidString(text))
		}
		_, _ = project.DetectFacts(project.DirContents{Has: func(name string) bool { return name == "package.json" }, Manifest: &m})
	})
}

// BenchmarkParseManifest reads a package.json of an ordinary size: 40 scripts, 60 dependencies.
func BenchmarkParseManifest(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"name":"shop","scripts":{`)
	for i := range 40 {
		fmt.Fprintf(&text, `"task:%d":"node scripts/task.js --number %d && eslint --fix src/part%d",`, i, i, i)
	}
	text.WriteString(`"build":"vite build"},"dependencies":{`)
	for i := range 60 {
		fmt.Fprintf(&text, `"@scope/package-%d":"^%d.2.3",`, i, i)
	}
	text.WriteString(`"react":"^19.0.0"}}`)
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		_, err := project.ParseManifest([]byte(text.String()))
		require.NoError(b, err)
	}
}
