// Package chat connects programs that embed a chat assistant: tool definitions in the forms of the model providers, calls for a model, and decisions of the
// user who watches it (packageflow contract, tool handler; packageflow contract §7.2, §7.3).
//
// A model can call tools and cannot approve: it never receives a token, and an approved call is named by its ID, not by a repeated body. Network access,
// prompts and dialogs are the embedding program's.
package chat

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Core is the core that a Handler calls: an *app.App.
type Core interface {
	Specs() iter.Seq[tool.Spec]
	Call(ctx context.Context, c tool.Call) tool.Outcome
	Answer(ctx context.Context, a confirm.Decision) (confirm.View, error)
	Evaluate(ctx context.Context, c tool.Call) policy.Result
}

// Options says which principal a Handler calls for and what it offers. The zero Principal has no permissions.
type Options struct {
	Principal policy.Principal
	Session   string   // the conversation: its mode, grants and confirmations; empty makes a new one
	Client    string   // name and version of the host, for the audit
	Toolsets  []string // what the model is offered; empty is every enabled tool except those of the toolset control
	Progress  func(callID string, p tool.Progress)
	Now       func() time.Time // nil is the system's clock
}

// Handler offers tools to a model and runs its calls. It is safe for concurrent use; make one for each conversation.
type Handler struct {
	core  Core
	opts  Options
	tools []offered
	book  *book
}

// offered is a tool as a model sees it: without the arguments that confirm.
type offered struct {
	spec   tool.Spec
	schema json.RawMessage
}

// New returns a Handler for that core. A tool that takes only the token of another tool's preview is left out, because a model never receives one. It fails
// with app.ErrWiring if a named toolset has no enabled tool.
func New(core Core, o Options) (*Handler, error) {
	h := &Handler{core: core, opts: o, book: &book{now: o.Now}}
	if o.Now == nil {
		h.book.now = time.Now
	}
	if h.opts.Session == "" {
		h.opts.Session = "chat_" + token()
	}
	found := map[string]bool{}
	for spec := range core.Specs() {
		wanted := spec.Toolset != tool.ControlToolset
		if len(o.Toolsets) > 0 {
			wanted = slices.Contains(o.Toolsets, spec.Toolset)
		}
		if !wanted || spec.Preview != "" {
			continue
		}
		schema, err := shown(spec.Input)
		if err != nil {
			return nil, app.ErrWiring.WithMessage("the schema of %s is invalid", spec.Name).WithCause(err)
		}
		found[spec.Toolset] = true
		h.tools = append(h.tools, offered{spec: spec, schema: schema})
	}
	for _, name := range o.Toolsets {
		if !found[name] {
			return nil, app.ErrWiring.WithMessage("the toolset %q has no tool for a chat", name)
		}
	}
	return h, nil
}

// token is twelve random hex digits.
func token() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ToolInfo is a tool with what a settings page or a dialog says about it (packageflow contract, tool definition format).
type ToolInfo struct {
	Name                 string          `json:"name"`
	Description          string          `json:"description"`
	Parameters           json.RawMessage `json:"parameters"` // JSON Schema
	RequiresConfirmation bool            `json:"requires_confirmation"`
	Category             string          `json:"category"`
}

// Available returns the offered tools, sorted by name. A non-empty project path becomes the default of every argument that takes one.
func (h *Handler) Available(ctx context.Context, projectPath string) []ToolInfo {
	out := make([]ToolInfo, 0, len(h.tools))
	for _, t := range h.tools {
		out = append(out, ToolInfo{
			Name: string(t.spec.Name), Description: t.spec.Description, Parameters: t.parameters(projectPath),
			RequiresConfirmation: h.RequiresConfirmation(ctx, string(t.spec.Name)), Category: t.category(),
		})
	}
	return out
}

// category returns how a list groups the tool, by its toolset where it does not say.
func (t offered) category() string { return cmp.Or(t.spec.Category, t.spec.Toolset) }

// parameters returns the schema with the project path as default, where that says something.
func (t offered) parameters(projectPath string) json.RawMessage {
	if !t.placed(projectPath) {
		return t.schema
	}
	return withDefault(t.schema, projectPath)
}

// placed reports whether a project's path says something about the tool: only those of this contract name projects by it.
func (t offered) placed(projectPath string) bool {
	return projectPath != "" && t.spec.Contract == present.Packageflow
}

// RequiresConfirmation reports whether a call of the tool would need an approval with the current settings and session; true for an unknown tool or if it
// cannot be decided. The plan of a call may require an approval all the same.
func (h *Handler) RequiresConfirmation(ctx context.Context, name string) bool {
	if _, ok := h.find(name); !ok {
		return true
	}
	d := h.core.Evaluate(ctx, tool.Call{Session: h.opts.Session, Principal: h.opts.Principal, Tool: tool.Name(name)})
	return d.Rule == "" || d.Verdict == policy.Confirm
}

func (h *Handler) find(name string) (offered, bool) {
	for _, t := range h.tools {
		if string(t.spec.Name) == name {
			return t, true
		}
	}
	return offered{}, false
}
