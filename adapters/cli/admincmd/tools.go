package admincmd

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/spelling"
	"github.com/countersign-dev/countersign/domain/tool"
)

// maxArgs is the maximum size of arguments read from a file or stdin, in bytes.
const maxArgs = 4 << 20

// ToolsCommand returns the command group tools.
func ToolsCommand(s *command.Shell) *cobra.Command {
	group := &cobra.Command{Use: "tools", Short: "List, show and call tools", Args: command.Subcommand, RunE: command.Alone}
	group.AddCommand(
		&cobra.Command{Use: "list", Short: "List every tool with its toolset and class", Args: command.Args(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error { return PrintTools(cmd.Context(), s) }},
		&cobra.Command{Use: "show NAME", Short: "Show one tool: its description, class and arguments", Args: command.Args(1, 1),
			ValidArgsFunction: completeTools(s),
			RunE:              func(cmd *cobra.Command, args []string) error { return showTool(cmd.Context(), s, args[0]) }},
		callCommand(s))
	return group
}

// summary returns the first sentence of a description, or its beginning.
func summary(text string) string {
	const longest = 100
	head, _, more := strings.Cut(text, ". ")
	if more {
		head += "."
	}
	return clip(head, longest)
}

// clip is text in at most n characters.
func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

func find(s *command.Shell, name string) (tool.Spec, error) {
	a, err := s.App()
	if err != nil {
		return tool.Spec{}, err
	}
	spec, ok := a.Spec(tool.Name(name))
	if !ok {
		hint := command.Hint("to list the tools: countersign tools list")
		var known []string
		for _, toolset := range a.Toolsets() {
			known = append(known, toolset.Served...)
		}
		if near := spelling.Nearest(name, known); near != "" {
			hint = command.Hint("did you mean " + near + "? To list all tools: countersign tools list")
		}
		return spec, tool.ErrUnknown.WithMessage("tool %q not found", name).WithDetails(hint)
	}
	return spec, nil
}

func showTool(ctx context.Context, s *command.Shell, name string) error {
	spec, err := find(s, name)
	if err != nil {
		return err
	}
	core, err := s.Opened()
	if err != nil {
		return err
	}
	v := viewOf(ctx, s, core, spec)
	if s.JSON {
		return s.PrintJSON(v)
	}
	s.Line("%s: %s", v.Name, v.Title)
	s.Line("\n%s\n", v.Description)
	s.Table([]string{"toolset", "contract", "class", "effects", "confirm", "permission", "risk", "now"},
		[][]string{{v.Toolset, string(v.Contract), v.Class.String(), v.Effects, v.asks(), v.Permission, v.Risk, decided(v.Decision)}})
	s.Line("\narguments (JSON Schema):\n%s", command.Indent(v.Input))
	return nil
}

func callCommand(s *command.Shell) *cobra.Command {
	var args string
	var dryRun bool
	c := &cobra.Command{Use: "call NAME", Short: "Call any tool, with its approvals", Args: command.Args(1, 1),
		Example: `  countersign tools call list_toolsets
  countersign tools call output --args '{"name":"login-bug"}'
  countersign tools call input --args @pack.json`,
		ValidArgsFunction: completeTools(s),
		RunE: func(cmd *cobra.Command, names []string) error {
			return call(cmd.Context(), s, names[0], args, dryRun)
		}}
	c.Flags().StringVar(&args, "args", "{}", "arguments as a JSON object; @FILE: from a file, -: from stdin")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "dry run: show the plan and change nothing")
	return c
}

func call(ctx context.Context, s *command.Shell, name, args string, dryRun bool) error {
	if _, err := find(s, name); err != nil {
		return err
	}
	raw, err := readArgs(s, args)
	if err != nil {
		return err
	}
	c := tool.Call{Tool: tool.Name(name), Args: raw}
	if dryRun {
		c.Mode = policy.Plan
	}
	o, err := s.Run(ctx, c)
	if err != nil {
		return s.FailContract(o, err)
	}
	return s.ShowContract(o)
}

func readArgs(s *command.Shell, args string) (json.RawMessage, error) {
	raw := []byte(args)
	var err error
	switch file, named := strings.CutPrefix(args, "@"); {
	case args == "-":
		raw, err = io.ReadAll(io.LimitReader(s.In, maxArgs))
	case named:
		raw, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, command.ErrUsage.WithMessage("cannot read the arguments: %v", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		problem := "it is not an object"
		if err != nil {
			problem = err.Error()
		}
		return nil, command.ErrUsage.WithMessage("--args is not a JSON object: %s", problem).WithDetails(command.Hint(`for example --args '{"name":"value"}'`))
	}
	return raw, nil
}

func completeTools(s *command.Shell) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a, err := s.App()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for spec := range a.Specs() {
			names = append(names, cobra.CompletionWithDesc(string(spec.Name), command.Plain(spec.Title)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// conflict reports an error that a retry may resolve.
func conflict(err error) bool { f := fault.From(err); return f != nil && f.Kind == fault.Conflict }
