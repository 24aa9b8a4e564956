package pack_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

var now = time.Date(2026, 2, 20, 11, 27, 30, 123456789, time.UTC)

// sample returns a pack with every line of the format, and every status of a ref.
func sample() pack.Shown {
	text := func(s ...string) []string { return s }
	ref := func(key pack.Key, path pack.Path, start, end int) pack.Ref {
		return pack.Ref{Key: key, Path: path, Lines: pack.LineRange{Start: start, End: end}}
	}
	full := ref("handler", "src/auth/handler.rs", 9998, 10000)
	full.Title, full.Why, full.Group = "Token validation", "Main entry point for token validation", "core"
	upper := ref("upper", "README", 5, 5)
	upper.Group = "Alpha"
	named := ref("named", "svc/main.go", 12, 12)
	named.Root, named.Commit = "api", "0123abc"
	kept := ref("kept", "gone.py", 3, 4)
	kept.Snapshot = &pack.Snapshot{Lines: pack.LineRange{Start: 3, End: 4}, Text: "def f():\n    pass", Masked: 1}
	s := pack.State{
		SchemaVersion: 2, ID: "pk_f2ireb33", Name: "auth-flow", Title: "Authentication", Brief: "Authentication flow", Status: pack.Finalized, Revision: 5,
		Tags: []string{"auth", "api"}, ExpiresAt: time.Date(2026, 2, 20, 12, 0, 0, 123456789, time.UTC),
		Sections: []pack.Section{
			{Key: "empty", Title: "Nothing here"},
			{Key: "words", Title: "Only words", Description: "First line\n\n- second"},
			{
				Key: "flow", Title: "Flow", Description: "Section description",
				Refs: []pack.Ref{ref("plain", "a/b.md", 1, 2), full, upper, ref("moved", "m.go", 10, 11), ref("changed", "c.ts", 1, 1), ref("stale", "s.c", 7, 9),
					ref("unread", "u.bin", 1, 1), named, kept},
				Diagrams: []pack.Diagram{{Key: "one", Title: "Call order", Mermaid: "sequenceDiagram\n  A->>B: token", Why: "who calls whom"},
					{Key: "two", Title: "Plain", Mermaid: "graph TD\n```\n````"}},
			},
			{Key: "drawn", Title: "Drawn", Diagrams: []pack.Diagram{{Key: "only", Title: "Only", Mermaid: "pie"}}},
		},
	}
	at := func(start, end int) pack.LineRange { return pack.LineRange{Start: start, End: end} }
	return pack.Shown{State: s, Now: now, Evidence: []pack.Evidence{
		{Standing: pack.RefExact, Lines: at(1, 2), Text: text("```go", "x")},
		{Standing: pack.RefExact, Lines: at(9998, 10000), Text: text("pub async fn validate_token(token: &str) {", "", "}")},
		{Standing: pack.RefExact, Lines: at(5, 5), Text: text("  indented\twith tab"), Masked: 2},
		{Standing: pack.RefMoved, Lines: at(12, 13), Text: text("a", "b")},
		{Standing: pack.RefChanged, Lines: at(1, 1), Text: text("const b = 2")},
		{Standing: pack.RefStale, Lines: at(7, 9), Reason: "s.c has 8 lines; end line 9 is beyond the last"},
		{Standing: pack.RefUnreadable, Lines: at(1, 1), Reason: "u.bin: the file is not valid UTF-8 text"},
		{Standing: pack.RefExact, Lines: at(12, 12), Text: text("package main")},
		{Standing: pack.RefStale, Lines: at(3, 4), Reason: "gone.py does not exist under source root"},
	}}
}

func TestDocument(t *testing.T) {
	s := sample()
	golden.Text(t, "full", pack.RenderDocument(s, pack.Options{}, nil))
	golden.Text(t, "compact", pack.RenderDocument(s, pack.Options{View: pack.ViewCompact}, nil))
	golden.Text(t, "page", pack.RenderDocument(s, pack.Options{Paged: true, Offset: 3, Limit: 3, Legend: []string{"selected_by: exact_id"}}, func(n int) string { return fmt.Sprintf("cursor-%d", n) }))
	golden.Text(t, "match", pack.RenderDocument(s, pack.Options{Match: regexp.MustCompile(`token|Only words`)}, nil))
	golden.Text(t, "budget", pack.RenderDocument(s, pack.Options{MaxTokens: 420}, nil))
	bare := pack.Shown{State: pack.State{ID: "pk_f2ireb33", Status: pack.Draft, Revision: 1, ExpiresAt: now.Add(90 * time.Minute)}, Now: now}
	assert.Equal(t, "[LEGEND]\n# Context pack: Untitled\n\n- id: pk_f2ireb33\n- status: draft\n- revision: 1\n- expires_at: 2026-02-20T12:57:30Z\n- ttl_remaining: 1h\n\n[CONTENT]\n",
		pack.RenderDocument(bare, pack.Options{}, nil))
}

// TestSeedSample is the example that the context-pack contract gives, in the exact form of context-pack contract §3.2.
func TestSeedSample(t *testing.T) {
	lines := make([]string, 26)
	lines[0], lines[25] = "pub async fn validate_token(token: &str) -> Result<Claims> {", "}"
	s := pack.Shown{Now: now, State: pack.State{
		ID: "pk_f2ireb33", Name: "auth", Title: "Auth", Status: pack.Finalized, Revision: 5, ExpiresAt: time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC),
		Tags: []string{"auth", "api"}, Brief: "Authentication flow",
		Sections: []pack.Section{{Key: "section-key", Title: "Section Title", Description: "Section description", Refs: []pack.Ref{{
			Key: "ref-key", Path: "src/auth/handler.rs", Lines: pack.LineRange{Start: 42, End: 67}, Title: "Ref Title", Why: "Main entry point for token validation", Group: "core",
		}}}},
	}, Evidence: []pack.Evidence{{Standing: pack.RefExact, Lines: pack.LineRange{Start: 42, End: 67}, Text: lines}}}
	doc := pack.RenderDocument(s, pack.Options{}, nil)
	assert.True(t, strings.HasPrefix(doc, `[LEGEND]
# Context pack: Auth

- id: pk_f2ireb33
- name: auth
- status: finalized
- revision: 5
- expires_at: 2026-02-20T12:00:00Z
- ttl_remaining: 32m
- tags: auth, api
- brief: Authentication flow

[CONTENT]

## Section Title [section-key]

Section description

### group: core

#### ref-key [section-key]
**Ref Title**

- path: src/auth/handler.rs
- lines: 42-67
- why: Main entry point for token validation

`+"```rust\n  42: pub async fn validate_token(token: &str) -> Result<Claims> {\n  43: \n"), doc)
	assert.True(t, strings.HasSuffix(doc, "\n  67: }\n```\n"), doc)
}

func TestLanguages(t *testing.T) {
	for want, exts := range map[string]string{
		"rust": "rs", "typescript": "ts tsx", "javascript": "js jsx", "python": "py", "go": "go", "java": "java", "kotlin": "kt", "c": "c h", "cpp": "cpp cc cxx hpp",
		"csharp": "cs", "ruby": "rb", "bash": "sh bash", "toml": "toml", "yaml": "yaml yml", "json": "json", "sql": "sql", "markdown": "md", "html": "html htm",
		"css": "css", "protobuf": "proto", "": "RS txt exe",
	} {
		for ext := range strings.FieldsSeq(exts) {
			assert.Equal(t, want, pack.Language("dir.x/f."+ext), ext)
		}
	}
	for _, path := range []string{"go", "dir.go/go", "dir.go/Makefile", "a."} {
		assert.Empty(t, pack.Language(path), path)
	}
}

func TestHumanTimes(t *testing.T) {
	for left, want := range map[time.Duration]string{
		-1: "expired", 0: "expired", 1: "<1m", time.Minute - 1: "<1m", time.Minute: "1m", 30*time.Minute - 1: "29m", time.Hour - 1: "59m", 90 * time.Minute: "1h",
		24*time.Hour - 1: "23h", 24 * time.Hour: "1d", 1441 * time.Minute: "1d", 3000 * time.Hour: "125d",
	} {
		assert.Equal(t, want, pack.HumanDuration(now.Add(left), now), left)
	}
	for left, want := range map[time.Duration]pack.Freshness{0: pack.FreshnessExpired, 1: pack.FreshnessExpiringSoon, 900 * time.Second: pack.FreshnessExpiringSoon, 900*time.Second + 1: pack.FreshnessFresh} {
		assert.Equal(t, want, pack.FreshnessAt(now.Add(left), now), left)
	}
	assert.EqualValues(t, 1, pack.Remaining(now.Add(1999*time.Millisecond), now))
	assert.EqualValues(t, 0, pack.Remaining(now.Add(-time.Hour), now))
}

// nasty returns text with everything that could break the structure of the document.
func nasty() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "\r", "\r\n", "\u2028", "\u0085", "\v", "[LEGEND]", "[CONTENT]", "- status: forged", "- masked_secrets: 0", "- next: forged",
			"```", "````", "~~~", "# Context pack: forged", "## forged", "word", " ", "\t", "`"}), 0, 8).Draw(t, "parts")
		return strings.TrimSpace(strings.Join(parts, ""))
	})
}

// TestNothingForgesTheLegend: for any fields, the document has one [LEGEND] line, one [CONTENT] line, a legend of exactly its own lines, and every
// heading of the pack outside any code fence.
func TestNothingForgesTheLegend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(what string) string { return nasty().Draw(t, what) }
		opt := func(what string) pack.Optional { return pack.Optional(text(what)) }
		s := pack.State{ID: "pk_f2ireb33", Name: opt("name"), Title: opt("title"), Brief: opt("brief"), Status: pack.Draft, Revision: 1,
			ExpiresAt: now.Add(time.Hour), Tags: []string{text("tag")}}
		shown := pack.Shown{Now: now}
		for i := range rapid.IntRange(1, 3).Draw(t, "sections") {
			lines := strings.Split(text("code"), "\n")
			standing := rapid.SampledFrom([]pack.RefStatus{pack.RefExact, pack.RefMoved, pack.RefChanged, pack.RefStale, pack.RefUnreadable}).Draw(t, "standing")
			e := pack.Evidence{Standing: standing, Lines: pack.LineRange{Start: 1, End: len(lines)}, Text: lines, Reason: text("reason")}
			if standing < pack.RefChanged {
				e.Text = nil
			}
			shown.Evidence = append(shown.Evidence, e)
			s.Sections = append(s.Sections, pack.Section{
				Key: pack.Key(fmt.Sprintf("s%d", i)), Title: "T" + text("section"), Description: opt("description"),
				Refs:     []pack.Ref{{Key: "rr", Path: pack.Path("p" + text("path")), Lines: e.Lines, Title: opt("ref"), Why: opt("why"), Group: opt("group")}},
				Diagrams: []pack.Diagram{{Key: "dd", Title: "T" + text("diagram"), Mermaid: "x" + text("mermaid"), Why: opt("dwhy")}},
			})
		}
		shown.State = s
		doc := pack.RenderDocument(shown, pack.Options{}, nil)

		require.Equal(t, 1, count(doc, "[LEGEND]"), doc)
		require.Equal(t, 1, count(doc, "[CONTENT]"), doc)
		legend, content, ok := strings.Cut(doc, "\n[CONTENT]\n")
		require.True(t, ok)
		want := 6 // blank, id, status, revision, expires_at, ttl_remaining …
		for _, present := range []bool{s.Name != "", true, s.Brief != ""} {
			if present {
				want++
			}
		}
		require.Len(t, strings.Split(strings.TrimSuffix(legend, "\n"), "\n"), 2+want, doc)
		headings := 0
		for _, l := range outsideFences(content) {
			if heading.MatchString(l) {
				headings++
			}
		}
		require.Equal(t, 4*len(s.Sections), headings, doc)
	})
}

var (
	heading   = regexp.MustCompile(`^(## T.*\[s\d\]|#### rr \[s\d\]|### Diagrams|### group: .*|### group:)$`)
	fenceLine = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})(.*)$")
)

func count(doc, line string) (n int) {
	for _, l := range outsideFences(doc) {
		if strings.TrimSpace(l) == line {
			n++
		}
	}
	return n
}

// outsideFences returns the lines outside code fences, as a Markdown reader sees it.
func outsideFences(doc string) (out []string) {
	open := ""
	for l := range strings.SplitSeq(doc, "\n") {
		m := fenceLine.FindStringSubmatch(l)
		switch {
		case open == "" && m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
			open = m[1]
		case open == "":
			out = append(out, l)
		case m != nil && strings.HasPrefix(m[1], open) && strings.TrimSpace(m[2]) == "":
			open = ""
		}
	}
	return out
}

// TestPagesConcatenate: for every page size and start, the pages' contents joined are the whole's content.
func TestPagesConcatenate(t *testing.T) {
	s := sample()
	for _, view := range []pack.View{pack.ViewFull, pack.ViewCompact} {
		_, whole, _ := strings.Cut(pack.RenderDocument(s, pack.Options{View: view}, nil), "[CONTENT]\n")
		for limit := 1; limit < 16; limit++ {
			var got strings.Builder
			for offset := 0; offset < 14; offset += limit {
				o := pack.Options{View: view, Paged: true, Offset: offset, Limit: limit}
				needed := pack.NeededRefs(s.State, o)
				partial := pack.Shown{State: s.State, Now: now, Evidence: make([]pack.Evidence, len(s.Evidence))}
				for _, i := range needed {
					partial.Evidence[i] = s.Evidence[i]
				}
				_, content, _ := strings.Cut(pack.RenderDocument(partial, o, func(int) string { return "c" }), "[CONTENT]\n")
				got.WriteString(content)
			}
			require.Equal(t, whole, got.String(), "limit %d", limit)
		}
	}
}

func TestCursorFitsOneDocument(t *testing.T) {
	s := sample().State
	o := pack.Options{Match: regexp.MustCompile("x")}
	c := pack.Cursor{Offset: 7, Limit: 3}
	text := c.Encode(s, o)
	assert.Less(t, len(text), 40)
	got, err := pack.ParseCursor(" "+text+" ", s, o)
	require.NoError(t, err)
	assert.Equal(t, c, got)
	other := s
	other.Revision++
	for name, try := range map[string]func() error{
		"revision": func() error { _, err := pack.ParseCursor(text, other, o); return err },
		"options":  func() error { _, err := pack.ParseCursor(text, s, pack.Options{}); return err },
		"offset":   func() error { _, err := pack.ParseCursor(strings.Replace(text, ".7.", ".8.", 1), s, o); return err },
		"version":  func() error { _, err := pack.ParseCursor("v2"+text[2:], s, o); return err },
		"empty":    func() error { _, err := pack.ParseCursor("", s, o); return err },
	} {
		err := try()
		require.ErrorIs(t, err, pack.ErrCursor, name)
		assert.Contains(t, err.Error(), "invalid_cursor")
	}
}

// TestBudgetHolds: with a budget that fits the legend, the document's own estimate is within it, and every ref is either shown whole or listed.
func TestBudgetHolds(t *testing.T) {
	s := sample()
	legend, _, _ := strings.Cut(pack.RenderDocument(s, pack.Options{MaxTokens: 1 << 30}, nil), "[CONTENT]")
	floor := pack.EstimateTokens(legend) + 50
	for budget := floor; budget < 1200; budget += 13 {
		doc := pack.RenderDocument(s, pack.Options{MaxTokens: budget}, nil)
		require.LessOrEqual(t, pack.EstimateTokens(doc), budget, "budget %d\n%s", budget, doc)
		if strings.Contains(doc, "more; raise max_tokens") {
			continue
		}
		for _, sec := range s.State.Sections {
			for _, r := range sec.Refs {
				whole := strings.Contains(doc, fmt.Sprintf("#### %s [%s]\n", r.Key, sec.Key))
				listed := strings.Contains(doc, fmt.Sprintf("- %s::%s ", sec.Key, r.Key))
				require.True(t, whole != listed, "ref %s at budget %d\n%s", r.Key, budget, doc)
			}
		}
	}
}

// TestTokenEstimate: the estimate is within the margins of budgets, for text whose counts by a common tokenizer (o200k) are known.
func TestTokenEstimate(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "hello world": 2, "The quick brown fox jumps over the lazy dog.": 10,
		"func (s *Server) Serve(ctx context.Context) error {\n\treturn s.http.ListenAndServe()\n}\n": 24,
		"日本語のテキスト": 5,
	} {
		got := pack.EstimateTokens(text)
		assert.GreaterOrEqual(t, got, want*85/100, text)
		assert.LessOrEqual(t, got, want*160/100+1, text)
	}
}

func TestDiffShowsOnlyWhatDiffers(t *testing.T) {
	s := sample()
	then := make([]pack.EarlierText, len(s.Evidence))
	then[4] = pack.EarlierText{Text: []string{"const a = 1", "const b = 1"}, Source: "commit 0123abc"}
	then[5] = pack.EarlierText{Reason: "not kept"}
	then[6], then[8] = then[5], pack.EarlierText{Text: []string{"def f():", "    pass"}, Source: "kept when the pack was finalized"}
	golden.Text(t, "diff", pack.RenderDiff(s, then))
}

// TestDiffIsExact: applying the lines to the old text gives the new one, for any two texts.
func TestDiffIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 1, 12)
		old, new := line.Draw(t, "old"), line.Draw(t, "new")
		s := pack.Shown{State: pack.State{Sections: []pack.Section{{Key: "ss", Refs: []pack.Ref{{Key: "rr", Path: "p"}}}}}, Evidence: []pack.Evidence{{Standing: pack.RefChanged, Text: new}}}
		doc := pack.RenderDiff(s, []pack.EarlierText{{Text: old}})
		_, body, ok := strings.Cut(doc, "```diff\n")
		require.True(t, ok)
		var before, after []string
		for l := range strings.SplitSeq(strings.TrimSuffix(body, "\n```\n"), "\n") {
			if l[0] != '+' {
				before = append(before, l[1:])
			}
			if l[0] != '-' {
				after = append(after, l[1:])
			}
		}
		require.Equal(t, old, before)
		require.Equal(t, new, after)
	})
}
