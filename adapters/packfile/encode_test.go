package packfile

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/pack"
)

// TestEncodeIsTheLibrarysForm: what Encode writes line by line is, byte for byte, what the YAML library writes of the same pack, whatever its texts are.
func TestEncodeIsTheLibrarysForm(t *testing.T) {
	hard := []string{"a", "a: b", "a:", "a:b", "a #b", "a#b", " a", "a ", "null", "Null", "~", "true", "no", "on", "012", "0x1f", "1e5", "-", "- a", "? a", "'a'", `"a"`, "a'b",
		`a\b`, "[a]", "{a", "@a", "`a`", "%a", "!a", "&a", "*a", "|", ">", "a\nb", "a\n\n  b\n", "a\n---\nb", "---", "...", "é", "a\tb", "a\u0085b", "\u2028", "a, b; c", "/a", "./a.go", ".5",
		"sha256:ab", "2026-03-01", "=", "<<", "y", ".inf", "x: y: z", "one\ntwo: three #4", "\ttab", "ends with colon:", "#", "a\r\nb", "\U0001F600", "a\n b\n\n", "\n", "`a` b", "a\tb \"c\" \\ 'd'\n\te\n", "\t", " \t a", "a:\tb", "(a)", "[a]: b #c'd"}
	text := rapid.OneOf(rapid.SampledFrom(hard), rapid.StringMatching(`[a-zA-Z0-9 :#'"./,-]{1,20}`), rapid.StringN(1, 12, -1))
	print := rapid.Custom(func(t *rapid.T) pack.Fingerprint {
		return pack.Fingerprint(rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 0x12345678901234e5, 0x1234567890123456, 0x0b01010101010101, 0xe000000000000000, 0x00000000000e0001})).Draw(t, "print"))
	})
	maybe := func(t *rapid.T, name string) pack.Optional {
		if rapid.Bool().Draw(t, "has "+name) {
			return pack.Optional(text.Draw(t, name))
		}
		return ""
	}
	rapid.Check(t, func(t *rapid.T) {
		s := pack.State{SchemaVersion: 2, ID: "pk_aaaaaaaa", Status: pack.Draft, Revision: rapid.Uint64().Draw(t, "revision"), Name: maybe(t, "name"), Title: maybe(t, "title"),
			Brief: maybe(t, "brief"), Tags: rapid.SliceOfN(text, 0, 3).Draw(t, "tags"), CreatedAt: time.Unix(rapid.Int64Range(-1<<37, 1<<39).Draw(t, "created"), 120000000),
			UpdatedAt: time.Unix(1, 0), ExpiresAt: time.Unix(2, 5)}
		for range rapid.IntRange(0, 2).Draw(t, "sections") {
			sec := pack.Section{Key: pack.Key(text.Draw(t, "key")), Title: text.Draw(t, "section title"), Description: maybe(t, "description"), ChangedAt: rapid.Uint64Range(0, 2).Draw(t, "changed")}
			for range rapid.IntRange(0, 2).Draw(t, "refs") {
				r := pack.Ref{Key: "key", Path: pack.Path(text.Draw(t, "path")), Lines: pack.LineRange{Start: 1, End: 22}, Title: maybe(t, "ref title"), Why: maybe(t, "why"),
					Group: maybe(t, "group"), Root: pack.Root(maybe(t, "root")), Commit: pack.Commit(maybe(t, "commit"))}
				if rapid.Bool().Draw(t, "anchored") {
					r.Anchor = &pack.Anchor{Print: print.Draw(t, "print"), Before: print.Draw(t, "before"), After: print.Draw(t, "after")}
				}
				if rapid.Bool().Draw(t, "kept") {
					r.Snapshot = &pack.Snapshot{Lines: r.Lines, Text: text.Draw(t, "kept text"), Masked: rapid.IntRange(0, 2).Draw(t, "masked")}
				}
				sec.Refs = append(sec.Refs, r)
			}
			if rapid.Bool().Draw(t, "drawn") {
				sec.Diagrams = []pack.Diagram{{Key: "dd", Title: text.Draw(t, "diagram title"), Mermaid: text.Draw(t, "mermaid"), Why: maybe(t, "diagram why")}}
			}
			s.Sections = append(s.Sections, sec)
		}
		if rapid.Bool().Draw(t, "removed") {
			s.Removed = []pack.Removal{{Key: "gone", Revision: 3}}
		}
		body, wrong := yamlcodec.Encode(fromState(s))
		got, err := Encode(s)
		if wrong != nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, "---\n"+string(body)+"---\n", string(got))
	})
}

func fromState(s pack.State) document {
	d := document{
		SchemaVersion: new(int64(s.SchemaVersion)), ID: new(string(s.ID)),
		Name: nullable(s.Name), Title: nullable(s.Title), Brief: nullable(s.Brief), Status: new(s.Status.String()),
		Tags: new([]*string{}), Sections: new([]*section{}), Revision: new(s.Revision),
		CreatedAt: &yamlcodec.Timestamp{Time: s.CreatedAt}, UpdatedAt: &yamlcodec.Timestamp{Time: s.UpdatedAt},
		ExpiresAt: &yamlcodec.Timestamp{Time: s.ExpiresAt},
	}
	for _, t := range s.Tags {
		*d.Tags = append(*d.Tags, &t)
	}
	for _, sec := range s.Sections {
		*d.Sections = append(*d.Sections, fromSection(sec))
	}
	for _, r := range s.Removed {
		d.Removed = append(d.Removed, &removal{Key: new(string(r.Key)), Revision: &r.Revision})
	}
	return d
}

func fromSection(s pack.Section) *section {
	out := &section{
		Key: new(string(s.Key)), Title: &s.Title, Description: nullable(s.Description),
		Refs: new([]*ref{}), Diagrams: new([]*diagram{}), ChangedAt: s.ChangedAt,
	}
	for _, r := range s.Refs {
		*out.Refs = append(*out.Refs, fromRef(r))
	}
	for _, d := range s.Diagrams {
		*out.Diagrams = append(*out.Diagrams, &diagram{Key: new(string(d.Key)), Title: &d.Title, Mermaid: &d.Mermaid, Why: nullable(d.Why)})
	}
	return out
}

func fromRef(r pack.Ref) *ref {
	out := &ref{
		Key: new(string(r.Key)), Path: new(string(r.Path)), Lines: fromLines(r.Lines),
		Title: nullable(r.Title), Why: nullable(r.Why), Group: nullable(r.Group), Root: string(r.Root), Commit: string(r.Commit),
	}
	if a := r.Anchor; a != nil {
		out.Anchor = &anchor{Hash: new(a.Hash.String()), Print: fromPrint(a.Print), Before: fromPrint(a.Before), After: fromPrint(a.After)}
	}
	if n := r.Snapshot; n != nil {
		out.Snapshot = &snapshot{Lines: fromLines(n.Lines), Text: &n.Text, Masked: n.Masked}
	}
	return out
}

func fromLines(l pack.LineRange) *lines { return &lines{Start: &l.Start, End: &l.End} }

func fromPrint(p pack.Fingerprint) *string { return new(fmt.Sprintf("%016x", uint64(p))) }

func nullable(o pack.Optional) *string {
	if o == "" {
		return nil
	}
	return new(string(o))
}
