package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// plainly are documents that scan has to manage by itself.
func plainly() []string {
	entry := `{"path":"a","sha256":"","module_ids":["x","ü"],"mode":"0755","owner":"o","part":{"format":"json","keys":[{"path":["]\"}"],"value":{"a":[1,{}]}}]},` +
		`"part_sha256":"","made":[["a"],[]],"created":true}`
	return []string{
		`{}`, ` { "schema_version" : 1 } `,
		`{"schema_version":1,"generated_at":"now","tool":"codex","snapshot_id":"7","managed_files":[]}`,
		`{"schema_version":0,"managed_files":[` + entry + `,{}, ` + entry + ` ]}`,
		`{"managed_files":[{"module_ids":[]},{"module_ids":["y"],"part":null,"made":null,"created":null}]}`,
	}
}

// odd are documents that it leaves to the library.
func odd() []string {
	return []string{
		``, `[]`, `null`, `{"schema_version":1`, `{"schema_version":1}}`, `{"tool":"a","tool":"b"}`, `{"tool":"a","schema_version":1}`, `{"Tool":"a"}`, `{"tool":"\u0061"}`,
		`{"tool":null}`, `{"tool":"a` + "\n" + `"}`, "{\"tool\":\"\xff\"}", `{"schema_version":01}`, `{"schema_version":-1}`, `{"schema_version":1.0}`, `{"schema_version":99999999999999999999}`,
		`{"schema_version":}`, `{"managed_files":null}`, `{"managed_files":[{"path":"a",}]}`, `{"managed_files":[{"path":"a"},]}`, `{"managed_files":[{"made":[}]}]}`, `{"managed_files":[{"created":"}`,
	}
}

// scanned is the document with its entries.
func scanned(data []byte) (document, bool) {
	var files entries
	doc, ok := scan(data, func(e *entry) {
		kept := *e
		kept.Modules = slices.Clone(e.Modules)
		files = append(files, kept)
	})
	doc.Files = files
	return doc, ok
}

func TestScanReadsManifestsAsTheyAreWritten(t *testing.T) {
	for _, text := range plainly() {
		var want document
		require.NoError(t, json.Unmarshal([]byte(text), &want), text)
		want.Files = append(entries(nil), want.Files...) // whether there is an empty list or none
		got, ok := scanned([]byte(text))
		require.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range odd() {
		_, ok := scanned([]byte(text))
		assert.False(t, ok, text)
	}
	_, ok := scanned(fmt.Appendf(nil, `{"managed_files":[%s{}]}`, strings.Repeat("{},", maxFiles)))
	assert.False(t, ok)
}

// TestMostEntriesAreCommon: what Encode writes of a file of one module is read the short way.
func TestMostEntriesAreCommon(t *testing.T) {
	file := deployment.Owned{Path: "/w/s/a", Sum: deployment.SumOf([]byte("a")), Modules: []string{"skill:ä"}}
	data, err := EncodeManifest(Manifest{Target: "codex", Root: "/w", Files: []deployment.Owned{file}})
	require.NoError(t, err)
	var e entry
	s := scanner{text: string(data), at: strings.LastIndex(string(data), "    {")}
	require.True(t, s.common(&e))
	assert.Equal(t, entry{Path: "s/a", Sum: file.Sum.String(), Modules: file.Modules}, e)
	assert.True(t, s.take(']'))
	for _, other := range []string{"\\u0061", "\x01"} {
		s := scanner{text: strings.Replace(string(data), "s/a", other, 1), at: s.at}
		s.at = strings.LastIndex(s.text, "    {")
		assert.False(t, s.common(&e), other)
	}
}

// FuzzScan: what scan reads, the library reads the same.
func FuzzScan(f *testing.F) {
	for _, text := range append(plainly(), odd()...) {
		f.Add([]byte(text))
		var tidy bytes.Buffer
		if json.Indent(&tidy, []byte(text), "", "  ") == nil {
			f.Add(tidy.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := scanned(data)
		if !ok {
			return
		}
		var want document
		require.NoError(t, json.Unmarshal(data, &want))
		want.Files = append(entries(nil), want.Files...)
		require.Equal(t, want, got)
	})
}
