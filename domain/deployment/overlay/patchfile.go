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

// PatchSuffix ends the names of patch files.
const PatchSuffix = ".patch"

// IsPatchFile reports a file name with the extension of patches, in whatever case (agentpack contract §3.3).
func IsPatchFile(name string) bool { return strings.EqualFold(path.Ext(name), PatchSuffix) }

// PatchLayer is the overlay that faults are about.
type PatchLayer struct {
	Module string
	Scope  deployment.OverlayScope
	Dir    string // absolute, native
}

// Native is a slash path below the layer's directory, as the system writes it.
func (l PatchLayer) Native(rel string) string {
	if strings.Contains(l.Dir, `\`) {
		return l.Dir + `\` + strings.ReplaceAll(rel, "/", `\`)
	}
	return l.Dir + "/" + rel
}

// Details are module_id, scope, overlay_dir and hint.
func (l PatchLayer) Details(hint string) deployment.Details {
	return deployment.FieldDetails("module_id", l.Module).Add("scope", string(l.Scope)).AddPath("overlay_dir", l.Dir).Add("hint", hint)
}

// Fault is sentinel with a message that names the layer, the problem and what to do about it, and with Details for the hint.
func (l PatchLayer) Fault(sentinel *fault.Error, problem, hint string) *fault.Error {
	return sentinel.Sayf("%s: %s; %s", l, problem, hint).With(l.Details(hint))
}

// String names the layer in messages.
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

// Target is the file that the patch is for; false for a name whose suffix is not exactly Suffix, which stands for no file.
func (f LayerPatch) Target() (string, bool) { return strings.CutSuffix(f.Name, PatchSuffix) }

func (f LayerPatch) rel() string { return strings.TrimSuffix(f.Name, PatchSuffix) }

// Details are those of the layer, patch_file and relpath.
func (f LayerPatch) Details(hint string) deployment.Details {
	return f.PatchLayer.Details(hint).AddPath("patch_file", f.Native(f.At)).Add("relpath", f.rel())
}

// Refuse is ErrConfig about the patch: problem goes on with the sentence that names it.
func (f LayerPatch) Refuse(problem, hint string) error {
	return f.Fault(deployment.ErrConfig, "the patch "+f.Name+" "+problem, hint).With(f.Details(hint))
}

// wrong is sentinel for what package patch found, whose words say the way out themselves.
func (f LayerPatch) wrong(sentinel *fault.Error, reason error, details deployment.Details) error {
	return sentinel.Sayf("%s: the patch %s: %v", f.PatchLayer, f.Name, reason).With(details.Add("error", reason.Error()))
}

// Parse reads the patch and holds its headers to the file it is for. It fails with ErrConfig (agentpack contract §3.5, 2 to 4).
func (f LayerPatch) Parse(read func(deployment.Content) ([]byte, error)) (FilePatch, error) {
	if !safe(f.rel()) {
		return FilePatch{}, f.Refuse("stands for no file of the module", "name it <path of the file>"+PatchSuffix+", without . or .. in the path")
	}
	text, err := read(f.Content)
	if err != nil {
		return FilePatch{}, err
	}
	p, err := ParsePatch(text)
	if err != nil {
		return FilePatch{}, f.wrong(deployment.ErrConfig, err, f.Details("make the patch anew with git diff"))
	}
	if err := CheckPaths(p, f.rel()); err != nil {
		details := f.Details("both header lines have to name "+f.rel()).Add("expected_relpath", f.rel())
		return FilePatch{}, f.wrong(deployment.ErrConfig, err, details.Add("patch_old_path", p.Old).Add("patch_new_path", p.New))
	}
	return p, nil
}

// safe reports a slash path that stays below where it is joined to.
func safe(rel string) bool {
	return rel != "" && !slices.ContainsFunc(strings.Split(rel, "/"), func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\\x00")
	})
}

// CheckText holds a version of the file to UTF-8, since patches change text only. It fails with ErrConfig.
func (f LayerPatch) CheckText(data []byte, which string) error {
	if utf8.Valid(data) {
		return nil
	}
	return f.Refuse("is for a file that is not UTF-8 text ("+which+")", "use an overlay of kind dir for it")
}

// Apply does the patch, which Parse gave, on the module's file. It fails with ErrConfig for text that cannot be patched, and with ErrPatch
// where the patch does not fit (agentpack contract §3.5, 5).
func (f LayerPatch) Apply(p FilePatch, base []byte) ([]byte, error) {
	if err := f.CheckText(base, "the module's file"); err != nil {
		return nil, err
	}
	text, err := p.Apply(base)
	if err != nil {
		details := f.Details("make the patch anew for the file as it is now, or turn the overlay into one of kind dir").Add("stderr", err.Error()).
			Add("reason_code", "overlay_patch_apply_failed").Add("next_actions", []string{"regenerate_patch", "switch_to_dir_overlay", "retry_command"})
		return nil, f.wrong(deployment.ErrPatch, err, details)
	}
	return text, nil
}

// ApplyToBaseline does the patch on what the file was when the overlay was made. There a patch that does not fit is ErrConfig (§3.8).
func (f LayerPatch) ApplyToBaseline(p FilePatch, base []byte) ([]byte, error) {
	if err := f.CheckText(base, "the baseline"); err != nil {
		return nil, err
	}
	text, err := p.Apply(base)
	if err != nil {
		return nil, f.wrong(deployment.ErrConfig, err, f.Details("make the patch anew for the file as it is in the baseline"))
	}
	return text, nil
}

// With is the file holding made, a patch that has to turn onto into text. It fails with ErrConfig where made does not: a file that no
// patch can describe must not replace the patch there is.
func (f LayerPatch) With(made string, onto, text []byte) (LayerPatch, error) {
	f.Content = deployment.ContentOf([]byte(made))
	p, err := f.Parse(func(c deployment.Content) ([]byte, error) { return c.Data, nil })
	if err != nil {
		return LayerPatch{}, err
	}
	if got, err := p.Apply(onto); err != nil || !bytes.Equal(got, text) {
		return LayerPatch{}, f.Refuse("cannot say what the rebased file is", "use an overlay of kind dir for it")
	}
	return f, nil
}
