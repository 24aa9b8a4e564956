package ecosystems

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/tool"
)

// RepoView is a repository as the manifest has it.
type RepoView struct {
	Name     string `json:"name"`
	URL      string `json:"url"` // without credentials
	Branch   string `json:"branch"`
	Path     string `json:"path"`
	ReadOnly bool   `json:"readonly"`
	Enabled  bool   `json:"enabled"`
}

// Prefixes are what branches begin with.
type Prefixes struct {
	Branch string `json:"branch_prefix"`
	Repo   string `json:"repo_branch_prefix"`
	Dir    string `json:"workspace_dir"`
}

// Guardrails are what must not leave.
type Guardrails struct {
	NoTouch []string `json:"no_touch_paths"`
}

// Description is what a manifest says.
type Description struct {
	Name        string              `json:"name"`
	Path        string              `json:"path"` // absolute
	Description string              `json:"description"`
	Provisioner *string             `json:"provisioner"`
	Repos       []RepoView          `json:"repos"`
	Workspace   Prefixes            `json:"workspace"`
	Guardrails  Guardrails          `json:"guardrails"`
	KB          int                 `json:"kb_count"`
	Journal     int                 `json:"journal_count"`
	IndexTime   *time.Time          `json:"index_time"` // null: nothing is indexed
	SHA256      string              `json:"manifest_sha256"`
	Retired     bool                `json:"retired"`
	Installed   bool                `json:"installed"`
	Valid       bool                `json:"valid"`
	Errors      []ecosystem.Problem `json:"errors,omitempty"`

	Commands []ecosystem.SavedCommand `json:"commands,omitempty"`
	runs.Envelope
}

func (s service) describe(ctx context.Context, sc tool.Scope, in runs.EcosystemInput) (Description, error) {
	f, err := s.Find(ctx, sc, in.Ecosystem)
	if err != nil {
		return Description{}, err
	}
	counts, err := s.Manifests.Counts(ctx, f.Layout)
	if err != nil {
		return Description{}, err
	}
	m, read := f.Manifest(), f.Loaded.Manifest
	out := Description{Name: f.Layout.Name, Path: f.Layout.Dir, Description: m.Description, Provisioner: tool.NilIfZero(m.Provisioner), Repos: views(m.Repos),
		Workspace: Prefixes{m.BranchPrefix, m.TicketPrefix, m.WorkspaceDir}, Guardrails: Guardrails{known(m.NoTouch)}, KB: counts.KB, Journal: counts.Journal,
		SHA256: f.Loaded.SHA256, Retired: m.Retired, Installed: f.State.Installed(), Valid: read.Valid(), Errors: read.Errors, Commands: m.Commands}
	lines := []string{}
	for i, r := range m.Repos {
		if i == tableLines {
			lines = append(lines, fmt.Sprintf("… and %d more", len(m.Repos)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%-20s %s %-16s %s", r.Name, r.Mode(), r.Branch, out.Repos[i].URL))
	}
	actions := []runs.Action{runs.SuggestAction("status", out.Name, nil)}
	if !out.Valid || !out.Installed {
		actions = runs.Observations{Ecosystem: out.Name, Invalid: !out.Valid}.Actions()
	}
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: out.Name}, runs.AnswerText{Summary: "Described " + out.Name + ": " + count(len(m.Repos), "repository"), Details: lines}, actions...)
	return out, nil
}

// views are repositories as they are shown.
func views(repos []ecosystem.Repo) []RepoView {
	out := make([]RepoView, len(repos))
	for i, r := range repos {
		out[i] = RepoView{Name: r.Name, URL: masked(r.URL), Branch: r.Branch, Path: r.Path, ReadOnly: r.ReadOnly, Enabled: r.Enabled}
	}
	return out
}

// masked returns a URL without the password or token it may hold.
func masked(url string) string {
	if !git.CarriesCredentials(url) {
		return url
	}
	if u, err := git.ParseURL(url); err == nil {
		return u.String()
	}
	return "(not shown: it holds credentials)"
}

// known is never nil.
func known[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}

// ValidateInput names a manifest.
type ValidateInput struct {
	runs.EcosystemInput
	Strict bool `json:"strict,omitempty" jsonschema:"description=warnings count as errors"`
}

// Validation is what is wrong with a manifest.
type Validation struct {
	Valid    bool                `json:"valid"`
	Errors   []ecosystem.Problem `json:"errors"`
	Warnings []ecosystem.Problem `json:"warnings"`
	Strict   bool                `json:"strict"`
	SHA256   string              `json:"manifest_sha256,omitempty"`
	runs.Envelope
}

// validate also reports a file that is not a manifest; that is a result, not an error.
func (s service) validate(ctx context.Context, sc tool.Scope, in ValidateInput) (Validation, error) {
	l, err := s.where(ctx, sc, in.Ecosystem)
	if err != nil {
		return Validation{}, err
	}
	out := Validation{Strict: in.Strict}
	loaded, err := s.Manifests.Load(ctx, l)
	switch {
	case errors.Is(err, ecosystem.ErrManifest):
		out.Errors = told(err, l)
	case err != nil:
		return Validation{}, err
	default:
		out.Errors, out.Warnings, out.SHA256 = loaded.Manifest.Errors, loaded.Manifest.Warnings, loaded.SHA256
	}
	if in.Strict {
		out.Errors, out.Warnings = append(out.Errors[:len(out.Errors):len(out.Errors)], out.Warnings...), nil
	}
	out.Errors, out.Warnings, out.Valid = known(out.Errors), known(out.Warnings), len(out.Errors) == 0
	text := runs.AnswerText{Summary: fmt.Sprintf("Validated %s: valid, %s", l.Name, count(len(out.Warnings), "warning"))}
	actions := []runs.Action{runs.SuggestAction("describe", l.Name, nil), runs.SuggestAction("status", l.Name, nil)}
	if !out.Valid {
		text.Summary, actions = fmt.Sprintf("Validated %s: %s", l.Name, count(len(out.Errors), "error")), actions[:1]
	}
	text.Details = problems("✗", out.Errors, problems("!", out.Warnings, nil))
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: l.Name}, text, actions...)
	return out, nil
}

// told returns the problem of a file that is not a manifest.
func told(err error, l ecosystem.Layout) []ecosystem.Problem {
	said := fault.From(err)
	if details, ok := said.Details.(map[string]any); ok {
		if found, ok := details["errors"].([]ecosystem.Problem); ok && len(found) > 0 {
			return found
		}
	}
	return []ecosystem.Problem{{Message: said.Message, Fix: "make " + l.Manifest + " a YAML mapping with name and repos"}}
}

// problems are lines for users, before others, as many as fit.
func problems(mark string, found []ecosystem.Problem, others []string) []string {
	lines := make([]string, 0, len(found)+len(others))
	for _, p := range found {
		at := ""
		if p.Path != "" {
			at = p.Path + ": "
		}
		lines = append(lines, mark+" "+at+p.Message)
	}
	lines = append(lines, others...)
	if over := len(lines) - tableLines; over > 0 {
		lines = append(lines[:tableLines], fmt.Sprintf("… and %d more", over))
	}
	return lines
}

// where returns the ecosystem that is named, else the selected one, else the only one, whatever its manifest is like.
func (s service) where(ctx context.Context, sc tool.Scope, name string) (ecosystem.Layout, error) {
	if name == "" {
		focus, err := s.Focus(ctx, sc)
		if err != nil {
			return ecosystem.Layout{}, err
		}
		name = focus.Ecosystem
	}
	root, err := s.Places.Root(ctx)
	if err == nil && name == "" {
		name, err = s.Single(ctx, root)
	}
	if err != nil {
		return ecosystem.Layout{}, err
	}
	return s.Places.Layout(ctx, root, name)
}
