package cli

import (
	"cmp"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// withSecretsName is the command that agent hosts start servers with whose secrets their documents cannot name.
const withSecretsName = "with-secrets"

// Secrets is where secrets are looked for that the environment does not have.
type Secrets struct {
	Get func(name string) (value string, found bool, err error)
	How func(name string) string // the command that puts one there
}

// The faults of starting a server with its secrets. None of them says a value.
var (
	errSecretMissing = fault.New(fault.State, "secret_missing", "secret not found in the environment or the keychain")
	errNoServer      = fault.New(fault.NotFound, "server_program_missing", "cannot start the program of the server")
)

// withSecretsCommand returns the command with-secrets, which opens no core and writes nothing.
func withSecretsCommand(p Program, s *command.Shell) *cobra.Command {
	var texts []string
	var inArgs bool
	c := &cobra.Command{Use: withSecretsName + " [--args] [--env NAME=TEXT]... -- COMMAND [ARG]...", Short: "Start a program with secrets in its environment", Args: cobra.ArbitraryArgs, Hidden: true,
		Long: "Start a program with the variables of --env. @{NAME} in a value is replaced with the secret NAME: the environment variable NAME of this command, else\n" +
			"the keychain entry with account NAME and service \"countersign\", else the default in @{NAME:-default}. Deployed MCP servers are started this way\n" +
			"by agent hosts whose configuration cannot refer to secrets. No secret is written to a file or a message. With --args, @{NAME} is also replaced in the arguments of\n" +
			"the program, where other programs can read it in the process list; prefer --env if the server supports a variable.",
		Example: `  countersign with-secrets --env 'GITHUB_TOKEN=@{GITHUB_TOKEN}' -- npx -y github-mcp`}
	c.Flags().StringArrayVar(&texts, "env", nil, "variable of the program, as NAME=TEXT")
	c.Flags().BoolVar(&inArgs, "args", false, "also replace secrets in the program's arguments, where the process list shows them")
	c.Flags().SetInterspersed(false)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.Usage(cmd, "the program to start is missing; give it after --")
		}
		for _, text := range texts {
			if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
				return command.Usage(cmd, "--env takes NAME=TEXT")
			}
		}
		if inArgs {
			texts = slices.Concat(texts, args[1:])
		}
		set, err := resolved(texts, s.Lookup, p.Secrets)
		if err != nil {
			return err
		}
		if inArgs {
			n := len(set) - len(args) + 1
			args, set = append([]string{args[0]}, set[n:]...), set[:n]
		}
		program, err := exec.LookPath(args[0])
		if err != nil {
			return errNoServer.WithMessage("program %q not found on the PATH", args[0]).WithCause(err)
		}
		return become(program, args, set)
	}
	return c
}

// resolved are texts with the secrets in them. All that are missing are named at once.
func resolved(texts []string, env func(string) string, keep Secrets) (set []string, err error) {
	form := regexp.MustCompile(`@\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)
	known, missing := map[string]string{}, []string{}
	var silent error
	secret := func(name string) string {
		if value, asked := known[name]; asked {
			return value
		}
		known[name] = env(name)
		if known[name] == "" && keep.Get != nil {
			value, _, err := keep.Get(name)
			known[name], silent = value, cmp.Or(silent, err)
		}
		return known[name]
	}
	for _, text := range texts {
		set = append(set, form.ReplaceAllStringFunc(text, func(found string) string {
			parts := form.FindStringSubmatch(found)
			value := secret(parts[1])
			if value == "" && parts[2] == "" && !slices.Contains(missing, parts[1]) {
				missing = append(missing, parts[1])
			}
			return cmp.Or(value, strings.TrimPrefix(parts[2], ":-"))
		}))
	}
	if len(missing) == 0 {
		return set, nil
	}
	where := "not found in the environment from the host or in the keychain"
	if silent != nil {
		where = "not found in the environment from the host, and " + fault.From(silent).Message
	}
	hint := "set " + strings.Join(missing, ", ") + " where the host is started"
	if keep.How != nil {
		hint += ", or store it: " + keep.How(missing[0])
	}
	return nil, errSecretMissing.WithMessage("%s: %s", strings.Join(missing, ", "), where).WithDetails(command.Hint(hint))
}

// merged is an environment with other values for some of its names.
func merged(inherited, set []string) []string {
	name := func(pair string) string { n, _, _ := strings.Cut(pair, "="); return n }
	kept := slices.DeleteFunc(slices.Clone(inherited), func(pair string) bool {
		return slices.ContainsFunc(set, func(other string) bool { return name(other) == name(pair) })
	})
	return append(kept, set...)
}
