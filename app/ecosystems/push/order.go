package push

import (
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Order is what a run is asked to ship: its payload.
type Order struct {
	Message   string   `json:"message,omitempty"`
	CommitAll bool     `json:"commit_all,omitempty"`
	Repos     []string `json:"repos,omitempty"`
	Whole     bool     `json:"whole,omitempty"` // every clone and every ticket, for an archive
	Offline   bool     `json:"offline,omitempty"`
	Cut       bool     `json:"delete_workspace,omitempty"`
	Lop       bool     `json:"cleanup_features,omitempty"`
}

// Read is the order in a run's payload. It fails with ecosystem.ErrState.
func Read(payload json.RawMessage) (o Order, err error) {
	if err := json.Unmarshal(payload, &o); err != nil {
		return o, ecosystem.ErrState.Sayf("the run's payload cannot be read").Because(err)
	}
	return o, nil
}

// Workspace is the directory that is shipped, archived or discarded. One outside of the root is nobody's to remove: ecosystem.ErrState.
func Workspace(f runs.Found) (string, error) {
	dir := f.State.WorkspaceDir
	if !f.State.Installed() { // archived or discarded since it was confirmed
		return "", ecosystem.ErrNotInstalled.Sayf("ecosystem %s is not installed any more; nothing was done", f.Layout.Name)
	}
	if path.Clean(dir) != dir || Within(f.Layout.Root, dir) == "" {
		return "", ecosystem.ErrState.Sayf("the recorded workspace %s of %s is not inside %s; mend %s", dir, f.Layout.Name, f.Layout.Root, path.Join(f.Layout.State, "state.json"))
	}
	return dir, nil
}

// Clone is a repository that is, or may be, in the workspace.
type Clone struct {
	ecosystem.Repo
	Dir string
}

// Clones are all of an ecosystem: those of the manifest, whether enabled or not, and those that were installed and are no longer in it.
func Clones(f runs.Found) []Clone {
	var out []Clone
	seen := map[string]bool{}
	for _, r := range f.Manifest().Repos {
		seen[r.Name] = true
		out = append(out, Clone{r, path.Join(f.State.WorkspaceDir, r.Path)})
	}
	for _, r := range f.State.Repos {
		if !seen[r.Name] {
			kept := ecosystem.Repo{Name: r.Name, URL: r.URL, Branch: r.Branch, Path: r.Path, ReadOnly: r.ReadOnly}
			out = append(out, Clone{kept, path.Join(f.State.WorkspaceDir, r.Path)})
		}
	}
	return out
}

// Outside are the paths in the workspace that are not its own: its repositories and tickets.
func Outside(f runs.Found) []string {
	paths := []string{"tickets"}
	for _, c := range Clones(f) {
		paths = append(paths, c.Path)
	}
	return paths
}

// Said is an error's message without what a program makes of it.
func Said(err error) string {
	var known *fault.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

// Within is a path relative to the directory that it is in, or empty.
func Within(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
		return rest
	}
	return ""
}
