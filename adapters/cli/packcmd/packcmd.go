package packcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ErrNoPack reports a command that names no pack where there is none to assume.
var ErrNoPack = fault.New(fault.NotFound, "pack_unnamed", "no pack given, and there is no default")

// group is the pack commands over one shell.
type group struct{ command.Runner }

// NewRunner returns the runner of a shell.
func NewRunner(s *command.Shell) command.Runner {
	return command.Runner{Shell: s, Words: command.Words{Hint: hint}}
}

// PackCommand returns the command group pack.
func PackCommand(s *command.Shell) *cobra.Command {
	g := group{NewRunner(s)}
	root := &cobra.Command{Use: "pack", Short: "Create, edit and show context packs", Args: command.Subcommand, RunE: command.Alone,
		Long: "Create, edit and show context packs: anchors to exact lines of source files, notes and diagrams, rendered with the current code.\n\n" +
			"Without [PACK], commands use the pack changed last, and commands that change a pack use the draft changed last.",
		Example: `  countersign pack new login-bug --brief "why refresh fails"
  countersign pack add internal/auth/token.go:12-40 --why "expiry is checked here"
  countersign pack finalize
  countersign pack show`}
	for _, c := range []*cobra.Command{g.create(), g.add(), g.imported(), g.note(), g.diagram(), g.changes(), g.edits(), g.list(), g.show(), g.diff(), g.finalize(), g.reopen(), g.touch(),
		g.reanchor(), g.export(), g.take(), g.remove(), g.doctor()} {
		root.AddCommand(c)
	}
	return root
}

// stored is a pack as the tool input answers it.
type stored struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Title     string    `json:"title"`
	Brief     string    `json:"brief"`
	Tags      []string  `json:"tags"`
	Status    string    `json:"status"`
	Revision  uint64    `json:"revision"`
	ExpiresAt string    `json:"expires_at"`
	Sections  []section `json:"sections"`
	Moved     []struct {
		Section string `json:"section_key"`
		Key     string `json:"ref_key"`
		From    lines  `json:"from"`
		To      lines  `json:"to"`
	} `json:"reanchored"` // in the answer to reanchor alone
}

type lines struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

func (l lines) String() string { return fmt.Sprintf("%d-%d", l.Start, l.End) }

type section struct {
	Key         string  `json:"key"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Refs        []keyed `json:"refs"`
	Diagrams    []keyed `json:"diagrams"`
}

// keyed is an anchor or a diagram.
type keyed struct {
	Key     string `json:"key"`
	Path    string `json:"path"`
	Lines   lines  `json:"lines"`
	Title   string `json:"title"`
	Why     string `json:"why"`
	Group   string `json:"group"`
	Root    string `json:"root"`
	Commit  string `json:"commit"`
	Mermaid string `json:"mermaid"`
}

// label returns what users call the pack.
func (p stored) label() string {
	switch {
	case p.Name != "":
		return command.Plain(p.Name) + " (" + p.ID + ")"
	case p.Title != "":
		return command.Plain(p.Title) + " (" + p.ID + ")"
	}
	return p.ID
}

func (p stored) section(key string) (section, bool) {
	for _, s := range p.Sections {
		if s.Key == key {
			return s, true
		}
	}
	return section{}, false
}

// payload calls input and reads what it answers.
func (g group) payload(ctx context.Context, args command.Arguments, into any) (tool.Outcome, error) {
	o, err := g.Call(ctx, "input", args)
	if err != nil {
		return o, g.Refused(o, err)
	}
	answer := struct {
		Payload any `json:"payload"`
	}{into}
	return o, command.DecodeAnswer(o, &answer)
}

// hint returns the way out behind refusals that the user meets often.
func hint(f *fault.Error) command.Hint {
	switch {
	case f.Details != nil:
		return ""
	case f.Kind == fault.NotFound:
		return "to list the packs: countersign pack list"
	case f.Code == "pack_finalized":
		return "to make it a draft again: countersign pack reopen"
	}
	return ""
}

// moment returns a pack's timestamp for users, to the minute.
func moment(stamp string) string {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return command.Plain(stamp)
	}
	return at.UTC().Format("2006-01-02 15:04 UTC")
}

// resolve returns the identifier of the pack a command is about: the one named, or the one changed last with that status (any when empty).
func (g group) resolve(ctx context.Context, named, status string) (string, error) {
	if named != "" {
		return named, nil
	}
	var found struct {
		Packs []stored `json:"packs"`
	}
	if _, err := g.payload(ctx, command.Arguments{"action": "list", "limit": 1}.Set("status", status), &found); err != nil {
		return "", err
	}
	if len(found.Packs) == 0 {
		what := "pack"
		if status != "" {
			what = status + " pack"
		}
		return "", ErrNoPack.WithMessage("there is no %s here yet", what).WithDetails(command.Hint("start one with: countersign pack new NAME"))
	}
	g.Note("pack: %s", found.Packs[0].label())
	return found.Packs[0].ID, nil
}

func (g group) get(ctx context.Context, ident string) (stored, error) {
	var p stored
	_, err := g.payload(ctx, command.Arguments{"action": "get", "id": ident}, &p)
	return p, err
}

// edit changes a pack: it reads it, has build make the call from what was read, and does both once more when somebody else changed
// the pack in between. The last call's outcome and the pack as it is then come back.
func (g group) edit(ctx context.Context, ident string, build func(stored) (command.Arguments, error)) (tool.Outcome, stored, error) {
	for try := 0; ; try++ {
		p, err := g.get(ctx, ident)
		if err != nil {
			return tool.Outcome{}, p, err
		}
		args, err := build(p)
		if err != nil {
			return tool.Outcome{}, p, err
		}
		args["id"], args["expected_revision"] = p.ID, p.Revision
		o, err := g.Call(ctx, "input", args)
		if f := fault.From(err); f != nil && f.Kind == fault.Conflict && try == 0 {
			continue
		}
		if err != nil {
			return o, p, g.Refused(o, err)
		}
		var answer struct {
			Payload json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(o.Value, &answer) != nil || json.Unmarshal(answer.Payload, &p) != nil {
			return o, p, fault.ErrInternal.WithMessage("the answer of input is not understood")
		}
		return o, p, nil
	}
}

// change is edit and the one line about it.
func (g group) change(ctx context.Context, ident, done string, build func(stored) (command.Arguments, error)) error {
	o, p, err := g.edit(ctx, ident, build)
	if err != nil {
		return err
	}
	if g.JSON {
		return g.Show(o)
	}
	g.Line("%s %s, revision %d", done, p.label(), p.Revision)
	return nil
}

// completePacks completes ids and names of packs with that status (any when empty).
func (g group) completePacks(status string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, _, err := g.everyPack(cmd.Context(), command.Arguments{"action": "list"}.Set("status", status), 0, -1)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []cobra.Completion
		for _, p := range found {
			for _, word := range []string{p.Name, p.ID} {
				out = command.Offer(out, word, fmt.Sprintf("%s, revision %d", p.Status, p.Revision), begun)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
