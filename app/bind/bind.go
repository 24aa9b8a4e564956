// Package bind turns typed Go functions into tools: it derives the published schema from the input type, checks every call against that schema, and
// decodes the arguments strictly into the type. It depends on no tool.
package bind

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Optional methods of an input type.
type (
	// Validator checks what a schema cannot express.
	Validator interface{ Validate() error }
	// Resourceful names what the call touches, for settings and the audit log.
	Resourceful interface{ Resources() []string }
	// Claimant claims less than its tool may do, where a tool's actions differ.
	Claimant interface {
		Claims() (policy.Class, policy.Effects)
	}
	// Moded sets the mode of this call: ask, plan, execute, or empty.
	Moded interface{ CallMode() string }
	// DryRunner is a command's input that can ask for a dry run. Such a call claims only to read and returns its plan.
	DryRunner interface{ OnlyPlans() bool }
	// Lenient is the input of a contract that publishes more than it enforces: null is an absent argument, calls are checked against the schema of
	// the type instead of the published one, and Refused returns the contract's error for arguments that have these problems. The input is decoded as
	// far as possible. If Refused returns nil, the call continues.
	Lenient interface {
		Refused(of tool.Name, problems []Problem) error
	}
)

// Query makes a tool that only reads. It panics, at wiring, if the spec claims a change.
func Query[In, Out any](ref tool.Ref[In, Out], s tool.Spec, run func(context.Context, tool.Scope, In) (Out, error)) tool.Entry {
	if s.Effects&policy.Mutating != 0 {
		panic("bind.Query: " + string(ref.Name) + " claims to change something")
	}
	return entry(ref.Name, answers[Out](s), behaviour{
		fresh: func() any { return new(In) },
		commit: func(ctx context.Context, sc tool.Scope, in any, _ tool.Plan) (any, error) {
			return run(ctx, sc, *in.(*In))
		},
	})
}

// Command makes a tool that changes something: prepare computes the plan and changes nothing, commit applies exactly that plan. It panics, at wiring, if the
// spec claims no change.
func Command[In any, P tool.Plan, Out any](ref tool.Ref[In, Out], s tool.Spec,
	prepare func(context.Context, tool.Scope, In) (P, error), commit func(context.Context, tool.Scope, P) (Out, error)) tool.Entry {
	if s.Effects&policy.Mutating == 0 && s.Class != policy.ClassScratch {
		panic("bind.Command: " + string(ref.Name) + " claims no change")
	}
	return entry(ref.Name, answers[Out](s), behaviour{
		fresh: func() any { return new(In) },
		prepare: func(ctx context.Context, sc tool.Scope, in any) (tool.Plan, error) {
			p, err := prepare(ctx, sc, *in.(*In))
			if err != nil {
				return nil, err
			}
			return p, nil
		},
		commit: func(ctx context.Context, sc tool.Scope, _ any, p tool.Plan) (any, error) {
			return commit(ctx, sc, p.(P))
		},
	})
}

// Direct makes a tool whose plan is its arguments.
func Direct[In, Out any](ref tool.Ref[In, Out], s tool.Spec, run func(context.Context, tool.Scope, In) (Out, error)) tool.Entry {
	return entry(ref.Name, answers[Out](s), behaviour{
		fresh:   func() any { return new(In) },
		prepare: func(_ context.Context, _ tool.Scope, in any) (tool.Plan, error) { return newArguments(ref.Name, in) },
		commit: func(ctx context.Context, sc tool.Scope, in any, _ tool.Plan) (any, error) {
			return run(ctx, sc, *in.(*In))
		},
	})
}

// answers returns the spec with the schema of its result, unless it already has one.
func answers[Out any](s tool.Spec) tool.Spec {
	if s.Output == nil {
		s.Output = Output[Out]()
	}
	return s
}

// behaviour holds a tool's functions over its input behind an interface. As generic code the rest of a tool would be compiled again for every type,
// which was half a megabyte.
type behaviour struct {
	fresh   func() any                                                // a pointer to a new input
	prepare func(context.Context, tool.Scope, any) (tool.Plan, error) // on that pointer; nil is a query
	commit  func(context.Context, tool.Scope, any, tool.Plan) (any, error)
}

func entry(name tool.Name, s tool.Spec, b behaviour) tool.Entry {
	s.Name = name
	if len(s.Input) == 0 {
		s.Input = schemaOf(b.fresh())
	}
	doc := NewDocument(s.Input)
	_, lenient := b.fresh().(Lenient)
	if lenient {
		doc = &Document{compiled: sync.OnceValues(func() (*compiled, error) { return compile(schemaOf(b.fresh())) })}
	}
	if s.TakesToken() && !lenient {
		s.Input = withConfirmation(s.Input)
	}
	return tool.Entry{Spec: s, Handler: &handler{name: name, class: s.Class, effects: s.Effects, doc: doc, behaviour: b}}
}

type handler struct {
	behaviour
	name    tool.Name
	class   policy.Class
	effects policy.Effects
	doc     *Document
}

// Decode checks the arguments against the published schema, reports all problems at once, decodes them and calls the type's Validate.
func (h *handler) Decode(args json.RawMessage) (tool.Invocation, error) {
	in := h.fresh()
	if l, ok := in.(Lenient); ok {
		if err := h.leniently(args, in, l); err != nil {
			return nil, err
		}
	} else {
		if err := h.doc.Check(args); err != nil {
			return nil, err
		}
		if err := decode(args, in); err != nil {
			return nil, err
		}
	}
	if v, ok := in.(Validator); ok {
		if err := v.Validate(); err != nil {
			return nil, err
		}
	}
	return invocation{handler: h, in: in}, nil
}

// leniently checks and decodes arguments by the rules of Lenient.
func (h *handler) leniently(args json.RawMessage, in any, l Lenient) error {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(args)) > 0 && json.Unmarshal(args, &given) != nil {
		return tool.ErrArguments.WithMessage("the arguments of %s must be a JSON object", h.name)
	}
	problems, err := h.doc.problems(given)
	if err != nil {
		return err
	}
	if args, err = tool.Encode(given); err != nil { // missing arguments are an object now
		return tool.ErrArguments.WithCause(err)
	}
	if len(problems) == 0 {
		return decode(args, in)
	}
	_ = json.Unmarshal(args, in) // a value with problems stays as it was
	return l.Refused(h.name, problems)
}

// invocation is a decoded call; in points to its input.
type invocation struct {
	handler *handler
	in      any
}

func (i invocation) Claims() policy.Claims {
	c := policy.Claims{Class: i.handler.class, Effects: i.handler.effects}
	if r, ok := i.in.(Resourceful); ok {
		c.Resources = r.Resources()
	}
	if k, ok := i.in.(Claimant); ok {
		c.Class, c.Effects = k.Claims()
	}
	if i.onlyPlans() {
		c.Class, c.Effects = policy.ClassRead, policy.Read|c.Effects&policy.Network
	}
	return c
}

// onlyPlans reports whether a command's call asks for its plan only.
func (i invocation) onlyPlans() bool {
	d, ok := i.in.(DryRunner)
	return ok && i.handler.prepare != nil && d.OnlyPlans()
}

// CallMode returns the mode that the input sets (tool.ModeSelector).
func (i invocation) CallMode() string {
	if m, ok := i.in.(Moded); ok {
		return m.CallMode()
	}
	return ""
}

func (i invocation) Prepare(ctx context.Context, s tool.Scope) (tool.Plan, error) {
	if i.handler.prepare == nil {
		return nil, nil
	}
	return i.handler.prepare(ctx, s, i.in)
}

func (i invocation) Commit(ctx context.Context, s tool.Scope, p tool.Plan) (any, error) {
	if i.onlyPlans() {
		return p, nil
	}
	value, err := i.handler.commit(ctx, s, i.in, p)
	if err != nil { // next to an error, a typed zero is not a value
		return nil, err
	}
	return value, nil
}

// arguments is a plan that is the call's own input.
type arguments struct {
	Tool  tool.Name       `json:"tool"`
	Input json.RawMessage `json:"input"`
	hash  canon.Hash
}

func newArguments(name tool.Name, in any) (tool.Plan, error) {
	doc, err := canon.Marshal(in)
	if err != nil {
		return nil, err
	}
	a := arguments{Tool: name, Input: doc}
	if a.hash, err = canon.Sum("arguments.plan.v1", a); err != nil {
		return nil, err
	}
	return a, nil
}

// Hash returns the canonical hash of tool and input.
func (a arguments) Hash() canon.Hash { return a.hash }
