// Package control is the toolset control: the session's mode, pending approvals, the effective policy, the toolsets, and the newest records of the audit
// log. Its tools run in every mode and need no approval themselves. confirm only repeats a call, which policy checks again.
//
// Contract countersign.v1: a success is the tool's JSON value; a failure is {error, kind, code, message, details?, confirmation?}.
package control

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// Name is the toolset's name; the toolset is always enabled.
const Name = tool.ControlToolset

// Contract is the contract of these tools.
const Contract tool.Contract = "countersign.v1"

// Deps holds the ports and settings of the control tools. Every field is required, except Leases and those whose comment says otherwise.
type Deps struct {
	Clock    ports.Clock
	Ledger   ports.ApprovalStore
	Runs     ports.Runs
	Audit    ports.AuditLog
	Sessions ports.Sessions
	Settings ports.SettingsStore
	Owner    ports.ProcessIdentity
	Leases   ports.Leases          // nil: owners cannot be forgotten
	Bell     ports.Bell            // wakes the calls that wait for a cancelled request; nil: they poll
	Operator policy.Policy         // as the server was started
	Toolsets func() []tool.Toolset // of the assembled App
	// Rules returns the policy of these settings combined with every other layer; if nil, Operator and the settings alone apply.
	Rules   func(ctx context.Context, s ports.Settings) (policy.Resolved, error)
	Forms   func(ctx context.Context) ([]string, error) // the host entries whose own form may approve; nil: none
	Base    func() policy.Mode                          // the lowest default mode of the enabled toolsets; nil is execute
	Ceiling func() policy.Mode                          // maximum mode of the toolset that has these tools under its own names; nil is the server's
	Default func() policy.Mode                          // that toolset's default mode; nil is ask
	// Credentials manages credentials; nil leaves create_credential out.
	Credentials Credentials
	// Backups makes and restores backups of the home; nil leaves create_backup and restore_backup out.
	Backups ports.Backups
	// Keys manages the enrolled keys; nil leaves enroll_key and remove_key out.
	Keys Keys
}

// The typed handles.
var (
	SetMode           = tool.Ref[SetModeInput, ModeAnswer]{Name: "set_mode"}
	Confirm           = tool.Ref[ConfirmInput, ConfirmAnswer]{Name: "confirm"}
	CancelConfirm     = tool.Ref[CancelInput, CancelAnswer]{Name: "cancel_confirm"}
	ListConfirmations = tool.Ref[NoInput, ConfirmationList]{Name: "list_confirmations"}
	GetPolicy         = tool.Ref[NoInput, PolicyAnswer]{Name: "get_policy"}
	ListToolsets      = tool.Ref[NoInput, ToolsetList]{Name: "list_toolsets"}
	AuditTail         = tool.Ref[TailInput, AuditList]{Name: "audit_tail"}
)

// NoInput is the input of a tool without arguments.
type NoInput struct{}

// ConfirmationList is the pending approval requests of this session.
type ConfirmationList struct {
	Count         int            `json:"count"`
	Confirmations []confirm.View `json:"confirmations"`
}

// ToolsetList is every toolset of the process.
type ToolsetList struct {
	Toolsets []tool.Toolset `json:"toolsets"`
}

// TailInput says how many records audit_tail shows.
type TailInput struct {
	Limit int `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200,description=how many records (default 20)"`
}

// AuditList is the last records, oldest first.
type AuditList struct {
	Count   int            `json:"count"`
	Records []audit.Record `json:"records"`
}

const defaultTail = 20

// Capability returns the toolset control.
func Capability(d Deps) tool.Capability {
	s := service{d}
	read := func(input, title, description string) tool.Spec {
		return tool.Spec{Title: title, Description: description, Class: policy.ClassRead, Effects: policy.Read, Input: json.RawMessage(input)}
	}
	note := func(input, title, description string) tool.Spec {
		return tool.Spec{Title: title, Description: description, Class: policy.ClassScratch, Effects: policy.Read, Input: json.RawMessage(input)}
	}
	answer := note(confirmSchema, "Confirm", "Answer a pending confirmation with its token: approve repeats exactly the call that was shown and returns its result, "+
		"deny withdraws it, always also approves this tool for the rest of the session.")
	answer.RunsOtherCalls = true
	all := []tool.Entry{
		bind.Command(SetMode, raised(note(setModeSchema, "Set mode", "Set how far this session may go: ask (changes are refused), plan (changes are dry runs) or execute. "+
			"Never above the operator's ceiling; lowering it cancels pending confirmations, and a person is asked about raising it above the default.")), s.planMode, s.setMode),
		bind.Command(ChangeSettings, settingsSpec(), s.planSettings, s.saveSettings),
		bind.Query(Confirm, answer, s.confirm),
		bind.Query(CancelConfirm, note(cancelSchema, "Cancel confirmation", "Withdraw a pending confirmation of this session, by its id or token."), s.cancel),
		bind.Query(ListConfirmations, read(noSchema, "List confirmations", "List this session's confirmations that wait for an answer, with their plans."), s.list),
		bind.Query(GetPolicy, read(noSchema, "Get policy", "Show the policy in force here: mode, ceiling, permission level, per-tool settings, auto-approval."), s.policy),
		bind.Query(ListToolsets, read(noSchema, "List toolsets", "List the toolsets of this server and which of their tools are served."),
			func(context.Context, tool.Scope, NoInput) (ToolsetList, error) {
				return ToolsetList{Toolsets: d.Toolsets()}, nil
			}),
		bind.Command(TryApproval, trySpec(), s.planTry, s.try),
		bind.Query(AuditTail, read(tailSchema, "Audit tail", "Show the last audit records: who asked for what, what was decided and what came of it."), s.tail),
	}
	if d.Leases != nil {
		all = append(all, bind.Command(ForgetOwner, ownerSpec(), s.planOwner, s.forgetOwner))
	}
	if d.Credentials != nil {
		all = append(all, bind.Command(CreateCredential, credentialSpec(), s.planCredential, s.createCredential))
	}
	if d.Keys != nil {
		all = append(all, bind.Command(EnrollKey, enrollSpec(), s.planKey, s.enrollKey), bind.Command(RemoveKey, removeKeySpec(), s.planKeyRemoval, s.removeKey))
	}
	if d.Backups != nil {
		all = append(all, bind.Command(CreateBackup, backupSpec(), s.planBackup, s.createBackup), bind.Command(RestoreBackup, restoreSpec(), s.planRestore, s.restoreBackup))
	}
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute, Entries: all}
}

// raised says when a tool that sets the mode needs approval.
func raised(s tool.Spec) tool.Spec {
	s.When = "when it raises the mode above the default"
	return s
}

type service struct{ Deps }

func (s service) list(ctx context.Context, sc tool.Scope, _ NoInput) (ConfirmationList, error) {
	grants, err := s.Ledger.Pending(ctx, ports.PendingFilter{Session: sc.Session}, s.Clock.Now())
	own := make([]confirm.Request, 0, len(grants))
	for _, g := range grants {
		if g.Binding.Principal == sc.Principal.ID {
			own = append(own, g)
		}
	}
	views := confirm.Views(own)
	return ConfirmationList{Count: len(views), Confirmations: views}, err
}

func (s service) tail(ctx context.Context, _ tool.Scope, in TailInput) (AuditList, error) {
	n := in.Limit
	if n == 0 {
		n = defaultTail
	}
	records, err := s.Audit.Tail(ctx, n)
	if records == nil {
		records = []audit.Record{}
	}
	return AuditList{Count: len(records), Records: records}, err
}
