package app

import (
	"context"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// RunFilter selects call records. Zero fields select everything.
type RunFilter = ports.RunFilter

// Calls returns the call records that the filter selects, newest first. Records with an expired approval are denied first, and those of processes that ended
// have failed.
func (a *App) Calls(ctx context.Context, f RunFilter) ([]tool.Record, error) {
	return a.runs.List(ctx, f)
}

// CallRecord returns the record of that call or approval request. It fails with tool.ErrRecordUnknown.
func (a *App) CallRecord(ctx context.Context, id string) (tool.Record, error) {
	return a.runs.Load(ctx, id)
}

// kept reports whether the call gets a call record: it asks to change something. If its arguments cannot be decoded, the tool decides.
func (r *run) kept() bool {
	s := r.entry.Spec
	if r.invocation == nil {
		return s.Class >= policy.ClassWrite && !s.Reads(r.call.Args)
	}
	return r.claims.Class >= policy.ClassWrite
}

// runRecord returns the record of this call, in the given status.
func (r *run) runRecord(status tool.Status) tool.Record {
	c := r.call
	rec := tool.Record{CallID: c.ID, Tool: string(c.Tool), Status: status, Args: r.mask.Args(r.call.Args), At: r.begun, Risk: r.assessment.Risk,
		ConfirmationID: r.grantID, Toolset: r.entry.Spec.Toolset, Session: c.Session, Principal: c.Principal.ID, Client: r.mask.Text(c.Client)}
	if p, ok := r.plan.(tool.Prompter); ok {
		rec.What = r.mask.Text(p.Prompt())
	}
	return rec
}

// start records that the call is applied now. If that fails, nothing is changed.
func (r *run) start(ctx context.Context) error {
	if !r.kept() {
		return nil
	}
	rec := r.runRecord(tool.StatusExecuting)
	if rec.Decision = r.decision.Rule; r.decision.Verdict == policy.Confirm {
		rec.Decision = r.answerer
	}
	if r.decision.Rule == policy.RuleDated {
		rec.Decision += " " + r.lets
	}
	err := r.app.runs.Start(ctx, rec)
	r.started = err == nil
	return err
}

// pend records that the call waits for that approval request. It does so before a decision is possible, so that none arrives before the record.
func (r *run) pend(ctx context.Context, g confirm.Request) {
	if !r.kept() {
		return
	}
	rec := r.runRecord(tool.StatusPendingConfirmation)
	rec.ConfirmationID, rec.ExpiresAt, rec.What = g.ID, g.ExpiresAt, g.Prompt
	r.app.runs.Note(ctx, rec)
}

// keep records the end of the call: the result if it was applied, otherwise why it was not. A call that asked for approval is already recorded. A
// redemption that was refused leaves the record of its approval request unchanged: the approval is still valid for the plan that was shown.
func (r *run) keep(ctx context.Context, value any) {
	if !r.kept() || r.out.Explained || r.out.Err == nil && !r.started {
		return
	}
	result, reason := CallResult(r.out, value)
	if r.started {
		if err := r.app.runs.Finish(ctx, r.call.ID, result, reason); err != nil {
			r.out.Warnings = append(r.out.Warnings, "the result of this call could not be recorded: "+fault.From(err).Message)
		}
		return
	}
	rec := r.runRecord(tool.StatusFailed)
	switch kind := fault.From(r.out.Err).Kind; {
	case r.asks && r.out.Request == nil:
		r.app.runs.Refuse(ctx, r.call.ID, result)
		return
	case r.decision.Verdict == policy.Deny && r.decision.Rule != "":
		rec.Status, rec.Reason, rec.Decision = tool.StatusDenied, tool.ReasonPolicy, r.decision.Rule
	case r.redeems() || kind == fault.Unconfirmed:
		return
	default:
		if rec.Result, rec.Reason = &result, reason; reason == tool.ReasonErrored {
			rec.Reason = tool.ReasonRejected
		}
	}
	r.app.runs.Note(ctx, rec)
}
