package sandboxcmd

import (
	"cmp"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

var (
	errNotThere    = fault.New(fault.NotFound, "sandbox_unknown", "sandbox not found")
	errNoDirectory = fault.New(fault.NotFound, "sandbox_directory_missing", "the sandbox's directory does not exist")
	errNoShell     = fault.New(fault.State, "sandbox_shell_failed", "the shell did not start")
)

// place is where a sandbox is and what it has for itself, as JSON.
type place struct {
	Status      string            `json:"status"`
	Project     string            `json:"project"`
	URL         string            `json:"git_url"`
	Name        string            `json:"name"`
	Branch      string            `json:"branch"`
	Directory   string            `json:"directory"`
	Isolation   string            `json:"isolation,omitempty"`
	Environment map[string]string `json:"environment"`
}

func (g sandboxGroup) enter() *cobra.Command {
	c := &cobra.Command{Use: "enter [[URL] NAME]", Short: "Open a shell in a sandbox, with its ports and names as variables", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Open $SHELL in a sandbox, with these variables: SANDBOX_PORT, SANDBOX_PORT_1 to SANDBOX_PORT_9, SANDBOX_DB_NAME, SANDBOX_NAME and\n" +
			"SANDBOX_INDEX. The exit code is that of the shell. In a sandbox with isolation the shell is isolated like its\n" +
			"commands; in a container it is /bin/sh of the image. With --json, prints the directory and the variables instead.",
		Example: "  countersign sandbox enter acme-shop fix-login\n  SHELL=/bin/sh countersign sandbox enter acme-shop fix-login\n  countersign sandbox enter acme-shop fix-login --json"}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := g.there(cmd.Context(), args)
		if err != nil {
			return err
		}
		if g.JSON {
			return g.PrintJSON(to)
		}
		argv, err := g.shell(cmd.Context(), to)
		if err != nil {
			return err
		}
		return g.become(to, argv, true)
	}
	return c
}

// shell returns the shell to open in a sandbox, isolated as it says.
func (g sandboxGroup) shell(ctx context.Context, to place) ([]string, error) {
	own := []string{cmp.Or(g.Lookup("SHELL"), "/bin/sh")}
	if !strings.HasPrefix(to.Isolation, "container") {
		return g.isolated(ctx, to, own)
	}
	argv, err := g.isolated(ctx, to, []string{"/bin/sh"}) // the user's own need not be in the image
	if i := slices.Index(argv, "--interactive"); err == nil && i > 0 && term.IsTerminal(int(os.Stdin.Fd())) {
		argv = slices.Insert(argv, i, "--tty")
	}
	return argv, err
}

// there is place, of a sandbox whose directory is there.
func (g sandboxGroup) there(ctx context.Context, args []string) (place, error) {
	to, err := g.place(ctx, args)
	if err != nil {
		return to, err
	}
	if info, err := os.Stat(to.Directory); err != nil || !info.IsDir() {
		return to, errNoDirectory.WithMessage("the directory of sandbox %s does not exist: %s", to.Name, to.Directory).
			WithDetails(command.Hint("delete it with countersign sandbox rm, or create it again with countersign sandbox create"))
	}
	return to, nil
}

// place returns the sandbox that somebody named.
func (g sandboxGroup) place(ctx context.Context, args []string) (place, error) {
	url, name, err := g.Subject(ctx, args)
	if err != nil {
		return place{}, err
	}
	all, err := g.Sandboxes(ctx, url)
	if err != nil {
		return place{}, err
	}
	var names []string
	for _, b := range all.Sandboxes {
		if strings.EqualFold(b.Name, name) {
			to := place{"success", all.Project, all.URL, b.Name, b.Branch, b.Directory, b.Isolation, map[string]string{}}
			maps.Copy(to.Environment, b.Leases)
			return to, nil
		}
		names = append(names, b.Name)
	}
	hint := command.Hint("use one of: " + strings.Join(names, ", "))
	if len(names) == 0 {
		hint = command.Hint("countersign sandbox create " + all.Project + " " + name + " makes one")
	}
	return place{}, errNotThere.WithMessage("sandbox %[2]q of project %[1]s not found", all.Project, name).WithDetails(hint)
}

// become has a program take the place of this process, so that nothing stands between it and the terminal; shell: the user's shell.
func (g sandboxGroup) become(to place, argv []string, shell bool) error {
	program, err := exec.LookPath(argv[0])
	if err == nil {
		program, err = filepath.Abs(program) // of the directory that is about to be left
	}
	switch {
	case err != nil && shell:
		return errNoShell.WithMessage("SHELL is %q, which does not exist", argv[0]).WithDetails(command.Hint("SHELL=/bin/sh countersign sandbox enter …")).WithCause(err)
	case err != nil:
		return errNoShell.WithMessage("program %q not found on the PATH", argv[0]).WithDetails(command.Hint("give its path; for a program in the sandbox: ./NAME")).WithCause(err)
	}
	if err := g.Close(); err != nil {
		return err
	}
	if err := os.Chdir(to.Directory); err != nil {
		return errNoDirectory.WithMessage("cannot enter %s: %v", to.Directory, err)
	}
	if shell {
		within := ""
		if to.Isolation != "" {
			within = ", isolated by " + command.Plain(to.Isolation)
		}
		g.Note("sandbox %s of %s, branch %s%s; to leave: exit", command.Plain(to.Name), command.Plain(to.Project), command.Plain(to.Branch), within)
	}
	err = syscall.Exec(program, argv, environment(os.Environ(), to))
	return errNoShell.WithMessage("%s did not start: %v", program, err).WithCause(err)
}

// environment is inherited with what the sandbox has for itself, each name once.
func environment(inherited []string, to place) []string {
	own := maps.Clone(to.Environment)
	if own == nil {
		own = map[string]string{}
	}
	own["PWD"] = to.Directory
	out := slices.DeleteFunc(slices.Clone(inherited), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, replaced := own[name]
		return replaced || name == "OLDPWD"
	})
	for _, name := range slices.Sorted(maps.Keys(own)) {
		out = append(out, name+"="+own[name])
	}
	return out
}
