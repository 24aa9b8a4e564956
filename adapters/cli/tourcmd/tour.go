package tourcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The ways there is nothing to show.
var (
	ErrNothing = fault.New(fault.NotFound, "tour_nothing_to_show", "there is nothing to show here")
	ErrUneven  = fault.New(fault.Internal, "tour_unexpected", "the tour did not go as it should")
)

// Command returns the command tour.
func Command(s *command.Shell) *cobra.Command {
	c := &cobra.Command{Use: "tour", Short: "Show what Countersign does, in a scratch project and in the current repository", Args: command.Args(0, 0),
		Example: "  countersign tour          decide yourself what the tour's agent may do\n  countersign tour --auto   watch; the tour answers",
		Long: "An agent proposes to deploy instructions, and to run a script; you see each plan and decide. The script changes while you read, and your yes to it is\n" +
			"refused. A rollback takes the deployment back. All of that happens in a scratch project. Then the tour builds a context pack out of the repository you\n" +
			"stand in, in any language: anchors in real files, notes and a diagram.\n" +
			"Stores and the scratch project are temporary, and are removed at the end; your repository is only read. The pack goes to stdout, all else to stderr.\n" +
			"Without a terminal nobody can answer, and the tour does, as with --auto."}
	auto := c.Flags().Bool("auto", false, "answer every question with yes, and say so")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		in, _ := s.Terminals()
		return run(cmd.Context(), s, *auto || !in || !s.Interactive())
	}
	return c
}

func run(ctx context.Context, s *command.Shell, auto bool) error {
	dir, err := os.Getwd()
	if err != nil {
		return ErrNothing.WithMessage("the working directory cannot be told: %v", err)
	}
	found, err := look(ctx, dir)
	if err != nil {
		return ErrNothing.WithMessage("cannot read %s: %v", dir, err)
	}
	chosen := found.choose()
	if len(chosen) == 0 {
		chosen = found.plain()
	}
	if len(chosen) == 0 {
		return ErrNothing.WithMessage("there is no source or text file in %s", found.root).WithDetails(command.Hint("run countersign tour inside a repository, in any language"))
	}
	temporary, err := os.MkdirTemp("", "countersign-tour-")
	if err == nil {
		temporary, err = filepath.EvalSymlinks(temporary) // macOS has its temporary directories behind one
	}
	if err != nil {
		return ErrNothing.WithMessage("there is no place for a temporary store: %v", err)
	}
	defer os.RemoveAll(temporary)
	scratch, err := newScratch(temporary)
	if err != nil {
		return ErrNothing.WithMessage("there is no place for a temporary store: %v", err)
	}
	t := &trip{Shell: isolatedShell(s, scratch, found.root), survey: found, scratch: scratch, auto: auto}
	defer t.Close() //nolint:errcheck // the store is removed
	return t.walk(ctx, chosen)
}

// isolatedShell returns a shell over the temporary store alone: what the user's environment says about stores and policy does not count here.
func isolatedShell(s *command.Shell, scratch scratch, root string) *command.Shell {
	return &command.Shell{Terminal: s.Terminal, Open: s.Open, Client: s.Client, JSON: s.JSON, Env: func(name string) string {
		switch name {
		case "HOME":
			return scratch.user
		case "COUNTERSIGN_HOME":
			return filepath.Join(scratch.root, "home")
		case "CONTEXT_PACK_ROOT":
			return filepath.Join(scratch.root, "packs")
		case "CONTEXT_PACK_SOURCE_ROOT":
			return root
		case "AGENTPACK_HOME":
			return filepath.Join(scratch.user, ".agentpack")
		case "AGENTPACK_PROJECT_ROOT":
			return scratch.project
		case "COUNTERSIGN_LOG", "CONTEXT_PACK_LOG":
			return s.Lookup(name)
		case "COUNTERSIGN_APPROVAL":
			return "human"
		case "COUNTERSIGN_TOOLSETS":
			return "packs,deployments,projects,workbench"
		}
		return ""
	}}
}

// trip is one tour.
type trip struct {
	*command.Shell
	survey
	scratch  scratch
	auto     bool // the tour answers, not the user
	id       string
	revision uint64
	steps    int
}

func (t *trip) walk(ctx context.Context, chosen []anchor) error {
	t.Step("Countersign: a tour. Agents propose; you countersign.")
	t.Note("The agent is played by the tour, and its project is a scratch one; its calls, their plans and your answers are real.")
	if t.auto {
		t.Note("Nobody answers here, so the tour does. In a terminal, without --auto, you decide.")
	}
	if err := t.approvals(ctx); err != nil {
		return err
	}
	t.Step("\n4. A context pack of %s, for the next agent that works on it", command.Plain(t.name()))
	what := fmt.Sprintf("%d files", len(t.files))
	if l := t.languages(); l != "" {
		what += ": " + l
	}
	t.Note("%s (%s). Building one changes nothing of yours, so no call here asks.", command.Plain(t.root), what)
	if err := t.build(ctx, chosen); err != nil {
		return err
	}
	if err := t.finish(ctx, chosen); err != nil {
		return err
	}
	if err := t.show(ctx); err != nil {
		return err
	}
	a, err := t.App()
	if err != nil {
		return err
	}
	n, err := a.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	anchors := "1 anchor"
	if len(chosen) != 1 {
		anchors = fmt.Sprintf("%d anchors", len(chosen))
	}
	t.Step("\nDone. The pack has %s and a diagram; the audit log holds %d records of this tour in one unbroken chain.", anchors, n)
	t.Note("Set it up, and open the console:  countersign up")
	t.Note("Connect your agent:               countersign connect claude-code")
	return nil
}
