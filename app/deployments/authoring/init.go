package authoring

import (
	"cmp"
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/tool"
)

// InitData is the data of init (agentpack contract §5.1).
type InitData struct {
	Bootstrap *BootstrapData `json:"bootstrap,omitempty"`
	Commit    string         `json:"commit,omitempty"`   // of From
	Existing  bool           `json:"existing,omitempty"` // it was a config repository before
	Made      []string       `json:"made,omitempty"`     // of an existing one: the files that it lacked
	From      string         `json:"from,omitempty"`     // the URL that is cloned
	Git       *InitGit       `json:"git,omitempty"`
	Guided    bool           `json:"guided,omitempty"`
	Ref       string         `json:"ref,omitempty"` // of From
	Repo      string         `json:"repo"`
	RepoPosix string         `json:"repo_posix"`
	Scope     string         `json:"scope,omitempty"`
	Targets   []string       `json:"targets,omitempty"`
}

// InitGit is what was made of git.
type InitGit struct {
	Path        string `json:"gitignore_path"`
	PathPosix   string `json:"gitignore_path_posix"`
	Updated     bool   `json:"gitignore_updated"`
	Initialized bool   `json:"initialized"`
	Existing    bool   `json:"existing,omitempty"` // it was one before
}

// initPlan is the files that are missing, and whether git is asked for.
type initPlan struct {
	planner.Edit[InitData]
	git  bool
	from *origin
}

// prepareClone works out which commit of an existing config repository is going to be this machine's.
func (s *service) prepareClone(ctx context.Context, c InitInput) (*initPlan, error) {
	if c.Git || c.Bootstrap || len(c.Targets) > 0 || c.Scope != "" {
		return nil, tool.ErrArguments.WithMessage("agents_init: from clones a config repository that is complete; leave git, bootstrap, targets and scope out")
	}
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	seen, err := s.seen(ctx, at, at.Repo, s.in(at.Repo, deployment.ManifestFile))
	if err != nil {
		return nil, err
	}
	if seen[s.in(at.Repo, deployment.ManifestFile)].Kind != deployment.Absent {
		return nil, deployment.ErrConfig.WithMessage("%s is a config repository already; name another directory with --repo, or move it away", at.Repo).
			WithDetails(deployment.Details{}.AddPath("repo", at.Repo))
	}
	o, err := s.origin(ctx, c.From)
	if err != nil {
		return nil, err
	}
	if o.source.Subdir != "" || o.source.Ref == o.commit {
		return nil, deployment.ErrConfig.WithMessage("a config repository is cloned as a whole, at a branch or tag; leave the path out, and name no commit")
	}
	data := InitData{Repo: at.Repo, RepoPosix: deployment.PosixPath(at.Repo), From: o.source.URL, Ref: o.source.Ref, Commit: o.commit}
	return &initPlan{Edit: planner.Edit[InitData]{Command: "init --from " + c.From, Place: at, From: []string{o.source.URL}, Report: planner.NewReport(data)}, from: &o}, nil
}

// prepareInit works out which files a config repository lacks.
func (s *service) prepareInit(ctx context.Context, _ tool.Scope, c InitInput) (*initPlan, error) {
	if c.From != "" {
		return s.prepareClone(ctx, c)
	}
	at, err := s.place(ctx, c.EditInput)
	if err != nil {
		return nil, err
	}
	data := InitData{Repo: at.Repo, RepoPosix: deployment.PosixPath(at.Repo)}
	targets, warnings, err := guided(c, &data)
	if err != nil {
		return nil, err
	}
	e := &initPlan{Edit: planner.Edit[InitData]{Command: "init", Place: at}, git: c.Git}
	manifest, git := s.in(at.Repo, deployment.ManifestFile), s.in(at.Repo, ".git")
	there, err := s.seen(ctx, at, manifest, git)
	if err != nil {
		return nil, err
	}
	data.Existing = there[manifest].Kind != deployment.Absent
	if e.Writes, err = s.starters(ctx, at, StarterFiles(targets), data.Guided); err != nil {
		return nil, err
	}
	for i := range e.Writes {
		if data.Existing {
			data.Made = append(data.Made, e.Writes[i].Path)
		}
	}
	if c.Git {
		more, err := s.ignoring(ctx, e, &data)
		if err != nil {
			return nil, err
		}
		if data.Git.Existing = there[git].Kind != deployment.Absent; data.Git.Existing {
			e.git = false
		}
		warnings = append(warnings, more...)
	}
	if c.Bootstrap {
		if s.Bootstrap == nil {
			return nil, tool.ErrArguments.WithMessage("bootstrap is not available here; leave it out, and bootstrap afterwards")
		}
		place := at
		place.ProjectRoot, place.ProjectID, place.Origin, place.Marked = at.Repo, deployment.ProjectID("", at.Repo), "", true
		writes, shown, err := s.Bootstrap(ctx, AssetRequest{Targets: c.Targets, Scope: deployment.ScopeProject, DryRun: c.DryRun}, place)
		if err != nil {
			return nil, err
		}
		e.Writes, data.Bootstrap = append(e.Writes, writes...), shown
	}
	e.Report, e.Nothing = planner.NewReport(data, warnings...), len(e.Writes) == 0 && !e.git
	return e, nil
}

// guided returns the targets of the new manifest: the chosen ones with the chosen scope, in the order of listings, or the usual ones.
func guided(c InitInput, data *InitData) (targets []StarterTarget, warnings []string, err error) {
	if len(c.Targets) == 0 {
		return DefaultTargets(), nil, nil
	}
	for _, name := range c.Targets {
		if _, err := target.SelectTargets(map[string]deployment.TargetConfig{name: {}}, name); err != nil {
			return nil, nil, err
		}
	}
	scope := cmp.Or(c.Scope, deployment.ScopeBoth)
	for _, name := range target.TargetNames() {
		if !slices.Contains(c.Targets, name) {
			continue
		}
		t := StarterTarget{Name: name, Scope: scope}
		if !slices.Contains(target.TargetScopes(name), t.Scope) {
			t.Scope = deployment.ScopeProject
			warnings = append(warnings, name+" reads nothing from the home directory: its scope is project")
		}
		targets = append(targets, t)
		data.Targets = append(data.Targets, name)
	}
	data.Guided, data.Scope = true, string(scope)
	return targets, warnings, nil
}

// starters returns the files that are not there yet.
func (s *service) starters(ctx context.Context, at deployment.Locations, files []StarterFile, fresh bool) ([]deployment.Write, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = s.in(at.Repo, f.Path)
	}
	seen, err := s.seen(ctx, at, paths...)
	if err != nil {
		return nil, err
	}
	var writes []deployment.Write
	for i, f := range files {
		switch there := seen[paths[i]].Kind != deployment.Absent; {
		case there && fresh && f.Path == deployment.ManifestFile:
			const hint = "edit it, or make another config repository with --repo"
			return nil, deployment.ErrConfig.WithMessage("%s exists already, and guided set-up only makes new ones; %s", paths[i], hint).
				WithDetails(deployment.FieldDetails("hint", hint).AddPath("path", paths[i]))
		case !there:
			writes = append(writes, *planner.FileWrite(at.Repo, paths[i], deployment.Seen{}, []byte(f.Text)))
		}
	}
	return writes, nil
}

// ignoring adds .gitignore to the edit where it lacks a line, and says why it does not.
func (s *service) ignoring(ctx context.Context, e *initPlan, data *InitData) (warnings []string, err error) {
	path := s.in(e.Place.Repo, GitignoreFile)
	data.Git = &InitGit{Path: path, PathPosix: deployment.PosixPath(path), Initialized: true}
	seen, err := s.seen(ctx, e.Place, path)
	if err != nil {
		return nil, err
	}
	now := seen[path]
	if now.Kind != deployment.Absent && now.Kind != deployment.Regular { // writing would put a file in place of a link
		return []string{path + " is no regular file; add " + ManifestIgnoreLine + " by hand"}, nil
	}
	text, _, err := s.Machine.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	if text, data.Git.Updated = EnsureIgnoreLines(text, ManifestIgnoreLine, DesktopIgnoreLine); data.Git.Updated {
		e.Writes = append(e.Writes, *planner.FileWrite(e.Place.Repo, path, now, text))
	}
	return nil, nil
}

// create writes the files, and makes the repository once there is something in it.
func (s *service) create(ctx context.Context, sc tool.Scope, e *initPlan) (planner.Report[InitData], error) {
	if e.from != nil {
		if err := s.Remote.Clone(ctx, e.Place.Repo, e.from.source.URL, e.from.source.Ref, e.from.commit); err != nil {
			return planner.Report[InitData]{}, err
		}
		return e.Report, nil
	}
	out, err := write(ctx, s.Machine, sc, &e.Edit)
	if err == nil && e.git {
		err = s.Remote.Init(ctx, e.Place.Repo)
	}
	return out, err
}
