package projectcmd

import (
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Runner is where the commands about projects work.
type Runner struct{ command.Runner }

// NewRunner returns the runner of a shell.
func NewRunner(s *command.Shell) Runner {
	return Runner{command.Runner{Shell: s, Words: command.Words{Text: commandText, Hint: hint}}}
}

// hint returns the way out behind refusals that the user meets often.
func hint(f *fault.Error) command.Hint {
	if strings.Contains(f.Message, "countersign project list") { // the message says half of it
		return "to register one: countersign project add DIR"
	}
	return map[fault.Code]command.Hint{
		"path_not_allowed":             "to register a directory: countersign project add DIR; to list the projects: countersign project list",
		"project_not_found":            "to list the projects: countersign project list; to register one: countersign project add DIR",
		"script_not_found":             "to list them: countersign project tasks",
		"project_script_never_ends":    "countersign run --background SCRIPT, then countersign logs -f and countersign stop",
		"workflow_not_found":           "to list them: countersign workflow list",
		"action_not_found":             "to list them: countersign action list",
		"action_disabled":              "to enable it: countersign action enable",
		"template_not_found":           "to list them: countersign template list",
		"execution_not_found":          "to list them: countersign workflow history",
		"process_not_found":            "to list them: countersign ps",
		"url_blocked":                  "to allow an address for a project's webhooks: countersign project set PROJECT --webhook-host HOST:PORT (and --webhook-loopback)",
		"project_registration_refused": "give the directory of one project: countersign project add DIR",
	}[f.Code]
}

// commandText returns a text in words of the command line: what agents are told to call, users type.
func commandText(message string) string {
	return strings.NewReplacer("is not a directory inside a registered project; call list_projects to list the registered projects", "is not in a registered project", "call run_npm_script with runInBackground: true, and read it with get_background_process_output", "countersign run --background runs it there, and countersign logs reads it",
		"read it with get_background_process_output or end it with stop_background_process", "countersign logs reads it, countersign stop ends it", "stop_background_process ends it", "countersign stop ends it",
		"call run_task with runInBackground: true for its directory alone, and read it with get_background_process_output", "countersign run --background runs it there, and countersign logs reads it",
		"list_project_tasks", "countersign project tasks", "runInBackground is", "--background is",
		"git_stage, or countersign git stage", "countersign git stage", "create one with git_switch", "create one with countersign git switch --create", "make yours with create and from", "make yours with --create and --from",
		"from is for create: true", "--from is for --create", "force_with_lease", "--force-with-lease", "git_changes", "countersign git changes", "git_stage", "countersign git stage", "git_unstage", "countersign git unstage",
		"git_commit", "countersign git commit", "git_branch", "countersign git branch", "git_switch", "countersign git switch", "git_stash", "countersign git stash", "git_push", "countersign git push", "git_pull", "countersign git pull",
		"get_background_process_output of ", "countersign logs ", "give it a value with inputs", "give it a value with --input NAME=VALUE", "or run it with project_path", "or run it with --dir", "change_workflow_step", "countersign workflow change-step", "add_workflow_step", "countersign workflow add-step", "list_project_scripts", "countersign project scripts", "list_projects", "countersign project list", "list_workflows", "countersign workflow list", "list_actions", "countersign action list",
		"list_step_templates", "countersign template list", "list_action_executions", "countersign workflow history", "list_background_processes", "countersign ps", "timeoutMs", "the time limit in milliseconds",
	).Replace(message)
}
