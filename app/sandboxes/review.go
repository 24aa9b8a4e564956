package sandboxes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/relpath"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The limits of a review.
const (
	maxComments    = 200     // of a sandbox
	maxCommentText = 4 << 10 // bytes
)

// BoxInput names a sandbox.
type BoxInput struct {
	URL  string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL"`
	Name string `json:"name" jsonschema:"minLength=1"`
}

// Resources returns the project.
func (in BoxInput) Resources() []string { return []string{in.URL} }

// ReviewComments is the users' comments on a sandbox's work.
type ReviewComments struct {
	Status    string            `json:"status"`
	Project   string            `json:"project"`
	URL       string            `json:"git_url"`
	Name      string            `json:"name"`
	Directory string            `json:"directory"`
	Open      int               `json:"open"`
	Seen      *sandbox.Look     `json:"reviewed,omitempty"` // when a user last marked the work as seen
	Comments  []sandbox.Comment `json:"comments"`
}

// Reviewed has it looked through for what a reader would not see.
func (ReviewComments) Reviewed() {}

func (s sandboxService) review(ctx context.Context, _ tool.Scope, in BoxInput) (ReviewComments, error) {
	f, err := s.Must(ctx, in.URL)
	if err != nil {
		return ReviewComments{}, err
	}
	box, err := must(f, in.Name)
	return reviewOf(f, box), err
}

func reviewOf(f FoundProject, box sandbox.Sandbox) ReviewComments {
	out := ReviewComments{Status: "success", Project: f.Project.Name, URL: f.URL.String(), Name: box.Name, Directory: box.Directory, Comments: box.Review, Seen: box.Reviewed}
	if out.Comments == nil {
		out.Comments = []sandbox.Comment{}
	}
	for _, c := range box.Review {
		if !c.Done {
			out.Open++
		}
	}
	return out
}

// CommentInput is a new comment on a sandbox's work, or a comment to resolve.
type CommentInput struct {
	URL  string `json:"git_url" jsonschema:"minLength=1"`
	Name string `json:"name" jsonschema:"minLength=1"`
	Path string `json:"path,omitempty" jsonschema:"description=file it is about, from the top of the sandbox"`
	Line int    `json:"line,omitempty" jsonschema:"minimum=1"`
	Text string `json:"text,omitempty"`
	Done int    `json:"done,omitempty" jsonschema:"minimum=1,description=number of a comment that is settled"`
	Seen string `json:"seen,omitempty" jsonschema:"description=files_id of sandbox_diff: a person has looked at that work"`
}

// Resources returns the project.
func (in CommentInput) Resources() []string { return []string{in.URL} }

type commentPlan struct {
	Plan
	found FoundProject
	box   sandbox.Sandbox
	input CommentInput
	head  string
}

func (s sandboxService) planComment(ctx context.Context, _ tool.Scope, in CommentInput) (commentPlan, error) {
	f, box, err := s.readySandbox(ctx, in.URL, in.Name)
	if err != nil {
		return commentPlan{}, err
	}
	in.Text = strings.TrimSpace(in.Text)
	p := commentPlan{found: f, box: box, input: in}
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "name": box.Name}
	if in.Seen != "" {
		return s.planSeen(ctx, p, shown)
	}
	if in.Done > 0 {
		if _, err := sandbox.Settle(box.Review, in.Done); err != nil {
			return p, err
		}
		shown["done"] = in.Done
		p.Plan, err = NewPlan(SandboxComment.Name, fmt.Sprintf("settle comment %d on sandbox %s of %s", in.Done, box.Name, f.Project.Name), shown, ConfirmOptions{})
		return p, err
	}
	switch _, wrong := relpath.Parse(in.Path); {
	case in.Text == "":
		return p, sandbox.ErrArguments.WithMessage("a comment needs a text")
	case len(in.Text) > maxCommentText:
		return p, sandbox.ErrArguments.WithMessage("a comment may have %d KiB; this one has %d bytes", maxCommentText>>10, len(in.Text))
	case len(box.Review) >= maxComments:
		return p, sandbox.ErrArguments.WithMessage("sandbox %s has %d comments already; settled ones are deleted with the sandbox", box.Name, maxComments)
	case in.Path == "" && in.Line > 0:
		return p, sandbox.ErrArguments.WithMessage("line needs file")
	case in.Path != "" && wrong != nil:
		return p, sandbox.ErrArguments.WithMessage("%.80q is not a file of the sandbox: %v", in.Path, wrong)
	}
	what := sandboxport.Compare{BaseRef: box.BaseRef}
	if in.Path != "" {
		what.Paths, what.Files = []string{in.Path}, 1
	}
	now, err := s.Repos.Compare(ctx, f.Layout.Repo, box.Directory, what)
	if err != nil {
		return p, err
	}
	if err := s.checkPlace(ctx, box, in, now.Files); err != nil {
		return p, err
	}
	p.head = now.Head
	shown["text"], shown["at_commit"] = in.Text, p.head
	about := "sandbox " + box.Name
	if in.Path != "" {
		about = sandbox.Comment{Path: in.Path, Line: in.Line}.Place()
		shown["about"] = about
	}
	shown["notes"] = []string{"agents that work in the sandbox read it (sandbox_review)"}
	// It is a prompt to another agent, but that agent's actions need approval in turn, and only users can send it.
	p.Plan, err = NewPlan(SandboxComment.Name, fmt.Sprintf("comment on %s of %s", about, f.Project.Name), shown, ConfirmOptions{Strength: policy.Simple, Risk: policy.RiskMedium})
	return p, err
}

// planSeen records that the user has seen the present work.
func (s sandboxService) planSeen(ctx context.Context, p commentPlan, shown map[string]any) (commentPlan, error) {
	if p.input.Text != "" || p.input.Path != "" || p.input.Done > 0 {
		return p, sandbox.ErrArguments.WithMessage("seen cannot be combined with a comment; use two calls")
	}
	if err := s.unmoved(ctx, p, false); err != nil {
		return p, err
	}
	now, err := s.Repos.Compare(ctx, p.found.Layout.Repo, p.box.Directory, sandboxport.Compare{BaseRef: p.box.BaseRef, Files: 1})
	if err != nil {
		return p, err
	}
	p.head = now.Head
	shown["seen"], shown["at_commit"], shown["files"] = p.input.Seen, p.head, now.FileCount
	p.Plan, err = NewPlan(SandboxComment.Name, fmt.Sprintf("mark the work in sandbox %s of %s as seen", p.box.Name, p.found.Project.Name), shown, ConfirmOptions{})
	return p, err
}

// unmoved fails with sandbox.ErrMoved if the files are not those that were seen. keep makes git keep them.
func (s sandboxService) unmoved(ctx context.Context, p commentPlan, keep bool) error {
	files, err := s.Repos.Snapshot(ctx, p.found.Layout.Repo, p.box.Directory, keep)
	if err == nil && files != p.input.Seen {
		err = sandbox.ErrMoved.WithMessage("the files of sandbox %s changed after you looked at them; look again", p.box.Name)
	}
	return err
}

// checkPlace fails with sandbox.ErrArguments for a comment on a missing file or line. A file that the sandbox deletes may be commented on as a whole.
func (s sandboxService) checkPlace(ctx context.Context, box sandbox.Sandbox, in CommentInput, changed []sandboxport.ChangedFile) error {
	deleted := slices.ContainsFunc(changed, func(f sandboxport.ChangedFile) bool { return f.Path == in.Path && f.Change == "deleted" })
	switch {
	case in.Path == "", deleted && in.Line == 0:
		return nil
	case deleted:
		return sandbox.ErrArguments.WithMessage("sandbox %s deletes %s, so that it has no lines there; comment on the file without a line", box.Name, in.Path)
	}
	lines, err := s.Repos.CountLines(ctx, box.Directory, in.Path)
	if err == nil && in.Line > lines {
		err = sandbox.ErrArguments.WithMessage("%s has %s in sandbox %s, and no line %d", in.Path, counted(lines, "line"), box.Name, in.Line)
	}
	return err
}

func (s sandboxService) comment(ctx context.Context, _ tool.Scope, p commentPlan) (ReviewComments, error) {
	var wrong error
	var after sandbox.Sandbox
	if p.input.Seen != "" {
		if err := s.unmoved(ctx, p, true); err != nil {
			return ReviewComments{}, err
		}
	}
	err := s.manager.Change(ctx, p.found, func(now *sandbox.Project) {
		box, is := now.Sandboxes[sandbox.SandboxKey(p.box.Name)]
		if !is {
			wrong = sandbox.ErrNotFound.WithMessage("sandbox %s was deleted meanwhile", p.box.Name)
			return
		}
		if p.input.Seen != "" {
			box.Reviewed = &sandbox.Look{Files: p.input.Seen, Commit: p.head, At: s.Clock.Now().UTC()}
		} else if p.input.Done > 0 {
			box.Review, wrong = sandbox.Settle(box.Review, p.input.Done)
		} else {
			box.Review = sandbox.AddComment(box.Review, sandbox.Comment{Path: p.input.Path, Line: p.input.Line, Text: p.input.Text, At: s.Clock.Now().UTC(), Commit: p.head})
		}
		now.Sandboxes[sandbox.SandboxKey(p.box.Name)], after = box, box
	})
	if err == nil {
		err = wrong
	}
	return reviewOf(p.found, after), err
}
