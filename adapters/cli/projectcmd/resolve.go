package projectcmd

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Project is a project as far as commands need it.
type Project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Path string `json:"path"`
}

// Dir returns the directory that a command is about: the project named by name, id or path, or the working directory when none is named. That
// it lies in a registered project is for the tools to say.
func (d Runner) Dir(ctx context.Context, word string) (string, error) {
	if word == "" || isPath(word) {
		return filepath.Abs(word)
	}
	var p Project
	o, err := d.Send(ctx, "project_settings", command.Arguments{"project": word}, nil)
	if err == nil {
		err = command.DecodeAnswer(o, &p)
		return p.Path, err
	}
	if info, statErr := os.Stat(word); statErr == nil && info.IsDir() && fault.From(err).Kind == fault.NotFound {
		return filepath.Abs(word)
	}
	return "", d.Refused(o, err)
}

// isPath reports a word that can only be a directory.
func isPath(word string) bool {
	return word == "." || word == ".." || strings.ContainsRune(word, filepath.Separator)
}

// Stored returns what the tools of users take for a project: the word, or for a directory in one that project. Its directory may be gone.
func (d Runner) Stored(ctx context.Context, word string) (string, error) {
	if !isPath(word) {
		return word, nil
	}
	dir, err := filepath.Abs(word)
	if err != nil {
		return "", command.ErrUsage.WithMessage("not a directory: %q: %v", word, err)
	}
	var p Project
	if d.Quietly(ctx, "get_project", command.Arguments{"path": dir}, &p) {
		return p.ID, nil
	}
	return dir, nil
}

// ScriptDir is Dir for scripts: when no project is named, the nearest directory from the working directory upwards with a package.json.
func (d Runner) ScriptDir(ctx context.Context, word string) (string, error) {
	dir, err := d.Dir(ctx, word)
	if err != nil || word != "" {
		return dir, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "package.json")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// Project returns the project of Dir.
func (d Runner) Project(ctx context.Context, word string) (Project, error) {
	var p Project
	dir, err := d.Dir(ctx, word)
	if err != nil {
		return p, err
	}
	_, err = d.Ask(ctx, "get_project", command.Arguments{"path": dir}, &p)
	return p, err
}

// Here returns the project of the working directory; ok is false when it lies in none.
func (d Runner) Here(ctx context.Context) (p Project, ok bool) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return p, false
	}
	ok = d.Quietly(ctx, "get_project", command.Arguments{"path": dir}, &p)
	return p, ok
}

// Owner returns the project that something new belongs to: the one named, or the one you stand in; none, with an empty id, when it is to be
// global or you stand in none.
func (d Runner) Owner(ctx context.Context, word string, global bool) (Project, error) {
	switch {
	case global && word != "":
		return Project{}, command.ErrUsage.WithMessage("--global and --project exclude each other")
	case global:
		return Project{}, nil
	case word != "":
		return d.Project(ctx, word)
	}
	p, _ := d.Here(ctx)
	return p, nil
}

// ProjectNames returns the names of all projects by id; of none when they cannot be listed.
func (d Runner) ProjectNames(ctx context.Context) map[string]string {
	names := map[string]string{}
	var v struct {
		Projects []Project `json:"projects"`
	}
	if d.Quietly(ctx, "list_projects", command.Arguments{}, &v) {
		for _, p := range v.Projects {
			names[p.ID] = p.Name
		}
	}
	return names
}

// Named is something stored that users name.
type Named struct {
	ID, Name string
	Project  string // its id or path
	Note     string // for completions
}

// listing is where things of one kind are listed.
type listing struct {
	what, list string // "workflow", the command that lists them
	tool       tool.Name
	args       command.Arguments
	read       func(tool.Outcome) ([]Named, error)
}

// Workflow returns the id of the workflow that a word names: an id, the beginning of one, or a name that one workflow has, in the project of
// the working directory before others.
func (d Runner) Workflow(ctx context.Context, word string) (string, error) {
	return d.find(ctx, workflowListing(), word)
}

// Action returns the id of the stored action that a word names, like Workflow.
func (d Runner) Action(ctx context.Context, word string) (string, error) {
	return d.find(ctx, actions(), word)
}

// Process returns the id of the background process that a word names: an id, the beginning of one, or the name of a script that runs once.
func (d Runner) Process(ctx context.Context, word string) (string, error) {
	return d.find(ctx, processes(), word)
}

// Template returns the id of the step template of one's own that a word names.
func (d Runner) Template(ctx context.Context, word string) (string, error) {
	return d.find(ctx, templates(), word)
}

func workflowListing() listing {
	return listing{what: "workflow", list: "countersign workflow list", tool: "list_workflows", read: func(o tool.Outcome) ([]Named, error) {
		var v struct {
			Workflows []struct {
				ID      string `json:"id"`
				Name    string `json:"name"`
				Project string `json:"projectId"`
			} `json:"workflows"`
		}
		err := command.DecodeAnswer(o, &v)
		var out []Named
		for _, w := range v.Workflows {
			out = append(out, Named{ID: w.ID, Name: w.Name, Project: w.Project})
		}
		return out, err
	}}
}

func actions() listing {
	return listing{what: "action", list: "countersign action list", tool: "list_actions", read: func(o tool.Outcome) ([]Named, error) {
		var v struct {
			Actions []struct {
				ID      string `json:"id"`
				Name    string `json:"name"`
				Type    string `json:"actionType"`
				Project string `json:"projectId"`
			} `json:"actions"`
		}
		err := command.DecodeAnswer(o, &v)
		var out []Named
		for _, a := range v.Actions {
			out = append(out, Named{ID: a.ID, Name: a.Name, Project: a.Project, Note: a.Type})
		}
		return out, err
	}}
}

func processes() listing {
	return listing{what: "background process", list: "countersign ps", tool: "list_background_processes", read: func(o tool.Outcome) ([]Named, error) {
		var v struct {
			Processes []struct {
				ID     string `json:"id"`
				Script string `json:"scriptName"`
				Status string `json:"status"`
				Path   string `json:"projectPath"`
			} `json:"processes"`
		}
		err := command.DecodeAnswer(o, &v)
		var out []Named
		for _, p := range v.Processes {
			n := Named{ID: p.ID, Project: p.Path, Note: p.Script + ", " + p.Status}
			if p.Status == "running" { // what has ended is named by its id
				n.Name = p.Script
			}
			out = append(out, n)
		}
		return out, err
	}}
}

func templates() listing {
	return listing{what: "step template of your own", list: "countersign template list", tool: "list_step_templates", args: command.Arguments{"include_builtin": false},
		read: func(o tool.Outcome) ([]Named, error) {
			var v struct {
				Templates []Named `json:"templates"`
			}
			err := command.DecodeAnswer(o, &v)
			return v.Templates, err
		}}
}

// all returns the things there are, without a word about them.
func (d Runner) all(ctx context.Context, from listing) ([]Named, tool.Outcome, error) {
	args := from.args
	if args == nil {
		args = command.Arguments{}
	}
	o, err := d.Send(ctx, from.tool, args, nil)
	if err != nil {
		return nil, o, err
	}
	found, err := from.read(o)
	return found, o, err
}

func (d Runner) find(ctx context.Context, from listing, word string) (string, error) {
	all, o, err := d.all(ctx, from)
	if err != nil {
		return "", d.Refused(o, err)
	}
	fits := matching(all, word)
	if len(fits) > 1 {
		if here, ok := d.Here(ctx); ok {
			if near := slices.DeleteFunc(slices.Clone(fits), func(n Named) bool { return n.Project != here.ID && n.Project != here.Path }); len(near) == 1 {
				fits = near
			}
		}
	}
	switch len(fits) {
	case 1:
		return fits[0].ID, nil
	case 0:
		return "", command.ErrUnknown.WithMessage("%s %q not found", from.what, word).WithDetails(command.Hint("to list them: " + from.list))
	}
	ids := make([]string, 0, len(fits))
	for _, n := range fits {
		ids = append(ids, n.ID)
	}
	return "", command.ErrAmbiguous.WithMessage("%q matches more than one %s", word, from.what).WithDetails(command.Hint("use its ID: " + strings.Join(ids, ", ")))
}

// minPrefix is how much of an id stands for all of it.
const minPrefix = 3

// matching returns the things a word can mean: the one with that id, else those with that name, else those whose id begins so, with or
// without the word before its dash.
func matching(all []Named, word string) []Named {
	var named, begun []Named
	for _, n := range all {
		_, rest, _ := strings.Cut(n.ID, "-")
		switch {
		case n.ID == word:
			return []Named{n}
		case strings.EqualFold(n.Name, word) && word != "":
			named = append(named, n)
		case len(word) >= minPrefix && (strings.HasPrefix(n.ID, word) || strings.HasPrefix(rest, word)):
			begun = append(begun, n)
		}
	}
	if len(named) > 0 {
		return named
	}
	return begun
}
