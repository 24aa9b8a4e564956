package planner

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The kinds of drift (agentpack contract §5.6): how a file differs from the config repository. A file that a deployment would add counts as Missing.
// The item's state says which side changed.
const (
	DriftMissing  = "missing"
	DriftModified = "modified"
	DriftExtra    = "extra"
)

// DriftItem is one file with drift.
type DriftItem struct {
	Actual    *string              `json:"actual"`
	Expected  *string              `json:"expected"`
	Kind      string               `json:"kind"`
	Path      string               `json:"path"`
	PathPosix string               `json:"path_posix"`
	Root      string               `json:"root,omitempty"`
	RootPosix string               `json:"root_posix,omitempty"`
	State     deployment.FileState `json:"state,omitempty"` // which side changed; empty for an extra file that no deployment wrote
	Target    string               `json:"target"`
	Modules   []string             `json:"-"`
	OwnedBy   string               `json:"owned_by,omitempty"` // another config repository, which deployed it with other content
}

// DriftSummary counts files by kind of drift.
type DriftSummary struct {
	Extra    int `json:"extra"`
	Missing  int `json:"missing"`
	Modified int `json:"modified"`
}

// StateSummary counts the files that deployments manage, or would manage, by their state. A file of several targets counts once.
type StateSummary struct {
	ChangedUpstream int `json:"changed_upstream"` // NotWanted is part of it
	Conflict        int `json:"conflict"`
	EditedHere      int `json:"edited_here"`
	Missing         int `json:"missing"`
	NotDeployed     int `json:"not_deployed"`
	NotWanted       int `json:"not_wanted,omitempty"` // unedited, and no longer wanted by the config repository
	Unmanaged       int `json:"unmanaged,omitempty"`  // extra files without a state, which no deployment wrote
	UpToDate        int `json:"up_to_date"`
}

// Count adds one file in that state, empty for an extra file. unwanted says that the config repository no longer wants it.
func (s *StateSummary) Count(state deployment.FileState, unwanted bool) {
	switch state {
	case "":
		s.Unmanaged++
	case deployment.StateUpToDate:
		s.UpToDate++
	case deployment.StateChangedUpstream:
		s.ChangedUpstream++
		if unwanted {
			s.NotWanted++
		}
	case deployment.StateEditedHere:
		s.EditedHere++
	case deployment.StateConflict:
		s.Conflict++
	case deployment.StateMissing:
		s.Missing++
	case deployment.StateNotDeployed:
		s.NotDeployed++
	}
}

// RootDrift counts those of one root.
type RootDrift struct {
	Root      string         `json:"root"`
	RootPosix string         `json:"root_posix"`
	States    map[string]int `json:"states"` // how many of them have each state, as in StateSummary
	Summary   DriftSummary   `json:"summary"`
	Target    string         `json:"target"`
}

// stateOf is what is counted of a file.
type stateOf struct {
	state deployment.FileState
	goes  bool
}

// states are files by path, each with the worst of its targets' states.
type states map[string]stateOf

func (s states) add(path string, state deployment.FileState, goes bool) {
	order := deployment.FileStates()
	if have, known := s[path]; !known || slices.Index(order, have.state) < slices.Index(order, state) {
		s[path] = stateOf{state, goes}
	}
}

func (s states) summary() (out StateSummary) {
	for _, one := range s {
		out.Count(one.state, one.goes)
	}
	return out
}

// Drift is the drift that was found, and what follows from it.
type Drift struct {
	Items       []DriftItem
	States      StateSummary
	Warnings    []string
	NeedsDeploy bool // a root lacks its manifest
	AnyManifest bool

	files states
}

// FindDrift searches the roots of a plan. Unmanaged extras are listed if a root is scanned for them and unmanaged is set.
func FindDrift(ctx context.Context, machine deployport.Machine, r Result, unmanaged bool) (Drift, error) {
	d := Drift{Items: []DriftItem{}, files: states{}}
	for _, root := range r.Plan.Roots {
		d.AnyManifest = d.AnyManifest || ledgerOf(r.Observed, root).Present
	}
	if !d.AnyManifest {
		d.Warnings = append(d.Warnings, "no ownership manifest is here, so no file counts as deployed and drift may be inaccurate; a deployment writes one")
	}
	roots := slices.Clone(r.Plan.Roots)
	slices.SortFunc(roots, func(a, b deployment.Root) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), byComponents(a.Path, b.Path))
	})
	for _, root := range roots {
		if err := d.root(ctx, machine, r, search{root, unmanaged}); err != nil {
			return d, err
		}
	}
	d.States = d.files.summary()
	return d, nil
}

// search is one root to look through.
type search struct {
	root      deployment.Root
	unmanaged bool
}

// unknown returns those of the paths that no target wants or owns. Wanted and owned files were observed already; only newer ones are searched.
func unknown(r Result, paths []string) []string {
	paths = slices.DeleteFunc(paths, func(path string) bool { return r.Observed.Files[path].Kind != deployment.Absent })
	if len(paths) == 0 {
		return nil
	}
	known := map[string]bool{}
	for i := range r.Files {
		known[r.Files[i].Path] = true
	}
	for have := range r.Observed.Entries() {
		known[have.Path] = true
	}
	return slices.DeleteFunc(paths, func(path string) bool { return known[path] })
}

func (d *Drift) root(ctx context.Context, machine deployport.Machine, r Result, in search) error {
	ledger, root := ledgerOf(r.Observed, in.root), in.root
	wanted, entries := make(map[string]bool, len(ledger.Owned)), entriesOf(ledger)
	var items []DriftItem
	found := func(item DriftItem) {
		item.Target, item.Root, item.RootPosix, item.PathPosix = root.Target, root.Path, deployment.PosixPath(root.Path), deployment.PosixPath(item.Path)
		items = append(items, item)
	}
	leaving := map[string]*deployment.Desired{} // parts that go
	others := r.Observed.OthersByPath()
	for i := range r.Files {
		f := &r.Files[i]
		if f.Target != root.Target || f.Root != root.Path {
			continue
		}
		if f.Part != nil && f.Merge.Ours.IsZero() {
			leaving[f.Path] = f
			continue
		}
		wanted[f.Path] = true
		now := r.Observed.Files[f.Path]
		state := others.StateOf(f, entries[f.Path], now)
		d.files.add(f.Path, state, false)
		if item, differs := differsFrom(f, now); differs {
			item.State = state
			item.OwnedBy, _ = others.Holder(f, entries[f.Path], now)
			found(item)
		}
	}
	for i := range ledger.Owned {
		have := &ledger.Owned[i]
		if wanted[have.Path] || have.Owner != deployment.OwnerDeploy || have.Part == nil && len(others[have.Path]) > 0 {
			continue // what others have stays with them
		}
		if now := r.Observed.Files[have.Path]; now.Kind != deployment.Absent {
			state := have.State(now)
			if have.Sure() == nil {
				state = "" // only a file says that it was deployed
			}
			if part, leaves := leaving[have.Path]; leaves {
				if state = part.State(have, now); state == deployment.StateUpToDate {
					continue // only the user's part of it is left
				}
			}
			d.files.add(have.Path, state, true)
			found(DriftItem{Path: have.Path, Kind: DriftExtra, Actual: labelled(now.Sum), Modules: have.Modules, State: state})
		}
	}
	slices.SortStableFunc(items, func(a, b DriftItem) int { return byComponents(a.Path, b.Path) })
	if !ledger.Present && len(wanted) > 0 {
		d.NeedsDeploy = true
		if d.AnyManifest {
			d.Warnings = append(d.Warnings, root.Path+" has no ownership manifest of "+root.Target+" yet; a deployment writes it")
		}
	}
	if ledger.Present && root.ScanExtras && in.unmanaged {
		paths, err := machine.Extras(ctx, root)
		if err != nil {
			return err
		}
		paths = unknown(r, paths)
		seen, err := machine.Observe(ctx, deployport.Look{Paths: paths})
		if err != nil {
			return err
		}
		for _, path := range paths {
			d.files.add(path, "", false)
			found(DriftItem{Path: path, Kind: DriftExtra, Actual: labelled(seen.Files[path].Sum)})
		}
	}
	d.Items = append(d.Items, items...)
	return nil
}

// entriesOf returns the entries of deployments by path.
func entriesOf(ledger deployment.OwnershipManifest) map[string]*deployment.Owned {
	out := make(map[string]*deployment.Owned, len(ledger.Owned))
	for i := range ledger.Owned {
		if have := &ledger.Owned[i]; have.Owner == deployment.OwnerDeploy && have.Known() != nil {
			out[have.Path] = have
		}
	}
	return out
}

// differsFrom compares one wanted file with what is at its path.
func differsFrom(f *deployment.Desired, now deployment.Seen) (DriftItem, bool) {
	item := DriftItem{Path: f.Path, Modules: f.Modules}
	switch {
	case now.Kind == deployment.Absent || f.Part != nil && f.Merge.Now.IsZero():
		item.Kind = DriftMissing
	case f.Part != nil && f.Merge.Now == f.Merge.Ours, f.Part == nil && now.Is(f.Content.Sum, f.Mode):
		return item, false
	default:
		item.Kind, item.Actual = DriftModified, labelled(now.Sum)
	}
	item.Expected = labelled(f.Content.Sum)
	return item, true
}

func ledgerOf(o deployment.Observed, root deployment.Root) deployment.OwnershipManifest {
	i := slices.IndexFunc(o.Ledgers, func(l deployment.OwnershipManifest) bool {
		return l.Root.Target == root.Target && l.Root.Path == root.Path
	})
	if i < 0 {
		return deployment.OwnershipManifest{Root: root}
	}
	return o.Ledgers[i]
}

// byComponents orders paths by their components: a/b before a-b.
func byComponents(a, b string) int {
	return cmp.Compare(strings.ReplaceAll(deployment.PosixPath(a), "/", "\x00"), strings.ReplaceAll(deployment.PosixPath(b), "/", "\x00"))
}

// SummarizeDrift counts items by kind.
func SummarizeDrift(items []DriftItem) DriftSummary {
	var s DriftSummary
	for _, i := range items {
		s.count(i.Kind)
	}
	return s
}

func (s *DriftSummary) count(kind string) {
	switch kind {
	case DriftMissing:
		s.Missing++
	case DriftModified:
		s.Modified++
	case DriftExtra:
		s.Extra++
	}
}

// DriftByRoot summarises roots that have drift, by target and root.
func DriftByRoot(items []DriftItem) []RootDrift {
	out := []RootDrift{}
	for _, item := range items {
		i := slices.IndexFunc(out, func(r RootDrift) bool { return r.Target == item.Target && r.Root == item.Root })
		if i < 0 {
			i = len(out)
			out = append(out, RootDrift{Root: item.Root, RootPosix: item.RootPosix, States: map[string]int{}, Target: item.Target})
		}
		out[i].Summary.count(item.Kind)
		switch {
		case item.State == "":
			out[i].States["unmanaged"]++
		case item.State == deployment.StateChangedUpstream && item.Kind == DriftExtra:
			out[i].States["not_wanted"]++
			fallthrough
		default:
			out[i].States[string(item.State)]++
		}
	}
	slices.SortFunc(out, func(a, b RootDrift) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.RootPosix, b.RootPosix))
	})
	return out
}

func labelled(s deployment.Sum) *string {
	if s.IsZero() {
		return nil
	}
	text := s.Labelled()
	return &text
}
