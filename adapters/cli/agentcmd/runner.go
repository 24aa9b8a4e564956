package agentcmd

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Runner is where the commands of one shell work.
type Runner struct {
	*command.Shell
	version string
	flags   *flags
	held    *tool.Held // what the calls of one command pass on; nil for nothing
}

// here begins a command in the config repository of this one.
func (d Runner) here() string {
	group := "countersign agents "
	if d.flags.repo != "" {
		group += "--repo " + d.flags.repo + " "
	}
	return group
}

// flags are those that every command of the group takes.
type flags struct {
	repo, profile, target, machine, project, scope string
	offline, dryRun                                bool
}

// NewRunner is the desk of a shell. version is the product's, for envelopes of what no tool answered.
func NewRunner(s *command.Shell, version string) Runner { return Runner{s, version, &flags{}, nil} }

// Flags makes the flags of the group part of a set.
func (d Runner) Flags(p *pflag.FlagSet) {
	p.StringVar(&d.flags.repo, "repo", "", "config repository (default: $AGENTPACK_HOME/repo)")
	p.StringVar(&d.flags.profile, "profile", "", "profile (default: default)")
	p.StringVar(&d.flags.target, "target", "", "target, or all (default: all)")
	p.StringVar(&d.flags.machine, "machine", "", "machine ID for machine overlays (default: this machine)")
	p.StringVar(&d.flags.project, "project-root", "", "project to deploy into (default: the project of the working directory)")
	p.BoolVar(&d.flags.offline, "offline", false, "do not fetch")
	p.BoolVar(&d.flags.dryRun, "dry-run", false, "show the plan without applying it")
}

// Scoped gives a command --scope: the user's files alone, or the project's.
func (d Runner) Scoped(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&d.flags.scope, "scope", "", "user, project or both (default: as set in the targets)")
	return c
}

// DryRun reports whether nothing may change.
func (d Runner) DryRun() bool { return d.flags.dryRun }

// Project is the project that is deployed into, for people: the one that is named, or the git work tree around the working directory; "" where there is none.
func (d Runner) Project() string {
	if named := d.Lookup("AGENTPACK_PROJECT_ROOT"); named != "" {
		return named
	}
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Repo is the config repository, for people: the one that is named, or the one of the home (agentpack contract §1.1).
func (d Runner) Repo() (string, error) {
	user := d.Lookup("HOME")
	if user == "" {
		var err error
		if user, err = os.UserHomeDir(); err != nil {
			return "", err
		}
	}
	path := d.flags.repo
	if strings.TrimSpace(path) == "" {
		path = filepath.Join(cmp.Or(strings.TrimSpace(d.Lookup("AGENTPACK_HOME")), filepath.Join(user, ".agentpack")), "repo")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(user, filepath.FromSlash(rest))
	}
	return filepath.Abs(path)
}

// Screen is where answers are drawn.
func (d Runner) Screen() Screen { return Screen{Terminal: d.Terminal} }

// RunFunc is what a command does.
type RunFunc func(cmd *cobra.Command, args []string) error

// Command is a command whose usage line says what arguments it takes: NAME is needed, [NAME] is not, [NAME]... is any number.
func (d Runner) Command(use, short string, do RunFunc) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.Args = func(cmd *cobra.Command, args []string) error {
		low, high := bounds(use)
		switch {
		case len(args) < low:
			return d.Misused(cmd, "an argument is missing")
		case high >= 0 && len(args) > high:
			return d.Misused(cmd, "too many arguments: %s", strings.Join(args[high:], " "))
		}
		return nil
	}
	c.RunE = d.Entered(do)
	return c
}

// Entered is a command's work after Enter.
func (d Runner) Entered(do RunFunc) RunFunc {
	return func(cmd *cobra.Command, args []string) error {
		if err := d.Enter(); err != nil {
			return d.Failed(cmd, tool.Outcome{}, err)
		}
		return do(cmd, args)
	}
}

// Enter makes the flags that stand for environment variables stand for them.
func (d Runner) Enter() error {
	if d.flags.offline {
		d.Set("AGENTPACK_OFFLINE", "1")
	}
	if d.flags.scope != "" {
		d.Set("AGENTPACK_SCOPE", d.flags.scope)
	}
	if d.flags.project == "" {
		return nil
	}
	project, err := filepath.Abs(d.flags.project)
	if err == nil {
		d.Set("AGENTPACK_PROJECT_ROOT", project)
	}
	return err
}

// Parent is a command that only has others.
func (d Runner) Parent(use, short string, below ...*cobra.Command) *cobra.Command {
	c := command.Group(use, short, below...)
	c.Args = d.Known
	return c
}

// Known refuses a word that names no command.
func (d Runner) Known(cmd *cobra.Command, args []string) error {
	err := command.Subcommand(cmd, args)
	if err == nil {
		return nil
	}
	return d.misusedAs(cmd, err)
}

// positional is one argument of a usage line.
type positional struct {
	ID             string
	Optional, Many bool
}

// positionals are the arguments that a usage line names.
func positionals(use string) []positional {
	var out []positional
	for _, word := range strings.Fields(use)[1:] {
		p := positional{Many: strings.HasSuffix(word, "...")}
		word = strings.TrimSuffix(word, "...")
		p.Optional = strings.HasPrefix(word, "[")
		p.ID = strings.ToLower(strings.Trim(word, "[]"))
		out = append(out, p)
	}
	return out
}

// bounds are how many arguments a usage line takes; high < 0 is no bound.
func bounds(use string) (low, high int) {
	for _, p := range positionals(use) {
		if !p.Optional {
			low++
		}
		if p.Many {
			return low, -1
		}
		high++
	}
	return low, high
}
