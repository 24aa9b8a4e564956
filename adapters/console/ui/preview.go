package ui

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// room is the maximum size, in bytes, of an answer that the user bases a decision on: enough for a complete plan of thousands of files.
const room = 4 << 20

// Rehearse calls a tool in mode plan, whatever the session's mode, and waits for the outcome. If the outcome says DryRun, its Value is the plan.
func (d *CallRunner) Rehearse(ctx context.Context, v httpauth.Identity, name tool.Name, args any) tool.Outcome {
	return d.wide(ctx, v, name, args, policy.Plan)
}

// ReadWide is Read with the larger limit room for the answer.
func (d *CallRunner) ReadWide(ctx context.Context, v httpauth.Identity, name tool.Name, args, into any) error {
	out := d.OutcomeWide(ctx, v, name, args)
	if out.Err != nil {
		return out.Err
	}
	if err := json.Unmarshal(out.Value, into); err != nil {
		return fault.ErrInternal.WithMessage("the value of %s is not what this page expects", name).WithCause(err)
	}
	return nil
}

// OutcomeWide is Outcome with the larger limit room for the answer.
func (d *CallRunner) OutcomeWide(ctx context.Context, v httpauth.Identity, name tool.Name, args any) tool.Outcome {
	return d.wide(ctx, v, name, args, policy.ModeUnset)
}

func (d *CallRunner) wide(ctx context.Context, v httpauth.Identity, name tool.Name, args any, mode policy.Mode) tool.Outcome {
	doc, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{Err: fault.From(err)}
	}
	c := v.Call(name, doc)
	c.View = true
	c.MaxOutput, c.Mode = room, mode
	return d.core.Call(ctx, c)
}

// Next returns the path of the page that shows the result of the job: the page to go back to if it is done, otherwise the job's own.
func (j *Job) Next() string { return j.next() }
