package planner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// mergeParts merges the wanted parts into the present files, and removes those that are owned and no longer wanted. If errors are to be collected, a
// file that cannot be merged with is added to o.Unread.
func (p Planner) mergeParts(ctx context.Context, w deployment.Wanted, o deployment.Observed) ([]deployment.Desired, error) {
	owned, whole := map[[2]string]deployment.Owned{}, map[[2]string]deployment.Sum{}
	for have := range o.Entries() {
		switch {
		case have.Owner != w.Owner || have.Repo != w.Owner.Repo(w.Repo) || !w.Has(*have):
		case have.Part == nil:
			whole[[2]string{have.Target, have.Path}] = have.Sum
		default:
			owned[[2]string{have.Target, have.Path}] = *have
		}
	}
	if len(owned) == 0 && !anyPart(w.Files) {
		return w.Files, nil
	}
	files, theirs, docs := slices.Clone(w.Files), o.OthersByPath(), documents{}
	for i := range files {
		key := [2]string{files[i].Target, files[i].Path}
		have, managed := owned[key]
		delete(owned, key)
		if have.Known() == nil {
			have, managed = deployment.Owned{}, false
		}
		if files[i].Part == nil {
			continue
		}
		files[i].Part = withLabel(*files[i].Part, have.Part, o, files[i].Path, w.Repo)
		kept := slices.Concat(others(files[i].Target, files[i].Path, w, o), keysOf(theirs[files[i].Path]))
		if err := p.merge(ctx, docs, ownedPart{have, managed, w.Binding.Home, kept, theirs, whole[key]}, &files[i]); err != nil && !passedOver(ctx, o, files[i].Path, err) {
			return nil, err
		}
	}
	for _, have := range leaving(owned, w, o) {
		d := deployment.Desired{Target: have.Target, Root: have.Root, Path: have.Path, Mode: have.Mode, Modules: have.Modules, Part: &deployment.Part{Format: have.Part.Format, Label: have.Part.Label}}
		kept := slices.Concat(others(have.Target, have.Path, w, o), keysOf(theirs[have.Path]))
		if err := p.merge(ctx, docs, ownedPart{have, true, w.Binding.Home, kept, theirs, deployment.Sum{}}, &d); err == nil {
			files = append(files, d)
		} else if !passedOver(ctx, o, d.Path, err) {
			return nil, err
		}
	}
	for i := range files { // a file with parts of several targets gets all of their parts
		d := &files[i]
		if at := docs[d.Path]; d.Part != nil && at.times > 1 && d.Part.Format != deployment.FormatMarkdown {
			d.Merge.Remove = d.Merge.Ours.IsZero() && at.found && at.created && empty(at.text)
			if !d.Content.Sum.IsZero() {
				d.Content = deployment.ContentOf(at.text)
			}
		}
	}
	return files, nil
}

// withLabel returns a part in the form for its file: a block has the label that it was deployed with, or a new one if another config repository
// already has a block.
func withLabel(part deployment.Part, have *deployment.Part, o deployment.Observed, path, repo string) *deployment.Part {
	switch {
	case part.Format != deployment.FormatMarkdown:
	case have != nil:
		part.Label = have.Label
	case slices.ContainsFunc(o.Others, func(f deployment.Owned) bool {
		return f.Path == path && f.Part != nil && f.Part.Format == deployment.FormatMarkdown
	}):
		part.Label = deployment.BlockLabel(repo)
	}
	return &part
}

// documents are the documents that parts were merged into, by path.
type documents map[string]document

type document struct {
	disk    []byte // as it is
	text    []byte // as it is to be
	found   bool
	created bool // a deployment made it
	times   int  // how many parts were merged into it
}

// others returns the keys that other targets have, or are to have, in the same document: they are not removed when this target releases them.
func others(target, path string, w deployment.Wanted, o deployment.Observed) (keys []deployment.Key) {
	wanted := map[string]bool{}
	for i := range w.Files {
		if f := &w.Files[i]; f.Path == path && f.Target != target && f.Part != nil {
			keys, wanted[f.Target] = append(keys, f.Part.Keys...), true
		}
	}
	for have := range o.Entries() {
		if have.Path == path && have.Target != target && have.Part != nil && !wanted[have.Target] && !slices.Contains(w.Targets, have.Target) {
			keys = append(keys, have.Part.Keys...)
		}
	}
	return keys
}

// passedOver reports whether to continue after an error with one file, and records it then.
func passedOver(ctx context.Context, o deployment.Observed, path string, err error) bool {
	if o.Unread == nil || ctx.Err() != nil {
		return false
	}
	if o.Unread[path] == nil {
		o.Unread[path] = err
	}
	return true
}

func anyPart(files []deployment.Desired) bool {
	for i := range files { // in place: there are thousands
		if files[i].Part != nil {
			return true
		}
	}
	return false
}

// leaving returns the parts to remove, sorted: those that are no longer wanted, in files that no other target has too, or with keys that none has.
func leaving(owned map[[2]string]deployment.Owned, w deployment.Wanted, o deployment.Observed) []deployment.Owned {
	if len(owned) == 0 {
		return nil
	}
	held := map[string]int{} // number of targets; what another one has stays when this one releases it
	for have := range o.Entries() {
		held[have.Path]++
	}
	for i := range o.Others {
		if other := &o.Others[i]; other.Part == nil {
			held[other.Path]++
		}
	}
	for _, have := range owned {
		held[have.Path]-- // a target that releases it in this very plan does not hold it
	}
	gone := make([]deployment.Owned, 0, len(owned))
	for _, have := range owned {
		if have.Known() == nil {
			continue // no recorded operation put it there
		}
		wanted := slices.ContainsFunc(w.Files, func(d deployment.Desired) bool { return d.Path == have.Path })
		if !wanted && held[have.Path] == 0 || alone(have, w, o) {
			gone = append(gone, have)
		}
	}
	slices.SortFunc(gone, func(a, b deployment.Owned) int {
		return strings.Compare(a.Target+"\x00"+a.Path, b.Target+"\x00"+b.Path)
	})
	return gone
}

// alone reports whether an owned part has keys that no other target has in the same document.
func alone(have deployment.Owned, w deployment.Wanted, o deployment.Observed) bool {
	if have.Part.Format == deployment.FormatMarkdown {
		return false
	}
	kept := others(have.Target, have.Path, w, o)
	return slices.ContainsFunc(have.Part.Keys, func(k deployment.Key) bool { return !slices.ContainsFunc(kept, k.Same) })
}

// merge computes the content of a file with d's part instead of the owned one.
func (p Planner) merge(ctx context.Context, docs documents, have ownedPart, d *deployment.Desired) error {
	at, known := docs[d.Path]
	if !known {
		var err error
		if at.disk, at.found, err = p.Machine.Read(ctx, d.Path); err != nil {
			return err
		}
		at.text = at.disk
	}
	var merged []byte
	var err error
	if d.Part.Format == deployment.FormatMarkdown {
		doc := at.disk
		if !have.whole.IsZero() && deployment.SumOf(doc) == have.whole { // all of it is managed, and becomes the block
			doc = nil
		}
		merged, err = mergeBlock(d, doc)
	} else {
		merged, err = p.mergeKeys(ctx, d, at, have)
	}
	if err != nil {
		return about(err, d.Path)
	}
	at.text, at.times, at.created = merged, at.times+1, at.created || have.Created
	docs[d.Path] = at
	taken := !have.Over.IsZero() && have.Sure() != nil && deployment.SumOf(merged) == have.Over // the rest is what was deployed, and not the user's own work
	d.Merge.Remove = d.Merge.Ours.IsZero() && at.found && (at.created && empty(merged) || taken)
	if at.found || !d.Merge.Ours.IsZero() {
		d.Content = deployment.ContentOf(merged)
	}
	return nil
}

// empty reports a document in which nothing is left.
func empty(doc []byte) bool {
	switch strings.Join(strings.Fields(string(doc)), "") {
	case "", "{}":
		return true
	}
	return false
}

// about names the file in an error about its content.
func about(err error, path string) error {
	return deployment.ErrConfig.WithMessage("%s: %s", path, messageOf(err)).
		WithDetails(deployment.ReasonDetails("document_not_editable", "fix_document", "retry_command").AddPath("path", path)).WithCause(err)
}

func mergeBlock(d *deployment.Desired, doc []byte) ([]byte, error) {
	text := string(doc)
	now, there, err := deployment.FindBlockOf(d.Part.Label, text)
	if err != nil {
		return nil, err
	}
	if there {
		d.Merge.Now = deployment.SumOf([]byte(now))
	}
	if d.Part.Block == "" {
		text, _, err = deployment.CutBlockOf(d.Part.Label, text)
		return []byte(text), err
	}
	text, err = deployment.PutBlockOf(d.Part.Label, text, d.Part.Block)
	if err != nil {
		return nil, err
	}
	put, _, err := deployment.FindBlockOf(d.Part.Label, text)
	d.Merge.Ours = deployment.SumOf([]byte(put))
	return []byte(text), err
}

// ownedPart is a manifest's entry for a document that is managed in part.
type ownedPart struct {
	deployment.Owned
	managed bool
	home    string
	others  []deployment.Key // of other targets and other config repositories in the same document
	theirs  deployment.Others
	whole   deployment.Sum // of the file as it was deployed before only a part of it was wanted; zero where it was not
}

// keysOf returns the keys of entries.
func keysOf(entries []*deployment.Owned) (keys []deployment.Key) {
	for _, f := range entries {
		if f.Part != nil {
			keys = append(keys, f.Part.Keys...)
		}
	}
	return keys
}

// sumLeft computes the sums over what a plan leaves to other config repositories of documents in which it takes keys over: over the deployed values,
// so that edits stay edits.
func (p Planner) sumLeft(ctx context.Context, home string, plan *deployment.Plan) error {
	for i := range plan.Taken {
		left := plan.Taken[i].Left
		if left == nil {
			continue
		}
		doc, err := p.deployedDocument(ctx, home, left.Part.Format, left)
		if err == nil {
			left.PartSum, err = p.valuesSum(left.Part.Format, doc, left.Part.Keys)
		}
		if err != nil {
			return about(err, left.Path)
		}
	}
	return nil
}

func (p Planner) mergeKeys(ctx context.Context, d *deployment.Desired, at document, have ownedPart) ([]byte, error) {
	format, looked := d.Part.Format, d.Part.Keys
	managed := have.managed
	if managed {
		looked = have.Part.Keys
	}
	var err error
	if !managed {
		if looked, err = p.overwritten(format, at.disk, looked); err != nil {
			return nil, err
		}
	}
	if d.Merge.Now, err = p.valuesSum(format, at.disk, looked); err != nil {
		return nil, err
	}
	merged := at.text
	if managed {
		dropped := slices.DeleteFunc(slices.Clone(have.Part.Keys), func(k deployment.Key) bool { // what another owner still has stays
			return slices.ContainsFunc(d.Part.Keys, k.Same) || slices.ContainsFunc(have.others, k.Same)
		})
		if len(dropped) > 0 {
			if merged, err = p.takeOut(ctx, d, merged, dropped, have); err != nil {
				return nil, err
			}
		}
	}
	if len(d.Part.Keys) == 0 {
		return merged, nil
	}
	if managed {
		if d.Merge.Theirs, err = p.wouldReplace(d, at.disk, have); err != nil {
			return nil, err
		}
	}
	base := merged
	if at.times > 0 { // what another target's part makes in this plan, this one made too
		base = at.disk
	}
	if d.Merge.Made, err = p.Documents.Made(format, base, d.Part.Keys); err != nil {
		return nil, err
	}
	if merged, err = p.Documents.Set(format, merged, d.Part.Keys); err != nil {
		return nil, err
	}
	d.Merge.Ours, err = p.valuesSum(format, merged, d.Part.Keys)
	return merged, err
}

// wouldReplace reports whether d has keys that were never deployed and that the document has with other values: those are the user's own, except what
// another config repository deployed.
func (p Planner) wouldReplace(d *deployment.Desired, doc []byte, have ownedPart) (bool, error) {
	added := slices.DeleteFunc(slices.Clone(d.Part.Keys), func(k deployment.Key) bool {
		return slices.ContainsFunc(have.Part.Keys, k.Same) || have.theirs.HasKey(d.Path, k, &have.Owned) != ""
	})
	if len(added) == 0 {
		return false, nil
	}
	there, err := p.Documents.Values(d.Part.Format, doc, added)
	if err != nil || len(there) == 0 {
		return false, err
	}
	as, err := p.Documents.Set(d.Part.Format, nil, added)
	if err != nil {
		return false, err
	}
	wanted, err := p.Documents.Values(d.Part.Format, as, added)
	for i, value := range there {
		if !bytes.Equal(value, wanted[i]) {
			return true, err
		}
	}
	return false, err
}

// overwritten returns the keys of a document that overwrite something: all of them if all exist; else without those that equal the present value, or
// are values of lists.
func (p Planner) overwritten(f deployment.Format, doc []byte, keys []deployment.Key) (out []deployment.Key, err error) {
	values, err := p.Documents.Values(f, doc, keys)
	if err != nil || len(values) == len(keys) {
		return keys, err
	}
	for i, k := range keys {
		if value, there := values[i]; there && !k.Item && !bytes.Equal(value, k.Value) {
			out = append(out, k)
		}
	}
	return out, nil
}

// takeOut removes keys from a document. A key that the user had a value for before a deployment first wrote there gets that value back; if nothing
// but managed keys ever changed, the document gets its original bytes.
func (p Planner) takeOut(ctx context.Context, d *deployment.Desired, doc []byte, dropped []deployment.Key, have ownedPart) ([]byte, error) {
	format := d.Part.Format
	original, claimed, err := p.original(ctx, have.home, have.Path)
	if err != nil {
		return nil, err
	}
	if again, err := p.Documents.Set(format, original, have.Part.Keys); err == nil && len(original) > 0 && len(d.Part.Keys) == 0 && bytes.Equal(again, doc) {
		d.Merge.Claimed = d.Merge.Claimed || claimed
		return original, nil
	}
	if len(original) > 0 && len(d.Part.Keys) == 0 { // values that were edited since may be written otherwise; what is around them decides
		rest, errRest := p.Documents.Remove(format, doc, have.Part.Keys, have.Made)
		was, errWas := p.Documents.Remove(format, original, have.Part.Keys, nil)
		if errRest == nil && errWas == nil && bytes.Equal(rest, was) {
			d.Merge.Claimed = d.Merge.Claimed || claimed
			return original, nil
		}
	}
	had, err := p.Documents.Values(format, original, dropped)
	if err != nil {
		had = nil // what the document was is no document: then nothing of it can be put back by keys
	}
	var back, gone []deployment.Key
	for i, k := range dropped {
		if value, ok := had[i]; ok {
			back = append(back, deployment.Key{Path: k.Path, Value: value, Item: k.Item})
		} else {
			gone = append(gone, k)
		}
	}
	if len(gone) > 0 {
		if doc, err = p.Documents.Remove(format, doc, gone, have.Made); err != nil {
			return nil, err
		}
	}
	if len(back) == 0 {
		return doc, nil
	}
	d.Merge.Claimed = d.Merge.Claimed || claimed
	return p.Documents.Set(format, doc, back)
}

// original returns what a document was before a deployment first wrote there; empty if there was none. claimed says that no recorded operation wrote
// that down.
func (p Planner) original(ctx context.Context, home, path string) (doc []byte, claimed bool, err error) {
	all, err := p.Snapshots.Originals(ctx, home)
	if err != nil {
		return nil, false, err
	}
	for _, o := range all {
		if o.Path == path && o.Settled == "" && o.Kind == deployment.Regular {
			doc, err := p.Snapshots.Blob(ctx, home, o.Sum)
			return doc, o.Unproven, err
		}
	}
	return nil, false, nil
}

// valuesSum returns the sum over the keys that are there, with their values; zero when none is.
func (p Planner) valuesSum(f deployment.Format, doc []byte, keys []deployment.Key) (deployment.Sum, error) {
	values, err := p.Documents.Values(f, doc, keys)
	if err != nil || len(values) == 0 {
		return deployment.Sum{}, err
	}
	type pair struct {
		Path  []string        `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	pairs := make([]pair, 0, len(values))
	for i, k := range keys {
		if v, ok := values[i]; ok {
			pairs = append(pairs, pair{k.Path, v})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(slices.Compare(a.Path, b.Path), bytes.Compare(a.Value, b.Value)) })
	text, err := json.Marshal(pairs)
	if canonical, canonErr := canon.Canonical(text); canonErr == nil {
		text = canonical // numbers with a fraction have no canonical form and stay as written
	}
	return deployment.SumOf(text), err
}

func messageOf(err error) string { return fault.From(err).Message }
