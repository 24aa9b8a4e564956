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

// Options selects what a run pushes; it is the run's payload.
type Options struct {
	Message   string   `json:"message,omitempty"`
	CommitAll bool     `json:"commit_all,omitempty"`
	Repos     []string `json:"repos,omitempty"`
	Whole     bool     `json:"whole,omitempty"` // every clone and every ticket, for an archive
	Offline   bool     `json:"offline,omitempty"`
	Cut       bool     `json:"delete_workspace,omitempty"`
	CleanUp   bool     `json:"cleanup_features,omitempty"`

	Explaining bool `json:"-"` // no remote is contacted: nothing will be done
}

// asks reports whether the remotes are contacted to know what they have.
func (o Options) asks() bool {
	return !o.Offline && !o.Explaining
}

// DecodeOptions decodes a run's payload. It fails with ecosystem.ErrState.
func DecodeOptions(payload json.RawMessage) (o Options, err error) {
	if err := json.Unmarshal(payload, &o); err != nil {
		return o, ecosystem.ErrState.WithMessage("the run's payload cannot be read").WithCause(err)
	}
	return o, nil
}

// WorkspaceDir returns the directory to push, archive or discard. It fails with ecosystem.ErrState for a directory outside the root.
func WorkspaceDir(f runs.Ecosystem) (string, error) {
	dir := f.State.WorkspaceDir
	if !f.State.Installed() { // archived or discarded since it was confirmed
		return "", ecosystem.ErrNotInstalled.WithMessage("ecosystem %s is not installed any more; nothing was done", f.Layout.Name)
	}
	if path.Clean(dir) != dir || RelativePath(f.Layout.Root, dir) == "" {
		return "", ecosystem.ErrState.WithMessage("the recorded workspace %s of %s is not inside %s; mend %s", dir, f.Layout.Name, f.Layout.Root, path.Join(f.Layout.State, "state.json"))
	}
	return dir, nil
}

// Clone is a repository that is, or may be, in the workspace.
type Clone struct {
	ecosystem.Repo
	Dir string
}

// clones returns all of an ecosystem: those of the manifest, whether enabled or not, and those that were installed and are no longer in it.
func clones(f runs.Ecosystem) []Clone {
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

// outside returns the paths in the workspace that are not its own: its repositories and tickets.
func outside(f runs.Ecosystem) []string {
	paths := []string{"tickets"}
	for _, c := range clones(f) {
		paths = append(paths, c.Path)
	}
	return paths
}

// ErrorMessage returns an error's message without what a program makes of it.
func ErrorMessage(err error) string {
	var known *fault.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

// RelativePath returns a path relative to the directory that it is in, or empty.
func RelativePath(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
		return rest
	}
	return ""
}
