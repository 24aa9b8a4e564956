package sandboxfile

import (
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// PasswordVariable names the variable that holds every server's password; the table names it, and never the password itself.
const PasswordVariable = "OPENCODE_PASSWORD"

// Mirror brings the gateway's table up to after, which was before: every project that has a port is listed, active when its server is recorded as
// running; projects that are gone are taken out. Entries that were never ours stay. The first server becomes the default one; when the default one
// goes, the first of those that are left takes its place.
func (f form) Mirror(table *sandbox.Object, before, after sandbox.State) error {
	w := writer{doc: table}
	var entries []*sandbox.Object
	if err := table.Read("servers", &entries); err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e *sandbox.Object) bool {
		id := member(e, "id")
		_, was := before.Projects[id]
		_, is := after.Projects[id]
		return was && !is
	})
	added := false
	for _, key := range slices.Sorted(maps.Keys(after.Projects)) {
		p := after.Projects[key]
		i := slices.IndexFunc(entries, func(e *sandbox.Object) bool { return member(e, "id") == key })
		if i < 0 {
			if p.Server.Port == 0 {
				continue // it never had a server
			}
			i, added = len(entries), true
			entries = append(entries, &sandbox.Object{})
		}
		if err := f.entry(entries[i], p); err != nil {
			return err
		}
	}
	if !table.Has("version") {
		w.put("version", sandbox.ServersVersion)
	}
	w.put("default_server", chosen(table, entries, added))
	if entries == nil {
		entries = []*sandbox.Object{}
	}
	w.put("servers", entries)
	return w.err
}

func (f form) entry(doc *sandbox.Object, p sandbox.Project) error {
	w := writer{doc: doc}
	status := "inactive"
	if p.Server.Status == sandbox.Running {
		status = "active"
	}
	w.put("id", p.URL.String())
	w.put("git_url", p.URL.String())
	w.put("project_name", p.Name)
	w.byDefault("title", sandbox.ProjectTitle(p.Name))
	w.byDefault("description", "Agent server of "+p.URL.String())
	if p.Server.Port != 0 {
		w.put("url", "http://"+net.JoinHostPort(f.Host, strconv.Itoa(p.Server.Port)))
	}
	w.byDefault("password_env", PasswordVariable)
	doc.Delete("password")
	w.put("status", status)
	if doc.IsNull("added_at") {
		w.put("added_at", f.Now.UTC())
	}
	w.put("ssh_key_path", f.keyPath(p))
	w.put("base_dir", p.BaseDir)
	return w.err
}

// byDefault leaves what the user wrote.
func (w *writer) byDefault(key, s string) {
	if member(w.doc, key) == "" {
		w.put(key, s)
	}
}

func chosen(table *sandbox.Object, entries []*sandbox.Object, added bool) *string {
	var now *string
	if err := table.Read("default_server", &now); err != nil {
		now = nil
	}
	known := func(e *sandbox.Object) bool { return member(e, "id") == *now || member(e, "project_name") == *now }
	switch {
	case now != nil && slices.ContainsFunc(entries, known):
		return now
	case len(entries) > 0 && (now != nil || added):
		first := member(entries[0], "id")
		return &first
	}
	return nil
}

// member returns a member that should be text; empty for anything else.
func member(o *sandbox.Object, key string) (s string) {
	if o.Read(key, &s) != nil {
		return ""
	}
	return s
}
