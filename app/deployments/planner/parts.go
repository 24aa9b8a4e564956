package planner

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sorting"
)

// mergeParts puts the wanted parts into the files that are there, and takes out those that are owned and no longer wanted. Where the look
// was to go on, so does this: a file that cannot be merged with is told in o.Unread.
func (p Planner) mergeParts(ctx context.Context, w deployment.Wanted, o deployment.Observed) ([]deployment.Desired, error) {
	owned := map[[2]string]deployment.Owned{}
	for have := range o.Entries() {
		if have.Part != nil && have.Owner == w.Owner && have.Repo == w.Owner.Repo(w.Repo) && w.Has(*have) {
			owned[[2]string{have.Target, have.Path}] = *have
		}
	}
	if len(owned) == 0 && !anyPart(w.Files) {
		return w.Files, nil
	}
	files, theirs := slices.Clone(w.Files), partsOfOthers(o)
	for i := range files {
		key := [2]string{files[i].Target, files[i].Path}
		have, managed := owned[key]
		delete(owned, key)
		if files[i].Part == nil {
			continue
		}
		files[i].Part = withLabel(*files[i].Part, have.Part, o, files[i].Path, w.Repo)
		if err := p.merge(ctx, &files[i], ownedPart{have, managed, w.Binding.Home, theirs[files[i].Path]}); err != nil && !passedOver(ctx, o, files[i].Path, err) {
			return nil, err
		}
	}
	for _, have := range leaving(owned, w, o) {
		d := deployment.Desired{Target: have.Target, Root: have.Root, Path: have.Path, Mode: have.Mode, Modules: have.Modules, Part: &deployment.Part{Format: have.Part.Format, Label: have.Part.Label}}
		if err := p.merge(ctx, &d, ownedPart{have, true, w.Binding.Home, theirs[d.Path]}); err == nil {
			files = append(files, d)
		} else if !passedOver(ctx, o, d.Path, err) {
			return nil, err
		}
	}
	return files, nil
}

// withLabel is a part as it goes into its file: a block has the label that it was deployed with, or a new one where another config repository has a
// block already.
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

// passedOver reports whether to go on after an error with one file, and keeps it then.
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

// leaving are the parts to take out, sorted: those that nothing wants any more, in files that no other target has too.
func leaving(owned map[[2]string]deployment.Owned, w deployment.Wanted, o deployment.Observed) []deployment.Owned {
	if len(owned) == 0 {
		return nil
	}
	held := map[string]int{} // by how many targets; what another one has stays when this one lets go
	for have := range o.Entries() {
		held[have.Path]++
	}
	for i := range o.Others {
		if other := &o.Others[i]; other.Part == nil {
			held[other.Path]++
		}
	}
	for _, have := range owned {
		held[have.Path]-- // who lets go of it in this very plan does not hold it
	}
	gone := make([]deployment.Owned, 0, len(owned))
	for _, have := range owned {
		wanted := slices.ContainsFunc(w.Files, func(d deployment.Desired) bool { return d.Path == have.Path })
		if !wanted && held[have.Path] == 0 {
			gone = append(gone, have)
		}
	}
	sorting.By(gone, func(a, b deployment.Owned) int {
		return strings.Compare(a.Target+"\x00"+a.Path, b.Target+"\x00"+b.Path)
	})
	return gone
}

// merge works out what a file holds with d's part in it instead of the owned one.
func (p Planner) merge(ctx context.Context, d *deployment.Desired, have ownedPart) error {
	doc, found, err := p.Machine.Read(ctx, d.Path)
	if err != nil {
		return err
	}
	var merged []byte
	if d.Part.Format == deployment.FormatMarkdown {
		merged, err = mergeBlock(d, doc)
	} else {
		merged, err = p.mergeKeys(ctx, d, doc, have)
	}
	if err != nil {
		return about(err, d.Path)
	}
	d.Merge.Remove = d.Merge.Ours.IsZero() && found && have.Created && empty(merged)
	if found || !d.Merge.Ours.IsZero() {
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

// about names the file in a fault of its content.
func about(err error, path string) error {
	return deployment.ErrConfig.Sayf("%s: %s", path, messageOf(err)).
		With(deployment.ReasonDetails("document_not_editable", "fix_document", "retry_command").AddPath("path", path)).Because(err)
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

// ownedPart is what a manifest says of a document that only a part of is ours.
type ownedPart struct {
	deployment.Owned
	managed bool
	home    string
	theirs  []deployment.Key // keys of other config repositories in the document
}

// partsOfOthers are the keys that other config repositories own in documents, by path.
func partsOfOthers(o deployment.Observed) map[string][]deployment.Key {
	all := map[string][]deployment.Key{}
	for i := range o.Others {
		if other := &o.Others[i]; other.Part != nil {
			all[other.Path] = append(all[other.Path], other.Part.Keys...)
		}
	}
	return all
}

func (p Planner) mergeKeys(ctx context.Context, d *deployment.Desired, doc []byte, have ownedPart) ([]byte, error) {
	format, looked := d.Part.Format, d.Part.Keys
	managed := have.managed
	if managed {
		looked = have.Part.Keys
	}
	var err error
	if d.Merge.Now, err = p.valuesSum(format, doc, looked); err != nil {
		return nil, err
	}
	merged := doc
	if managed {
		dropped := slices.DeleteFunc(slices.Clone(have.Part.Keys), func(k deployment.Key) bool { // what somebody still has stays
			return slices.ContainsFunc(slices.Concat(d.Part.Keys, have.theirs), func(w deployment.Key) bool { return slices.Equal(k.Path, w.Path) })
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
		if d.Merge.Theirs, err = p.wouldReplace(d, doc, have.Part.Keys); err != nil {
			return nil, err
		}
	}
	if d.Merge.Made, err = p.Documents.Made(format, merged, d.Part.Keys); err != nil {
		return nil, err
	}
	if merged, err = p.Documents.Set(format, merged, d.Part.Keys); err != nil {
		return nil, err
	}
	d.Merge.Ours, err = p.valuesSum(format, merged, d.Part.Keys)
	return merged, err
}

// wouldReplace reports whether d has keys that were never deployed and that the document has with other values: those are its user's own.
func (p Planner) wouldReplace(d *deployment.Desired, doc []byte, deployed []deployment.Key) (bool, error) {
	added := slices.DeleteFunc(slices.Clone(d.Part.Keys), func(k deployment.Key) bool {
		return slices.ContainsFunc(deployed, func(was deployment.Key) bool { return slices.Equal(k.Path, was.Path) })
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

// takeOut takes keys out of a document. One that the user had a value for before a deployment first wrote there gets that value back; and
// where nothing but our keys ever changed, the document gets its original bytes.
func (p Planner) takeOut(ctx context.Context, d *deployment.Desired, doc []byte, dropped []deployment.Key, have ownedPart) ([]byte, error) {
	format := d.Part.Format
	original, err := p.original(ctx, have.home, have.Path)
	if err != nil {
		return nil, err
	}
	if again, err := p.Documents.Set(format, original, have.Part.Keys); err == nil && len(original) > 0 && len(d.Part.Keys) == 0 && bytes.Equal(again, doc) {
		return original, nil
	}
	had, err := p.Documents.Values(format, original, dropped)
	if err != nil {
		had = nil // what the document was is no document: then nothing of it can be put back by keys
	}
	var back, gone []deployment.Key
	for i, k := range dropped {
		if value, ok := had[i]; ok {
			back = append(back, deployment.Key{Path: k.Path, Value: value})
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
	return p.Documents.Set(format, doc, back)
}

// original is what a document was before a deployment first wrote there; nothing where there was none.
func (p Planner) original(ctx context.Context, home, path string) ([]byte, error) {
	all, err := p.Snapshots.Originals(ctx, home)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.Path == path && o.Settled == "" && o.Kind == deployment.Regular {
			return p.Snapshots.Blob(ctx, home, o.Sum)
		}
	}
	return nil, nil
}

// valuesSum is the sum over the keys that are there, with their values; zero when none is.
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
	sorting.By(pairs, func(a, b pair) int { return slices.Compare(a.Path, b.Path) })
	text, err := json.Marshal(pairs)
	if canonical, canonErr := canon.Canonical(text); canonErr == nil {
		text = canonical // numbers with a fraction have no canonical form and stay as they are written
	}
	return deployment.SumOf(text), err
}

func messageOf(err error) string { return fault.From(err).Message }
