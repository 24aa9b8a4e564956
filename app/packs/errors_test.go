package packs_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	invalid  = "validation/invalid_data"
	notFound = "not_found/not_found"
	state    = "invalid_state/invalid_state"
	io       = "io_error/io_error"
)

// TestErrorTable checks every row of context-pack contract §4.2 that a call can reach, with its message markers of §4.4.
func TestErrorTable(t *testing.T) {
	d := newFixture(t)
	d.file("short.go", "package a\n\n")
	d.file("a.go", "package a\n\nfunc A() {}\n")
	d.file("dir/b.go", "package b\n")
	d.file("bad.txt", "\xff\xfe\n")
	e := d.create(args{"name": "token audit"})
	e.section("flow")
	with := func(action string, more args) args { return e.args(action, more) }
	ref := func(more args) args {
		a := args{"section_key": "flow", "ref_key": "one", "path": "a.go", "line_start": 1, "line_end": 2}
		for k, v := range more {
			a[k] = v
		}
		return with("upsert_ref", a)
	}
	for name, c := range map[string]struct {
		args   args
		want   string
		marker string
	}{
		"unknown action":             {args{"action": "explode"}, invalid, "unknown input action"},
		"empty action":               {args{"action": ""}, invalid, "unknown input action"},
		"action in other case":       {args{"action": "List"}, invalid, "unknown input action"},
		"action of other type":       {args{"action": 5}, invalid, "'action'"},
		"unknown argument":           {args{"ttl_minute": 5}, invalid, "'ttl_minute' is not supported; use 'ttl_minutes'"},
		"create without ttl":         {args{"action": "create"}, invalid, "'ttl_minutes' is required"},
		"create with null ttl":       {args{"action": "create", "ttl_minutes": nil}, invalid, "'ttl_minutes' is required"},
		"create with ttl 5.5":        {args{"action": "create", "ttl_minutes": 5.5}, invalid, "'ttl_minutes' is required"},
		"create with ttl -1":         {args{"action": "create", "ttl_minutes": -1}, invalid, "'ttl_minutes' is required"},
		"create with ttl text":       {args{"action": "create", "ttl_minutes": "60"}, invalid, "'ttl_minutes' must be of JSON type integer"},
		"ttl 0":                      {args{"action": "create", "ttl_minutes": 0}, invalid, "time to live"},
		"ttl over five years":        {args{"action": "create", "ttl_minutes": 2628001}, invalid, "2628000"},
		"tags before ttl":            {args{"action": "create", "tags": "x"}, invalid, "'tags'"},
		"tags null":                  {args{"action": "create", "tags": nil, "ttl_minutes": 5}, invalid, "'tags'"},
		"tags with a blank":          {args{"action": "create", "tags": []any{"a", " "}, "ttl_minutes": 5}, invalid, "'tags'"},
		"tags with null":             {args{"action": "create", "tags": []any{nil}, "ttl_minutes": 5}, invalid, "'tags'"},
		"name of two bytes":          {args{"action": "create", "name": "ab", "ttl_minutes": 5}, invalid, "3 to 120 bytes"},
		"name of an id's form":       {args{"action": "create", "name": "pk_abcdef22", "ttl_minutes": 5}, invalid, "form of a pack id"},
		"name before ttl range":      {args{"action": "create", "name": "ab", "ttl_minutes": 0}, invalid, "3 to 120 bytes"},
		"name taken":                 {args{"action": "create", "name": "token audit", "ttl_minutes": 5}, "conflict/conflict", "token audit"},
		"get without identifier":     {args{"action": "get"}, invalid, "'id' or 'name' is required"},
		"get blank identifier":       {args{"action": "get", "id": "  "}, invalid, "'id' or 'name' is required"},
		"get unknown id":             {args{"action": "get", "id": "pk_zzzzzzzz"}, notFound, ""},
		"an id in name is an id":     {args{"action": "get", "name": "pk_zzzzzzzz"}, notFound, ""},
		"get unknown name":           {args{"action": "get", "name": "no such"}, notFound, ""},
		"name in other case":         {args{"action": "get", "name": "Token audit"}, notFound, ""},
		"short name":                 {args{"action": "get", "name": "ab"}, invalid, "3 to 120"},
		"list bad status":            {args{"status": "open"}, invalid, "status"},
		"list bad freshness":         {args{"freshness": "stale"}, invalid, "freshness"},
		"alias title":                {args{"action": "upsert_section", "title": nil}, invalid, "'title' is not supported by upsert_section; use 'section_title'"},
		"alias description":          {args{"action": "upsert_section", "description": "x"}, invalid, "'description' is not supported by upsert_section; use 'section_description'"},
		"alias ref title":            {args{"action": "upsert_ref", "title": "x"}, invalid, "'title' is not supported by upsert_ref; use 'ref_title'"},
		"alias ref why":              {args{"action": "upsert_ref", "why": "x"}, invalid, "'why' is not supported by upsert_ref; use 'ref_why'"},
		"alias diagram why":          {args{"action": "upsert_diagram", "why": "x"}, invalid, "'why' is not supported by upsert_diagram; use 'diagram_why'"},
		"ident before revision":      {args{"action": "delete_section"}, invalid, "'id' or 'name' is required"},
		"revision before key":        {args{"action": "delete_section", "id": e.id}, invalid, "'expected_revision' is required"},
		"revision as text":           {args{"action": "delete_section", "id": e.id, "expected_revision": "1"}, invalid, "'expected_revision' must be"},
		"required before load":       {args{"action": "delete_section", "id": "pk_zzzzzzzz", "expected_revision": 1}, invalid, "'section_key' is required"},
		"conflict before syntax":     {args{"action": "delete_section", "id": e.id, "expected_revision": 9, "section_key": "NO"}, "conflict/revision_conflict", "revision 2, not 9"},
		"bad section key":            {with("upsert_section", args{"section_key": "Flow", "section_title": "x"}), invalid, "section_key"},
		"key of one character":       {with("upsert_section", args{"section_key": "f", "section_title": "x"}), invalid, "section_key"},
		"blank section title":        {with("upsert_section", args{"section_key": "flow", "section_title": " "}), invalid, "'section_title' is required"},
		"absent section":             {with("delete_section", args{"section_key": "none"}), notFound, "none"},
		"ref without section":        {ref(args{"section_key": "none"}), notFound, "none"},
		"ref without line_end":       {ref(args{"line_end": nil}), invalid, "'line_end' is required"},
		"ref with fractional line":   {ref(args{"line_start": 1.0, "line_end": 2.5}), invalid, "'line_end' is required"},
		"symbol and lines":           {ref(args{"symbol": "A"}), invalid, "either 'symbol' or 'line_start'"},
		"symbol not there":           {with("upsert_ref", args{"section_key": "flow", "ref_key": "one", "path": "a.go", "symbol": "B"}), notFound, "a.go defines no B"},
		"symbol in no file":          {with("upsert_ref", args{"section_key": "flow", "ref_key": "one", "path": "none.go", "symbol": "B"}), "stale_ref/stale_ref", "none.go"},
		"absolute path":              {ref(args{"path": "/etc/passwd"}), invalid, "absolute"},
		"parent path":                {ref(args{"path": "a/../../b"}), invalid, ".."},
		"backslash parent path":      {ref(args{"path": `a\..\b.rs`}), invalid, ".."},
		"long path":                  {ref(args{"path": strings.Repeat("x", 1025)}), invalid, "1024"},
		"line 0":                     {ref(args{"line_start": 0}), invalid, "count from 1"},
		"end before start":           {ref(args{"line_start": 5, "line_end": 4}), invalid, "before"},
		"too many lines":             {ref(args{"line_start": 1, "line_end": 2001}), invalid, "2000"},
		"huge line numbers":          {ref(args{"line_start": 1, "line_end": uint64(1) << 63}), invalid, "2147483647"},
		"lines past the end":         {ref(args{"path": "short.go", "line_end": 3}), invalid, "short.go has 2 lines; end line 3 is beyond the last"},
		"lines past the end, write":  {args{"action": "write", "document": args{"sections": []any{args{"key": "ss", "title": "x", "refs": []any{args{"key": "rr", "path": "short.go", "line_start": 3, "line_end": 3}}}}}}, invalid, "short.go has 2 lines"},
		"pattern for a path":         {ref(args{"path": "src/*.go"}), invalid, "src/*.go: no file has this name"},
		"unknown root":               {ref(args{"root": "web"}), invalid, "api"},
		"bad commit":                 {ref(args{"commit": "HEAD"}), invalid, "commit"},
		"absent ref":                 {with("delete_ref", args{"section_key": "flow", "ref_key": "none"}), notFound, "none"},
		"absent diagram":             {with("delete_diagram", args{"section_key": "flow", "diagram_key": "none"}), notFound, "none"},
		"diagram without title":      {with("upsert_diagram", args{"section_key": "flow", "diagram_key": "dd", "mermaid": "x"}), invalid, "'title' is required"},
		"meta without fields":        {with("set_meta", nil), invalid, "at least one"},
		"meta with blank title":      {with("set_meta", args{"title": "  "}), invalid, "at least one"},
		"given and cleared":          {with("set_meta", args{"title": "x", "clear": []string{"title"}}), invalid, "both given and cleared"},
		"clear of another field":     {with("set_meta", args{"clear": []string{"name"}}), invalid, "'clear'"},
		"bad status":                 {with("set_status", args{"status": "done"}), invalid, "status"},
		"finalize without content":   {with("set_status", args{"status": "finalized"}), state, "neither a ref nor a diagram"},
		"touch without fields":       {with("touch_ttl", nil), "validation/ttl_required", ""},
		"touch with both":            {with("touch_ttl", args{"ttl_minutes": 1, "extend_minutes": 1}), invalid, "not both"},
		"touch with null":            {with("touch_ttl", args{"ttl_minutes": nil}), invalid, "'ttl_minutes' must be"},
		"touch with text":            {with("touch_ttl", args{"extend_minutes": "5"}), invalid, "'extend_minutes' must be"},
		"touch with 0":               {with("touch_ttl", args{"ttl_minutes": 0}), invalid, "time to live"},
		"extend beyond five years":   {with("touch_ttl", args{"extend_minutes": 2628001}), invalid, "2628000"},
		"reanchor ref alone":         {with("reanchor", args{"ref_key": "one"}), invalid, "'section_key' is required"},
		"reanchor nothing":           {with("reanchor", args{"section_key": "none"}), notFound, "none"},
		"delete without revision":    {args{"action": "delete_pack", "id": e.id}, invalid, "'expected_revision' is required"},
		"delete at another revision": {args{"action": "delete_pack", "id": e.id, "expected_revision": 1}, "conflict/revision_conflict", ""},
		"write without document":     {args{"action": "write"}, invalid, "'document' is required"},
		"write revision without id":  {args{"action": "write", "expected_revision": 1, "document": args{}}, invalid, "'expected_revision'"},
		"write id without revision":  {args{"action": "write", "id": e.id, "document": args{}}, invalid, "'expected_revision' is required"},
		"document unknown field":     {args{"action": "write", "document": args{"sections": []any{args{"id": "x"}}}}, invalid, "'id' is not supported in 'document'"},
		"document wrong type":        {args{"action": "write", "document": args{"title": 5}}, invalid, "document.title"},
		"document bad ref":           {args{"action": "write", "document": args{"sections": []any{args{"key": "ss", "title": "x", "refs": []any{args{"key": "rr", "path": "a", "line_start": 3, "line_end": 1}}}}}}, invalid, "document.sections[0]: refs[0]:"},
		"document twice a key":       {args{"action": "write", "document": args{"sections": []any{args{"key": "ss", "title": "x"}, args{"key": "ss", "title": "y"}}}}, invalid, "twice"},
		"document renames":           {with("write", args{"document": args{"name": "another"}}), invalid, "keeps its name"},
	} {
		t.Run(name, func(t *testing.T) {
			d.t = t
			f := d.fails("input", c.args, c.want)
			assert.Contains(t, f.Message, c.marker)
		})
	}
	for name, c := range map[string]struct {
		args   args
		want   string
		marker string
	}{
		"format":               {args{"format": nil, "action": 5}, invalid, "always markdown"},
		"unknown action":       {args{"action": "read"}, invalid, "unknown output action"},
		"unknown argument":     {args{"idd": "x"}, invalid, "'idd' is not supported; use 'id'"},
		"id of other type":     {args{"id": 5}, invalid, "'id' must be of JSON type string"},
		"get without ident":    {args{"action": "get"}, invalid, "'id' or 'name' is required"},
		"status differs":       {args{"id": e.id, "status": "finalized"}, state, "draft"},
		"absent":               {args{"name": "pk_zzzzzzzz"}, notFound, ""},
		"limit 0":              {args{"id": e.id, "limit": 0}, invalid, "'limit'"},
		"max_tokens 0":         {args{"id": e.id, "max_tokens": 0}, invalid, "'max_tokens'"},
		"bad view":             {args{"id": e.id, "view": "tiny"}, invalid, "view"},
		"bad match":            {args{"id": e.id, "match": "("}, invalid, "'match'"},
		"long match":           {args{"id": e.id, "match": strings.Repeat("x", 1001)}, invalid, "1000"},
		"malformed cursor":     {args{"id": e.id, "cursor": "v1.x"}, invalid, "invalid_cursor"},
		"foreign cursor":       {args{"id": e.id, "cursor": "v1.1.1.0123456789abcdef"}, invalid, "invalid_cursor"},
		"cursor and offset":    {args{"id": e.id, "cursor": "v1.1.1.0", "offset": 1}, invalid, "invalid_cursor"},
		"negative number gets": {args{"id": "pk_zzzzzzzz", "limit": -1}, notFound, ""},
	} {
		t.Run("output "+name, func(t *testing.T) {
			d.t = t
			f := d.fails("output", c.args, c.want)
			assert.Contains(t, f.Message, c.marker)
		})
	}
}

// TestNotAnObject: the core rejects arguments that are not an object before a tool gets them; a tool rejects them all the same.
func TestNotAnObject(t *testing.T) {
	d := newFixture(t)
	for _, raw := range []string{`[]`, `null`, `"x"`} {
		d.fails("input", json.RawMessage(raw), invalid)
		d.fails("output", json.RawMessage(raw), invalid)
	}
}

// TestFinalizedRefusesEdits: the guard comes before the existence of the target and set_meta's own check; touch_ttl is allowed.
func TestFinalizedRefusesEdits(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", "package a\n")
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "one", "a.go", 1, 1)
	e.do("set_status", args{"status": " FINALIZED "})
	for action, more := range map[string]args{
		"upsert_section": {"section_key": "none", "section_title": "x"},
		"delete_section": {"section_key": "none"},
		"upsert_ref":     {"section_key": "none", "ref_key": "rr", "path": "x", "line_start": 1, "line_end": 1},
		"delete_ref":     {"section_key": "none", "ref_key": "rr"},
		"upsert_diagram": {"section_key": "none", "diagram_key": "dd", "title": "x", "mermaid": "x"},
		"delete_diagram": {"section_key": "none", "diagram_key": "dd"},
		"set_meta":       {},
		"reanchor":       {},
		"write":          {"document": args{"title": "x"}},
	} {
		d.fails("input", e.args(action, more), state)
	}
	f := d.fails("input", e.args("upsert_section", args{"section_key": "BAD", "section_title": "x"}), invalid)
	assert.Contains(t, f.Message, "section_key", "syntax comes before the guard")
	e.do("touch_ttl", args{"extend_minutes": 5})
	e.do("set_status", args{"status": "draft"})
	e.section("more")
}

// TestFinalizeJudgesRefs: stale refs are one error with samples; anything else that cannot be read aborts with its own code.
func TestFinalizeJudgesRefs(t *testing.T) {
	d := newFixture(t)
	d.file("a.go", "package a\n")
	d.file("dir/b.go", "package b\n")
	d.file("bad.txt", "\xff\xfe\n")
	for path, want := range map[string]string{"dir": io, "bad.txt": io, "a.go/x": io} {
		e := d.create(nil)
		e.section("flow")
		e.ref("flow", "stale", "none.go", 1, 1)
		e.ref("flow", "odd", path, 1, 1)
		d.fails("input", e.args("set_status", args{"status": "finalized"}), want)
	}
	e := d.create(nil)
	e.section("flow")
	d.file("a.go", strings.Repeat("package a\n", 14))
	for n := range 12 {
		e.ref("flow", "r"+string(rune('a'+n)), "a.go", 1, 2+n)
	}
	d.file("a.go", "package b\n")
	f := d.fails("input", e.args("set_status", args{"status": "finalized"}), state)
	assert.Contains(t, f.Message, "12 refs")
	assert.Contains(t, f.Message, "flow::ra (a.go:1-2): a.go has 1 lines; end line 2 is beyond the last")
	assert.NotContains(t, f.Message, "flow::rk", "ten samples")
	assert.EqualValues(t, 12, f.Details["total"])

	// Setting the same status is no change and does not read refs.
	p := d.input(e.args("set_status", args{"status": "draft"}))
	assert.EqualValues(t, e.rev, p["revision"])
}

// TestConflictSaysWhatChanged: the error lists the sections changed since, including removed ones.
func TestConflictSaysWhatChanged(t *testing.T) {
	d := newFixture(t)
	e := d.create(nil)
	e.section("one")
	e.section("two")
	seen := e.rev
	e.section("three")
	e.do("delete_section", args{"section_key": "one"})
	d.clock.Advance(time.Minute)
	e.do("upsert_section", args{"section_key": "two", "section_title": "again"})

	f := d.fails("input", args{"action": "set_meta", "id": e.id, "expected_revision": seen, "title": "x"}, "conflict/revision_conflict")
	guidance := f.Details["guidance"]
	delete(f.Details, "guidance")
	assert.NotEmpty(t, guidance)
	assert.Equal(t, map[string]any{
		"expected_revision": 3.0, "actual_revision": 6.0, "current_revision": 6.0, "last_updated_at": "2026-01-02T03:05:05Z",
		"changed_section_keys": []any{"two", "three", "one"},
	}, f.Details)
}

// TestExpiredIsGone: for every action, from the exact second.
func TestExpiredIsGone(t *testing.T) {
	d := newFixture(t)
	e := d.create(args{"ttl_minutes": 1, "name": "short life"})
	d.clock.Advance(time.Minute)
	d.fails("input", args{"action": "get", "id": e.id}, notFound)
	d.fails("input", e.args("touch_ttl", args{"extend_minutes": 5}), notFound)
	d.fails("output", args{"name": "short life"}, notFound)
	assert.EqualValues(t, 0, d.input(args{})["count"])
	d.create(args{"name": "short life"})
}

// TestTooLarge: a document over 1 MiB is an error that says how to ask for less.
func TestTooLarge(t *testing.T) {
	d := newFixture(t)
	d.file("big.txt", strings.Repeat(strings.Repeat("x", 600)+"\n", 2000))
	e := d.create(nil)
	e.section("flow")
	e.ref("flow", "big", "big.txt", 1, 2000)
	f := d.fails("output", args{"id": e.id}, invalid)
	assert.Contains(t, f.Message, "too large")
	assert.Contains(t, f.Message, "limit")
	require.NotEmpty(t, e.show(args{"view": "compact"}))
	require.NotEmpty(t, e.show(args{"max_tokens": 1000}))
}
