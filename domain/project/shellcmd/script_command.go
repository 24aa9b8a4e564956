package shellcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/spelling"
)

// Toolchain is the installed programs: absolute paths, empty for those that are not installed.
type Toolchain struct {
	Managers map[project.Manager]string
	Versions map[project.Manager]string // as far as they are known without starting a program
	Corepack string
	Volta    string
}

// The ways to choose the package manager (packageflow contract §2.6, row 20).
const (
	ToolchainSystem        = "system"
	ToolchainVolta         = "volta"
	ToolchainCorepack      = "corepack"
	ToolchainVoltaCorepack = "volta+corepack"
)

// ScriptCommand is a script ready to be started.
type ScriptCommand struct {
	Name     string          `json:"script"`
	Text     string          `json:"command"`        // from package.json
	Pre      string          `json:"pre,omitempty"`  // text of the hook before it
	Post     string          `json:"post,omitempty"` // and after
	Manager  project.Manager `json:"package_manager"`
	Version  string          `json:"package_manager_version,omitempty"`
	Strategy string          `json:"toolchain_strategy"`
	Argv     []string        `json:"argv"`
	DevLike  bool            `json:"dev_like"`
}

// BuildScriptCommand returns the command for a script of the project with these facts. Arguments are passed on unchanged; no shell reads them. It
// fails with project.ErrScriptNotFound, naming the existing ones, with project.ErrArgument for arguments that no program can get, with
// project.ErrManifest for an invalid version of volta's, and with project.ErrExecutionFailed if the manager is not installed.
func BuildScriptCommand(f project.Facts, tools Toolchain, name string, args []string) (ScriptCommand, error) {
	if f.Broken != nil {
		return ScriptCommand{}, f.Broken
	}
	if f.Manifest == nil {
		return ScriptCommand{}, project.ErrScriptNotFound.WithMessage("the project has no package.json and therefore no scripts")
	}
	text, there := f.Manifest.Scripts[name]
	if !there {
		return ScriptCommand{}, missing(name, f.Manifest.ScriptNames())
	}
	if err := tellable(name, args); err != nil {
		return ScriptCommand{}, err
	}
	c := ScriptCommand{Name: name, Text: text, Pre: f.Manifest.Scripts["pre"+name], Post: f.Manifest.Scripts["post"+name], Manager: f.Manager,
		Version: f.ManagerVersion, DevLike: LooksLongRunning(name, text)}
	if !c.Manager.Known() {
		c.Manager = project.NPM
	}
	prefix, err := c.prefix(f, tools)
	if err != nil {
		return ScriptCommand{}, err
	}
	c.Argv = append(append(prefix, "run", name), c.passed(args)...)
	return c, nil
}

// shownNames limits a list of scripts in a message.
const shownNames = 50

func missing(name string, names []string) error {
	if near := spelling.Nearest(name, names); near != "" {
		return project.ErrScriptNotFound.WithMessage("script %.100q not found in package.json; did you mean %s? scripts: %s%s", name, near, strings.Join(names[:min(len(names), shownNames)], ", "), more(len(names)-shownNames))
	}
	switch rest := len(names) - shownNames; {
	case len(names) == 0:
		return project.ErrScriptNotFound.WithMessage("script %.100q not found in package.json, which has no scripts", name)
	case rest > 0:
		return project.ErrScriptNotFound.WithMessage("script %.100q not found in package.json; scripts: %s%s", name, strings.Join(names[:shownNames], ", "), more(rest))
	}
	return project.ErrScriptNotFound.WithMessage("script %.100q not found in package.json; scripts: %s", name, strings.Join(names, ", "))
}

func more(rest int) string {
	if rest <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", rest)
}

// tellable rejects names that the manager would not take for the script's: those that look like an option, and NUL, which an argument cannot contain.
func tellable(name string, args []string) error {
	if name == "" || name[0] == '-' {
		return project.ErrArgument.WithMessage("a script named %.100q cannot be run, because package managers read the name as an option; rename it in package.json", name)
	}
	for i, text := range append([]string{name}, args...) {
		if strings.ContainsRune(text, 0) {
			return project.ErrArgument.WithMessage("argument %d of script %.100q contains a NUL character, which is not allowed in arguments", i, name)
		}
	}
	return nil
}

// prefix returns the command that starts the manager itself.
func (c *ScriptCommand) prefix(f project.Facts, tools Toolchain) ([]string, error) {
	m := string(c.Manager)
	if tools.Volta != "" && len(f.Manifest.Volta) > 0 {
		for _, of := range []string{"node", m} {
			if v := f.Manifest.Volta[of]; v != "" && !project.VersionLike(v) {
				return nil, project.ErrManifest.WithMessage("package.json pins %s for volta to %.60q, which is not a version", of, v)
			}
		}
		argv := []string{tools.Volta, "run"}
		if v := f.Manifest.Volta["node"]; v != "" {
			argv = append(argv, "--node", v)
		}
		if c.Strategy = ToolchainVolta; f.Corepack {
			c.Strategy = ToolchainVoltaCorepack
		} else if v := f.Manifest.Volta[m]; v != "" && c.Manager != project.Bun {
			argv, c.Version = append(argv, "--"+m, v), v
		}
		return append(argv, m), nil
	}
	installed := tools.Managers[c.Manager]
	if f.Corepack {
		c.Strategy = ToolchainCorepack
		if c.Manager != project.NPM && c.Manager != project.Bun && installed == "" && tools.Corepack != "" {
			return []string{tools.Corepack, m}, nil
		}
	} else {
		c.Strategy, c.Version = ToolchainSystem, tools.Versions[c.Manager]
	}
	if installed == "" {
		return nil, project.ErrExecutionFailed.WithMessage("%s is not installed on this machine; install it or corepack, and retry", m)
	}
	return []string{installed}, nil
}

// passed returns the script's own arguments: npm needs a separator before them, the others would pass it on.
func (c *ScriptCommand) passed(args []string) []string {
	if len(args) == 0 || c.Manager != project.NPM {
		return args
	}
	return slices.Concat([]string{"--"}, args)
}
