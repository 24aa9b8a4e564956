package projectcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

// levels returns what a rule can say.
func levels() []cobra.Completion {
	return []cobra.Completion{"require_confirm", "auto_approve", "deny"}
}

func (g actionGroup) rule() *cobra.Command {
	var kind string
	var all bool
	c := &cobra.Command{Use: "rule [A] LEVEL", Short: "Set the rule for one action, one type or all actions", Args: command.Args(0, 2),
		Long: "Set whether an action, all actions of a type (--of-type), or all actions (--all) run without asking (auto_approve), ask (require_confirm) or never run (deny).\n" +
			"The rule of an action overrides that of its type, which overrides the rule for all. High-risk calls always ask.",
		Example: `  countersign action rule backup auto_approve
  countersign action rule --of-type webhook require_confirm
  countersign action rule backup --clear`}
	c.Flags().StringVar(&kind, "of-type", "", "set the rule for all actions of this type: script, webhook or workflow")
	c.Flags().BoolVar(&all, "all", false, "set the rule for all actions")
	c.Flags().Bool("clear", false, "remove the rule")
	_ = c.RegisterFlagCompletionFunc("of-type", cobra.FixedCompletions(types(), cobra.ShellCompDirectiveNoFileComp))
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 && kind == "" && !all {
			return g.Actions(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
		}
		return levels(), cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call, err := g.ruleArguments(cmd, args, kind, all)
		if err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "action_rule_set", call, func(r struct {
			Level string `json:"permissionLevel"`
			From  string `json:"resolvedFrom"`
		}) {
			g.Line("%s (%s)", r.Level, from(r.From))
		})
	}
	return c
}

// ruleArguments reads [A] LEVEL with the flags that stand for either.
func (g actionGroup) ruleArguments(cmd *cobra.Command, args []string, kind string, all bool) (command.Arguments, error) {
	call := command.Arguments{}.Set("actionType", kind)
	if kind == "" && !all {
		if len(args) == 0 {
			return nil, command.Usage(cmd, "give an action, --of-type or --all")
		}
		id, err := g.Action(cmd.Context(), args[0])
		if err != nil {
			return nil, err
		}
		call["actionId"], args = id, args[1:]
	}
	forget, _ := cmd.Flags().GetBool("clear") // the flag is there
	switch {
	case all && kind != "":
		return nil, command.Usage(cmd, "--all and --of-type exclude each other")
	case forget == (len(args) == 1) || len(args) > 1:
		return nil, command.Usage(cmd, "give a rule (require_confirm, auto_approve or deny), or --clear")
	case !forget && !slices.Contains(levels(), args[0]):
		return nil, command.Usage(cmd, "unknown rule %q; use require_confirm, auto_approve or deny", args[0])
	case !forget:
		call["permissionLevel"] = args[0]
	}
	return call, nil
}

func (g actionGroup) rules() *cobra.Command {
	return &cobra.Command{Use: "rules", Short: "List the rules for actions", Args: command.Args(0, 0), RunE: func(cmd *cobra.Command, _ []string) error {
		return command.CallAndShow(cmd.Context(), g.Runner, "get_action_permissions", command.Arguments{}, func(found struct {
			Rules []struct {
				ID    string `json:"actionId"`
				Type  string `json:"actionType"`
				Level string `json:"permissionLevel"`
			} `json:"permissions"`
			Default string `json:"defaultLevel"`
		}) {
			names := g.names(cmd.Context())
			var rows [][]string
			for _, r := range found.Rules {
				what := "all actions"
				switch {
				case r.ID != "":
					what = cmp.Or(names[r.ID], r.ID)
				case r.Type != "":
					what = "every " + r.Type
				}
				rows = append(rows, []string{what, r.Level})
			}
			g.Table([]string{"what", "rule"}, append(rows, []string{"any other", found.Default}))
		})
	}}
}

// names returns the names of actions by id.
func (g actionGroup) names(ctx context.Context) map[string]string {
	out := map[string]string{}
	var found struct {
		Actions []present.Action `json:"actions"`
	}
	if g.Quietly(ctx, "list_actions", command.Arguments{}, &found) {
		for _, a := range found.Actions {
			out[a.ID] = a.Name
		}
	}
	return out
}

func (g actionGroup) trigger() *cobra.Command {
	var payload string
	var vars []string
	c := &cobra.Command{Use: "trigger A", Short: "Send a stored webhook's request, after showing it", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Actions)}
	c.Flags().StringVar(&payload, "payload", "", "JSON object to send instead of the stored template, or @FILE")
	c.Flags().StringArrayVar(&vars, "var", nil, "NAME=VALUE for {{NAME}} in the stored request (repeatable)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := g.Action(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		call := command.Arguments{"webhook_id": id}
		if payload != "" {
			text, err := g.File("payload", payload)
			if err != nil {
				return err
			}
			if !json.Valid([]byte(text)) {
				return command.Usage(cmd, "--payload is not JSON")
			}
			call["payload"] = json.RawMessage(text)
		}
		if len(vars) > 0 {
			if call["variables"], err = command.Assignments("var", vars); err != nil {
				return err
			}
		}
		return g.send(cmd.Context(), call)
	}
	return c
}

// answered is what came of a webhook.
type answered struct {
	Execution string `json:"executionId"`
	Name      string `json:"actionName"`
	Result    struct {
		Status    int               `json:"statusCode"`
		Headers   map[string]string `json:"responseHeaders"`
		Body      string            `json:"responseBody"`
		Truncated bool              `json:"truncated"`
		Duration  int64             `json:"durationMs"`
		Retries   int               `json:"retryAttempts"`
	} `json:"result"`
}

func (g actionGroup) send(ctx context.Context, call command.Arguments) error {
	o, err := g.Runner.Send(ctx, "trigger_webhook", call, nil)
	var a answered
	if err != nil {
		if command.FailureDetails(err, &a) && !g.JSON {
			g.drawAnswer(a)
		}
		return g.Failed(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	if err := command.DecodeAnswer(o, &a); err != nil {
		return err
	}
	g.drawAnswer(a)
	return nil
}

// drawAnswer shows what the other side said: the body on the output, the rest beside it.
func (g actionGroup) drawAnswer(a answered) {
	if a.Result.Status == 0 {
		return
	}
	g.Note("%d after %s, %d retries (%s)", a.Result.Status, command.Took(a.Result.Duration), a.Result.Retries, a.Execution)
	if a.Result.Body != "" {
		g.Line("%s", command.Block(a.Result.Body))
	}
	if a.Result.Truncated {
		g.Note("this is the beginning of the response")
	}
}

func (g actionGroup) run() *cobra.Command {
	return &cobra.Command{Use: "run A [-- ARGS...]", Short: "Run a stored action, after showing its plan", Args: command.Args(1, -1), ValidArgsFunction: command.Complete(g.Actions),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			id, err := g.Action(ctx, args[0])
			if err != nil {
				return err
			}
			var a present.Action
			if _, err := g.Ask(ctx, "get_action", command.Arguments{"actionId": id}, &a); err != nil {
				return err
			}
			if a.Type != present.TypeScript && len(args) > 1 {
				return command.Usage(cmd, "%s is a %s, which takes no arguments", a.Name, a.Type)
			}
			switch a.Type {
			case present.TypeWebhook:
				return g.send(ctx, command.Arguments{"webhook_id": id})
			case present.TypeWorkflow:
				return StartWorkflow(ctx, g.Runner, command.Arguments{"workflow_id": a.Config.Workflow})
			}
			call := command.Arguments{"actionId": id}
			if len(args) > 1 {
				call["args"] = args[1:]
			}
			return g.program(ctx, call)
		}}
}

// program runs a stored program to its end and then prints what it printed.
func (g actionGroup) program(ctx context.Context, call command.Arguments) error {
	o, err := g.Runner.Send(ctx, "run_script", call, nil)
	if err != nil {
		var failed struct {
			Result ProgramResult `json:"result"`
		}
		if command.FailureDetails(err, &failed) {
			g.Output(failed.Result)
		}
		return g.Failed(o, err)
	}
	if g.JSON {
		return g.Show(o)
	}
	var p struct {
		Name   string `json:"actionName"`
		Result struct {
			Stdout    string `json:"stdout"`
			Stderr    string `json:"stderr"`
			Truncated bool   `json:"truncated"`
			Duration  int64  `json:"durationMs"`
		} `json:"result"`
	}
	if err := command.DecodeAnswer(o, &p); err != nil {
		return err
	}
	g.Output(ProgramResult{Stdout: p.Result.Stdout, Stderr: p.Result.Stderr, Truncated: p.Result.Truncated, Duration: p.Result.Duration})
	g.Note("%s: done in %s", command.Plain(p.Name), command.Took(p.Result.Duration))
	return nil
}
