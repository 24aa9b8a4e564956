package packs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/ids"
	"github.com/countersign-dev/countersign/ports/packport"
)

// TestPayloads: the results of input, byte for byte, from create to finalized.
func TestPayloads(t *testing.T) {
	d := newFixture(t)
	d.file("internal/auth/verify.go", lines(1, 50))
	d.clock.Advance(500 * time.Millisecond)
	var log strings.Builder
	step := func(a args) {
		t.Helper()
		doc := d.run("input", a)
		require.False(t, doc.Fail, doc.Text)
		assert.Nil(t, doc.Object)
		fmt.Fprintf(&log, "%s\n", doc.Text)
	}
	step(args{"action": "create", "ttl_minutes": 90, "name": " token-audit ", "title": "Token <audit>", "tags": []string{" auth "}})
	id := regexp.MustCompile(`pk_[a-z2-7]{8}`).FindString(log.String())
	at := func(rev int, action string, more args) args {
		a := args{"action": action, "name": "token-audit", "expected_revision": rev}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	step(at(1, "upsert_section", args{"section_key": "flow", "section_title": "Flow"}))
	d.clock.Advance(1234567 * time.Nanosecond)
	step(at(2, "upsert_ref", args{"section_key": "flow", "ref_key": "verify", "path": `internal\auth\verify.go`, "line_start": 12, "line_end": 14,
		"ref_title": "Verify", "ref_why": "entry point", "group": "core", "root": "api", "commit": "0123abc"}))
	step(at(3, "upsert_diagram", args{"section_key": "flow", "diagram_key": "seq", "title": "Order", "mermaid": " graph TD\n  A-->B\n"}))
	step(at(4, "set_meta", args{"brief": "Where tokens are checked", "clear": []string{"tags"}}))
	step(at(5, "set_meta", args{"brief": "Where tokens are checked"})) // no change, same revision
	step(at(5, "touch_ttl", args{"extend_minutes": 30, "terse": true}))
	step(args{"action": "get", "id": id})
	step(args{})
	step(args{"action": "list", "limit": 0})
	step(at(6, "delete_pack", nil))
	golden.Text(t, "payloads", log.String())
}

// TestListFiltersOrdersAndPages: as in the contract, with the later rule for ties.
func TestListFiltersOrdersAndPages(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", "package a\n")
	old := d.create(args{"name": "old one", "brief": "Ancient TEXT"})
	d.clock.Advance(time.Second)
	low, high := d.create(args{"title": "Beta"}), d.create(args{"title": "Alpha", "ttl_minutes": 15})
	high.do("set_meta", args{"brief": "x"})
	names := func(a args) string {
		var out []string
		p := d.input(a)
		for _, s := range p["packs"].([]any) {
			out = append(out, s.(map[string]any)["id"].(string))
		}
		assert.EqualValues(t, len(out), p["count"])
		return strings.Join(out, " ")
	}
	assert.Equal(t, high.id+" "+low.id+" "+old.id, names(args{"action": "list"}), "latest first, then higher revision")
	assert.Equal(t, high.id+" "+low.id+" "+old.id, names(args{"id": old.id}), "without an action it lists, whatever else is given")
	assert.Equal(t, low.id, names(args{"offset": 1, "limit": 1}))
	assert.Equal(t, "", names(args{"offset": 9}))
	assert.Equal(t, old.id, names(args{"query": " ancient text"}))
	assert.Equal(t, low.id, names(args{"query": "beta"}))
	assert.Equal(t, "", names(args{"status": "finalized"}))
	assert.Equal(t, high.id, names(args{"freshness": "expiring_soon"}))
	assert.Equal(t, low.id+" "+old.id, names(args{"freshness": "fresh"}))
	assert.Equal(t, "", names(args{"freshness": "expired"}))
	assert.EqualValues(t, 3, d.input(args{"limit": 1})["total"])
	assert.Equal(t, "# Context packs\n\n- `"+high.id+"` — Alpha (revision `2`, ttl `15m`)\n", d.output(args{"limit": 1}))
	assert.Equal(t, "No context packs found.\n", d.output(args{"action": "list", "query": "nobody"}))
}

// TestSectionsKeepTheirPlace: order counts positions without the section itself, and a blank description clears nothing.
func TestSectionsKeepTheirPlace(t *testing.T) {
	d := newFixture(t)
	e := d.create(nil)
	for _, k := range []string{"aa", "bb", "cc"} {
		e.section(k)
	}
	order := func() string {
		var keys []string
		for _, s := range d.input(args{"action": "get", "id": e.id})["sections"].([]any) {
			keys = append(keys, s.(map[string]any)["key"].(string))
		}
		return strings.Join(keys, " ")
	}
	put := func(key string, more args) {
		more["section_key"], more["section_title"] = key, "T"
		e.do("upsert_section", more)
	}
	put("aa", args{"section_order": 1, "section_description": "kept"})
	assert.Equal(t, "bb aa cc", order())
	put("bb", args{"section_order": 99})
	assert.Equal(t, "aa cc bb", order())
	put("dd", args{"section_order": 0})
	assert.Equal(t, "dd aa cc bb", order())
	put("ee", args{"section_order": 1.5})
	assert.Equal(t, "dd aa cc bb ee", order(), "what is no integer is absent")
	put("aa", args{"section_description": "  "})
	assert.Contains(t, e.show(nil), "kept")
	put("aa", args{"clear": []string{"section_description"}})
	assert.NotContains(t, e.show(nil), "kept")
}

// TestRefIsReplacedWhole: in place, and omitted fields become null.
func TestRefIsReplacedWhole(t *testing.T) {
	d := newFixture(t)
	e := d.create(nil)
	e.section("flow")
	e.do("upsert_ref", args{"section_key": "flow", "ref_key": "one", "path": "./x.go", "line_start": 1, "line_end": 1, "ref_why": "w"})
	e.ref("flow", "two", "y.go", 1, 1)
	p := e.do("upsert_ref", args{"section_key": "flow", "ref_key": "one", "path": `C:\z.go`, "line_start": 2, "line_end": 3})
	refs := p["sections"].([]any)[0].(map[string]any)["refs"].([]any)
	assert.Equal(t, map[string]any{"key": "one", "path": "C:/z.go", "lines": map[string]any{"start": 2.0, "end": 3.0}, "title": nil, "why": nil, "group": nil}, refs[0])
	assert.Len(t, refs, 2)
}

// TestAnchorsFollowTheCode: exact, moved, changed and gone, and the effect of reanchor on each.
func TestAnchorsFollowTheCode(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", lines(1, 40))
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "moved", "a.go", 20, 22)
	e.ref("flow", "changed", "a.go", 30, 31)
	e.ref("flow", "gone", "a.go", 39, 40)
	before := e.show(nil)
	assert.NotContains(t, before, "\n> ")

	now := "// new line\n" + lines(1, 29) + "rewritten\n" + lines(31, 33)
	d.file("a.go", now)
	doc := e.show(nil)
	assert.Contains(t, doc, "- lines: 21-23\n\n> moved ref: anchored at lines 20-22, found unchanged at 21-23\n\n```go\n  21: line number u\n")
	assert.Contains(t, doc, "- lines: 30-31\n\n> changed ref: lines 30-31 no longer hold the anchored text; shown as they are now\n\n```go\n  30: ")
	assert.Contains(t, doc, "- lines: 39-40\n\n> stale ref: a.go has 34 lines; start line 39 is beyond the last\n")
	compact := e.show(args{"view": "compact"})
	assert.Contains(t, compact, "- moved (a.go:21-23) [moved]\n- changed (a.go:30-31) [changed]\n- gone (a.go:39-40) [stale]\n")

	doc2 := d.run("input", e.args("reanchor", nil))
	require.False(t, doc2.Fail, doc2.Text)
	var reply struct {
		Payload struct{ Reanchored json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(doc2.Text), &reply))
	assert.JSONEq(t, `[{"section_key":"flow","ref_key":"moved","standing":"moved","from":{"start":20,"end":22},"to":{"start":21,"end":23}}]`, string(reply.Payload.Reanchored))
	e.rev++
	doc = e.show(nil)
	assert.Contains(t, doc, "- lines: 21-23\n\n```go")
	assert.Contains(t, doc, "> changed ref", "changed text is taken only when the ref is named")

	e.do("reanchor", args{"section_key": "flow", "ref_key": "changed"})
	assert.NotContains(t, e.show(nil), "> changed ref")
	p := d.input(e.args("reanchor", nil))
	assert.EqualValues(t, e.rev, p["revision"], "nothing to do is no change")
}

// TestLoneBraceIsNotMistaken: text that occurs everywhere is identified by its surroundings, or not reported as moved.
func TestLoneBraceIsNotMistaken(t *testing.T) {
	d := newFixture(t)
	body := "func a() {\n\tone()\n}\n\nfunc b() {\n\ttwo()\n}\n\nfunc c() {\n\tthree()\n}\n"
	d.file("a.go", body)
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "brace", "a.go", 7, 7)
	d.file("a.go", "package a\n\nimport \"x\"\n\n"+body)
	assert.Contains(t, e.show(nil), "found unchanged at 11-11")
	d.file("a.go", "func z() {\n}\n\n\n\n\nfunc y() {\n\tnothing()\n")
	assert.Contains(t, e.show(nil), "> changed ref: lines 7-7")
}

// TestUnreadableRefHidesNothing: it neither hides the pack nor shows files outside the root.
func TestUnreadableRefHidesNothing(t *testing.T) {
	d := newFixture(t)
	d.file("ok.go", "package ok\n")
	d.file("bad.txt", "\xff\xfe\n")
	d.file("dir/x.go", "package x\n")
	secret := filepath.Join(d.dir, "secret.txt")
	require.NoError(t, os.WriteFile(secret, []byte("top secret\n"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(d.dir, "src", "out")))
	e := d.create(nil)
	e.section("flow")
	for i, path := range []string{"bad.txt", "dir", "out", "none.go", "ok.go"} {
		e.ref("flow", fmt.Sprintf("ref%d", i), path, 1, 1)
	}
	doc := e.show(nil)
	assert.Equal(t, 3, strings.Count(doc, "\n> unreadable ref: "))
	assert.Contains(t, doc, "\n> stale ref: none.go does not exist under source root\n")
	assert.Contains(t, doc, "   1: package ok\n")
	assert.NotContains(t, doc, "top secret")
	assert.NotContains(t, doc, d.dir)
	d.fails("input", e.args("set_status", args{"status": "finalized"}), io)
	e.do("delete_ref", args{"section_key": "flow", "ref_key": "ref0"})
	e.do("delete_ref", args{"section_key": "flow", "ref_key": "ref1"})
	d.fails("input", e.args("set_status", args{"status": "finalized"}), invalid)
}

// TestSecretsAreMaskedAndCounted: in excerpts, in kept text, and nowhere in the store.
func TestSecretsAreMaskedAndCounted(t *testing.T) {
	d := newFixture(t)
	d.file("conf.env", "PASSWORD=hunter2\nOTHER=hunter2 hunter2\nX=1\n")
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "one", "conf.env", 1, 2)
	e.ref("flow", "two", "conf.env", 3, 3)
	doc := e.show(nil)
	assert.Contains(t, doc, "- ttl_remaining: 10h\n- masked_secrets: 3\n\n[CONTENT]\n")
	assert.NotContains(t, doc, masked)
	e.do("set_status", args{"status": "finalized", "snapshot": true})
	stored, err := d.repo.Get(t.Context(), pack.ID(e.id))
	require.NoError(t, err)
	raw, err := json.Marshal(stored.State())
	require.NoError(t, err)
	assert.NotContains(t, string(raw), masked)
	d.file("conf.env", "gone\n")
	assert.Contains(t, e.show(nil), "- masked_secrets: 3\n")
	assert.Contains(t, e.show(nil), "   1: PASSWORD=***\n")
}

// TestSnapshotProvesWhatWasShown: kept text replaces what changed or is gone, and reopening drops it.
func TestSnapshotProvesWhatWasShown(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", lines(1, 9))
	d.file("b.go", lines(1, 9))
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "one", "a.go", 3, 4)
	e.ref("flow", "two", "b.go", 8, 9)
	e.do("set_status", args{"status": "finalized", "snapshot": true})
	d.file("a.go", strings.Replace(lines(1, 9), "line number d", "another line", 1))
	require.NoError(t, os.Remove(filepath.Join(d.dir, "src", "b.go")))
	doc := e.show(nil)
	assert.Contains(t, doc, "> changed ref: lines 3-4 no longer hold the anchored text; shown as it was when the pack was finalized\n\n```go\n   3: line number d\n")
	assert.Contains(t, doc, "> stale ref: b.go does not exist under source root; shown as it was when the pack was finalized\n\n```go\n   8: ")
	golden.Text(t, "diff", e.output(args{"action": "diff", "id": e.id}))
	e.do("set_status", args{"status": "draft"})
	assert.NotContains(t, e.show(nil), "when the pack was finalized")
}

// past is a history in which every line of every file had the same text.
type past string

func (p past) Lines(_ context.Context, _ packport.Location, c pack.Commit, l pack.LineRange) ([]string, error) {
	if c != "0123abc" {
		return nil, packport.ErrMissing.WithMessage("there is no commit %s", c)
	}
	return slices.Repeat([]string{string(p)}, l.Span()), nil
}

// TestDiffNeedsEarlierText: without it the diff says why there is none.
func TestDiffNeedsEarlierText(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", lines(1, 9))
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "one", "a.go", 3, 4)
	e.do("upsert_ref", args{"section_key": "flow", "ref_key": "two", "path": "a.go", "line_start": 3, "line_end": 4, "commit": "0123abc"})
	assert.Contains(t, e.output(args{"action": "diff", "id": e.id}), "- exact: 2\n- moved: 0\n")
	d.file("a.go", strings.Repeat("other\n", 9))
	doc := e.output(args{"action": "diff", "id": e.id})
	assert.Contains(t, doc, "> earlier text: not kept; finalize with snapshot, or give refs a commit\n")
	assert.Contains(t, doc, "> earlier text: of commit 0123abc, not kept here; git show 0123abc:a.go has it\n")

	d.wire(d.repo, &ids.Sequence{}, past("password hunter2"))
	doc = e.output(args{"action": "diff", "id": e.id})
	assert.Contains(t, doc, "> earlier text: commit 0123abc\n\n```diff\n-password ***\n-password ***\n+other\n+other\n```\n")
	e.do("upsert_ref", args{"section_key": "flow", "ref_key": "two", "path": "none.go", "line_start": 3, "line_end": 4, "commit": "fffffff"})
	assert.Contains(t, e.output(args{"action": "diff", "id": e.id}), "> earlier text: of commit fffffff: there is no commit fffffff\n")
}

// TestASymbolIsItsDefinition: its comment and its body, found when the ref is made.
func TestASymbolIsItsDefinition(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", "package a\n\n// B checks.\nfunc B() bool {\n\treturn true\n}\n")
	e := d.create(nil)
	e.section("flow")
	p := e.do("upsert_ref", args{"section_key": "flow", "ref_key": "one", "path": "a.go", "symbol": "B"})
	assert.Contains(t, fmt.Sprint(p["sections"]), "lines:map[end:6 start:3]")
}

// TestNamedRoots: a ref names its root, and the document says which.
func TestNamedRoots(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", "package default_root\n")
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "other", "a.go"), []byte("package api_root\n"), 0o644))
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "one", "a.go", 1, 1)
	e.do("upsert_ref", args{"section_key": "flow", "ref_key": "two", "path": "a.go", "line_start": 1, "line_end": 1, "root": "api"})
	doc := e.show(nil)
	assert.Contains(t, doc, "#### two [flow]\n- path: a.go\n- lines: 1-1\n- root: api\n\n```go\n   1: package api_root\n")
	assert.Contains(t, doc, "   1: package default_root\n")
}

// TestPagesAreTheWhole: the contents of all pages together are the content of the document.
func TestPagesAreTheWhole(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", lines(1, 60))
	e := d.create(nil)
	for _, s := range []string{"one", "two", "three"} {
		e.section(s)
	}
	for n := range 7 {
		e.do("upsert_ref", args{"section_key": "one", "ref_key": fmt.Sprintf("r%d", n), "path": "a.go", "line_start": n + 1, "line_end": n + 3, "group": []string{"", "bb", "Aa"}[n%3]})
	}
	e.do("upsert_diagram", args{"section_key": "one", "diagram_key": "dd", "title": "D", "mermaid": "graph TD"})
	e.ref("three", "last", "a.go", 1, 1)
	content := func(doc string) string { _, c, _ := strings.Cut(doc, "[CONTENT]\n"); return c }
	next := regexp.MustCompile(`(?m)^- next: (\S+)$`)
	for _, options := range []args{{}, {"view": "compact"}, {"match": "line number [a-e]|graph"}} {
		whole := content(e.show(options))
		for limit := 1; limit <= 11; limit++ {
			var got strings.Builder
			a := args{"limit": limit}
			for k, v := range options {
				a[k] = v
			}
			for pages := 0; ; pages++ {
				require.Less(t, pages, 12)
				doc := e.show(a)
				got.WriteString(content(doc))
				m := next.FindStringSubmatch(doc)
				if m == nil {
					assert.Contains(t, doc, "- has_more: false\n")
					break
				}
				a["cursor"] = m[1]
				if pages%2 == 0 {
					delete(a, "limit") // the cursor remembers it
				}
			}
			assert.Equal(t, whole, got.String(), "limit %d, %v", limit, options)
		}
	}
	cursor := next.FindStringSubmatch(e.show(args{"limit": 2}))[1]
	assert.Contains(t, e.show(args{"limit": 2}), "- paging: active\n- offset: 0\n- limit: 2\n- has_more: true\n- next: "+cursor+"\n- chunks_total: 10\n- chunks_returned: 2\n\n[CONTENT]\n")
	for _, bad := range []args{{"cursor": cursor, "limit": 3}, {"cursor": cursor, "view": "compact"}, {"cursor": cursor, "match": "x"}, {"cursor": cursor + "0"}} {
		bad["id"] = e.id
		assert.Contains(t, d.fails("output", bad, invalid).Message, "invalid_cursor")
	}
	e.section("four")
	assert.Contains(t, d.fails("output", args{"id": e.id, "cursor": cursor}, invalid).Message, "invalid_cursor", "the revision has moved on")
	assert.Contains(t, e.show(args{"offset": 99}), "_Nothing to show here._")
	assert.Contains(t, e.show(args{"match": "nowhere"}), "- match: nowhere\n\n[CONTENT]\n\n_Nothing to show here._\n")
}

// TestBudgetKeepsTheImportant: refs with a reason stay whole, the others are listed with their cost.
func TestBudgetKeepsTheImportant(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", lines(1, 400))
	e := d.create(args{"title": "Budget"})
	e.section("flow")
	for n := range 10 {
		a := args{"section_key": "flow", "ref_key": fmt.Sprintf("r%d", n), "path": "a.go", "line_start": n*20 + 1, "line_end": n*20 + 20}
		if n == 7 {
			a["ref_why"] = "the point of it all"
		}
		e.do("upsert_ref", a)
	}
	full := e.show(nil)
	doc := e.show(args{"max_tokens": 900})
	assert.Contains(t, doc, "#### r7 [flow]")
	assert.Contains(t, doc, "#### r0 [flow]")
	assert.Contains(t, doc, "\n## Left out for the budget\n\n")
	assert.Regexp(t, `- flow::r9 a\.go:181-200 \(about \d+ tokens\)`, doc)
	assert.Regexp(t, `- max_tokens: 900\n- left_out: \d\n`, doc)
	assert.Less(t, len(doc), len(full))
	assert.Equal(t, strings.Replace(full, "\n[CONTENT]", "- max_tokens: 100000\n- left_out: 0\n\n[CONTENT]", 1), e.show(args{"max_tokens": 100000}))
	assert.Contains(t, e.show(args{"max_tokens": 1}), "- and 10 more; raise max_tokens above 1")
}

// TestNameTies: reading selects by rule and says so; editing requires an id.
func TestNameTies(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", "package a\n")
	older, newer := d.create(nil), d.create(nil)
	older.section("flow")
	older.ref("flow", "one", "a.go", 1, 1)
	older.do("set_status", args{"status": "finalized"})
	d.clock.Advance(time.Second)
	newer.section("flow")
	d.wire(twins{d.repo}, &ids.Sequence{}, nil)

	doc := d.output(args{"name": "twin"})
	assert.Contains(t, doc, "- id: "+older.id+"\n")
	assert.Contains(t, doc, "- selected_by: name_latest_finalized_updated_at_then_revision\n")
	doc = d.output(args{"name": "twin", "status": "draft"})
	assert.Contains(t, doc, "- id: "+newer.id+"\n")
	for _, a := range []args{{"action": "get", "name": "twin"}, {"action": "set_meta", "name": "twin", "expected_revision": 1, "title": "x"}} {
		f := d.fails("input", a, "conflict/conflict")
		assert.Len(t, f.Details["candidate_ids"], 2)
	}
}

// twins finds all packs for every name, like a store into which files were copied by hand.
type twins struct{ packport.Repository }

func (w twins) Lookup(ctx context.Context, _ pack.Name) ([]pack.Summary, error) { return w.List(ctx) }

// TestWriteIsOneChange: a document creates or replaces a whole pack in one revision, keeps anchors of unchanged refs, and can be validated without
// storing.
func TestWriteIsOneChange(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", lines(1, 30))
	document := func(more args) args {
		doc := args{"title": " Written ", "brief": "b", "tags": []string{"x "}, "sections": []any{
			args{"key": "flow", "title": "Flow", "refs": []any{args{"key": "one", "path": "a.go", "line_start": 10, "line_end": 11, "why": "w"}},
				"diagrams": []any{args{"key": "dd", "title": "D", "mermaid": "graph TD"}}},
			args{"key": "more", "title": "More", "refs": []any{args{"key": "two", "path": "none.go", "line_start": 1, "line_end": 1}}},
		}}
		for k, v := range more {
			doc[k] = v
		}
		return doc
	}
	tried := d.input(args{"action": "write", "validate_only": true, "document": document(args{"name": "doc pack"})})
	assert.Equal(t, map[string]any{"valid": true, "revision": 1.0, "status": "draft", "sections": 2.0, "refs": 2.0, "diagrams": 1.0,
		"unresolved_refs": []any{"more::two (none.go:1-1)"}}, tried)
	assert.EqualValues(t, 0, d.input(args{})["count"], "trying stores nothing")

	p := d.input(args{"action": "write", "document": document(args{"name": "doc pack"})})
	assert.EqualValues(t, 1, p["revision"])
	assert.Equal(t, "Written", p["title"])
	assert.Equal(t, "2026-01-03T03:04:05Z", p["expires_at"], "one day without ttl_minutes")
	e := &editor{d, p["id"].(string), 1}

	again := d.input(e.args("write", args{"document": document(nil)}))
	assert.EqualValues(t, 1, again["revision"], "the same content is no change")
	d.file("a.go", "// first\n"+lines(1, 30))
	e.do("write", args{"document": document(args{"title": "New title", "ttl_minutes": 60})})
	assert.Contains(t, e.show(nil), "> moved ref: anchored at lines 10-11, found unchanged at 11-12", "an anchor left alone keeps following")

	f := d.fails("input", e.args("write", args{"document": document(args{"status": "finalized"})}), state)
	assert.Contains(t, f.Message, "more::two")
	d.fails("input", e.args("write", args{"validate_only": true, "document": document(args{"status": "finalized"})}), state)
	e.do("write", args{"document": document(args{"status": "finalized", "sections": document(nil)["sections"].([]any)[:1], "ttl_minutes": 5})})
	d.fails("input", e.args("write", args{"document": document(nil)}), state)
	f = d.fails("input", e.args("set_meta", args{"title": "x", "expected_revision": e.rev - 1}), "conflict/revision_conflict")
	assert.Equal(t, []any{"more"}, f.Details["changed_section_keys"], "the section that went away")
}

// TestPlanIsTheSameTwice: a plan's hash depends on the call and the stored pack, not on the time, so that an approval still fits; and committing a
// plan of an older revision is an error.
func TestPlanIsTheSameTwice(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", lines(1, 30))
	e := d.create(nil)
	e.section("flow")
	for action, more := range map[string]args{
		"create":      {"ttl_minutes": 5, "name": "fresh one"},
		"upsert_ref":  {"section_key": "flow", "ref_key": "one", "path": "a.go", "line_start": 1, "line_end": 2},
		"touch_ttl":   {"extend_minutes": 5},
		"delete_pack": {},
	} {
		a := e.args(action, more)
		raw, err := tool.Encode(a)
		require.NoError(t, err)
		inv, err := d.tools["input"].Handler.Decode(raw)
		require.NoError(t, err)
		first, err := inv.Prepare(t.Context(), tool.Scope{})
		require.NoError(t, err)
		d.clock.Advance(time.Second)
		second, err := inv.Prepare(t.Context(), tool.Scope{})
		require.NoError(t, err)
		assert.Equal(t, first.Hash(), second.Hash(), a)
		assert.False(t, first.Hash().IsZero())
		shown, err := json.Marshal(first)
		require.NoError(t, err)
		assert.Contains(t, string(shown), a["action"])
		if a["action"] != "create" {
			_, err = d.repo.Update(t.Context(), pack.ID(e.id), func(p *pack.Pack) error { return p.SetTTL(600, d.clock.Now()) })
			require.NoError(t, err)
			e.rev++
			_, err = inv.Commit(t.Context(), tool.Scope{}, first)
			require.ErrorIs(t, err, pack.ErrRevision)
			continue
		}
		_, err = inv.Commit(t.Context(), tool.Scope{}, first)
		require.NoError(t, err)
	}
}

// crowded rejects the first creates as if their ids were taken.
type crowded struct {
	packport.Repository
	left *int
}

func (c crowded) Create(ctx context.Context, p *pack.Pack) error {
	if *c.left--; *c.left >= 0 {
		return pack.ErrExists
	}
	return c.Repository.Create(ctx, p)
}

// TestCreateDrawsAnotherID: up to eight times.
func TestCreateDrawsAnotherID(t *testing.T) {
	for taken, want := range map[int]string{7: "", 8: "conflict/conflict"} {
		d := newFixture(t)
		d.wire(crowded{d.repo, &taken}, &ids.Sequence{}, nil)
		if want == "" {
			d.create(nil)
			continue
		}
		d.fails("input", args{"action": "create", "ttl_minutes": 5}, want)
	}
}

// TestDamageIsIOError: as the repository reports it.
func TestDamageIsIOError(t *testing.T) {
	d := newFixture(t)
	for err, want := range map[*fault.Error]string{
		pack.ErrMalformed: io, pack.ErrSchema: "migration_required/migration_required", fault.ErrUnavailable: io,
	} {
		d.wire(broken{d.repo, err}, &ids.Sequence{}, nil)
		d.fails("input", args{}, want)
		d.fails("output", args{}, want)
		d.fails("output", args{"name": "some name"}, want)
	}
}

type broken struct {
	packport.Repository
	err error
}

func (b broken) List(context.Context) ([]pack.Summary, error)              { return nil, b.err }
func (b broken) Lookup(context.Context, pack.Name) ([]pack.Summary, error) { return nil, b.err }
