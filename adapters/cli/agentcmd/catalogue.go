package agentcmd

import (
	"cmp"
	"slices"
)

// Help is the data of help --json. Field names are sorted, as those of all data.
type Help struct {
	Commands []HelpCommand `json:"commands"`
	Global   []HelpArg     `json:"global_args"`
	Mutating []string      `json:"mutating_commands"`
	Notes    []string      `json:"notes"`
	Targets  []string      `json:"targets"`
}

// HelpCommand is one command.
type HelpCommand struct {
	Args     []HelpArg `json:"args"`
	ID       string    `json:"id"`
	Mutating bool      `json:"mutating"`
	Path     []string  `json:"path"`
	JSON     bool      `json:"supports_json"`
}

// HelpArg is one argument of a command. A positional one is an option without a Long.
type HelpArg struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Long     string `json:"long,omitempty"`
	Required bool   `json:"required"`
}

// The kinds of arguments.
const (
	ArgOption = "option"
	ArgFlag   = "flag"
)

// rank orders arguments: positional ones, options, flags.
func (a HelpArg) rank() int {
	switch {
	case a.Long == "":
		return 0
	case a.Kind == ArgOption:
		return 1
	}
	return 2
}

// SortArgs is arguments in the order of the catalogue; never nil.
func SortArgs(args []HelpArg) []HelpArg {
	out := append([]HelpArg{}, args...)
	slices.SortFunc(out, func(a, b HelpArg) int { return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.ID, b.ID)) })
	return out
}

// NewHelp is the catalogue of commands and the flags that all of them take.
func NewHelp(commands []HelpCommand, global []HelpArg) Help {
	slices.SortFunc(commands, func(a, b HelpCommand) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(global, func(a, b HelpArg) int { return cmp.Compare(a.ID, b.ID) })
	return Help{Commands: commands, Global: global, Mutating: MutatingCommands(), Notes: notes(), Targets: Targets()}
}

// MutatingCommands are the ids of the commands that change something: those of the contract in its order, then our own.
func MutatingCommands() []string {
	return []string{"init", "import --apply", "add", "remove", "lock", "fetch", "update", "deploy --apply", "rollback", "bootstrap", "doctor --fix",
		"overlay edit", "overlay rebase", "remote set", "sync", "record", "evolve propose", "evolve restore", "policy lock", "recover --resume",
		"recover --undo", "snapshots prune", "manifests --write"}
}

// Targets are the coding agents that can be deployed to, in the order of the contract, then our own.
func Targets() []string {
	return []string{"codex", "claude_code", "cursor", "vscode", "jetbrains", "zed", "opencode", "gemini_cli", "export_dir",
		"antigravity", "copilot_cli", "kilo", "cline", "devin", "amp", "qwen", "factory", "kiro", "goose", "warp", "pi", "ai_assistant"}
}

func notes() []string {
	return []string{
		"Every command supports --json and prints one envelope on stdout, also for an invalid command line.",
		"With --json, commands that change something need --yes; --dry-run shows the plan.",
		"deploy and import apply changes only with --apply, doctor only with --fix, recover only with --resume or --undo, manifests only with --write.",
		"watch runs until it is interrupted: with --json it prints one envelope of plan for every change of the config repository, and applies nothing.",
	}
}
