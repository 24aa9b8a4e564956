// Package bind turns typed Go functions into tools: the input type gives the published schema, the same document checks every call,
// and the arguments are decoded strictly into the type. It is the only reflection in the product.
//
// It refuses to know any tool.
package bind

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Optional methods of an input type.
type (
	// Validator checks what a schema cannot say.
	Validator interface{ Validate() error }
	// Resourceful names what the call touches, for settings and the audit.
	Resourceful interface{ Resources() []string }
	// Claimant claims less than its tool may do, where a tool's actions differ.
	Claimant interface {
		Claims() (policy.Class, policy.Effects)
	}
)

// Query is a tool that only reads. It panics, at wiring, when the spec claims to change something.
func Query[In, Out any](ref tool.Ref[In, Out], s tool.Spec, run func(context.Context, tool.Scope, In) (Out, error)) tool.Entry {
	if s.Effects&policy.Mutating != 0 {
		panic("bind.Query: " + string(ref.Name) + " claims to change something")
	}
	return entry(ref.Name, s, behaviour[In]{
		prepare: func(context.Context, tool.Scope, In) (tool.Plan, error) { return nil, nil },
		commit:  func(ctx context.Context, sc tool.Scope, in In, _ tool.Plan) (any, error) { return run(ctx, sc, in) },
	})
}

// Command is a tool that changes something: prepare works out the plan and changes nothing, commit makes that plan so. It panics, at
// wiring, when the spec claims no change.
func Command[In any, P tool.Plan, Out any](ref tool.Ref[In, Out], s tool.Spec,
	prepare func(context.Context, tool.Scope, In) (P, error), commit func(context.Context, tool.Scope, P) (Out, error)) tool.Entry {
	if s.Effects&policy.Mutating == 0 {
		panic("bind.Command: " + string(ref.Name) + " claims no change")
	}
	return entry(ref.Name, s, behaviour[In]{
		prepare: func(ctx context.Context, sc tool.Scope, in In) (tool.Plan, error) {
			p, err := prepare(ctx, sc, in)
			if err != nil {
				return nil, err
			}
			return p, nil
		},
		commit: func(ctx context.Context, sc tool.Scope, _ In, p tool.Plan) (any, error) {
			return commit(ctx, sc, p.(P))
		},
	})
}

// Direct is a tool whose plan is its arguments: what it would do is plain from the call.
func Direct[In, Out any](ref tool.Ref[In, Out], s tool.Spec, run func(context.Context, tool.Scope, In) (Out, error)) tool.Entry {
	return entry(ref.Name, s, behaviour[In]{
		prepare: func(_ context.Context, _ tool.Scope, in In) (tool.Plan, error) { return newArguments(ref.Name, in) },
		commit:  func(ctx context.Context, sc tool.Scope, in In, _ tool.Plan) (any, error) { return run(ctx, sc, in) },
	})
}

type behaviour[In any] struct {
	prepare func(context.Context, tool.Scope, In) (tool.Plan, error)
	commit  func(context.Context, tool.Scope, In, tool.Plan) (any, error)
}

func entry[In any](name tool.Name, s tool.Spec, b behaviour[In]) tool.Entry {
	s.Name = name
	if len(s.Input) == 0 {
		s.Input = SchemaOf[In]()
	}
	doc := NewDocument(s.Input)
	if s.TakesToken() {
		s.Input = withConfirmation(s.Input)
	}
	return tool.Entry{Spec: s, Handler: handler[In]{spec: s, doc: doc, behaviour: b}}
}

type handler[In any] struct {
	spec      tool.Spec
	doc       *Document
	behaviour behaviour[In]
}

// Decode checks the arguments against the published schema, all problems at once, decodes them and asks the type's own Validate.
func (h handler[In]) Decode(args json.RawMessage) (tool.Invocation, error) {
	if err := h.doc.Check(args); err != nil {
		return nil, err
	}
	inv := &invocation[In]{handler: h}
	if err := decode(args, &inv.in); err != nil {
		return nil, err
	}
	if v, ok := any(&inv.in).(Validator); ok {
		if err := v.Validate(); err != nil {
			return nil, err
		}
	}
	return inv, nil
}

type invocation[In any] struct {
	handler handler[In]
	in      In
}

func (i *invocation[In]) Claims() policy.Claims {
	c := policy.Claims{Class: i.handler.spec.Class, Effects: i.handler.spec.Effects}
	if r, ok := any(&i.in).(Resourceful); ok {
		c.Resources = r.Resources()
	}
	if k, ok := any(&i.in).(Claimant); ok {
		c.Class, c.Effects = k.Claims()
	}
	return c
}

func (i *invocation[In]) Prepare(ctx context.Context, s tool.Scope) (tool.Plan, error) {
	return i.handler.behaviour.prepare(ctx, s, i.in)
}

func (i *invocation[In]) Commit(ctx context.Context, s tool.Scope, p tool.Plan) (any, error) {
	return i.handler.behaviour.commit(ctx, s, i.in, p)
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

// Hash is the canonical sum of tool and input.
func (a arguments) Hash() canon.Hash { return a.hash }
