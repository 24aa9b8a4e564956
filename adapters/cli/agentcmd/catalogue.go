package agentcmd

import (
	"cmp"

	"github.com/countersign-dev/countersign/domain/sorting"
)

// Help is the data of help --json. Field names are sorted, as those of all data.
type Help struct {
	Commands []Command `json:"commands"`
	Global   []Arg     `json:"global_args"`
	Mutating []string  `json:"mutating_commands"`
	Notes    []string  `json:"notes"`
	Targets  []string  `json:"targets"`
}

// Command is one command.
type Command struct {
	Args     []Arg    `json:"args"`
	ID       string   `json:"id"`
	Mutating bool     `json:"mutating"`
	Path     []string `json:"path"`
	JSON     bool     `json:"supports_json"`
}

// Arg is one argument of a command. A positional one is an option without a Long.
type Arg struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Long     string `json:"long,omitempty"`
	Required bool   `json:"required"`
}

// The kinds of arguments.
const (
	Option = "option"
	Flag   = "flag"
)

// rank orders arguments: positional ones, options, flags.
func (a Arg) rank() int {
	switch {
	case a.Long == "":
		return 0
	case a.Kind == Option:
		return 1
	}
	return 2
}

// Sorted is arguments in the order of the catalogue; never nil.
func Sorted(args []Arg) []Arg {
	out := append([]Arg{}, args...)
	sorting.By(out, func(a, b Arg) int { return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Of is the catalogue of commands and the flags that all of them take.
func Of(commands []Command, global []Arg) Help {
	sorting.By(commands, func(a, b Command) int { return cmp.Compare(a.ID, b.ID) })
	sorting.By(global, func(a, b Arg) int { return cmp.Compare(a.ID, b.ID) })
	return Help{Commands: commands, Global: global, Mutating: Mutating(), Notes: notes(), Targets: Targets()}
}

// Mutating are the ids of the commands that change something: those of the contract in its order, then our own.
func Mutating() []string {
	return []string{"init", "import --apply", "add", "remove", "lock", "fetch", "update", "deploy --apply", "rollback", "bootstrap", "doctor --fix",
		"overlay edit", "overlay rebase", "remote set", "sync", "record", "evolve propose", "evolve restore", "policy lock", "recover --resume",
		"recover --undo", "snapshots prune"}
}

// Targets are the coding agents that can be deployed to, in the order of the contract, then our own.
func Targets() []string {
	return []string{"codex", "claude_code", "cursor", "vscode", "jetbrains", "zed", "opencode", "gemini_cli", "export_dir"}
}

func notes() []string {
	return []string{
		"Every command takes --json and answers with one envelope on stdout, a wrong command line included.",
		"With --json, commands that change something need --yes; --dry-run shows what they would change.",
		"deploy and import change something only with --apply, doctor only with --fix, recover only with --resume or --undo.",
	}
}
