package planner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/overlay"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

// MergedEdits is a file with the edits made here on top of the present config repository: a three-way merge whose base is what was deployed last.
type MergedEdits struct {
	Text    []byte         // of the whole file, or of the managed block; conflicts have the config repository's version
	Open    []OpenConflict // what could not be merged
	Outside bool           // text outside of any module was edited; it is not in Text
	Unknown bool           // the deployed content is not stored, so the edit is unknown; Text is nil
	theirs  []byte         // the config repository's version
}

// OpenConflict is an edit that conflicts with the config repository.
type OpenConflict struct {
	Module string // empty if the file as a whole could not be merged
	Gone   bool   // the module is no longer part of the file
	Marks  string // what is wrong with the marks between the modules of the file, so that the edit cannot be assigned to one; empty for nothing
}

// IsTaken reports whether the config repository already has all of the edits.
func (m MergedEdits) IsTaken() bool {
	return !m.Unknown && !m.Outside && len(m.Open) == 0 && bytes.Equal(m.Text, m.theirs)
}

// versions are the three versions of a file, or of its managed block.
type versions struct{ base, ours, theirs []byte }

// mayBeTaken reports whether the config repository has every line that was added here: if not, no merge can equal its version, and git need not run.
func (v versions) mayBeTaken() bool {
	had, has := map[string]int{}, map[string]bool{}
	each := func(text []byte, do func(line string)) {
		for line := range bytes.Lines(text) {
			do(string(bytes.TrimRight(line, "\r\n")))
		}
	}
	each(v.base, func(line string) { had[line]++ })
	each(v.theirs, func(line string) { has[line] = true })
	all := true
	each(v.ours, func(line string) {
		if had[line]--; had[line] < 0 && !has[line] {
			all = false
		}
	})
	return all
}

// MergeEdits merges one file that was edited here. Files with single managed keys are for MergeKeys.
func (p Planner) MergeEdits(ctx context.Context, home string, d *deployment.Desired, have *deployment.Owned) (MergedEdits, error) {
	v, known, err := p.versions(ctx, home, d, have)
	if err != nil || !known {
		return MergedEdits{Unknown: true}, err
	}
	if len(d.Modules) > 1 || len(have.Modules) > 1 {
		if m, sectioned, err := p.mergeSections(ctx, v, have.Modules, d.Modules); err != nil || sectioned {
			return m, err
		}
	}
	text, clean, err := overlay.MergeSides{Base: v.base, Ours: v.ours, Theirs: v.theirs}.Merge(p.mergeLines(ctx))
	m := MergedEdits{Text: text, theirs: v.theirs}
	if !clean {
		m.Text, m.Open = v.theirs, []OpenConflict{{}}
	}
	return m, err
}

// mergeLines merges with git, and treats conflicts as resolved that the user has resolved in the file itself.
func (p Planner) mergeLines(ctx context.Context) overlay.MergeFunc {
	return func(base, ours, theirs []byte) ([]byte, int, error) {
		merged, err := p.Merger.Merge(ctx, base, ours, theirs)
		if err != nil || merged.Conflicts == 0 {
			return merged.Text, 0, err
		}
		text, left := overlay.TakeOurs(merged.Text)
		return text, left, nil
	}
}

// versions reads the three versions; known is false if the base is not stored.
func (p Planner) versions(ctx context.Context, home string, d *deployment.Desired, have *deployment.Owned) (v versions, known bool, err error) {
	if have == nil || (have.Part == nil) != (d.Part == nil) {
		return v, false, nil
	}
	if v.ours, _, err = p.Machine.Read(ctx, d.Path); err != nil {
		return v, false, err
	}
	if d.Part != nil {
		ours, _, err := deployment.FindBlockOf(d.Part.Label, string(v.ours))
		if err != nil {
			return v, false, about(err, d.Path)
		}
		v.ours = []byte(ours)
		if v.base, err = blockOf(have.Part.Block); err != nil {
			return v, false, nil
		}
		if v.theirs, err = blockOf(d.Part.Block); err != nil {
			return v, false, about(err, d.Path)
		}
		return v, deployment.SumOf(v.base) == have.PartSum, nil
	}
	if v.theirs, err = p.Sources.Content(ctx, d.Content); err != nil {
		return v, false, err
	}
	if have.Sum == d.Content.Sum {
		v.base = v.theirs
		return v, true, nil
	}
	v.base, err = p.Snapshots.Blob(ctx, home, have.Sum)
	if errors.Is(err, deployment.ErrSnapshotDamaged) {
		return v, false, nil
	}
	return v, err == nil, err
}

// blockOf returns a managed block as it stands in a file.
func blockOf(block string) ([]byte, error) {
	text, err := deployment.PutBlock("", block)
	if err != nil {
		return nil, err
	}
	put, _, err := deployment.FindBlock(text)
	return []byte(put), err
}

// mergeSections merges a file of several modules module by module, so that an added or removed module does not conflict with another one's text.
// sectioned is false if the file has no sections.
func (p Planner) mergeSections(ctx context.Context, v versions, were, are []string) (m MergedEdits, sectioned bool, err error) {
	base, ok := sectionsOf(v.base, were)
	theirs, also := sectionsOf(v.theirs, are)
	if !ok || !also {
		return m, false, nil
	}
	m = MergedEdits{Text: v.theirs, theirs: v.theirs}
	in := were
	ours, ok := sectionsOf(v.ours, were)
	if !ok {
		in = are
		if ours, ok = sectionsOf(v.ours, are); !ok {
			m.Open = []OpenConflict{{Marks: wrongMarks(v.ours, are)}}
			return m, true, nil
		}
	}
	m.Outside = len(in) > 1 && strings.TrimSuffix(string(v.ours), "\n") != strings.TrimSuffix(joined(ours, in), "\n")
	for _, id := range were {
		if _, wanted := theirs[id]; !wanted && ours[id] != base[id] && slices.Contains(in, id) {
			m.Open = append(m.Open, OpenConflict{Module: id, Gone: true})
		}
	}
	changed := false
	for _, id := range are {
		was, deployed := base[id]
		if !deployed {
			continue
		}
		text, clean, err := overlay.MergeSides{Base: []byte(was), Ours: []byte(ours[id]), Theirs: []byte(theirs[id])}.Merge(p.mergeLines(ctx))
		switch {
		case err != nil:
			return m, true, err
		case !clean:
			m.Open = append(m.Open, OpenConflict{Module: id})
		case string(text) != theirs[id]:
			theirs[id], changed = string(text), true
		}
	}
	switch {
	case !changed:
	case len(are) == 1:
		m.Text = target.TrimAddedNewline(v.theirs, []byte(theirs[are[0]]))
	default:
		m.Text = []byte(joined(theirs, are))
	}
	return m, true, nil
}

func joined(sections map[string]string, ids []string) string {
	list := make([]deployment.Section, len(ids))
	for i, id := range ids {
		list[i] = deployment.Section{ID: id, Text: sections[id]}
	}
	return deployment.JoinSections(list)
}

// sectionsOf returns the sections of a text by module, each with a final newline; a single module has the whole text.
func sectionsOf(text []byte, ids []string) (map[string]string, bool) {
	out := map[string]string{}
	if len(ids) == 1 {
		whole := string(text)
		if !strings.HasSuffix(whole, "\n") && whole != "" {
			whole += "\n"
		}
		out[ids[0]] = whole
		return out, !deployment.HasSectionMarks(whole)
	}
	parsed, err := deployment.ParseSections(string(text))
	if err != nil || len(parsed) != len(ids) {
		return nil, false
	}
	for _, s := range parsed {
		out[s.ID] = s.Text
	}
	return out, !slices.ContainsFunc(ids, func(id string) bool { _, ok := out[id]; return !ok })
}

// wrongMarks returns why a text does not have the sections of these modules.
func wrongMarks(text []byte, ids []string) string {
	parsed, err := deployment.ParseSections(string(text))
	if err != nil {
		return fault.From(err).Message
	}
	for _, id := range ids {
		if len(ids) > 1 && !slices.ContainsFunc(parsed, func(s deployment.Section) bool { return s.ID == id }) {
			return "there is no section of " + id
		}
	}
	return "there are marks of a module that is not in the file"
}

// MergeAll is MergeEdits for many files at once. Each result has its own error.
func (p Planner) MergeAll(ctx context.Context, home string, files []*deployment.Desired, have []*deployment.Owned) ([]MergedEdits, []error) {
	merged, wrong := make([]MergedEdits, len(files)), make([]error, len(files))
	if kept, done, err := p.Snapshots.Open(ctx, home); err == nil {
		defer done()
		p.Snapshots = kept
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, d := range files {
		group.Go(func() error {
			merged[i], wrong[i] = p.MergeEdits(inner, home, d, have[i])
			return nil
		})
	}
	_ = group.Wait() // it never fails
	return merged, wrong
}

// KeyEdit is one managed key of a document to which the user gave another value than was deployed.
type KeyEdit struct {
	Key   deployment.Key // as in the config repository, or as deployed if that no longer has it
	State deployment.FileState
	Value json.RawMessage // with the edit on top of the config repository's present value; nil if they conflict
	Taken bool            // writing the config repository's value takes nothing from the user: it is the same already, or the key is new
}

// MergeKeys compares the managed keys of a document one by one, and merges those that were edited here.
func (p Planner) MergeKeys(ctx context.Context, home string, d *deployment.Desired, have *deployment.Owned) ([]KeyEdit, error) {
	doc, _, err := p.Machine.Read(ctx, d.Path)
	if err != nil {
		return nil, err
	}
	base, err := p.deployedKeys(ctx, home, d.Part.Format, have)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(d.Part.Keys)
	if have != nil && have.Part != nil {
		for _, k := range have.Part.Keys {
			if !slices.ContainsFunc(all, k.Same) {
				all = append(all, k)
			}
		}
	}
	disk, err := p.keyVersions(d.Part.Format, doc, all)
	if err != nil {
		return nil, about(err, d.Path)
	}
	wanted, err := p.keyVersions(d.Part.Format, d.Content.Data, d.Part.Keys)
	if err != nil {
		return nil, about(err, d.Path)
	}
	var out []KeyEdit
	for _, k := range all {
		at := keyName(k)
		was, is, want := base[at], disk[at], wanted[at]
		e := KeyEdit{Key: k, State: deployment.CompareVersions(valueVersion(was), valueVersion(is), valueVersion(want))}
		switch e.State {
		case deployment.StateEditedHere:
			e.Value = is
		case deployment.StateNotDeployed:
			e.Taken = is == nil // nobody here has it
		case deployment.StateConflict:
			if e.Value, err = p.mergeValues(ctx, was, is, want); err != nil {
				return nil, err
			}
			e.Taken = e.Value != nil && bytes.Equal(e.Value, want)
		}
		out = append(out, e)
	}
	return out, nil
}

// deployedKeys returns the deployed values, from the manifest or the stored document.
func (p Planner) deployedKeys(ctx context.Context, home string, f deployment.Format, have *deployment.Owned) (map[string]json.RawMessage, error) {
	if have == nil || have.Part == nil {
		return nil, nil
	}
	doc, err := p.deployedDocument(ctx, home, f, have)
	if err != nil {
		return nil, err
	}
	return p.keyVersions(f, doc, have.Part.Keys)
}

// deployedDocument returns a document with the deployed values; without any if they are not stored.
func (p Planner) deployedDocument(ctx context.Context, home string, f deployment.Format, have *deployment.Owned) ([]byte, error) {
	if !slices.ContainsFunc(have.Part.Keys, func(k deployment.Key) bool { return len(k.Value) == 0 }) {
		return p.Documents.Set(f, nil, have.Part.Keys)
	}
	doc, err := p.Snapshots.Blob(ctx, home, have.Sum)
	if errors.Is(err, deployment.ErrSnapshotDamaged) {
		return nil, nil
	}
	return doc, err
}

// keyVersions returns the canonical values of keys by their names.
func (p Planner) keyVersions(f deployment.Format, doc []byte, keys []deployment.Key) (map[string]json.RawMessage, error) {
	values, err := p.Documents.Values(f, doc, keys)
	if err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(values))
	for i, v := range values {
		out[keyName(keys[i])] = v
	}
	return out, nil
}

// keyName returns the identity of a key: its path, and for a value of a list also that value, because several of them share a path.
func keyName(k deployment.Key) string {
	name := strings.Join(k.Path, "\x00")
	if k.Item {
		name += "\x00\x00" + string(k.Value)
	}
	return name
}

func valueVersion(v json.RawMessage) deployment.FileVersion {
	if v == nil {
		return deployment.FileVersion{}
	}
	return deployment.FileVersion{There: true, Sum: deployment.SumOf(v)}
}

// mergeValues merges three JSON values as lines: nil if they conflict, or if the result is not JSON.
func (p Planner) mergeValues(ctx context.Context, base, ours, theirs json.RawMessage) (json.RawMessage, error) {
	lines := func(v json.RawMessage) []byte {
		var out bytes.Buffer
		if v == nil || json.Indent(&out, v, "", "  ") != nil {
			return nil
		}
		out.WriteByte('\n')
		return out.Bytes()
	}
	if base == nil || theirs == nil {
		return nil, nil
	}
	text, clean, err := overlay.MergeSides{Base: lines(base), Ours: lines(ours), Theirs: lines(theirs)}.Merge(p.mergeLines(ctx))
	var merged bytes.Buffer
	if err != nil || !clean || json.Compact(&merged, text) != nil {
		return nil, err
	}
	return merged.Bytes(), nil
}

// Entries returns the entries of an owner in the ownership records that were read, by target and path: those that recorded operations wrote, because
// reports about edits are passed on.
func (r Result) Entries(owner deployment.Owner) map[[2]string]*deployment.Owned {
	out := map[[2]string]*deployment.Owned{}
	for have := range r.Observed.Entries() {
		if have.Owner == owner && have.Sure() != nil {
			out[[2]string{have.Target, have.Path}] = have
		}
	}
	return out
}

// findTaken marks the files whose edits the config repository already has: they are written like unedited ones. It reports whether there are any.
// What cannot be merged stays guarded.
func (p Planner) findTaken(ctx context.Context, home string, r *Result) bool {
	if !slices.ContainsFunc(r.Plan.Changes, func(c deployment.Change) bool { return c.State == deployment.StateConflict }) {
		return false // almost all
	}
	conflicts, entries := map[[2]string]bool{}, r.Entries(r.Plan.Owner)
	for _, c := range r.Plan.Changes {
		if c.State == deployment.StateConflict && c.Op == deployment.OpUpdate && c.Before.Kind == deployment.Regular {
			if have := entries[[2]string{c.Target, c.Path}]; have != nil && have.Part == nil && have.IsModeEdited(c.Before) {
				continue // not in the config repository
			}
			conflicts[[2]string{c.Target, c.Path}] = true
		}
	}
	if len(conflicts) == 0 {
		return false
	}
	if kept, done, err := p.Snapshots.Open(ctx, home); err == nil {
		defer done()
		p.Snapshots = kept
	}
	taken := make([]bool, len(r.Files))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range r.Files {
		if at := [2]string{r.Files[i].Target, r.Files[i].Path}; conflicts[at] {
			group.Go(func() error {
				taken[i] = p.isTaken(inner, home, &r.Files[i], entries[at])
				return nil
			})
		}
	}
	_ = group.Wait() // failures stay guarded
	if !slices.Contains(taken, true) {
		return false
	}
	r.Files = slices.Clone(r.Files)
	for i := range r.Files {
		r.Files[i].Taken = taken[i]
	}
	return true
}

func (p Planner) isTaken(ctx context.Context, home string, d *deployment.Desired, have *deployment.Owned) bool {
	if d.Part == nil || d.Part.Format == deployment.FormatMarkdown {
		if d.Part == nil && have != nil && len(d.Modules) <= 1 && len(have.Modules) <= 1 {
			if v, known, err := p.versions(ctx, home, d, have); err != nil || !known || !v.mayBeTaken() {
				return false
			}
		}
		m, err := p.MergeEdits(ctx, home, d, have)
		return err == nil && m.IsTaken()
	}
	keys, err := p.MergeKeys(ctx, home, d, have)
	return err == nil && !slices.ContainsFunc(keys, func(k KeyEdit) bool {
		return k.State.IsEdited() && !k.Taken || k.State == deployment.StateNotDeployed && !k.Taken || k.State == deployment.StateMissing
	})
}
