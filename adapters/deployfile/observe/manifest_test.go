package observe_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

func codex() deployment.Root {
	return deployment.Root{Target: "codex", Path: "/w/codex", ScanExtras: true}
}

func digits(text string) string { return deployment.SumOf([]byte(text)).String() }

// owned is an entry with nothing but what every entry has.
func owned(path, text string) deployment.Owned {
	return deployment.Owned{Target: "codex", Root: "/w/codex", Path: path, Sum: deployment.SumOf([]byte(text)), Mode: deployment.PlainMode}
}

// plain is a manifest without anything of our own.
func plain() observe.Manifest {
	a, b := owned("/w/codex/AGENTS.md", "a"), owned("/w/codex/prompts/<b> & \"c\".md", "b")
	a.Modules = []string{"instructions:a", "instructions:b"}
	return observe.Manifest{GeneratedAt: time.Date(2026, 3, 1, 10, 0, 0, 5e8, time.UTC), Target: "codex", Root: "/w/codex",
		SnapshotID: "1772359200500000000", Files: []deployment.Owned{b, a}} // sorted when written
}

// full is a manifest with everything that is ours.
func full() observe.Manifest {
	m := plain()
	script, settings, block := owned("/w/codex/bin/run.sh", "r"), owned("/w/codex/config.toml", "t"), owned("/w/codex/AGENTS.md", "whole")
	script.Mode, script.Owner = deployment.ExecutableMode, deployment.OwnerBootstrap
	settings.Part = &deployment.Part{Format: deployment.FormatTOML, Keys: []deployment.Key{
		{Path: []string{"mcp_servers", "docs"}, Value: json.RawMessage(`{"args":["-y","<x>"],"command":"npx"}`), Module: "mcp:docs"},
		{Path: []string{"gone"}},
	}}
	settings.PartSum, settings.Made, settings.Created = deployment.SumOf([]byte("part")), [][]string{{"mcp_servers"}, {"a", "b"}}, true
	block.Owner, block.Part, block.PartSum = deployment.OwnerBootstrap, &deployment.Part{Format: deployment.FormatMarkdown, Block: "two\nlines\n"}, deployment.SumOf([]byte("two\nlines\n"))
	m.Files = append(m.Files, script, settings, block)
	return m
}

func TestEncode(t *testing.T) {
	for name, m := range map[string]observe.Manifest{
		"plain": plain(),
		"full":  full(),
		"empty": {GeneratedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 7200)), Target: "codex", Root: "/w/codex"},
	} {
		data, err := observe.EncodeManifest(m)
		require.NoError(t, err)
		golden.Text(t, name, string(data))
	}
}

func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	for _, m := range []observe.Manifest{plain(), full()} {
		data, err := observe.EncodeManifest(m)
		require.NoError(t, err)
		got, warnings, err := observe.DecodeManifest(data, codex())
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.ElementsMatch(t, m.Files, got.Files)
		got.Files, m.Files = nil, nil
		assert.Equal(t, m, got)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, path := range map[string]string{
		"outside": "/w/other/a", "the root": "/w/codex", "beside": "/w/codex-2/a", "relative": "a", "no text": "/w/codex/\xff", "a manifest": "/w/codex/" + observe.ManifestName("codex"),
	} {
		_, err := observe.EncodeManifest(observe.Manifest{Target: "codex", Root: "/w/codex", Files: []deployment.Owned{owned(path, "")}})
		assert.ErrorIs(t, err, deployment.ErrPath, name)
	}
	broken := owned("/w/codex/a", "")
	broken.Part = &deployment.Part{Format: deployment.FormatJSON, Keys: []deployment.Key{{Value: json.RawMessage(`{`)}}}
	_, err := observe.EncodeManifest(observe.Manifest{Target: "codex", Root: "/w/codex", Files: []deployment.Owned{broken}})
	assert.ErrorIs(t, err, observe.ErrBadManifest)
}

// TestReadsTheOriginalFormat is a manifest as the tool that the format comes from writes it, and the same in other spellings of JSON.
func TestReadsTheOriginalFormat(t *testing.T) {
	entry := fmt.Sprintf(`{"path": "AGENTS.md", "sha256": "%s", "module_ids": ["instructions:a", "instructions:b"]}`, digits("a"))
	want := owned("/w/codex/AGENTS.md", "a")
	want.Modules = []string{"instructions:a", "instructions:b"}
	for name, doc := range map[string]string{
		"as written": `{
  "schema_version": 1,
  "generated_at": "2026-03-01T10:00:00.5Z",
  "tool": "codex",
  "snapshot_id": "1772359200500000000",
  "managed_files": [
    ` + entry + `
  ]
}
`,
		"other order and keys": `{"managed_files":[` + entry + `],"later":{"a":[1,"]"]},"tool":"codex","snapshot_id":"1772359200500000000","generated_at":"2026-03-01T12:00:00.500+02:00","schema_version":1}`,
		"escapes": strings.ReplaceAll(`{"schema_version":1,"generated_at":"2026-03-01T10:00:00.5Z","tool":"c\u006fdex","snapshot_id":"1772359200500000000","managed_files":[`+entry+`]}`,
			"AGENTS.md", `\u0041GENTS.md`),
	} {
		m, warnings, err := observe.DecodeManifest([]byte(doc), codex())
		require.NoError(t, err, name)
		assert.Empty(t, warnings, name)
		assert.Equal(t, observe.Manifest{GeneratedAt: time.Date(2026, 3, 1, 10, 0, 0, 5e8, time.UTC), Target: "codex", Root: "/w/codex",
			SnapshotID: "1772359200500000000", Files: []deployment.Owned{want}}, m, name)
	}
}

func TestDecodeSkipsEntriesThatCannotBe(t *testing.T) {
	for path, problem := range map[string]string{
		"/etc/passwd": "absolute", "../a": "goes up", "a/../../b": "goes up", "a/../b": "goes up", `..\\a`: "goes up", "": "not name a file", ".": "not name a file",
		`a\u0000b`: "NUL", ".agentpack.manifest.zed.json": "manifest",
	} {
		doc := fmt.Sprintf(`{"schema_version":1,"generated_at":"","tool":"codex","managed_files":[{"path":"%s","sha256":"%s"},{"path":"./ok//fine","sha256":"%s"}]}`,
			path, digits("a"), digits("b"))
		m, warnings, err := observe.DecodeManifest([]byte(doc), codex())
		require.NoError(t, err)
		assert.Equal(t, []deployment.Owned{owned("/w/codex/ok/fine", "b")}, m.Files, path)
		require.Len(t, warnings, 1, path)
		assert.Contains(t, warnings[0], problem)
		assert.Zero(t, m.GeneratedAt)
	}
	doc := fmt.Sprintf(`{"schema_version":1,"tool":"codex","managed_files":[{"path":"b","sha256":"%[1]s"},{"path":"bad","sha256":"xyz"},
		{"path":"b","sha256":"%[1]s","owner":"bootstrap"},{"path":"a","sha256":"%[1]s"},{"path":"./b","sha256":"%[1]s"}]}`, digits("x"))
	m, warnings, err := observe.DecodeManifest([]byte(doc), codex())
	require.NoError(t, err)
	second := owned("/w/codex/b", "x")
	second.Owner = deployment.OwnerBootstrap
	assert.Equal(t, []deployment.Owned{owned("/w/codex/b", "x"), second, owned("/w/codex/a", "x")}, m.Files)
	assert.Len(t, warnings, 2)
}

func TestDecodeSaysLittleAboutNonsense(t *testing.T) {
	doc := `{"schema_version":1,"tool":"codex","managed_files":[` + strings.Repeat(`{"path":"../`+strings.Repeat("n", 5000)+`"},`, 1000) + `{"path":"fine"}]}`
	m, warnings, err := observe.DecodeManifest([]byte(doc), codex())
	require.NoError(t, err)
	assert.Len(t, m.Files, 1)
	require.Len(t, warnings, 21)
	assert.Contains(t, warnings[20], "980 more")
	assert.Less(t, len(warnings[0]), 300)
}

func TestDecodeSkipsPathsThatCannotBeOpened(t *testing.T) {
	name := strings.Repeat("n", 255)
	for path, fine := range map[string]bool{
		name: true, "a/" + name + "/" + name: true, name + "n": false, "a/" + name + "n/b": false, "a/" + name + "n": false,
		strings.Repeat("nnnnnnn/", 510): true, strings.Repeat("nnnnnnn/", 511): false,
	} {
		m, warnings, err := observe.DecodeManifest(fmt.Appendf(nil, `{"schema_version":1,"tool":"codex","managed_files":[{"path":"%s"}]}`, path), codex())
		require.NoError(t, err)
		assert.Equal(t, fine, len(m.Files) == 1, "%d bytes", len(path))
		assert.Equal(t, !fine, len(warnings) == 1)
	}
}

func TestDecodeRefusesWhatIsNoManifestOfThisTarget(t *testing.T) {
	for doc, problem := range map[string]string{
		"": "not a valid manifest", "[]": "not a valid manifest", `{"schema_version":"1"}`: "not a valid manifest", `{"schema_version":1,"tool":"codex","managed_files":{}}`: "not a list",
		`{"tool":"codex"}`: "schema_version is 0", `{"schema_version":2,"tool":"codex","managed_files":[]}`: "schema_version is 2",
		`{"schema_version":1,"tool":"zed"}`: `tool is "zed"`, `{"schema_version":1,"tool":"codex"} x`: "not a valid manifest",
	} {
		_, _, err := observe.DecodeManifest([]byte(doc), codex())
		require.ErrorIs(t, err, observe.ErrBadManifest, doc)
		assert.ErrorContains(t, err, problem)
	}
	crowd := `{"schema_version":1,"tool":"codex","managed_files":[` + strings.Repeat("{},", 1<<18) + "{}]}"
	_, _, err := observe.DecodeManifest([]byte(crowd), codex())
	assert.ErrorContains(t, err, "more than 262144")
}

func TestNames(t *testing.T) {
	assert.Equal(t, ".agentpack.manifest.claude_code.json", observe.ManifestName("claude_code"))
	assert.Equal(t, ".agentpack.manifest.a__b.json", observe.ManifestName("a/.b"))
	for name, want := range map[string]bool{
		".agentpack.manifest.json": true, ".agentpack.manifest.codex.json": true, ".agentpack.manifest..json": false, "agentpack.manifest.json": false,
		".agentpack.manifest.codex.json.bak": false, ".agentpack.manifest.": false, "": false, ".agentpack.manifest.x.y.json": true,
	} {
		assert.Equal(t, want, observe.IsManifestName(name), name)
	}
}

// put makes a file in a root of its own.
func put(t *testing.T, files map[string]string) deployment.Root {
	t.Helper()
	root := deployment.Root{Target: "codex", Path: t.TempDir()}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root.Path, name), []byte(text), 0o644))
	}
	return root
}

func document(tool string) string {
	return fmt.Sprintf(`{"schema_version":1,"tool":%q,"managed_files":[{"path":"from-%s","sha256":"%s"}]}`, tool, tool, digits("a"))
}

func TestRead(t *testing.T) {
	const own, legacy = ".agentpack.manifest.codex.json", ".agentpack.manifest.json"
	for name, c := range map[string]struct {
		files             map[string]string
		present, legacy   bool
		warning, warning2 string
	}{
		"nothing":               {},
		"own":                   {files: map[string]string{own: document("codex")}, present: true},
		"own before legacy":     {files: map[string]string{own: document("codex"), legacy: "x"}, present: true},
		"legacy":                {files: map[string]string{legacy: document("codex")}, present: true, legacy: true, warning: "old name"},
		"a neighbour's legacy":  {files: map[string]string{legacy: document("zed")}},
		"damaged legacy":        {files: map[string]string{legacy: "x"}, warning: "is ignored"},
		"damaged":               {files: map[string]string{own: "{", legacy: document("codex")}, warning: "is ignored"},
		"another's in our name": {files: map[string]string{own: document("zed")}, warning: `"zed"`},
	} {
		t.Run(name, func(t *testing.T) {
			root := put(t, c.files)
			l, warnings, err := observe.ReadManifest(root)
			require.NoError(t, err)
			assert.Equal(t, root, l.Root)
			assert.Equal(t, c.present, l.Present)
			assert.Equal(t, c.legacy, l.Legacy)
			if c.warning == "" {
				assert.Empty(t, warnings)
			} else if assert.Len(t, warnings, 1) {
				assert.Contains(t, warnings[0], c.warning)
				assert.Contains(t, warnings[0], root.Path)
			}
			if c.present {
				require.Len(t, l.Owned, 1)
				assert.Equal(t, filepath.Join(root.Path, "from-codex"), l.Owned[0].Path)
			} else {
				assert.Empty(t, l.Owned)
			}
		})
	}
}

func TestReadWhereNoManifestCanBe(t *testing.T) {
	file := filepath.Join(put(t, map[string]string{"file": ""}).Path, "file")
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o644))
	for _, path := range []string{file, pipe, filepath.Join(file, "below"), filepath.Join(t.TempDir(), "absent")} {
		l, warnings, err := observe.ReadManifest(deployment.Root{Target: "codex", Path: path})
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.False(t, l.Present)
	}
	_, _, err := observe.ReadManifest(deployment.Root{Target: "codex", Path: "/" + strings.Repeat("n", 300)})
	assert.ErrorIs(t, err, deployment.ErrPathLong)
}

func TestReadKeepsInsideTheRoot(t *testing.T) {
	outside := put(t, map[string]string{"manifest": document("codex")})
	root := put(t, map[string]string{"inside": document("codex")})
	name := filepath.Join(root.Path, observe.ManifestName("codex"))
	require.NoError(t, os.Symlink(filepath.Join(outside.Path, "manifest"), name))
	l, warnings, err := observe.ReadManifest(root)
	require.NoError(t, err)
	assert.False(t, l.Present)
	assert.Len(t, warnings, 1)

	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Symlink("inside", name))
	l, warnings, err = observe.ReadManifest(root)
	require.NoError(t, err)
	assert.True(t, l.Present)
	assert.Empty(t, warnings)
}

func TestReadBlocksOnNothing(t *testing.T) {
	root := put(t, nil)
	name := filepath.Join(root.Path, observe.ManifestName("codex"))
	require.NoError(t, syscall.Mkfifo(name, 0o644))
	l, warnings, err := observe.ReadManifest(root)
	require.NoError(t, err)
	assert.False(t, l.Present)
	assert.Len(t, warnings, 1)

	require.NoError(t, os.Remove(name))
	require.NoError(t, os.WriteFile(name, nil, 0o644))
	require.NoError(t, os.Truncate(name, observe.MaxManifestSize+1))
	l, warnings, err = observe.ReadManifest(root)
	require.NoError(t, err)
	assert.False(t, l.Present)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0], "larger than")
}

// FuzzDecode: whatever the bytes, entries stay below their root, and what was read can be written and read again.
func FuzzDecode(f *testing.F) {
	for _, m := range []observe.Manifest{plain(), full(), {Target: "codex", Root: "/w/codex"}} {
		data, err := observe.EncodeManifest(m)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(document("codex")))
	f.Add([]byte(`{"schema_version":1,"tool":"codex","managed_files":[{"path":"a/../..\\b","sha256":"","created":null,"part":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := observe.DecodeManifest(data, codex())
		if err != nil {
			require.ErrorIs(t, err, observe.ErrBadManifest)
			return
		}
		for _, file := range m.Files {
			require.True(t, deployment.IsBelow(m.Root, file.Path, '/') && file.Path != m.Root, "%q", file.Path)
			require.Equal(t, filepath.Clean(file.Path), file.Path)
		}
		written, err := observe.EncodeManifest(m)
		if err != nil {
			require.ErrorIs(t, err, deployment.ErrPath, "only a path that is no text cannot be written")
			return
		}
		again, warnings, err := observe.DecodeManifest(written, codex())
		require.NoError(t, err)
		require.Empty(t, warnings)
		rewritten, err := observe.EncodeManifest(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}
