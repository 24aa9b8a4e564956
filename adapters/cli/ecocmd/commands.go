package ecocmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/projectcmd/workdesk"
	"github.com/countersign-dev/countersign/adapters/cli/shell"
)

func (g *group) create() *cobra.Command {
	var description, provisioner string
	var repos, readonly []string
	c := &cobra.Command{Use: "create NAME", Short: "Make an ecosystem in this workspace", Args: shell.Args(1, 1),
		Long:    "Make an ecosystem in this workspace. A directory that is no git repository yet becomes one.",
		Example: "  countersign eco create shop --repo api=git@github.com:acme/api.git#main --readonly-repo lib=../lib"}
	f := c.Flags()
	f.StringVar(&description, "description", "", "what it is for")
	f.StringVar(&provisioner, "provisioner", "", "how its environment is deployed (local, noop, or a directory of provisioners/)")
	f.StringArrayVar(&repos, "repo", nil, "NAME=URL[#BRANCH], again and again")
	f.StringArrayVar(&readonly, "readonly-repo", nil, "likewise, of repositories that are never written to")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		list := []any{}
		for i, spec := range append(append([]string{}, repos...), readonly...) {
			name, url, ok := strings.Cut(spec, "=")
			if !ok || name == "" || url == "" {
				return shell.Usage(cmd, "--repo %q has to be NAME=URL[#BRANCH]", spec)
			}
			url, branch, _ := strings.Cut(url, "#")
			r := workdesk.Arguments{"name": name, "url": url}.Set("branch", branch)
			if i >= len(repos) {
				r["readonly"] = true
			}
			list = append(list, r)
		}
		if len(list) == 0 {
			return shell.Usage(cmd, "name at least one --repo NAME=URL")
		}
		return g.do(cmd.Context(), "amof_create_ecosystem", workdesk.Arguments{"name": args[0], "repos": list}.Set("description", description).Set("provisioner", provisioner))
	}
	return c
}

func (g *group) use() *cobra.Command {
	c := g.named("use", "Select the ecosystem that commands are about when they name none")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return g.look(cmd.Context(), "ecosystem_use", g.about(args))
	}
	return c
}

func (g *group) describe() *cobra.Command {
	return g.reading("describe", "Show what an ecosystem is made of", "amof_describe_ecosystem")
}

func (g *group) validate() *cobra.Command {
	var strict bool
	c := g.named("validate", "Check an ecosystem's manifest")
	c.Flags().BoolVar(&strict, "strict", false, "take warnings for errors")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(args)
		a["strict"] = strict
		var answer struct{ Valid bool }
		o, err := g.Send(cmd.Context(), "amof_validate_manifest", a, nil)
		if err != nil {
			return g.failed(o, err)
		}
		if err := workdesk.Read(o, &answer); err != nil {
			return err
		}
		if err := g.Show(o); err != nil || answer.Valid {
			return err
		}
		return exit(4)
	}
	return c
}

func (g *group) status() *cobra.Command {
	return g.reading("status", "Show the repositories of an ecosystem: branches, changes, what is not pushed", "amof_get_ecosystem_status")
}

func (g *group) install() *cobra.Command {
	var push bool
	c := g.changing("install", "Clone an ecosystem's repositories into a workspace, all or nothing", "amof_install_ecosystem", func(a workdesk.Arguments) {
		if push {
			a["push"] = true
		}
	})
	c.Flags().BoolVar(&push, "push", false, "push the workspace's branch afterwards")
	return c
}

func (g *group) sync() *cobra.Command {
	var repos []string
	c := g.changing("sync", "Bring the repositories up to date, by fast-forward alone", "amof_sync_ecosystem", func(a workdesk.Arguments) { set(a, "repos", repos) })
	c.Flags().StringSliceVar(&repos, "repo", nil, "only this repository, again and again")
	return c
}

func set(a workdesk.Arguments, name string, values []string) {
	if len(values) > 0 {
		a[name] = values
	}
}

func (g *group) push() *cobra.Command {
	var repos []string
	var message string
	var all bool
	c := g.changing("push", "Push the branches of the repositories", "amof_push_ecosystem", func(a workdesk.Arguments) {
		set(a.Set("message", message), "repos", repos)
		if all {
			a["commit_all"] = true
		}
	})
	c.Flags().StringSliceVar(&repos, "repo", nil, "only this repository, again and again")
	c.Flags().BoolVar(&all, "commit-all", false, "commit what is not committed first (needs --message)")
	c.Flags().StringVarP(&message, "message", "m", "", "of that commit")
	return c
}

func (g *group) archive() *cobra.Command {
	var message string
	var workspace, features, offline bool
	c := g.changing("archive", "Push everything, put it on record, and remove the workspace", "amof_archive_ecosystem", func(a workdesk.Arguments) {
		a.Set("message", message)
		for name, on := range map[string]bool{"delete_workspace": workspace, "cleanup_features": features, "offline": offline} {
			if on {
				a[name] = true
			}
		}
	})
	c.Flags().StringVarP(&message, "message", "m", "", "why, for the record")
	c.Flags().BoolVar(&workspace, "delete-workspace", false, "delete the workspace's branch, too")
	c.Flags().BoolVar(&features, "cleanup-features", false, "delete the tickets' branches, too")
	c.Flags().BoolVar(&offline, "offline", false, "save bundles instead of pushing")
	return c
}

func (g *group) discard() *cobra.Command {
	return g.changing("discard", "Remove the workspace without pushing; it stays in the trash for seven days", "amof_discard_ecosystem", nil)
}

func (g *group) restore() *cobra.Command {
	var id string
	c := g.changing("restore", "Bring a discarded workspace back from the trash", "ecosystem_restore", func(a workdesk.Arguments) { a.Set("id", id) })
	c.Flags().StringVar(&id, "id", "", "which one, of those that eco trash shows (default: the newest)")
	return c
}

func (g *group) trash() *cobra.Command {
	return g.reading("trash", "Show what can be restored", "ecosystem_trash")
}

func (g *group) journal() *cobra.Command {
	var title, body string
	c := g.named("journal", "Write an entry into an ecosystem's journal")
	c.Example = `  countersign eco journal shop --title "Why two queues" --body @notes.md`
	c.Flags().StringVar(&title, "title", "", "of the entry")
	c.Flags().StringVar(&body, "body", "", "of the entry; @FILE reads a file, @- the input")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if title == "" {
			return shell.Usage(cmd, "--title is missing")
		}
		text, err := g.File("body", body)
		if err != nil {
			return err
		}
		return g.do(cmd.Context(), "amof_create_journal", g.about(args).Set("title", title).Set("body", text))
	}
	return c
}

func (g *group) tickets() []*cobra.Command {
	one := func(use, short string, name string, with func(workdesk.Arguments)) *cobra.Command {
		c := &cobra.Command{Use: use + " TICKET", Short: short, Args: shell.Args(1, 1), Example: "  countersign eco ticket " + use + " PROJ-12"}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a := g.about(nil)
			a["ticket_id"] = args[0]
			if with != nil {
				with(a)
			}
			return g.do(cmd.Context(), toolName(name), a)
		}
		return c
	}
	var repos []string
	var cleanup string
	var force bool
	start := one("start", "Start a ticket: its branch in a worktree of every repository", "amof_ticket_start", func(a workdesk.Arguments) { set(a, "repos", repos) })
	start.Flags().StringSliceVar(&repos, "repo", nil, "only this repository, again and again")
	end := one("end", "End a ticket; its branches stay unless --cleanup says otherwise", "amof_ticket_end", func(a workdesk.Arguments) {
		a.Set("cleanup", cleanup)
		if force {
			a["force"] = true
		}
	})
	end.Flags().StringVar(&cleanup, "cleanup", "", "what else goes: local or all (those at origin, too)")
	end.Flags().BoolVar(&force, "force", false, "also with work that is nowhere else; it is kept under refs")
	return []*cobra.Command{g.reading("list", "List the tickets", "amof_ticket_list"), start,
		one("switch", "Work on another ticket; main leaves tickets", "amof_ticket_switch", nil), end}
}

func (g *group) spin() []*cobra.Command {
	environment := ""
	env := func(c *cobra.Command) *cobra.Command {
		c.Flags().StringVar(&environment, "environment", "", "which one (default: default)")
		return c
	}
	with := func(a workdesk.Arguments) { a.Set("environment", environment) }
	status := g.named("status", "Show what is deployed")
	status.RunE = func(cmd *cobra.Command, args []string) error {
		return g.look(cmd.Context(), "ecosystem_spin_status", g.about(args).Set("environment", environment))
	}
	return []*cobra.Command{env(g.changing("deploy", "Deploy the environment", "amof_spin_deploy", with)),
		env(g.changing("destroy", "Take the environment down", "amof_spin_destroy", with)), env(status)}
}

func (g *group) release() []*cobra.Command {
	var pre, message, target string
	var push, strict, skip bool
	var limit int
	flags := func(c *cobra.Command) *cobra.Command {
		c.Flags().StringVarP(&message, "message", "m", "", "of the tag")
		c.Flags().BoolVar(&push, "push", false, "push branches and tags")
		c.Flags().BoolVar(&strict, "strict", false, "take warnings for errors")
		c.Flags().BoolVar(&skip, "skip-validation", false, "do not validate first")
		return c
	}
	with := func(a workdesk.Arguments) {
		a.Set("message", message)
		for name, on := range map[string]bool{"push": push, "strict": strict, "skip_validation": skip} {
			if on {
				a[name] = true
			}
		}
	}
	bump := &cobra.Command{Use: "bump patch|minor|major", Short: "Release the next version", Args: shell.Args(1, 1), ValidArgs: []cobra.Completion{"patch", "minor", "major"},
		Example: "  countersign eco release bump patch --pre alpha"}
	bump.Flags().StringVar(&pre, "pre", "", "a pre-release: alpha, beta or rc")
	bump.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(nil).Set("bump_type", args[0]).Set("pre_release", pre)
		with(a)
		return g.do(cmd.Context(), "amof_release_bump", a)
	}
	promote := &cobra.Command{Use: "promote [beta|rc]", Short: "Release a pre-release as its next stage, or as stable", Args: shell.Args(0, 1), ValidArgs: []cobra.Completion{"beta", "rc"},
		Example: "  countersign eco release promote rc\n  countersign eco release promote"}
	promote.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(nil)
		if len(args) > 0 {
			a.Set("target", args[0])
		}
		with(a)
		return g.do(cmd.Context(), "amof_release_promote", a)
	}
	validate := g.named("validate", "Check whether the ecosystem can be released")
	validate.Flags().StringVar(&target, "target", "", "the stage to check for")
	validate.RunE = func(cmd *cobra.Command, args []string) error {
		return g.look(cmd.Context(), "amof_release_validate", g.about(args).Set("target", target))
	}
	log := g.named("log", "List the releases there were")
	log.Flags().IntVar(&limit, "limit", 0, "how many (default 10)")
	log.RunE = func(cmd *cobra.Command, args []string) error {
		a := g.about(args)
		if limit > 0 {
			a["limit"] = limit
		}
		return g.look(cmd.Context(), "amof_release_log", a)
	}
	return []*cobra.Command{g.reading("status", "Show the current version, and what may come next", "amof_release_status"), validate, flags(bump), flags(promote), log}
}
