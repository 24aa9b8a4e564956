package sandboxcmd

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// errRequest reports a pull request that was not opened although its branch was pushed.
var errRequest = fault.New(fault.Unavailable, "sandbox_request_failed", "the branch was pushed, but the pull request could not be opened")

func (g sandboxGroup) push() *cobra.Command {
	var branch string
	var force bool
	c := &cobra.Command{Use: "push [[URL] NAME]", Short: "Push a sandbox's branch to its remote, after you approved remote, branch and commits", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Push a sandbox's branch to the project's remote under the same name. Exactly the commit in the plan is pushed. Commits that only the remote's branch has\n" +
			"are replaced only with --force, and only those in the plan. No hooks of the repository run. --branch pushes another local branch,\n" +
			"for example the base after a merge.",
		Example: "  countersign sandbox push acme-shop fix-login\n  countersign sandbox push acme-shop fix-login --branch main"}
	c.Flags().StringVar(&branch, "branch", "", "local branch to push (default: the sandbox's)")
	c.Flags().BoolVarP(&force, "force", "f", false, "replace commits on the remote's branch")
	_ = c.RegisterFlagCompletionFunc("branch", cobra.NoFileCompletions) // the flag is there, and is registered once
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call, err := g.pushing(cmd.Context(), args, branch, force)
		if err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxPush.Name, call, g.drawPushed)
	}
	return c
}

func (g sandboxGroup) pushing(ctx context.Context, args []string, branch string, force bool) (command.Arguments, error) {
	url, name, err := g.Subject(ctx, args)
	call := command.Arguments{"git_url": url, "name": name}.Set("branch", branch)
	if force {
		call["force"] = true
	}
	return call, err
}

func (g sandboxGroup) drawPushed(p sandboxes.SandboxPushed) {
	if p.Commits == 0 {
		g.Line("the remote has %s, at %.12s", command.Plain(p.Branch), p.Commit)
	} else {
		g.Line("pushed %s, at %.12s, with %s", command.Plain(p.Branch), p.Commit, counted(p.Commits, "commit"))
	}
	if p.Open != "" {
		g.Note("a pull request: %s", command.Plain(p.Open))
	}
}

func (g sandboxGroup) request() *cobra.Command {
	var title, body string
	var force bool
	c := &cobra.Command{Use: "pr [[URL] NAME]", Short: "Push a sandbox's branch and open a pull request for it", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Push a sandbox's branch (countersign sandbox push), then open a pull request into the branch that the sandbox was made from: with gh on GitHub and glab on\n" +
			"GitLab if they are installed and logged in, otherwise by printing the page that opens one. They run outside the repository, so nothing in it\n" +
			"affects them.",
		Example: "  countersign sandbox pr acme-shop fix-login --title Login"}
	c.Flags().StringVarP(&title, "title", "t", "", "of the pull request (default: the newest commit's subject)")
	c.Flags().StringVarP(&body, "body", "b", "", "its text")
	c.Flags().BoolVarP(&force, "force", "f", false, "replace commits on the remote's branch")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		call, err := g.pushing(ctx, args, "", force)
		if err != nil {
			return err
		}
		var pushed sandboxes.SandboxPushed
		o, err := g.Ask(ctx, sandboxes.SandboxPush.Name, call, &pushed)
		if err != nil {
			return err
		}
		program, arguments := requester(pushed, cmp.Or(title, pushed.Title, pushed.Branch), body)
		if g.JSON || program == "" {
			if g.JSON {
				return g.Show(o)
			}
			return g.drawPage(pushed)
		}
		g.drawPushed(pushed)
		run := exec.CommandContext(ctx, program, arguments...)
		run.Dir = string(filepath.Separator)
		run.Stdin, run.Stdout, run.Stderr = os.Stdin, g.Out, g.Err
		if err := run.Run(); err != nil {
			return errRequest.WithMessage("%s was pushed, but %s could not open a pull request: %v", pushed.Branch, filepath.Base(program), err).WithDetails(command.Hint("open it yourself: " + pushed.Open)).WithCause(err)
		}
		return nil
	}
	return c
}

// drawPage says where a pull request is opened by hand.
func (g sandboxGroup) drawPage(p sandboxes.SandboxPushed) error {
	g.drawPushed(p)
	if p.Open == "" {
		g.Note("the pull request page of this host is unknown; open a pull request there for %s into %s", command.Plain(p.Branch), command.Plain(p.Base))
		return nil
	}
	g.Line("%s", command.Plain(p.Open))
	return nil
}

// requester returns the host's own program with what it is told; none where it is not installed.
func requester(p sandboxes.SandboxPushed, title, body string) (program string, args []string) {
	page, err := url.Parse(p.Open)
	if err != nil || p.Open == "" {
		return "", nil
	}
	repository := func(end string) string {
		path, _, _ := strings.Cut(page.Path, end)
		return page.Host + path
	}
	switch {
	case strings.Contains(page.Path, "/-/merge_requests/"):
		program, args = "glab", []string{"mr", "create", "--yes", "--repo", "https://" + repository("/-/"), "--source-branch", p.Branch, "--target-branch", p.Base, "--title", title, "--description", body}
	case strings.Contains(page.RawQuery, "expand=1"):
		program, args = "gh", []string{"pr", "create", "--repo", repository("/compare/"), "--head", p.Branch, "--base", p.Base, "--title", title, "--body", body}
	default:
		return "", nil
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return "", nil
	}
	if found, err = filepath.Abs(found); err != nil {
		return "", nil
	}
	return found, args
}

func (g sandboxGroup) apply() *cobra.Command {
	var into, base string
	c := &cobra.Command{Use: "apply [[URL] NAME] [-- PATH…]", Short: "Apply a sandbox's changes to another working tree, without committing them",
		Long: "Apply a sandbox's changes against its base branch, committed or not, to a git working tree: that of the working directory, or --to. All changes apply, or nothing\n" +
			"is changed. Nothing is committed or staged there.",
		Example: "  countersign sandbox apply acme-shop fix-login --to ~/src/shop\n  countersign sandbox apply acme-shop fix-login -- src/login"}
	c.Flags().StringVar(&into, "to", ".", "working tree to change")
	c.Flags().StringVar(&base, "base", "", "branch to compare with (default: the sandbox's base branch)")
	_ = c.RegisterFlagCompletionFunc("base", cobra.NoFileCompletions) // the flag is there, and is registered once
	_ = c.MarkFlagDirname("to")
	c.ValidArgsFunction, c.Args = g.CompleteSandbox, beforeDash
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args, paths := parted(cmd, args)
		url, name, err := g.Subject(cmd.Context(), args)
		if err != nil {
			return err
		}
		dir, err := real(into)
		if err != nil {
			return command.ErrUsage.WithMessage("--to not a directory: %q: %v", into, err)
		}
		call := command.Arguments{"git_url": url, "name": name, "directory": dir}.Set("base", base)
		if len(paths) > 0 {
			call["paths"] = paths
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.SandboxApply.Name, call, func(a sandboxes.SandboxApplied) {
			if a.Files == 0 {
				g.Line("nothing to do: %s", command.Plain(a.Message))
				return
			}
			g.Line("%s of sandbox %s changed in %s; nothing is committed", counted(a.Files, "file"), command.Plain(a.Name), command.Plain(a.Directory))
		})
	}
	return c
}

// beforeDash checks [[URL] NAME] of a command that takes more behind "--".
func beforeDash(cmd *cobra.Command, args []string) error {
	named, _ := parted(cmd, args)
	return command.Args(0, 2)(cmd, named)
}

// parted returns the arguments before and behind "--".
func parted(cmd *cobra.Command, args []string) (before, behind []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}
