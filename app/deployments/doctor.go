package deployments

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// ManifestIgnoreLine is what keeps ownership manifests out of a project's history (agentpack contract §4.1).
const ManifestIgnoreLine = ".agentpack.manifest*.json"

// DoctorData is the data of doctor (agentpack contract §5.7).
type DoctorData struct {
	Findings       []inspection.Finding `json:"findings,omitempty"` // about the modules that are deployed
	GitignoreFixes []GitignoreFix       `json:"gitignore_fixes"`
	MachineID      string               `json:"machine_id"`
	NextActions    []string             `json:"next_actions,omitempty"`
	Roots          []DoctorRoot         `json:"roots"`
	Unread         []UnreadModule       `json:"unread_modules,omitempty"` // modules of which nothing is deployed to any host
}

// UnreadModule is a module of which nothing is deployed, with the reason.
type UnreadModule struct {
	ModuleID string `json:"module_id"`
	Reason   string `json:"reason"`
}

// GitignoreFix is one worktree whose .gitignore lacks, or lacked, the line.
type GitignoreFix struct {
	Path      string `json:"gitignore_path"`
	PathPosix string `json:"gitignore_path_posix"`
	Repo      string `json:"repo_root"`
	RepoPosix string `json:"repo_root_posix"`
	Updated   bool   `json:"updated"`
}

// DoctorRoot is one directory that is deployed to.
type DoctorRoot struct {
	Exists     bool     `json:"exists"`
	Issues     []string `json:"issues"`
	Root       string   `json:"root"`
	RootPosix  string   `json:"root_posix"`
	ScanExtras bool     `json:"scan_extras"`
	Suggestion *string  `json:"suggestion"`
	Target     string   `json:"target"`
	Writable   bool     `json:"writable"`
}

// doctor checks everything that a deployment needs, writes nothing, and reports a broken module instead of failing.
func (s *service) doctor(ctx context.Context, _ tool.Scope, in DoctorInput) (planner.Report[DoctorData], error) {
	return s.examine(ctx, in.Selection())
}

func (s *service) examine(ctx context.Context, c planner.Selection) (none planner.Report[DoctorData], err error) {
	state, err := s.Compiler.Compile(ctx, c.Request())
	warnings := slices.Concat(state.Warnings, state.Output.Unset)
	if state.Targets == nil && err != nil { // without a configuration there is nothing else to check
		return none, planner.WithWarnings(err, warnings)
	}
	if err != nil {
		warnings = append(warnings, problem(err))
		if state.Output.Roots == nil {
			bare, err := target.Render(target.Input{Place: state.Place, Targets: state.Config.Manifest.Targets, Chosen: state.Targets, Sep: s.Compiler.Sep})
			if err != nil {
				warnings = append(warnings, problem(err))
			}
			state.Output.Roots = bare.Roots
		}
	}
	data := DoctorData{GitignoreFixes: []GitignoreFix{}, MachineID: state.Place.Machine, Roots: []DoctorRoot{}}
	unignored := map[string]bool{}
	for _, root := range state.Output.Roots {
		more, err := s.doctorRoot(ctx, &data, root, unignored)
		if err != nil {
			return none, planner.WithWarnings(err, warnings)
		}
		warnings = append(warnings, more...)
	}
	if len(unignored) > 0 {
		data.NextActions = append(data.NextActions, planner.CommandPrefix(c)+" doctor --fix --yes --json")
	}
	warnings = append(warnings, s.doctorHidden(ctx, state)...)
	data.Unread = unread(state)
	if findings, failed := s.Compiler.InspectAll(ctx, state); failed == nil { // what cannot be read stops a deployment, and is reported there
		data.Findings = planner.Told(findings)
	}
	more, err := s.doctorOverlays(ctx, state)
	if err != nil {
		return none, planner.WithWarnings(err, warnings)
	}
	return planner.Report[DoctorData]{Data: data, Warnings: planner.UniqueWarnings(warnings, more, s.interrupted(ctx, state))}, nil
}

// unread returns the enabled modules of which no target writes anything. If the modules could not be rendered it returns none.
func unread(state planner.State) (out []UnreadModule) {
	if state.Output.Files == nil {
		return nil
	}
	written := map[string]bool{}
	for _, f := range state.Output.Files {
		for _, id := range f.Modules {
			written[id] = true
		}
	}
	for _, m := range state.Config.Manifest.Modules {
		if !m.Enabled || written[m.ID] {
			continue
		}
		reason := fmt.Sprintf("none of the targets %s takes a module of the type %s as they are configured", strings.Join(state.Targets, ", "), m.Type)
		switch {
		case !slices.ContainsFunc(state.Targets, m.For):
			reason = fmt.Sprintf("it is for %s, and %s is what is deployed to", strings.Join(m.Targets, ", "), strings.Join(state.Targets, ", "))
		case !slices.ContainsFunc(state.Modules, func(s planner.Module) bool { return s.ID == m.ID }):
			if state.Config.Manifest.Included(m) {
				continue // in another profile
			}
			reason = "no profile includes its id or one of its tags"
		}
		out = append(out, UnreadModule{m.ID, reason})
	}
	return out
}

// problem returns an error as a warning that names its reason.
func problem(err error) string {
	f := fault.From(err)
	return "this would stop a deployment: " + f.Message
}

func (s *service) doctorRoot(ctx context.Context, data *DoctorData, root deployment.Root, unignored map[string]bool) ([]string, error) {
	health, err := s.Planner.Machine.Check(ctx, root)
	if err != nil {
		return nil, err
	}
	row := DoctorRoot{Exists: health.Exists, Issues: health.Issues, Root: root.Path, RootPosix: deployment.PosixPath(root.Path), ScanExtras: root.ScanExtras,
		Target: root.Target, Writable: health.Exists && len(health.Issues) == 0}
	if row.Issues == nil {
		row.Issues = []string{}
	}
	suggestion := ""
	switch {
	case slices.Contains(row.Issues, planner.DriftMissing):
		suggestion = "create directory: mkdir -p " + root.Path
		data.NextActions = append(data.NextActions, "mkdir -p "+root.Path)
	case slices.Contains(row.Issues, "not_writable"):
		suggestion = "make it writable: chmod u+w " + root.Path
		data.NextActions = append(data.NextActions, "chmod u+w "+root.Path)
	case slices.Contains(row.Issues, "not_a_directory"):
		suggestion = "move the file away: mv " + root.Path + " " + root.Path + ".bak"
		data.NextActions = append(data.NextActions, "mv "+root.Path+" "+root.Path+".bak")
	}
	if suggestion != "" {
		row.Suggestion = &suggestion
	}
	data.Roots = append(data.Roots, row)
	if health.Worktree == "" || health.Ignored || unignored[health.Worktree] {
		return nil, nil
	}
	unignored[health.Worktree] = true
	return []string{health.Worktree + ": manifests of deployments are not ignored by git; add " + ManifestIgnoreLine + " to its .gitignore (doctor --fix does)"}, nil
}

// maxHidden is the number of files with hidden characters that doctor names.
const maxHidden = 20

// doctorHidden warns of characters in files to deploy, or in their names, that a reader would not see.
func (s *service) doctorHidden(ctx context.Context, state planner.State) []string {
	var out []string
	more := 0
	for _, f := range state.Output.Files {
		found, hides := visible.FindHidden("its path", f.Path)
		if data, err := s.Compiler.Sources.Content(ctx, f.Content); !hides && err == nil && deployment.IsText(data) { // what cannot be read stops a deployment, and is reported there
			found, hides = visible.FindHidden("its text", string(data))
		}
		switch {
		case !hides:
		case len(out) == maxHidden:
			more++
		default:
			out = append(out, visible.Text(f.Path)+" "+visible.FindingsReason([]visible.Finding{found}))
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more files hide something; policy lint names those of the repository", more))
	}
	return out
}

// doctorOverlays warns of overlays that exist in several places or belong to another module.
func (s *service) doctorOverlays(ctx context.Context, state planner.State) ([]string, error) {
	var warnings []string
	for _, m := range state.Config.Manifest.Modules {
		for _, scope := range deployment.OverlayScopes() {
			found, err := s.Compiler.Overlays.Candidates(ctx, state.Place, m.ID, scope)
			if err != nil {
				return warnings, err
			}
			if len(found) == 0 {
				continue
			}
			if len(found) > 1 {
				warnings = append(warnings, "module "+m.ID+" has several "+string(scope)+" overlays ("+strings.Join(found, ", ")+"); "+found[0]+" is used")
			}
			layer, err := s.Compiler.Overlays.Layer(ctx, state.Place, m.ID, scope)
			switch {
			case err != nil && !errors.Is(err, context.Canceled):
				warnings = append(warnings, problem(err))
			case layer.ModuleID != "" && layer.ModuleID != m.ID:
				warnings = append(warnings, path.Join(deployment.PosixPath(layer.Dir), ".agentpack", "module_id")+" names "+layer.ModuleID+", but the overlay is used for "+m.ID)
			}
		}
	}
	return warnings, nil
}
