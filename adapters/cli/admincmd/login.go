package admincmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/access"
)

// link is a one-time login.
type link struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
	Opened    bool      `json:"opened"` // in a browser
}

// newLink creates a one-time login of a server with issue, which leads to the page wanted.
func newLink(m Machine, at Server, wanted string, issue func(access.Credential) (access.Credential, error)) (link, error) {
	url, code := m.Link(ConsoleURL(at.URL), wanted)
	c, err := issue(access.Credential{Kind: access.Login, Name: "console", Digest: access.DigestOf(code)})
	return link{URL: url, ExpiresAt: c.ExpiresAt}, err
}

// ConsoleURL returns the URL of a server's console: with the machine's name instead of its address, because browsers support passkeys only for names.
// Programs use the address, which needs no lookup.
func ConsoleURL(base string) string {
	if port, ok := strings.CutPrefix(base, "http://127.0.0.1"); ok && (port == "" || port[0] == ':') {
		return "http://localhost" + port
	}
	return base
}

// issue creates a credential; if users approve, after an approval (consent design, section 5). It fails with shell.ErrUnanswered, and leaves no
// request, if there is no terminal: the approval is for this secret, and repeating the command creates another one.
func issue(ctx context.Context, s *command.Shell, core command.Core, c access.Credential) (made access.Credential, err error) {
	if _, unasked := s.ByCaller(ctx); unasked {
		return core.Access.Issue(ctx, command.ByTerminal, c)
	}
	if !s.Interactive() {
		what := "logging a browser in to the console"
		if c.Kind == access.Token {
			what = "creating a token"
		}
		return made, command.ErrUnanswered.WithMessage("%s needs a terminal; nothing was created", what).WithDetails(command.Hint("run it in a terminal"))
	}
	s.Patient = true // what requires a passkey is approved in the console, while this process waits with the secret
	made, _, err = command.Do(ctx, s, control.CreateCredential, c.Request())
	return made, err
}

// LoginCommand returns the command login.
func LoginCommand(s *command.Shell, m Machine) *cobra.Command {
	var printed bool
	c := &cobra.Command{Use: "login [PATH]", Aliases: []string{"console"}, Short: "Open the console of the running server with a new one-time link", Args: command.Args(0, 1),
		Long: "Create a one-time link that logs a browser in to the console of the running server, and open it. The link is for one browser and expires in 5 minutes. PATH is\n" +
			"the page to open.",
		Example: `  countersign login
  countersign login /approvals
  countersign login --print`}
	c.Flags().BoolVar(&printed, "print", false, "print the link without opening a browser")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		wanted := strings.Join(args, "")
		if wanted != "" && !strings.HasPrefix(wanted, "/") {
			return command.Usage(cmd, "invalid page; use a path that starts with /, for example /approvals")
		}
		core, err := s.Opened()
		if err != nil {
			return err
		}
		at, ok := RunningServer(core, m)
		if !ok {
			return ErrStopped.WithMessage("no server is running for %s; start one with countersign up", core.Home)
		}
		l, err := newLink(m, at, wanted, func(c access.Credential) (access.Credential, error) { return issue(cmd.Context(), s, core, c) })
		if err != nil {
			return err
		}
		l.Opened = !printed && m.Browse(cmd.Context(), s.Lookup, l.URL)
		switch {
		case s.JSON:
			return s.PrintJSON(l)
		case l.Opened:
			s.Line("opened the console of %s in the browser", ConsoleURL(at.URL))
		default:
			s.Line("%s", l.URL)
			s.Note("for one browser, until %s", l.ExpiresAt.Local().Format(time.TimeOnly))
		}
		return nil
	}
	return c
}
