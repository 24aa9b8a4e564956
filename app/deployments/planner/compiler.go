package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// AllTargets is the target filter that stands for every configured target.
const AllTargets = "all"

// workers bounds how many modules are composed at once.
const workers = 8

// Compiler composes and renders modules.
type Compiler struct {
	Places   deployport.Locator
	Configs  deployport.Configs
	Sources  deployport.Sources
	Overlays deployport.Overlays
	Offline  bool // do not fetch
	Sep      byte // the native path separator
	Judged   *Judgements

	// Names and shapes of the hosts' present documents decide how they are written; without these two only the tables do.
	Machine   deployport.Machine
	Documents deployport.Documents
}

// Request is what to compile. Profile and Target are never empty.
type Request struct {
	Asked   deployport.Selection
	Profile string
	Target  string // a target's name, or All
}

// Module is a module as deployed, with the origin of its files.
type Module struct {
	target.Module
	Upstream deployment.Tree
	Layers   []overlay.Layer
	composed overlay.Composed
	user     *overlay.Composed // of UserTree
	Origin   *overlay.Origin   // of a git source
}

// Layer returns the layer that the module's file of that path comes from: upstream, the highest overlay that provides or patches it, or "missing".
func (m Module) Layer(path string) string { return cmp.Or(m.composed.Layer(path), "missing") }

// UserLayer is Layer for files of the user's scope.
func (m Module) UserLayer(path string) string {
	if m.user == nil {
		return m.Layer(path)
	}
	return cmp.Or(m.user.Layer(path), "missing")
}

// State is the desired state of the machine. Managed parts of files are not merged yet.
type State struct {
	Place    deployment.Locations
	Config   deployport.Config
	Request  Request
	Targets  []string // the chosen ones, sorted
	Modules  []Module // sorted by identifier
	Output   target.Output
	Warnings []string
}

// Module returns the composed module of that identifier.
func (s State) Module(id string) (Module, bool) {
	i := slices.IndexFunc(s.Modules, func(m Module) bool { return m.ID == id })
	if i < 0 {
		return Module{}, false
	}
	return s.Modules[i], true
}

// Load resolves the place and reads the config repository.
func (c Compiler) Load(ctx context.Context, r Request) (State, error) {
	s := State{Request: r}
	var err error
	if s.Place, err = c.Places.Resolve(ctx, r.Asked); err != nil {
		return s, err
	}
	if s.Config, err = c.Configs.Load(ctx, s.Place.Repo); err != nil {
		return s, err
	}
	s.Warnings = slices.Clone(s.Config.Warnings)
	s.Warnings = append(s.Warnings, otherProfile(s)...)
	s.Targets, err = target.SelectTargets(s.Config.Manifest.Targets, r.Target)
	return s, err
}

// otherProfile warns if the project has a profile of its own, as import makes them, and another one was chosen: files that are only for the project
// are in its profile.
func otherProfile(s State) []string {
	own := deployment.ProjectTag(s.Place.ProjectID)
	if _, there := s.Config.Manifest.Profiles[own]; !there || !s.Place.Marked || s.Place.Only == deployment.ScopeUser || s.Request.Profile != deployment.DefaultProfile {
		return nil
	}
	return []string{"this project has a profile of its own, and the profile " + s.Request.Profile + " was chosen: countersign agents preview --profile " + own + " shows what is for the project too"}
}

// Compile is Load, and then composes, validates and renders every selected module. Warnings before an error are returned with the State. It fails
// with the errors of package deployment.
func (c Compiler) Compile(ctx context.Context, r Request) (State, error) {
	s, err := c.Load(ctx, r)
	if err != nil {
		return s, err
	}
	selected, err := s.Config.Manifest.Select(r.Profile)
	if err != nil {
		return s, err
	}
	if s.Config.Manifest.NeedsLock() && s.Config.Lock == nil {
		return s, c.LockMissing(s.Place)
	}
	selected = slices.DeleteFunc(selected, func(m deployment.Module) bool {
		return !slices.ContainsFunc(s.Targets, m.For) && !shared(m, s.Config.Manifest.Targets)
	})
	for _, m := range selected {
		if warning := refWarning(s.Config.Lock, m); warning != "" {
			s.Warnings = append(s.Warnings, warning)
		}
	}
	if err := c.composeAll(ctx, &s, selected); err != nil {
		return s, err
	}
	s.Output, err = target.Render(c.Input(ctx, s))
	s.Warnings = append(s.Warnings, s.Output.Warnings...)
	s.Warnings = append(s.Warnings, caseClashes(s.Output.Files)...)
	return s, err
}

// shared reports whether another target may have the module in a file of a chosen one.
func shared(m deployment.Module, targets map[string]deployment.TargetConfig) bool {
	if m.Type != deployment.ModuleInstructions {
		return false
	}
	for name := range targets {
		if m.For(name) {
			return true
		}
	}
	return false
}

// caseClashes warns of files whose paths differ in upper and lower case alone.
func caseClashes(files []deployment.Desired) []string {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return CaseClashes("", paths)
}

// CaseClashes warns of paths that differ only in case, and so are one file on some file systems. of is the beginning of the warning.
func CaseClashes(of string, paths []string) (out []string) {
	const most = 20
	known := make(map[string]string, len(paths))
	for _, path := range paths {
		lower := strings.ToLower(path)
		have, there := known[lower]
		switch {
		case !there:
			known[lower] = path
		case have != path && len(out) < most:
			out = append(out, fmt.Sprintf("%s%s and %s differ in upper and lower case alone; on macOS and Windows they are one file, so rename one of them", of, have, path))
		}
	}
	return out
}

// refWarning warns if the manifest names another ref than a module was locked for; else it returns "".
func refWarning(lock *deployment.Lock, m deployment.Module) string {
	was, changed := lock.RefChanged(m)
	if !changed {
		return ""
	}
	locked, _ := lock.Module(m.ID)
	return fmt.Sprintf("module %s: %s names the ref %s, and %s was made for %s (commit %s), which is what is deployed; countersign agents update %s takes over the new ref",
		m.ID, deployment.ManifestFile, m.Source.Git.Ref, deployment.LockFile, was, locked.Version, m.ID)
}

// LockMissing returns ErrLockMissing for the config repository of a place.
func (c Compiler) LockMissing(at deployment.Locations) error {
	return deployment.ErrLockMissing.WithMessage("%s is missing in %s; make it with lock (or update)", deployment.LockFile, at.Repo).
		WithDetails(deployment.Details{}.AddPath("path", at.Repo+string(c.Sep)+deployment.LockFile).Add("hint", "countersign agents lock"))
}

// Input returns what the state was rendered from.
func (c Compiler) Input(ctx context.Context, s State) target.Input {
	in := target.Input{Place: s.Place, Targets: s.Config.Manifest.Targets, Chosen: s.Targets, Sep: c.Sep, Read: c.reader(ctx), Frontmatter: c.Configs.Frontmatter}
	for _, m := range s.Modules {
		in.Modules = append(in.Modules, m.Module)
	}
	if c.Machine != nil && c.Documents != nil {
		in.Has = c.has(ctx)
	}
	return in
}

// has reads documents, each once. One that cannot be read counts as existing and empty; the merge reports the error.
func (c Compiler) has(ctx context.Context) func(string, deployment.Format, []string) (document, found bool) {
	type document struct {
		data  []byte
		there bool
	}
	read := map[string]document{}
	return func(path string, f deployment.Format, key []string) (bool, bool) {
		d, known := read[path]
		if !known {
			data, there, err := c.Machine.Read(ctx, path)
			d = document{data, there || err != nil}
			read[path] = d
		}
		if !d.there || len(key) == 0 {
			return d.there, false
		}
		values, err := c.Documents.Values(f, d.data, []deployment.Key{{Path: key}})
		return true, err == nil && len(values) > 0
	}
}

func (c Compiler) reader(ctx context.Context) func(deployment.Content) ([]byte, error) {
	return func(content deployment.Content) ([]byte, error) { return c.Sources.Content(ctx, content) }
}

// composeAll composes modules concurrently; their order and their warnings stay those of the list.
func (c Compiler) composeAll(ctx context.Context, s *State, selected []deployment.Module) error {
	s.Modules = make([]Module, len(selected))
	warnings := make([][]string, len(selected))
	scopes, err := c.scopes(ctx, *s)
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	const share = 16 // modules per goroutine: each has to grow a stack of its own
	for from := 0; from < len(selected); from += share {
		group.Go(func() (err error) {
			for i := from; i < min(from+share, len(selected)) && err == nil; i++ {
				s.Modules[i], warnings[i], err = c.compose(inner, *s, selected[i], scopes)
			}
			return err
		})
	}
	err = group.Wait()
	for _, w := range warnings {
		s.Warnings = append(s.Warnings, w...)
	}
	return err
}

// Compose returns one module with its layers, validated.
func (c Compiler) Compose(ctx context.Context, s State, m deployment.Module) (Module, []string, error) {
	return c.compose(ctx, s, m, deployment.OverlayScopes())
}

// scopes returns those that may have overlays: most have none, and every module would check.
func (c Compiler) scopes(ctx context.Context, s State) (out []deployment.OverlayScope, err error) {
	for _, scope := range deployment.OverlayScopes() {
		some, err := c.Overlays.Some(ctx, s.Place, scope)
		if err != nil {
			return nil, err
		}
		if some {
			out = append(out, scope)
		}
	}
	return out, nil
}

func (c Compiler) compose(ctx context.Context, s State, m deployment.Module, scopes []deployment.OverlayScope) (Module, []string, error) {
	out := Module{Module: target.Module{Module: m}}
	var err error
	if out.Upstream, out.Origin, err = c.Upstream(ctx, s, m); err != nil {
		return out, nil, err
	}
	for _, scope := range scopes {
		if there, err := c.Overlays.Candidates(ctx, s.Place, m.ID, scope); err != nil || len(there) == 0 {
			if err != nil {
				return out, nil, err
			}
			continue
		}
		layer, err := c.Overlays.Layer(ctx, s.Place, m.ID, scope)
		if err != nil {
			return out, nil, err
		}
		if layer.Exists {
			out.Layers = append(out.Layers, layer)
		}
	}
	read := c.reader(ctx)
	composed, err := overlay.Compose(overlay.ComposeInput{Module: m, Upstream: out.Upstream, Layers: out.Layers, Read: read})
	if err != nil {
		return out, composed.Warnings, err
	}
	out.Tree, out.composed = composed.Tree, composed
	if err := deployment.ValidateModule(m, out.Tree, read, c.Configs.Frontmatter); err != nil {
		return out, composed.Warnings, err
	}
	n := len(out.Layers) - 1
	if n < 0 || out.Layers[n].Scope != deployment.ProjectScope || m.Scope == deployment.ScopeProject {
		return out, composed.Warnings, nil
	}
	// A project's overlays apply only to this project: the user's files must not depend on where the deployment runs.
	user, err := overlay.Compose(overlay.ComposeInput{Module: m, Upstream: out.Upstream, Layers: out.Layers[:n], Read: read})
	if err != nil {
		return out, composed.Warnings, err
	}
	out.UserTree, out.user = user.Tree, &user
	return out, composed.Warnings, deployment.ValidateModule(m, out.UserTree, read, c.Configs.Frontmatter)
}

// Upstream returns a module's files before any overlay: those of the config repository, or of the commit in the lockfile, whose sum must be the
// locked one (ErrContent).
func (c Compiler) Upstream(ctx context.Context, s State, m deployment.Module) (deployment.Tree, *overlay.Origin, error) {
	if m.Source.Git == nil {
		tree, err := c.Local(ctx, s.Place, m)
		return tree, nil, err
	}
	locked, err := FindLocked(s.Config.Lock, m)
	if err != nil {
		return nil, nil, err
	}
	tree, err := c.Sources.Git(ctx, s.Place, *locked.Source.Git, c.Offline)
	if err != nil {
		return nil, nil, err
	}
	if sum := tree.Sum(); sum != locked.Sum {
		return nil, nil, deployment.ErrContent.WithMessage("the cached checkout of module %s is not what %s says; countersign agents fetch replaces it", m.ID, deployment.LockFile).
			WithDetails(deployment.FieldDetails("module_id", m.ID).Add("expected_sha256", locked.Sum.String()).Add("actual_sha256", sum.String()))
	}
	return tree, &overlay.Origin{Git: locked.Source.Git}, nil
}

// Local returns the files of a module in the config repository itself. An error names the module, and how to remove it.
func (c Compiler) Local(ctx context.Context, at deployment.Locations, m deployment.Module) (deployment.Tree, error) {
	tree, err := c.Sources.Local(ctx, at, m.Source.Local)
	var f *fault.Error
	if !errors.As(err, &f) {
		return tree, err
	}
	details := deployment.FieldDetails("module_id", m.ID)
	if known, ok := f.Details.(deployment.Details); ok {
		maps.Copy(details, known)
	}
	return tree, f.WithMessage("module %s: %s, or take it out with countersign agents remove %s", m.ID, f.Message, m.ID).WithDetails(details)
}

// LocalOrigin returns where the files of a module in the config repository itself can be found again: with the commit, if the repository is in git
// and has one, else the path alone.
func LocalOrigin(ctx context.Context, history deployport.History, repo, source string) (*overlay.Origin, error) {
	local := &overlay.LocalOrigin{Path: source}
	commit, dirty, err := history.Head(ctx, repo)
	switch {
	case errors.Is(err, deployment.ErrGitRepo), errors.Is(err, deployment.ErrGitMissing), errors.Is(err, deployment.ErrGit):
	case err != nil:
		return nil, err
	case commit != "":
		local.Commit, local.Dirty = commit, &dirty
	}
	return &overlay.Origin{Local: local}, nil
}

// FindLocked returns a git module's entry in the lockfile. It fails with ErrLock if there is none, or one of another source.
func FindLocked(lock *deployment.Lock, m deployment.Module) (deployment.LockedModule, error) {
	locked, ok := lock.Module(m.ID)
	if ok && locked.Source.Git != nil && locked.Source.Git.URL == m.Source.Git.URL && locked.Source.Git.Subdir == m.Source.Git.Subdir {
		return locked, nil
	}
	return locked, deployment.ErrLock.WithMessage("%s does not hold module %s as %s names it; lock again", deployment.LockFile, m.ID, deployment.ManifestFile).
		WithDetails(deployment.ReasonDetails("lockfile_out_of_date", "run_lock", "run_update", "retry_command").Add("module_id", m.ID))
}
