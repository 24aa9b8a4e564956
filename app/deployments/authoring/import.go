package authoring

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The typed handles of the tools that import.
var (
	ShowImport = tool.Ref[ShowImportInput, planner.Report[ImportData]]{Name: "agents_import"}
	Import     = tool.Ref[ImportInput, planner.Report[ImportData]]{Name: "agents_import_apply"}
)

// ImportDeps holds the dependencies of the use cases. All of it is required.
type ImportDeps struct {
	Compiler planner.Compiler
	Machine  deployport.Machine
	Scanner  deployport.Scanner

	Documents deployport.Documents
}

type importService struct{ ImportDeps }

// importEntries returns the tools.
func importEntries(d ImportDeps) []tool.Entry {
	s := &importService{d}
	return []tool.Entry{
		bind.Query(ShowImport, planner.QuerySpec("Show what could be imported",
			"Show which prompts, skills, commands and instructions of coding agents could become modules. Changes nothing.", importSchema), s.show),
		bind.Command(Import, planner.CommandSpec("Import into the config repository", "Copy what agents_import shows into the config repository and list it in agentpack.yaml.", importSchema,
			planner.CommandOptions{Class: policy.ClassWrite, When: "unless there is nothing to import"}), s.prepare, s.apply),
	}
}

// ImportData is the data of both (agentpack contract §5.13).
type ImportData struct {
	Applied       bool             `json:"applied"`
	Conflicts     []ImportConflict `json:"conflicts"`
	HomeRoot      string           `json:"home_root"`
	HomeRootPosix string           `json:"home_root_posix"`
	LeftOut       []ImportLeftOut  `json:"left_out,omitempty"` // the first maxLeftOut
	NextActions   []string         `json:"next_actions"`
	Options       []ImportOptions  `json:"options,omitempty"` // options of the targets with which everything is deployed where it was found
	Plan          []ImportItem     `json:"plan"`
	Omitted       int              `json:"plan_omitted,omitempty"` // of a list that is too long for the caller
	Project       ImportProject    `json:"project"`
	Reason        string           `json:"reason,omitempty"`
	Repo          string           `json:"repo"`
	RepoPosix     string           `json:"repo_posix"`
	Summary       ImportSummary    `json:"summary"`
}

// ImportProject is the project that was searched.
type ImportProject struct {
	Origin    *string `json:"origin_url"`
	ID        string  `json:"project_id"`
	Root      string  `json:"project_root"`
	RootPosix string  `json:"project_root_posix"`
}

// ImportSummary counts what was found.
type ImportSummary struct {
	Candidates int `json:"candidates"`
	Create     int `json:"create"`
	Existing   int `json:"skipped_existing_module"`
	Invalid    int `json:"skipped_invalid"`
	LeftOut    int `json:"left_out,omitempty"`
	Aside      int `json:"disabled,omitempty"`   // of Create: imported and disabled
	References int `json:"references,omitempty"` // secrets that modules refer to
}

// ImportOptions is a target that is configured, or gets options.
type ImportOptions struct {
	Target  string             `json:"target"`
	New     bool               `json:"new,omitempty"`
	Options deployment.Options `json:"options,omitempty"`
}

// found is the result of a scan.
type found struct {
	at       deployment.Locations
	config   deployport.Config
	home     string // home directory of the agents that are searched
	codex    string
	place    deployment.Locations // at, with that home directory
	in       target.Input         // the context for the tables of agents
	needs    map[string]deployment.TargetConfig
	chosen   map[string]string // by agent and option
	items    []ImportItem
	left     []ImportLeftOut // by source, after check
	differ   []string        // sources that differ from the module with their name
	warnings []string
}

func (s *importService) paths() target.Paths { return target.Paths{Sep: s.Compiler.Sep} }

// survey finds everything that could be imported and decides what to do with it.
func (s *importService) survey(ctx context.Context, c ImportInput) (found, error) {
	var f found
	var err error
	if f.at, err = s.Compiler.Places.Resolve(ctx, c.Selection().Asked()); err != nil {
		return f, err
	}
	if f.config, err = s.Compiler.Configs.Load(ctx, f.at.Repo); err != nil {
		return f, err
	}
	f.warnings = slices.Clone(f.config.Warnings)
	if f.home, f.codex, err = s.homes(f.at, c.HomeRoot); err != nil {
		return f, planner.WithWarnings(err, f.warnings)
	}
	f.chosen, f.place = map[string]string{}, f.at
	if f.place.UserHome = f.home; c.HomeRoot != "" {
		f.place.Env, f.place.CodexHome = nil, ""
	}
	f.in = s.Compiler.Input(ctx, planner.State{Place: f.place, Config: f.config})
	candidates, err := s.scan(ctx, &f)
	if err == nil {
		err = s.judge(ctx, &f, candidates)
	}
	if err == nil {
		err = s.destinations(ctx, &f)
	}
	if err != nil {
		return f, planner.WithWarnings(err, f.warnings)
	}
	slices.SortFunc(f.left, func(a, b ImportLeftOut) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Key, b.Key))
	})
	return f, nil
}

// homes returns the home directory to search, and that of codex.
func (s *importService) homes(at deployment.Locations, asked string) (home, codex string, err error) {
	n := s.paths()
	if asked == "" {
		if at.CodexHome != "" {
			return at.UserHome, at.CodexHome, nil
		}
		return at.UserHome, n.Join(at.UserHome, ".codex"), nil
	}
	home = n.Expand(asked, at.UserHome)
	if !n.Absolute(home) {
		return "", "", tool.ErrArguments.WithMessage("home_root %q is a relative path; give an absolute one", asked)
	}
	home = n.Clean(home)
	return home, n.Join(home, ".codex"), nil
}

// maxLeftOut is the maximum length of the list of what is not a candidate.
const maxLeftOut = 50

// data returns a survey for display, within limit bytes of list.
func (s *importService) data(f found, c planner.Selection, limit int) ImportData {
	d := ImportData{HomeRoot: f.home, HomeRootPosix: deployment.PosixPath(f.home), Plan: f.items, Repo: f.at.Repo, RepoPosix: deployment.PosixPath(f.at.Repo),
		Conflicts: conflicts(f), Reason: "dry_run",
		Project: ImportProject{ID: f.at.ProjectID, Root: f.at.ProjectRoot, RootPosix: deployment.PosixPath(f.at.ProjectRoot)}}
	if f.at.Origin != "" {
		d.Project.Origin = &f.at.Origin
	}
	d.Summary.Candidates, d.Summary.LeftOut, d.LeftOut = len(f.items), len(f.left), f.left[:min(len(f.left), maxLeftOut)]
	for _, i := range f.items {
		switch i.Op {
		case opCreate:
			d.Summary.Create++
			d.Summary.References += len(i.References)
			if i.Disabled {
				d.Summary.Aside++
			}
		case opExisting:
			d.Summary.Existing++
		case opInvalid:
			d.Summary.Invalid++
		}
		if i.Scope == deployment.ScopeProject {
			c.Profile = profileOf(f.at)
		}
	}
	d.NextActions = []string{planner.CommandPrefix(c) + " preview --diff --json", planner.CommandPrefix(c) + " deploy --apply --yes --json"}
	for _, name := range slices.Sorted(maps.Keys(f.needs)) {
		_, there := f.config.Manifest.Targets[name]
		d.Options = append(d.Options, ImportOptions{name, !there, f.needs[name].Options})
	}
	const slack, fixed = 16 << 10, 640
	size := slack
	for n, i := range f.items {
		if size += 2*(len(i.Source)+len(i.Dest)) + fixed; limit > 0 && size > limit {
			d.Plan, d.Omitted = f.items[:n], len(f.items)-n
			break
		}
	}
	return d
}

func profileOf(at deployment.Locations) string { return deployment.ProjectTag(at.ProjectID) }

// show returns the survey.
func (s *importService) show(ctx context.Context, sc tool.Scope, in ShowImportInput) (planner.Report[ImportData], error) {
	f, err := s.survey(ctx, in.ImportInput)
	if err != nil {
		return planner.Report[ImportData]{}, err
	}
	return planner.NewReport(s.data(f, in.Selection(), sc.MaxOutput), f.warnings...), nil
}

// prepare returns the files to write, and the manifest that lists them.
func (s *importService) prepare(ctx context.Context, sc tool.Scope, in ImportInput) (*planner.Edit[ImportData], error) {
	f, err := s.survey(ctx, in)
	if err != nil {
		return nil, err
	}
	data := s.data(f, in.Selection(), sc.MaxOutput)
	if data.Summary.Create == 0 && !in.DryRun {
		data.Reason = "no_changes"
	}
	e := &planner.Edit[ImportData]{Command: "import --apply", Place: f.at, Report: planner.NewReport(data, f.warnings...), Nothing: data.Summary.Create == 0}
	if taken := occupied(f.items); len(taken) > 0 {
		if in.DryRun {
			return e, nil
		}
		return nil, planner.WithWarnings(refusal(taken), f.warnings)
	}
	if data.Summary.Create == 0 {
		return e, nil
	}
	if e.Writes, err = s.writes(ctx, f); err != nil {
		return nil, planner.WithWarnings(err, f.warnings)
	}
	return e, nil
}

// apply writes them.
func (s *importService) apply(ctx context.Context, sc tool.Scope, e *planner.Edit[ImportData]) (planner.Report[ImportData], error) {
	out, err := write(ctx, s.Machine, sc, e)
	if err != nil || len(e.Writes) == 0 {
		return out, err
	}
	out.Data.Applied, out.Data.Reason = true, ""
	return out, nil
}

// writes returns the files of everything to create, and the manifest.
func (s *importService) writes(ctx context.Context, f found) ([]deployment.Write, error) {
	var out []deployment.Write
	var edits []deployport.ManifestEdit
	ofProject := false
	for _, i := range f.items {
		if i.Op != opCreate {
			continue
		}
		ofProject = ofProject || i.Scope == deployment.ScopeProject
		edits = append(edits, deployport.ManifestEdit{Add: &i.module})
		for _, file := range i.tree {
			path := i.Dest
			if !i.module.Type.Single() {
				path = s.paths().Join(i.Dest, file.Path)
			}
			out = append(out, deployment.Write{Op: deployment.OpCreate, Path: path, Root: f.at.Repo, Data: file.Content,
				After: deployment.Seen{Kind: deployment.Regular, Sum: file.Content.Sum, Size: file.Content.Size, Mode: file.Mode}})
		}
	}
	if ofProject {
		edits = append(edits, deployport.ManifestEdit{Profile: profileOf(f.at), Tags: []string{"base", profileOf(f.at)}})
	}
	for _, name := range slices.Sorted(maps.Keys(f.needs)) {
		edits = append(edits, deployport.ManifestEdit{Target: name, Config: f.needs[name]})
	}
	w, err := s.Compiler.Configs.Edit(ctx, f.at.Repo, edits...)
	return append(out, w), err
}

// refusal returns the error that names existing files at destinations.
func refusal(taken []string) error {
	paths, posix := samples(taken)
	return deployment.ErrImportConflict.WithMessage("something stands at %d of the destinations, the first of them %s; nothing was written. %s", len(taken), paths[0], hintExists).
		WithDetails(deployment.FieldDetails("count", len(taken)).Add("sample_paths", paths).Add("sample_paths_posix", posix).Add("hint", hintExists))
}

const (
	hintExists     = "Move those files away, or list them in agentpack.yaml as they are"
	hintDiffers    = "A deployment with --adopt would replace it by the module: take its text into the module first, or rename it"
	hintJoined     = "Take that module out, or keep it from these targets, before deploying: its text would come into the file beside yours"
	hintDuplicates = "Rename one of the sources: names that differ only in letter case or punctuation come to one id"
)

// ImportConflict is a part of the plan that the user must decide.
type ImportConflict struct {
	Count       int      `json:"count"`
	Hint        string   `json:"hint"`
	Kind        string   `json:"kind"`
	ModuleID    string   `json:"module_id,omitempty"`
	Sample      []string `json:"sample_paths"`
	SamplePosix []string `json:"sample_paths_posix"`
}

// maxSamples is the number of paths that a conflict names.
const maxSamples = 20

func samples(all []string) (paths, posix []string) {
	paths = all[:min(len(all), maxSamples)]
	posix = make([]string, len(paths))
	for i, p := range paths {
		posix[i] = deployment.PosixPath(p)
	}
	return paths, posix
}

// occupied returns the destinations that already exist.
func occupied(items []ImportItem) (taken []string) {
	for _, i := range items {
		if i.Op == opCreate && i.DestExists {
			taken = append(taken, i.Dest)
		}
	}
	return taken
}

// conflicts returns the identifiers of several sources, in order, and then the existing destinations; never nil.
func conflicts(f found) []ImportConflict {
	items := f.items
	out := []ImportConflict{}
	add := func(kind, id, hint string, of []string) {
		paths, posix := samples(of)
		out = append(out, ImportConflict{Count: len(of), Hint: hint, Kind: kind, ModuleID: id, Sample: paths, SamplePosix: posix})
	}
	var last string
	for _, i := range items {
		if i.SkipReason != reasonDuplicate || i.ModuleID == last {
			continue
		}
		last = i.ModuleID
		var sources []string
		for _, other := range items {
			if other.ModuleID == last {
				sources = append(sources, other.Source)
			}
		}
		add(reasonDuplicate, last, hintDuplicates, sources)
	}
	if taken := occupied(items); len(taken) > 0 {
		add("dest_path_exists", "", hintExists, taken)
	}
	if len(f.differ) > 0 {
		add("differs_from_module", "", hintDiffers, f.differ)
	}
	joined := f.joined()
	for _, id := range slices.Sorted(maps.Keys(joined)) {
		add("file_shared_with_module", id, hintJoined, joined[id])
	}
	return out
}
