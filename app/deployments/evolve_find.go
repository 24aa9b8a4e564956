package deployments

import (
	"cmp"
	"context"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sorting"
)

// EvolveSkip is a file whose edits are not proposed, and what to do about it instead.
type EvolveSkip struct {
	ModuleID      string             `json:"module_id,omitempty"`
	ModuleIDs     []string           `json:"module_ids,omitempty"`
	NextActions   []string           `json:"next_actions"`
	Path          string             `json:"path"`
	PathPosix     string             `json:"path_posix"`
	Reason        string             `json:"reason"`
	ReasonCode    string             `json:"reason_code"`
	ReasonMessage string             `json:"reason_message"`
	Suggestions   []EvolveSuggestion `json:"suggestions,omitempty"`
	Target        string             `json:"target"`
}

// EvolveSuggestion is a way out that is no command of its own.
type EvolveSuggestion struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// EvolveSummary counts what was looked at.
type EvolveSummary struct {
	Proposeable int `json:"drifted_proposeable"`
	Skipped     int `json:"drifted_skipped"`
	Missing     int `json:"skipped_missing"`
	MultiModule int `json:"skipped_multi_module"`
	ReadError   int `json:"skipped_read_error"`
}

// EvolveCandidate is one edit that can be proposed.
type EvolveCandidate struct {
	ModuleID  string `json:"module_id"`
	Path      string `json:"path"`
	PathPosix string `json:"path_posix"`
	Target    string `json:"target"`

	edit target.ModuleEdit
}

// found is everything that drifted, sorted into what can be proposed and what cannot.
type found struct {
	candidates []EvolveCandidate
	skipped    []EvolveSkip
	summary    EvolveSummary
	warnings   []string
}

// Evolver finds and proposes.
type Evolver struct {
	Compiler planner.Compiler
	Planner  planner.Planner
	EvolveDeps
}

// search is what to look for: edits of one module or of all, to be said in overlays of one scope.
type search struct {
	state          planner.State
	module, prefix string
	scope          deployment.OverlayScope
}

// overlaidAbove is the reason of files that a layer above the proposal's has the last word on.
const overlaidAbove = "overlaid_above"

// find looks at every desired file, or at those of one module.
func (e Evolver) find(ctx context.Context, r planner.Result, in search) (found, error) {
	f := found{candidates: []EvolveCandidate{}, skipped: []EvolveSkip{}}
	input := e.Compiler.Input(ctx, in.state)
	for _, d := range r.Files {
		if in.module != "" && !slices.Contains(d.Modules, in.module) {
			continue
		}
		if err := r.Observed.Unread[d.Path]; err != nil {
			f.unread(d.Path, err)
			continue
		}
		if d.Part != nil && d.Merge.Ours.IsZero() {
			continue
		}
		now := r.Observed.Files[d.Path]
		same := now.Is(d.Content.Sum, d.Mode) || d.Part != nil && d.Merge.Now == d.Merge.Ours
		switch {
		case same && now.Kind != deployment.Absent:
		case now.Kind == deployment.Absent:
			f.skip(d, in, "missing", "it is not there, so there is nothing to propose")
		case now.Kind == deployment.Link:
			f.skip(d, in, "symbolic_link", "a symbolic link stands there; what it leads to is not proposed")
		default:
			if err := e.invert(ctx, &f, target.DriftedFile{Input: input, File: d}, in); err != nil {
				return f, err
			}
		}
	}
	f.sort()
	return f, nil
}

// invert traces one changed file back.
func (e Evolver) invert(ctx context.Context, f *found, d target.DriftedFile, in search) error {
	actual, _, err := e.Planner.Machine.Read(ctx, d.File.Path)
	if err != nil {
		f.unread(d.File.Path, err)
		return nil
	}
	d.Actual = actual
	inverse, err := target.Invert(d)
	switch {
	case err != nil:
		return err
	case inverse.Reason != "":
		f.skip(d.File, in, string(inverse.Reason), inverse.Message)
		return nil
	}
	for _, edit := range inverse.Edits {
		if in.module != "" && edit.Module != in.module {
			continue
		}
		if above, yes := in.above(edit); yes {
			f.skip(d.File, in, overlaidAbove, "the "+above+" overlay of "+edit.Module+" has the last word on "+edit.Path+"; propose with scope "+above)
			continue
		}
		f.propose(EvolveCandidate{ModuleID: edit.Module, Path: d.File.Path, PathPosix: deployment.PosixPath(d.File.Path), Target: d.File.Target, edit: edit})
	}
	return nil
}

func (f *found) unread(path string, err error) {
	f.warnings = append(f.warnings, unreadable(path, err))
	f.summary.ReadError++
}

// unreadable is the warning of a file that is passed over.
func unreadable(path string, err error) string {
	return path + " cannot be read: " + fault.From(err).Message
}

// above is the layer that would change or hide an edit made in the scope: the edit is of what came out of all layers.
func (in search) above(edit target.ModuleEdit) (string, bool) {
	m, _ := in.state.Module(edit.Module)
	layer := m.Layer(edit.Path)
	return layer, below(in.scope, deployment.OverlayScope(layer))
}

// propose keeps the first edit of a module's file; another that says something else is reported, never written over it.
func (f *found) propose(c EvolveCandidate) {
	i := slices.IndexFunc(f.candidates, func(have EvolveCandidate) bool {
		return have.edit.Module == c.edit.Module && have.edit.Path == c.edit.Path
	})
	if i < 0 {
		f.candidates = append(f.candidates, c)
		f.summary.Proposeable++
		return
	}
	if string(f.candidates[i].edit.Data) != string(c.edit.Data) {
		f.warnings = append(f.warnings, c.Path+" changes "+c.ModuleID+" in another way than "+f.candidates[i].Path+" does; only the latter is proposed")
	}
}

func (f *found) skip(d deployment.Desired, in search, reason, message string) {
	s := EvolveSkip{NextActions: []string{}, Path: d.Path, PathPosix: deployment.PosixPath(d.Path), Reason: reason, ReasonCode: reason, ReasonMessage: message, Target: d.Target}
	if len(d.Modules) == 1 {
		s.ModuleID = d.Modules[0]
	} else {
		s.ModuleIDs = d.Modules
	}
	f.summary.Skipped++
	switch reason {
	case "missing":
		f.summary.Missing++
		only := ""
		if in.module != "" {
			only = " --module-id " + in.module
		}
		s.NextActions = []string{in.prefix + " evolve restore" + only + " --yes --json", in.prefix + " deploy --apply --yes --json"}
		s.Suggestions = []EvolveSuggestion{
			{"countersign agents evolve restore", "recreates missing files and touches nothing else"},
			{"countersign agents deploy --apply", "brings everything to what the config repository says"},
		}
	case string(target.ReasonMultiModule):
		f.summary.MultiModule++
		s.Suggestions = []EvolveSuggestion{
			{"Add per-module markers to aggregated instructions outputs", "then each part can be traced to its module"},
			{"Split aggregated outputs so each file maps to one module", "then the file can be traced to its module"},
		}
	}
	f.skipped = append(f.skipped, s)
}

func (f *found) sort() {
	sorting.By(f.candidates, func(a, b EvolveCandidate) int {
		return cmp.Or(cmp.Compare(a.ModuleID, b.ModuleID), cmp.Compare(a.Path, b.Path))
	})
	sorting.By(f.skipped, func(a, b EvolveSkip) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
	f.warnings = planner.UniqueWarnings(f.warnings)
}
