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
// running, and every sandbox with isolation, which has a server of its own; those that are gone are taken out. Entries that were never ours stay. The first server becomes the default one; when the default one
// goes, the first of those that are left takes its place.
func (f form) Mirror(table *sandbox.Object, before, after sandbox.State) error {
	w := writer{doc: table}
	var entries []*sandbox.Object
	if err := table.Read("servers", &entries); err != nil {
		return err
	}
	was, is := listed(before), listed(after)
	entries = slices.DeleteFunc(entries, func(e *sandbox.Object) bool {
		id := member(e, "id")
		return was[id] && !is[id]
	})
	added := false
	for _, key := range slices.Sorted(maps.Keys(after.Projects)) {
		p := after.Projects[key]
		for _, name := range sandbox.SandboxNames(p) {
			if box := p.Sandboxes[sandbox.SandboxKey(name)]; box.Isolation != "" {
				i := slices.IndexFunc(entries, func(e *sandbox.Object) bool { return member(e, "id") == sandbox.ServerID(key, name) })
				if i < 0 {
					i = len(entries)
					entries = append(entries, &sandbox.Object{})
				}
				if err := f.ownEntry(entries[i], p, box); err != nil {
					return err
				}
			}
		}
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
	for _, other := range []string{"password", "sandbox", "isolation"} {
		doc.Delete(other)
	}
	w.put("status", status)
	w.put("key_id", sandbox.SecretKey(p.CreatedAt))
	if doc.IsNull("added_at") {
		w.put("added_at", f.Now.UTC())
	}
	w.put("ssh_key_path", f.keyPath(p))
	w.put("base_dir", p.BaseDir)
	return w.err
}

// listed returns the IDs of all servers that the table is to have, but for projects' that never had one, which it may have.
func listed(s sandbox.State) map[string]bool {
	out := map[string]bool{}
	for key, p := range s.Projects {
		out[key] = true
		for _, box := range p.Sandboxes {
			if box.Isolation != "" {
				out[sandbox.ServerID(key, box.Name)] = true
			}
		}
	}
	return out
}

// ownEntry is entry for the server of an isolated sandbox's own. It is listed before it was ever started: the project's does not work there.
func (f form) ownEntry(doc *sandbox.Object, p sandbox.Project, box sandbox.Sandbox) error {
	w := writer{doc: doc}
	server, status := p.ServerOf(box.Name), "inactive"
	if server.Status == sandbox.Running {
		status = "active"
	}
	w.put("id", sandbox.ServerID(p.URL.String(), box.Name))
	w.put("git_url", p.URL.String())
	w.put("project_name", p.Name+"/"+box.Name)
	w.put("sandbox", box.Name)
	w.put("isolation", box.Isolation)
	w.byDefault("title", sandbox.ProjectTitle(p.Name)+": "+box.Name)
	w.byDefault("description", "Agent server in sandbox "+box.Name+" of "+p.URL.String()+", isolated by "+box.Isolation)
	if server.Port != 0 {
		w.put("url", "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(server.Port)))
	}
	w.byDefault("password_env", PasswordVariable)
	doc.Delete("password")
	w.put("status", status)
	w.put("key_id", sandbox.SecretKey(box.CreatedAt))
	w.put("added_at", box.CreatedAt.UTC())
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
	shared := slices.DeleteFunc(slices.Clone(entries), func(e *sandbox.Object) bool { return member(e, "sandbox") != "" })
	known := func(e *sandbox.Object) bool { return member(e, "id") == *now || member(e, "project_name") == *now }
	switch {
	case now != nil && slices.ContainsFunc(entries, known):
		return now
	case len(shared) > 0 && (now != nil || added):
		first := member(shared[0], "id")
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
