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
	ErrNothing = fault.New(fault.NotFound, "tour_nothing_to_show", "nothing to show here")
	ErrUneven  = fault.New(fault.Internal, "tour_unexpected", "the tour failed")
)

// Command returns the command tour.
func Command(s *command.Shell) *cobra.Command {
	c := &cobra.Command{Use: "tour", Short: "Show what Countersign does, in a scratch project and in the current repository", Args: command.Args(0, 0),
		Example: "  countersign tour          approve or deny the plans of the tour's agent\n  countersign tour --auto   the tour approves for you",
		Long: "An agent proposes to deploy instructions and to run a script; you see each plan and decide. The script changes while you read, so your approval is\n" +
			"denied. A rollback undoes the deployment. All of this happens in a scratch project. Then the tour builds a context pack from the repository in the\n" +
			"working directory, in any language: anchors in real files, notes and a diagram.\n" +
			"Stores and the scratch project are temporary and removed at the end; your repository is only read. The pack is printed on stdout, everything else on stderr.\n" +
			"Without a terminal the tour decides for you, as with --auto."}
	auto := c.Flags().Bool("auto", false, "approve every request automatically")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		in, _ := s.Terminals()
		return run(cmd.Context(), s, *auto || !in || !s.Interactive())
	}
	return c
}

func run(ctx context.Context, s *command.Shell, auto bool) error {
	dir, err := os.Getwd()
	if err != nil {
		return ErrNothing.WithMessage("cannot find the working directory: %v", err)
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
		return ErrNothing.WithMessage("no source or text files in %s", found.root).WithDetails(command.Hint("run countersign tour inside a repository, in any language"))
	}
	temporary, err := os.MkdirTemp("", "countersign-tour-")
	if err == nil {
		temporary, err = filepath.EvalSymlinks(temporary) // macOS has its temporary directories behind one
	}
	if err != nil {
		return ErrNothing.WithMessage("cannot create a temporary store: %v", err)
	}
	defer os.RemoveAll(temporary)
	scratch, err := newScratch(temporary)
	if err != nil {
		return ErrNothing.WithMessage("cannot create a temporary store: %v", err)
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
	t.Note("The tour acts as the agent, in a scratch project; its calls, their plans and your decisions are real.")
	if t.auto {
		t.Note("The tour decides for you. In a terminal, without --auto, you decide.")
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
