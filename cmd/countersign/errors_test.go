package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// refusal is the envelope of context-pack contract §4.1.
type refusal struct {
	Error     bool            `json:"error"`
	Kind      string          `json:"kind"`
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	RequestID json.RawMessage `json:"request_id"`
	Details   json.RawMessage `json:"details"`
}

// bench is a session with a pack that each row of the table starts from: one section, one ref to a file that exists.
type bench struct {
	place
	*session
}

func newBench(t *testing.T) bench {
	p := newPlace(t)
	s := &session{Client: p.serve(), t: t}
	s.Initialize("2025-06-18")
	s.create("bench-pack")
	s.section()
	s.ref("src/token.go", 4, 6)
	return bench{p, s}
}

// with is arguments for the pack as it is.
func (b bench) with(action string, more args) args {
	a := args{"action": action, "id": b.id, "expected_revision": b.revision}
	for k, v := range more {
		a[k] = v
	}
	return a
}

// packFile returns a pack file in the original's form.
func packFile(id, name, expires string, schema int) string {
	return fmt.Sprintf("---\nschema_version: %d\nid: %s\nname: %s\ntitle: null\nbrief: null\nstatus: draft\ntags: []\nsections: []\nrevision: 1\n"+
		"created_at: 2026-01-01T00:00:00Z\nupdated_at: 2026-01-01T00:00:00Z\nexpires_at: %s\n---\n", schema, id, name, expires)
}

const farAway = "2999-01-01T00:00:00Z"

func (b bench) plant(t *testing.T, id, text string) {
	require.NoError(t, os.WriteFile(b.store(id+".md"), []byte(text), 0o600))
}

// row is one way to be refused: what is prepared, the call, and the pair of the contract's table. says is part of the message.
type row struct {
	name       string
	tool       string
	prepare    func(*testing.T, bench)
	call       func(bench) args
	kind, code string
	says       string
}

// simple returns a row whose call needs the pack and nothing prepared.
func simple(name, action string, more args, says string) row {
	return row{name: name, tool: "input", call: func(b bench) args { return b.with(action, more) }, kind: "validation", code: "invalid_data", says: says}
}

// raw returns a row whose call is exactly these arguments.
func raw(name, tool string, a args, says string) row {
	return row{name: name, tool: tool, call: func(bench) args { return a }, kind: "validation", code: "invalid_data", says: says}
}

// as returns the row with another pair.
func (r row) as(kind, code string) row {
	r.kind, r.code = kind, code
	return r
}

// after returns the row with something prepared.
func (r row) after(prepare func(*testing.T, bench)) row {
	r.prepare = prepare
	return r
}

func validationRows() []row {
	ref := func(path any, first, last any) args {
		return args{"section_key": "flow", "ref_key": "other", "path": path, "line_start": first, "line_end": last}
	}
	return []row{
		raw("required argument absent", "input", args{"action": "get"}, "'id' or 'name' is required"),
		raw("required argument blank", "input", args{"action": "get", "id": "  "}, "required"),
		raw("revision absent", "input", args{"action": "delete_section", "name": "bench-pack", "section_key": "flow"}, "'expected_revision' is required"),
		raw("revision of another type", "input", args{"action": "delete_section", "name": "bench-pack", "section_key": "flow", "expected_revision": "3"}, "expected_revision"),
		simple("section_key absent", "upsert_section", args{"section_title": "X"}, "'section_key' is required"),
		simple("title alias", "upsert_section", args{"section_key": "flow", "title": "X"}, "'title' is not supported"),
		simple("description alias", "upsert_section", args{"section_key": "flow", "section_title": "X", "description": nil}, "'description' is not supported"),
		simple("why alias of refs", "upsert_ref", args{"why": "x"}, "'why' is not supported"),
		simple("why alias of diagrams", "upsert_diagram", args{"why": "x"}, "'why' is not supported"),
		raw("unknown action", "input", args{"action": "destroy"}, "unknown input action"),
		raw("unknown output action", "output", args{"action": "destroy"}, "unknown output action"),
		raw("name too short to be one", "input", args{"action": "get", "id": "ab"}, ""),
		raw("bad name", "input", args{"action": "create", "name": "ab", "ttl_minutes": 5}, "name"),
		raw("name like an id", "input", args{"action": "create", "name": "pk_abcdefgh", "ttl_minutes": 5}, "id"),
		simple("bad key", "upsert_section", args{"section_key": "No Key", "section_title": "X"}, "section_key"),
		simple("path leaves the root", "upsert_ref", ref("../x", 1, 2), "path"),
		simple("path leaves the root by backslashes", "upsert_ref", ref(`..\x`, 1, 2), "path"),
		simple("absolute path", "upsert_ref", ref("/etc/passwd", 1, 2), "path"),
		simple("range before its start", "upsert_ref", ref("a.go", 5, 4), "line_end"),
		simple("range from zero", "upsert_ref", ref("a.go", 0, 4), "line"),
		simple("range too long", "upsert_ref", ref("a.go", 1, 2001), "2000"),
		simple("bad status", "set_status", args{"status": "done"}, "status"),
		raw("tags that are no list", "input", args{"action": "create", "ttl_minutes": 5, "tags": "x"}, "tags"),
		raw("tags null", "input", args{"action": "create", "ttl_minutes": 5, "tags": nil}, "tags"),
		raw("blank tag", "input", args{"action": "create", "ttl_minutes": 5, "tags": []string{" "}}, "tags"),
		raw("ttl of zero", "input", args{"action": "create", "ttl_minutes": 0}, "2628000"),
		raw("ttl above five years", "input", args{"action": "create", "ttl_minutes": 2_628_001}, "2628000"),
		raw("create without ttl", "input", args{"action": "create"}, "'ttl_minutes' is required"),
		simple("both ttl fields", "touch_ttl", args{"ttl_minutes": 5, "extend_minutes": 5}, "not both"),
		simple("ttl that is no integer", "touch_ttl", args{"ttl_minutes": "5"}, "ttl_minutes"),
		simple("ttl null", "touch_ttl", args{"extend_minutes": nil}, "extend_minutes"),
		simple("ttl absent", "touch_ttl", nil, "").as("validation", "ttl_required"),
		simple("set_meta without fields", "set_meta", nil, ""),
		raw("format", "output", args{"name": "bench-pack", "format": nil}, "always markdown"),
		raw("unknown argument", "output", args{"nmae": "x"}, "nmae"),
		simple("finalize with a ref outside the root", "set_status", args{"status": "finalized"}, "").after(func(t *testing.T, b bench) {
			require.NoError(t, os.Symlink("/etc/hostname", b.repo+"/leak"))
			b.ref("leak", 1, 1)
		}),
		{name: "output above one MiB", tool: "output", kind: "validation", code: "invalid_data", says: "too large",
			prepare: func(t *testing.T, b bench) {
				b.write("wide.txt", strings.Repeat(strings.Repeat("x", 1000)+"\n", 2000))
				b.ref("wide.txt", 1, 2000)
			}, call: func(b bench) args { return args{"id": b.id} }},
	}
}

func stateRows() []row {
	finalized := func(_ *testing.T, b bench) { b.do(args{"action": "set_status", "status": "finalized"}) }
	state := func(r row) row { return r.as("invalid_state", "invalid_state") }
	missing := func(r row) row { return r.as("not_found", "not_found") }
	return []row{
		missing(raw("pack absent", "input", args{"action": "get", "id": "pk_aaaaaaaa"}, "")),
		missing(raw("pack of that name absent", "output", args{"name": "nobody"}, "")),
		missing(simple("section absent", "delete_section", args{"section_key": "nothing"}, "")),
		missing(simple("ref absent", "delete_ref", args{"section_key": "flow", "ref_key": "nothing"}, "")),
		missing(raw("pack expired", "output", args{"id": "pk_bbbbbbbb"}, "")).after(func(t *testing.T, b bench) {
			b.plant(t, "pk_bbbbbbbb", packFile("pk_bbbbbbbb", "old-pack", "2026-01-02T00:00:00Z", 2))
		}),
		missing(simple("pack file vanished", "touch_ttl", args{"ttl_minutes": 5}, "")).after(func(t *testing.T, b bench) { require.NoError(t, os.Remove(b.store(b.id+".md"))) }),
		simple("revision is another", "touch_ttl", args{"ttl_minutes": 5, "expected_revision": 1}, "").as("conflict", "revision_conflict"),
		raw("name taken", "input", args{"action": "create", "name": "bench-pack", "ttl_minutes": 5}, "").as("conflict", "conflict"),
		raw("two packs of one name", "input", args{"action": "get", "name": "twins"}, "").as("conflict", "conflict").after(func(t *testing.T, b bench) {
			b.plant(t, "pk_cccccccc", packFile("pk_cccccccc", "twins", farAway, 2))
			b.plant(t, "pk_dddddddd", packFile("pk_dddddddd", "twins", farAway, 2))
		}),
		state(simple("edit while finalized", "upsert_section", args{"section_key": "flow", "section_title": "X"}, "finalized")).after(finalized),
		state(simple("finalize without content", "set_status", args{"status": "finalized"}, "")).after(func(_ *testing.T, b bench) {
			b.do(args{"action": "delete_ref", "section_key": "flow", "ref_key": "verify"})
		}),
		state(simple("finalize with a stale ref", "set_status", args{"status": "finalized"}, "flow::verify (src/gone.go:90-91)")).after(func(_ *testing.T, b bench) {
			b.ref("src/gone.go", 90, 91)
		}),
		{name: "output of another status", tool: "output", kind: "invalid_state", code: "invalid_state", call: func(b bench) args { return args{"id": b.id, "status": "finalized"} }},
	}
}

func storageRows() []row {
	io := func(r row) row { return r.as("io_error", "io_error") }
	return []row{
		io(raw("a malformed pack file fails a list", "input", args{"action": "list"}, "pk_eeeeeeee.md")).after(func(t *testing.T, b bench) { b.plant(t, "pk_eeeeeeee", "no front matter") }),
		io(raw("and a look-up by name", "output", args{"name": "bench-pack"}, "pk_eeeeeeee.md")).after(func(t *testing.T, b bench) { b.plant(t, "pk_eeeeeeee", "no front matter") }),
		io(simple("finalize with a file that is not text", "set_status", args{"status": "finalized"}, "")).after(func(_ *testing.T, b bench) {
			b.write("binary", "\xff\xfe\n")
			b.ref("binary", 1, 1)
		}),
		io(simple("finalize with a directory", "set_status", args{"status": "finalized"}, "")).after(func(_ *testing.T, b bench) { b.ref("src", 1, 1) }),
		raw("another schema version", "input", args{"action": "list"}, "pk_ffffffff.md").as("migration_required", "migration_required").after(func(t *testing.T, b bench) {
			b.plant(t, "pk_ffffffff", packFile("pk_ffffffff", "future", farAway, 3))
		}),
		raw("even when it has expired", "input", nil, "pk_ffffffff.md").as("migration_required", "migration_required").after(func(t *testing.T, b bench) {
			b.plant(t, "pk_ffffffff", packFile("pk_ffffffff", "future", "2026-01-02T00:00:00Z", 3))
		}),
	}
}

// TestErrorTable is every row of context-pack contract §4.2 over the wire: kind, code, message and the request's own id, and nothing
// changed.
func TestErrorTable(t *testing.T) {
	for _, rows := range [][]row{validationRows(), stateRows(), storageRows()} {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				if r.prepare != nil {
					r.prepare(t, b)
				}
				got := b.refused(t, r.tool, r.call(b))
				assert.Equal(t, r.kind+"/"+r.code, got.Kind+"/"+got.Code, got.Message)
				assert.Contains(t, got.Message, r.says)
				if r.code == "revision_conflict" {
					assert.Contains(t, string(got.Details), fmt.Sprintf(`"actual_revision":%d`, b.revision))
					assert.Contains(t, string(got.Details), `"expected_revision":1`)
				}
			})
		}
	}
}

// refused calls a tool that must refuse, with an id that is a string for every second row.
func (b bench) refused(t *testing.T, tool string, a args) refusal {
	t.Helper()
	params := args{"name": tool}
	if a != nil {
		params["arguments"] = a
	}
	id := `"row-` + tool + `"`
	body, err := json.Marshal(args{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "tools/call", "params": params})
	require.NoError(t, err)
	b.Send(string(body))
	var answer stdiotest.Response
	require.NoError(t, json.Unmarshal(b.Recv(), &answer))
	result := stdiotest.ResultOf(t, answer)
	require.Nil(t, result.Err)
	require.True(t, result.IsError, result.Text)
	var got refusal
	require.NoError(t, json.Unmarshal([]byte(result.Text), &got))
	assert.True(t, got.Error)
	assert.JSONEq(t, id, string(got.RequestID))
	assert.NotEmpty(t, got.Message)
	return got
}

// TestProtocolErrors is context-pack contract §4.3 over the wire.
func TestProtocolErrors(t *testing.T) {
	rows := map[string]struct {
		sent []string
		code int
		id   string
	}{
		"no JSON":                {[]string{`{"jsonrpc":"2.0","id":1,"method":`}, -32700, "null"},
		"no method":              {[]string{`{"jsonrpc":"2.0","id":1}`}, -32700, "null"},
		"method of another type": {[]string{`{"jsonrpc":"2.0","id":1,"method":5}`}, -32700, "null"},
		"unknown method":         {[]string{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`}, -32601, "1"},
		"unknown tool":           {[]string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope","arguments":{}}}`}, -32602, "1"},
		"no tool named":          {[]string{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`}, -32602, "1"},
		"arguments null":         {[]string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"input","arguments":null}}`}, -32602, "1"},
		"arguments a list":       {[]string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"input","arguments":[]}}`}, -32602, "1"},
		"after shutdown":         {[]string{`{"jsonrpc":"2.0","id":0,"method":"shutdown"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`}, -32000, "1"},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newPlace(t).serve().Framed()
			c.Request("initialize", args{"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": "t", "version": "1"}})
			var answer stdiotest.Response
			for _, line := range r.sent {
				c.Send(line)
				require.NoError(t, json.Unmarshal(c.Recv(), &answer))
			}
			require.NotNil(t, answer.Error)
			assert.Equal(t, r.code, answer.Error.Code, answer.Error.Message)
			assert.JSONEq(t, r.id, string(answer.ID))
			c.Send(`{"jsonrpc":"2.0","id":9,"method":"exit"}`)
			assert.Equal(t, 0, c.Wait())
		})
	}
}

// TestAToolThatIsNotServed: its refusal says which toolset it is in, and how the user has it served, with the code of every unknown tool.
func TestAToolThatIsNotServed(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"run_script":   `unknown tool "run_script": it is in the toolset projects, which is not enabled; the user enables it with countersign connect HOST --toolsets packs,projects and restarts the host`,
		"nope":         `unknown tool "nope"`,
		"connect_host": `unknown tool "connect_host"`, // for users alone
	} {
		c := newPlace(t).serve("--toolsets", "packs").Framed()
		c.Request("initialize", args{"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": "t", "version": "1"}})
		c.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}`)
		var answer stdiotest.Response
		require.NoError(t, json.Unmarshal(c.Recv(), &answer))
		require.NotNil(t, answer.Error)
		assert.Equal(t, -32602, answer.Error.Code)
		assert.Equal(t, says, answer.Error.Message)
		c.Send(`{"jsonrpc":"2.0","id":9,"method":"exit"}`)
		assert.Equal(t, 0, c.Wait())
	}
}
