package agentcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// required marks a flag that a command cannot do without.
const required = "countersign_required"

// help is --help, and what a command says that only has others. Under --json it is the catalogue.
func (g group) help(cmd *cobra.Command, args []string) {
	if g.AsJSON() {
		_ = g.data(cmd, "agents_help", g.catalogue(cmd)) // it has no error to give
		return
	}
	cmd.Root().HelpFunc()(cmd, args)
}

func (g group) helpCommand() *cobra.Command {
	var markdown bool
	c := g.Command("help [COMMAND]...", "List all commands (--json for programs)", func(cmd *cobra.Command, args []string) error {
		of, rest, err := cmd.Parent().Find(args)
		switch {
		case err != nil || len(rest) > 0:
			return g.Misused(cmd, "unknown command %q", strings.Join(args, " "))
		case markdown && g.JSON:
			return g.Misused(cmd, "--markdown and --json exclude each other")
		case g.JSON:
			return g.data(cmd, "agents_help", g.catalogue(cmd))
		case markdown:
			return g.Markdown(cmd.Context(), reference(cmd.Parent()), true)
		}
		return of.Help()
	})
	c.Flags().BoolVar(&markdown, "markdown", false, "print the reference of all commands")
	return c
}

func (g group) schema() *cobra.Command {
	return g.Command("schema", "Show the JSON schemas of answers", func(cmd *cobra.Command, _ []string) error {
		s := schemas()
		if g.JSON {
			return g.data(cmd, "agents_schema", s)
		}
		g.section("envelope", s.Envelope)
		for _, name := range sortedKeys(s.Commands) {
			g.section("data of "+name, s.Commands[name])
		}
		g.section("paths", s.Paths)
		return nil
	})
}

func (g group) section(title string, fields map[string]string) {
	g.Line("%s", title)
	for _, name := range sortedKeys(fields) {
		g.Line("  %s: %s", name, fields[name])
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// data answers with data that no tool gave.
func (g group) data(cmd *cobra.Command, as tool.Name, data any) error {
	value, err := tool.Encode(map[string]any{"data": data, "warnings": []string{}})
	if err != nil {
		return g.Failed(cmd, tool.Outcome{}, fault.From(err))
	}
	o := g.Outcome(as)
	o.Value = value
	return g.PrintDocument(present.For(present.Agentpack)(o).Body)
}

// catalogue is every command of the group, as the command tree has it.
func (g group) catalogue(cmd *cobra.Command) Help {
	root := cmd
	for len(CommandWords(root)) > 0 {
		root = root.Parent()
	}
	global := argsOf(root.PersistentFlags())
	global = append(global, argsOf(root.Root().PersistentFlags(), "json", "yes")...)
	commands := []HelpCommand{}
	walk(root, func(c *cobra.Command) {
		commands = append(commands, describe(c))
	})
	fix := HelpArg{ID: "fix", Kind: ArgFlag, Long: "--fix"}
	commands = append(commands, HelpCommand{ID: "doctor --fix", Path: []string{"doctor"}, Mutating: true, JSON: true, Args: []HelpArg{fix}})
	return NewHelp(commands, global)
}

// walk visits every command that does something.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	below := c.Commands()
	if len(below) == 0 {
		visit(c)
	}
	for _, b := range below {
		walk(b, visit)
	}
}

func describe(c *cobra.Command) HelpCommand {
	words := CommandWords(c)
	id := strings.Join(words, " ")
	args := argsOf(c.LocalNonPersistentFlags())
	for _, p := range positionals(c.Use) {
		if slices.ContainsFunc(args, func(a HelpArg) bool { return a.ID == p.ID }) {
			continue // the flag of that name, for people without its name
		}
		args = append(args, HelpArg{ID: p.ID, Kind: ArgOption, Required: !p.Optional})
	}
	return HelpCommand{ID: id, Path: words, Mutating: slices.Contains(MutatingCommands(), id), JSON: true, Args: SortArgs(args)}
}

// argsOf are flags as the catalogue has them; with names, those alone.
func argsOf(flags *pflag.FlagSet, only ...string) []HelpArg {
	var out []HelpArg
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden || len(only) > 0 && !slices.Contains(only, f.Name) {
			return
		}
		a := HelpArg{ID: strings.ReplaceAll(f.Name, "-", "_"), Kind: ArgOption, Long: "--" + f.Name}
		if f.Value.Type() == "bool" {
			a.Kind = ArgFlag
		}
		_, a.Required = f.Annotations[required]
		out = append(out, a)
	})
	return out
}

// reference is every command in Markdown.
func reference(root *cobra.Command) string {
	var doc strings.Builder
	fmt.Fprintf(&doc, "# %s\n\n%s\n\nFlags of every command:\n\n```\n%s```\n", root.CommandPath(), root.Long, root.PersistentFlags().FlagUsages())
	walk(root, func(c *cobra.Command) {
		fmt.Fprintf(&doc, "\n## %s\n\n%s.\n\n```\n%s\n```\n", c.CommandPath(), c.Short, c.UseLine())
		if c.LocalNonPersistentFlags().HasAvailableFlags() {
			fmt.Fprintf(&doc, "\n```\n%s```\n", c.LocalNonPersistentFlags().FlagUsages())
		}
	})
	return doc.String()
}
