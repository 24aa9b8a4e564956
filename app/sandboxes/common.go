package sandboxes

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Deps holds the dependencies of the tools. Every field is required.
type Deps struct {
	States    sandboxport.States
	Homes     sandboxport.ProjectDirs
	Keys      sandboxport.Keys
	Repos     sandboxport.Repositories
	Launcher  sandboxport.Launcher
	Isolator  sandboxport.Isolator
	Sockets   sandboxport.Sockets
	Front     sandboxport.GatewayLauncher
	Models    sandboxport.Models
	Processes ports.Processes
	Owner     ports.ProcessIdentity
	Clock     ports.Clock
	Audit     ports.AuditLog
}

// Timeouts of calls: a clone and a first start take the longest.
const (
	readTimeout   = time.Minute
	changeTimeout = 10 * time.Minute
)

// ReadSpec returns the spec of a tool that only reads.
func ReadSpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassRead, Effects: policy.Read | policy.Network, Timeout: readTimeout, Input: json.RawMessage(schema)}
}

// ChangeSpec returns the spec of a tool that starts, stops or creates something and destroys nothing. If only users confirm, each of its plans needs
// approval.
func ChangeSpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassWrite, Effects: policy.Read | policy.Write | policy.Exec | policy.Network, Human: policy.Simple, Timeout: changeTimeout,
		Input: json.RawMessage(schema)}
}

// DestroySpec returns the spec of a tool that can delete work.
func DestroySpec(title, description, schema string) tool.Spec {
	s := ChangeSpec(title, description, schema)
	s.Class, s.Effects = policy.ClassDangerous, s.Effects|policy.Delete
	return s
}

// MergeSpec returns the spec of a tool that moves a branch to existing work and runs nothing. If only users confirm, each of its plans needs
// approval.
func MergeSpec(title, description, schema string) tool.Spec {
	s := ChangeSpec(title, description, schema)
	s.Effects = policy.Read | policy.Write | policy.Network
	return s
}

// ConfirmWhen returns the tool with plans that may need no approval because they do nothing; when says in words when they do need it.
func ConfirmWhen(s tool.Spec, when string) tool.Spec {
	s.When = when
	return s
}

// Repeatable returns the tool marked as having no further effect when it is repeated.
func Repeatable(s tool.Spec) tool.Spec {
	s.Idempotent = true
	return s
}

// PlanConfirmsWhen returns a tool whose plans decide whether they need approval; when says that in words. What it creates is Countersign's own.
func PlanConfirmsWhen(s tool.Spec, when string) tool.Spec {
	s.Human, s.When = policy.None, when
	return s
}

// planLabel is the label of the plans' hashes.
const planLabel = "sandbox.plan.v1"

// Plan is what a tool will do. Its hash covers everything it shows.
type Plan = tool.BasicPlan

// ConfirmOptions says how a plan is to be approved.
type ConfirmOptions struct {
	Strength policy.Strength
	Human    policy.Strength // the minimum if only users confirm; the tool's own applies too
	Risk     policy.Risk     // high is never auto-approved
	Target   string          // what the user must type
	Nothing  bool            // there is nothing to do, and so nothing to approve
}

// NewPlan returns a plan of the named tool. context marshals to JSON without fractions; its member project, if any, is the name of the project.
func NewPlan(name tool.Name, summary string, context any, asks ConfirmOptions) (Plan, error) {
	shown, _ := context.(map[string]any)
	project, _ := shown["project"].(string)
	return tool.NewBasicPlan(planLabel, name, summary, context, tool.PlanOptions{About: project, Target: asks.Target, Nothing: asks.Nothing,
		Assessment: policy.Assessment{Strength: asks.Strength, Human: asks.Human, Risk: asks.Risk}})
}

// Begin returns what a call records before it begins to apply the plan.
func (d Deps) Begin(sc tool.Scope, p Plan, what, name string) (*sandbox.Operation, error) {
	shown, err := tool.Encode(p)
	return &sandbox.Operation{What: what, Sandbox: name, Owner: d.Owner.Self(), Since: d.Clock.Now(), Call: sc.CallID, Plan: string(shown)}, err
}

// Begun reports whether the audit log confirms the operation recorded in a project: a call of the matching tool was allowed with this very project
// and sandbox and has no outcome. After a failed call no other process continues, because its result said so.
func (d Deps) Begun(ctx context.Context, p sandbox.Project) (bool, error) {
	doing := p.Doing
	if doing == nil || doing.Plan == "" {
		return false, nil
	}
	var shown struct {
		Tool    tool.Name `json:"tool"`
		Context struct {
			URL       string `json:"git_url"`
			Base      string `json:"base_dir"`
			Name      string `json:"name"`
			Directory string `json:"directory"`
		} `json:"context"`
	}
	plan, err := canon.Sum(planLabel, json.RawMessage(doing.Plan))
	if err != nil || json.Unmarshal([]byte(doing.Plan), &shown) != nil {
		return false, nil //nolint:nilerr // an invalid plan was never allowed
	}
	about, box := shown.Context, p.Sandboxes[sandbox.SandboxKey(doing.Sandbox)]
	same := about.URL == p.URL.String()
	switch doing.What {
	case "destroy":
		same = same && shown.Tool == ProjectDestroy.Name && about.Base == d.Homes.Layout(p.Name, p.BaseDir).Base
	case "create":
		same = same && (shown.Tool == SandboxCreate.Name || shown.Tool == SandboxRestore.Name) && about.Name == doing.Sandbox && (box.Directory == "" || about.Directory == box.Directory)
	case "delete":
		same = same && (shown.Tool == SandboxDelete.Name || shown.Tool == SandboxArchive.Name) && about.Name == doing.Sandbox && (box.Directory == "" || about.Directory == box.Directory)
	case doingMerge:
		same = same && shown.Tool == SandboxMerge.Name && about.Name == doing.Sandbox
	case doingUpdate:
		same = same && shown.Tool == SandboxUpdate.Name && about.Name == doing.Sandbox
	default:
		same = false
	}
	if !same {
		return false, nil
	}
	stage, err := audit.FindStage(ctx, d.Audit.Search, doing.Call, plan)
	return err == nil && stage.UnderWay(), err
}

// URLInput names a project.
type URLInput struct {
	URL string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL (SSH or HTTPS; will be normalized)"`
}

// Resources returns the project.
func (in URLInput) Resources() []string { return []string{in.URL} }

// FoundProject is a project looked up by its URL.
type FoundProject struct {
	URL      git.URL
	CloneURL string
	Warnings []string
	Known    bool
	Project  sandbox.Project // zero if it is not recorded
	Layout   sandbox.Layout
	State    sandbox.State
}

// Find returns the project with a git URL in its present state. A project that is not recorded is not an error.
func (d Deps) Find(ctx context.Context, raw string) (FoundProject, error) {
	var f FoundProject
	var err error
	if f.URL, f.CloneURL, f.Warnings, err = d.Homes.Identify(ctx, raw); err != nil {
		return f, err
	}
	if f.State, err = d.Current(ctx); err != nil {
		return f, err
	}
	if f.Project, f.Known = f.State.Projects[f.URL.String()]; f.Known {
		f.Layout = d.Homes.Layout(f.Project.Name, f.Project.BaseDir)
	}
	return f, nil
}

// Must is Find for tools that need a recorded project. It fails with sandbox.ErrProjectNotFound.
func (d Deps) Must(ctx context.Context, raw string) (FoundProject, error) {
	f, err := d.Find(ctx, raw)
	if err == nil && !f.Known {
		err = sandbox.ErrProjectNotFound.WithMessage("no project is recorded for %s; opencode_project_start starts one, opencode_project_list lists the recorded projects", f.URL)
	}
	return f, err
}

// Current returns the recorded state, updated to what really runs: a server whose process is gone is stopped, whatever stopped it.
func (d Deps) Current(ctx context.Context) (sandbox.State, error) {
	state, err := d.States.Load(ctx)
	if err != nil || !d.outdated(ctx, state) {
		return state, err
	}
	return d.States.Update(ctx, func(s *sandbox.State) error {
		for key, p := range s.Projects {
			for box, server := range p.Servers() {
				if gone, why := d.Gone(ctx, server); gone {
					server.PID, server.ProcessID, server.Status, server.LastError = 0, "", sandbox.Stopped, why
					p.SetServer(box, server)
				}
			}
			s.Projects[key] = p
		}
		if gone, why := d.Gone(ctx, sandbox.Server{ProcessID: s.Gateway.ProcessID, Status: s.Gateway.Status}); gone {
			s.Gateway.PID, s.Gateway.ProcessID, s.Gateway.Status, s.Gateway.Error = 0, "", sandbox.Stopped, why
		}
		return nil
	})
}

func (d Deps) outdated(ctx context.Context, s sandbox.State) bool {
	for _, p := range s.Projects {
		for _, server := range p.Servers() {
			if gone, _ := d.Gone(ctx, server); gone {
				return true
			}
		}
	}
	gone, _ := d.Gone(ctx, sandbox.Server{ProcessID: s.Gateway.ProcessID, Status: s.Gateway.Status})
	return gone
}

// Gone reports whether a server is recorded as running but its process has ended, and why as far as that is known.
func (d Deps) Gone(ctx context.Context, s sandbox.Server) (bool, string) {
	if s.Status != sandbox.Running && s.Status != sandbox.Starting {
		return false, ""
	}
	if s.ProcessID == "" {
		return true, "its process is no longer known"
	}
	state, err := d.Processes.Inspect(ctx, process.ID(s.ProcessID))
	switch {
	case err != nil:
		return true, "its process is no longer known"
	case !state.Status.Final():
		return false, ""
	case state.Reason != "":
		return true, state.Reason
	}
	return true, "its process ended (" + state.Status.String() + ")"
}

// Away describes where an owner is that cannot be observed from here, as the end of a message; it returns "" for any other.
func (d Deps) Away(name string) string {
	if where := d.Owner.Elsewhere(name); where != "" {
		return "; it is " + where
	}
	return ""
}

// Tail returns the last lines of a process's output.
func (d Deps) Tail(ctx context.Context, id string, n int) string {
	chunk, err := d.Processes.Output(ctx, process.ID(id), process.TailCursor(n))
	if err != nil {
		return ""
	}
	lines := make([]string, 0, len(chunk.Lines))
	for _, l := range chunk.Lines {
		lines = append(lines, l.Text)
	}
	return strings.Join(lines, "\n")
}

// ActiveCount returns how many projects have a running server. It is counted each time, never stored.
func ActiveCount(s sandbox.State) int {
	return sandbox.RunningCount(s, func(s sandbox.Server) bool { return s.Status == sandbox.Running })
}
