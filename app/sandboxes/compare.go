package sandboxes

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The limits of a comparison; what exceeds them is counted.
const (
	maxDiffCommits = 100
	maxDiffFiles   = 500
	maxDiffLines   = 128 << 10 // bytes
	maxMarked      = 1 << 20   // files
)

// DiffInput names a sandbox to compare with its base.
type DiffInput struct {
	URL   string   `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name  string   `json:"name" jsonschema:"minLength=1"`
	Base  string   `json:"base,omitempty" jsonschema:"description=branch to compare with (default: the one it was made from)"`
	Paths []string `json:"paths,omitempty" jsonschema:"description=files or directories (default: all)"`
	Stat  bool     `json:"stat,omitempty" jsonschema:"description=no lines"`
	Again bool     `json:"since_review,omitempty" jsonschema:"description=only since a person looked at it last"`
}

// Resources returns the project.
func (in DiffInput) Resources() []string { return []string{in.URL} }

// SandboxComparison is what a sandbox has in addition to its base.
type SandboxComparison struct {
	Status    string        `json:"status"`
	Project   string        `json:"project"`
	URL       string        `json:"git_url"`
	Name      string        `json:"name"`
	Directory string        `json:"directory"`
	Seen      *sandbox.Look `json:"reviewed,omitempty"`             // when a user last marked the work as seen
	FilesID   string        `json:"files_id,omitempty"`             // identifies the present state of all files: what can be marked as seen
	Again     int           `json:"changed_since_review,omitempty"` // number of files; the listed ones are marked
	sandboxport.Comparison
}

// Reviewed marks the text to be scanned for what a reader would not see.
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
	out := SandboxComparison{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: box.Name, Directory: box.Directory, Seen: box.Reviewed}
	if in.Again && box.Reviewed == nil {
		return out, sandbox.ErrArguments.WithMessage("the work in sandbox %s was never marked as seen; review all of it, then mark it (countersign sandbox review %s --seen)", box.Name, box.Name)
	}
	if in.Again {
		what.From = box.Reviewed.Files
	}
	// The ID first: what changes in the meantime is shown too, and is not taken for seen.
	if out.FilesID, err = s.Repos.Snapshot(ctx, f.Layout.Repo, box.Directory, false); err != nil {
		return out, err
	}
	if out.Comparison, err = s.Repos.Compare(ctx, f.Layout.Repo, box.Directory, what); err != nil {
		return out, err
	}
	return out, s.mark(ctx, f, box, what, &out)
}

// mark marks the files that have changed since the user last saw them.
func (s sandboxService) mark(ctx context.Context, f FoundProject, box sandbox.Sandbox, what sandboxport.Compare, out *SandboxComparison) error {
	if box.Reviewed == nil || box.Reviewed.Files == out.FilesID {
		return nil
	}
	since := out.Comparison
	if what.From == "" {
		what.From, what.Lines, what.Files = box.Reviewed.Files, 0, maxMarked
		var err error
		if since, err = s.Repos.Compare(ctx, f.Layout.Repo, box.Directory, what); errors.Is(err, sandbox.ErrReviewGone) {
			out.Seen = nil // git has removed it: all of it is new
			return nil
		} else if err != nil {
			return err
		}
	}
	changed := map[string]bool{}
	for _, file := range since.Files {
		changed[file.Path] = true
	}
	out.Again = since.FileCount
	for i := range out.Files {
		out.Files[i].Again = changed[out.Files[i].Path]
	}
	return nil
}
