package sandboxes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The typed handles.
var (
	ProjectStart   = tool.Ref[StartInput, ProjectStarted]{Name: "opencode_project_start"}
	ProjectClone   = tool.Ref[StartInput, ProjectStarted]{Name: "sandbox_project_clone"}
	ProjectStatus  = tool.Ref[URLInput, ProjectView]{Name: "opencode_project_status"}
	ProjectStop    = tool.Ref[ServerInput, ProjectDone]{Name: "opencode_project_stop"}
	ProjectRestart = tool.Ref[ServerInput, ProjectStarted]{Name: "opencode_project_restart"}
	ProjectDestroy = tool.Ref[DestroyInput, ProjectDestroyed]{Name: "opencode_project_destroy"}
	ProjectList    = tool.Ref[ProjectNoInput, ProjectListing]{Name: "opencode_project_list"}
)

// ProjectNoInput is the input of a tool without arguments.
type ProjectNoInput struct{}

type service struct {
	Deps
	gateway GatewayManager
	manager ProjectManager
	current *rounds[sandbox.State] // shares concurrent results of Current
}

// ProjectEntries returns the tools.
func ProjectEntries(d Deps) []tool.Entry {
	s := service{Deps: d, gateway: GatewayManager{Deps: d}, manager: ProjectManager{Deps: d}, current: newRounds[sandbox.State]()}
	return []tool.Entry{
		bind.Command(ProjectStart, Repeatable(ConfirmWhen(ChangeSpec("Start project", "Start an OpenCode project: clone it if needed, and run its server. The project name is auto-generated from the git URL. "+
			"Base directory: ~/.opencode-projects/{owner}-{repo} by default. Calling again resumes.", startSchema), "unless it runs already")), s.planStart, s.start),
		bind.Query(ProjectStatus, ReadSpec("Project status", "Show a project: its server, the gateway, its sandboxes.", urlSchema), s.status),
		bind.Command(ProjectStop, Repeatable(ConfirmWhen(ChangeSpec("Stop project", "Stop a project's server, and those of its isolated sandboxes. Files, key and sandboxes stay.", serverSchema), "unless it does not run")), s.planStop, s.stop),
		bind.Command(ProjectRestart, ChangeSpec("Restart project", "Restart a project's server. Sandboxes stay.", serverSchema), s.planRestart, s.restart),
		bind.Command(ProjectDestroy, ConfirmWhen(DestroySpec("Destroy project", "Stop a project and delete its clone and all its sandboxes from this machine; the remote is untouched. Refused with a list while work "+
			"is uncommitted or unpushed; force states that it may be lost.", destroySchema), "unless there is no such project"), s.planDestroy, s.destroy),
		bind.Query(ProjectList, ReadSpec("List projects", "List the projects with their servers.", projectNoSchema), s.list),
	}
}

// StartInput names a repository, and the key to reach it with.
type StartInput struct {
	URL string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL (SSH or HTTPS format; will be normalized)"`
	Key string `json:"user_ssh_key,omitempty" jsonschema:"description=Optional: Path to user's SSH key"`

	Sandbox string `json:"sandbox,omitempty" jsonschema:"description=an isolated sandbox: start its own server instead"`
}

// Resources returns the project.
func (in StartInput) Resources() []string { return []string{in.URL} }

// ProjectStarted is a project whose server runs, or what is still missing.
type ProjectStarted struct {
	Status      string   `json:"status"`
	Project     string   `json:"project"`
	URL         string   `json:"git_url"`
	Port        int      `json:"opencode_port,omitempty"`
	GatewayPort int      `json:"mcp_tool_port,omitempty"`
	BaseDir     string   `json:"base_dir"`
	SandboxDir  string   `json:"sandbox_dir"`
	Message     string   `json:"message"`
	ServerURL   string   `json:"opencode_url,omitempty"`
	PID         int      `json:"opencode_pid,omitempty"`
	Version     string   `json:"opencode_version,omitempty"`
	Sandbox     string   `json:"sandbox,omitempty"` // whose own server it is
	Isolation   string   `json:"isolation,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	Exposed     bool     `json:"exposed,omitempty"` // other machines can reach it

	PublicKey     string `json:"public_key,omitempty"` // waiting_for_key
	PublicKeyPath string `json:"public_key_path,omitempty"`
	RegisterURL   string `json:"register_url,omitempty"` // page of the host that takes it
	ErrorDetail   string `json:"error_detail,omitempty"`
	GatewayError  string `json:"mcp_tool_error,omitempty"` // partial
}

// ProjectItem is a project in a list.
type ProjectItem struct {
	URL        string `json:"git_url"`
	Name       string `json:"name"`
	Running    bool   `json:"opencode_running"`
	Port       *int   `json:"opencode_port"`
	BaseDir    string `json:"base_dir"`
	SandboxDir string `json:"sandbox_dir"`
	Worktrees  int    `json:"worktrees"`
}

// ProjectListing is the projects by name.
type ProjectListing struct {
	Status   string        `json:"status"`
	Projects []ProjectItem `json:"projects"`
	Gateway  *GatewayBrief `json:"global_mcp_tool,omitempty"`
}

// ProjectDone is a result that is only a message.
type ProjectDone struct {
	Status  string `json:"status"`
	Project string `json:"project"`
	URL     string `json:"git_url"`
	Message string `json:"message"`
}

// ServerView is a server in the result of status.
type ServerView struct {
	PID     *int    `json:"pid"`
	Port    *int    `json:"port"`
	URL     *string `json:"url"`
	Status  string  `json:"status"`
	Running bool    `json:"running"`
	Version string  `json:"version,omitempty"`
	Error   string  `json:"last_error,omitempty"`
}

// ProjectView is the status of a project, or says that none is recorded for that URL, which is not an error.
type ProjectView struct {
	Status  string `json:"status"` // ok or not_found
	Project string `json:"project,omitempty"`
	URL     string `json:"git_url"`
	Message string `json:"message,omitempty"` // of a project that is not recorded
	*ProjectDetails
}

// OwnServer is the server that an isolated sandbox has of its own.
type OwnServer struct {
	Sandbox   string `json:"sandbox"`
	Isolation string `json:"isolation"`
	ServerView
	Log string `json:"log"`
}

// ownView returns the server of a sandbox's own; nil where it never had one.
func ownView(f FoundProject, box sandbox.Sandbox) *OwnServer {
	if box.Server == nil {
		return nil
	}
	s := *box.Server
	v := OwnServer{Sandbox: box.Name, Isolation: isolationWord(box.Isolation), Log: ownLog(f, box.Name),
		ServerView: ServerView{PID: tool.NilIfZero(s.PID), Port: tool.NilIfZero(s.Port), Status: string(s.Status), Running: s.Status == sandbox.Running, Version: s.Version, Error: s.LastError}}
	if v.Running {
		v.URL = tool.NilIfZero(serverURL("", s.Port))
	}
	return &v
}

// notFound is the status of a project that is not recorded.
const notFound = "not_found"

// ProjectDetails is the rest, for a recorded project.
type ProjectDetails struct {
	Server     ServerView   `json:"opencode"`
	Gateway    GatewayBrief `json:"global_mcp_tool"`
	BaseDir    string       `json:"base_dir"`
	SandboxDir string       `json:"sandbox_dir"`
	CreatedAt  time.Time    `json:"created_at"`
	LastHealth *time.Time   `json:"last_health_check"`
	Healthy    bool         `json:"healthy"`
	Worktrees  []string     `json:"worktrees"`
	Isolation  string       `json:"server_isolation"`             // none: what the project's server starts has all the user's permissions
	Isolated   []string     `json:"isolated_worktrees,omitempty"` // sandboxes with an isolation, which are worked in by servers of their own
	Servers    []OwnServer  `json:"sandbox_servers,omitempty"`    // of isolated sandboxes that have had one
	Exposed    bool         `json:"exposed"`
	Log        string       `json:"log"` // file of the server's output
}

// serverURL returns the URL of a server on this machine.
func serverURL(host string, port int) string {
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = loopback
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("http://%s:%d", host, port)
}

const loopback = "127.0.0.1"

// exposed reports whether other machines can reach the host.
func exposed(host string) bool {
	return host != "" && host != "localhost" && host != "::1" && !strings.HasPrefix(host, "127.")
}

func (s service) view(ctx context.Context, f FoundProject) ProjectView {
	p := f.Project
	v := ProjectView{Status: "ok", Project: p.Name, URL: f.URL.String(), ProjectDetails: &ProjectDetails{BaseDir: f.Layout.Base, SandboxDir: f.Layout.Base, CreatedAt: p.CreatedAt, LastHealth: tool.NilIfZero(p.LastHealth),
		Worktrees: sandbox.SandboxNames(p), Isolation: sandbox.IsolationNone, Isolated: isolatedIn(p), Gateway: BriefOf(f.State), Log: f.Layout.ServerLog}}
	for _, name := range sandbox.SandboxNames(p) {
		if own := ownView(f, p.Sandboxes[sandbox.SandboxKey(name)]); own != nil {
			v.Servers = append(v.Servers, *own)
		}
	}
	running := p.Server.Status == sandbox.Running
	v.Server = ServerView{PID: tool.NilIfZero(p.Server.PID), Port: tool.NilIfZero(p.Server.Port), Status: string(p.Server.Status), Running: running, Version: p.Server.Version, Error: p.Server.LastError}
	if !running {
		return v
	}
	settings, err := s.Homes.Settings(ctx, p.Name)
	if err != nil {
		return v
	}
	v.Server.URL, v.Exposed = tool.NilIfZero(serverURL(settings.Host, p.Server.Port)), exposed(settings.Host)
	probe, cancel := context.WithTimeout(ctx, sandbox.ProbeTimeout)
	defer cancel()
	if version, err := s.healthy(probe, p.Server, settings); err == nil {
		v.Healthy, v.Server.Version = true, version
	}
	return v
}

func (s service) status(ctx context.Context, _ tool.Scope, in URLInput) (ProjectView, error) {
	var f FoundProject
	var err error
	if f.URL, _, _, err = s.Homes.Identify(ctx, in.URL); err != nil {
		return ProjectView{}, err
	}
	if f.State, err = s.current.do(ctx, s.Current); err != nil { // it examines all projects, so concurrent calls share one result
		return ProjectView{}, err
	}
	if f.Project, f.Known = f.State.Projects[f.URL.String()]; !f.Known {
		return ProjectView{Status: notFound, URL: f.URL.String(), Message: "no project is recorded for this URL; opencode_project_start starts one"}, nil
	}
	f.Layout = s.Homes.Layout(f.Project.Name, f.Project.BaseDir)
	return s.view(ctx, f), nil
}

func (s service) list(ctx context.Context, _ tool.Scope, _ ProjectNoInput) (ProjectListing, error) {
	state, err := s.Current(ctx)
	if err != nil {
		return ProjectListing{}, err
	}
	out := ProjectListing{Status: "success", Projects: []ProjectItem{}}
	for _, p := range sandbox.ProjectsByName(state) {
		l := s.Homes.Layout(p.Name, p.BaseDir)
		out.Projects = append(out.Projects, ProjectItem{URL: p.URL.String(), Name: p.Name, Running: p.Server.Status == sandbox.Running, Port: tool.NilIfZero(p.Server.Port), BaseDir: l.Base,
			SandboxDir: l.Base, Worktrees: len(p.Sandboxes)})
	}
	if state.Gateway.Port != 0 {
		brief := BriefOf(state)
		out.Gateway = &brief
	}
	return out, nil
}
