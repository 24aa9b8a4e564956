package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// CloneStep is a repository that an installation clones.
type CloneStep struct {
	Name   string `json:"name"`
	URL    string `json:"url"` // without secrets
	Branch string `json:"branch"`
	Mode   string `json:"mode"` // RO or RW
	Path   string `json:"path"`
	Exists bool   `json:"exists"` // something is where it would be

	Bundle string `json:"bundle,omitempty"` // that the newest archive saved, whose tags and commits are brought back
}

// InstallConflict is why an installation cannot be carried out.
type InstallConflict struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// InstallPreview is what an installation would do (amof contract §13, tool 8).
type InstallPreview struct {
	WorkspaceDir string            `json:"workspace_dir"`
	Branch       string            `json:"branch"`
	Repos        []CloneStep       `json:"repos"`
	Steps        []string          `json:"steps"`
	Conflicts    []InstallConflict `json:"conflicts"`
	Disk         *int64            `json:"disk_estimate_bytes"` // unknown before the clones are made
	PushTo       *string           `json:"push_to"`             // masked URL that the workspace's branch is pushed to
}

// installFacts is what a preview is made from (amof contract §14, rule 4). What is to be excluded is none of it: another ecosystem's install may
// have seen to that meanwhile.
type installFacts struct {
	Manifest  string   `json:"manifest_sha256"`
	Installed bool     `json:"installed"`
	Occupied  bool     `json:"target_exists"`
	Worktrees []string `json:"worktrees"`
	Branch    string   `json:"branch_commit"`
	UsedAt    string   `json:"branch_used_at"`
	Born      bool     `json:"root_has_commits"`
	Remote    string   `json:"remote"`
	Links     string   `json:"links"`
	Taken     []string `json:"taken"`
}

// installPayload is what a run is queued with.
type installPayload struct {
	Push bool `json:"push"`
}

// installPlan is an installation about to be queued.
type installPlan struct {
	runs.Plan
	conflicts []InstallConflict
}

// ground returns what exists at the workspace's path.
func (s service) ground(ctx context.Context, f runs.Ecosystem) (ecosystemport.InstallTarget, ecosystemport.TargetState, error) {
	at := site(f)
	g, err := s.Grounds.Look(ctx, at)
	return at, g, err
}

// site returns where the workspace would be.
func site(f runs.Ecosystem) ecosystemport.InstallTarget {
	m := f.Manifest()
	at := ecosystemport.InstallTarget{Root: f.Layout.Root, Dir: f.Layout.Workspace, Branch: m.WorkspaceBranch()}
	if m.WorkspaceDir != "" {
		at.Dir = path.Join(f.Layout.Root, m.WorkspaceDir)
	}
	for _, r := range m.Active() {
		at.Paths = append(at.Paths, r.Path)
	}
	return at
}

func factsOf(f runs.Ecosystem, g ecosystemport.TargetState) installFacts {
	return installFacts{Manifest: f.Loaded.SHA256, Installed: f.State.Installed(), Occupied: g.Occupied, Worktrees: g.Worktrees, Branch: g.Branch, UsedAt: g.UsedAt, Born: g.Head != "",
		Remote: g.Remote, Links: g.Links, Taken: g.Taken}
}

// installFacts implements runs.Performer.
func (s service) installFacts(ctx context.Context, f runs.Ecosystem, _ json.RawMessage) (any, error) {
	_, g, err := s.ground(ctx, f)
	return factsOf(f, g), err
}

func installed(f runs.Ecosystem) error {
	return ecosystem.ErrInstalled.WithMessage("ecosystem %s is installed already, at %s; amof_sync_ecosystem brings it up to date", f.Layout.Name, f.State.WorkspaceDir).
		WithDetails(map[string]any{"ecosystem": f.Layout.Name, "workspace_dir": f.State.WorkspaceDir})
}

func (s service) planInstall(ctx context.Context, sc tool.Scope, in InstallInput) (installPlan, error) {
	f, err := s.FindValid(ctx, sc, in.Ecosystem)
	if err != nil {
		return installPlan{}, err
	}
	if f.State.Installed() {
		return installPlan{}, installed(f)
	}
	at, g, err := s.ground(ctx, f)
	if err != nil {
		return installPlan{}, err
	}
	saved, err := s.saved(ctx, f)
	if err != nil {
		return installPlan{}, err
	}
	pv := s.preview(f, at, g, saved)
	if in.Push && g.Remote != "" {
		pv.PushTo = &g.Remote
		pv.Steps = append(pv.Steps, fmt.Sprintf("push branch %s to %s", at.Branch, g.Remote))
	}
	p := installPlan{conflicts: pv.Conflicts}
	doc, err := tool.Encode(installPayload{Push: pv.PushTo != nil})
	if err != nil {
		return p, err
	}
	repos := count(len(pv.Repos), "repository", "repositories")
	p.Plan = runs.Plan{Tool: Install.Name, Action: actionInstall, Summary: fmt.Sprintf("install of %s (%s)", f.Layout.Name, repos), Preview: pv, Facts: factsOf(f, g), Payload: doc,
		Explanation: runs.Explanation{What: fmt.Sprintf("Installing %s makes a git worktree of %s at %s on branch %s, and clones %s into it, all of it or nothing.", f.Layout.Name, f.Layout.Root, at.Dir, at.Branch, repos),
			Affects: []string{at.Dir, "branch " + at.Branch + " of " + f.Layout.Root}, Alternatives: []string{"amof_validate_manifest", "amof_describe_ecosystem"}},
		Current: map[string]any{"installed": false, "workspace_dir": at.Dir, "target_exists": g.Occupied},
		Risk:    runs.Risk{Level: "moderate", Reasons: []string{"clones " + repos + " over the network or from this machine"}},
		Hint:    "call amof_install_ecosystem again in execute mode, and confirm"}
	if in.Push && pv.PushTo == nil {
		p.Warnings = append(p.Warnings, "the workspace root has no remote named origin, so that nothing will be pushed")
	}
	if pv.PushTo != nil {
		p.Risk.Reasons = append(p.Risk.Reasons, "writes to remote")
		p.Explanation.Affects = append(p.Explanation.Affects, "branch "+at.Branch+" of "+g.Remote)
	}
	for _, c := range pv.Conflicts {
		p.Warnings = append(p.Warnings, c.Path+": "+c.Message)
	}
	for _, r := range pv.Repos {
		p.Options.Remotes = append(p.Options.Remotes, r.URL)
	}
	p.Options.Nothing = len(p.conflicts) > 0 // it cannot be applied, so there is nothing to approve
	p.Plan, err = p.Sealed(f)
	return p, err
}

// preview returns what an installation there would do.
func (s service) preview(f runs.Ecosystem, at ecosystemport.InstallTarget, g ecosystemport.TargetState, saved map[string]string) InstallPreview {
	pv := InstallPreview{WorkspaceDir: at.Dir, Branch: at.Branch, Repos: []CloneStep{}, Steps: []string{}, Conflicts: s.conflicts(f, at, g)}
	if g.Head == "" {
		pv.Steps = append(pv.Steps, "make an empty first commit in "+at.Root+", which has none")
	}
	switch {
	case g.Branch == "":
		pv.Steps = append(pv.Steps, "make branch "+at.Branch)
	default:
		pv.Steps = append(pv.Steps, "take up branch "+at.Branch+", which is there already")
	}
	pv.Steps = append(pv.Steps, "make a worktree of it, to be "+at.Dir)
	pv.Steps = append(pv.Steps, "have .git/info/exclude name what lies in the workspace")
	for _, r := range f.Manifest().Active() {
		url, err := s.Clones.Address(r)
		if err != nil {
			url = ""
		}
		t := CloneStep{Name: r.Name, URL: url, Branch: r.Branch, Mode: r.Mode(), Path: r.Path, Exists: has(g.There, r.Path), Bundle: saved[r.Name]}
		pv.Repos = append(pv.Repos, t)
		pv.Steps = append(pv.Steps, fmt.Sprintf("clone %s (%s, branch %s) to %s", r.Name, t.Mode, r.Branch, r.Path))
		if t.Bundle != "" {
			pv.Steps = append(pv.Steps, fmt.Sprintf("bring back what only the last archive has of %s: tags, and commits on %s, from %s", r.Name, r.Branch, t.Bundle))
		}
	}
	return pv
}

// saved returns the bundles that the newest archive of the ecosystem wrote, by repository. What they hold may be nowhere else.
func (s service) saved(ctx context.Context, f runs.Ecosystem) (map[string]string, error) {
	_, archives, err := s.Trash.List(ctx, f.Layout)
	if err != nil || len(archives) == 0 {
		return nil, err
	}
	out := map[string]string{}
	for _, file := range archives[0].Bundles {
		out[strings.TrimSuffix(file[strings.LastIndexAny(file, `/\`)+1:], ".bundle")] = file
	}
	return out, nil
}

func has(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

// conflicts returns everything that prevents the installation.
func (s service) conflicts(f runs.Ecosystem, at ecosystemport.InstallTarget, g ecosystemport.TargetState) []InstallConflict {
	out := []InstallConflict{}
	add := func(path, fix, form string, args ...any) {
		out = append(out, InstallConflict{Path: path, Message: fmt.Sprintf(form, args...), Fix: fix})
	}
	const move = "move it away, or name another workspace_dir in the manifest"
	rel := strings.TrimPrefix(at.Dir, at.Root+"/")
	switch first, _, _ := strings.Cut(rel, "/"); {
	case rel == at.Dir || first == ".git" || first == "ecosystems":
		add(at.Dir, "name a directory like worktrees/"+f.Layout.Name+" as workspace_dir in the manifest", "a workspace cannot be there")
	case g.Links != "":
		add(g.Links, move, "this is a link or a file, and no directory on the way to the workspace")
	case g.Occupied:
		add(at.Dir, move, "something is there already")
	}
	if g.UsedAt != "" {
		add(g.UsedAt, "remove that worktree with git worktree remove, or git worktree prune when its directory is gone", "the branch %s is checked out there", at.Branch)
	}
	active := f.Manifest().Active()
	if len(active) == 0 {
		add(f.Layout.Manifest, "add or enable a repository", "no repository is enabled")
	}
	for i, r := range active {
		if _, err := s.Clones.Address(r); err != nil {
			add(r.Path, "correct the manifest", "%s", fault.From(err).Message)
		}
		if first, _, _ := strings.Cut(r.Path, "/"); first == ".git" || first == "tickets" {
			add(r.Path, "name another path in the manifest", "the path of %s is one that the workspace itself uses", r.Name)
		}
		if has(g.Taken, r.Path) {
			add(r.Path, "name another path in the manifest", "the workspace root's own commits hold something at the path of %s", r.Name)
		}
		for _, other := range active[:i] {
			if within(r.Path, other.Path) || within(other.Path, r.Path) {
				add(r.Path, "name another path in the manifest", "%s and %s would be in each other", r.Name, other.Name)
			}
		}
	}
	return out
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// install queues the run.
func (s service) install(ctx context.Context, sc tool.Scope, p installPlan) (runs.QueuedRun, error) {
	if err := refused(p.Ecosystem, p.conflicts); err != nil {
		return runs.QueuedRun{}, err
	}
	return s.Enqueue(ctx, sc, p.Plan)
}

func refused(name string, found []InstallConflict) error {
	if len(found) == 0 {
		return nil
	}
	c := found[0]
	return ecosystem.ErrConflict.WithMessage("ecosystem %s cannot be installed: %s: %s; %s", name, c.Path, c.Message, c.Fix).WithDetails(map[string]any{"ecosystem": name, "conflicts": found})
}
