package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// Completer completes one argument or flag. On failure it returns nothing.
type Completer func(ctx context.Context, begun string) []cobra.Completion

// Complete completes positional arguments, each with the completer at its position; nil is none.
func Complete(each ...Completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(each) || each[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// Offer appends a completion with a note if it continues what was typed.
func Offer(out []cobra.Completion, word, note, begun string) []cobra.Completion {
	if word == "" || !strings.HasPrefix(word, begun) {
		return out
	}
	return append(out, cobra.CompletionWithDesc(Plain(word), Plain(note)))
}
