package admincmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/fault"
)

// defaultAddress is the default listen address.
const defaultAddress = "127.0.0.1:8317"

// ServeOptions says where a server listens, and how it is reached.
type ServeOptions struct {
	Addr  string   // "127.0.0.1:8317"; port 0 is any free one
	Hosts []string // names besides this machine's own: a name, an IP address, or the https origin of a proxy
	Cert  string   // files of the certificate and its key (PEM); empty: plain HTTP
	Key   string
	Plain bool                // plain HTTP even if other machines can reach it
	Env   func(string) string // the environment with the flags applied
}

// ServeAddress is where a server is.
type ServeAddress struct {
	Listens string // "127.0.0.1:8317"
	URL     string // URL for browsers, without a path
}

// Machine is the functions that the commands need from their machine. Every field is required.
type Machine struct {
	Open    command.Open                                                                    // opens a core with every toolset, unless the server configuration selects some
	Serve   func(ctx context.Context, o ServeOptions, ready func(ServeAddress) error) error // serves the last opened core until ctx ends; ready is called once clients can connect
	Token   func() string                                                                   // returns a new secret of a program
	Link    func(base, wanted string) (link, code string)                                   // returns a new one-time login of the server at base, and its secret
	Browse  func(ctx context.Context, env func(string) string, link string) (shown bool)    // opens a browser if there is a screen
	Process func() string                                                                   // returns the identity of this process
	Hold    func(home string) (release func(), err error)                                   // prevents other servers of that home from starting; no release: another one holds it
	InUse   func(ctx context.Context, env func(string) string) error                        // fails if another process uses the home that env names
	Free    func(dir string) (uint64, error)                                                // returns the bytes that may still be written to the file system of a directory
	Version string
}

// ServeCommand returns the command serve.
func ServeCommand(s *command.Shell, m Machine) *cobra.Command {
	var o ServeOptions
	var list, open, silent bool
	c := &cobra.Command{Use: "serve", Short: "Serve the console, the API and MCP over HTTP, on this machine", Args: command.Args(0, 0),
		Long: "Serve the web console, the JSON API and MCP over HTTP until Ctrl-C. Browsers log in with one-time links (countersign login creates more), programs\n" +
			"with access tokens (countersign token create). Without --addr it listens on " + defaultAddress + ", which other machines cannot reach. Every flag about tools has an\n" +
			"environment variable (--max-mode is COUNTERSIGN_MAX_MODE).",
		Example: `  countersign serve
  countersign serve --addr 127.0.0.1:0 --json
  countersign serve --addr 192.168.1.5:8317 --tls-cert cert.pem --tls-key key.pem --allowed-host tools.example.org`}
	c.Flags().StringVar(&o.Addr, "addr", defaultAddress, "IP address and port to listen on; port 0 is any free port")
	c.Flags().StringSliceVar(&o.Hosts, "allowed-host", nil, "an additional name of the server: a host name, an IP address, or the https origin of a proxy")
	c.Flags().StringVar(&o.Cert, "tls-cert", "", "certificate file for TLS (PEM)")
	c.Flags().StringVar(&o.Key, "tls-key", "", "private key file of the certificate (PEM)")
	c.Flags().BoolVar(&o.Plain, "allow-plain-http", false, "serve without TLS on an address that other machines can reach; a proxy must provide TLS")
	c.Flags().BoolVar(&open, "open", false, "open the console in the browser (default on a terminal)")
	c.Flags().BoolVar(&silent, "no-open", false, "do not open a browser")
	c.Flags().BoolVar(&list, "list-tools", false, "print the tools that these flags enable, and exit")
	c.MarkFlagsMutuallyExclusive("open", "no-open")
	AddServerFlags(c, "all")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		ApplyServerFlags(cmd, s)
		s.Open = m.Open
		if list {
			return PrintTools(cmd.Context(), s)
		}
		if s.Lookup("COUNTERSIGN_LOG") == "" && s.Lookup("CONTEXT_PACK_LOG") == "" {
			s.Set("COUNTERSIGN_LOG", "warn")
		}
		o.Env = s.Lookup
		signal.Ignore(syscall.SIGPIPE) // the reader of the output may be gone
		return server{Shell: s, Machine: m, open: !silent && (open || s.Drawn())}.run(cmd.Context(), o)
	}
	return c
}

// server is one run of the command serve.
type server struct {
	*command.Shell
	Machine
	open bool // a browser
}

func (v server) run(ctx context.Context, o ServeOptions) error {
	core, err := v.Opened()
	if err != nil {
		return err
	}
	free, err := hold(core, v.Machine)
	if err != nil {
		return err
	}
	defer free()
	at := Server{PID: os.Getpid(), Process: v.Process(), Locked: true, StartedAt: time.Now().UTC(), Version: v.Version}
	err = v.Serve(ctx, o, func(a ServeAddress) error {
		at.Address, at.URL, at.Console = a.Listens, a.URL, ConsoleURL(a.URL)
		if err := claim(core.Home, at); err != nil {
			return err
		}
		return v.announce(ctx, core, at)
	})
	if gone := release(core.Home, at); err == nil && gone != nil {
		err = gone
	}
	if err != nil {
		return fault.From(err)
	}
	if !v.JSON {
		v.Note("the server stopped")
	}
	return nil
}

// announced is the JSON output of serve.
type announced struct {
	Server
	Login  link   `json:"login"`
	MCP    string `json:"mcp_url"`
	API    string `json:"api_url"`
	Health string `json:"health_url"`
}

// announce prints the server's address, and how to log in.
func (v server) announce(ctx context.Context, core command.Core, at Server) error {
	var l link
	if _, unasked := v.ByCaller(ctx); unasked || v.Interactive() { // a link lets its reader approve: it is only shown on a controlling terminal
		var err error
		if l, err = newLink(v.Machine, at, "", func(c access.Credential) (access.Credential, error) {
			return core.Access.Issue(ctx, command.ByTerminal, c)
		}); err != nil {
			return err
		}
	}
	if v.JSON {
		if err := v.PrintJSON(announced{Server: at, Login: l, MCP: at.URL + "/mcp", API: at.URL + "/api/v1", Health: at.URL + "/healthz"}); err != nil {
			return err
		}
	} else {
		v.Line("Countersign is running at %s; press Ctrl-C to stop it", at.Console)
		if l.URL == "" {
			v.Line("console  %s; for a login link: countersign login", ConsoleURL(at.URL))
		} else {
			v.Line("console  %s", l.URL)
			v.Line("         for one browser, until %s; for another link: countersign login", l.ExpiresAt.Local().Format(time.TimeOnly))
		}
		v.Line("MCP      %s/mcp", at.URL)
		v.Line("token    countersign token create NAME")
	}
	if v.open && l.URL != "" && !v.Browse(ctx, v.Lookup, l.URL) && !v.JSON {
		v.Note("could not open a browser; open the link yourself")
	}
	return nil
}
