package agentcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// errTTY reports a form that nobody can fill in.
var errTTY = fault.New(fault.Invalid, "guided_tty_required", "init --guided needs a terminal")

// form asks for what init needs, and puts the answers into its arguments. What would fail whatever is answered fails before anything is
// asked.
func (g author) form(cmd *cobra.Command, args command.Arguments) error {
	in, out := g.Terminals()
	if !in || !out {
		return g.Failed(cmd, tool.Outcome{}, errTTY.WithDetails(map[string]any{"stdin_is_terminal": in, "stdout_is_terminal": out,
			"hint": "run it in a terminal, or use --targets and --scope instead of --guided"}))
	}
	ctx := cmd.Context()
	trial := command.Arguments{"targets": []string{"codex", "claude_code"}, "git": args["git"]}
	if o, err := g.Try(ctx, "agents_init", trial); err != nil {
		return g.Failed(cmd, o, err)
	}
	targets, err := g.choose(ctx, "agents", Targets(), []string{"codex", "claude_code"}, true)
	if err != nil {
		return g.Failed(cmd, tool.Outcome{}, err)
	}
	scope, err := g.choose(ctx, "where to deploy: this project only, or also your home directory", []string{"project", "both"}, []string{"both"}, false)
	if err != nil {
		return g.Failed(cmd, tool.Outcome{}, err)
	}
	bootstrap, err := g.YesNo(ctx, "write commands and a skill that let agents operate it?")
	if err != nil {
		return g.Failed(cmd, tool.Outcome{}, err)
	}
	args["targets"], args["scope"] = targets, scope[0]
	args["bootstrap"] = bootstrap || args["bootstrap"] == true
	return nil
}

// choose asks for one of the options, or for several, until the answer is understood. An empty answer is the default.
func (g author) choose(ctx context.Context, question string, options, otherwise []string, many bool) ([]string, error) {
	for {
		said, err := g.Ask(ctx, question+" ("+strings.Join(options, ", ")+") ["+strings.Join(otherwise, ", ")+"]:")
		if err != nil {
			return nil, err
		}
		words := strings.FieldsFunc(said, func(r rune) bool { return r == ',' || r == ' ' })
		unknown := slices.IndexFunc(words, func(w string) bool { return !slices.Contains(options, w) })
		switch {
		case len(words) == 0:
			return otherwise, nil
		case unknown >= 0:
			g.Say(words[unknown] + " is not an option")
		case len(words) > 1 && !many:
			g.Say("choose one option")
		default:
			return slices.Compact(words), nil
		}
	}
}
