package sandboxes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// maxPatch is the maximum size of a patch in bytes.
const maxPatch = 32 << 20

// ApplyInput names a sandbox whose changes are to be applied to another worktree.
type ApplyInput struct {
	URL       string   `json:"git_url" jsonschema:"minLength=1"`
	Name      string   `json:"name" jsonschema:"minLength=1"`
	Directory string   `json:"directory" jsonschema:"minLength=1,description=absolute path of a git working tree"`
	Base      string   `json:"base,omitempty"`
	Paths     []string `json:"paths,omitempty"`
}

// Resources returns the project.
func (in ApplyInput) Resources() []string { return []string{in.URL} }

// SandboxApplied is the result of applying changes to a worktree.
type SandboxApplied struct {
	Status    string `json:"status"`
	Project   string `json:"project"`
	URL       string `json:"git_url"`
	Name      string `json:"name"`
	Directory string `json:"directory"`
	Files     int    `json:"files"`
	Message   string `json:"message"`
}

type applyPlan struct {
	Plan
	found FoundProject
	input ApplyInput
	patch []byte
	files int
	lines string
	there string // why there is nothing to do; empty if there is something
}

// Details returns the patch, truncated if it is too long.
func (p applyPlan) Details(context.Context) (any, error) {
	type file struct {
		Root    string `json:"root"`
		Path    string `json:"path"`
		Unified string `json:"unified"`
	}
	return map[string]any{"files": []file{{p.input.Directory, "", p.lines}}}, nil
}

// planApply reads the patch, which includes uncommitted changes, and checks whether it applies.
func (s sandboxService) planApply(ctx context.Context, _ tool.Scope, in ApplyInput) (applyPlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return applyPlan{}, err
	}
	if in.Directory, err = s.Repos.Top(ctx, in.Directory); err != nil {
		return applyPlan{}, err
	}
	what := sandboxport.Compare{BaseRef: box.BaseRef, Base: in.Base, Paths: in.Paths, Files: maxDiffFiles, Commits: 1, Lines: maxMergeLines}
	found, err := s.Repos.Compare(ctx, f.Layout.Repo, box.Directory, what)
	if err != nil {
		return applyPlan{}, err
	}
	p := applyPlan{found: f, input: in, files: found.FileCount, lines: found.Lines}
	if p.patch, err = s.Repos.Patch(ctx, f.Layout.Repo, box.Directory, what, maxPatch); err != nil {
		return p, err
	}
	if found.MoreFiles > 0 {
		return p, sandbox.ErrArguments.WithMessage("%d files are more than a patch may have (%d); name paths, or merge the branch instead", found.FileCount, maxDiffFiles)
	}
	switch err := s.Repos.Apply(ctx, in.Directory, p.patch, true); {
	case errors.Is(err, sandbox.ErrApplied):
		p.there = in.Directory + " has the changes of sandbox " + box.Name + " already"
	case err != nil:
		return p, err
	case len(p.patch) == 0:
		p.there = fmt.Sprintf("%s has all that sandbox %s has already; where %s has it not, git pull %s %s there brings it", found.Base, box.Name, in.Directory, f.Layout.Repo, found.Base)
	}
	if p.there != "" {
		p.patch, p.files = nil, 0
		p.Plan, err = NewPlan(SandboxApply.Name, "nothing: "+p.there, map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "directory": in.Directory}, ConfirmOptions{Nothing: true})
		return p, err
	}
	sum := sha256.Sum256(p.patch)
	files := make([]string, 0, len(found.Files))
	for _, file := range found.Files {
		files = append(files, file.Line())
	}
	notes := []string{"the changes are put into the files and are not committed; the index stays as it is"}
	if found.Cut {
		notes = append(notes, "some lines are not shown here: countersign sandbox diff shows all of them")
	}
	p.Plan, err = NewPlan(SandboxApply.Name, fmt.Sprintf("put the changes of sandbox %s of %s into %s: %s", box.Name, f.Project.Name, in.Directory, counted(len(files), "file")),
		map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name, "directory": in.Directory, "since": found.Since, "changed_files": files, "patch_sha256": hex.EncodeToString(sum[:]), "notes": notes},
		ConfirmOptions{Strength: policy.Preview})
	return p, err
}

func (s sandboxService) apply(ctx context.Context, _ tool.Scope, p applyPlan) (SandboxApplied, error) {
	out := SandboxApplied{Status: "success", Project: p.found.Project.Name, URL: p.found.URL.String(), Name: p.input.Name, Directory: p.input.Directory, Files: p.files, Message: p.there}
	if p.NoOp() {
		return out, nil
	}
	out.Message = "the changes are in the files, not committed"
	return out, s.Repos.Apply(ctx, p.input.Directory, p.patch, false)
}
