package sandboxes

import (
	"context"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The most that a comparison tells; the rest is counted.
const (
	maxDiffCommits = 100
	maxDiffFiles   = 500
	maxDiffLines   = 128 << 10 // bytes
)

// DiffInput names a sandbox to compare with its base.
type DiffInput struct {
	URL   string   `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name  string   `json:"name" jsonschema:"minLength=1"`
	Base  string   `json:"base,omitempty" jsonschema:"description=branch to compare with (default: the one it was made from)"`
	Paths []string `json:"paths,omitempty" jsonschema:"description=files or directories (default: all)"`
	Stat  bool     `json:"stat,omitempty" jsonschema:"description=no lines"`
}

// Resources returns the project.
func (in DiffInput) Resources() []string { return []string{in.URL} }

// SandboxComparison is what a sandbox holds beside its base.
type SandboxComparison struct {
	Status    string `json:"status"`
	Project   string `json:"project"`
	URL       string `json:"git_url"`
	Name      string `json:"name"`
	Directory string `json:"directory"`
	sandboxport.Comparison
}

// Reviewed has it looked through for what a reader would not see.
func (SandboxComparison) Reviewed() {}

func (s sandboxService) diff(ctx context.Context, _ tool.Scope, in DiffInput) (SandboxComparison, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return SandboxComparison{}, err
	}
	box, err := must(f, in.Name)
	if err != nil {
		return SandboxComparison{}, err
	}
	what := sandboxport.Compare{BaseRef: box.BaseRef, Base: in.Base, Paths: in.Paths, Files: maxDiffFiles, Commits: maxDiffCommits}
	if !in.Stat {
		what.Lines = maxDiffLines
	}
	found, err := s.Repos.Compare(ctx, f.Layout.Repo, box.Directory, what)
	return SandboxComparison{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: box.Name, Directory: box.Directory, Comparison: found}, err
}
