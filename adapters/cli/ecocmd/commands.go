package ecocmd

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (g *group) create() *cobra.Command {
	var description, provisioner string
	var repos, readonly []string
	c := g.dry(&cobra.Command{Use: "create NAME", Short: "Create an ecosystem in this workspace", Args: command.Args(1, 1),
		Long: "Create an ecosystem in this workspace: ecosystems/NAME/ecosystem.yaml in AMOF_WORKSPACE_ROOT, in the nearest parent directory that has\n" +
			"ecosystems/, or in the working directory. A git repository is initialized if there is none."})
	shown(c, "create shop --repo api=git@github.com:acme/api.git#main --readonly-repo lib=../lib.git", "create shop --repo api=../api.git --provisioner noop")
	f := c.Flags()
	f.StringVar(&description, "description", "", "description")
	f.StringVar(&provisioner, "provisioner", "", "provisioner of its environment: local, noop, or a directory in provisioners/")
	f.StringArrayVar(&repos, "repo", nil, "repository as NAME=URL[#BRANCH]; URL can be a path (repeatable)")
	f.StringArrayVar(&readonly, "readonly-repo", nil, "the same, for a read-only repository")
	_ = c.RegisterFlagCompletionFunc("provisioner", cobra.FixedCompletions([]cobra.Completion{"local", "noop"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		list := []any{}
		for i, spec := range append(append([]string{}, repos...), readonly...) {
			name, url, ok := strings.Cut(spec, "=")
			if !ok || name == "" || url == "" {
				return command.Usage(cmd, "invalid --repo %q; use NAME=URL[#BRANCH]", spec)
			}
			url, branch, _ := strings.Cut(url, "#")
			r := command.Arguments{"name": name, "url": located(url)}.Set("branch", branch)
			if i >= len(repos) {
				r["readonly"] = true
			}
			list = append(list, r)
		}
		if len(list) == 0 {
			return command.Usage(cmd, "give at least one --repo NAME=URL")
		}
		return g.do(cmd.Context(), "amof_create_ecosystem", command.Arguments{"name": args[0], "repos": list}.Set("description", description).Set("provisioner", provisioner), func(a answer) {
			g.prose(a)
			g.Note("next: countersign eco install (where there are several ecosystems, countersign eco use %s selects this one)", command.Plain(args[0]))
		})
	}
	return c
}

// located returns a path as an absolute one, which a manifest wants, and any other URL as it is.
func located(url string) string {
	if !filepath.IsAbs(url) && url != "." && url != ".." && !strings.HasPrefix(url, "./") && !strings.HasPrefix(url, "../") {
		return url
	}
	if abs, err := filepath.Abs(url); err == nil {
		return abs
	}
	return url
}

func (g *group) list() *cobra.Command {
	var retired bool
	c := shown(&cobra.Command{Use: "list", Short: "List the ecosystems of this workspace; * is the selected one", Args: command.Args(0, 0)}, "list", "list --retired")
	c.Flags().BoolVar(&retired, "retired", false, "also list retired ecosystems")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a := command.Arguments{}
		on(a, map[string]bool{"include_retired": retired})
		return g.look(cmd.Context(), "amof_list_ecosystems", a, g.Ecosystems)
	}
	return c
}

func (g *group) policy() *cobra.Command {
	c := shown(&cobra.Command{Use: "policy", Short: "Show the policy of each tool in each mode", Args: command.Args(0, 0)}, "policy")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return g.look(cmd.Context(), "amof_policy", command.Arguments{}, g.Policy)
	}
	return c
}

func (g *group) use() *cobra.Command {
	c := shown(g.named("use", "Select the default ecosystem"), "use shop")
	c.Long = "Select the default ecosystem of this workspace. Without ECOSYSTEM, clear the selection."
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return g.look(cmd.Context(), "ecosystem_use", g.about(args), func(a answer) {
			g.prose(a)
			if len(args) > 0 || g.ecosystem != "" {
				g.Note("next: countersign eco install, or countersign eco status where it is installed")
			}
		})
	}
	return c
}

func (g *group) describe() *cobra.Command {
	return shown(g.reading("describe", "Show an ecosystem's repositories and settings", "amof_describe_ecosystem", g.Description), "describe", "describe shop --json")
}

// invalid is the exit code of a manifest or release that is found wanting.
const invalid = 4

func (g *group) validate() *cobra.Command {
	var strict bool
	c := shown(g.named("validate", "Check an ecosystem's manifest"), "validate", "validate shop --strict")
	c.Long = "Check an ecosystem's manifest. The exit code is 4 if it is invalid."
	c.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(args)
		a["strict"] = strict
		return g.judge(cmd, "amof_validate_manifest", a, "valid", g.Validation)
	}
	return c
}

// judge shows an Answer that finds something right or wanting, as its member says.
func (g *group) judge(cmd *cobra.Command, name tool.Name, a command.Arguments, member string, draw func(answer)) error {
	o, err := g.Send(cmd.Context(), name, a, nil)
	if err != nil {
		return g.failed(o, err)
	}
	if err := g.Outcome(o, draw); err != nil || ParseAnswer(o.Value).Word(member) != "" {
		return err
	}
	return command.Exit(invalid)
}

func (g *group) status() *cobra.Command {
	return shown(g.reading("status", "Show branches, changes and unpushed commits of the repositories", "amof_get_ecosystem_status", g.Workspace), "status", "status shop --json")
}

func (g *group) install() *cobra.Command {
	var push bool
	c := g.changing("install", "Clone the repositories into a workspace, all or nothing", "amof_install_ecosystem", func(a command.Arguments) {
		on(a, map[string]bool{"push": push})
	})
	c.Flags().BoolVar(&push, "push", false, "push the workspace's branch afterwards")
	return shown(c, "install --dry-run", "install shop --yes")
}

func (g *group) sync() *cobra.Command {
	var repos []string
	c := g.changing("sync", "Update the repositories, fast-forward only", "amof_sync_ecosystem", func(a command.Arguments) { set(a, "repos", repos) })
	return shown(g.repoFlag(c, &repos), "sync", "sync shop --repo api")
}

func (g *group) exec() *cobra.Command {
	var repos []string
	var dirty bool
	var changed, saved string
	var parallel, timeout int
	c := &cobra.Command{Use: "exec [--repos A,B] [--dirty] [--changed REF] {--command NAME | -- PROGRAM [ARG...]}", Short: "Run a program in several repositories", Args: cobra.ArbitraryArgs,
		Long: "Run a program in the repositories: in the worktree of the active ticket, or else in the clone. It runs without a shell; use sh -c '...' for one. Each line of output " +
			"follows the name of its repository; the exit code is 1 if the program failed in any. --command runs a saved command from commands: in ecosystem.yaml (to list them: countersign eco commands): a list is a program and its " +
			"arguments, a string is run by sh -c."}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 0) == (saved == "") {
			return command.Usage(cmd, "give a program after --, or a saved command with --command")
		}
		a := g.about(nil).Set("changed", changed).Set("saved", saved)
		set(a, "repos", repos)
		set(a, "command", args)
		on(a, map[string]bool{"dirty": dirty})
		for name, n := range map[string]int{"parallel": parallel, "timeout_seconds": timeout} {
			if n != 0 {
				a[name] = n
			}
		}
		return g.do(cmd.Context(), "ecosystem_exec", a, nil)
	}
	f := c.Flags()
	f.SetInterspersed(false) // what follows the program is its own
	f.StringSliceVar(&repos, "repos", nil, "only these repositories")
	f.StringVar(&saved, "command", "", "saved command of ecosystem.yaml, instead of PROGRAM")
	f.BoolVar(&dirty, "dirty", false, "only repositories with uncommitted changes")
	f.StringVar(&changed, "changed", "", "only repositories with changes since this ref")
	f.IntVar(&parallel, "parallel", 0, "number of repositories in parallel (default 4)")
	f.IntVar(&timeout, "timeout", 0, "timeout in seconds for each repository (default 600)")
	g.completed(c, "repos", func(ctx context.Context, begun string) []cobra.Completion { return g.repos(ctx, begun) })
	g.completed(c, "command", g.savedCommands)
	return shown(g.running(c), "exec -- git status --short", "exec --command test --dirty", "exec --changed origin/main --parallel 2 -- go test ./...")
}

func (g *group) commands() *cobra.Command {
	return shown(g.reading("commands", "List the named commands of ecosystem.yaml", "amof_describe_ecosystem", g.SavedCommands), "commands", "exec --command test")
}

func (g *group) push() *cobra.Command {
	var repos []string
	var message string
	var all bool
	c := g.changing("push", "Push the branches of the repositories", "amof_push_ecosystem", func(a command.Arguments) {
		set(a.Set("message", message), "repos", repos)
		on(a, map[string]bool{"commit_all": all})
	})
	c.Flags().BoolVar(&all, "commit-all", false, "commit uncommitted changes first (needs --message)")
	c.Flags().StringVarP(&message, "message", "m", "", "message of that commit")
	return shown(g.repoFlag(c, &repos), "push --dry-run", `push --commit-all -m "Round prices"`)
}

func (g *group) archive() *cobra.Command {
	var message string
	var workspace, features, offline bool
	c := g.changing("archive", "Push everything, record it, and remove the workspace", "amof_archive_ecosystem", func(a command.Arguments) {
		on(a.Set("message", message), map[string]bool{"delete_workspace": workspace, "cleanup_features": features, "offline": offline})
	})
	c.Flags().StringVarP(&message, "message", "m", "", "reason, which is recorded")
	c.Flags().BoolVar(&workspace, "delete-workspace", false, "also delete the workspace's branch")
	c.Flags().BoolVar(&features, "cleanup-features", false, "also delete merged ticket branches on the remotes")
	c.Flags().BoolVar(&offline, "offline", false, "do not push; save everything in bundles on this machine")
	return shown(c, "archive --dry-run", `archive shop -m "Season is over"`)
}

func (g *group) discard() *cobra.Command {
	return shown(g.changing("discard", "Remove the workspace without pushing; keep it in the trash for 7 days", "amof_discard_ecosystem", nil), "discard --dry-run", "discard shop --type shop")
}

func (g *group) restore() *cobra.Command {
	var id string
	c := g.named("restore", "Restore a workspace from the trash")
	c.Flags().StringVar(&id, "id", "", "entry of eco trash (default: the newest)")
	g.completed(c, "id", g.entries)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return g.do(cmd.Context(), "ecosystem_restore", g.about(args).Set("trash_id", id), nil)
	}
	return shown(g.running(c), "restore shop", "restore shop --id shop-20260102T030405Z")
}

func (g *group) trash() *cobra.Command {
	return shown(g.reading("trash", "List the trash and the archive", "ecosystem_trash", g.Trash), "trash")
}

func (g *group) journal() *cobra.Command {
	var title, body string
	c := shown(g.dry(g.named("journal", "Write an entry into an ecosystem's journal")), `journal shop --title "Why two queues" --body @notes.md`)
	c.Flags().StringVar(&title, "title", "", "of the entry")
	c.Flags().StringVar(&body, "body", "", "text of the entry; @FILE: from a file, @-: from stdin")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if title == "" || body == "" {
			return command.Usage(cmd, "--title and --body are required")
		}
		text, err := g.File("body", body)
		if err != nil {
			return err
		}
		return g.do(cmd.Context(), "amof_create_journal", g.about(args).Set("title", title).Set("body", text), nil)
	}
	return c
}
