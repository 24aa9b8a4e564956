package overlay

import (
	"bytes"
	"io/fs"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// dirForm stores files unchanged.
type dirForm struct {
	*rebaser
	files deployment.Tree
}

func (d *dirForm) paths() []string {
	out := make([]string, len(d.files))
	for i, f := range d.files {
		out[i] = f.Path
	}
	return out
}

func (d *dirForm) has(path string) bool {
	_, ok := d.files.Find(path)
	return ok
}

// quick decides by sums alone (agentpack contract §3.8).
func (d *dirForm) quick(f file) (outcome, bool, error) {
	ours, _ := d.files.Find(f.path)
	switch {
	case !f.known:
		return skipped, true, nil
	case !f.there:
		if ours.Content.Sum != f.base.Sum {
			return skipped, true, nil
		}
		d.drop(f.path)
		return deleted, true, nil
	case ours.Content.Sum == f.theirs.Content.Sum:
		return d.same(ours, f.theirs), true, nil
	case ours.Content.Sum == f.base.Sum:
		text, err := d.in.Read(f.theirs.Content)
		if err != nil {
			return 0, true, err
		}
		result, err := d.store(f, text, text)
		return result, true, err
	case f.theirs.Content.Sum == f.base.Sum:
		return skipped, true, nil
	}
	return 0, false, nil
}

// same returns the outcome of an override file that equals upstream's. One with another mode is still needed.
func (d *dirForm) same(ours, theirs deployment.File) outcome {
	if !d.in.Sparsify || ours.Mode != theirs.Mode {
		return skipped
	}
	d.drop(ours.Path)
	return deleted
}

func (d *dirForm) ours(f file, _ []byte) ([]byte, error) {
	ours, _ := d.files.Find(f.path)
	return d.in.Read(ours.Content)
}

func (d *dirForm) store(f file, onto, text []byte) (outcome, error) {
	ours, has := d.files.Find(f.path)
	mode := either(ours.Mode, f.theirs.Mode)
	switch sum := deployment.SumOf(text); {
	case d.in.Sparsify && f.there && bytes.Equal(onto, text) && (!has || mode == f.theirs.Mode):
		if has {
			d.drop(f.path)
		}
		return deleted, nil
	case has && ours.Content.Sum == sum:
		return skipped, nil
	}
	d.put(f.path, text, mode)
	return updated, nil
}

// either returns ExecutableMode if one of the modes is: which side set or cleared the bit is not recorded, and a script that cannot run is the worse
// mistake.
func either(a, b fs.FileMode) fs.FileMode { return deployment.ModeOf(a | b) }

// patchForm stores unified diffs.
type patchForm struct {
	*rebaser
	files map[string]LayerPatch // by the path of the file they are for
}

func newPatchForm(r *rebaser) *patchForm {
	p := &patchForm{r, make(map[string]LayerPatch)}
	for _, f := range r.about.patches() {
		if path, ok := f.Target(); ok {
			p.files[path] = f
		}
	}
	return p
}

func (p *patchForm) paths() []string { return slices.Collect(maps.Keys(p.files)) }

func (p *patchForm) has(path string) bool {
	_, ok := p.files[path]
	return ok
}

func (p *patchForm) quick(f file) (outcome, bool, error) {
	return skipped, !f.known || f.there && f.theirs.Content.Sum == f.base.Sum, nil
}

func (p *patchForm) ours(f file, base []byte) ([]byte, error) {
	file := p.files[f.path]
	parsed, err := file.Parse(p.in.Read)
	if err != nil {
		return nil, err
	}
	if f.there {
		theirs, err := p.in.Read(f.theirs.Content)
		if err != nil {
			return nil, err
		}
		if err := file.CheckText(theirs, "upstream"); err != nil {
			return nil, err
		}
	}
	return file.ApplyToBaseline(parsed, base)
}

// store makes the patch from onto to text. No patch can represent a file that upstream removed: only its removal resolves that conflict.
func (p *patchForm) store(f file, onto, text []byte) (outcome, error) {
	file, has := p.files[f.path]
	if !has {
		file = p.about.patch(f.path+PatchSuffix, deployment.Content{})
	}
	made := ""
	switch {
	case !f.there && len(text) > 0:
		return conflicted, nil
	case f.there:
		if err := file.CheckText(onto, "upstream"); err != nil {
			return 0, err
		}
		if err := file.CheckText(text, "the merged text"); err != nil {
			return 0, err
		}
		made = p.in.Diff("a/"+f.path, "b/"+f.path, onto, text)
	}
	switch {
	case made == "":
		if has {
			p.drop(file.At)
		}
		return deleted, nil
	case has && file.Content.Sum == deployment.SumOf([]byte(made)):
		return skipped, nil
	}
	file, err := file.With(made, onto, text)
	if err != nil {
		return 0, err
	}
	p.put(file.At, file.Content.Data, deployment.PlainMode)
	return updated, nil
}
