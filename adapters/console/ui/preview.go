package ui

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// room is how many bytes of an answer a page takes that the user decides by: a plan of thousands of files is whole.
const room = 4 << 20

// Rehearse calls a tool so that it only shows what it would do, and waits for that: the call's mode is plan, whatever the session's is. Where the
// outcome says DryRun, its Value is the plan.
func (d *CallRunner) Rehearse(ctx context.Context, v httpauth.Visitor, name tool.Name, args any) tool.Outcome {
	return d.wide(ctx, v, name, args, policy.Plan)
}

// ReadWide is Read with Room for the answer.
func (d *CallRunner) ReadWide(ctx context.Context, v httpauth.Visitor, name tool.Name, args, into any) error {
	out := d.OutcomeWide(ctx, v, name, args)
	if out.Err != nil {
		return out.Err
	}
	if err := json.Unmarshal(out.Value, into); err != nil {
		return fault.ErrInternal.Sayf("the value of %s is not what this page expects", name).Because(err)
	}
	return nil
}

// OutcomeWide is Outcome with Room for the answer.
func (d *CallRunner) OutcomeWide(ctx context.Context, v httpauth.Visitor, name tool.Name, args any) tool.Outcome {
	return d.wide(ctx, v, name, args, policy.ModeUnset)
}

func (d *CallRunner) wide(ctx context.Context, v httpauth.Visitor, name tool.Name, args any, mode policy.Mode) tool.Outcome {
	doc, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{Err: fault.From(err)}
	}
	c := v.Call(name, doc)
	c.View = true
	c.MaxOutput, c.Mode = room, mode
	return d.core.Call(ctx, c)
}

// Next returns the path of the page that shows what has become of the job: the one to go back to when it is done, and its own page otherwise.
func (j *Job) Next() string { return j.next() }
