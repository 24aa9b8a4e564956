package authoring

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// RemoteData is the data of remote set (agentpack contract §5.15).
type RemoteData struct {
	Remote    string `json:"remote"`
	Repo      string `json:"repo"`
	RepoPosix string `json:"repo_posix"`
	URL       string `json:"url"`
}

// SyncData is the data of sync.
type SyncData struct {
	Branch    string               `json:"branch"`
	Commands  []string             `json:"commands"`
	FetchURL  string               `json:"fetch_url"`
	PushURLs  []string             `json:"push_urls"`
	GitDir    string               `json:"git_dir,omitempty"` // where it is not .git in the repository
	Head      string               `json:"head"`
	Ahead     int                  `json:"ahead"`   // commits that the remote lacks, as far as the clone knows
	Commits   []string             `json:"commits"` // the newest of them
	Hooks     []deployport.Program `json:"hooks"`
	Filters   []string             `json:"filters"`
	Settings  []string             `json:"settings"` // of the repository's own configuration
	Rebase    bool                 `json:"rebase"`
	Remote    string               `json:"remote"`
	Repo      string               `json:"repo"`
	RepoPosix string               `json:"repo_posix"`
}

// takes puts a route into the data: all of it is shown, and so part of what is approved.
func (d *SyncData) takes(r deployport.Route) {
	d.FetchURL, d.PushURLs, d.GitDir, d.Head, d.Ahead = r.Fetch, r.Push, r.GitDir, r.Head, r.Ahead
	d.Commits, d.Filters, d.Settings = append([]string{}, r.Commits...), append([]string{}, r.Filters...), append([]string{}, r.Settings...)
	d.Hooks = append([]deployport.Program{}, r.Hooks...)
}

func (s *service) prepareRemote(ctx context.Context, _ tool.Scope, c RemoteInput) (*planner.Edit[RemoteData], error) {
	url := strings.TrimSpace(c.URL)
	if url == "" {
		return nil, tool.ErrArguments.WithMessage("agents_remote_set: url is empty; give the remote's URL")
	}
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	seen, err := s.seen(ctx, at, at.Repo)
	if err != nil {
		return nil, err
	}
	if seen[at.Repo].Kind == deployment.Absent {
		return nil, deployment.ErrConfigMissing.WithMessage("there is no config repository at %s; make one with countersign agents init, or name another with --repo", at.Repo).
			WithDetails(deployment.FieldDetails("hint", "countersign agents init --git").AddPath("path", at.Repo))
	}
	c.Name = cmp.Or(c.Name, defaultRemote)
	data := RemoteData{Remote: c.Name, Repo: at.Repo, RepoPosix: deployment.PosixPath(at.Repo), URL: url}
	return &planner.Edit[RemoteData]{Command: "remote set " + c.Name, Place: at, Report: planner.NewReport(data), From: []string{url}}, nil
}

// setRemote makes the repository one of git if it is none, and sets the remote.
func (s *service) setRemote(ctx context.Context, _ tool.Scope, e *planner.Edit[RemoteData]) (none planner.Report[RemoteData], err error) {
	data := e.Report.Data
	_, err = s.Remote.State(ctx, e.Place.Repo)
	if errors.Is(err, deployment.ErrGitRepo) {
		err = s.Remote.Init(ctx, e.Place.Repo)
	}
	if err == nil {
		err = s.Remote.SetRemote(ctx, e.Place.Repo, data.Remote, data.URL)
	}
	if err != nil {
		return none, err
	}
	return e.Report, nil
}

// syncable returns the branch to sync, checked in the contract's order.
func (s *service) syncable(ctx context.Context, at deployment.Locations, remote string) (branch string, err error) {
	refuse := func(sentinel *fault.Error, problem, hint string) error {
		details := deployment.Details{"command": "sync", "hint": hint}.AddPath("repo", at.Repo)
		if sentinel.Code == deployment.ErrGitRemote.Code {
			details.Add("remote", remote)
		}
		return sentinel.WithMessage("the config repository %s %s; %s", at.Repo, problem, hint).WithDetails(details)
	}
	state, err := s.Remote.State(ctx, at.Repo)
	switch {
	case errors.Is(err, deployment.ErrGitRepo):
		return "", refuse(deployment.ErrGitRepo, "is no git repository", "make it one with git init, or with init --git")
	case err != nil:
		return "", err
	case state.Dirty:
		return "", refuse(deployment.ErrGitDirty, "has uncommitted changes", "commit or stash them first")
	case state.Branch == "":
		return "", refuse(deployment.ErrGitDetached, "is on no branch", "check a branch out first")
	case !slices.Contains(state.Remotes, remote):
		return "", refuse(deployment.ErrGitRemote, "has no remote "+remote, "set it with remote set <url> --name "+remote)
	}
	return state.Branch, nil
}

func (s *service) prepareSync(ctx context.Context, _ tool.Scope, c SyncInput) (*planner.Edit[SyncData], error) {
	c.Remote = cmp.Or(c.Remote, defaultRemote)
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	branch, err := s.syncable(ctx, at, c.Remote)
	if err != nil {
		return nil, err
	}
	pull := "git pull "
	if c.Rebase {
		pull += "--rebase "
	}
	data := SyncData{Branch: branch, Commands: []string{pull + c.Remote + " " + branch, "git push " + c.Remote + " " + branch},
		Rebase: c.Rebase, Remote: c.Remote, Repo: at.Repo, RepoPosix: deployment.PosixPath(at.Repo)}
	route, err := s.Remote.Route(ctx, at.Repo, c.Remote, branch)
	if err != nil {
		return nil, err
	}
	data.takes(route)
	e := &planner.Edit[SyncData]{Command: "sync with " + c.Remote, Place: at, Report: planner.NewReport(data), From: route.Remotes}
	if len(data.Hooks)+len(data.Filters) > 0 {
		e.Risk = policy.RiskHigh
		e.Report.Warnings = append(e.Report.Warnings, "git runs the hooks and filters that are listed, as you")
	}
	e.Scope = at.Repo + "@" + e.Hash().Hex() // an "always" covers no other state of the repository
	return e, nil
}

// sync pulls and pushes, after looking again.
func (s *service) sync(ctx context.Context, _ tool.Scope, e *planner.Edit[SyncData]) (none planner.Report[SyncData], err error) {
	data := e.Report.Data
	branch, err := s.syncable(ctx, e.Place, data.Remote)
	if err != nil {
		return none, err
	}
	if branch != data.Branch {
		return none, deployment.ErrStale.WithMessage("the config repository was on branch %s and is on %s now; nothing was synced, look again", data.Branch, branch).
			WithDetails(deployment.ReasonDetails("branch_changed", "retry_command"))
	}
	route, err := s.Remote.Route(ctx, e.Place.Repo, data.Remote, branch)
	if err != nil {
		return none, err
	}
	now := data
	now.takes(route)
	if fresh := (&planner.Edit[SyncData]{Command: e.Command, Place: e.Place, Report: planner.NewReport(now)}); fresh.Hash() != e.Hash() {
		return none, deployment.ErrStale.WithMessage("commits, URLs, hooks or settings of the config repository changed after they were looked at; nothing was synced, look again").
			WithDetails(deployment.ReasonDetails("route_changed", "retry_command"))
	}
	data.Commands, err = s.Remote.Sync(ctx, e.Place.Repo, deployport.SyncOptions{Remote: data.Remote, Branch: branch, Rebase: data.Rebase})
	if err != nil {
		return none, err
	}
	return planner.NewReport(data), nil
}
