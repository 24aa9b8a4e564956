package projectcmd

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

// endpoint is where requests from outside arrive by default, without the workflow's id (packageflow contract §1.9).
const endpoint = "http://127.0.0.1:9876/webhook/"

// secretBytes is how many random bytes a token and a secret have.
const secretBytes = 32

func (g workflowGroup) webhook() *cobra.Command {
	var url, on, template string
	var headers []string
	var off bool
	c := &cobra.Command{Use: "webhook W", Short: "Show or set a workflow's completion webhook", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Workflows),
		Example: `  countersign workflow webhook release --url https://example.com/hook --on failure
  countersign workflow webhook release --off`}
	c.Flags().StringVar(&url, "url", "", "URL")
	c.Flags().StringVar(&on, "on", "always", "send it on: success, failure or always")
	c.Flags().StringArrayVar(&headers, "header", nil, "header NAME=VALUE (repeatable)")
	c.Flags().StringVar(&template, "template", "", "payload with {{names}}, or @FILE (default: a JSON object that tells it all)")
	c.Flags().BoolVar(&off, "off", false, "remove the completion webhook")
	_ = c.RegisterFlagCompletionFunc("on", cobra.FixedCompletions([]cobra.Completion{"success", "failure", "always"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		triggers := map[string]string{"success": "onSuccess", "failure": "onFailure", "always": "always"}
		switch {
		case off && url != "":
			return command.Usage(cmd, "--off and --url exclude each other")
		case triggers[on] == "":
			return command.Usage(cmd, "invalid --on %q; use success, failure or always", on)
		case url == "" && (len(headers) > 0 || template != "" || cmd.Flags().Changed("on")):
			return command.Usage(cmd, "--url is required")
		}
		id, err := g.Runner.Workflow(ctx, args[0])
		if err != nil {
			return err
		}
		call := command.Arguments{"workflow_id": id}
		if url == "" && !off {
			return command.CallAndShow(ctx, g.Runner, "get_workflow", call, g.drawWebhook)
		}
		if !off {
			call["url"], call["trigger"] = url, triggers[on]
			if call["headers"], err = command.Assignments("header", headers); err != nil {
				return err
			}
			if template, err = g.File("template", template); err != nil {
				return err
			}
			call.Set("payload_template", template)
		}
		return command.CallAndShow(ctx, g.Runner, "workflow_webhook_set", call, func(w changed) {
			if off {
				g.Line("%s has no completion webhook", command.Plain(w.Name))
				return
			}
			g.Line("completion webhook of %s: %s (%s)", command.Plain(w.Name), command.Plain(url), on)
		})
	}
	return c
}

func (g workflowGroup) drawWebhook(w flow) {
	if w.Webhook == nil || !w.Webhook.Enabled {
		g.Note("%s has no completion webhook; --url sets one", command.Plain(w.Name))
		return
	}
	pairs := []command.Pair{{Name: "url", Value: w.Webhook.URL}, {Name: "when", Value: w.Webhook.Trigger}}
	for _, name := range slices.Sorted(maps.Keys(w.Webhook.Headers)) {
		pairs = append(pairs, command.Pair{Name: name, Value: w.Webhook.Headers[name]})
	}
	g.Pairs(pairs...)
}

// opened is what the user gets to know once: how to start a workflow from outside.
type opened struct {
	WorkflowID string `json:"workflowId"`
	Name       string `json:"name"`
	URL        string `json:"url"`
	Token      string `json:"token"`
	Secret     string `json:"secret,omitempty"`
}

func (g workflowGroup) incoming() *cobra.Command {
	var off, signed, untimed bool
	c := &cobra.Command{Use: "incoming W", Short: "Enable or disable a workflow's incoming webhook", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Workflows),
		Long: "Let incoming requests start the current version of a workflow. A token is created and shown once. Changing the workflow disables the webhook until you enable it again.\n" +
			"To accept the requests: countersign webhooks serve",
		Example: `  countersign workflow incoming release --require-signature
  countersign workflow incoming release --off`}
	c.Flags().BoolVar(&off, "off", false, "disable it, and delete its token and secret")
	c.Flags().BoolVar(&signed, "require-signature", false, "accept signed requests only; creates a secret")
	c.Flags().BoolVar(&untimed, "untimed", false, "signatures cover only the body, for senders that do not sign the time; copies of a request are then accepted, too")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		switch {
		case off && (signed || untimed):
			return command.Usage(cmd, "--off excludes the other flags")
		case untimed && !signed:
			return command.Usage(cmd, "--untimed needs --require-signature")
		}
		id, err := g.Runner.Workflow(ctx, args[0])
		if err != nil {
			return err
		}
		call, made := command.Arguments{"workflow_id": id, "enabled": !off}, opened{WorkflowID: id, URL: endpoint + id}
		if off {
			return command.CallAndShow(ctx, g.Runner, "workflow_incoming_set", call, func(w changed) { g.Line("incoming webhook disabled for %s", command.Plain(w.Name)) })
		}
		made.Token = secret()
		call["token"] = made.Token
		if signed {
			made.Secret = secret()
			call["secret"], call["require_signature"], call["untimed"] = made.Secret, true, untimed
		}
		var w changed
		if _, err := g.Ask(ctx, "workflow_incoming_set", call, &w); err != nil {
			return err
		}
		made.Name = w.Name
		return g.drawOpened(made, untimed)
	}
	return c
}

// secret returns a text that cannot be guessed.
func secret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // it never fails
	return hex.EncodeToString(raw)
}

func (g workflowGroup) drawOpened(made opened, untimed bool) error {
	if g.JSON {
		return g.PrintJSON(made)
	}
	g.Pairs(command.Pair{Name: "workflow", Value: made.Name}, command.Pair{Name: "url", Value: made.URL}, command.Pair{Name: "token", Value: made.Token},
		command.Pair{Name: "secret", Value: made.Secret})
	g.Note("these values are shown once; to accept requests: countersign webhooks serve")
	g.Line("")
	if made.Secret == "" {
		g.Line("curl -X POST -H %s -d '{}' %s", present.CommandLine([]string{"X-Webhook-Token: " + made.Token}), made.URL)
		return nil
	}
	g.Line("body='{}'")
	signed, stamp := `"$body"`, ""
	if !untimed {
		g.Line("now=$(date +%%s)")
		signed, stamp = `"$now.$body"`, ` -H "X-Webhook-Timestamp: $now"`
	}
	g.Line("sig=$(printf %%s %s | openssl dgst -sha256 -hmac %s -r | cut -d' ' -f1)", signed, made.Secret)
	g.Line("curl -X POST -H %s%s -H \"X-Webhook-Signature: sha256=$sig\" -d \"$body\" %s", present.CommandLine([]string{"X-Webhook-Token: " + made.Token}), stamp, made.URL)
	return nil
}

// TemplateCommand returns the command group template.
func TemplateCommand(d Runner) *cobra.Command {
	g := workflowGroup{d}
	return command.Group("template", "Manage command templates for workflow steps", g.templates(), g.addTemplate(), g.removeTemplate())
}

// template is a step template in a list.
type template struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Command  string    `json:"command"`
	Category string    `json:"category"`
	Custom   bool      `json:"isCustom"`
	Risk     string    `json:"risk"`
	Created  time.Time `json:"createdAt"`
}

// categories returns those of step templates (packageflow contract §1.5).
func categories() []cobra.Completion {
	return []cobra.Completion{"package-manager", "git", "docker", "shell", "testing", "code-quality", "kubernetes", "database", "cloud", "ai", "security", "nodejs", "custom"}
}

func (g workflowGroup) templates() *cobra.Command {
	var category string
	var own bool
	c := &cobra.Command{Use: "list [QUERY]", Short: "List step templates, built-in ones first", Args: command.Args(0, 1), ValidArgsFunction: cobra.NoFileCompletions}
	c.Flags().StringVar(&category, "category", "", "only templates of this category")
	c.Flags().BoolVar(&own, "own", false, "only your own templates")
	_ = c.RegisterFlagCompletionFunc("category", cobra.FixedCompletions(categories(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call := command.Arguments{}.Set("category", category)
		if len(args) > 0 {
			call.Set("query", args[0])
		}
		if own {
			call["include_builtin"] = false
		}
		return command.CallAndShow(cmd.Context(), g.Runner, "list_step_templates", call, func(found struct {
			Templates []template `json:"templates"`
		}) {
			if len(found.Templates) == 0 {
				g.Note("no matching templates; add one with: countersign template add NAME --command C")
				return
			}
			var rows [][]string
			for _, t := range found.Templates {
				rows = append(rows, []string{t.ID, t.Name, t.Category, t.Risk, t.Command})
			}
			g.Table([]string{"id", "name", "category", "risk", "command"}, rows)
		})
	}
	return c
}

func (g workflowGroup) addTemplate() *cobra.Command {
	var line, category, description string
	c := &cobra.Command{Use: "add NAME", Short: "Add a template; {pm} and <placeholders> are filled in later", Args: command.Args(1, 1), ValidArgsFunction: cobra.NoFileCompletions}
	c.Flags().StringVar(&line, "command", "", "the command")
	c.Flags().StringVar(&category, "category", "", "category (default: custom)")
	c.Flags().StringVar(&description, "description", "", "description, in one sentence")
	_ = c.MarkFlagRequired("command") // the flag is there
	_ = c.RegisterFlagCompletionFunc("category", cobra.FixedCompletions(categories(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call := command.Arguments{"name": args[0], "command": line}.Set("category", category).Set("description", description)
		return command.CallAndShow(cmd.Context(), g.Runner, "create_step_template", call, func(made struct {
			ID string `json:"templateId"`
		}) {
			g.Line("%s", made.ID)
		})
	}
	return c
}

func (g workflowGroup) removeTemplate() *cobra.Command {
	return &cobra.Command{Use: "remove TEMPLATE", Short: "Delete one of your templates", Args: command.Args(1, 1), ValidArgsFunction: command.Complete(g.Templates),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := g.Runner.Template(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return command.CallAndShow(cmd.Context(), g.Runner, "step_template_remove", command.Arguments{"templateId": id}, func(t template) { g.Line("deleted %s", command.Plain(t.Name)) })
		}}
}
