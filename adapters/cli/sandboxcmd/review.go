package sandboxcmd

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
)

func (g sandboxGroup) review() *cobra.Command {
	var at, message string
	var done int
	c := &cobra.Command{Use: "review [URL] NAME", Short: "Comment on a sandbox's work, for the agent in it; list the comments", Args: command.Args(1, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "List the comments on a sandbox's work, or add one with --message, about a file or line of it with --at. They stay with the sandbox. An agent reads them with\n" +
			"the tool sandbox_review, or from this command's output. --done settles one.",
		Example: "  countersign sandbox review acme-shop fix-login\n  countersign sandbox review acme-shop fix-login --at src/login.go:12 --message Why?\n  countersign sandbox review acme-shop fix-login --done 1"}
	c.Flags().StringVar(&at, "at", "", "file, or file:line, that the comment is about")
	c.Flags().StringVarP(&message, "message", "m", "", "comment to add")
	c.Flags().IntVar(&done, "done", 0, "number of a comment that is settled")
	c.MarkFlagsMutuallyExclusive("message", "done")
	c.MarkFlagsMutuallyExclusive("at", "done")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		call := command.Arguments{"git_url": url, "name": name}
		if message == "" && done == 0 {
			if at != "" {
				return command.ErrUsage.Sayf("--at says what a comment is about; the comment itself is missing: --message")
			}
			return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxReview.Name, call, g.drawComments)
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
		g.Note("%s has no comments yet; --message adds one", command.Plain(r.Name))
	}
}
