package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// How long the tools may take: sources may have to be fetched, and many files written.
const (
	readTimeout   = 15 * time.Minute
	changeTimeout = 30 * time.Minute
)

// Report is the value of every tool, and what every plan shows.
type Report struct {
	Data     any      `json:"data"`
	Warnings []string `json:"warnings"`
}

// Reviewed says that people decide by reports: nothing in them is passed on unseen.
func (Report) Reviewed() {}

// ToolInfo is how a tool presents itself. Input is its published schema; empty, it is made from the table of package inputs.
type ToolInfo struct {
	Name               tool.Name
	Title, Description string
	Input              string
}

// Query is a tool that reads.
type Query func(ctx context.Context, sc tool.Scope, c Call) (any, error)

// Command is a tool that changes something: Commit makes the plan so that Prepare gave. A call with dry_run is a query that shows the
// plan, and claims no more than that.
type Command struct {
	NeedsYes bool         // refused at once without yes, whatever else is wrong
	Issuer   tool.Name    // of the tokens it needs; empty: its own yes approves it
	Class    policy.Class // zero is dangerous
	Own      bool         // it makes something of Countersign's own and loses nothing: no person need be asked
	When     string       // of which plans a person is asked, in words (tool.Spec)
	Prepare  func(ctx context.Context, sc tool.Scope, c Call) (tool.Plan, error)
	Commit   func(ctx context.Context, sc tool.Scope, c Call, p tool.Plan) (any, error)
}

// QueryEntry is the entry of a query.
func QueryEntry(a ToolInfo, run Query) tool.Entry {
	return tool.Entry{Spec: a.spec(policy.ClassRead, policy.Read|policy.Network, readTimeout), Handler: handler{name: a.Name, run: run}}
}

// CommandEntry is the entry of a command.
func CommandEntry(a ToolInfo, c Command) tool.Entry {
	if c.Class == policy.ClassUnknown {
		c.Class = policy.ClassDangerous
	}
	spec := a.spec(c.Class, changes(), changeTimeout)
	spec.Preview, spec.Approved, spec.When = c.Issuer, c.Issuer == "" && !c.Own, c.When
	if !c.Own {
		spec.Human = policy.Simple
	}
	if c.Issuer != "" {
		spec.Confirm = policy.Preview
	}
	return tool.Entry{Spec: spec, Handler: handler{name: a.Name, command: &c}}
}

func changes() policy.Effects { return policy.Read | policy.Write | policy.Delete | policy.Network }

func (a ToolInfo) spec(class policy.Class, effects policy.Effects, timeout time.Duration) tool.Spec {
	input := json.RawMessage(a.Input)
	if len(input) == 0 {
		input = InputSchema(a.Name)
	}
	return tool.Spec{Name: a.Name, Title: a.Title, Description: a.Description, Class: class, Effects: effects, Timeout: timeout, Input: input}
}

// handler reads a tool's arguments and runs it.
type handler struct {
	name    tool.Name
	run     Query
	command *Command
}

// Decode reads the arguments. Without yes a tool that needs it refuses before anything else is looked at (seed 000).
func (h handler) Decode(raw json.RawMessage) (tool.Invocation, error) {
	c, err := DecodeCall(h.name, raw)
	if err != nil {
		return nil, err
	}
	if h.command != nil && h.command.NeedsYes && !c.Yes && !c.DryRun {
		return nil, deployment.ErrYes
	}
	return invocation{h, c}, nil
}

type invocation struct {
	handler handler
	call    Call
}

// Claims of a dry run are those of a look.
func (i invocation) Claims() policy.Claims {
	if i.handler.command == nil || i.call.DryRun {
		return policy.Claims{Class: policy.ClassRead, Effects: policy.Read | policy.Network}
	}
	return policy.Claims{Class: i.handler.command.Class, Effects: changes()}
}

// Prepare makes the plan of a command.
func (i invocation) Prepare(ctx context.Context, sc tool.Scope) (tool.Plan, error) {
	if i.handler.command == nil {
		return nil, nil
	}
	return i.handler.command.Prepare(ctx, sc, i.call)
}

// Commit runs a query, shows the plan of a dry run, and carries out any other.
func (i invocation) Commit(ctx context.Context, sc tool.Scope, p tool.Plan) (any, error) {
	switch {
	case i.handler.command == nil:
		return i.handler.run(ctx, sc, i.call)
	case i.call.DryRun:
		return p, nil
	}
	return i.handler.command.Commit(ctx, sc, i.call, p)
}

// WithWarnings puts warnings that were gathered before a failure into its details, where the contract's presenter finds them.
func WithWarnings(err error, warnings []string) error {
	if len(warnings) == 0 {
		return err
	}
	f := fault.From(err)
	details := deployment.Details{"warnings": warnings}
	if given, ok := f.Details.(deployment.Details); ok {
		for name, value := range given {
			details[name] = value
		}
	} else if f.Details != nil {
		return err
	}
	return f.With(details)
}

// maxWarnings is how many warnings an answer carries.
const maxWarnings = 100

// UniqueWarnings is every warning once, in the order of their first appearance, and of very many the first and how many more there are; never nil.
func UniqueWarnings(lists ...[]string) []string {
	out, seen := []string{}, map[string]bool{}
	for _, w := range slices.Concat(lists...) {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	if more := len(out) - maxWarnings; more > 0 {
		out = append(out[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more warnings", more))
	}
	return out
}

// ReportProgress reports writes as steps of the call.
func ReportProgress(sc tool.Scope, what string) func(done, total int) {
	return func(done, total int) {
		sc.Progress(tool.Progress{Done: int64(done), Total: int64(total), Message: what})
	}
}
