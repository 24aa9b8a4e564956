package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Session is the client instance that all commands of one user share: an approval for one command can be used by the next.
const Session = "cli"

// ByTerminal is the author of decisions in a terminal, in the audit log.
const ByTerminal = "terminal"

// Core is an opened core.
type Core struct {
	App       *app.App
	Principal policy.Principal // the user of this machine, with the permissions from the environment
	Root      string           // absolute: the root of anchor paths
	Home      string           // directory of Countersign's own state; it may not exist yet
	Access    Access           // may be nil
	Record    Record           // may be nil
	Notify    Notify           // may be nil
	// Copies returns the database copies that upgrades have left, newest first. It may be nil.
	Copies func() []DatabaseCopy
	// Damage returns what is damaged in the database file; none if there is no database. It may be nil.
	Damage func(ctx context.Context) ([]string, error)
	// GitVersion returns the version of the git that Countersign starts, such as 2.47.3. It may be nil.
	GitVersion func(ctx context.Context) (string, error)
	// SecurityKeys is the user's ssh agent; it may be nil.
	SecurityKeys securityKeys
	Close        func() error
	// ServeHooks serves incoming webhooks at a loopback address, for the workflows that the user has enabled them for, until ctx ends; each answer is
	// reported in a line. It may be nil.
	ServeHooks func(ctx context.Context, addr string, report func(line string)) error
	// SandboxInit creates the settings file of sandboxes with random secrets if there is none, and returns its path. No tool does that, because
	// secrets never pass through tools (opencode contract §5.1). It may be nil.
	SandboxInit func(ctx context.Context) (path string, created bool, err error)
	// SandboxAccess returns the secrets of agent servers and of their gateway, for programs that the user starts: for no name those of all, else those of a project, or
	// of a sandbox of it (PROJECT/NAME). It may be nil.
	SandboxAccess func(ctx context.Context, name string) (SandboxSecrets, error)
	// SandboxIsolated returns the command that runs argv in a sandbox, with the sandbox's isolation. It may be nil.
	SandboxIsolated func(ctx context.Context, url, name, path string, argv []string) ([]string, error)
	// SandboxMigrate updates the files of sandboxes after backing them up; a dry run only reports the changes. The report is {changes, warnings,
	// backups}, each a list of texts. It may be nil.
	SandboxMigrate func(ctx context.Context, dryRun bool) (report any, err error)
}

// SandboxSecrets is the secrets in the settings file of sandboxes.
type SandboxSecrets struct {
	Password string // of every agent server
	Token    string // of the gateway
}

// DatabaseCopy is the database as it was before an upgrade.
type DatabaseCopy struct {
	Path   string    `json:"path"`
	Schema int       `json:"schema"`
	At     time.Time `json:"made_at"`
}

// Access issues and revokes credentials for network requests. No tool does that, because secrets never pass through tools.
type Access interface {
	Issue(ctx context.Context, by string, c access.Credential) (access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
	List(ctx context.Context) ([]access.Credential, error)
}

// Record provides the status of the audit log, and configures its anchors. by is the author, for the audit log.
type Record interface {
	Standing(ctx context.Context) (audit.LogStatus, error)
	Add(ctx context.Context, by string, a audit.Anchor) (audit.Anchor, error)
	Remove(ctx context.Context, by string, a audit.Anchor) (audit.Anchor, error)
	Accept(ctx context.Context, by, reason string) (faults int, err error)
	NewKey(ctx context.Context, by string) (audit.Key, error)
	Prune(ctx context.Context, days int, least int64) (audit.Pruned, error)
}

// Notify is the notification channels for pending approvals.
type Notify interface {
	State(ctx context.Context) ([]notice.Channel, error)
	Test(ctx context.Context, name string) ([]notice.ChannelTestResult, error)
}

// Open assembles a core from an environment (COUNTERSIGN_*, CONTEXT_PACK_*). It opens files only when a call needs them.
type Open func(env func(string) string) (Core, error)

// Shell is one run of the command line. Not safe for concurrent use.
type Shell struct {
	*Terminal
	Env    func(string) string // nil is an empty environment
	Open   Open
	Client string   // name and version, for the audit
	Argv   []string // the command line as typed, for what is left unparsed after a flag error

	JSON  bool   // --json, --jq or --template: stdout contains only the answer
	Yes   bool   // --yes: approves below high risk, at a terminal, after the plan was shown
	Typed string // --confirm-name: the name to type for a plan
	Shown bool   // the complete plan of the next call was already shown on this terminal
	// Patient makes a call wait for a decision that cannot be made in a terminal, until it is made elsewhere.
	Patient bool
	denied  bool // the user at this terminal denied the last request
	// withdrawn is the request that was interrupted, and therefore withdrawn.
	withdrawn string
	changed   bool // an earlier call of this command may have changed something

	filter *filter // --jq or --template; nil is none

	words func(string) string // rewrites texts of tools for the command line; nil if the user did not make the call here

	flags map[string]string // environment variables set by flags
	core  *Core
}

// Errors of the command line itself.
var (
	ErrUsage      = fault.New(fault.Invalid, "usage_invalid", "invalid command line")
	ErrUnanswered = fault.New(fault.Unconfirmed, "confirmation_unanswered", "this needs your approval, and there is no terminal to ask")
)

// Hint is the details of an error that contain its hint.
type Hint string

// Set overrides an environment variable by a flag's value for this run.
func (s *Shell) Set(variable, value string) {
	if s.flags == nil {
		s.flags = map[string]string{}
	}
	s.flags[variable] = value
}

// Everything enables every toolset: a server may offer its clients fewer tools than the user may call.
func (s *Shell) Everything() {
	s.Set("COUNTERSIGN_TOOLSETS", "all")
	s.Set("COUNTERSIGN_TOOLS", "")
}

// Forget undoes every Set.
func (s *Shell) Forget() { s.flags = nil }

// Lookup returns the environment variable, or the flag given in its place.
func (s *Shell) Lookup(variable string) string {
	if v, ok := s.flags[variable]; ok {
		return v
	}
	if s.Env == nil {
		return ""
	}
	return s.Env(variable)
}

// App returns the core, opened on first use.
func (s *Shell) App() (*app.App, error) {
	if s.core == nil {
		core, err := s.Open(s.Lookup)
		if err != nil {
			return nil, err
		}
		s.core = &core
	}
	return s.core.App, nil
}

// SourceRoot returns the root of anchor paths.
func (s *Shell) SourceRoot() (string, error) {
	if _, err := s.App(); err != nil {
		return "", err
	}
	return s.core.Root, nil
}

// Opened returns the opened core, for servers.
func (s *Shell) Opened() (Core, error) {
	if _, err := s.App(); err != nil {
		return Core{}, err
	}
	return *s.core, nil
}

// Close closes the core if it was opened.
func (s *Shell) Close() error {
	if s.core == nil {
		return nil
	}
	core := s.core
	s.core = nil
	return core.Close()
}

// Call makes one call and asks the user if an approval is needed. The outcome is set even if the call failed; the error is its error, or that of the
// approval.
func (s *Shell) Call(ctx context.Context, name tool.Name, args any) (tool.Outcome, error) {
	raw, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{}, fault.From(err)
	}
	return s.Run(ctx, tool.Call{Tool: name, Args: raw})
}

// Do is Call through the typed handle of a tool; it decodes the answer. A dry run has none: its plan is in the outcome.
func Do[In, Out any](ctx context.Context, s *Shell, ref tool.Ref[In, Out], in In) (answer Out, o tool.Outcome, err error) {
	if o, err = s.Call(ctx, ref.Name, in); err == nil && !o.DryRun {
		err = DecodeAnswer(o, &answer)
	}
	return answer, o, err
}

// Run is Call for a prepared call. It sets Session, Client and Principal, and Progress if it is nil: a bar is drawn.
func (s *Shell) Run(ctx context.Context, c tool.Call) (tool.Outcome, error) {
	a, err := s.App()
	if err != nil {
		return tool.Outcome{}, err
	}
	c.Session, c.Client, c.Principal, c.FromUser = Session, s.Client, s.core.Principal, true
	drawn := false
	if c.Progress == nil {
		c.Progress = func(p tool.Progress) {
			drawn = true
			s.Progress(p.Done, p.Total, p.Message)
		}
	}
	o := a.Call(ctx, c)
	for asked := 0; o.Request != nil && o.Err != nil && asked < maxQuestions; asked++ {
		if err := s.answer(ctx, *o.Request, &c); err != nil {
			return o, err
		}
		o = a.Call(ctx, c)
	}
	if drawn {
		s.Done()
	}
	for _, w := range o.Warnings {
		s.Note("warning: %s", Plain(w))
	}
	if o.Err != nil {
		return o, fault.From(o.Err)
	}
	s.changed = s.changed || o.Spec.Effects&^(policy.Read|policy.Network) != 0 && o.Request == nil // with a token it only shows the plan
	return o, nil
}

// Rehearse is Run for a call that only shows what it would change.
func (s *Shell) Rehearse(ctx context.Context, c tool.Call) (tool.Outcome, error) {
	before := s.changed
	o, err := s.Run(ctx, c)
	s.changed = before
	return o, err
}

// ChangeSettings applies change to the settings, asks for approval of what it widens, and stores it. The outcome is set even if the call failed.
func (s *Shell) ChangeSettings(ctx context.Context, change func(*app.Settings) error) (app.Settings, tool.Outcome, error) {
	a, err := s.App()
	if err != nil {
		return app.Settings{}, tool.Outcome{}, err
	}
	c, err := a.SettingsCall(ctx, change)
	if err != nil {
		return app.Settings{}, tool.Outcome{}, err
	}
	o, err := s.Run(ctx, c)
	if err != nil {
		return app.Settings{}, o, err
	}
	var saved app.Settings // as approved: the answer is redacted
	if err := json.Unmarshal(c.Args, &saved); err != nil {
		return saved, o, fault.From(err)
	}
	return saved, o, nil
}

// ByCaller reports whether approvals are disabled, and the layer that decided so. If that cannot be determined, users approve.
func (s *Shell) ByCaller(ctx context.Context) (by string, unasked bool) {
	a, err := s.App()
	if err != nil {
		return "", false
	}
	now, err := a.PolicyInForce(ctx)
	if err != nil || !now.Approval.ByCaller() {
		return "", false
	}
	return cmp.Or(now.By["approval"], policy.BuiltIn), true
}

// Unasked tells users if approvals are disabled.
func (s *Shell) Unasked(ctx context.Context) {
	if by, unasked := s.ByCaller(ctx); unasked && !s.JSON {
		s.Note("warning: approval is caller (%s), so clients approve their own calls", Plain(by))
	}
}

// maxQuestions is the maximum number of approvals for one call: the plan may change between request and decision.
const maxQuestions = 3

// Show writes an outcome: its answer as JSON under --json, its text otherwise.
func (s *Shell) Show(o tool.Outcome) error {
	if s.JSON {
		if err := outcomeError(o); err != nil {
			return s.Fail(o, err)
		}
		return s.PrintDocument(present.CommandJSON(o))
	}
	return s.showText(o)
}

// ShowContract is Show in the form of the tool's contract, as agents get it.
func (s *Shell) ShowContract(o tool.Outcome) error {
	if s.JSON {
		if err := s.PrintDocument(present.For(o.Spec.Contract)(o).Body); err != nil {
			return err
		}
		return outcomeError(o)
	}
	return s.showText(o)
}

func (s *Shell) showText(o tool.Outcome) error {
	if err := outcomeError(o); err != nil {
		return err
	}
	text := present.For(o.Spec.Contract)(o).Text
	if s.Drawn() {
		text = Block(Indent([]byte(text)))
	}
	s.Line("%s", strings.TrimSuffix(text, "\n"))
	return nil
}

// Fail shows the details of a failed outcome and returns the error: a document under --json, otherwise the plan of a call that was denied with an
// explanation.
func (s *Shell) Fail(o tool.Outcome, err error) error {
	switch {
	case s.JSON && o.Err != nil:
		s.failure(o, err)
	case o.Explained:
		s.Note("plan:")
		s.Line("%s", Block(Indent(o.Value)))
	}
	return err
}

// FailContract is Fail in the form of the tool's contract, as agents get it.
func (s *Shell) FailContract(o tool.Outcome, err error) error {
	if s.JSON && o.Err != nil && s.filter == nil {
		s.Line("%s", present.For(o.Spec.Contract)(o).Body)
		return err
	}
	return s.Fail(o, err)
}

func outcomeError(o tool.Outcome) error {
	if o.Err == nil {
		return nil
	}
	return fault.From(o.Err)
}

// PrintJSON writes a value as one line of JSON.
func (s *Shell) PrintJSON(v any) error {
	doc, err := tool.Encode(v)
	if err != nil {
		return fault.From(err)
	}
	return s.PrintDocument(doc)
}

// Indent returns a JSON object or array indented, and any other text unchanged.
func Indent(doc []byte) string {
	var out bytes.Buffer
	if head := bytes.TrimSpace(doc); len(head) == 0 || head[0] != '{' && head[0] != '[' || json.Indent(&out, doc, "", "  ") != nil {
		return string(doc)
	}
	return out.String()
}

// Args accepts between low and high arguments; high < 0 is no bound.
func Args(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n := len(args)
		if n >= low && (high < 0 || n <= high) {
			return nil
		}
		what := "too many arguments"
		if n < low {
			what = "an argument is missing"
			names := strings.Fields(cmd.Use)[1:]
			if n < len(names) && strings.HasPrefix(names[n], "[") { // an optional argument is not the missing one
				names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "[") })
			}
			if n < len(names) {
				what += ": " + strings.TrimSuffix(names[n], "...")
			}
		}
		return Usage(cmd, "%s", what)
	}
}

// Usage returns an ErrUsage for a command, with its usage line as the hint.
func Usage(cmd *cobra.Command, format string, args ...any) *fault.Error {
	return ErrUsage.WithMessage("%s: %s", cmd.CommandPath(), fmt.Sprintf(format, args...)).WithDetails(Hint("usage: " + cmd.UseLine()))
}

// InsteadOf begins the annotation of a group that says what to do instead of a command that users look for in it: the name of that command follows.
const InsteadOf = "instead of "

// IsGroup reports whether a command only holds others, and takes no arguments of its own.
func IsGroup(cmd *cobra.Command) bool { return cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") }

// Subcommand rejects an unknown command of the group, and names the known ones.
func Subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if way := cmd.Annotations[InsteadOf+args[0]]; way != "" {
		return ErrUsage.WithMessage("%s has no command %q", cmd.CommandPath(), args[0]).WithDetails(Hint(way))
	}
	hint := "use one of: " + strings.Join(names, ", ")
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(args[0])
	for _, c := range cmd.Commands() {
		if slices.ContainsFunc(c.SuggestFor, func(word string) bool { return strings.EqualFold(word, args[0]) }) { // its name in other programs
			near = []string{c.Name()}
		}
	}
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return ErrUsage.WithMessage("%s has no command %q", cmd.CommandPath(), args[0]).WithDetails(Hint(hint))
}

// Alone runs a command group without a subcommand: its list if it has one, otherwise its help. Users are told that there are subcommands.
func Alone(cmd *cobra.Command, _ []string) error {
	for _, list := range cmd.Commands() {
		if list.Name() != "list" {
			continue
		}
		if list.SetContext(cmd.Context()); list.ParseFlags(nil) != nil {
			break
		}
		err := list.RunE(list, nil)
		if wanted, _ := cmd.Flags().GetBool("json"); err == nil && !wanted {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "for the other commands: %s --help\n", cmd.CommandPath())
		}
		return err
	}
	return cmd.Help()
}
