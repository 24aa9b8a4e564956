package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Action is a recommended next command, with a stable name for what it does (agentpack contract §5.6).
type Action struct {
	Action  string `json:"action"`
	Command string `json:"command"`
}

// Next returns the recommended commands for the drift. None of them overwrites the user's work: a deployment is only recommended if it overwrites no
// edit made here and no file of the user's own. Edits are proposed to the config repository first.
func (d Drift) Next(prefix string) []string {
	var out []string
	add := func(commands ...string) {
		for _, command := range commands {
			if !slices.Contains(out, prefix+" "+command) {
				out = append(out, prefix+" "+command)
			}
		}
	}
	work, edited, due := false, false, d.NeedsDeploy
	for _, item := range d.Items {
		edited = edited || item.State.IsEdited()
		work = work || item.OwnedBy != "" || item.State == deployment.StateNotDeployed && item.Kind == DriftModified // no deployment of this repository wrote what stands there
		due = due || item.Kind != DriftExtra
	}
	if len(d.Items) > 0 {
		add("preview --diff --json")
	}
	switch {
	case edited:
		add("evolve propose --yes --json")
	case due && !work:
		add("deploy --apply --yes --json")
	}
	return out
}

// CommandPrefix returns the beginning of every command that continues this call, as typed here, so that it can be run as shown.
func CommandPrefix(c Selection) string {
	prefix := "countersign agents"
	add := func(flag, value string) {
		if value != "" {
			prefix += " --" + flag + " " + value
		}
	}
	add("repo", c.Repo)
	if c.Profile != "default" {
		add("profile", c.Profile)
	}
	if c.Target != "all" {
		add("target", c.Target)
	}
	add("machine", c.Machine)
	return prefix
}

// kinds returns the actions commands can be, with their place in the order of doing.
func kinds() []struct {
	words, action string
	order         int
} {
	return []struct {
		words, action string
		order         int
	}{
		{"bootstrap", "bootstrap", 0}, {"doctor", "doctor", 10}, {"update", "update", 20}, {"preview --diff", "preview_diff", 30},
		{"preview", "preview", 30}, {"diff", "diff", 40}, {"plan", "plan", 50}, {"deploy --apply", "deploy_apply", 60}, {"deploy", "deploy", 60},
		{"status", "status", 70}, {"evolve propose", "evolve_propose", 80}, {"evolve restore", "evolve_restore", 81}, {"evolve", "evolve", 81},
		{"rollback", "rollback", 90},
	}
}

// kindOf finds what a command does behind its global flags.
func kindOf(command string) (action string, order int) {
	words := strings.Fields(command)[2:]
	for len(words) > 1 && strings.HasPrefix(words[0], "--") {
		words = words[2:]
	}
	rest := strings.Join(words, " ") + " "
	for _, k := range kinds() {
		if strings.HasPrefix(rest, k.words+" ") {
			return k.action, k.order
		}
	}
	return "other", 100
}

// OrderCommands returns the commands in the order in which to run them, each once, with what each does.
func OrderCommands(commands []string) ([]string, []Action) {
	slices.SortFunc(commands, func(a, b string) int {
		_, x := kindOf(a)
		_, y := kindOf(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	commands = slices.Compact(commands)
	out := make([]Action, len(commands))
	for i, command := range commands {
		action, _ := kindOf(command)
		out[i] = Action{action, command}
	}
	return commands, out
}
