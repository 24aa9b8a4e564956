package overlay

import (
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// RebaseInput is an overlay to rebase, and its upstream.
type RebaseInput struct {
	Module   deployment.Module
	Layer    Layer
	Upstream deployment.Tree // as it is now
	Origin   *Origin         // of Upstream
	Sparsify bool            // remove override files that equal upstream's
	Now      time.Time

	// Base returns the bytes that a file of the baseline had, from Layer.Baseline.OriginOf(path). It is called only for files to merge.
	Base func(path string) (data []byte, found bool, err error)
	Read func(deployment.Content) ([]byte, error)
	// Merge does a three-way merge. If conflicts is not 0, merged has the conflicts between the marker lines.
	Merge func(base, ours, theirs []byte) (merged []byte, conflicts int, err error)
	// Diff returns a unified diff, empty for equal texts.
	Diff func(oldName, newName string, old, new []byte) string
}

// RebaseReport is the result for each file: every file that was examined is in exactly one of the lists (agentpack contract §5.14). They are sorted
// and never nil.
type RebaseReport struct {
	Updated   []string      `json:"updated"`
	Deleted   []string      `json:"deleted"`
	Skipped   []string      `json:"skipped"`
	Conflicts []string      `json:"conflicts"`
	Summary   RebaseSummary `json:"summary"`
}

// RebaseSummary counts the files of a report.
type RebaseSummary struct {
	Processed int `json:"processed_files"`
	Updated   int `json:"updated_files"`
	Deleted   int `json:"deleted_files"`
	Skipped   int `json:"skipped_files"`
	Conflicts int `json:"conflict_files"`
}

// FileWrite is a file to write. Path is relative to the overlay directory, with slashes.
type FileWrite struct {
	Path string
	Data []byte
	Mode fs.FileMode // PlainMode or ExecutableMode
}

// Rebased is the result of a rebase. Nothing of it is written yet.
type Rebased struct {
	Report   RebaseReport
	Files    []FileWrite // sorted by path
	Remove   []string    // sorted; relative to the overlay directory
	Baseline *Baseline   // nil if the present one is still right
}

// Rebase updates an overlay to its upstream, file by file (agentpack contract §3.8).
//
// What merges is written and its baseline entry advances. Everything else stays unchanged in the overlay and in the baseline (§10.1): the conflict is
// written to a file below ConflictsDir, and Compose rejects the layer while that file exists. The user resolves it by replacing the marked parts of
// that file; the next rebase takes it over as the overlay's. A conflict file that was edited but still has markers is left alone. If it is removed,
// the overlay stays as it was, until the next rebase.
//
// It fails with ErrOverlayMissing, ErrBaselineMissing, ErrConfig for a layer that breaks the rules of its kind and a patch that does not fit its own
// baseline, ErrBaseline if the baseline's bytes are not available, and with the errors of the given functions. Then nothing is to be written.
// Conflicts are not an error here; the caller returns ErrRebaseConflict for them.
func Rebase(in RebaseInput) (Rebased, error) {
	r := rebaser{in: in, about: about(in.Module, in.Layer)}
	if err := r.prepare(); err != nil {
		return Rebased{}, err
	}
	for _, path := range r.paths() {
		result, err := r.file(path)
		if err != nil {
			return Rebased{}, err
		}
		r.lists[result] = append(r.lists[result], path)
	}
	return r.finish(), nil
}

// CheckRebase fails as Rebase does for everything that prevents a rebase whatever the upstream is: ErrOverlayMissing, ErrBaselineMissing, ErrConfig.
// Of the module only its identifier matters.
func CheckRebase(m deployment.Module, l Layer) error {
	r := rebaser{in: RebaseInput{Module: m, Layer: l}, about: about(m, l)}
	return r.prepare()
}

// outcome is the result for a file; each path of a rebase has one.
type outcome int

const (
	skipped outcome = iota
	updated
	deleted
	conflicted
	outcomes // number of outcomes
)

type rebaser struct {
	in       RebaseInput
	about    subject
	form     form
	entries  map[string]deployment.Entry // of the baseline
	before   map[string]UnresolvedFile   // conflicts recorded in the baseline
	lists    [outcomes][]string
	unsolved []UnresolvedFile
	changes
}

// changes collects the writes of a rebase.
type changes struct {
	files  []FileWrite
	remove []string
}

func (c *changes) put(path string, data []byte, mode fs.FileMode) {
	c.files = append(c.files, FileWrite{path, data, mode})
}

func (c *changes) drop(path string) { c.remove = append(c.remove, path) }

// form is how a kind of layer stores its version of a file.
type form interface {
	// paths returns the files that the layer changes.
	paths() []string
	// has reports whether path is one of them.
	has(path string) bool
	// quick returns the outcome of a file that needs no merge, if it is one.
	quick(f file) (result outcome, done bool, err error)
	// ours returns the layer's text of the file; base is the baseline's.
	ours(f file, base []byte) ([]byte, error)
	// store makes the layer produce text over the lower file onto.
	store(f file, onto, text []byte) (outcome, error)
}

// file is one path of a module while its overlay is rebased.
type file struct {
	path   string
	base   deployment.Entry
	known  bool // there is a base
	theirs deployment.File
	there  bool // upstream has the file
	left   deployment.File
	open   bool // there is a conflict file, in left
}

func (f file) artifact() string { return ConflictsDir + "/" + f.path }

// prepare checks what a rebase needs, in the order of agentpack contract §3.8.
func (r *rebaser) prepare() error {
	l := r.in.Layer
	switch {
	case !l.Exists:
		hint := "create it with overlay edit"
		return r.about.Fault(deployment.ErrOverlayMissing, "the directory does not exist", hint)
	case l.Baseline == nil:
		hint := "run overlay edit; it writes what is missing and does not change existing files"
		return r.about.Fault(deployment.ErrBaselineMissing, "it has no "+BaselineFile, hint).WithDetails(r.about.Details(hint).AddPath("baseline_path", r.about.Native(BaselineFile)))
	}
	if err := r.about.checkKind(); err != nil {
		return err
	}
	r.entries = l.Baseline.entries()
	r.before = make(map[string]UnresolvedFile, len(l.Baseline.Unsolved))
	for _, u := range l.Baseline.Unsolved {
		r.before[u.Path] = u
	}
	if l.Kind == KindPatch {
		r.form = newPatchForm(r)
	} else {
		r.form = &dirForm{r, r.about.overrides()}
	}
	return nil
}

// paths returns the files to examine: those of the layer and those with conflict files, sorted.
func (r *rebaser) paths() []string {
	all := slices.Concat(r.form.paths(), r.about.conflictPaths())
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *rebaser) look(path string) (f file) {
	f.path = path
	f.base, f.known = r.entries[path]
	f.theirs, f.there = r.in.Upstream.Find(path)
	f.left, f.open = r.in.Layer.ConflictFiles.Find(path)
	return f
}

// file decides one file: first what became of an earlier conflict, then whether there is anything to merge.
func (r *rebaser) file(path string) (outcome, error) {
	f := r.look(path)
	if f.open {
		text, err := r.in.Read(f.left.Content)
		if err != nil {
			return 0, err
		}
		mine := f.left.Content.Sum == r.before[path].Artifact // unchanged since a rebase wrote it
		marked := mine
		if !mine {
			if marked, err = leftover(text, f.theirs, f.there, r.in.Read); err != nil {
				return 0, err
			}
		}
		switch {
		case !marked:
			return r.resolve(f, text)
		case !mine || !r.form.has(path): // the user is working on it, or it is the only version
			return r.keep(f), nil
		}
	} else if slices.Contains(r.in.Layer.Conflicts, path) {
		return r.keep(f), nil
	}
	result, done, err := r.form.quick(f)
	if err != nil || done {
		return r.close(f, result), err
	}
	return r.merge(f, nil)
}

// close removes the conflict file of a file without conflicts.
func (r *rebaser) close(f file, result outcome) outcome {
	if !f.open || result == conflicted {
		return result
	}
	r.drop(f.artifact())
	if result == skipped {
		return updated
	}
	return result
}

// keep leaves a conflict unchanged.
func (r *rebaser) keep(f file) outcome {
	u, ok := r.before[f.path]
	if !ok {
		u = UnresolvedFile{Path: f.path, Upstream: r.in.Layer.Baseline.Upstream}
	}
	r.unsolved = append(r.unsolved, u)
	return conflicted
}

// resolve takes over a conflict file without conflicts: as the final text if the conflict was with this upstream, else as the overlay's new text,
// which is merged with the present upstream.
func (r *rebaser) resolve(f file, text []byte) (outcome, error) {
	u, ok := r.before[f.path]
	if f.known && f.there && !(ok && u.Theirs == f.theirs.Content.Sum) {
		return r.merge(f, &text)
	}
	return r.settle(f, text)
}

// settle makes text the overlay's version over upstream.
func (r *rebaser) settle(f file, text []byte) (outcome, error) {
	var theirs []byte
	if f.there {
		var err error
		if theirs, err = r.in.Read(f.theirs.Content); err != nil {
			return 0, err
		}
	}
	result, err := r.form.store(f, theirs, text)
	if result == conflicted {
		return r.keep(f), err
	}
	return r.close(f, result), err
}

// merge merges the overlay's text, or a resolution that replaces it, with upstream.
func (r *rebaser) merge(f file, resolution *[]byte) (outcome, error) {
	sides := MergeSides{Gone: !f.there}
	var err error
	if sides.Base, err = r.base(f); err != nil {
		return 0, err
	}
	if f.there {
		if sides.Theirs, err = r.in.Read(f.theirs.Content); err != nil {
			return 0, err
		}
	}
	if resolution != nil {
		sides.Ours = *resolution
	} else if sides.Ours, err = r.form.ours(f, sides.Base); err != nil {
		return 0, err
	} else if CountMarkers(sides.Ours) > max(CountMarkers(sides.Base), CountMarkers(sides.Theirs)) { // by a tool that writes them into the file itself
		return r.keep(f), nil
	}
	merged, clean, err := sides.Merge(r.in.Merge)
	if err != nil {
		return 0, err
	}
	if clean {
		return r.settle(f, merged)
	}
	if resolution != nil {
		if _, err := r.form.store(f, sides.Base, sides.Ours); err != nil {
			return 0, err
		}
	}
	return r.conflict(f, merged), nil
}

// conflict writes a conflict file, unless it exists already.
func (r *rebaser) conflict(f file, text []byte) outcome {
	sum := deployment.SumOf(text)
	if !f.open || f.left.Content.Sum != sum {
		r.put(f.artifact(), text, deployment.PlainMode)
	}
	r.unsolved = append(r.unsolved, UnresolvedFile{
		Path: f.path, Upstream: r.in.Layer.Baseline.OriginOf(f.path), Theirs: f.theirs.Content.Sum, Artifact: sum,
	})
	return conflicted
}

// base returns the baseline's bytes of a file, checked against the baseline (agentpack contract §3.8).
func (r *rebaser) base(f file) ([]byte, error) {
	data, found, err := r.in.Base(f.path)
	if err != nil {
		return nil, err
	}
	if sum := deployment.SumOf(data); !found || sum != f.base.Sum {
		problem, hint := "the file "+f.path+" of its baseline was not found", "commit the config repository before you create or rebase an overlay; to start again, remove "+BaselineFile+" and run overlay edit"
		details := r.about.Details(hint).Add("path", f.path).Add("expected_sha256", f.base.Sum.String())
		if found {
			problem = "the file " + f.path + " does not match its baseline"
			details.Add("base_sha256", sum.String())
		}
		return nil, r.about.Fault(deployment.ErrBaseline, problem, hint).WithDetails(details)
	}
	return data, nil
}

func (r *rebaser) finish() Rebased {
	out := Rebased{Files: r.files, Remove: r.remove}
	slices.SortFunc(out.Files, func(a, b FileWrite) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(out.Remove)
	list := func(o outcome) []string { return append([]string{}, r.lists[o]...) }
	out.Report = RebaseReport{Updated: list(updated), Deleted: list(deleted), Skipped: list(skipped), Conflicts: list(conflicted)}
	rep := &out.Report
	rep.Summary = RebaseSummary{Updated: len(rep.Updated), Deleted: len(rep.Deleted), Skipped: len(rep.Skipped), Conflicts: len(rep.Conflicts)}
	rep.Summary.Processed = rep.Summary.Updated + rep.Summary.Deleted + rep.Summary.Skipped + rep.Summary.Conflicts
	next := NewBaseline(r.in.Upstream, r.in.Origin, r.in.Now).kept(r.unsolved, r.entries)
	if !next.says(r.in.Layer.Baseline) {
		out.Baseline = next
	}
	return out
}
