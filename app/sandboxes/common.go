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

// Deps is the dependencies of the tools. Every field is required.
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
	Owner     ports.Owner
	Clock     ports.Clock
	Audit     ports.AuditLog
}

// Timeouts of calls: a clone and a first start take the longest.
const (
	readTimeout   = time.Minute
	changeTimeout = 10 * time.Minute
)

// ReadSpec returns a tool that only reads.
func ReadSpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassRead, Effects: policy.Read | policy.Network, Timeout: readTimeout, Input: json.RawMessage(schema)}
}

// ChangeSpec returns a tool that starts, stops or makes something, and destroys nothing. Where only users confirm, each of its plans is asked about.
func ChangeSpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassWrite, Effects: policy.Read | policy.Write | policy.Exec | policy.Network, Human: policy.Simple, Timeout: changeTimeout,
		Input: json.RawMessage(schema)}
}

// DestroySpec returns a tool that can take work away.
func DestroySpec(title, description, schema string) tool.Spec {
	s := ChangeSpec(title, description, schema)
	s.Class, s.Effects = policy.ClassDangerous, s.Effects|policy.Delete
	return s
}

// MergeSpec returns a tool that moves a branch onto work that is there, and runs nothing. Where only users confirm, each of its plans is asked about.
func MergeSpec(title, description, schema string) tool.Spec {
	s := ChangeSpec(title, description, schema)
	s.Effects = policy.Read | policy.Write | policy.Network
	return s
}

// ConfirmWhen returns the tool with plans that do nothing, when is when they are not: nobody is asked about those.
func ConfirmWhen(s tool.Spec, when string) tool.Spec {
	s.When = when
	return s
}

// Repeatable returns the tool, as one that changes nothing further when it is called once more.
func Repeatable(s tool.Spec) tool.Spec {
	s.Idempotent = true
	return s
}

// PlanConfirmsWhen returns a tool whose plans say themselves whether users are asked, and when that is, in words: what it makes is Countersign's own.
func PlanConfirmsWhen(s tool.Spec, when string) tool.Spec {
	s.Human, s.When = policy.None, when
	return s
}

// planLabel is what the hashes of the plans are made under.
const planLabel = "sandbox.plan.v1"

// Plan is what a tool is about to do. Its hash is over everything it shows.
type Plan struct {
	tool.BasicPlan
	asks ConfirmOptions
}

// ConfirmOptions is how a plan wants to be confirmed.
type ConfirmOptions struct {
	Strength policy.Strength
	Human    policy.Strength // the least where only users confirm; the tool's own holds as well
	Risk     policy.Risk     // how much is at stake; high is never allowed beforehand
	Target   string          // what has to be typed
	Nothing  bool            // there is nothing to do, and so nothing to ask
}

// NewPlan returns a plan of the named tool. context marshals to JSON without fractions.
func NewPlan(name tool.Name, summary string, context any, asks ConfirmOptions) (Plan, error) {
	p, err := tool.NewBasicPlan(planLabel, name, summary, context, policy.Assessment{Strength: asks.Strength, Human: asks.Human, Risk: asks.Risk})
	return Plan{BasicPlan: p, asks: asks}, err
}

// Begin returns what a call writes down before it begins to carry out the plan.
func (d Deps) Begin(sc tool.Scope, p Plan, what, name string) (*sandbox.Operation, error) {
	shown, err := tool.Encode(p)
	return &sandbox.Operation{What: what, Sandbox: name, Owner: d.Owner.Self(), Since: d.Clock.Now(), Call: sc.CallID, Plan: string(shown)}, err
}

// Begun reports whether the audit knows what a project says is being done with it: that a call of the tool which does that was let through to do it with
// this very project and sandbox, and has no outcome: one that failed lets nobody go on, since its answer said so.
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
		return false, nil //nolint:nilerr // what is no plan nobody was let through with
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

// About returns the name of the project that the plan shows.
func (p Plan) About() string {
	shown, _ := p.Context.(map[string]any)
	name, _ := shown["project"].(string)
	return name
}

// Idle reports a plan with nothing to do.
func (p Plan) Idle() bool { return p.asks.Nothing }

// Target returns what has to be typed.
func (p Plan) Target() string { return p.asks.Target }

// URLInput names a project.
type URLInput struct {
	URL string `json:"git_url" jsonschema:"minLength=1,description=Git repository URL (SSH or HTTPS; will be normalized)"`
}

// Resources returns the project.
func (in URLInput) Resources() []string { return []string{in.URL} }

// FoundProject is a project that somebody named.
type FoundProject struct {
	URL      git.URL
	CloneURL string
	Warnings []string
	Known    bool
	Project  sandbox.Project // zero when it is not known
	Layout   sandbox.Layout
	State    sandbox.State
}

// Find returns the project that a git URL is about, as it stands now. One that is not recorded is not an error.
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

// Must is Find for tools that need a project that is recorded, or sandbox.ErrProjectNotFound.
func (d Deps) Must(ctx context.Context, raw string) (FoundProject, error) {
	f, err := d.Find(ctx, raw)
	if err == nil && !f.Known {
		err = sandbox.ErrProjectNotFound.Sayf("no project is recorded for %s; opencode_project_start starts one, opencode_project_list shows those there are", f.URL)
	}
	return f, err
}

// Current returns what is recorded, in line with what really runs: a server whose process is gone is stopped, whoever stopped it.
func (d Deps) Current(ctx context.Context) (sandbox.State, error) {
	state, err := d.States.Load(ctx)
	if err != nil || !d.outdated(ctx, state) {
		return state, err
	}
	return d.States.Update(ctx, func(s *sandbox.State) error {
		for key, p := range s.Projects {
			if gone, why := d.Gone(ctx, p.Server); gone {
				p.Server.PID, p.Server.ProcessID, p.Server.Status, p.Server.LastError = 0, "", sandbox.Stopped, why
				s.Projects[key] = p
			}
		}
		if gone, why := d.Gone(ctx, sandbox.Server{ProcessID: s.Gateway.ProcessID, Status: s.Gateway.Status}); gone {
			s.Gateway.PID, s.Gateway.ProcessID, s.Gateway.Status, s.Gateway.Error = 0, "", sandbox.Stopped, why
		}
		return nil
	})
}

func (d Deps) outdated(ctx context.Context, s sandbox.State) bool {
	for _, p := range s.Projects {
		if gone, _ := d.Gone(ctx, p.Server); gone {
			return true
		}
	}
	gone, _ := d.Gone(ctx, sandbox.Server{ProcessID: s.Gateway.ProcessID, Status: s.Gateway.Status})
	return gone
}

// Gone reports a server that is recorded as running and whose process has ended, and why as far as that is known.
func (d Deps) Gone(ctx context.Context, s sandbox.Server) (bool, string) {
	if s.Status != sandbox.Running && s.Status != sandbox.Starting {
		return false, ""
	}
	if s.ProcessID == "" {
		return true, "its process is not known any more"
	}
	state, err := d.Processes.Inspect(ctx, process.ID(s.ProcessID))
	switch {
	case err != nil:
		return true, "its process is not known any more"
	case !state.Status.Final():
		return false, ""
	case state.Reason != "":
		return true, state.Reason
	}
	return true, "its process ended (" + state.Status.String() + ")"
}

// Away says of an owner that cannot be seen from here where it is, as the end of a message; nothing of any other.
func (d Deps) Away(name string) string {
	if where := d.Owner.Elsewhere(name); where != "" {
		return "; it is " + where
	}
	return ""
}

// Tail returns the last lines a process printed.
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

// ActiveCount returns how many projects' servers run. It is counted, never kept.
func ActiveCount(s sandbox.State) int {
	n := 0
	for _, p := range s.Projects {
		if p.Server.Status == sandbox.Running {
			n++
		}
	}
	return n
}
