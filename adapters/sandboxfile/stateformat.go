package sandboxfile

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// form is how the documents say what the state says otherwise.
type form struct {
	DeployKey func(name string) string // the path that stands for "no key of the user's own"
	Host      string                   // where servers are reached
	Now       time.Time                // when an entry is added
}

// Decode returns the state that doc, of the current form, holds. Projects keyed by anything but a URL are passed over. It fails with sandbox.ErrState,
// naming the member.
func (f form) Decode(doc *sandbox.Object) (sandbox.State, error) {
	var err error
	r := reader{doc: doc, err: &err}
	s := sandbox.State{Gateway: r.child("global_mcp_tool").gateway(), Projects: map[string]sandbox.Project{}}
	projects := r.child("projects")
	for _, key := range projects.doc.Keys() {
		if url, err := git.ParseURL(key); err == nil && url.String() == key {
			s.Projects[key] = f.project(projects.child(key), url)
		}
	}
	if err != nil {
		return sandbox.State{}, err
	}
	return s, nil
}

func (f form) project(r reader, url git.URL) sandbox.Project {
	p := sandbox.Project{
		URL: url, CloneURL: r.text("clone_url"), Name: r.text("project_name"), ProjectID: r.text("project_id"), BaseDir: r.text("base_dir"),
		SSHKey: r.text("ssh_key_path"), CreatedAt: r.time("created_at"), LastHealth: r.time("last_health_check"),
		Server: r.child("opencode").server(), Sandboxes: map[string]sandbox.Sandbox{},
		Setup: r.text("setup"),
	}
	if p.BaseDir == "" {
		p.BaseDir = r.text("sandbox_dir")
	}
	if p.BaseDir != "" && !filepath.IsAbs(p.BaseDir) {
		r.fail("base_dir", "is not an absolute path")
	}
	if p.Name == "" {
		p.Name = sandbox.ProjectName(url, nil)
	}
	if sandbox.CheckProjectName(p.Name) != nil {
		r.fail("project_name", "is not a valid directory name: %.80q", p.Name)
	}
	if p.CloneURL == "" {
		p.CloneURL = url.String()
	}
	if p.SSHKey == f.DeployKey(p.Name) {
		p.SSHKey = ""
	}
	if r.doc.Has("isolations") && !r.doc.IsNull("isolations") {
		r.read("isolations", &p.Isolations)
	}
	if r.doc.Has("doing") && !r.doc.IsNull("doing") {
		p.Doing = &sandbox.Operation{}
		r.read("doing", p.Doing)
	}
	boxes := r.child("sandboxes")
	for _, name := range boxes.doc.Keys() {
		var box sandbox.Sandbox
		if boxes.read(name, &box); box.Name == "" {
			box.Name = name
		}
		if sandbox.CheckName(box.Name) != nil {
			boxes.fail(name, "is not a valid sandbox name")
		}
		p.Sandboxes[sandbox.SandboxKey(box.Name)] = box
	}
	return p
}

func (r reader) server() sandbox.Server {
	return sandbox.Server{
		ProcessID: r.text("process_id"), PID: r.number("pid"), Port: r.number("port"), Status: r.status(), StartedAt: r.time("started_at"),
		LastError: r.text("last_error"), Version: r.text("opencode_version"), Exe: r.text("exe"), UsedAt: r.time("used_at"),
	}
}

func (r reader) gateway() sandbox.Gateway {
	g := sandbox.Gateway{
		ProcessID: r.text("process_id"), PID: r.number("pid"), Port: r.number("port"), Status: r.status(), Error: r.text("error"),
		StartedAt: r.time("started_at"), LastHealth: r.time("last_health_check"),
	}
	r.read("held", &g.Held)
	return g
}

// Encode puts s into doc, which holds what was recorded before. Projects that are not in s go; those keyed by anything but a URL stay.
func (f form) Encode(doc *sandbox.Object, s sandbox.State) error {
	w := writer{doc: doc}
	w.put("version", sandbox.StateVersion)
	w.child("global_mcp_tool", func(w *writer) { w.gateway(s) })
	w.child("projects", func(w *writer) {
		for _, key := range w.doc.Keys() {
			if _, stays := s.Projects[key]; !stays && isCanonical(key) {
				w.doc.Delete(key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s.Projects)) {
			w.child(key, func(w *writer) { f.writeProject(w, s.Projects[key]) })
		}
	})
	return w.err
}

func isCanonical(key string) bool {
	url, err := git.ParseURL(key)
	return err == nil && url.String() == key
}

func (w *writer) gateway(s sandbox.State) {
	g := s.Gateway
	w.number("pid", g.PID)
	w.number("port", g.Port)
	w.status(g.Status)
	w.text("error", g.Error)
	w.time("started_at", g.StartedAt)
	w.time("last_health_check", g.LastHealth)
	w.put("active_project_count", sandbox.RunningCount(s, func(s sandbox.Server) bool { return s.Status == sandbox.Running }))
	w.optional("process_id", g.ProcessID != "", g.ProcessID)
	w.optional("held", g.Held, g.Held)
}

func (f form) writeProject(w *writer, p sandbox.Project) {
	names := make([]string, 0, len(p.Sandboxes))
	for _, key := range slices.Sorted(maps.Keys(p.Sandboxes)) {
		names = append(names, p.Sandboxes[key].Name)
	}
	w.put("git_url", p.URL.String())
	w.text("project_id", p.ProjectID)
	w.put("base_dir", p.BaseDir)
	w.put("project_name", p.Name)
	w.put("worktrees", names)
	w.put("ssh_key_path", f.keyPath(p))
	w.child("opencode", func(w *writer) { w.server(p.Server) })
	w.time("created_at", p.CreatedAt)
	w.time("last_health_check", p.LastHealth)
	w.put("sandbox_dir", p.BaseDir)
	w.put("clone_url", p.CloneURL)
	w.child("sandboxes", func(w *writer) {
		old := w.doc.Keys()
		for _, name := range names {
			was := name
			if i := slices.IndexFunc(old, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
				was = old[i]
			}
			w.doc.Rename(was, name)
			w.child(name, func(w *writer) { w.sandbox(p.Sandboxes[sandbox.SandboxKey(name)]) })
		}
		for _, key := range old {
			if w.doc.Has(key) && !slices.Contains(names, key) {
				w.doc.Delete(key)
			}
		}
	})
	w.optional("setup", p.Setup != "", p.Setup)
	w.optional("isolations", len(p.Isolations) > 0, p.Isolations)
	w.optional("doing", p.Doing != nil, p.Doing)
}

func (f form) keyPath(p sandbox.Project) string {
	if p.SSHKey != "" {
		return p.SSHKey
	}
	return f.DeployKey(p.Name)
}

func (w *writer) server(s sandbox.Server) {
	w.number("pid", s.PID)
	w.number("port", s.Port)
	w.status(s.Status)
	w.time("started_at", s.StartedAt)
	w.text("last_error", s.LastError)
	w.optional("process_id", s.ProcessID != "", s.ProcessID)
	w.optional("opencode_version", s.Version != "", s.Version)
	w.optional("exe", s.Exe != "", s.Exe)
	w.optional("used_at", !s.UsedAt.IsZero(), s.UsedAt.UTC())
}

func (w *writer) sandbox(b sandbox.Sandbox) {
	w.put("name", b.Name)
	w.put("branch", b.Branch)
	w.put("base_ref", b.BaseRef)
	w.put("directory", b.Directory)
	w.put("created_at", b.CreatedAt.UTC())
	w.put("created_branch", b.CreatedBranch)
	w.optional("start_command", b.StartCommand != "", b.StartCommand)
	w.optional("leases", len(b.Leases) > 0, b.Leases)
	w.optional("review", len(b.Review) > 0, b.Review)
	w.optional("reviewed", b.Reviewed != nil, b.Reviewed)
	w.optional("isolation", b.Isolation != "", b.Isolation)
	w.optional("agent", b.Agent != nil, b.Agent)
	w.optional("server", b.Server != nil, b.Server)
	w.optional("preparing", b.Preparing != "", b.Preparing)
}
