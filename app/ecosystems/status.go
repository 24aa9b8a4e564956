package ecosystems

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Workspace is the record of a workspace with the status of its own worktree.
type Workspace struct {
	Ecosystem    string  `json:"ecosystem"`
	Branch       string  `json:"workspace_branch"`
	Dir          string  `json:"workspace_dir"` // absolute
	ActiveTicket *string `json:"active_ticket"`
	Tickets      int     `json:"ticket_count"`
	Commit       string  `json:"commit"`
	Status       string  `json:"status"` // as of a repository
	Dirty        int     `json:"dirty_files"`
	Problem      string  `json:"problem,omitempty"`
}

// RepoStatus is the status of a repository.
type RepoStatus struct {
	Name       string  `json:"name"`
	Branch     *string `json:"branch"` // null when detached
	Commit     string  `json:"commit"` // 7 characters; empty before the first one
	Mode       string  `json:"mode"`   // RO or RW
	Status     string  `json:"status"` // OK, MISSING, WRONG_BRANCH, DIRTY, UNPUSHED joined by +, or UNREADABLE
	Dirty      bool    `json:"dirty"`
	Unpushed   bool    `json:"unpushed"`
	Ahead      *int    `json:"ahead"` // of the upstream; null without one
	Behind     *int    `json:"behind"`
	Path       string  `json:"path"`      // relative to the workspace
	Directory  string  `json:"directory"` // absolute
	CommitFull string  `json:"commit_full"`
	Wanted     string  `json:"expected_branch"`
	DirtyFiles int     `json:"dirty_files"`
	Conflicts  int     `json:"conflicts,omitempty"`
	Operation  string  `json:"operation,omitempty"` // rebase, merge, …: what git is in the middle of
	Problem    string  `json:"problem,omitempty"`   // what is out of the ordinary, and the way out
}

// EnvironmentStatus is the status of the environment.
type EnvironmentStatus struct {
	State string     `json:"state"` // none, deploying, deployed, failed or destroying
	Since *time.Time `json:"since"`
	RunID *string    `json:"run_id"`
}

// StatusAnswer is the status of an ecosystem.
type StatusAnswer struct {
	Workspace  *Workspace                `json:"workspace"` // null when not installed
	Repos      []RepoStatus              `json:"repos"`
	LastPushed map[string]ecosystem.Push `json:"last_pushed"`
	Spin       EnvironmentStatus         `json:"spin"`
	Hint       string                    `json:"hint,omitempty"`

	Environments     []runs.RecordedEnvironment `json:"environments,omitempty"`      // that are deployed, or in between; the default one is spin too
	UnpushedReleases map[string][]string        `json:"unpushed_releases,omitempty"` // tags by repository, as far as is on record
	runs.Envelope
}

// status never fails because of a repository: each has its own status and problem.
func (s service) status(ctx context.Context, sc tool.Scope, in runs.EcosystemInput) (StatusAnswer, error) {
	f, err := s.Find(ctx, sc, in.Ecosystem)
	if err != nil {
		return StatusAnswer{}, err
	}
	out := StatusAnswer{Repos: []RepoStatus{}, LastPushed: map[string]ecosystem.Push{}, Spin: s.spun(ctx, f.Layout)}
	if out.Environments, err = s.Environments(ctx, f.Layout); err != nil {
		return StatusAnswer{}, err
	}
	seen := runs.Observations{Ecosystem: f.Layout.Name, Invalid: !f.Loaded.Manifest.Valid(), Installed: f.State.Installed(), Ticket: f.State.Active()}
	if !seen.Installed {
		out.Hint = f.Layout.Name + " is not installed; amof_install_ecosystem makes its workspace and clones its repositories"
		out.Envelope = s.Show(sc, runs.Subject{Ecosystem: f.Layout.Name}, runs.AnswerText{Summary: clip("Checked " + f.Layout.Name + ": not installed"), Details: []string{out.Hint}}, seen.Actions()...)
		return out, nil
	}
	wants := append([]ecosystem.ExpectedCheckout{workspaceOf(f.State)}, ecosystem.ExpectedCheckouts(f.Manifest(), f.State)...)
	found := s.Surveyor.Survey(ctx, ecosystem.Checkouts(wants))
	if ctx.Err() != nil {
		return StatusAnswer{}, fault.From(ctx.Err())
	}
	out.Workspace = infoWorkspace(f, wants[0], found[0])
	for i, w := range wants[1:] {
		row := rowOf(w, found[i+1])
		out.Repos = append(out.Repos, row)
		notice(&seen, row)
	}
	for _, r := range f.State.Repos {
		if r.LastPush != nil {
			out.LastPushed[r.Name] = *r.LastPush
		}
	}
	if out.UnpushedReleases = releases.Unpushed(ctx, s.States, f.Layout); len(out.UnpushedReleases) > 0 {
		out.Hint = "a release that was made here is not pushed everywhere; amof_release_status says what is where, amof_push_ecosystem pushes it"
	}
	if seen.Invalid {
		out.Hint = "the manifest has errors, so the repositories are shown as far as it can be read; amof_validate_manifest says which"
	}
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: f.Layout.Name}, text(f.Layout.Name, out), seen.Actions()...)
	return out, nil
}

// workspaceOf returns the workspace's own worktree as it should be.
func workspaceOf(st ecosystem.State) ecosystem.ExpectedCheckout {
	return ecosystem.ExpectedCheckout{Checkout: ecosystem.Checkout{Name: st.Ecosystem, Dir: st.WorkspaceDir}, Branch: st.WorkspaceBranch}
}

func infoWorkspace(f runs.Ecosystem, w ecosystem.ExpectedCheckout, s ecosystem.GitStatus) *Workspace {
	out := &Workspace{Ecosystem: f.Layout.Name, Branch: f.State.WorkspaceBranch, Dir: f.State.WorkspaceDir, ActiveTicket: f.State.ActiveTicket, Tickets: len(f.State.Tickets),
		Commit: short(s.Head), Status: w.Status(s), Dirty: s.Dirty, Problem: w.Why(s)}
	if s.Missing && s.Problem == "" {
		out.Problem = "the workspace's directory " + w.Dir + " is gone; amof_discard_ecosystem forgets the workspace, amof_install_ecosystem then makes it anew"
	}
	return out
}

func rowOf(w ecosystem.ExpectedCheckout, s ecosystem.GitStatus) RepoStatus {
	r := RepoStatus{Name: w.Name, Branch: tool.NilIfZero(s.Branch), Commit: short(s.Head), Mode: w.Repo.Mode(), Status: w.Status(s), Dirty: s.Dirty > 0, Unpushed: s.Unpushed, Path: w.Path,
		Directory: w.Dir, CommitFull: s.Head, Wanted: w.Branch, DirtyFiles: s.Dirty, Conflicts: s.Conflicts, Operation: s.Operation, Problem: w.Why(s)}
	if s.Tracked {
		r.Ahead, r.Behind = &s.Ahead, &s.Behind
	}
	return r
}

func short(commit string) string { return commit[:min(len(commit), 7)] }

// notice counts what suggests something to do. What git is in the middle of, a switch of tickets does not put right; a read-only repository is
// never pushed.
func notice(n *runs.Observations, r RepoStatus) {
	if ecosystem.HasStatus(r.Status, ecosystem.StatusMissing) {
		n.Missing++
	}
	if ecosystem.HasStatus(r.Status, ecosystem.StatusWrongBranch) && r.Operation == "" {
		n.WrongBranch++
	}
	if r.Mode == "RW" && r.Dirty {
		n.Dirty++
	}
	if r.Mode == "RW" && r.Unpushed {
		n.Unpushed++
	}
}

// text returns the table, what is not as it should be first.
func text(name string, a StatusAnswer) runs.AnswerText {
	var lines, fine []string
	for _, r := range a.Repos {
		branch := "(detached)"
		if r.Branch != nil {
			branch = *r.Branch
		}
		if r.Operation != "" {
			branch += " " + r.Operation
		}
		line := fmt.Sprintf("%-20s %-24s %-7s %s %s", r.Name, branch, r.Commit, r.Mode, r.Status)
		if r.Status == ecosystem.StatusOK && r.Problem == "" {
			fine = append(fine, line)
		} else {
			lines = append(lines, line)
		}
	}
	bad := len(lines)
	lines = append(lines, fine...)
	if a.Workspace.Problem != "" {
		lines = append([]string{a.Workspace.Problem}, lines...)
	}
	if over := len(lines) - tableLines; over > 0 {
		lines = append(lines[:tableLines], fmt.Sprintf("… and %d more", over))
	}
	summary := fmt.Sprintf("Checked %s: %s, all as they should be", name, count(len(a.Repos), "repository"))
	if bad > 0 {
		summary = fmt.Sprintf("Checked %s: %d of %s to look at", name, bad, count(len(a.Repos), "repository"))
	}
	return runs.AnswerText{Summary: clip(summary), Details: lines}
}

// spun returns what is recorded of the default environment. Without a record, or with one that cannot be read, nothing is known to be deployed.
func (s service) spun(ctx context.Context, l ecosystem.Layout) EnvironmentStatus {
	out := EnvironmentStatus{State: string(ecosystem.PhaseNone)}
	doc, err := s.States.Noted(ctx, l, ecosystem.StateKey(ecosystem.DefaultEnvironment))
	if err != nil {
		return out
	}
	st, err := ecosystem.DecodeEnvironment(ecosystem.DefaultEnvironment, doc)
	if err != nil || st.State == ecosystem.PhaseNone || st.State == "" {
		return out
	}
	return EnvironmentStatus{State: string(st.State), Since: tool.NilIfZero(st.Since), RunID: tool.NilIfZero(st.RunID)}
}
