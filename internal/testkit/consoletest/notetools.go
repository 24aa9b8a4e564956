package consoletest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Notes are files, each a note.
type Notes struct{ Dir string }

// Path returns the file of a note.
func (n Notes) Path(name string) string { return filepath.Join(n.Dir, filepath.Base(name)) }

// Write makes a note by hand, without the core.
func (n Notes) Write(name, text string) error {
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(n.Path(name), []byte(text), 0o600)
}

// Read returns a note's text; empty when there is none.
func (n Notes) Read(name string) string {
	text, _ := os.ReadFile(n.Path(name)) //nolint:errcheck // none is empty
	return string(text)
}

// note is the arguments of the tools.
type note struct {
	Name string `json:"name" jsonschema:"description=which note"`
	Text string `json:"text,omitempty" jsonschema:"description=what it is to say"`
}

// plan is what would be done to a note.
type plan struct {
	Tool    string         `json:"tool"`
	Summary string         `json:"summary"`
	Context map[string]any `json:"context"`
	in      note
	typed   bool
	risk    policy.Risk
}

// Hash names the plan.
func (p plan) Hash() canon.Hash {
	sum, err := canon.Sum("test.note.v1", map[string]any{"tool": p.Tool, "context": p.Context})
	if err != nil {
		panic(err)
	}
	return sum
}

// Prompt says what it would do.
func (p plan) Prompt() string { return p.Summary }

// Target returns the note.
func (p plan) Target() string { return p.in.Name }

// Assessment raises what is at stake.
func (p plan) Assessment() policy.Assessment {
	a := policy.Assessment{Risk: p.risk}
	switch {
	case p.typed:
		a.Strength = policy.Typed
	case p.Tool == "write_note":
		a.Strength = policy.Simple
	}
	return a
}

func (n Notes) write(_ context.Context, _ tool.Scope, in note) (plan, error) {
	before := n.Read(in.Name)
	diff := "--- a/" + in.Name + "\n+++ b/" + in.Name + "\n@@ -1 +1 @@\n-" + before + "\n+" + in.Text
	return plan{Tool: "write_note", Summary: "write note " + in.Name, Context: map[string]any{"name": in.Name, "unified": diff}, in: in, risk: policy.RiskLow}, nil
}

func (n Notes) burn(_ context.Context, _ tool.Scope, in note) (plan, error) {
	lost := []string{}
	for line := range strings.Lines(n.Read(in.Name)) {
		lost = append(lost, strings.TrimSpace(line))
	}
	return plan{Tool: "burn_note", Summary: "burn note " + in.Name, Context: map[string]any{"name": in.Name, "lost": lost, "command": "rm " + n.Path(in.Name),
		"warnings": []string{"a burnt note is gone"}}, in: in, typed: true, risk: policy.RiskHigh}, nil
}

func (n Notes) commit(_ context.Context, _ tool.Scope, p plan) (map[string]string, error) {
	if p.Tool == "burn_note" {
		return map[string]string{"burnt": p.in.Name}, os.Remove(n.Path(p.in.Name))
	}
	return map[string]string{"written": p.in.Name}, n.Write(p.in.Name, p.in.Text)
}

// copied reports its progress, note by note, until there is a note "gate" or it is cancelled.
func (n Notes) copied(ctx context.Context, sc tool.Scope, p plan) (map[string]string, error) {
	for i := int64(1); ; i++ {
		sc.Progress(tool.Progress{Done: min(i, 9), Total: 10, Message: "copied a page of " + p.in.Name})
		if n.Read("gate") != "" {
			return map[string]string{"copied": p.in.Name}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (n Notes) capability() tool.Capability {
	spec := func(title string, class policy.Class, effects policy.Effects, strength policy.Strength) tool.Spec {
		return tool.Spec{Title: title, Description: title + ". A tool of the notes, which are for tests.", Category: "Notes", Class: class, Effects: effects, Confirm: strength}
	}
	change := policy.Read | policy.Write
	return tool.Capability{Name: "notes", Contract: control.Contract, Mode: policy.Execute, Entries: []tool.Entry{
		bind.Query(tool.Ref[note, map[string]string]{Name: "read_note"}, spec("Read a note", policy.ClassRead, policy.Read, policy.None),
			func(_ context.Context, _ tool.Scope, in note) (map[string]string, error) {
				if text := n.Read(in.Name); text != "" {
					return map[string]string{"text": text}, nil
				}
				return nil, app.ErrPlanStale.WithMessage("there is no note %s", in.Name)
			}),
		bind.Command(tool.Ref[note, map[string]string]{Name: "write_note"}, spec("Write a note", policy.ClassWrite, change, policy.Simple), n.write, n.commit),
		bind.Command(tool.Ref[note, map[string]string]{Name: "burn_note"}, spec("Burn a note", policy.ClassDangerous, change|policy.Delete, policy.Simple), n.burn, n.commit),
		bind.Command(tool.Ref[note, map[string]string]{Name: "copy_note"}, spec("Copy a note", policy.ClassWrite, change, policy.None),
			func(_ context.Context, _ tool.Scope, in note) (plan, error) {
				return plan{Tool: "copy_note", Summary: "copy note " + in.Name, Context: map[string]any{"name": in.Name}, in: in}, nil
			}, n.copied),
	}}
}
