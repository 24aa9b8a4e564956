package ecosystems

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// InfoDeps is what the tools work with. Every field but Gate is required.
type InfoDeps struct {
	runs.Deps
	Surveyor ecosystemport.Surveyor
	// Gate returns the maximum mode of a call's session. Without it amof_scope_info reports the session's and the settings' values.
	Gate func(ctx context.Context, sc tool.Scope) (ModeGate, error)
}

// ModeGate returns the mode of a session and its maximum, as the core decides them.
type ModeGate struct {
	Mode    string // ask, plan or execute: of a call that says none
	MaxMode string
	Pending int // confirmations that wait
}

// The typed handles.
var (
	List          = tool.Ref[ListInput, EcosystemList]{Name: "amof_list_ecosystems"}
	Describe      = tool.Ref[runs.EcosystemInput, Description]{Name: "amof_describe_ecosystem"}
	Status        = tool.Ref[runs.EcosystemInput, StatusAnswer]{Name: "amof_get_ecosystem_status"}
	Validate      = tool.Ref[ValidateInput, Validation]{Name: "amof_validate_manifest"}
	Create        = tool.Ref[CreateInput, Created]{Name: "amof_create_ecosystem"}
	CreateJournal = tool.Ref[JournalInput, JournalAnswer]{Name: "amof_create_journal"}
	Switch        = tool.Ref[SwitchInput, Switched]{Name: "amof_switch_ecosystem"}
	UseAlias      = tool.Ref[SwitchInput, Switched]{Name: "amof_use_ecosystem"}
	ScopeInfo     = tool.Ref[InfoNoInput, ScopeAnswer]{Name: "amof_scope_info"}
	ScopeBack     = tool.Ref[InfoNoInput, ScopeAnswer]{Name: "amof_scope_back"}
	ScopeGlobal   = tool.Ref[InfoNoInput, ScopeAnswer]{Name: "amof_scope_global"}
	Use           = tool.Ref[SelectInput, Selected]{Name: "ecosystem_use"}
)

// InfoNoInput is the input of a tool without arguments.
type InfoNoInput struct{}

type service struct{ InfoDeps }

// InfoEntries returns the tools; the last is for users only.
func InfoEntries(d InfoDeps) []tool.Entry {
	s := service{d}
	keep := runs.SessionSpec("Select default ecosystem", "Select the ecosystem that calls in this workspace are about when they name none, for all sessions; none unselects it.", selectSchema)
	keep.Effects, keep.UserOnly = keep.Effects|policy.Write, true
	return slices.Concat(s.looks(), []tool.Entry{
		bind.Query(Switch, runs.SessionSpec("Switch ecosystem", "Select the ecosystem that calls of this session are about when they name none.", switchSchema), s.switchTo),
		bind.Query(UseAlias, runs.SessionSpec("Use ecosystem", "Select an ecosystem: amof_switch_ecosystem under its older name.", switchSchema), s.switchTo),
		bind.Query(ScopeBack, runs.SessionSpec("Scope back", "Go back to what this session worked on before.", infoNoSchema), s.back),
		bind.Query(ScopeGlobal, runs.SessionSpec("Scope global", "Work on no ecosystem in particular.", infoNoSchema), s.global),
		bind.Command(Create, runs.SafeWriteSpec("Create ecosystem", "Create an ecosystem: a named manifest of several git repositories. Clones nothing; amof_install_ecosystem does.", createSchema),
			s.planCreate, s.create),
		bind.Command(CreateJournal, runs.SafeWriteSpec("Create journal entry", "Write an entry into the ecosystem's journal.", journalSchema), s.planJournal, s.journal),
		bind.Direct(Use, keep, s.keep),
	})
}

// looks returns the tools that only read.
func (s service) looks() []tool.Entry {
	return []tool.Entry{
		bind.Query(List, runs.ReadSpec("List ecosystems", "List the ecosystems of this workspace: repositories, whether installed, active ticket.", listSchema), s.list),
		bind.Query(Describe, runs.ReadSpec("Describe ecosystem", "Show what an ecosystem's manifest says, with its defaults.", ecosystemSchema), s.describe),
		bind.Query(Status, runs.ReadSpec("Ecosystem status", "Show branch, commit, changes and unpushed commits of every repository of an installed ecosystem. Asks no remote.", ecosystemSchema), s.status),
		bind.Query(Validate, runs.ReadSpec("Validate manifest", "Check an ecosystem's manifest; every problem with its place and the way out. strict counts warnings as errors.", validateSchema), s.validate),
		bind.Query(ScopeInfo, runs.ReadSpec("Scope info", "Show what this session works on, and how far it may go.", infoNoSchema), s.scopeInfo),
	}
}
