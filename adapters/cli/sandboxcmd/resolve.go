package sandboxcmd

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The ways that a name leads nowhere.
var (
	ErrNowhere = fault.New(fault.Invalid, "sandbox_project_unnamed", "no project given, and the working directory is not in a clone or sandbox")
	ErrUnnamed = fault.New(fault.Invalid, "sandbox_unnamed", "no sandbox given, and the working directory is not in one")
	ErrUnknown = fault.New(fault.NotFound, "sandbox_name_unknown", "name not found")
)

// Projects returns every project, by name.
func (d Runner) Projects(ctx context.Context) ([]sandboxes.ProjectItem, error) {
	var v sandboxes.ProjectListing
	_, err := d.Ask(ctx, sandboxes.ProjectList.Name, command.Arguments{}, &v)
	return v.Projects, err
}

// URL returns the git URL that a command is about: of the project that word names, or that has the directory it names; word itself where it can only be
// a URL or another path; and of the project of the working directory when word is empty: one that has the directory, or one of countersign project, by its
// path; or one that is a clone of the repository there.
func (d Runner) URL(ctx context.Context, word string) (string, error) {
	if word != "" && !isPath(word) && strings.ContainsAny(word, ":/") {
		return word, nil
	}
	all, err := d.Projects(ctx)
	if err != nil {
		return "", err
	}
	if word == "" || isPath(word) {
		p, found := having(all, word)
		switch {
		case found:
			return p.URL, nil
		case word == "":
			if top := d.registered(ctx); top != "" {
				return top, nil
			}
			if p, found = having(origins(all), ""); found {
				return p.URL, nil
			}
			return "", ErrNowhere.WithDetails(command.Hint("to list the projects: countersign sandbox list; to create a sandbox of the repository here: countersign sandbox create . NAME"))
		}
		return word, nil
	}
	for _, p := range all {
		if strings.EqualFold(p.Name, word) {
			return p.URL, nil
		}
	}
	way := "to list the projects: countersign sandbox list; to create one from a URL or path: countersign sandbox clone URL"
	if like := called(all, word); len(like) > 0 {
		way = "did you mean " + strings.Join(like, " or ") + "? " + way
	}
	return "", ErrUnknown.WithMessage("project %q not found, and it is not a git URL", word).WithDetails(command.Hint(way))
}

// called returns the names of up to three projects whose names end like word: a project's name begins with that of its repository's owner.
func called(all []sandboxes.ProjectItem, word string) (names []string) {
	for _, p := range all {
		if strings.HasSuffix(strings.ToLower(p.Name), "-"+strings.ToLower(word)) && len(names) < 3 {
			names = append(names, p.Name)
		}
	}
	return names
}

// isPath reports a word that can only be a path.
func isPath(word string) bool {
	first, _, _ := strings.Cut(word, "/")
	return first == "" || first == "." || first == ".." || first == "~"
}

// having returns the project whose directory dir lies in, links resolved.
func having(all []sandboxes.ProjectItem, dir string) (found sandboxes.ProjectItem, ok bool) {
	at, err := real(dir)
	if err != nil {
		return found, false
	}
	longest := 0
	for _, p := range all {
		base, err := real(p.BaseDir)
		if err != nil || p.BaseDir == "" || len(base) <= longest {
			continue
		}
		if at == base || strings.HasPrefix(at, base+string(filepath.Separator)) {
			found, ok, longest = p, true, len(base)
		}
	}
	return found, ok
}

// origins returns the projects that are clones of a repository on this machine, with its directory as theirs.
func origins(all []sandboxes.ProjectItem) (out []sandboxes.ProjectItem) {
	for _, p := range all {
		if at, err := url.Parse(p.URL); err == nil && at.Scheme == "file" {
			out = append(out, sandboxes.ProjectItem{URL: p.URL, BaseDir: at.Path})
		}
	}
	return out
}

// registered returns the directory of the registered project (countersign project) that the working directory lies in; empty where it lies in none.
func (d Runner) registered(ctx context.Context) (top string) {
	var all []sandboxes.ProjectItem
	var list struct {
		Projects []struct {
			Path string `json:"path"`
		} `json:"projects"`
	}
	if !d.Quietly(ctx, "list_projects", command.Arguments{}, &list) {
		return ""
	}
	for _, p := range list.Projects {
		all = append(all, sandboxes.ProjectItem{URL: p.Path, BaseDir: p.Path})
	}
	found, _ := having(all, "")
	return found.URL
}

// real returns a path, absolute and without links.
func real(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && isPath(path) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = home + rest
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// apart returns the project and the sandbox that the one word PROJECT/SANDBOX names; other arguments as they are.
func (d Runner) apart(ctx context.Context, args []string) ([]string, error) {
	if len(args) != 1 || isPath(args[0]) || strings.Contains(args[0], ":") {
		return args, nil
	}
	project, name, both := strings.Cut(args[0], "/")
	if !both || name == "" || strings.Contains(name, "/") {
		return args, nil
	}
	all, err := d.Projects(ctx)
	if slices.ContainsFunc(all, func(p sandboxes.ProjectItem) bool { return strings.EqualFold(p.Name, project) }) {
		return []string{project, name}, nil
	}
	return args, err
}

// Subject returns what a command that takes [[URL] NAME] or PROJECT/SANDBOX is about: without a name, the sandbox that the working directory lies in.
func (d Runner) Subject(ctx context.Context, args []string) (url, name string, err error) {
	if args, err = d.apart(ctx, args); err != nil {
		return "", "", err
	}
	if len(args) == 0 {
		return d.here(ctx)
	}
	word := ""
	if len(args) > 1 {
		word = args[0]
	}
	url, err = d.URL(ctx, word)
	return url, args[len(args)-1], err
}

// here returns the sandbox that the working directory lies in.
func (d Runner) here(ctx context.Context) (url, name string, err error) {
	if url, err = d.URL(ctx, ""); err != nil {
		return "", "", err
	}
	all, err := d.Sandboxes(ctx, url)
	if err != nil {
		return "", "", err
	}
	at, err := real("")
	for _, b := range all.Sandboxes {
		if dir, wrong := real(b.Directory); err == nil && wrong == nil && (at == dir || strings.HasPrefix(at, dir+string(filepath.Separator))) {
			return url, b.Name, nil
		}
	}
	return "", "", ErrUnnamed.WithDetails(command.Hint("to list the sandboxes: countersign sandbox ls " + all.Project))
}

// Sandboxes returns the sandboxes of the project at url.
func (d Runner) Sandboxes(ctx context.Context, url string) (sandboxes.SandboxListing, error) {
	var all sandboxes.SandboxListing
	_, err := d.Ask(ctx, sandboxes.SandboxList.Name, command.Arguments{"git_url": url}, &all)
	return all, err
}

// CompleteURL completes a project, and nothing behind it.
func (d Runner) CompleteURL(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if begun != "" && isPath(begun) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return d.projects(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
}

// CompleteSandbox completes [URL] NAME: projects and the sandboxes of the project one stands in, then those of the project that was named.
func (d Runner) CompleteSandbox(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		if begun != "" && isPath(begun) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return append(d.completeSandboxNames(cmd.Context(), "", begun), d.projects(cmd.Context(), begun)...), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return d.completeSandboxNames(cmd.Context(), args[0], begun), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (d Runner) projects(ctx context.Context, begun string) (out []cobra.Completion) {
	var v sandboxes.ProjectListing
	if !d.Quietly(ctx, sandboxes.ProjectList.Name, command.Arguments{}, &v) {
		return nil
	}
	for _, p := range v.Projects {
		out = command.Offer(out, p.Name, p.URL, begun)
	}
	return out
}

func (d Runner) completeSandboxNames(ctx context.Context, word, begun string) (out []cobra.Completion) {
	var v sandboxes.ProjectListing
	url := word
	if !d.Quietly(ctx, sandboxes.ProjectList.Name, command.Arguments{}, &v) {
		return nil
	}
	if word == "" || isPath(word) {
		here, _ := having(v.Projects, word)
		url = here.URL
	}
	for _, p := range v.Projects {
		if strings.EqualFold(p.Name, word) {
			url = p.URL
		}
	}
	var all sandboxes.SandboxListing
	if url == "" || !d.Quietly(ctx, sandboxes.SandboxList.Name, command.Arguments{"git_url": url}, &all) {
		return nil
	}
	for _, b := range all.Sandboxes {
		out = command.Offer(out, b.Name, b.Branch, begun)
	}
	return out
}
