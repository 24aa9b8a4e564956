package admincmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/fault"
)

// TokenCommand returns the command token.
func TokenCommand(s *command.Shell, m Machine) *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Manage access tokens of HTTP clients", Args: command.Subcommand, RunE: command.Alone}
	c.AddCommand(create(s, m), list(s), revoke(s))
	return c
}

// created is the JSON output of token create: the only time that the secret is shown.
type created struct {
	access.Credential
	Token string `json:"token"`
}

func create(s *command.Shell, m Machine) *cobra.Command {
	var scope access.Scope
	var ceiling string
	var expires time.Duration
	c := &cobra.Command{Use: "create NAME", Short: "Create a token and print it once", Args: command.Args(1, 1),
		Long: "Create an access token for a program and print it once; it is not stored. The program can use the tools that the server enables, limited by the flags.",
		Example: `  countersign token create ci --toolsets packs,deployments --max-mode plan --expires 720h
  countersign token create dashboard --read-only`}
	c.Flags().StringSliceVar(&scope.Toolsets, "toolsets", nil, "only tools of these toolsets, and control (default: all enabled toolsets)")
	c.Flags().BoolVar(&scope.ReadOnly, "read-only", false, "read-only tools only")
	c.Flags().StringVar(&ceiling, "max-mode", "", "maximum mode of its calls: ask, plan or execute")
	c.Flags().DurationVar(&expires, "expires", 0, "how long it is valid, for example 720h (default: until it is revoked)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := scope.Ceiling.UnmarshalText([]byte(ceiling)); err != nil {
			return command.Usage(cmd, "--max-mode: %s", fault.From(err).Message)
		}
		if cmd.Flags().Changed("expires") && expires <= 0 {
			return command.Usage(cmd, "--expires must be positive")
		}
		core, err := s.Opened()
		if err != nil {
			return err
		}
		if err := known(cmd, core, scope.Toolsets); err != nil {
			return err
		}
		asked := access.Credential{Kind: access.Token, Name: args[0], Scope: scope}
		if expires > 0 {
			asked.ExpiresAt = time.Now().Add(expires).UTC()
		}
		secret := m.Token()
		asked.Digest = access.DigestOf(secret)
		made, err := issue(cmd.Context(), s, core, asked)
		if err != nil {
			return namedServe(err)
		}
		if s.JSON {
			return s.PrintJSON(created{made, secret})
		}
		s.Line("%s", secret)
		s.Note("this is the access token %s, shown once; programs send it as Authorization: Bearer TOKEN; to revoke it: countersign token revoke %s", command.Plain(made.Name), made.ID)
		return nil
	}
	return c
}

// known fails for an unknown toolset: a token for it would allow nothing, without an explanation.
func known(cmd *cobra.Command, core command.Core, names []string) error {
	var there []string
	for _, t := range core.App.Toolsets() {
		there = append(there, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			return command.Usage(cmd, "unknown toolset %q; use one of: %s", name, strings.Join(there, ", "))
		}
	}
	return nil
}

// namedServe adds a hint if a name is taken.
func namedServe(err error) error {
	if f := fault.From(err); f.Is(access.ErrTaken) {
		return f.WithDetails(command.Hint("revoke the existing one with countersign token revoke NAME, or choose another name"))
	}
	return err
}

// serveListing is the JSON output of token list.
type serveListing struct {
	Count       int                 `json:"count"`
	Credentials []access.Credential `json:"credentials"`
}

func list(s *command.Shell) *cobra.Command {
	var all bool
	c := &cobra.Command{Use: "list", Short: "List valid tokens", Args: command.Args(0, 0)}
	c.Flags().BoolVar(&all, "all", false, "also list browser sessions and unused login links")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		good, err := credentials(cmd.Context(), s, all)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.PrintJSON(serveListing{len(good), good})
		}
		if len(good) == 0 {
			s.Note("no tokens; to create one: countersign token create NAME")
			return nil
		}
		var rows [][]string
		for _, c := range good {
			rows = append(rows, []string{c.ID, c.Kind.String(), command.Plain(c.Name), reach(c.Scope), when(c.CreatedAt, ""), when(c.UsedAt, "never"), when(c.ExpiresAt, "never")})
		}
		s.Table([]string{"id", "kind", "name", "may", "made", "used", "expires"}, rows, "made", "used")
		return nil
	}
	return c
}

// credentials returns the valid tokens, or all valid credentials.
func credentials(ctx context.Context, s *command.Shell, all bool) ([]access.Credential, error) {
	core, err := s.Opened()
	if err != nil {
		return nil, err
	}
	good, err := core.Access.List(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(good, func(c access.Credential) bool { return !all && c.Kind != access.Token }), nil
}

// reach describes a scope.
func reach(s access.Scope) string {
	what := "all enabled tools"
	if len(s.Toolsets) > 0 {
		what = strings.Join(s.Toolsets, ", ")
	}
	if s.ReadOnly {
		what += "; read-only"
	}
	if mode := s.Ceiling.String(); mode != "" {
		what += "; up to " + mode
	}
	return what
}

func when(t time.Time, never string) string {
	if t.IsZero() {
		return never
	}
	return t.Local().Format(time.DateTime)
}

func revoke(s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "revoke NAME|ID", Short: "Revoke a token, a browser session or a login link", Args: command.Args(1, 1), ValidArgsFunction: complete(s),
		RunE: func(cmd *cobra.Command, args []string) error {
			core, err := s.Opened()
			if err != nil {
				return err
			}
			ended, err := core.Access.Revoke(cmd.Context(), command.ByTerminal, args[0])
			if err != nil {
				if f := fault.From(err); f.Is(access.ErrMissing) {
					return f.WithDetails(command.Hint("to list all credentials: countersign token list --all"))
				}
				return err
			}
			if s.JSON {
				return s.PrintJSON(ended)
			}
			s.Line("revoked %s %s (%s)", ended.Kind, command.Plain(ended.Name), ended.ID)
			return nil
		}}
}

func complete(s *command.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var ids []cobra.Completion
		if len(args) == 0 {
			good, _ := credentials(cmd.Context(), s, true)
			for _, c := range good {
				ids = append(ids, cobra.CompletionWithDesc(c.ID, c.Kind.String()+" "+c.Name))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
