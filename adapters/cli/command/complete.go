package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// Completer completes one argument or flag. It says nothing when it fails.
type Completer func(ctx context.Context, begun string) []cobra.Completion

// Complete completes positional arguments, each with the completer of its place; nil is none.
func Complete(each ...Completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(each) || each[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// Offer adds a word with a note to the completions, as far as it goes on from what was begun.
func Offer(out []cobra.Completion, word, note, begun string) []cobra.Completion {
	if word == "" || !strings.HasPrefix(word, begun) {
		return out
	}
	return append(out, cobra.CompletionWithDesc(Plain(word), Plain(note)))
}
