package packpages_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/packpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/consolerig"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// room is a store of packs with a source tree, and a console before them.
type room struct {
	*consolerig.Site
	core   *local.Local
	source string
	store  string
}

func open(t *testing.T, change ...func(*local.Config)) *room {
	t.Helper()
	r := &room{source: t.TempDir(), store: filepath.Join(t.TempDir(), "packs")}
	c := local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: t.TempDir(), Options: person.ByCaller(local.Defaults()), Toolsets: []string{"packs"}, Env: func(string) string { return "" },
		Packs: local.Packs{Root: r.store, Source: r.source}}
	for _, f := range change {
		f(&c)
	}
	var err error
	r.core, err = local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.core.Close()) })
	r.Site = consolerig.New(t, r.core, func(runner *ui.CallRunner, mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
		packpages.New(runner).Mount(mux, person)
	})
	return r
}

// write puts a file of source code there.
func (r *room) write(name, text string) {
	r.T.Helper()
	path := filepath.Join(r.source, name)
	require.NoError(r.T, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.T, os.WriteFile(path, []byte(text), 0o644))
}

// input returns an agent's call of the tool input.
func (r *room) input(args map[string]any) (id string, revision uint64) {
	r.T.Helper()
	doc, err := json.Marshal(args)
	require.NoError(r.T, err)
	out := r.core.Call(context.Background(), tool.Call{Session: "agent", Principal: r.core.Owner(), Tool: "input", Args: doc})
	require.NoError(r.T, out.Err)
	var answer struct {
		Payload struct {
			ID       string `json:"id"`
			Revision uint64 `json:"revision"`
		} `json:"payload"`
	}
	require.NoError(r.T, json.Unmarshal(out.Value, &answer))
	return answer.Payload.ID, answer.Payload.Revision
}

// pack returns a pack that an agent makes of a document.
func (r *room) pack(document map[string]any) (id string) {
	r.T.Helper()
	id, _ = r.input(map[string]any{"action": "write", "document": document})
	return id
}

type m = map[string]any

type list = []any

const program = `package main

// main says hello.
func main() {
	println("hello <world>")
}

func other() int {
	return 42
}
`

// audit returns a pack with everything in it.
func (r *room) audit() (id string) {
	r.T.Helper()
	r.write("cmd/main.go", program)
	r.write("lib/a.py", "def f():\n    return '<b>'\n")
	r.write("lib/gone.ts", "const gone = 1;\n")
	return r.pack(m{"name": "audit", "title": "An audit", "brief": "What **matters**.\n\n- one\n- two", "tags": list{"auth", "x"}, "ttl_minutes": 90, "sections": list{
		m{"key": "flow", "title": "The flow", "description": "See [the site](https://site.example/) and\n\n```go\nfunc x()\n```", "refs": list{
			m{"key": "main", "path": "cmd/main.go", "line_start": 4, "line_end": 6, "title": "Entry", "why": "it begins here", "group": "core"},
			m{"key": "other", "path": "cmd/main.go", "line_start": 8, "line_end": 10},
			m{"key": "python", "path": "lib/a.py", "line_start": 1, "line_end": 2, "group": "a group"},
			m{"key": "gone", "path": "lib/gone.ts", "line_start": 1, "line_end": 1},
		}, "diagrams": list{m{"key": "seq", "title": "The order", "mermaid": "graph TD\n  A-->B", "why": "to see it"}}},
		m{"key": "notes", "title": "Notes", "description": "Only a note."},
	}})
}
