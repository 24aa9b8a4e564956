package packs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/packs"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/ids"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports/packport"
)

// fixture is the two tools over a repository in memory, real source files and a stopped clock.
type fixture struct {
	t     testing.TB
	dir   string
	clock *clock.Fake
	repo  packport.Repository
	tools map[tool.Name]tool.Entry
}

// masked is what the fixture's redaction replaces.
const masked = "hunter2"

func newFixture(t testing.TB) *fixture {
	d := &fixture{t: t, dir: t.TempDir(), clock: &clock.Fake{}, tools: map[tool.Name]tool.Entry{}}
	d.repo = memstore.NewPacks(d.clock)
	d.wire(d.repo, &ids.Sequence{}, nil)
	return d
}

func (d *fixture) wire(repo packport.Repository, seq *ids.Sequence, history packport.History) {
	other := filepath.Join(d.dir, "other")
	require.NoError(d.t, os.MkdirAll(other, 0o755))
	c := packs.Capability(packs.Deps{
		Repo: repo, Excerpts: packfile.NewSource(map[pack.Root]string{"": filepath.Join(d.dir, "src"), "api": other}), History: history,
		Clock: d.clock, IDs: seq, Roots: []pack.Root{"api"},
		Mask: func(lines []string) ([]string, int) {
			out, n := make([]string, len(lines)), 0
			for i, l := range lines {
				n += strings.Count(l, masked)
				out[i] = strings.ReplaceAll(l, masked, "***")
			}
			return out, n
		},
	})
	registry, err := tool.NewRegistry(c)
	require.NoError(d.t, err)
	for _, name := range []tool.Name{"input", "output"} {
		e, ok := registry.Lookup(name)
		require.True(d.t, ok)
		d.tools[name] = e
	}
}

// file writes a source file under the default root.
func (d *fixture) file(path, text string) {
	d.t.Helper()
	to := filepath.Join(d.dir, "src", filepath.FromSlash(path))
	require.NoError(d.t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(d.t, os.WriteFile(to, []byte(text), 0o644))
}

// lines returns numbered text, one line a number.
func lines(from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		b.WriteString("line number " + string(rune('a'+n%26)) + strings.Repeat("x", n/26) + "\n")
	}
	return b.String()
}

type args = map[string]any

// run runs one call as the core would: decode, prepare, commit; and presents it.
func (d *fixture) run(name tool.Name, a any) present.Document {
	d.t.Helper()
	o := tool.Outcome{RequestID: json.RawMessage(`"r1"`)}
	value, err := d.value(name, a)
	switch v := value.(type) {
	case tool.Text:
		o.Text = string(v)
	default:
		o.Value, _ = tool.Encode(value)
	}
	if err != nil {
		o = tool.Outcome{RequestID: o.RequestID, Err: err}
	}
	return present.For(packs.Contract)(o)
}

func (d *fixture) value(name tool.Name, a any) (any, error) {
	d.t.Helper()
	raw, ok := a.(json.RawMessage)
	if !ok {
		var err error
		raw, err = tool.Encode(a)
		require.NoError(d.t, err)
	}
	inv, err := d.tools[name].Handler.Decode(raw)
	if err != nil {
		return nil, err
	}
	claims := inv.Claims()
	assert.LessOrEqual(d.t, claims.Class, d.tools[name].Spec.Class)
	plan, err := inv.Prepare(d.t.Context(), tool.Scope{})
	if err != nil {
		return nil, err
	}
	assert.Equal(d.t, claims.Effects&^1 != 0, plan != nil, "exactly what writes has a plan")
	return inv.Commit(d.t.Context(), tool.Scope{}, plan)
}

// input runs a call that must succeed and returns its payload.
func (d *fixture) input(a args) map[string]any {
	d.t.Helper()
	doc := d.run("input", a)
	require.False(d.t, doc.Fail, "%v: %s", a, doc.Text)
	var out struct {
		Action  string
		Payload map[string]any
	}
	require.NoError(d.t, json.Unmarshal([]byte(doc.Text), &out))
	if want, ok := a["action"]; ok {
		assert.Equal(d.t, want, out.Action)
	}
	return out.Payload
}

// output runs a call that must succeed and returns its Markdown.
func (d *fixture) output(a args) string {
	d.t.Helper()
	doc := d.run("output", a)
	require.False(d.t, doc.Fail, "%v: %s", a, doc.Text)
	return doc.Text
}

type failed struct {
	Kind, Code, Message string
	Details             map[string]any
}

// fails runs a call that must fail with kind/code and returns the error.
func (d *fixture) fails(name tool.Name, a any, kindCode string) failed {
	d.t.Helper()
	doc := d.run(name, a)
	require.True(d.t, doc.Fail, "%v succeeded: %s", a, doc.Text)
	var f failed
	require.NoError(d.t, json.Unmarshal([]byte(doc.Text), &f))
	assert.Equal(d.t, kindCode, f.Kind+"/"+f.Code, "%v: %s", a, f.Message)
	return f
}

// editor edits one pack, keeping count of its revision.
type editor struct {
	*fixture
	id  string
	rev int
}

// create makes a pack that lives for ten hours.
func (d *fixture) create(more args) *editor {
	d.t.Helper()
	a := args{"action": "create", "ttl_minutes": 600}
	for k, v := range more {
		a[k] = v
	}
	p := d.input(a)
	return &editor{d, p["id"].(string), 1}
}

// do runs a mutation that must change the pack.
func (e *editor) do(action string, more args) map[string]any {
	e.t.Helper()
	p := e.input(e.args(action, more))
	e.rev++
	require.EqualValues(e.t, e.rev, p["revision"], action)
	return p
}

func (e *editor) args(action string, more args) args {
	a := args{"action": action, "id": e.id, "expected_revision": e.rev}
	for k, v := range more {
		a[k] = v
	}
	return a
}

func (e *editor) section(key string) {
	e.do("upsert_section", args{"section_key": key, "section_title": "Section " + key})
}

func (e *editor) ref(section, key, path string, start, end int) {
	e.t.Helper()
	e.do("upsert_ref", args{"section_key": section, "ref_key": key, "path": path, "line_start": start, "line_end": end})
}

func (e *editor) show(more args) string {
	e.t.Helper()
	a := args{"id": e.id}
	for k, v := range more {
		a[k] = v
	}
	return e.output(a)
}
