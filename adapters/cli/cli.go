// Package cli is the command line of Countersign: the command tree, its flags, its exit codes, and how errors are shown. Commands call tools by name through
// the core, as every transport does.
//
// Its API may change at any time.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/adapters/cli/admincmd"
	"github.com/countersign-dev/countersign/adapters/cli/agentcmd"
	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/ecocmd"
	"github.com/countersign-dev/countersign/adapters/cli/packcmd"
	"github.com/countersign-dev/countersign/adapters/cli/projectcmd"
	"github.com/countersign-dev/countersign/adapters/cli/sandboxcmd"
	"github.com/countersign-dev/countersign/adapters/cli/tourcmd"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/spelling"
)

// Program is what the command line needs from the one who assembles it.
type Program struct {
	Version      string
	Open         command.Open
	ServeMCP     serve
	ServeGateway serveGateway // may be nil
	Web          admincmd.Machine
	Secrets      Secrets

	onReady func() // to be called before anything can be cancelled; nil: nobody waits for signals
}

// serve serves one client on the streams until it leaves or ctx ends. env is the environment with what flags stand for. It calls heed before the
// first call is carried out: from then on SIGINT and SIGTERM end ctx, and no longer the process.
type serve func(ctx context.Context, d command.Core, streams *command.Terminal, env func(string) string, onReady func()) error

// garbage trades memory for time (GOGC): a command is gone in a moment, and of a server's calls the protocol library leaves tens of
// kilobytes each. What works on tens of thousands of files gives it up: from muchInUse bytes on the heap is collected as Go has it, and from mostInUse on
// twice as often.
const (
	garbage   = 400
	muchInUse = 6 << 20
	mostInUse = 20 << 20
)

// garbageOf is GOGC where that many bytes are in use.
func garbageOf(bytes uint64) int {
	switch {
	case bytes > mostInUse:
		return 50
	case bytes > muchInUse:
		return 100
	}
	return garbage
}

// collectMore sets GOGC anew after each collection, by what is in use.
func collectMore(now int) {
	runtime.AddCleanup(new([16]byte), func(now int) {
		use := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(use)
		percent := garbage
		if use[0].Value.Kind() == metrics.KindUint64 {
			percent = garbageOf(use[0].Value.Uint64())
		}
		if percent != now {
			debug.SetGCPercent(percent)
		}
		collectMore(percent)
	}, now)
}

// Main runs the command line on the process's own streams and returns the exit code. SIGINT and SIGTERM cancel what runs; a second
// one ends the process at once.
func Main(p Program, args []string) int {
	ctx, onReady, stop := signalContext()
	defer stop()
	if p.onReady = onReady; len(args) == 0 || args[0] != mcpName {
		onReady()
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
		collectMore(garbage)
	}
	return Run(ctx, p, command.OS(), args)
}

// signalContext returns a context that SIGINT and SIGTERM end from when heed is called. Before, they end the process, as a second one does. Heeding them
// takes threads of its own, which a server that nobody has called yet starts faster without.
func signalContext() (ctx context.Context, onReady, stop func()) {
	ctx, stop = context.WithCancel(context.Background())
	return ctx, sync.OnceFunc(func() {
		heard, ignore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(heard, func() {
			ignore()
			stop()
		})
	}), stop
}

// Run is Main on any streams, and under a context that cancels.
func Run(ctx context.Context, p Program, t *command.Terminal, args []string) int {
	s := &command.Shell{Terminal: t, Open: p.Open, Env: t.Env, Client: "countersign-cli/" + p.Version, Argv: args}
	document := s.Documents()
	root := commands(p, s)
	root.SetArgs(withoutHelp(root, args))
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		return 0
	}
	var exit command.Exit
	if errors.As(err, &exit) {
		return int(exit)
	}
	f := classify(cmd, err)
	document(f)
	if f.Kind == fault.Canceled && ctx.Err() != nil {
		t.Fail(s.Cancelled(), "")
		return present.ExitCode(fault.Canceled)
	}
	if words, denied := s.Denied(f); denied {
		t.Note("%s", words)
		return present.ExitCode(f.Kind)
	}
	t.Fail(f.Message, way(f, s))
	return present.ExitCode(f.Kind)
}

// aliasLists has list and ls mean the same everywhere, except in a group that has both.
func aliasLists(group *cobra.Command) {
	below := group.Commands()
	for _, c := range below {
		other := map[string]string{"list": "ls", "ls": "list"}[c.Name()]
		if other != "" && !slices.ContainsFunc(below, func(b *cobra.Command) bool { return b.Name() == other || b.HasAlias(other) }) {
			c.Aliases = append(c.Aliases, other)
		}
		aliasLists(c)
	}
}

// withoutHelp leaves out the flag that asks for help where the words before it name a command that a group does not have: the group's own help would pass for
// that command's.
func withoutHelp(root *cobra.Command, args []string) []string {
	asks := func(arg string) bool { return arg == "--help" || arg == "-h" }
	if !slices.ContainsFunc(args, asks) {
		return args
	}
	c, rest, err := root.Find(args)
	if err != nil || len(rest) == 0 || strings.HasPrefix(rest[0], "-") || !command.IsGroup(c) {
		return args
	}
	return slices.DeleteFunc(slices.Clone(args), asks)
}

// classify makes a fault of any error: what is none and comes from the command tree itself is a wrong command line.
func classify(cmd *cobra.Command, err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	if f := fault.From(err); f.Kind != fault.Internal {
		return f
	}
	head, _, _ := strings.Cut(err.Error(), "\n")
	if cmd != nil && (strings.HasPrefix(head, "unknown ") || strings.Contains(head, "flag")) {
		return command.ErrUsage.WithMessage("%s", head).WithDetails(command.Hint(cmd.CommandPath() + " --help"))
	}
	return fault.From(err)
}

// way returns the way out of a failure, where its message does not say it already.
func way(f *fault.Error, s *command.Shell) string {
	if hint, ok := f.Details.(command.Hint); ok {
		return string(hint)
	}
	if f.Kind == fault.Internal && s.Lookup("COUNTERSIGN_LOG") == "" {
		return "COUNTERSIGN_LOG=debug shows the cause on stderr"
	}
	return ""
}

// listTools is the flag that has a command print the tools and end.
const listTools = "list-tools"

// versionFlag is the flag that has a command print the version and end.
const versionFlag = "version"

// commands returns the whole tree. Making it opens nothing.
func commands(p Program, s *command.Shell) *cobra.Command {
	root := &cobra.Command{Use: "countersign", Short: "Agents propose; you countersign.", SilenceErrors: true, SilenceUsage: true,
		Long: "Agents propose; you countersign. A tool call of a coding agent becomes a plan, you see all of it, and only the plan that you approved runs.",
		Example: `  countersign up                       set Countersign up, and open the console
  countersign connect claude-code      connect an agent host
  countersign approvals                approve or deny what agents propose
  countersign pack new login-bug       build a context pack by hand`,
		Args: command.Subcommand}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if version, _ := cmd.Flags().GetBool(versionFlag); version {
			_, err := fmt.Fprintln(s.Out, "countersign", p.Version)
			return err
		}
		if listing, _ := cmd.Flags().GetBool(listTools); listing {
			return admincmd.PrintTools(cmd.Context(), s)
		}
		return command.Alone(cmd, args)
	}
	root.Flags().Bool(listTools, false, "print every tool there is, like tools list")
	root.Flags().BoolP(versionFlag, "v", false, "version for countersign")
	root.PersistentFlags().BoolVar(&s.JSON, "json", false, "print the answer as JSON, alone on stdout")
	s.AddFilterFlags(root.PersistentFlags())
	root.PersistentFlags().BoolVarP(&s.Yes, "yes", "y", false, "approve without asking (except high risk, or where a name must be typed)")
	root.PersistentFlags().StringVar(&s.Typed, "confirm-name", "", "the name to type where an approval asks for one")
	root.PersistentFlags().StringVar(&s.Typed, "type", "", "former name of --confirm-name")
	_ = root.PersistentFlags().MarkHidden("type")
	for _, flag := range []string{"jq", "template", "confirm-name"} {
		_ = root.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); len(words) > 0 && command.IsGroup(cmd) { // a command that there is not has no flags either
			return command.Subcommand(cmd, words)
		}
		hint := cmd.CommandPath() + " --help"
		if typed, wrong := strings.CutPrefix(err.Error(), "unknown flag: --"); wrong {
			var known []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					known = append(known, f.Name)
				}
			})
			if near := spelling.Nearest(typed, known); near != "" {
				hint = "did you mean --" + near + "? " + hint
			}
		}
		return command.ErrUsage.WithMessage("%s: %s", cmd.CommandPath(), err.Error()).WithDetails(command.Hint(hint))
	})
	root.AddGroup(&cobra.Group{ID: "start", Title: "Start here:"}, &cobra.Group{ID: "work", Title: "Work:"},
		&cobra.Group{ID: "projects", Title: "Projects:"}, &cobra.Group{ID: "govern", Title: "Govern:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	if len(s.Argv) > 0 && s.Argv[0] == mcpName {
		add("start", mcpCommand(p, s))                  // hosts wait for it: it does not pay for a hundred commands that it is not
		root.CompletionOptions.DisableDefaultCmd = true // nor for the one that cobra would add
		return root
	}
	if len(s.Argv) > 0 && s.Argv[0] == gatewayName {
		root.AddCommand(gatewayCommand(p, s)) // nor does the gateway, which a start waits for
		return root
	}
	if len(s.Argv) > 0 && s.Argv[0] == withSecretsName {
		root.AddCommand(withSecretsCommand(p, s)) // nor does this one, behind which a host's server waits
		return root
	}
	add("start", admincmd.UpCommand(s, p.Web), tourcmd.Command(s), admincmd.ServeCommand(s, p.Web), admincmd.LoginCommand(s, p.Web), admincmd.ConnectCommand(s, p.Web), admincmd.StatusCommand(s, p.Web), admincmd.DoctorCommand(s, p.Web), mcpCommand(p, s))
	add("work", packcmd.PackCommand(s), agentcmd.AgentsCommand(s, p.Version), admincmd.ToolsCommand(s))
	add("projects", projectcmd.Commands(s)...)
	add("projects", sandboxcmd.Command(s), ecocmd.Command(s))
	add("govern", admincmd.TokenCommand(s, p.Web), admincmd.PolicyCommand(s), admincmd.ApprovalsCommand(s), admincmd.ConfirmationsCommand(s), admincmd.ApproveCommand(s), admincmd.DenyCommand(s), admincmd.GrantsCommand(s), admincmd.KeysCommand(s), admincmd.CallsCommand(s), admincmd.RunsCommand(s), admincmd.OwnersCommand(s), admincmd.NotifyCommand(s), admincmd.AuditCommand(s), admincmd.BackupCommand(s), admincmd.RestoreCommand(s, p.Web))
	for _, c := range root.Commands() { // what users try first
		c.SuggestFor = map[string][]string{"up": {"init", "setup", "start"}, "doctor": {"health", "check", "diagnose"}, "approvals": {"pending", "review"}, "run": {"task", "make", "just"}}[c.Name()]
	}
	addShortNames(root)
	root.AddCommand(versionCommand(p, s), gatewayCommand(p, s), withSecretsCommand(p, s))
	aliasLists(root)
	root.SetHelpCommand(helpCommand(s, p.Version))
	addTopics(root, s)
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Args, c.RunE = command.Subcommand, command.Alone // cobra's own takes an unknown shell for a call for help
	}
	s.Everything()
	return root
}

// addShortNames has list and remove answer to ls and rm too, in every group where these are no commands of their own.
func addShortNames(c *cobra.Command) {
	has := func(name string) bool {
		return slices.ContainsFunc(c.Commands(), func(below *cobra.Command) bool { return below.Name() == name || below.HasAlias(name) })
	}
	for _, below := range c.Commands() {
		for long, short := range map[string]string{"list": "ls", "remove": "rm"} {
			if below.Name() == long && !has(short) {
				below.Aliases = append(below.Aliases, short)
			}
		}
		addShortNames(below)
	}
}

// versionOf is what version prints as JSON.
type versionOf struct {
	Version string `json:"version"`
}

func versionCommand(p Program, s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: command.Args(0, 0), RunE: func(*cobra.Command, []string) error {
		if s.JSON {
			return s.PrintJSON(versionOf{p.Version})
		}
		s.Line("countersign %s", p.Version)
		return nil
	}}
}
