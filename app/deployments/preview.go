package deployments

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// ChangesData is the data of plan and diff, and part of that of deploy (agentpack contract §5.4, §5.5).
type ChangesData struct {
	Applied    *bool                `json:"applied,omitempty"`
	Changes    []deployment.Change  `json:"changes"`
	Omitted    int                  `json:"changes_omitted,omitempty"` // of a list that is too long for the caller
	Places     []ChangedPlace       `json:"directories,omitempty"`     // of such a list: the directories of all changes
	Findings   []inspection.Finding `json:"findings,omitempty"`        // of a deployment: about the modules that it writes
	Profile    string               `json:"profile"`
	Reason     string               `json:"reason,omitempty"`
	SnapshotID string               `json:"snapshot_id,omitempty"`
	Summary    deployment.Summary   `json:"summary"`
	Targets    []string             `json:"targets"`
}

// ChangedPlace counts the changes below one directory of a target.
type ChangedPlace struct {
	Target    string             `json:"target"`
	Path      string             `json:"path"`
	PathPosix string             `json:"path_posix"`
	Summary   deployment.Summary `json:"summary"`
}

// changedPlaces counts all changes of a plan by target and root, in their order.
func changedPlaces(p deployment.Plan) (out []ChangedPlace) {
	at := map[deployment.Root]int{}
	for _, c := range p.Changes {
		root, ok := deployment.BestRoot(p.Roots, c.Target, c.Path, '/')
		if !ok {
			root, ok = deployment.BestRoot(p.Roots, c.Target, c.Path, '\\')
		}
		if !ok {
			root = deployment.Root{Target: c.Target, Path: "<unknown>"}
		}
		key := deployment.Root{Target: root.Target, Path: root.Path}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key], out = i, append(out, ChangedPlace{Target: c.Target, Path: root.Path, PathPosix: deployment.PosixPath(root.Path)})
		}
		out[i].Summary.Add(c.Op)
	}
	return out
}

// dataOf shows a plan within limit bytes. Its summary always counts everything. Of a plan that is too long, what adopt would overwrite is listed
// first, because an approval covers it, then other existing files, then new ones.
func dataOf(p deployment.Plan, limit int) (ChangesData, []string) {
	d := ChangesData{Changes: p.Changes, Profile: p.Profile, Summary: p.Summary(), Targets: p.Targets}
	size := planner.AnswerOverhead
	for _, c := range p.Changes {
		size += weight(c)
	}
	if limit <= 0 || size <= limit {
		return d, nil
	}
	listed := make([]bool, len(p.Changes))
	left, adoptions := limit-planner.AnswerOverhead, 0
	for rank := range 3 {
		for i, c := range p.Changes {
			if rankOf(c) != rank {
				continue
			}
			if left -= weight(c); left < 0 {
				break
			}
			listed[i] = true
		}
	}
	d.Changes = []deployment.Change{}
	for i, c := range p.Changes {
		if listed[i] {
			d.Changes = append(d.Changes, c)
		} else if c.Gate.Adopts() {
			adoptions++
		}
	}
	d.Omitted, d.Places = len(p.Changes)-len(d.Changes), changedPlaces(p)
	warnings := []string{fmt.Sprintf("%d of %d changes are not listed here; countersign agents plan --json lists all of them", d.Omitted, len(p.Changes))}
	if adoptions > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of those not listed would overwrite or delete work that no deployment wrote", adoptions))
	}
	return d, warnings
}

// rankOf returns the rank of a change in a list that is too long.
func rankOf(c deployment.Change) int {
	switch {
	case c.Gate.Adopts():
		return 0
	case c.Op != deployment.OpCreate:
		return 1
	}
	return 2
}

// weight returns an upper bound of a change's size as JSON, in bytes.
func weight(c deployment.Change) int { return len(c.Path)*2 + 420 }

// plan returns the tools plan and diff.
func (s *service) plan(ctx context.Context, sc tool.Scope, in PlanInput) (planner.Report[ChangesData], error) {
	_, result, err := s.look(ctx, in.Selection())
	if err != nil {
		return planner.Report[ChangesData]{}, err
	}
	data, cut := dataOf(result.Plan, sc.MaxOutput)
	return planner.NewReport(data, slices.Concat(planner.EditWarnings(result.Plan), result.Plan.Ways.Warnings(), result.Warnings, cut)...), nil
}

// PreviewData is the data of preview.
type PreviewData struct {
	Diff     *DiffData            `json:"diff,omitempty"`
	Findings []inspection.Finding `json:"findings,omitempty"` // about the modules that are written
	Plan     PlanSummary          `json:"plan"`
	Profile  string               `json:"profile"`
	Targets  []string             `json:"targets"`
}

// PlanSummary is the changes of a preview.
type PlanSummary struct {
	Changes []deployment.Change `json:"changes"`
	Omitted int                 `json:"changes_omitted,omitempty"`
	Places  []ChangedPlace      `json:"directories,omitempty"`
	Summary deployment.Summary  `json:"summary"`
}

// DiffData is the changes of a preview with diffs.
type DiffData struct {
	Changes []deployment.Change `json:"changes"`
	Files   []FileDiff          `json:"files"`
	Summary deployment.Summary  `json:"summary"`
}

// FileDiff is one file of a preview with diffs. Path is relative to Root.
type FileDiff struct {
	AfterHash  *string       `json:"after_hash"`
	BeforeHash *string       `json:"before_hash"`
	Op         deployment.Op `json:"op"`
	Path       string        `json:"path"`
	PathPosix  string        `json:"path_posix"`
	Root       string        `json:"root"`
	RootPosix  string        `json:"root_posix"`
	Target     string        `json:"target"`
	Unified    *string       `json:"unified,omitempty"`
}

// The bounds of one file's diff, in bytes: how long it may be (agentpack contract §5.4), and how long the file, which is read as a whole for it.
const (
	maxUnified  = 102400
	maxCompared = 8 << 20
)

func (s *service) preview(ctx context.Context, sc tool.Scope, c PreviewInput) (none planner.Report[PreviewData], err error) {
	state, result, err := s.look(ctx, c.Selection())
	if err != nil {
		return none, err
	}
	findings, err := s.Compiler.InspectChanges(ctx, state, result.Plan.Changes)
	if err != nil {
		return none, planner.WithWarnings(err, result.Warnings)
	}
	limit := sc.MaxOutput
	if c.Diff {
		limit /= 4 // the changes stand there twice, beside the diffs
	}
	data, warnings := dataOf(result.Plan, limit)
	out := PreviewData{Findings: planner.Told(findings), Plan: PlanSummary{data.Changes, data.Omitted, data.Places, data.Summary}, Profile: data.Profile, Targets: data.Targets}
	warnings = slices.Concat(planner.EditWarnings(result.Plan), result.Plan.Ways.Warnings(), result.Warnings, warnings)
	if c.Diff {
		files, more, err := s.diffs(ctx, result, data.Changes, sc.MaxOutput/2)
		if err != nil {
			return none, err
		}
		out.Diff, warnings = &DiffData{data.Changes, files, data.Summary}, append(warnings, more...)
	}
	return planner.Report[PreviewData]{Data: out, Warnings: warnings}, nil
}

// diffs shows each change as a unified diff, the longest ones and binary ones left out with a warning, within limit bytes of text.
func (s *service) diffs(ctx context.Context, r planner.Result, changes []deployment.Change, limit int) ([]FileDiff, []string, error) {
	out := make([]FileDiff, 0, len(changes))
	var warnings []string
	size := 0
	for _, c := range changes {
		f := FileDiff{AfterHash: labelled(c.After.Sum), BeforeHash: labelled(c.Before.Sum), Op: c.Op, Path: c.Path, Root: "<unknown>", Target: c.Target}
		if root, ok := deployment.BestRoot(r.Plan.Roots, c.Target, c.Path, s.Compiler.Sep); ok {
			f.Root, f.Path = root.Path, strings.TrimLeft(c.Path[len(root.Path):], `/\`)
		}
		f.RootPosix, f.PathPosix = deployment.PosixPath(f.Root), deployment.PosixPath(f.Path)
		if c.Op != deployment.OpDelete {
			text, problem, err := s.unified(ctx, c, f.PathPosix)
			switch {
			case err != nil:
				return nil, nil, err
			case problem == "" && size+len(text) > limit:
				problem = "the answer would be too long"
			}
			if problem == "" {
				size += len(text)
				f.Unified = &text
			} else {
				warnings = append(warnings, fmt.Sprintf("no diff of %s: %s", path.Join(f.RootPosix, f.PathPosix), problem))
			}
		}
		out = append(out, f)
	}
	return out, warnings, nil
}

// How long the diffs may be together that people see before they confirm, in bytes, and of how many files they are.
const (
	maxExhibit     = 192 << 10
	filesExhibited = 200
)

// exhibited is what people see beside the plan of a deployment.
type exhibited struct {
	Files    []FileDiff `json:"files"`
	Warnings []string   `json:"warnings,omitempty"`
}

// exhibit returns the lines that those changes would change.
func (s *service) exhibit(ctx context.Context, r planner.Result, changes []deployment.Change) (any, error) {
	most := mostExhibited(changes)
	return s.exhibitOf(ctx, r, most, len(changes)-len(most))
}

// mostExhibited returns the changes whose lines are shown: of too many, those of files that are there already come first.
func mostExhibited(changes []deployment.Change) []deployment.Change {
	if len(changes) <= filesExhibited {
		return changes
	}
	most := make([]deployment.Change, 0, filesExhibited)
	for _, creates := range []bool{false, true} {
		for _, c := range changes {
			if len(most) < filesExhibited && (c.Op == deployment.OpCreate) == creates {
				most = append(most, c)
			}
		}
	}
	return most
}

// exhibitOf returns exhibit for the changes that were chosen, of which left are not among them.
func (s *service) exhibitOf(ctx context.Context, r planner.Result, changes []deployment.Change, left int) (any, error) {
	files, warnings, err := s.diffs(ctx, r, changes, maxExhibit)
	if left > 0 {
		warnings = append(warnings, fmt.Sprintf("the lines of %d more files are not shown here; countersign agents preview --diff shows them", left))
	}
	return exhibited{files, warnings}, err
}

// unified returns the diff of one change, or why there is none.
func (s *service) unified(ctx context.Context, c deployment.Change, name string) (text, problem string, err error) {
	if c.Before.Kind == deployment.Link { // what it leads to may be anybody's, and is not shown
		return "", "a symbolic link to " + c.Before.Link + " stands there", nil
	}
	if max(c.Before.Size, c.After.Size) > maxCompared {
		return "", fmt.Sprintf("it has more than %d bytes, and is not compared", maxCompared), nil
	}
	before, _, err := s.Planner.Machine.Read(ctx, c.Path)
	if err != nil {
		return "", "", err
	}
	after, err := s.Compiler.Sources.Content(ctx, c.After)
	switch {
	case err != nil:
		return "", "", err
	case !deployment.IsText(before) || !deployment.IsText(after):
		return "", "it is not text", nil
	case len(before) == 0 && len(after) > maxUnified: // all of it would be shown
		return "", fmt.Sprintf("it is longer than %d bytes", maxUnified), nil
	}
	text = s.Differ.Unified("a/"+name, "b/"+name, visible.Bytes(before), visible.Bytes(after))
	if len(text) > maxUnified {
		return "", fmt.Sprintf("it is longer than %d bytes", maxUnified), nil
	}
	return text, "", nil
}

func labelled(s deployment.Sum) *string {
	if s.IsZero() {
		return nil
	}
	text := s.Labelled()
	return &text
}

// shown is a plan in the call pipeline: what a dry run shows, and what its hash covers.
type shown struct {
	result   planner.Result
	limit    int
	warnings []string
	findings []inspection.Finding
	applied  bool // the data of a deployment says that nothing was applied yet
}

// MarshalJSON returns the report that a dry run gives.
func (p shown) MarshalJSON() ([]byte, error) {
	data, cut := dataOf(p.result.Plan, p.limit)
	data.Findings = planner.Told(p.findings)
	if p.applied {
		data.Applied = new(bool)
	}
	return json.Marshal(planner.Report[ChangesData]{Data: data, Warnings: append(p.warnings, cut...)})
}
