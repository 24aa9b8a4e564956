package agentcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app/deployments/authoring"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (g author) addModule() *cobra.Command {
	var id string
	var tags, targets, skills []string
	var list bool
	c := g.Command("add [MODULE_TYPE] SOURCE", "Add a module to agentpack.yaml, from the config repository or from git", func(cmd *cobra.Command, args []string) error {
		source := args[len(args)-1]
		kind := ""
		if len(args) > 1 {
			kind = args[0]
		}
		own := strings.HasPrefix(source, "local:") || strings.HasPrefix(source, "git:")
		switch {
		case list && (kind != "" || len(skills) > 0):
			return g.Misused(cmd, "--list lists the skills of a repository; omit the module type and --skill")
		case kind == "" && slices.Contains(moduleTypes(), source):
			return g.Misused(cmd, "an argument is missing")
		case list:
			return g.Look(cmd, "agents_skills", command.Arguments{"source": source}, func(data json.RawMessage) error { return g.Screen().Skills(data, source) })
		case kind == "" && strings.HasPrefix(source, "local:"):
			return g.Misused(cmd, "the type of module %s is missing, for example: countersign agents add skill %s", source, source)
		case kind != "" && own && len(skills) == 0:
			call := command.Arguments{"module_type": kind, "source": source, "id": id, "tags": tags, "targets": targets}
			if err := g.there(cmd, call, source); err != nil {
				return err
			}
			return g.Simple(cmd, "agents_add", call, func(data fields, done bool) {
				g.Line("%s %s to %s", DoneVerb(done, "added", "add"), data.Text("module_id"), data.Text("manifest"))
				if done {
					g.Screen().Next([]string{g.here() + "deploy"})
				}
			})
		}
		if kind != "" && !own && g.standsInRepo(source) {
			return g.Misused(cmd, "%s is in the config repository; without local: it is taken for a GitHub repository: %sadd %s local:%s", source, g.here(), kind, source)
		}
		call := command.Arguments{"source": source, "module_type": kind, "skills": skills, "id": id, "tags": tags, "targets": targets}
		_, err := g.Alter(cmd, change{Tool: "agents_add_from", Args: call, Draw: g.Screen().AddedFrom})
		return err
	})
	c.Example = `  countersign agents add instructions local:modules/instructions/base --tags base
  countersign agents add owner/repo --list
  countersign agents add owner/repo/skills@v1.2 --skill review
  countersign agents add https://example.com/team/skills.git --skill '*'
  countersign agents add command 'git:https://example.com/prompts.git#ref=v1&subdir=commands/pr.md'`
	c.Flags().StringVar(&id, "id", "", "id of the module (default: from type and source)")
	c.Flags().StringSliceVar(&tags, "tags", nil, "tags; profiles select modules by them")
	c.Flags().StringSliceVar(&targets, "targets", nil, "targets of the module (default: all)")
	c.Flags().StringSliceVar(&skills, "skill", nil, "skills of the repository to add, by name; '*' adds all")
	c.Flags().BoolVar(&list, "list", false, "list the skills of the repository without changing anything")
	return c
}

func (g author) check() *cobra.Command {
	return g.Command("check", "List modules with newer versions, or that differ from the lockfile", func(cmd *cobra.Command, _ []string) error {
		return g.Look(cmd, "agents_check", nil, g.Screen().Checked)
	})
}

// there refuses a source in the config repository where nothing is: every command that reads the modules would fail from then on. Programs, which may
// make the files later, are warned by the tool.
func (g author) there(cmd *cobra.Command, call command.Arguments, source string) error {
	local, ok := strings.CutPrefix(strings.TrimSpace(source), "local:")
	if !ok || g.JSON {
		return nil
	}
	o, err := g.Try(cmd.Context(), "agents_add", call)
	if err != nil {
		return g.Failed(cmd, o, err)
	}
	data, err := DecodeData[struct {
		ID       string `json:"module_id"`
		Manifest string `json:"manifest"`
	}](dataOf(o))
	if err != nil {
		return g.Failed(cmd, tool.Outcome{}, err)
	}
	repo := filepath.Dir(data.Manifest)
	path := filepath.Join(repo, filepath.FromSlash(local))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // whatever else is wrong, the tool warns of
	}
	return g.Failed(cmd, tool.Outcome{}, tool.ErrArguments.WithMessage("%s does not exist, so %s was not added", path, data.ID).
		WithDetails(command.Hint("paths after local: are relative to the config repository, "+repo+"; create the files there first, or correct the path")))
}

// standsInRepo reports a source that is a path in the config repository, as one has it who leaves local: out.
func (g author) standsInRepo(source string) bool {
	repo, err := g.Repo()
	if err != nil || !filepath.IsLocal(filepath.FromSlash(source)) {
		return false
	}
	_, err = os.Lstat(filepath.Join(repo, filepath.FromSlash(source)))
	return err == nil
}

func (g author) removeModule() *cobra.Command {
	return g.Command("remove MODULE_ID", "Remove a module from agentpack.yaml", func(cmd *cobra.Command, args []string) error {
		return g.Simple(cmd, "agents_remove", command.Arguments{"module_id": args[0]}, func(data fields, done bool) {
			g.Line("%s %s from %s", DoneVerb(done, "removed", "remove"), data.Text("module_id"), data.Text("manifest"))
		})
	})
}

func (g author) lock() *cobra.Command {
	return g.Command("lock", "Resolve every module to a commit and sums in agentpack.lock.json", func(cmd *cobra.Command, _ []string) error {
		return g.Simple(cmd, "agents_lock", nil, g.sayLocked)
	})
}

func (g author) sayLocked(data fields, done bool) {
	g.Line("%s %s modules in %s", DoneVerb(done, "locked", "lock"), data.Text("modules"), data.Text("lockfile"))
}

func (g author) sayFetched(data fields, done bool) {
	g.Line("%s %s git modules into %s", DoneVerb(done, "fetched", "fetch"), data.Text("git_modules_fetched"), data.Text("store"))
}

func (g author) fetch() *cobra.Command {
	return g.Command("fetch", "Fetch and check every locked git module", func(cmd *cobra.Command, _ []string) error {
		return g.Simple(cmd, "agents_fetch", nil, g.sayFetched)
	})
}

func (g author) update() *cobra.Command {
	var lock, fetch, noLock, noFetch, latest bool
	c := g.Command("update [MODULE_ID]...", "Lock if there is no lockfile (or with --lock, --latest or module IDs), then fetch", func(cmd *cobra.Command, args []string) error {
		switch {
		case noLock && len(args) > 0:
			return g.Misused(cmd, "--no-lock and module IDs exclude each other: named modules are locked again")
		case noLock && (lock || latest):
			return g.Misused(cmd, "--no-lock excludes --lock and --latest")
		case noFetch && fetch:
			return g.Misused(cmd, "--no-fetch and --fetch exclude each other")
		}
		call := command.Arguments{"lock": lock, "fetch": fetch, "no_lock": noLock, "no_fetch": noFetch, "latest": latest, "modules": args}
		_, err := g.Alter(cmd, change{Tool: "agents_update", Args: call, Draw: g.drawUpdate, Idle: func(data json.RawMessage) bool {
			d, err := DecodeData[updated](data)
			return err == nil && len(d.Steps) == 0
		}})
		return err
	})
	c.Flags().BoolVar(&lock, "lock", false, "lock again")
	c.Flags().BoolVar(&fetch, "fetch", false, "fetch")
	c.Flags().BoolVar(&noLock, "no-lock", false, "skip locking")
	c.Flags().BoolVar(&noFetch, "no-fetch", false, "skip fetching")
	c.Flags().BoolVar(&latest, "latest", false, "lock again to the current commits of the refs")
	return c
}

// updated is the data of update.
type updated struct {
	Changes  []authoring.ModuleChange `json:"changes"`
	Findings []present.Finding        `json:"findings"`
	Steps    []struct {
		Name   string `json:"name"`
		Detail fields `json:"detail"`
	} `json:"steps"`
}

func (g author) drawUpdate(data json.RawMessage, done bool) error {
	d, err := DecodeData[updated](data)
	if err != nil {
		return err
	}
	for _, c := range d.Changes {
		ref := ""
		if c.WasRef != "" && c.WasRef != c.Ref {
			ref = " (ref " + c.WasRef + " -> " + c.Ref + ")"
		}
		g.Line("%s  %s  %s -> %s%s", g.Tinted(string(c.Op), command.Changed), command.Plain(c.ID), command.Plain(brief(c.From)), command.Plain(brief(c.To)), command.Plain(ref))
		g.Screen().files("  +", c.Created)
		g.Screen().files("  ~", c.Updated)
		g.Screen().files("  -", c.Deleted)
	}
	g.Screen().Findings(d.Findings)
	for _, step := range d.Steps {
		if step.Name == "lock" {
			g.sayLocked(step.Detail, done)
		} else {
			g.sayFetched(step.Detail, done)
		}
	}
	if len(d.Steps) == 0 {
		g.Line("nothing to do")
	}
	return nil
}

func (g author) importing() *cobra.Command {
	var apply bool
	var home string
	c := g.Command("import", "Find existing agent files; --apply adds them to the config repository", func(cmd *cobra.Command, _ []string) error {
		args := command.Arguments{"home_root": home}
		if !apply || g.DryRun() {
			return g.Look(cmd, "agents_import", args, g.Screen().Import)
		}
		_, err := g.Alter(cmd, change{Tool: "agents_import_apply", Args: args, Draw: func(data json.RawMessage, _ bool) error { return g.Screen().Import(data) },
			Idle: func(data json.RawMessage) bool {
				d, err := DecodeData[struct {
					Summary present.Summary `json:"summary"`
				}](data)
				return err == nil && d.Summary.Create == 0
			}})
		return err
	})
	c.Flags().BoolVar(&apply, "apply", false, "import them")
	c.Flags().StringVar(&home, "home-root", "", "home directory to search (default: yours)")
	return c
}

func (g author) bootstrap() *cobra.Command {
	var scope string
	var adopt, remove bool
	c := g.Command("bootstrap", "Write commands and a skill that let agents operate deployments", func(cmd *cobra.Command, _ []string) error {
		draw := func(data json.RawMessage, done bool) error {
			p, err := DecodeData[present.Plan](data)
			switch {
			case err != nil:
				return err
			case done && (p.Applied || p.Summary.Empty()):
				return g.Screen().Deployed(data)
			}
			g.Screen().Changes(p, true)
			g.Screen().Adoptions(p)
			g.Screen().Total(p)
			return nil
		}
		_, err := g.Alter(cmd, change{Tool: "agents_bootstrap", Args: command.Arguments{"scope": scope, "adopt": adopt, "remove": remove}, Draw: draw,
			Idle: func(data json.RawMessage) bool {
				p, err := DecodeData[present.Plan](data)
				return err == nil && p.Summary.Empty()
			}})
		return err
	})
	c.Flags().StringVar(&scope, "scope", "", "where to write them: user, project or both (default: both)")
	c.Flags().BoolVar(&adopt, "adopt", false, "overwrite unmanaged files")
	c.Flags().BoolVar(&remove, "remove", false, "remove them, and restore the files that they replaced")
	return c
}

func (g author) remote() *cobra.Command {
	var name string
	set := g.Command("set URL", "Set a git remote of the config repository", func(cmd *cobra.Command, args []string) error {
		return g.Simple(cmd, "agents_remote_set", command.Arguments{"url": args[0], "name": name}, func(data fields, done bool) {
			g.Line("%s %s of %s to %s", DoneVerb(done, "set", "set"), data.Text("remote"), data.Text("repo"), data.Text("url"))
		})
	})
	set.Flags().StringVar(&name, "name", "", "name of the remote (default: origin)")
	return g.Parent("remote", "Manage the config repository's remote", set)
}

func (g author) sync() *cobra.Command {
	var rebase bool
	var remote string
	c := g.Command("sync", "Pull the config repository's branch, then push it", func(cmd *cobra.Command, _ []string) error {
		_, err := g.Alter(cmd, change{Tool: "agents_sync", Args: command.Arguments{"rebase": rebase, "remote": remote}, Draw: g.Screen().Synced})
		return err
	})
	c.Flags().BoolVar(&rebase, "rebase", false, "rebase instead of merging")
	c.Flags().StringVar(&remote, "remote", "", "remote (default: origin)")
	return c
}

func (g author) initialise() *cobra.Command {
	var git, bootstrap, guided bool
	var targets []string
	var scope, from string
	c := g.Command("init", "Create a config repository, or clone one", func(cmd *cobra.Command, _ []string) error {
		args := command.Arguments{"git": git, "bootstrap": bootstrap, "targets": targets, "scope": scope, "from": from}
		if guided && from != "" {
			return g.Misused(cmd, "--guided and --from exclude each other: --guided creates a config repository, --from clones one")
		}
		if guided {
			if err := g.form(cmd, args); err != nil {
				return err
			}
		}
		return g.Simple(cmd, "agents_init", args, g.sayInit)
	})
	c.Flags().BoolVar(&git, "git", false, "also initialize a git repository")
	c.Flags().BoolVar(&bootstrap, "bootstrap", false, "also write commands and a skill that let agents operate it")
	c.Flags().BoolVar(&guided, "guided", false, "ask for targets, scope and bootstrap; needs a terminal")
	c.Flags().StringSliceVar(&targets, "targets", nil, "targets to configure (default: codex, claude_code)")
	c.Flags().StringVar(&scope, "scope", "", "where to deploy: user, project or both (default: both)")
	c.Flags().StringVar(&from, "from", "", "clone this config repository: owner/repo[@ref] or a git URL")
	return c
}

func (g author) sayInit(data fields, done bool) {
	if data["from"] != nil {
		g.Line("%s %s (%s, commit %s) into %s", DoneVerb(done, "cloned", "clone"), data.Text("from"), data.Text("ref"), brief(data.Text("commit")), data.Text("repo"))
		if done {
			g.Screen().Next([]string{g.here() + "preview --diff", g.here() + "deploy --apply"})
		}
		return
	}
	files, _ := data["made"].([]any)
	switch {
	case data["existing"] == nil:
		g.Line("%s a config repository: %s", DoneVerb(done, "made", "make"), data.Text("repo"))
	case len(files) == 0:
		g.Line("%s is already a config repository; nothing was changed", data.Text("repo"))
	default:
		g.Line("%s is a config repository already; %s what it lacked:", data.Text("repo"), DoneVerb(done, "made", "make"))
		for _, f := range files {
			g.Line("  %s", command.Plain(fmt.Sprint(f)))
		}
	}
	if list, ok := data["targets"].([]any); ok {
		words := make([]string, len(list))
		for i, t := range list {
			words[i] = fmt.Sprint(t)
		}
		g.Line("targets %s, scope %s", command.Plain(strings.Join(words, ", ")), data.Text("scope"))
	}
	git, _ := data["git"].(map[string]any)
	switch {
	case git == nil:
	case git["existing"] == true:
		g.Line("it is already a git repository")
	default:
		g.Line("%s it a git repository", DoneVerb(done, "made", "make"))
	}
	if git["gitignore_updated"] == true {
		g.Line("%s what a deployment or a desktop leaves behind to %s", DoneVerb(done, "added", "add"), command.Plain(fmt.Sprint(git["gitignore_path"])))
	}
	if data["bootstrap"] != nil {
		g.Line("%s the operator files into it", DoneVerb(done, "wrote", "write"))
	}
	if !done {
		return
	}
	if data["existing"] != nil {
		g.Screen().Next([]string{g.here() + "doctor"})
		return
	}
	if list, ok := data["targets"].([]any); !ok || slices.Contains(list, any("claude_code")) {
		g.Note("claude_code gets commands alone until agentpack.yaml says write_instructions: true (CLAUDE.md), write_user_skills: true or write_repo_skills: true in its options")
	}
	if git == nil {
		g.Note("it is not in git: %sinit --git makes it a git repository, which evolve, sync and other machines need", g.here())
	} else {
		g.Note("nothing is committed yet: git -C %s add -A, then commit; %sremote set URL and %ssync share it", data.Text("repo"), g.here(), g.here())
	}
	g.Screen().Next([]string{g.here() + "add instructions local:modules/instructions/base --tags base", g.here() + "preview --diff"})
}
