package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
)

// StateVersion is the version that MigrateState produces.
const StateVersion = 2

// ServersVersion is the version of the table that MigrateServers produces.
const ServersVersion = "1.0"

// ErrShape is returned for a document in an unknown or a later form.
var ErrShape = fault.New(fault.Conflict, "sandbox_record_shape", "unknown document format")

// MigrationReport describes a migration for users.
type MigrationReport struct {
	Changes  []string // empty: the document was up to date
	Warnings []string // what could not be migrated, and was left unchanged or omitted
}

func (r *MigrationReport) changed(format string, args ...any) {
	r.Changes = append(r.Changes, fmt.Sprintf(format, args...))
}

func (r *MigrationReport) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// MigrateState updates doc, a whole state file, in place; repeating it changes nothing. After an error doc is undefined.
func MigrateState(doc *Object) (MigrationReport, error) {
	var r MigrationReport
	version := 1
	if err := doc.Read("version", &version); err != nil {
		return r, ErrShape.WithMessage("version is not a whole number").WithCause(err)
	}
	if version > StateVersion {
		return r, ErrShape.WithMessage("it has version %d, but this program supports versions up to %d; a newer program wrote it", version, StateVersion)
	}
	projects, err := doc.Child("projects")
	if err != nil {
		return r, ErrShape.WithMessage("projects is not an object").WithCause(err)
	}
	many := doc.Has("global_mcp_tool")
	rows, err := rowsOf(projects)
	if err != nil {
		return r, err
	}
	if !many {
		oneGateway(&r, rows)
	}
	rows = canonical(&r, rows)
	distinct(&r, rows)
	if version < StateVersion {
		r.changed("the file's version is %d", StateVersion)
		for _, row := range rows {
			forgetWorktrees(&r, row)
		}
	}
	if len(r.Changes) == 0 {
		return r, nil
	}
	return r, store(doc, rows, !many)
}

func store(doc *Object, rows []row, gateway bool) error {
	projects := &Object{}
	for _, row := range rows {
		if err := projects.Put(row.key, row.entry); err != nil {
			return err
		}
	}
	fresh := &Object{} // version comes first if it is new
	if err := fresh.Put("version", StateVersion); err != nil {
		return err
	}
	if gateway {
		if err := fresh.Put("global_mcp_tool", stoppedGateway{Status: "stopped"}); err != nil {
			return err
		}
	}
	for _, key := range doc.Keys() {
		if key != "version" {
			if err := fresh.Put(key, doc.Raw(key)); err != nil {
				return err
			}
		}
	}
	*doc = *fresh
	return doc.Put("projects", projects)
}

// stoppedGateway is the gateway that was never started.
type stoppedGateway struct {
	PID        *int    `json:"pid"`
	Port       *int    `json:"port"`
	Status     string  `json:"status"`
	Error      *string `json:"error"`
	StartedAt  *string `json:"started_at"`
	LastHealth *string `json:"last_health_check"`
	Active     int     `json:"active_project_count"`
}

// row is a project's entry during the migration.
type row struct {
	key   string
	entry *Object
}

func rowsOf(projects *Object) (rows []row, err error) {
	for _, key := range projects.Keys() {
		entry, err := projects.Child(key)
		if err != nil || projects.IsNull(key) {
			return nil, ErrShape.WithMessage("an entry of projects is not an object").WithCause(err)
		}
		rows = append(rows, row{key, entry})
	}
	return rows, nil
}

// oneGateway replaces one gateway per project by one for all.
func oneGateway(r *MigrationReport, rows []row) {
	r.changed("one gateway for all projects instead of one each")
	for _, row := range rows {
		row.entry.Delete("mcp_tool")
	}
}

// canonical keys every entry by its canonical URL. Entries keyed by a project's name are first updated from their old form; of two entries for one
// repository the one whose server is recorded as running is kept, else the first.
func canonical(r *MigrationReport, rows []row) []row {
	kept := make([]row, 0, len(rows))
	at := map[string]int{}
	for _, row := range rows {
		url, ok := urlOf(r, row)
		if !ok {
			kept = append(kept, row) // unchanged: the user may still correct it
			continue
		}
		if !isURL(row.key) {
			namedLegacy(row)
		}
		if row.key != url {
			r.changed("the project %s is keyed by its canonical URL", url)
			_ = row.entry.Put("git_url", url)
			row.key = url
		}
		i, twice := at[url]
		if !twice {
			at[url] = len(kept)
			kept = append(kept, row)
			continue
		}
		r.warn("the project %s is recorded twice; the record with base directory %s is dropped", url, baseOf(loser(kept[i], row)))
		kept[i] = preferredRow(kept[i], row)
	}
	return kept
}

// distinct gives every project a unique name. Names used to be made without comparing them, and two projects with one name shared directories: the
// later one gets new directories, and leaves those to the first.
func distinct(r *MigrationReport, rows []row) {
	taken := map[string]bool{}
	for _, row := range rows {
		taken[text(row.entry, "project_name")] = true
	}
	seen := map[string]bool{"": true}
	for _, row := range rows {
		url, err := git.ParseURL(row.key)
		if err != nil || url.String() != row.key {
			continue
		}
		old := text(row.entry, "project_name")
		if !seen[old] {
			seen[old] = true
			continue
		}
		name := ProjectName(url, func(name string) bool { return taken[name] })
		taken[name], seen[name] = true, true
		_ = row.entry.Put("project_name", name)
		r.changed("the project %s is renamed to %s", url, name)
		if old != "" {
			row.entry.Delete("base_dir")
			row.entry.Delete("sandbox_dir")
			r.warn("the project %s shared its name %q and its directories with another one; it gets new ones when it is started", url, old)
		}
	}
}

// urlOf returns the entry's canonical URL. An entry keyed by name contains it.
func urlOf(r *MigrationReport, row row) (string, bool) {
	raw := row.key
	if !isURL(raw) {
		if row.entry.Read("git_url", &raw) != nil || raw == row.key {
			r.warn("a project keyed by name has no git_url; it is not changed: %.60q", row.key)
			return "", false
		}
	}
	url, err := git.ParseURL(raw)
	if err != nil {
		r.warn("a project has an invalid git URL; it is not changed")
		return "", false
	}
	return url.String(), true
}

// isURL distinguishes present keys from those of the time when projects were keyed by name.
func isURL(key string) bool {
	return strings.ContainsAny(key, "@:/")
}

// namedLegacy translates the fields of an entry keyed by name.
func namedLegacy(row row) {
	if row.entry.IsNull("project_name") {
		_ = row.entry.Put("project_name", row.key)
	}
	if row.entry.IsNull("base_dir") && !row.entry.IsNull("sandbox_dir") {
		_ = row.entry.Put("base_dir", row.entry.Raw("sandbox_dir"))
	}
	if row.entry.IsNull("worktrees") {
		_ = row.entry.Put("worktrees", []string{})
	}
	if !row.entry.Has("project_id") {
		_ = row.entry.Put("project_id", nil)
	}
}

func preferredRow(a, b row) row {
	if !running(a.entry) && running(b.entry) {
		return b
	}
	return a
}

func loser(a, b row) row {
	if !running(a.entry) && running(b.entry) {
		return a
	}
	return b
}

func running(entry *Object) bool {
	server, err := entry.Child("opencode")
	status := ""
	return err == nil && server.Read("status", &status) == nil && status == "running"
}

func baseOf(row row) string {
	base, older := "", ""
	_, _ = row.entry.Read("base_dir", &base), row.entry.Read("sandbox_dir", &older)
	return cmp.Or(base, older, "unknown")
}

// forgetWorktrees omits sandbox names without a directory: the agent server of that time chose both name and place itself, and what was recorded may
// not exist.
func forgetWorktrees(r *MigrationReport, row row) {
	var names []string
	if row.entry.Read("worktrees", &names) != nil || len(names) == 0 || row.entry.Has("sandboxes") {
		return
	}
	r.warn("sandboxes of %s from an earlier program are not imported; git worktree list shows them: %s", row.key, strings.Join(names, ", "))
	_ = row.entry.Put("worktrees", []string{})
}

// MigrateServers updates doc, the gateway's whole table of servers, in place; repeating it changes nothing. Entries that are not about a git
// repository are left alone. After an error doc is undefined.
func MigrateServers(doc *Object) (MigrationReport, error) {
	var r MigrationReport
	var entries []*Object
	if err := doc.Read("servers", &entries); err != nil || slices.Contains(entries, nil) {
		return r, ErrShape.WithMessage("servers is not a list of objects").WithCause(err)
	}
	var fallback *string
	if err := doc.Read("default_server", &fallback); err != nil {
		return r, ErrShape.WithMessage("default_server is not a string").WithCause(err)
	}
	moved := map[string]string{} // possible values of default_server → id
	kept := make([]*Object, 0, len(entries))
	for _, entry := range entries {
		if text(entry, "sandbox") != "" { // of a sandbox's own, which older files have none of
			kept = append(kept, entry)
			continue
		}
		old, name, url, ok := identity(&r, entry)
		if ok {
			moved[cmp.Or(old, url)], moved[cmp.Or(name, url)] = url, url
			reshape(&r, entry, old, url)
		}
		if i := slices.IndexFunc(kept, func(k *Object) bool { return ok && text(k, "id") == url }); i >= 0 {
			r.changed("the server of %s is listed once", url)
			if text(kept[i], "status") != "active" && text(entry, "status") == "active" {
				kept[i] = entry
			}
			continue
		}
		kept = append(kept, entry)
	}
	if len(r.Changes) == 0 {
		return r, nil
	}
	if err := doc.Put("servers", kept); err != nil {
		return r, err
	}
	return r, doc.Put("default_server", repoint(fallback, moved, kept))
}

// identity returns the present and the new name of an entry; ok is false for one that is not about a repository, or does not say which.
func identity(r *MigrationReport, entry *Object) (id, name, url string, ok bool) {
	id, name = text(entry, "id"), text(entry, "project_name")
	raw := text(entry, "git_url")
	if raw == "" && isURL(id) {
		raw = id
	}
	if raw == "" {
		if kind := text(entry, "backend_type"); kind == "" || kind == "opencode" {
			r.warn("a server has no git_url; it is not changed: %.60q", id)
		}
		return "", "", "", false
	}
	parsed, err := git.ParseURL(raw)
	if err != nil {
		r.warn("a server has an invalid git URL; it is not changed")
		return "", "", "", false
	}
	return id, name, parsed.String(), true
}

func reshape(r *MigrationReport, entry *Object, old, url string) {
	if old != url || text(entry, "git_url") != url {
		r.changed("the server of %s is listed under its canonical URL", url)
		_ = entry.Put("id", url)
		_ = entry.Put("git_url", url)
	}
	if !isURL(old) && entry.IsNull("project_name") && old != "" {
		_ = entry.Put("project_name", old)
	}
	if entry.Has("sandbox_dir") {
		r.changed("the server of %s has base_dir instead of sandbox_dir", url)
		if entry.IsNull("base_dir") {
			entry.Rename("sandbox_dir", "base_dir")
		}
		entry.Delete("sandbox_dir")
	}
}

// repoint returns the default server by its new id: the one it named, else the first, else none.
func repoint(old *string, moved map[string]string, entries []*Object) *string {
	if old == nil {
		return nil
	}
	id := cmp.Or(moved[*old], *old)
	if slices.ContainsFunc(entries, func(e *Object) bool { return text(e, "id") == id || text(e, "project_name") == id }) {
		return &id
	}
	if len(entries) == 0 {
		return nil
	}
	first := text(entries[0], "id")
	return &first
}

// text returns a member that should be text; empty for anything else.
func text(o *Object, key string) (s string) {
	_ = o.Read(key, &s)
	return s
}
