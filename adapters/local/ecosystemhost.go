package local

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/forge"
	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/app/ecosystems"
	"github.com/countersign-dev/countersign/app/ecosystems/commands"
	"github.com/countersign-dev/countersign/app/ecosystems/environment"
	"github.com/countersign-dev/countersign/app/ecosystems/push"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	appruns "github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// EcosystemOptions are where things are, and how runs are carried out. All but Dir, Worker and Supervisor are required.
type EcosystemOptions struct {
	Core       app.Dependencies
	Operator   policy.Policy       // as the server was started
	Version    string              // of the product
	Env        func(string) string // variables of this process
	Home       string              // the home directory
	State      string              // directory of Countersign's own state
	Dir        string              // stands for the working directory
	Worker     []string            // a program, absolute, with arguments before --root and --ecosystem that make it call Drain; without one this process does
	Supervisor []string            // a program, absolute, with arguments that make it call Supervise
}

// EcosystemHost is the ecosystems of this machine; New makes it.
type EcosystemHost struct {
	options EcosystemOptions
	deps    ecosystems.Deps
	table   ports.Processes // of workers and services
	atClose func() error
}

// NewEcosystemHost opens nothing.
func NewEcosystemHost(o EcosystemOptions) *EcosystemHost {
	h := &EcosystemHost{options: o, atClose: func() error { return nil }}
	h.deps = h.assembled()
	return h
}

// Close waits for the runs in this process.
func (h *EcosystemHost) Close() error { return h.atClose() }

// Capability returns the toolset.
func (h *EcosystemHost) Capability() tool.Capability {
	c := ecosystems.Capability(h.deps)
	c.Mode, c.Ceiling = h.modes()
	return c
}

// EcosystemToolset is the toolset's name.
const EcosystemToolset = ecosystems.Name

// Over returns the options of a core that enables the toolset: if its settings say so, only the user may approve, in the client's form or in a
// terminal (amof contract §14, rule 6), and approval requests expire as the settings say (§20.8) unless the server configuration sets the time.
func (h *EcosystemHost) Over(o app.Options) app.Options {
	s, err := h.deps.Basis.Places.Settings(context.Background())
	if err != nil {
		return o // nothing of the toolset changes anything then
	}
	// This widens nothing and enables no form: users approve unless policy says otherwise (consent design, section 5).
	if s.Confirm == "token" {
		h.options.Core.Log.Warn("AMOF_CONFIRM=token is ignored: the user approves, unless a stored setting or the system policy changes that (countersign policy approval caller)")
	}
	if o.ConfirmTTL == 0 {
		o.ConfirmTTL = time.Duration(s.TokenTTLSeconds) * time.Second
	}
	return o
}

// modes returns the toolset's default mode, and its maximum mode (amof contract §11 and §20.8). Settings that cannot be read allow no change.
func (h *EcosystemHost) modes() (mode, ceiling policy.Mode) {
	s, err := h.deps.Basis.Places.Settings(context.Background())
	if err != nil {
		return policy.Ask, policy.Ask
	}
	mode, ceiling = policy.Ask, policy.Execute
	if s.DefaultMode != "" && mode.UnmarshalText([]byte(s.DefaultMode)) != nil || s.MaxMode != "" && ceiling.UnmarshalText([]byte(s.MaxMode)) != nil {
		return policy.Ask, policy.Ask
	}
	return mode, ceiling
}

// assembled returns what the tools work with.
func (h *EcosystemHost) assembled() ecosystems.Deps {
	a, core := h.adapters(), h.options.Core
	h.table = a.processes
	if waiting, ok := a.workers.(io.Closer); ok {
		h.atClose = waiting.Close
	}
	runs := a.files.Runs()
	states := appruns.AuditedStates{States: a.files.States(), Audit: core.Audit, Clock: core.Clock, Operations: []string{push.OperationNote, workspace.OperationNote, workspace.MergeNote, releases.OperationNote}}
	b := appruns.Deps{Places: a.files, Manifests: a.files, States: states, Runs: runs, Workers: a.workers, Sessions: core.Sessions, Owner: core.Owner,
		Clock: core.Clock, UUIDs: system.IDs{},
		Settle: func(ctx context.Context, l ecosystem.Layout) error { return h.worker().Settle(ctx, l) }}
	controlDeps := control.Deps{Clock: core.Clock, Ledger: core.Ledger, Bell: core.Bell, Runs: core.Runs, Audit: core.Audit, Sessions: core.Sessions, Settings: core.Settings, Operator: h.options.Operator,
		Toolsets: func() []tool.Toolset { return nil }, Ceiling: func() policy.Mode {
			_, ceiling := h.modes()
			return ceiling
		}, Default: func() policy.Mode {
			mode, _ := h.modes()
			return mode
		}}
	standing := control.SessionStatusOf(controlDeps)
	return ecosystems.Deps{Basis: b, Control: control.AMOFTools(controlDeps),
		Browsing: ecosystems.InfoDeps{Deps: b, Surveyor: a.surveyor, Gate: func(ctx context.Context, sc tool.Scope) (ecosystems.ModeGate, error) {
			s, err := standing(ctx, sc)
			return ecosystems.ModeGate{Mode: s.Mode.String(), MaxMode: s.Ceiling.String(), Pending: s.Pending}, err
		}},
		Installing: workspace.InstallDeps{Deps: b, Grounds: a.clones, Clones: a.clones.Clones(), Trash: a.trash, Tickets: workspace.WorktreeEnsurer{Work: a.tickets}},
		Ticketing:  workspace.TicketDeps{Deps: b, Work: a.tickets, Surveyor: a.surveyor, Merges: a.tickets, Pushes: a.pushes, Forge: forge.Programs{}},
		Shipping:   push.Deps{Deps: b, Git: a.pushes, Trash: a.trash, Releases: a.releases, Forge: forge.Programs{}},
		Spinning:   environment.Deps{Deps: b, Provisioners: a.finder, Surveyor: a.surveyor, Processes: a.processes, Code: projectfile.Reader{Parser: projectfile.Parser{}}},
		Releasing:  releases.Deps{Deps: b, Git: a.releases, Forge: forge.Programs{}},
		Commanding: commands.Deps{Deps: b, Surveyor: a.surveyor, Git: a.releases, Processes: a.processes, Code: projectfile.Reader{Parser: projectfile.Parser{}}, Inherited: a.finder.Inherited},
		Running:    appruns.QueueDeps{Deps: b, Watch: a.watch, Server: ecosystemfile.NewControlPlane(h.options.Version, core.Clock), Audit: core.Audit}}
}

// worker carries out the runs of ecosystems.
func (h *EcosystemHost) worker() appruns.Worker {
	return appruns.Worker{QueueDeps: h.deps.Running, Performers: ecosystems.Performers(h.deps)}
}

// Drain carries out the queued runs of an ecosystem until none is left.
func (h *EcosystemHost) Drain(ctx context.Context, root, name string) error {
	return h.worker().Drain(ctx, root, name)
}

// Recover ends the processes that ended workers left running, and starts a worker for queued runs without one and for runs whose process is gone. It
// is fast if there is nothing to do.
func (h *EcosystemHost) Recover(ctx context.Context) error {
	_, err := h.table.Recover(ctx)
	return errors.Join(err, h.worker().Recover(ctx))
}
