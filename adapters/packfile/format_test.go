package packfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/pack"
)

func golden(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(data)
}

// TestOriginalFilesRoundTrip: what the original writes is read and written back byte for byte.
func TestOriginalFilesRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/original/*.md")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			p, err := packfile.Decode(data)
			require.NoError(t, err)
			got, err := packfile.Encode(p.State())
			require.NoError(t, err)
			assert.Equal(t, string(data), string(got))
		})
	}
}

func TestDecodeReadsEveryField(t *testing.T) {
	p, err := packfile.Decode([]byte(golden(t, "original/plain.md")))
	require.NoError(t, err)
	assert.Equal(t, pack.State{
		SchemaVersion: 2, ID: "pk_k3v7m2qa", Name: "token-audit", Title: "Token audit", Brief: "Where tokens are checked\nand who calls it",
		Status: pack.Draft, Tags: []string{"auth", "123"}, Revision: 4,
		Sections: []pack.Section{{
			Key: "flow", Title: "Flow",
			Refs: []pack.Ref{{
				Key: "verify", Path: "internal/auth/verify.go", Lines: pack.LineRange{Start: 12, End: 40}, Title: "Verify", Why: "entry point", Group: "core",
			}},
			Diagrams: []pack.Diagram{{Key: "seq", Title: "Call order", Mermaid: "sequenceDiagram\n  A->>B: token"}},
		}},
		CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 123456789, time.UTC), UpdatedAt: time.Date(2026, 3, 1, 9, 0, 9, 987654321, time.UTC),
		ExpiresAt: time.Date(2026, 3, 1, 10, 30, 0, 123456789, time.UTC),
	}, p.State())
}

// full uses every field, ours included.
func full(t testing.TB) *pack.Pack {
	t.Helper()
	p, err := packfile.Decode([]byte(golden(t, "original/plain.md")))
	require.NoError(t, err)
	s := p.State()
	anchor := pack.TakeAnchor([]string{"a"}, []string{"b", "c"}, nil)
	s.Sections[0].ChangedAt = 3
	s.Sections[0].Refs[0].Root = "server"
	s.Sections[0].Refs[0].Commit = "0123456789"
	s.Sections[0].Refs[0].Anchor = &anchor
	s.Sections[0].Refs[0].Snapshot = &pack.Snapshot{Lines: pack.LineRange{Start: 13, End: 14}, Text: "func f() {\n\treturn\n---\n}\n", Masked: 1}
	s.Removed = []pack.Removal{{Key: "old", Revision: 2}}
	p, err = pack.Restore(s)
	require.NoError(t, err)
	return p
}

func TestOwnFieldsComeLast(t *testing.T) {
	got, err := packfile.Encode(full(t).State())
	require.NoError(t, err)
	assert.Equal(t, golden(t, "own.md"), string(got))
	back, err := packfile.Decode(got)
	require.NoError(t, err)
	assert.Equal(t, full(t).State(), back.State())
}

// TestReadingRules is context-pack contract §7.2, one rule a row: a change to the plain file and what it reads as.
func TestReadingRules(t *testing.T) {
	plain := golden(t, "original/plain.md")
	for name, c := range map[string]struct {
		old, new string
		check    func(*testing.T, pack.State)
	}{
		"text after the closing line is ignored": {"10:30:00.123456789Z\n---\n", "10:30:00.123456789Z\n---\n# notes\nid: pk_zzzzzzzz\n---\n", nil},
		"no newline at the end":                  {"789Z\n---\n", "789Z\n---", nil},
		"closing line with CR LF":                {"789Z\n---\n", "789Z\n---\r\n", nil},
		"unknown keys are ignored":               {"revision: 4", "shiny: {new: [1]}\nrevision: 4", nil},
		"nullable fields may be missing":         {"    title: Verify\n    why: entry point\n    group: core\n", "", func(t *testing.T, s pack.State) { assert.Empty(t, s.Sections[0].Refs[0].Why) }},
		"name may be missing":                    {"name: token-audit\n", "", func(t *testing.T, s pack.State) { assert.Empty(t, s.Name) }},
		"quoted time":                            {"updated_at: 2026-03-01T09:00:09.987654321Z", "updated_at: '2026-03-01T09:00:09.987654321Z'", nil},
		"time with an offset":                    {"updated_at: 2026-03-01T09:00:09.987654321Z", "updated_at: 2026-03-01T11:00:09.987654321+02:00", nil},
		"time with a space":                      {"updated_at: 2026-03-01T09:00:09.987654321Z", "updated_at: 2026-03-01 09:00:09.987654321Z", nil},
		"indented delimiter in a block scalar": {"  and who calls it", "  and who calls it\n    ---\n  end", func(t *testing.T, s pack.State) {
			assert.Equal(t, pack.Optional("Where tokens are checked\nand who calls it\n  ---\nend"), s.Brief)
		}},
		"longer dashes in a block scalar": {"  and who calls it", "  and who calls it\n  -----\n  ---", func(t *testing.T, s pack.State) {
			assert.Equal(t, pack.Optional("Where tokens are checked\nand who calls it\n-----\n---"), s.Brief)
		}},
		"word that YAML 1.1 takes for a bool":  {"title: Token audit", "title: on", func(t *testing.T, s pack.State) { assert.Equal(t, pack.Optional("on"), s.Title) }},
		"number that YAML 1.1 takes for octal": {"title: Token audit", "title: 012", func(t *testing.T, s pack.State) { assert.Equal(t, pack.Optional("012"), s.Title) }},
		"empty text is no text":                {"title: Token audit", "title: ''", func(t *testing.T, s pack.State) { assert.Empty(t, s.Title) }},
		"flow style":                           {"tags:\n- auth\n- '123'", "tags: [auth, '123']", nil},
		"comments":                             {"status: draft", "# a comment\nstatus: draft # another", nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, plain, c.old)
			p, err := packfile.Decode([]byte(strings.Replace(plain, c.old, c.new, 1)))
			require.NoError(t, err)
			if c.check != nil {
				c.check(t, p.State())
				return
			}
			want, err := packfile.Decode([]byte(plain))
			require.NoError(t, err)
			assert.Equal(t, want.State(), p.State())
		})
	}
}

func TestDamageIsNamed(t *testing.T) {
	plain := golden(t, "original/plain.md")
	for name, c := range map[string]struct{ old, new, want string }{
		"byte order mark":        {"---\nschema", "\ufeff---\nschema", "byte order mark"},
		"CR LF":                  {"---\nschema", "---\r\nschema", "line 1 ends with CR LF"},
		"blank first line":       {"---\nschema", "\n---\nschema", "line 1 is not ---"},
		"padded delimiter":       {"---\nschema", "--- \nschema", "line 1 is not ---"},
		"TOML fence":             {"---\nschema", "+++\nschema", "line 1 is not ---"},
		"JSON fence":             {"---\nschema", "---json\nschema", "line 1 is not ---"},
		"empty file":             {plain, "", "the file is empty"},
		"only a delimiter":       {plain, "---\n", "not closed"},
		"empty front matter":     {plain, "---\n---\n", "line 2, column 1: the document is empty"},
		"blank front matter":     {plain, "---\n  \n\n---\n", "line 2, column 1: the document is empty"},
		"not closed":             {"789Z\n---\n", "789Z\n", "not closed"},
		"closed by a padded one": {"789Z\n---\n", "789Z\n--- \n", "not closed"},
		"syntax":                 {"title: Token audit", "title: \"Token", "line 37, column 1: while scanning a quoted scalar from line 5, column 8: "},
		"tab indent":             {"  title: Flow", "\ttitle: Flow", "line 15, column 1: "},
		"repeated key":           {"revision: 4", "revision: 4\nrevision: 5", `line 34, column 1: the key "revision" is given twice`},
		"repeated nested key":    {"      end: 40", "      end: 40\n      end: 41", `line 23, column 7: the key "end" is given twice`},
		"type":                   {"revision: 4", "revision: four", `line 33, column 11: "four" where a whole number`},
		"quoted number":          {"revision: 4", "revision: '4'", `line 33, column 11: "4" where a whole number`},
		"negative":               {"revision: 4", "revision: -4", "line 33, column 11"},
		"second document":        {"revision: 4", "...\n---x\nrevision: 4", ""},
		"list":                   {plain, "---\n- a\n---\n", "line 2, column 1: a list where a mapping is expected"},
		"time":                   {"created_at: 2026-03-01T09:00:00.123456789Z", "created_at: yesterday", `line 34, column 13: "yesterday" is not an RFC 3339 time`},
		"missing id":             {"id: pk_k3v7m2qa\n", "", "id is missing"},
		"missing version":        {"schema_version: 2\n", "", "schema_version is missing"},
		"missing status":         {"status: draft\n", "", "status is missing"},
		"missing tags":           {"tags:\n- auth\n- '123'\n", "", "tags is missing"},
		"null tags":              {"tags:\n- auth\n- '123'\n", "tags: null\n", "tags is missing"},
		"null tag":               {"- '123'", "- null", "tags[1] is missing"},
		"missing revision":       {"revision: 4\n", "", "revision is missing"},
		"missing expiry":         {"expires_at: 2026-03-01T10:30:00.123456789Z\n", "", "expires_at is missing"},
		"missing refs":           {"  refs:\n", "  rfes:\n", "sections[0].refs is missing"},
		"missing ref key":        {"  - key: verify\n    path", "  - path", "sections[0].refs[0].key is missing"},
		"missing end":            {"      end: 40\n", "", "sections[0].refs[0].lines.end is missing"},
		"missing mermaid":        {"    mermaid: |-", "    mermaids: |-", "sections[0].diagrams[0].mermaid is missing"},
		"bad id":                 {"id: pk_k3v7m2qa", "id: pk_K3V7M2QA", "pk_K3V7M2QA"},
		"bad status":             {"status: draft", "status: done", "done"},
		"bad name":               {"name: token-audit", "name: ab", "ab"},
		"bad key":                {"key: flow", "key: Flow!", "Flow!"},
		"bad path":               {"path: internal/auth/verify.go", "path: ../secret", "secret"},
		"bad lines":              {"start: 12", "start: 0", "line"},
		"bad anchor hash":        {"    group: core", "    group: core\n    anchor: {hash: x, print: '0', before: '0', after: '0'}", "anchor.hash"},
		"bad anchor print":       {"    group: core", "    group: core\n    anchor: {hash: x, print: zz, before: '0', after: '0'}", "anchor.print"},
		"invalid UTF-8":          {"title: Token audit", "title: Tok\xffen", "line 5, column 11: byte 0xff is not valid UTF-8"},
		"binary tag":             {"title: Token audit", "title: !!binary aGk=", "line 5, column 8: the tag !!binary"},
		"version as text":        {"schema_version: 2", "schema_version: two", "line 2, column 17"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, plain, c.old)
			_, err := packfile.Decode([]byte(strings.Replace(plain, c.old, c.new, 1)))
			require.ErrorIs(t, err, pack.ErrMalformed)
			assert.Contains(t, err.Error(), c.want)
		})
	}
}

func TestOtherSchemaVersions(t *testing.T) {
	plain := golden(t, "original/plain.md")
	for name, in := range map[string]string{
		"newer":             strings.Replace(plain, "schema_version: 2", "schema_version: 3", 1),
		"older":             strings.Replace(plain, "schema_version: 2", "schema_version: 1", 1),
		"of another shape":  "---\nschema_version: 3\nid: pk_k3v7m2qa\nrevision: {major: 1}\n---\n",
		"with less fields":  "---\nschema_version: 3\nid: pk_k3v7m2qa\n---\n",
		"and a broken rule": strings.Replace(strings.Replace(plain, "schema_version: 2", "schema_version: 3", 1), "start: 12", "start: 0", 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := packfile.Decode([]byte(in))
			require.ErrorIs(t, err, pack.ErrSchema)
		})
	}
	_, err := packfile.Decode([]byte(strings.Replace(strings.Replace(plain, "schema_version: 2", "schema_version: 3", 1), "id: pk_", "id: px_", 1)))
	require.ErrorIs(t, err, pack.ErrMalformed, "the id is judged before the version")
}

// FuzzState: any pack survives encoding and decoding, whatever its texts.
func FuzzState(f *testing.F) {
	for _, s := range []string{"plain", "two\nlines", "a\n---\nb", "a\n  ---\nb", "yes", "0x1f", " \t\n", "---", "a\r\nb", "\u0085", "- x: y", "# c", "trail \nx"} {
		f.Add(s, "x", int64(1_700_000_000_123_456_789), uint64(7))
	}
	f.Fuzz(func(t *testing.T, a, b string, nanos int64, n uint64) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		s := full(t).State()
		s.Title, s.Brief, s.Revision, s.UpdatedAt = pack.Optional(a), pack.Optional(b), max(n, 1), time.Unix(0, nanos).UTC()
		s.Tags = []string{"-" + a, b + "."}
		s.Sections[0].Title, s.Sections[0].Description, s.Sections[0].ChangedAt = "."+a, pack.Optional(a+"\n"+b), n
		s.Sections[0].Refs[0].Why, s.Sections[0].Refs[0].Group = pack.Optional(b), pack.Optional(a)
		s.Sections[0].Refs[0].Snapshot.Text = a + b
		s.Sections[0].Diagrams[0].Mermaid, s.Sections[0].Diagrams[0].Why = "graph\n"+a, pack.Optional(b)
		p, err := pack.Restore(s)
		if err != nil {
			return // texts the domain refuses are not stored
		}
		data, err := packfile.Encode(p.State())
		require.NoError(t, err)
		back, err := packfile.Decode(data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, p.State(), back.State(), "%s", data)
		again, err := packfile.Encode(back.State())
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
	})
}

// FuzzDecode: no file panics, every refusal says what kind it is, and what is read is written back to the same pack.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"original/plain.md", "original/empty.md", "original/scalars.md", "own.md"} {
		f.Add([]byte(golden(f, name)))
	}
	f.Add([]byte("---\n---"))
	f.Add([]byte("---\n? ---\n---\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := packfile.Decode(file)
		if err != nil {
			require.True(t, isDamage(err), "%v", err)
			return
		}
		data, err := packfile.Encode(p.State())
		require.NoError(t, err)
		back, err := packfile.Decode(data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, p.State(), back.State())
	})
}
