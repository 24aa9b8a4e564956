package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The typed handles.
var (
	DeployKey  = tool.Ref[URLInput, KeyAnswer]{Name: "opencode_get_deploy_key"}
	Duplicates = tool.Ref[AdminNoInput, DuplicateList]{Name: "opencode_detect_duplicates"}
	Orphans    = tool.Ref[AdminNoInput, OrphanList]{Name: "opencode_cleanup_orphaned"}
	Model      = tool.Ref[AdminNoInput, ModelAnswer]{Name: "opencode_llm_config"}
	SetModel   = tool.Ref[ModelInput, ModelSet]{Name: "opencode_llm_set_model"}
)

// AdminNoInput is the input of a tool without arguments.
type AdminNoInput struct{}

type adminService struct {
	Deps
	manager ProjectManager
}

// AdminEntries returns the tools.
func AdminEntries(d Deps) []tool.Entry {
	s := adminService{Deps: d, manager: ProjectManager{Deps: d}}
	return []tool.Entry{
		bind.Command(DeployKey, PlanConfirmsWhen(ChangeSpec("Get deploy key", "Show the public deploy key of a repository, creating it if needed, and where to register it.", adminUrlSchema), ""), s.planKey, s.key),
		bind.Query(Duplicates, ReadSpec("Detect duplicates", "Find projects with the same repository, and unmanaged agent servers that run in their clones.", adminNoSchema), s.duplicates),
		bind.Command(Orphans, ChangeSpec("Clean up orphaned", "Update records to what really runs, and finish or undo interrupted operations.", adminNoSchema), s.planOrphans, s.orphans),
		bind.Query(Model, ReadSpec("LLM configuration", "Show the default model of the agent servers and the available models.", adminNoSchema), s.model),
		bind.Command(SetModel, ConfirmWhen(ChangeSpec("Set LLM model", "Set the default model of the agent servers, as provider/model.", modelSchema), "unless it is set already"), s.planModel, s.setModel),
	}
}

// KeyAnswer is a public key with instructions for it.
type KeyAnswer struct {
	Status       string  `json:"status"`
	Project      string  `json:"project"`
	URL          string  `json:"git_url"`
	Public       string  `json:"public_key"`
	Path         string  `json:"public_key_path"`
	KeysURL      *string `json:"github_deploy_keys_url"`
	RegisterURL  *string `json:"register_url"`
	Instructions string  `json:"instructions"`
}

type keyPlan struct {
	Plan
	url  git.URL
	name string
}

func (s adminService) planKey(ctx context.Context, _ tool.Scope, in URLInput) (keyPlan, error) {
	f, err := s.Find(ctx, in.URL)
	if err != nil {
		return keyPlan{}, err
	}
	p := keyPlan{url: f.URL, name: f.Project.Name}
	if p.name == "" {
		p.name = sandbox.UniqueProjectName(f.URL, f.State)
	}
	_, there, err := s.Keys.Peek(ctx, p.name)
	if err != nil {
		return p, err
	}
	p.Plan, err = NewPlan(DeployKey.Name, "show the deploy key of "+p.name, map[string]any{"git_url": f.URL.String(), "project": p.name, "made": !there}, ConfirmOptions{})
	return p, err
}

func (s adminService) key(ctx context.Context, _ tool.Scope, p keyPlan) (KeyAnswer, error) {
	key, err := s.Keys.Ensure(ctx, p.name)
	if err != nil {
		return KeyAnswer{}, err
	}
	out := KeyAnswer{Status: "success", Project: p.name, URL: p.url.String(), Public: key.Public, Path: key.PublicPath,
		Instructions: "Add the public key to the repository as a deploy key (with write access if agents push), then call opencode_project_start."}
	if page := sandbox.DeployKeysURL(p.url); page != "" {
		out.RegisterURL = &page
		if p.url.Host() == "github.com" {
			out.KeysURL = &page
		}
	}
	return out, nil
}

// Instance is one of several projects that are the same repository.
type Instance struct {
	URL     string `json:"git_url"`
	Name    string `json:"project_name"`
	BaseDir string `json:"base_dir"`
	Port    *int   `json:"opencode_port"`
	Running bool   `json:"opencode_running"`
	PID     *int   `json:"pid"`
}

// Duplicate is a repository with several projects.
type Duplicate struct {
	URL            string     `json:"git_url"`
	Count          int        `json:"count"`
	Instances      []Instance `json:"instances"`
	Keep           string     `json:"recommended_to_keep"`
	KeepDir        string     `json:"recommended_base_dir"`
	Recommendation string     `json:"recommendation"`
}

// DuplicateList is all duplicates.
type DuplicateList struct {
	Status     string            `json:"status"`
	Total      int               `json:"total_projects"`
	Unique     int               `json:"unique_repositories"`
	Found      int               `json:"duplicates_found"`
	Duplicates []Duplicate       `json:"duplicates"`
	Foreign    []UnmanagedServer `json:"foreign_servers"`
	Message    string            `json:"message"`
}

// UnmanagedServer is an agent server that is not managed here.
type UnmanagedServer struct {
	PID       int    `json:"pid"`
	Directory string `json:"directory"`
}

func (s adminService) duplicates(ctx context.Context, _ tool.Scope, _ AdminNoInput) (DuplicateList, error) {
	state, err := s.Current(ctx)
	if err != nil {
		return DuplicateList{}, err
	}
	dirs := []string{}
	for _, p := range sandbox.ProjectsByName(state) {
		dirs = append(dirs, s.Homes.Layout(p.Name, p.BaseDir).Repo)
	}
	groups := alike(sandbox.ProjectsByName(state))
	out := DuplicateList{Status: "success", Total: len(state.Projects), Unique: len(groups), Duplicates: []Duplicate{}, Foreign: []UnmanagedServer{}}
	for _, g := range groups {
		if len(g) > 1 {
			out.Duplicates = append(out.Duplicates, s.duplicate(g))
		}
	}
	slices.SortFunc(out.Duplicates, func(a, b Duplicate) int { return strings.Compare(a.URL, b.URL) })
	out.Found = len(out.Duplicates)
	found, err := s.Sockets.Foreign(ctx, dirs)
	if err != nil {
		return out, err
	}
	for _, server := range found {
		if !slices.ContainsFunc(sandbox.ProjectsByName(state), func(p sandbox.Project) bool { return p.Server.PID == server.PID }) {
			out.Foreign = append(out.Foreign, UnmanagedServer{server.PID, server.Dir})
		}
	}
	out.Message = fmt.Sprintf("%d projects, %d repositories, %d of them more than once", out.Total, out.Unique, out.Found)
	return out, nil
}

// alike groups the projects by repository: those with the same first commit, or with the same URL except for case, are one (opencode contract §13.5).
func alike(all []sandbox.Project) (groups [][]sandbox.Project) {
	same := func(a, b sandbox.Project) bool {
		return a.ProjectID != "" && a.ProjectID == b.ProjectID || strings.EqualFold(a.URL.String(), b.URL.String())
	}
	for _, p := range all {
		merged := []sandbox.Project{p}
		groups = slices.DeleteFunc(groups, func(g []sandbox.Project) bool {
			one := slices.ContainsFunc(g, func(o sandbox.Project) bool { return same(o, p) })
			if one {
				merged = append(g, merged...)
			}
			return one
		})
		groups = append(groups, merged)
	}
	return groups
}

// duplicate recommends the project that runs, else one outside the managed root, because the user put it there.
func (s adminService) duplicate(g []sandbox.Project) Duplicate {
	keep, best := g[0], -1
	for _, p := range g {
		worth := 0
		if p.Server.Status == sandbox.Running {
			worth += 2
		}
		if path.Dir(s.Homes.Layout(p.Name, p.BaseDir).Base) != path.Dir(s.Homes.Layout(p.Name, "").Base) {
			worth++
		}
		if worth > best {
			keep, best = p, worth
		}
	}
	d := Duplicate{URL: keep.URL.String(), Count: len(g), Keep: keep.Name, KeepDir: s.Homes.Layout(keep.Name, keep.BaseDir).Base,
		Recommendation: "keep " + keep.Name + " and destroy the others once their work is pushed"}
	for _, p := range g {
		d.Instances = append(d.Instances, Instance{URL: p.URL.String(), Name: p.Name, BaseDir: s.Homes.Layout(p.Name, p.BaseDir).Base, Port: tool.NilIfZero(p.Server.Port),
			Running: p.Server.Status == sandbox.Running, PID: tool.NilIfZero(p.Server.PID)})
	}
	return d
}

// Orphan is something without an owner, such as a server of no recorded project.
type Orphan struct {
	Project string `json:"project"`
	URL     string `json:"git_url"`
	PID     int    `json:"pid"`
	Reason  string `json:"reason"`
}

// OrphanList is what was found and cleaned up.
type OrphanList struct {
	Status   string   `json:"status"`
	Found    int      `json:"orphaned_count"`
	Cleaned  int      `json:"cleaned_count"`
	Orphans  []Orphan `json:"orphaned_processes"`
	Projects []string `json:"cleaned_projects"`
	Message  string   `json:"message"`
}

// find returns the orphans among the recorded projects.
func (s adminService) find(ctx context.Context, state sandbox.State) []Orphan {
	out := []Orphan{}
	for _, p := range sandbox.ProjectsByName(state) {
		for _, server := range p.Servers() {
			if gone, why := s.Gone(ctx, server); gone {
				out = append(out, Orphan{p.Name, p.URL.String(), server.PID, "Process does not exist: " + why})
			}
		}
		if s.manager.Interrupted(p) {
			out = append(out, Orphan{p.Name, p.URL.String(), 0, "Interrupted: " + p.Doing.What + " " + p.Doing.Sandbox})
		}
	}
	return out
}

func (s adminService) planOrphans(ctx context.Context, _ tool.Scope, _ AdminNoInput) (Plan, error) {
	state, err := s.States.Load(ctx)
	if err != nil {
		return Plan{}, err
	}
	found := s.find(ctx, state)
	return NewPlan(Orphans.Name, fmt.Sprintf("clean up %d orphans", len(found)), map[string]any{"orphans": found}, ConfirmOptions{})
}

func (s adminService) orphans(ctx context.Context, _ tool.Scope, _ Plan) (OrphanList, error) {
	state, err := s.States.Load(ctx)
	if err != nil {
		return OrphanList{}, err
	}
	out := OrphanList{Status: "success", Orphans: s.find(ctx, state), Projects: []string{}}
	out.Found = len(out.Orphans)
	if _, err := s.Processes.Recover(ctx); err != nil {
		return out, err
	}
	for _, o := range out.Orphans {
		if err := s.recoverProject(ctx, o.URL); err != nil {
			out.Status, out.Message = "partial", fault.From(err).Message
			continue
		}
		if out.Cleaned++; !slices.Contains(out.Projects, o.Project) {
			out.Projects = append(out.Projects, o.Project)
		}
	}
	for _, p := range sandbox.ProjectsByName(state) {
		if !s.manager.Stray(ctx, p) {
			continue
		}
		found, err := s.cleared(ctx, p)
		for _, o := range found {
			out.Orphans, out.Found, out.Cleaned = append(out.Orphans, o), out.Found+1, out.Cleaned+1
			if !slices.Contains(out.Projects, o.Project) {
				out.Projects = append(out.Projects, o.Project)
			}
		}
		if err != nil {
			out.Status, out.Message = "partial", fault.From(err).Message
		}
	}
	if err := s.unowned(ctx, &out); err != nil {
		out.Status, out.Message = "partial", fault.From(err).Message
	}
	if out.Message == "" {
		out.Message = fmt.Sprintf("%d orphans were found, %d were cleaned up", out.Found, out.Cleaned)
	}
	return out, nil
}

// unowned stops servers that belong to no recorded project, and gateways other than the recorded one.
func (s adminService) unowned(ctx context.Context, out *OrphanList) error {
	found, err := s.manager.UnknownServers(ctx)
	if err != nil {
		return err
	}
	out.Found += len(found)
	for _, orphan := range found {
		out.Orphans = append(out.Orphans, Orphan{orphan.Labels["project"], "", orphan.PID, "Process belongs to no recorded project"})
	}
	ended, failure := s.manager.End(ctx, found)
	gateways, err := GatewayManager{Deps: s.Deps}.Clear(ctx)
	for _, pid := range gateways {
		out.Orphans = append(out.Orphans, Orphan{"", "", pid, "Process is an unrecorded gateway"})
	}
	out.Found, out.Cleaned = out.Found+len(gateways), out.Cleaned+len(ended)+len(gateways)
	return errors.Join(failure, err)
}

// cleared stops unrecorded servers of the project, once no other process can be starting them.
func (s adminService) cleared(ctx context.Context, p sandbox.Project) (out []Orphan, err error) {
	release, err := s.manager.LockProject(ctx, p.URL)
	if err != nil {
		return nil, err
	}
	defer release()
	state, err := s.States.Load(ctx)
	if err != nil {
		return nil, err
	}
	now, known := state.Projects[p.URL.String()]
	if !known {
		return nil, nil
	}
	pids, err := s.manager.Clear(ctx, now)
	for _, pid := range pids {
		out = append(out, Orphan{p.Name, p.URL.String(), pid, "Process is not recorded: its start was interrupted"})
	}
	return out, err
}

func (s adminService) recoverProject(ctx context.Context, url string) error {
	u, err := git.ParseURL(url)
	if err != nil {
		return err
	}
	release, err := s.manager.LockProject(ctx, u)
	if err != nil {
		return err
	}
	defer release()
	_, err = s.manager.Project(ctx, FoundProject{URL: u})
	return err
}
