package packcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/redact"
)

// maxChanges bounds what of git's output goes into a pack, in bytes.
const maxChanges = 128 << 10

func (g group) changes() *cobra.Command {
	var where place
	var log bool
	var most int
	c := &cobra.Command{Use: "changes [RANGE] [-- PATH...]", Short: "Add the output of git diff or git log to a pack", Args: command.Args(0, -1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Add the current output of git diff to a section of a pack: uncommitted changes, or the changes of a range of commits. " +
			"With --log, add the commits with their first lines. Paths limit both. At most 128 KiB are added. Secrets are redacted before they are stored.",
		Example: "  countersign pack changes\n  countersign pack changes main..HEAD -- internal/auth\n  countersign pack changes --log main..HEAD"}
	where.flags(c, g, "changes")
	c.Flags().BoolVar(&log, "log", false, "add the commits instead of their changes")
	c.Flags().IntVar(&most, "max", 100, "with --log: maximum number of commits")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		paths := []string(nil)
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			args, paths = args[:at], args[at:]
		}
		if len(args) > 1 || len(args) == 1 && strings.HasPrefix(args[0], "-") {
			return command.Usage(cmd, "give at most one range of commits; paths come after --")
		}
		call := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv"}
		switch {
		case log:
			call = []string{"log", "--no-color", "--no-decorate", "--no-show-signature", "--format=%h %as %an: %s", fmt.Sprintf("--max-count=%d", most)}
		case len(args) == 0:
			call = append(call, "HEAD")
		}
		call = append(append(call, args...), "--")
		out, err := gitcli.Command{Machine: true, Args: append(call, paths...), Limit: maxChanges}.Output(cmd.Context())
		text := strings.TrimRight(string(out), "\n")
		switch {
		case errors.Is(err, gitcli.ErrLarge):
			return command.ErrUsage.WithMessage("the output of git %s is larger than %d bytes", call[0], maxChanges).WithDetails(command.Hint("name a shorter range, or paths after --"))
		case err != nil:
			return err
		case text == "":
			return command.ErrUsage.WithMessage("git %s has no output", call[0]).WithDetails(command.Hint("name a range of commits, such as main..HEAD"))
		}
		text, secrets := redact.New(redact.Options{}).Text(text)
		if secrets > 0 {
			g.Note("redacted %d possible secrets", secrets)
		}
		return g.describe(cmd.Context(), where, fenced(text, log), false)
	}
	return c
}

// fenced returns text as a code block that nothing in it can end.
func fenced(text string, plain bool) string {
	most, run := 2, 0
	for _, c := range []byte(text) {
		if run++; c != '`' {
			run = 0
		}
		most = max(most, run)
	}
	fence := strings.Repeat("`", most+1)
	language := "diff"
	if plain {
		language = "text"
	}
	return fence + language + "\n" + text + "\n" + fence
}
