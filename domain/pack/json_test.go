package pack_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/pack"
)

// TestJSONIsWhatTheTagsSay: the JSON of a pack is, byte for byte, what encoding/json makes of its fields, for any texts.
func TestJSONIsWhatTheTagsSay(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "a", `"q" \ <&>`, "é\n\t\r\b\f\x01\x7f", "\u2028\u2029", "\xff\xfe", "日本"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		optional := func(name string) pack.Optional { return pack.Optional(text.Draw(t, name)) }
		r := pack.Ref{Key: pack.Key(text.Draw(t, "key")), Path: pack.Path(text.Draw(t, "path")), Lines: pack.LineRange{Start: rapid.Int().Draw(t, "start"), End: 3}, Title: optional("title"),
			Why: optional("why"), Group: optional("group"), Root: pack.Root(text.Draw(t, "root")), Commit: pack.Commit(text.Draw(t, "commit"))}
		if rapid.Bool().Draw(t, "anchored") {
			r.Anchor = &pack.Anchor{Print: pack.Fingerprint(rapid.Uint64().Draw(t, "print")), Before: 0x1f}
			if rapid.Bool().Draw(t, "summed") {
				r.Anchor.Hash[3] = 7
			}
		}
		if rapid.Bool().Draw(t, "kept") {
			r.Snapshot = &pack.Snapshot{Lines: r.Lines, Text: text.Draw(t, "text"), Masked: rapid.IntRange(0, 2).Draw(t, "masked")}
		}
		s := []pack.Section{{Key: "kk", Title: text.Draw(t, "section"), Description: optional("description"), Refs: []pack.Ref{r, {}}, ChangedAt: rapid.Uint64Range(0, 1).Draw(t, "changed"),
			Diagrams: []pack.Diagram{{Key: "dd", Title: text.Draw(t, "diagram"), Mermaid: text.Draw(t, "mermaid"), Why: optional("diagram why")}}}, {Refs: []pack.Ref{}, Diagrams: []pack.Diagram{}}}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(s))
		require.Equal(t, want.String(), string(pack.AppendSections(nil, s))+"\n")
	})
	state := pack.State{SchemaVersion: 2, ID: "pk_aaaaaaaa", Name: "<n>", Status: pack.Finalized, Revision: 1 << 63, CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(2, 1000), ExpiresAt: time.Unix(3, 1),
		Tags: []string{"a", "b"}, Removed: []pack.Removal{{Key: "gone", Revision: 4}}}
	doc, err := state.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `{"schema_version":2,"id":"pk_aaaaaaaa","name":"<n>","title":null,"brief":null,"status":"finalized","tags":["a","b"],"sections":[],"revision":9223372036854775808,`+
		`"removed":[{"key":"gone","revision":4}],"created_at":"1970-01-01T00:00:01Z","updated_at":"1970-01-01T00:00:02.000001Z","expires_at":"1970-01-01T00:00:03.000000001Z"}`, string(doc))
}
