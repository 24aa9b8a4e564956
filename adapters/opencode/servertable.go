package opencode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// maxTable bounds the table's file.
const maxTable = 8 << 20

// entry is a server as the file has it. Fields of later versions are nobody's business here (opencode contract §9.2).
type entry struct {
	sandboxport.ServerEntry
	Backend string `json:"backend_type"`
	// AddedAt hides the field of that name: whatever stands there must not make the entry unreadable.
	AddedAt any `json:"added_at"`
}

func (e entry) route() sandboxport.Route {
	return sandboxport.Route{ID: e.ID, Name: e.ProjectName, Title: e.Title, Description: e.Description, Status: e.Status, Sandbox: e.Sandbox, Isolation: e.Isolation}
}

// table is what was read last.
type table struct {
	standard string // ID of the default server
	entries  []entry
	problem  string
}

// within returns what of the table a scope takes in. The default server of a scope is the one that it names, or the only one there is.
func (t table) within(scope string) table {
	if scope == "" {
		return t
	}
	out := table{problem: t.problem}
	for _, e := range t.entries {
		if sandbox.Covers(scope, e.ID, e.GitURL) {
			out.entries = append(out.entries, e)
			if e.ID == scope {
				out.standard = e.ID
			}
		}
	}
	if out.standard == "" && len(out.entries) == 1 {
		out.standard = out.entries[0].ID
	}
	return out
}

// names returns the servers as one may call them.
func (t table) names() string {
	if len(t.entries) == 0 {
		return "none; opencode_project_start starts one"
	}
	words := make([]string, len(t.entries))
	for i, e := range t.entries {
		words[i] = e.called()
	}
	return strings.Join(words, ", ")
}

// stamp is how a change of the file is noticed. The manager exchanges the file, others may write into it.
type stamp struct {
	info fs.FileInfo // nil while there is none
	read bool
}

func (s stamp) same(o stamp) bool {
	if !s.read || s.info == nil || o.info == nil {
		return s.read && s.info == nil && o.info == nil
	}
	return os.SameFile(s.info, o.info) && s.info.ModTime().Equal(o.info.ModTime()) && s.info.Size() == o.info.Size()
}

// settled is how old a file must be for its time to tell it from one written later: file systems count in ticks.
const settled = 100 * time.Millisecond

// current returns the table as the file has it now. Asking costs one look at the file, which is read when it is another one than last time.
func (r *Router) current() table {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := stamp{read: true}
	now.info, _ = os.Stat(r.o.Table) // why it cannot be looked at is seen when it is read
	same := r.seen.same(now)
	if same && r.table.problem == "" && (now.info == nil || time.Since(now.info.ModTime()) > settled) {
		return r.table
	}
	fresh, notes, err := load(r.o.Table)
	if err != nil {
		notes = []string{"it cannot be read, so the previous version is used: " + err.Error()}
		fresh = r.table
		fresh.problem = err.Error()
	}
	if !same {
		for _, note := range notes {
			r.o.Log.Warn("the server table is invalid", "path", r.o.Table, "what", note)
		}
	}
	r.table, r.seen = fresh, now
	return r.table
}

// load reads the file. One that is not there is a table without servers; notes tell of what was left out.
func load(path string) (t table, notes []string, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return table{}, nil, nil
	}
	if err != nil {
		return table{}, nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTable+1))
	switch {
	case err != nil:
		return table{}, nil, err
	case len(text) > maxTable:
		return table{}, nil, fmt.Errorf("it is larger than %d bytes", maxTable)
	}
	var doc struct {
		Default *string           `json:"default_server"`
		Servers []json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return table{}, nil, fmt.Errorf("it is not a server table: %w", err)
	}
	seen := map[string]bool{}
	for i, raw := range doc.Servers {
		e, bad := entryOf(raw)
		if bad == "" && seen[e.ID] {
			bad = "its id is not unique"
		}
		if bad != "" {
			notes = append(notes, fmt.Sprintf("server %d is ignored: %s", i+1, bad))
			continue
		}
		seen[e.ID] = true
		t.entries = append(t.entries, e)
	}
	if doc.Default != nil && *doc.Default != "" {
		if t.standard = t.defaultServer(*doc.Default); t.standard == "" {
			notes = append(notes, fmt.Sprintf("default_server %q not found; it is treated as null", *doc.Default))
		}
	}
	return t, notes, nil
}

// entryOf returns a server, or the reason why the entry is invalid.
func entryOf(raw json.RawMessage) (e entry, bad string) {
	if err := json.Unmarshal(raw, &e); err != nil {
		return entry{}, "it cannot be read"
	}
	if e.ID == "" {
		e.ID = e.GitURL
	}
	if e.Status == "" {
		e.Status = "inactive"
	}
	if e.ID == "" {
		return entry{}, "it has no id"
	}
	at, err := url.Parse(e.URL)
	never := e.Sandbox != "" && e.URL == "" && e.Status != "active" // it was never started
	if e.speaks() && !never && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil) {
		return entry{}, "its url is not an http URL"
	}
	return e, ""
}

// speaks reports whether the server is asked in the way that this package knows.
func (e entry) speaks() bool { return e.Backend == "" || e.Backend == "opencode" }

// defaultServer returns the ID of the server that the file names as the default one, empty when there is none: by ID, or by name as older files do.
func (t table) defaultServer(name string) string {
	id := ""
	for _, e := range t.entries {
		if e.ID == name {
			return e.ID
		}
		if e.ProjectName == name && id == "" {
			id = e.ID
		}
	}
	return id
}
