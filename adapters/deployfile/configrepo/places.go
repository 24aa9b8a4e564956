package configrepo

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The environment variables that decide (agentpack contract §1.2). AGENTPACK_PROJECT_ROOT and AGENTPACK_SCOPE are our own.
const (
	homeVar        = "AGENTPACK_HOME"
	machineVar     = "AGENTPACK_MACHINE_ID"
	projectRootVar = "AGENTPACK_PROJECT_ROOT"
	scopeVar       = "AGENTPACK_SCOPE"
	codexVar       = "CODEX_HOME"
)

// MarkerFile marks its directory as a project, git or not.
const MarkerFile = ".agentpack-project"

// unknownMachine is a machine's name when it has none.
const unknownMachine = "unknown"

// Places resolves places from an environment and a working directory.
type Places struct {
	env func(string) string
	dir string
}

// NewPlaces is the places of an environment (os.Getenv) and a working directory, which is made absolute.
func NewPlaces(env func(string) string, dir string) *Places { return &Places{env, dir} }

// Resolve implements deployport.Locator (agentpack contract §1.1 to §1.4). It fails with ErrPath when there is no home directory to be
// found, or no working directory.
func (p *Places) Resolve(ctx context.Context, a deployport.Selection) (deployment.Locations, error) {
	if err := ctx.Err(); err != nil {
		return deployment.Locations{}, err
	}
	userHome, err := p.userHome()
	if err != nil {
		return deployment.Locations{}, err
	}
	dir, err := filepath.Abs(p.dir)
	if err != nil {
		return deployment.Locations{}, deployment.ErrPath.WithMessage("the working directory is unknown: %v; change to one that exists", err)
	}
	at := func(path, otherwise string) string {
		if strings.TrimSpace(path) == "" {
			return otherwise
		}
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			return filepath.Join(userHome, filepath.FromSlash(rest))
		}
		if filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return filepath.Join(dir, path)
	}
	home := at(p.env(homeVar), filepath.Join(userHome, ".agentpack"))
	out := deployment.Locations{
		Home: home, Repo: at(a.Repo, filepath.Join(home, "repo")),
		UserHome: userHome, CodexHome: at(p.env(codexVar), ""),
		Machine: p.machine(a.Machine), Env: map[string]string{},
	}
	for _, name := range target.Variables() {
		if value := strings.TrimSpace(p.env(name)); value != "" && name != codexVar {
			if filepath.IsAbs(value) || strings.HasPrefix(value, "~/") { // a relative one belongs to no project
				out.Env[name] = at(value, "")
			}
		}
	}
	if len(out.Env) == 0 {
		out.Env = nil
	}
	switch out.Only = deployment.Scope(strings.TrimSpace(p.env(scopeVar))); out.Only {
	case "", deployment.ScopeUser, deployment.ScopeProject:
	case deployment.ScopeBoth:
		out.Only = ""
	default:
		return deployment.Locations{}, deployment.ErrConfig.WithMessage("%s (--scope) is %q; use one of user, project, both", scopeVar, string(out.Only)).
			WithDetails(deployment.FieldDetails("scope", string(out.Only)).Add("allowed_scopes", []string{"user", "project", "both"}))
	}
	out.ProjectRoot, out.Marked = real(dir), false
	if explicit := at(a.ProjectRoot, at(p.env(projectRootVar), "")); explicit != "" {
		out.ProjectRoot, out.Marked = real(explicit), true
	} else if root, ok := project(out.ProjectRoot); ok {
		out.ProjectRoot, out.Marked = root, true
	}
	if out.Origin, err = origin(out.ProjectRoot); err != nil {
		return deployment.Locations{}, err
	}
	if _, err := gitDir(out.Repo); err == nil {
		if remote, err := origin(out.Repo); err == nil && remote != "" { // it only identifies a repository that was moved
			out.Remote = deployment.ProjectID(remote, "")
		}
	}
	out.ProjectID = deployment.ProjectID(out.Origin, out.ProjectRoot)
	return out, nil
}

func (p *Places) userHome() (string, error) {
	home := cmp.Or(p.env("HOME"), p.env("USERPROFILE"))
	if home == "" {
		u, err := user.Current()
		if err != nil || u.HomeDir == "" {
			return "", deployment.ErrPath.WithMessage("the user's home directory is unknown; set HOME")
		}
		home = u.HomeDir
	}
	abs, err := filepath.Abs(home)
	if err != nil {
		return "", deployment.ErrPath.WithMessage("the home directory %q cannot be made absolute: %v; set HOME to an absolute path", home, err)
	}
	return abs, nil
}

// machine is the first of the names there are that is left with something in normal form.
func (p *Places) machine(asked string) string {
	for _, name := range []string{asked, p.env(machineVar), p.env("HOSTNAME"), p.env("COMPUTERNAME")} {
		if id := deployment.MachineID(name); id != "" {
			return id
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return unknownMachine
	}
	return cmp.Or(deployment.MachineID(name), unknownMachine)
}

// real returns the path with links resolved, as git shows it; a path that does not exist is returned unchanged.
func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// project is the nearest directory, from dir upwards, that is a project: it has a marker, or is a git work tree.
func project(dir string) (root string, found bool) {
	for {
		if info, err := os.Stat(filepath.Join(dir, MarkerFile)); err == nil && info.Mode().IsRegular() {
			return dir, true
		}
		if _, err := gitDir(dir); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// maxPointer is how much of a file is read that holds one path.
const maxPointer = 32 << 10

// gitDir is where the repository of a work tree's root is: .git, or what the file of that name leads to.
func gitDir(root string) (string, error) {
	dot := filepath.Join(root, ".git")
	info, err := os.Stat(dot)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		_, err := os.Lstat(filepath.Join(dot, "HEAD")) // without it git, too, looks further up
		return dot, err
	}
	target, err := pointer(dot)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(target, "gitdir:")
	if !ok {
		return "", fs.ErrInvalid
	}
	return below(root, strings.TrimSpace(target)), nil
}

// commonDir is where the config of a repository is: linked work trees share their main one's.
func commonDir(git string) string {
	shared, err := pointer(filepath.Join(git, "commondir"))
	if err != nil || shared == "" {
		return git
	}
	return below(git, shared)
}

// pointer is the trimmed text of a small file.
func pointer(file string) (string, error) {
	data, err := readLocation(file, maxPointer)
	return strings.TrimSpace(string(data)), err
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}

// origin is the remote of the repository around a project root; empty when there is no repository, or no remote of that name.
func origin(root string) (string, error) {
	for dir := root; ; dir = filepath.Dir(dir) {
		git, err := gitDir(dir)
		if err != nil {
			if filepath.Dir(dir) == dir {
				return "", nil
			}
			continue
		}
		file := filepath.Join(commonDir(git), "config")
		data, err := readLocation(file, maxConfig)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil: // another id would be another project, with other overlays
			sentinel := deployment.ErrPath
			if errors.Is(err, fs.ErrPermission) {
				sentinel = deployment.ErrPermission
			}
			return "", sentinel.WithMessage("%s cannot be read: %v; the project's name comes from its remote", file, err).
				WithDetails(deployment.Details{}.AddPath("path", file))
		}
		return strings.TrimSpace(configValue(data, "remote", "origin", "url")), nil
	}
}
