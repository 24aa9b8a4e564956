package projectcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

// whose is what every action has beside its configuration.
type whose struct {
	project, description string
	global               bool
}

func (w *whose) flags(c *cobra.Command, g actionGroup) {
	g.ProjectFlag(c, &w.project, "project (default: the project of the working directory)")
	c.Flags().BoolVar(&w.global, "global", false, "no project")
	c.Flags().StringVar(&w.description, "description", "", "description, in one sentence")
}

func (g actionGroup) save() *cobra.Command {
	c := command.Group("save", "Store an action, or replace the one with that name", g.saveWebhook(), g.saveScript(), g.saveWorkflow())
	return c
}

// store stores an action with the configuration of its type. One of that type and name in the same project is replaced.
func (g actionGroup) store(ctx context.Context, w whose, kind, name string, config any) error {
	of, err := g.Owner(ctx, w.project, w.global)
	if err != nil {
		return err
	}
	call := command.Arguments{"type": kind, "name": name, kind: config}.Set("project", of.ID).Set("description", w.description)
	var found struct {
		Actions []present.Action `json:"actions"`
	}
	if _, err := g.Ask(ctx, "list_actions", command.Arguments{"actionType": kind}, &found); err != nil {
		return err
	}
	done := "stored"
	for _, a := range found.Actions {
		if strings.EqualFold(a.Name, name) && a.Project == of.ID {
			done, call["id"] = "replaced", a.ID
			if !a.Enabled {
				call["disabled"] = true
			}
		}
	}
	return command.CallAndShow(ctx, g.Runner, "action_save", call, func(a present.Action) {
		g.Line("%s", a.ID)
		g.Note("%s the %s %s; to set whether it asks: countersign action rule %s …", done, kind, command.Plain(a.Name), command.Plain(a.ID))
		if !a.Enabled {
			g.Note("it is disabled; to enable it: countersign action enable %s", a.ID)
		}
	})
}

func (g actionGroup) saveWebhook() *cobra.Command {
	var w whose
	var url, method, template string
	var headers []string
	var retries int
	var timeout time.Duration
	c := &cobra.Command{Use: "webhook NAME --url URL", Short: "Store a request", Args: command.Args(1, 1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: `  countersign action save webhook deploy --url https://ci.example.com/hook --template '{"branch":"{{branch}}"}'`}
	w.flags(c, g)
	c.Flags().StringVar(&url, "url", "", "URL; {{names}} in it are filled in when it is triggered")
	c.Flags().StringVar(&method, "method", "", "GET, HEAD, POST, PUT, PATCH or DELETE (default: POST)")
	c.Flags().StringArrayVar(&headers, "header", nil, "header NAME=VALUE (repeatable)")
	c.Flags().StringVar(&template, "template", "", "payload with {{names}}, or @FILE")
	c.Flags().IntVar(&retries, "retries", 0, "number of retries, 0 to 3")
	c.Flags().DurationVar(&timeout, "timeout", 0, "timeout, including retries (default 30s)")
	_ = c.MarkFlagRequired("url") // the flag is there
	_ = c.RegisterFlagCompletionFunc("method", cobra.FixedCompletions([]cobra.Completion{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ms, err := command.Milliseconds("timeout", timeout)
		if err != nil {
			return err
		}
		sent, err := command.Assignments("header", headers)
		if err != nil {
			return err
		}
		if template, err = g.File("template", template); err != nil {
			return err
		}
		config := command.Arguments{"url": url}.Set("method", method).Set("payloadTemplate", template)
		if len(sent) > 0 {
			config["headers"] = sent
		}
		if retries != 0 {
			config["retryCount"] = retries
		}
		if ms > 0 {
			config["timeoutMs"] = ms
		}
		return g.store(cmd.Context(), w, present.TypeWebhook, args[0], config)
	}
	return c
}

func (g actionGroup) saveScript() *cobra.Command {
	var w whose
	var cwd string
	var env []string
	var timeout time.Duration
	c := &cobra.Command{Use: "script NAME -- PROGRAM ARGS...", Short: "Store a program with its arguments, run without a shell",
		Example: `  countersign action save script backup --cwd tools --env LEVEL=9 -- ./backup.sh --full`}
	w.flags(c, g)
	c.Flags().StringVar(&cwd, "cwd", "", "working directory inside a project (default: the project)")
	c.Flags().StringArrayVar(&env, "env", nil, "environment variable NAME=VALUE (repeatable)")
	c.Flags().DurationVar(&timeout, "timeout", 0, "timeout (default 1m)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		at := cmd.ArgsLenAtDash()
		if at != 1 || len(args) < 2 {
			return command.Usage(cmd, "give a name, and after -- a program with its arguments")
		}
		ms, err := command.Milliseconds("timeout", timeout)
		if err != nil {
			return err
		}
		vars, err := command.Assignments("env", env)
		if err != nil {
			return err
		}
		config := command.Arguments{"command": args[1]}.Set("cwd", cwd)
		if len(args) > 2 {
			config["args"] = args[2:]
		}
		if len(vars) > 0 {
			config["env"] = vars
		}
		if ms > 0 {
			config["timeoutMs"] = ms
		}
		return g.store(cmd.Context(), w, present.TypeScript, args[0], config)
	}
	return c
}

func (g actionGroup) saveWorkflow() *cobra.Command {
	var w whose
	c := &cobra.Command{Use: "workflow NAME W", Short: "Store a workflow as an action", Args: command.Args(2, 2), ValidArgsFunction: command.Complete(nil, g.Workflows)}
	w.flags(c, g)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := g.Workflow(cmd.Context(), args[1])
		if err != nil {
			return err
		}
		return g.store(cmd.Context(), w, present.TypeWorkflow, args[0], command.Arguments{"workflowId": id})
	}
	return c
}
