package overlay

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// PatchSuffix is the suffix of the names of patch files.
const PatchSuffix = ".patch"

// IsPatchFile reports whether a file name has the extension of patches, in any case (agentpack contract §3.3).
func IsPatchFile(name string) bool { return strings.EqualFold(path.Ext(name), PatchSuffix) }

// PatchLayer is the overlay that errors are about.
type PatchLayer struct {
	Module string
	Scope  deployment.OverlayScope
	Dir    string // absolute, native
}

// Native returns a slash path below the layer's directory in the form of the system.
func (l PatchLayer) Native(rel string) string {
	if strings.Contains(l.Dir, `\`) {
		return l.Dir + `\` + strings.ReplaceAll(rel, "/", `\`)
	}
	return l.Dir + "/" + rel
}

// Details returns module_id, scope, overlay_dir and hint.
func (l PatchLayer) Details(hint string) deployment.Details {
	return deployment.FieldDetails("module_id", l.Module).Add("scope", string(l.Scope)).AddPath("overlay_dir", l.Dir).Add("hint", hint)
}

// Fault returns sentinel with a message that names the layer, the problem and the hint, and with Details for the hint.
func (l PatchLayer) Fault(sentinel *fault.Error, problem, hint string) *fault.Error {
	return sentinel.WithMessage("%s: %s; %s", l, problem, hint).WithDetails(l.Details(hint))
}

// String returns the layer's name for messages.
func (l PatchLayer) String() string {
	return fmt.Sprintf("the %s overlay of module %q (%s)", l.Scope, l.Module, l.Dir)
}

// LayerPatch is a patch file.
type LayerPatch struct {
	PatchLayer
	Name    string // slash path below the layer's patches directory
	At      string // slash path below the layer's directory
	Content deployment.Content
}

// Target returns the file that the patch is for; false for a name whose suffix is not exactly PatchSuffix, which is for no file.
func (f LayerPatch) Target() (string, bool) { return strings.CutSuffix(f.Name, PatchSuffix) }

func (f LayerPatch) rel() string { return strings.TrimSuffix(f.Name, PatchSuffix) }

// Details returns those of the layer, patch_file and relpath.
func (f LayerPatch) Details(hint string) deployment.Details {
	return f.PatchLayer.Details(hint).AddPath("patch_file", f.Native(f.At)).Add("relpath", f.rel())
}

// Refuse returns ErrConfig for the patch: problem continues the sentence that names it.
func (f LayerPatch) Refuse(problem, hint string) error {
	return f.Fault(deployment.ErrConfig, "the patch "+f.Name+" "+problem, hint).WithDetails(f.Details(hint))
}

// wrong returns sentinel with the message of an error of a patch, which includes its own hint.
func (f LayerPatch) wrong(sentinel *fault.Error, reason error, details deployment.Details) error {
	return sentinel.WithMessage("%s: the patch %s: %v", f.PatchLayer, f.Name, reason).WithDetails(details.Add("error", reason.Error()))
}

// Parse parses the patch and compares its headers with the file it is for. It fails with ErrConfig (agentpack contract §3.5, 2 to 4).
func (f LayerPatch) Parse(read func(deployment.Content) ([]byte, error)) (FilePatch, error) {
	if !safe(f.rel()) {
		return FilePatch{}, f.Refuse("has no matching file in the module", "name it <path of the file>"+PatchSuffix+", without . or .. in the path")
	}
	text, err := read(f.Content)
	if err != nil {
		return FilePatch{}, err
	}
	p, err := ParsePatch(text)
	if err != nil {
		return FilePatch{}, f.wrong(deployment.ErrConfig, err, f.Details("create the patch again with git diff"))
	}
	if err := CheckPaths(p, f.rel()); err != nil {
		details := f.Details("both header lines must name "+f.rel()).Add("expected_relpath", f.rel())
		return FilePatch{}, f.wrong(deployment.ErrConfig, err, details.Add("patch_old_path", p.Old).Add("patch_new_path", p.New))
	}
	return p, nil
}

// safe reports whether a slash path stays below what it is joined to.
func safe(rel string) bool {
	return rel != "" && !slices.ContainsFunc(strings.Split(rel, "/"), func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\\x00")
	})
}

// CheckText checks that a version of the file is UTF-8, because patches change text only. It fails with ErrConfig.
func (f LayerPatch) CheckText(data []byte, which string) error {
	if utf8.Valid(data) {
		return nil
	}
	return f.Refuse("is for a file that is not UTF-8 text ("+which+")", "use an overlay of kind dir for it")
}

// Apply applies the patch, as returned by Parse, to the module's file. It fails with ErrConfig for text that cannot be patched, and with ErrPatch if
// the patch does not fit (agentpack contract §3.5, 5).
func (f LayerPatch) Apply(p FilePatch, base []byte) ([]byte, error) {
	if err := f.CheckText(base, "the module's file"); err != nil {
		return nil, err
	}
	text, err := p.Apply(base)
	if err != nil {
		details := f.Details("create the patch again for the current file, or convert the overlay to kind dir").Add("stderr", err.Error()).
			Add("reason_code", "overlay_patch_apply_failed").Add("next_actions", []string{"regenerate_patch", "switch_to_dir_overlay", "retry_command"})
		return nil, f.wrong(deployment.ErrPatch, err, details)
	}
	return text, nil
}

// ApplyToBaseline applies the patch to the file's content when the overlay was made. There a patch that does not fit is ErrConfig (§3.8).
func (f LayerPatch) ApplyToBaseline(p FilePatch, base []byte) ([]byte, error) {
	if err := f.CheckText(base, "the baseline"); err != nil {
		return nil, err
	}
	text, err := p.Apply(base)
	if err != nil {
		return nil, f.wrong(deployment.ErrConfig, err, f.Details("create the patch again for the file in the baseline"))
	}
	return text, nil
}

// With returns the patch file with the content made, a patch that must turn onto into text. It fails with ErrConfig if made does not: a file that no
// patch can describe must not replace the existing patch.
func (f LayerPatch) With(made string, onto, text []byte) (LayerPatch, error) {
	f.Content = deployment.ContentOf([]byte(made))
	p, err := f.Parse(func(c deployment.Content) ([]byte, error) { return c.Data, nil })
	if err != nil {
		return LayerPatch{}, err
	}
	if got, err := p.Apply(onto); err != nil || !bytes.Equal(got, text) {
		return LayerPatch{}, f.Refuse("cannot express the rebased file", "use an overlay of kind dir for it")
	}
	return f, nil
}
