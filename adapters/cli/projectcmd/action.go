package projectcmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

// actionGroup is the commands at one workdesk.
type actionGroup struct{ Runner }

func types() []cobra.Completion {
	return []cobra.Completion{present.TypeScript, present.TypeWebhook, present.TypeWorkflow}
}

// ActionCommand returns the command group action.
func ActionCommand(d Runner) *cobra.Command {
	g := actionGroup{d}
	c := command.Group("action", "Store programs and webhooks to run later, and set which may run", g.list(), g.show(), g.save(), g.turn("enable", true), g.turn("disable", false),
		g.remove(), g.rule(), g.rules(), g.trigger(), g.run())
	c.Long = "Store programs, webhooks and workflows that agents can trigger by ID, and set which run without asking, which ask, and which never run.\n\n" +
		"Refer to an action by its ID, the beginning of its ID, or its name."
	c.Example = `  countersign action save webhook deploy --url https://ci.example.com/hook --header Authorization="Bearer …"
  countersign action save script backup --timeout 5m -- ./backup.sh --full
  countersign action rule backup require_confirm
  countersign action trigger deploy --var branch=main`
	return c
}

func (g actionGroup) list() *cobra.Command {
	var project, kind string
	var enabled bool
	c := &cobra.Command{Use: "list", Short: "List actions, most recently changed first", Args: command.Args(0, 0)}
	g.ProjectFlag(c, &project, "only actions of this project or of no project")
	c.Flags().StringVar(&kind, "of-type", "", "only actions of this type: script, webhook or workflow")
	c.Flags().BoolVar(&enabled, "enabled", false, "only enabled actions")
	_ = c.RegisterFlagCompletionFunc("of-type", cobra.FixedCompletions(types(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		call := command.Arguments{}.Set("actionType", kind)
		if enabled {
			call["enabledOnly"] = true
		}
		if project != "" {
			p, err := g.Project(ctx, project)
			if err != nil {
				return err
			}
			call["projectId"] = p.ID
		}
		return command.CallAndShow(ctx, g.Runner, "list_actions", call, func(found struct {
			Actions []present.Action `json:"actions"`
		}) {
			g.drawList(found.Actions, g.ProjectNames(ctx))
		})
	}
	return c
}

func (g actionGroup) drawList(found []present.Action, projects map[string]string) {
	if len(found) == 0 {
		g.Note("no actions; store one with: countersign action save script|webhook|workflow NAME …")
		return
	}
	var rows [][]string
	for _, a := range found {
		state := "on"
		if !a.Enabled {
			state = "off"
		}
		rows = append(rows, []string{a.ID, a.Name, a.Type, state, projects[a.Project], a.Does()})
	}
	g.Table([]string{"id", "name", "type", "", "project", "description"}, rows)
}

func (g actionGroup) show() *cobra.Command {
	return &cobra.Command{Use: "show A", Short: "Show an action, with secrets redacted, and the rule that applies to it", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Actions),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			id, err := g.Action(ctx, args[0])
			if err != nil {
				return err
			}
			return command.CallAndShow(ctx, g.Runner, "get_action", command.Arguments{"actionId": id}, func(a present.Action) { g.drawAction(ctx, a) })
		}}
}

func (g actionGroup) drawAction(ctx context.Context, a present.Action) {
	c := a.Config
	state := "enabled"
	if !a.Enabled {
		state = "disabled"
	}
	limit := ""
	if c.Timeout > 0 {
		limit = command.Took(c.Timeout)
	}
	var more []string
	for _, named := range []map[string]string{c.Env, c.Headers} {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			more = append(more, name+"="+named[name])
		}
	}
	g.Pairs(command.Pair{Name: "name", Value: a.Name}, command.Pair{Name: "id", Value: a.ID}, command.Pair{Name: "type", Value: a.Type}, command.Pair{Name: "description", Value: a.Description},
		command.Pair{Name: "state", Value: state}, command.Pair{Name: "project", Value: g.ProjectNames(ctx)[a.Project]}, command.Pair{Name: "does", Value: a.Does()},
		command.Pair{Name: "in", Value: c.Cwd}, command.Pair{Name: "with", Value: strings.Join(more, ", ")}, command.Pair{Name: "payload", Value: c.Payload},
		command.Pair{Name: "time limit", Value: limit}, command.Pair{Name: "rule", Value: g.ruleOf(ctx, a.ID)})
}

// ruleOf returns the rule in force for an action, in words.
func (g actionGroup) ruleOf(ctx context.Context, id string) string {
	var r struct {
		Level string `json:"permissionLevel"`
		From  string `json:"resolvedFrom"`
	}
	o, err := g.Send(ctx, "get_action_permissions", command.Arguments{"actionId": id}, nil)
	if err != nil || command.DecodeAnswer(o, &r) != nil {
		return ""
	}
	return r.Level + " (" + from(r.From) + ")"
}

// from returns where a rule comes from, in words.
func from(word string) string {
	switch word {
	case "action":
		return "its own rule"
	case "type":
		return "rule of its type"
	case "global":
		return "rule for all actions"
	}
	return "default"
}

func (g actionGroup) turn(verb string, on bool) *cobra.Command {
	return &cobra.Command{Use: verb + " A", Short: strings.ToUpper(verb[:1]) + verb[1:] + " an action", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Actions),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := g.Action(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "action_switch", command.Arguments{"actionId": id, "enabled": on}, func(a present.Action) {
				g.Line("%sd %s", verb, command.Plain(a.Name))
			})
		}}
}

func (g actionGroup) remove() *cobra.Command {
	return &cobra.Command{Use: "remove A", Short: "Delete an action and its rules; keep its executions", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Actions),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := g.Action(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "action_remove", command.Arguments{"actionId": id}, func(a present.Action) { g.Line("deleted %s", command.Plain(a.Name)) })
		}}
}
