package agentcmd

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The exit codes of the group.
const (
	exitFailure = 1
	exitUsage   = 2
)

// failure is the error of an envelope.
type failure struct {
	Warnings []string `json:"warnings"`
	Errors   []struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	} `json:"errors"`
}

// details are what a failure says that a person wants to see.
type details struct {
	Hint      string          `json:"hint"`
	Next      []string        `json:"next_actions"`
	Issues    []issue         `json:"issues"`
	Conflicts json.RawMessage `json:"conflicts"`
	Paths     []string        `json:"sample_paths"`
}

// AsJSON reports whether failures are wanted as JSON, on a command line that may not have been read to its end.
func (d Runner) AsJSON() bool { return !d.Filtered() && (d.JSON || d.typed("json")) }

// typed reports whether a flag was given anywhere on the command line.
func (d Runner) typed(flag string) bool {
	argv := d.Argv
	if end := slices.Index(argv, "--"); end >= 0 {
		argv = argv[:end]
	}
	return slices.Contains(argv, "--"+flag) || slices.Contains(argv, "--"+flag+"=true")
}

// Misused is a command line that is not understood.
func (d Runner) Misused(cmd *cobra.Command, format string, args ...any) error {
	return d.misusedAs(cmd, command.Usage(cmd, format, args...))
}

func (d Runner) misusedAs(cmd *cobra.Command, err error) error {
	f := fault.From(err)
	hint, _ := f.Details.(command.Hint)
	return d.Failed(cmd, tool.Outcome{}, tool.ErrArguments.WithMessage("%s", f.Message).WithDetails(map[string]string{"hint": string(hint)}))
}

// Outcome is an outcome of no tool, presented as if that one had answered.
func (d Runner) Outcome(as tool.Name) tool.Outcome {
	return tool.Outcome{Spec: tool.Spec{Name: as, Contract: present.Agentpack}, Version: d.version}
}

// nameOf is the name of the tool that a command would be, so that envelopes name the command.
func nameOf(cmd *cobra.Command) tool.Name {
	words := CommandWords(cmd)
	if len(words) == 0 {
		return "agents"
	}
	return tool.Name("agents_" + strings.Join(words, "_"))
}

// CommandWords are the words of a command below the group.
func CommandWords(cmd *cobra.Command) []string {
	words := strings.Fields(cmd.CommandPath())
	if i := slices.Index(words, "agents"); i >= 0 {
		return words[i+1:]
	}
	return nil
}

// Failed shows a failure and is the exit code of it: the envelope under --json, and otherwise what went wrong, with its code and the way
// out. o is the outcome of the call that failed, if it came to one.
func (d Runner) Failed(cmd *cobra.Command, o tool.Outcome, err error) error {
	f := fault.From(err)
	code := exitFailure
	switch {
	case f.Kind == fault.Canceled && cmd.Context().Err() != nil:
		if !d.AsJSON() {
			return err
		}
		code = present.ExitCode(f.Kind)
	case f.Code == tool.ErrArguments.Code && !d.typed("detailed-exitcode"):
		code = exitUsage
	case o.Request != nil && o.Request.Pending && f.Kind == fault.Unconfirmed: // it waits for a person (consent design, section 3)
		code = present.ExitCode(f.Kind)
	}
	if o.Err == nil {
		o = d.Outcome(nameOf(cmd))
		o.Err = f
	}
	doc := present.For(present.Agentpack)(o)
	if d.AsJSON() {
		d.Line("%s", doc.Body)
		return command.Exit(code)
	}
	var envelope failure
	if json.Unmarshal(doc.Body, &envelope) != nil || len(envelope.Errors) == 0 {
		return err // a failure always has an error
	}
	if words, denied := d.Denied(f); denied {
		d.Note("%s", words)
		return command.Exit(present.ExitCode(f.Kind))
	}
	d.says(envelope, f)
	return command.Exit(code)
}

// Broken is Failed for what happened before anything was called that changes something. Whoever interrupts that is told that nothing was changed.
func (d Runner) Broken(cmd *cobra.Command, o tool.Outcome, err error) error {
	if f := fault.From(err); f.Kind == fault.Canceled && !d.AsJSON() {
		d.Terminal.Fail("cancelled; nothing was changed", "")
		return command.Exit(present.ExitCode(f.Kind))
	}
	return d.Failed(cmd, o, err)
}

// says says a failure to a person.
func (d Runner) says(e failure, f *fault.Error) {
	for _, w := range e.Warnings {
		d.Note("warning: %s", Prose(w))
	}
	said := e.Errors[0]
	var more details
	_ = json.Unmarshal(said.Details, &more) // what is of another form is nothing to show
	d.Screen().Issues(more.Issues)
	var conflicts []string
	if json.Unmarshal(more.Conflicts, &conflicts) == nil {
		more.Paths = append(more.Paths, conflicts...)
	}
	for _, p := range more.Paths {
		d.Note("  %s", command.Plain(p))
	}
	hint, ok := f.Details.(command.Hint)
	if !ok {
		hint = command.Hint(Prose(way(more)))
	}
	if strings.Contains(f.Message, string(hint)) {
		hint = "" // it was said
	}
	d.Terminal.Fail(f.Message+" ("+said.Code+")", string(hint))
}

// way is the way out that a failure's details give. A plan that is no longer the approved one has another for a person than for the agent that
// the contract's hint speaks to.
func way(d details) string {
	if slices.Contains(d.Next, "retry_deploy_apply") {
		return "repeat the command to see the current plan and approve it"
	}
	if d.Hint != "" {
		return d.Hint
	}
	var ways []string
	for _, action := range d.Next {
		if text, ok := waysOut()[action]; ok {
			ways = append(ways, text)
		}
	}
	return strings.Join(ways, ", or ")
}

// waysOut are the next actions of the contract as a person does them. Those that only repeat the command have none.
func waysOut() map[string]string {
	const agents = "countersign agents "
	return map[string]string{
		"retry_with_yes":            "run it in a terminal, or add --yes",
		"retry_with_adopt":          "add --adopt to overwrite them; a rollback restores them",
		"retry_in_tty":              "run it in a terminal",
		"retry_without_guided":      "omit --guided",
		"run_init":                  agents + "create one with init",
		"retry_with_repo":           "name another with --repo",
		"run_lock":                  agents + "lock",
		"run_update":                agents + "update",
		"run_fetch":                 agents + "fetch",
		"retry_online":              "omit --offline",
		"regenerate_lockfile":       agents + "lock",
		"run_overlay_edit":          agents + "overlay edit MODULE_ID",
		"retry_overlay_rebase":      agents + "overlay rebase MODULE_ID after you resolve them",
		"commit_or_stash":           "commit or stash the changes first",
		"init_git_repo":             "git init in the config repository",
		"checkout_branch":           "check out a branch first",
		"set_git_remote":            agents + "remote set URL",
		"list_snapshots":            agents + "snapshots list lists the snapshots",
		"run_recover_resume":        agents + "recover --resume finishes it",
		"run_recover_undo":          agents + "recover --undo undoes it",
		"name_project_root":         "name it with --project-root",
		"set_mode":                  "countersign tools call set_mode",
		"ask_operator":              "countersign policy show says what is allowed",
		"resolve_import_conflict":   "move the files that are in the way",
		"fix_permissions":           "check the permissions of that path",
		"edit_manifest_targets":     "edit targets in agentpack.yaml",
		"create_policy_config":      "write agentpack.org.yaml",
		"resolve_overlay_conflicts": "resolve the conflicts in the overlay's .agentpack/conflicts",
		"call_deploy":               "review the plan again",
	}
}
