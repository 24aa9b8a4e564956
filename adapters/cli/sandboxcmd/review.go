package sandboxcmd

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
)

func (g sandboxGroup) review() *cobra.Command {
	var at, message string
	var done int
	var seen bool
	c := &cobra.Command{Use: "review [[URL] NAME]", Short: "Add and list comments on a sandbox's work for its agent", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "List the comments on a sandbox's work, or add one with --message, for a file or line with --at. They are stored with the sandbox. An agent reads them with\n" +
			"the tool sandbox_review, or from this command's output. --done resolves one.\n\n" +
			"The list ends with the files that changed since you marked the work as seen. --seen marks the current work; countersign sandbox diff --since-review shows\n" +
			"later changes.",
		Example: "  countersign sandbox review acme-shop fix-login\n  countersign sandbox review acme-shop fix-login --at src/login.go:12 --message Why?\n  countersign sandbox review acme-shop fix-login --done 1\n  countersign sandbox review acme-shop fix-login --seen"}
	c.Flags().StringVar(&at, "at", "", "file, or file:line, that the comment is about")
	c.Flags().StringVarP(&message, "message", "m", "", "comment to add")
	c.Flags().IntVar(&done, "done", 0, "number of a comment to resolve")
	c.Flags().BoolVar(&seen, "seen", false, "mark the current work as seen")
	c.MarkFlagsMutuallyExclusive("message", "done", "seen")
	c.MarkFlagsMutuallyExclusive("at", "seen")
	c.MarkFlagsMutuallyExclusive("at", "done")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url, "name": name}
		if seen {
			var now sandboxes.SandboxComparison
			if _, err := g.Ask(cmd.Context(), sandboxes.SandboxDiff.Name, command.Arguments{"git_url": url, "name": name, "stat": true}, &now); err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxComment.Name, call.Set("seen", now.FilesID), func(r sandboxes.ReviewComments) {
				g.Line("marked the work in %s as seen", command.Plain(r.Name))
			})
		}
		if message == "" && done == 0 {
			if at != "" {
				return command.ErrUsage.WithMessage("--at needs --message")
			}
			return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxReview.Name, call, func(r sandboxes.ReviewComments) {
				g.drawComments(r)
				g.drawSince(cmd.Context(), r)
			})
		}
		if done > 0 {
			call["done"] = done
		} else {
			path, line := placed(at)
			call = call.Set("path", path).Set("text", message)
			if line > 0 {
				call["line"] = line
			}
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxComment.Name, call, g.drawComments)
	}
	return c
}

// placed parts a file from the line behind it.
func placed(at string) (path string, line int) {
	if i := strings.LastIndexByte(at, ':'); i > 0 {
		if n, err := strconv.Atoi(at[i+1:]); err == nil && n > 0 {
			return at[:i], n
		}
	}
	return at, 0
}

// drawSince lists the files that have changed since the work was marked as seen.
func (g sandboxGroup) drawSince(ctx context.Context, r sandboxes.ReviewComments) {
	if r.Seen == nil {
		g.Note("the work is not marked as seen; review it with countersign sandbox diff, then use --seen")
		return
	}
	var d sandboxes.SandboxComparison
	if !g.Quietly(ctx, sandboxes.SandboxDiff.Name, command.Arguments{"git_url": r.URL, "name": r.Name, "stat": true, "since_review": true}, &d) {
		return
	}
	for _, f := range d.Files {
		g.Line("changed since the review: %s", command.Plain(f.Line()))
	}
	if d.FileCount == 0 {
		g.Note("no changes since the work was marked as seen")
	}
}

func (g sandboxGroup) drawComments(r sandboxes.ReviewComments) {
	for _, c := range r.Comments {
		head := "#" + strconv.Itoa(c.Number)
		if place := c.Place(); place != "" {
			head += " " + place
		}
		if c.Done {
			head += " (settled)"
		}
		g.Line("%s", command.Plain(head))
		for line := range strings.Lines(command.Block(c.Text)) {
			g.Line("  %s", strings.TrimSuffix(line, "\n"))
		}
	}
	if len(r.Comments) == 0 {
		g.Note("%s has no comments; to add one: --message", command.Plain(r.Name))
	}
}
