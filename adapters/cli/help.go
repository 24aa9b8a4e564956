package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/manual"
	"github.com/countersign-dev/countersign/domain/spelling"
)

// topicOf names the topic of the manual that explains what a command is for.
var topicOf = map[string]string{
	"up": "http", "serve": "http", "login": "http", "token": "http", "connect": "hosts", "mcp": "hosts",
	"pack": "packs", "tour": "packs", "agents": "deployments", "eco": "ecosystems", "sandbox": "sandboxes",
	"project": "projects", "action": "projects", "workflow": "projects", "template": "projects", "webhooks": "projects", "run": "projects", "services": "projects", "git": "projects",
	"ps": "projects", "logs": "projects", "stop": "projects", "tools": "permissions", "policy": "permissions", "calls": "audit-log", "runs": "audit-log",
	"approvals": "approving", "approve": "approving", "deny": "approving", "confirmations": "approving", "grants": "approving", "keys": "security-keys",
	"audit": "audit-log", "notify": "notifications", "owners": "environment",
	"backup": "backups", "restore": "backups",
}

// topicDoc is one topic in `help --json`, and with Text in `help TOPIC --json`.
type topicDoc struct {
	Topic string `json:"topic"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

// topicsDoc is `help --json`.
type topicsDoc struct {
	Topics []topicDoc `json:"topics"`
}

// addTopics adds the manual to the help of a tree of commands: the topics to that of the root, and the one that goes with a command to the command's.
func addTopics(root *cobra.Command, s *command.Shell) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		addExamples(root)
		cmd.Long = s.Reflowed(cmd.Long)
		if width := s.Width(); width > 0 { // flags are wrapped between words
			root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages |", fmt.Sprintf(".FlagUsagesWrapped %d |", width)))
		}
		help(cmd, args)
		out := cmd.OutOrStdout()
		if cmd == root {
			fmt.Fprintf(out, "\nTopics, each shown by \"countersign help TOPIC\":\n")
			for _, t := range manual.Topics() {
				fmt.Fprintf(out, "  %-13s %s\n", t.Name, t.Title)
			}
			return
		}
		top := cmd
		for top.Parent() != nil && top.Parent() != root {
			top = top.Parent()
		}
		if topic := topicOf[top.Name()]; topic != "" {
			fmt.Fprintf(out, "\nMore: countersign help %s\n", topic)
		}
	})
}

// helpCommand returns the command help: of the program, of a command, or a topic of the manual.
func helpCommand(s *command.Shell, version string) *cobra.Command {
	var man string
	c := &cobra.Command{Use: "help [COMMAND... | TOPIC]", Short: "Show the help of a command, or a topic of the manual",
		ValidArgsFunction: completeHelp,
		Example:           "  countersign help approve\n  countersign help approving\n  countersign help --man ~/.local/share/man/man1   so that man countersign-approve shows the same",
		RunE: func(cmd *cobra.Command, args []string) error {
			if man != "" {
				return writeMan(cmd.Root(), s, man, version)
			}
			of := cmd.Root()
			for i, word := range args {
				at := slices.IndexFunc(of.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
				topic := slices.IndexFunc(manual.Topics(), func(t manual.Topic) bool { return t.Name == word })
				switch {
				case at >= 0:
					of = of.Commands()[at]
				case i == 0 && topic >= 0 && len(args) > 1:
					return command.ErrUsage.WithMessage("topic %s has no parts", word).WithDetails(command.Hint("see countersign help " + word))
				case i == 0 && topic >= 0:
					return showTopic(cmd, s, manual.Topics()[topic])
				case i == 0:
					return noTopic(of, word)
				case of.HasAvailableSubCommands():
					return command.Subcommand(of, []string{word})
				default:
					return command.ErrUsage.WithMessage("%s has no commands", of.CommandPath()).WithDetails(command.Hint(of.CommandPath() + " --help shows its help"))
				}
			}
			if s.JSON && len(args) == 0 {
				var list topicsDoc
				for _, t := range manual.Topics() {
					list.Topics = append(list.Topics, topicDoc{Topic: t.Name, Title: t.Title})
				}
				return s.PrintJSON(list)
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		}}
	c.Flags().StringVar(&man, "man", "", "write a man page for every command into this directory")
	_ = c.MarkFlagDirname("man")
	return c
}

func showTopic(cmd *cobra.Command, s *command.Shell, t manual.Topic) error {
	if s.JSON {
		return s.PrintJSON(topicDoc{Topic: t.Name, Title: t.Title, Text: t.Text})
	}
	return s.Manual(cmd.Context(), t.Text)
}

// noTopic reports a word that is neither a command nor a topic, with those that were probably meant.
func noTopic(root *cobra.Command, word string) error {
	root.SuggestionsMinimumDistance = 2
	near := root.SuggestionsFor(word)
	var names []string
	for _, t := range manual.Topics() {
		names = append(names, t.Name)
		if strings.HasPrefix(t.Name, word[:min(len(word), 5)]) || strings.Contains(word, t.Name) || spelling.Nearest(word, []string{t.Name}) != "" {
			near = append(near, t.Name)
		}
	}
	hint := "topics: " + strings.Join(names, ", ") + "; for the commands run: countersign help"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return command.ErrUsage.WithMessage("command or topic %q not found", word).WithDetails(command.Hint(hint))
}

// completeHelp completes the names of commands, and behind help itself those of topics.
func completeHelp(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	of, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, c := range of.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	if len(args) == 0 {
		for _, t := range manual.Topics() {
			names = append(names, cobra.CompletionWithDesc(t.Name, t.Title))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
