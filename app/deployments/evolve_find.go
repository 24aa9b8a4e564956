package deployments

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/visible"
)

// EvolveSkip is a file whose edits are not proposed, with alternatives.
type EvolveSkip struct {
	ModuleID      string               `json:"module_id,omitempty"`
	ModuleIDs     []string             `json:"module_ids,omitempty"`
	NextActions   []string             `json:"next_actions"`
	Path          string               `json:"path"`
	PathPosix     string               `json:"path_posix"`
	Reason        string               `json:"reason"`
	ReasonCode    string               `json:"reason_code"`
	ReasonMessage string               `json:"reason_message"`
	State         deployment.FileState `json:"state,omitempty"` // which side changed
	Suggestions   []EvolveSuggestion   `json:"suggestions,omitempty"`
	Target        string               `json:"target"`
}

// EvolveSuggestion is an alternative that is not a command of its own.
type EvolveSuggestion struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// EvolveSummary counts what was examined.
type EvolveSummary struct {
	Proposeable int `json:"drifted_proposeable"`
	Skipped     int `json:"drifted_skipped"`
	Conflicts   int `json:"skipped_conflict"`
	Missing     int `json:"skipped_missing"`
	MultiModule int `json:"skipped_multi_module"`
	ReadError   int `json:"skipped_read_error"`
}

// EvolveCandidate is one edit that can be proposed.
type EvolveCandidate struct {
	Keys      [][]string           `json:"keys,omitempty"` // of a document of which single keys are managed
	ModuleID  string               `json:"module_id"`
	Path      string               `json:"path"`
	PathPosix string               `json:"path_posix"`
	State     deployment.FileState `json:"state"` // which side changed
	Target    string               `json:"target"`
	Unified   string               `json:"unified,omitempty"` // the change of the module's file

	edit target.ModuleEdit
	was  []byte // the present file of the module
}

// found is everything that drifted, divided into what can be proposed and what cannot.
type found struct {
	candidates []EvolveCandidate
	skipped    []EvolveSkip
	summary    EvolveSummary
	warnings   []string
	redactor   *redact.Redactor // nil until something is to be proposed
}

// Evolver finds and proposes.
type Evolver struct {
	Compiler planner.Compiler
	Planner  planner.Planner
	EvolveDeps
}

// search is what to look for: edits of one module or of all, to be proposed as overlays of one scope.
type search struct {
	state          planner.State
	module, prefix string
	scope          deployment.OverlayScope
}

// The reasons of skipped files, in addition to those of package target. The first is of the agentpack contract §5.10.
const (
	reasonGone       = "missing"
	reasonLink       = "symbolic_link"
	reasonUserScope  = "user_scope"       // the edit is in the user's file, and the proposal would be for a project
	reasonUnmanaged  = "not_deployed"     // no deployment wrote the file
	reasonOwned      = "owned_by_another" // another config repository deployed the file
	reasonUnknown    = "base_unknown"     // the last deployed content is not stored
	reasonConflict   = "conflict"         // the edit conflicts with the config repository
	reasonUpstream   = "removed_upstream" // the config repository no longer wants the file, key or section
	reasonGenerated  = "generated"        // lines of a .gitignore
	reasonMode       = "mode_only"        // only the executable bit was changed
	reasonSecret     = "secret"           // the edit adds what looks like a secret
	overlaidAbove    = "overlaid_above"   // a layer above the proposal's takes precedence
	reasonMultiParts = string(target.ReasonMultiModule)
)

// find examines every desired file, or those of one module, for edits since the last deployment.
func (e Evolver) find(ctx context.Context, r planner.Result, in search) (found, error) {
	f := found{candidates: []EvolveCandidate{}, skipped: []EvolveSkip{}}
	var edited []drifted
	others := r.Observed.OthersByPath()
	input, entries, wanted := e.Compiler.Input(ctx, in.state), r.Entries(deployment.OwnerDeploy), map[string]bool{}
	for i := range r.Files {
		d := &r.Files[i]
		wanted[d.Path] = wanted[d.Path] || d.Part == nil || !d.Merge.Ours.IsZero()
		if in.module != "" && !slices.Contains(d.Modules, in.module) {
			continue
		}
		if err := r.Observed.Unread[d.Path]; err != nil {
			f.unread(d.Path, err)
			continue
		}
		one := drifted{DriftedFile: target.DriftedFile{Input: input, File: *d}, have: entries[[2]string{d.Target, d.Path}]}
		now := r.Observed.Files[d.Path]
		one.mode = one.have != nil && d.Part == nil && one.have.IsModeEdited(now)
		one.state, one.others = others.StateOf(d, one.have, now), others
		holder, shared := others.Holder(d, one.have, now)
		switch {
		case one.state == deployment.StateUpToDate, one.state == deployment.StateChangedUpstream, one.state == "":
		case now.Kind == deployment.Absent, one.state == deployment.StateMissing:
			f.skip(one, in, reasonGone, "it is not there, so there is nothing to propose")
		case in.scope == deployment.ProjectScope && !deployment.IsBelow(in.state.Place.ProjectRoot, d.Path, e.Compiler.Sep):
			f.skip(one, in, reasonUserScope, "it is the user's, and what a project lays over a module is for that project alone; propose with scope global or machine")
		case now.Kind == deployment.Link:
			f.skip(one, in, reasonLink, "a symbolic link stands there; what it leads to is not proposed")
		case holder != "" && !shared && (one.have == nil || !one.keyed()):
			f.skip(one, in, reasonOwned, "the config repository "+holder+" deployed what stands there, so it is no edit of a module of this one; "+takeOver)
		case one.state == deployment.StateNotDeployed && holder == "":
			f.skip(one, in, reasonUnmanaged, "no deployment wrote what stands there, so it is no edit of a module; countersign agents import takes files over")
		case d.Part != nil && d.Part.Format == deployment.FormatIgnore:
			f.skip(one, in, reasonGenerated, "it lists what is deployed, and belongs to no module; the option gitignore of "+d.Target+" in agentpack.yaml switches it off")
		case d.Part != nil && d.Merge.Ours.IsZero():
			f.skip(one, in, reasonUpstream, "it was edited here, and the config repository does not want it any more; a deployment with --adopt takes it out")
		default:
			edited = append(edited, one)
		}
	}
	if err := e.mergeAll(ctx, &f, edited, in); err != nil {
		return f, err
	}
	e.orphans(&f, r, in, wanted)
	e.lines(&f)
	f.sort()
	return f, nil
}

// lines shows what each edit would change in its module's file.
func (e Evolver) lines(f *found) {
	for i := range f.candidates {
		c := &f.candidates[i]
		if !deployment.IsText(c.was) || !deployment.IsText(c.edit.Data) {
			continue
		}
		if text := e.Differ.Unified("a/"+c.edit.Path, "b/"+c.edit.Path, visible.Bytes(c.was), visible.Bytes(c.edit.Data)); len(text) <= maxUnified {
			c.Unified = text
		}
	}
}

// orphans reports files that were edited here and that the config repository no longer wants.
func (e Evolver) orphans(f *found, r planner.Result, in search, wanted map[string]bool) {
	others := r.Observed.OthersByPath()
	for have := range r.Observed.Entries() {
		inside := slices.ContainsFunc(r.Roots, func(root deployment.Root) bool { return root.Target == have.Target && root.Path == have.Root })
		if have.Owner != deployment.OwnerDeploy || have.Sure() == nil || have.Part != nil || !inside || wanted[have.Path] || len(others[have.Path]) > 0 || in.module != "" && !slices.Contains(have.Modules, in.module) {
			continue
		}
		if state := have.State(r.Observed.Files[have.Path]); state == deployment.StateConflict {
			f.skip(drifted{DriftedFile: target.DriftedFile{File: deployment.Desired{Target: have.Target, Path: have.Path, Modules: have.Modules}}, have: have, state: state}, in,
				reasonUpstream, "it was edited here, and the config repository does not want it any more; a deployment with --adopt deletes it")
		}
	}
}

// drifted is a file that was edited here, and its entry in the ownership manifest.
type drifted struct {
	target.DriftedFile
	have   *deployment.Owned
	state  deployment.FileState
	others deployment.Others
	mode   bool // the executable bit was changed here
}

// modeOnly describes a file in which no text was edited.
const modeOnly = "only whether it may be executed was changed; change that in the module, or countersign agents deploy --apply --adopt sets it back"

// takeOver returns how to take over a file of another config repository.
const takeOver = "countersign agents deploy --apply --adopt takes it over"

// mergeAll merges the edits of files with the present content of the config repository, and traces the result back to the modules.
func (e Evolver) mergeAll(ctx context.Context, f *found, edited []drifted, in search) error {
	var files []*deployment.Desired
	var have []*deployment.Owned
	for i := range edited {
		if !edited[i].keyed() {
			files, have = append(files, &edited[i].File), append(have, edited[i].have)
		}
	}
	merged, wrong := e.Planner.MergeAll(ctx, in.state.Place.Home, files, have)
	for i := range edited {
		var err error
		if edited[i].keyed() {
			err = e.mergeKeys(ctx, f, edited[i], in)
		} else {
			err = e.merge(ctx, f, edited[i], in, merged[0], wrong[0])
			merged, wrong = merged[1:], wrong[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keyed reports whether only single keys of the document are managed.
func (d drifted) keyed() bool {
	return d.File.Part != nil && d.File.Part.Format != deployment.FormatMarkdown
}

// merge continues with a file that was merged, or with the error of the merge.
func (e Evolver) merge(ctx context.Context, f *found, d drifted, in search, merged planner.MergedEdits, err error) error {
	switch {
	case errors.Is(err, deployment.ErrConfig): // about the marks of a block
		f.skip(d, in, string(target.ReasonUnsupported), fault.From(err).Message)
		return nil
	case err != nil && fault.From(err).Kind == fault.Internal, errors.Is(err, deployment.ErrGitMissing):
		return err
	case err != nil:
		f.unread(d.File.Path, err)
		return nil
	case merged.Unknown:
		f.skip(d, in, reasonUnknown, "the last deployed content is not stored, so it is unknown what was edited; put the edit into the module by hand, or deploy with --adopt and edit again")
		return nil
	}
	for _, open := range merged.Open {
		f.open(d, in, open)
	}
	if merged.IsTaken() {
		if d.mode {
			f.skip(d, in, reasonMode, modeOnly)
		}
		return nil
	}
	d.Actual = merged.Text
	if d.File.Part != nil {
		whole, err := deployment.PutBlockOf(d.File.Part.Label, "", string(merged.Text))
		if err != nil {
			f.skip(d, in, string(target.ReasonUnsupported), fault.From(err).Message)
			return nil
		}
		d.Actual = []byte(whole)
	}
	return e.invert(ctx, f, d, in, merged)
}

// open reports a conflicting edit.
func (f *found) open(d drifted, in search, open planner.OpenConflict) {
	switch {
	case open.Marks != "":
		f.skip(d, in, reasonMultiParts, "the marks between the modules were changed, so that the edit cannot be assigned to a module: "+open.Marks+". "+writeBetween(d, in))
	case open.Gone:
		d.File.Modules = []string{open.Module}
		f.skip(d, in, reasonUpstream, "the text of "+open.Module+" was edited here, and the config repository does not want that module here any more")
	default:
		if open.Module != "" {
			d.File.Modules = []string{open.Module}
		}
		f.skip(d, in, reasonConflict, "it was edited here and in the config repository, at the same lines")
	}
}

// writeBetween says where the text of a module belongs in a file of several, and which command to run then.
func writeBetween(d drifted, in search) string {
	again := in.prefix + " evolve propose"
	if in.module != "" {
		again += " --module-id " + in.module
	}
	if in.scope != deployment.GlobalScope {
		again += " --scope " + string(in.scope)
	}
	return "What a module is to say stands in " + d.File.Path + " " + deployment.SectionPlaces(d.File.Modules) + ", each of them on a line of its own: write it there, then repeat " + again
}

// invert traces one file with its edits back.
func (e Evolver) invert(ctx context.Context, f *found, d drifted, in search, merged planner.MergedEdits) error {
	inverse, err := target.Invert(d.DriftedFile)
	switch {
	case err != nil:
		return err
	case inverse.Reason != "":
		f.skip(d, in, string(inverse.Reason), inverse.Message)
		return nil
	case len(inverse.Edits) == 0 && merged.Outside:
		f.skip(d, in, reasonMultiParts, "only text that belongs to no module was changed. "+writeBetween(d, in))
		return nil
	case len(inverse.Edits) == 0 && len(merged.Open) == 0:
		f.skip(d, in, reasonMode, modeOnly)
		return nil
	}
	for _, edit := range inverse.Edits {
		if in.module != "" && edit.Module != in.module {
			continue
		}
		if err := e.candidate(ctx, f, d, in, edit, nil); err != nil {
			return err
		}
	}
	return nil
}

// candidate proposes an edit, unless something prevents it.
func (e Evolver) candidate(ctx context.Context, f *found, d drifted, in search, edit target.ModuleEdit, keys [][]string) error {
	if above, yes := in.above(edit); yes {
		f.skip(d, in, overlaidAbove, "the "+above+" overlay of "+edit.Module+" has the last word on "+edit.Path+"; propose with scope "+above)
		return nil
	}
	was, err := e.moduleFile(ctx, in.state, edit)
	if err != nil {
		return err
	}
	if f.secrets(edit.Data) > f.secrets(was) {
		f.skip(d, in, reasonSecret, "the edit adds what looks like a secret, which does not belong in a git repository; use a reference such as ${NAME} there")
		return nil
	}
	return e.propose(ctx, f, EvolveCandidate{Keys: keys, ModuleID: edit.Module, Path: d.File.Path, PathPosix: deployment.PosixPath(d.File.Path), State: d.state, Target: d.File.Target, edit: edit, was: was})
}

// moduleFile returns the present file of a module in the config repository.
func (e Evolver) moduleFile(ctx context.Context, s planner.State, edit target.ModuleEdit) ([]byte, error) {
	m, _ := s.Module(edit.Module)
	f, there := m.Tree.Find(edit.Path)
	if !there {
		return nil, nil
	}
	return e.Compiler.Sources.Content(ctx, f.Content)
}

// secrets counts apparent secrets in a text.
func (f *found) secrets(text []byte) int {
	if f.redactor == nil {
		f.redactor = redact.New(redact.Options{})
	}
	_, n := f.redactor.Text(string(text))
	return n
}

func (f *found) unread(path string, err error) {
	f.warnings = append(f.warnings, unreadable(path, err))
	f.summary.ReadError++
}

// unreadable returns the warning about a skipped file.
func unreadable(path string, err error) string {
	return path + " cannot be read: " + fault.From(err).Message
}

// above returns the layer that would change or hide an edit in the scope, because the edit is of the result of all layers.
func (in search) above(edit target.ModuleEdit) (string, bool) {
	m, _ := in.state.Module(edit.Module)
	layer := m.Layer(edit.Path)
	return layer, below(in.scope, deployment.OverlayScope(layer))
}

// propose adds an edit. Two edits of one module's file, in the outputs of two targets, are merged; if they conflict, the first is kept and the other
// reported, never overwritten.
func (e Evolver) propose(ctx context.Context, f *found, c EvolveCandidate) error {
	i := slices.IndexFunc(f.candidates, func(have EvolveCandidate) bool {
		return have.edit.Module == c.edit.Module && have.edit.Path == c.edit.Path
	})
	if i < 0 {
		f.candidates = append(f.candidates, c)
		f.summary.Proposeable++
		return nil
	}
	sides := overlay.MergeSides{Base: c.was, Ours: f.candidates[i].edit.Data, Theirs: c.edit.Data}
	both, clean, err := sides.Merge(func(base, ours, theirs []byte) ([]byte, int, error) {
		m, err := e.Planner.Merger.Merge(ctx, base, ours, theirs)
		return m.Text, m.Conflicts, err
	})
	switch {
	case err != nil:
		return err
	case clean:
		f.candidates[i].edit.Data = both
	default:
		f.warnings = append(f.warnings, c.Path+" changes "+c.ModuleID+" in another way than "+f.candidates[i].Path+" does; only the latter is proposed")
	}
	return nil
}

func (f *found) skip(of drifted, in search, reason, message string) {
	d := of.File
	s := EvolveSkip{State: of.state, NextActions: []string{}, Path: d.Path, PathPosix: deployment.PosixPath(d.Path), Reason: reason, ReasonCode: reason, ReasonMessage: message, Target: d.Target}
	if len(d.Modules) == 1 {
		s.ModuleID = d.Modules[0]
	} else {
		s.ModuleIDs = d.Modules
	}
	f.summary.Skipped++
	switch reason {
	case reasonGone:
		f.summary.Missing++
		only := ""
		if in.module != "" {
			only = " --module-id " + in.module
		}
		s.NextActions = []string{in.prefix + " evolve restore" + only + " --yes --json", in.prefix + " deploy --apply --yes --json"}
		s.Suggestions = []EvolveSuggestion{
			{in.prefix + " evolve restore", "recreates missing files and touches nothing else"},
			{in.prefix + " deploy --apply", "brings everything to what the config repository says"},
		}
	case reasonConflict:
		f.summary.Conflicts++
		s.NextActions = []string{in.prefix + " preview --diff --json"}
		s.Suggestions = []EvolveSuggestion{
			{"Put the lines of the config repository beside yours in the deployed file, and propose again", "then what you wrote is proposed on top of them"},
			{"Change the module in the config repository", "then a deployment writes both changes"},
			{in.prefix + " deploy --apply --adopt", "takes the config repository's version; yours stays in a snapshot"},
		}
	case reasonMultiParts:
		f.summary.MultiModule++
		s.Suggestions = []EvolveSuggestion{
			{"Add per-module markers to aggregated instructions outputs", "then each part can be traced to its module"},
			{"Split aggregated outputs so each file maps to one module", "then the file can be traced to its module"},
		}
	}
	f.skipped = append(f.skipped, s)
}

func (f *found) sort() {
	slices.SortFunc(f.candidates, func(a, b EvolveCandidate) int {
		return cmp.Or(cmp.Compare(a.ModuleID, b.ModuleID), cmp.Compare(a.Path, b.Path))
	})
	slices.SortFunc(f.skipped, func(a, b EvolveSkip) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
	f.warnings = planner.UniqueWarnings(f.warnings)
}
