package admincmd

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// option is a flag that sets an environment variable.
type option struct {
	flag, variable, usage string
	bare                  bool // takes no value
}

// options returns the flags of every server about its tools and its policy.
func options(toolsets string) []option {
	return []option{
		{flag: "toolsets", variable: "COUNTERSIGN_TOOLSETS", usage: "toolsets to enable, separated by commas, or all (default " + toolsets + "; control is always enabled)"},
		{flag: "tools", variable: "COUNTERSIGN_TOOLS", usage: "single tools to enable, alone or in addition to --toolsets"},
		{flag: "exclude-tools", variable: "COUNTERSIGN_EXCLUDE_TOOLS", usage: "tools to disable; overrides the other flags"},
		{flag: "read-only", variable: "COUNTERSIGN_READ_ONLY", usage: "enable read-only tools only", bare: true},
		{flag: "mode", variable: "COUNTERSIGN_MODE", usage: "initial mode: ask, plan or execute (default: depends on the toolset)"},
		{flag: "max-mode", variable: "COUNTERSIGN_MAX_MODE", usage: "maximum mode: ask, plan or execute"},
		{flag: "approval", variable: "COUNTERSIGN_APPROVAL", usage: "who approves: human or caller; caller must also be set by you or in the system's configuration file"},
		{flag: "confirm-ttl", variable: "COUNTERSIGN_CONFIRM_TTL", usage: "how long an approval token is valid, 1m to 10m (default 5m)"},
		{flag: "confirm-wait", variable: "COUNTERSIGN_CONFIRM_WAIT", usage: "how long a call waits for an approval, 0s to 24h (default 45s; connect writes the maximum of the host)"},
		{flag: "permission-level", variable: "COUNTERSIGN_PERMISSION_LEVEL", usage: "read_only, execute_with_confirm or full_access"},
	}
}

// HostEntry is the variable that names the host entry a server was started from. It does not prove who started it.
const HostEntry = "COUNTERSIGN_HOST"

// serveHost is the flag for HostEntry.
const serveHost = "host"

// HostFlag adds the flag with which a host's configuration names the entry that started the server.
func HostFlag(c *cobra.Command) {
	c.Flags().String(serveHost, "", "name of the host entry that starts this server; it scopes approval requests and the forms that you enabled")
}

// AddServerFlags adds the flags of a server to its command. toolsets describes what is enabled by default.
func AddServerFlags(c *cobra.Command, toolsets string) {
	for _, o := range options(toolsets) {
		if o.bare {
			c.Flags().Bool(o.flag, false, o.usage)
		} else {
			c.Flags().String(o.flag, "", o.usage)
		}
	}
}

// ApplyServerFlags sets the environment variables of the flags that were given.
func ApplyServerFlags(cmd *cobra.Command, s *command.Shell) {
	s.Forget()
	if named := cmd.Flags().Lookup(serveHost); named != nil && named.Changed {
		s.Set(HostEntry, named.Value.String())
	}
	for _, o := range options("") {
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.Name == o.flag {
				s.Set(o.variable, f.Value.String())
			}
		})
	}
}
