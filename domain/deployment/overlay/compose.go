package overlay

import (
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// ComposeInput is a module's upstream files and the layers over them.
type ComposeInput struct {
	Module   deployment.Module
	Upstream deployment.Tree
	Layers   []Layer // in any order and scope; layers that do not exist are ignored
	Read     func(deployment.Content) ([]byte, error)
}

// Composed is a module's tree with all layers applied.
type Composed struct {
	Tree     deployment.Tree
	Credit   map[string]string // by path: the highest scope that provides or patches the file; other paths come from upstream
	Warnings []string
}

// Layer returns the layer that the file of that path comes from: "upstream", "global", "machine" or "project"; empty when the tree has no such file.
func (c Composed) Layer(path string) string {
	if layer, ok := c.Credit[path]; ok {
		return layer
	}
	if _, ok := c.Tree.Find(path); ok {
		return UpstreamLayer
	}
	return ""
}

// Compose applies the layers to upstream, lowest scope first (agentpack contract §3.1 to §3.6). Files that no layer touches are not read, and without
// layers the tree is upstream itself.
//
// It fails with ErrConfig for a layer that breaks the rules of its kind and for an invalid patch, with ErrPatch for a patch that does not fit, with
// ErrConflictsUnsolved for a layer with conflicts left by a rebase (§10.1), and with the errors of Read.
func Compose(in ComposeInput) (Composed, error) {
	c := composer{in: in, out: Composed{Tree: in.Upstream}}
	layers := slices.DeleteFunc(slices.Clone(in.Layers), func(l Layer) bool { return !l.Exists })
	slices.SortStableFunc(layers, func(a, b Layer) int { return rank(a.Scope) - rank(b.Scope) })
	for _, l := range layers {
		if err := c.add(about(in.Module, l)); err != nil {
			return Composed{}, err
		}
	}
	return c.out, nil
}

func rank(s deployment.OverlayScope) int { return slices.Index(deployment.OverlayScopes(), s) }

type composer struct {
	in  ComposeInput
	sum deployment.Sum // of upstream, once it was needed
	out Composed
}

func (c *composer) add(s subject) error {
	if err := s.checkKind(); err != nil {
		return err
	}
	if left := s.conflictPaths(); len(left) > 0 {
		return s.unresolved(left, "a rebase left unresolved conflicts", resolveHint)
	}
	var touched []string
	var err error
	if s.layer.Kind == KindPatch {
		touched, err = c.patch(s)
	} else {
		touched, err = c.override(s)
	}
	if err != nil {
		return err
	}
	if len(touched) > 0 && c.out.Credit == nil {
		c.out.Credit = make(map[string]string, len(touched))
	}
	for _, path := range touched {
		c.out.Credit[path] = string(s.layer.Scope)
	}
	c.drift(s, touched)
	return nil
}

const (
	resolveHint = "write the resolved content of each file, without conflict markers, to its file below " + ConflictsDir + ", and rebase the overlay again; or delete it there to keep the overlay unchanged"
	markersHint = "replace the marked parts with the resolved content"
)

// warn adds a warning, once.
func (c *composer) warn(text string) {
	if !slices.Contains(c.out.Warnings, text) {
		c.out.Warnings = append(c.out.Warnings, text)
	}
}

// override applies the files of a dir layer to the tree and returns their paths.
func (c *composer) override(s subject) (touched []string, err error) {
	files := s.overrides()
	if len(files) == 0 {
		return nil, nil
	}
	if err := c.checkMarkers(s, files); err != nil {
		return nil, err
	}
	c.out.Tree = MergeTrees(c.out.Tree, files)
	for _, f := range files {
		if other := PathClash(c.out.Tree, f.Path); other != "" {
			hint := "remove one of them from the overlay; an overlay cannot delete files"
			return nil, s.Fault(deployment.ErrConfig, "it would make "+other+" both a file and a directory", hint).WithDetails(s.Details(hint).Add("path", f.Path))
		}
		touched = append(touched, f.Path)
	}
	return touched, nil
}

// checkMarkers fails with ErrConflictsUnsolved for files that contain a rebase's conflict markers. Only files that differ from upstream and from the
// baseline are read. Marker lines that upstream also has are text, not conflicts.
func (c *composer) checkMarkers(s subject, files deployment.Tree) error {
	known := s.layer.Baseline.entries()
	var marked []string
	for _, f := range files {
		upstream, there := c.in.Upstream.Find(f.Path)
		if f.Content.Sum == upstream.Content.Sum || f.Content.Sum == known[f.Path].Sum {
			continue
		}
		data, err := c.in.Read(f.Content)
		if err != nil {
			return err
		}
		bad, err := leftover(data, upstream, there, c.in.Read)
		if err != nil {
			return err
		}
		if bad {
			marked = append(marked, f.Path)
		}
	}
	if len(marked) > 0 {
		return s.unresolved(marked, "files have conflict markers in them", markersHint)
	}
	return nil
}

// leftover reports whether text has more marker lines than upstream's file.
func leftover(text []byte, upstream deployment.File, there bool, read func(deployment.Content) ([]byte, error)) (bool, error) {
	n := CountMarkers(text)
	if n == 0 || !there {
		return n > 0, nil
	}
	theirs, err := read(upstream.Content)
	return n > CountMarkers(theirs), err
}

// patch applies the patches of a patch layer and returns the paths of the changed files.
func (c *composer) patch(s subject) (touched []string, err error) {
	files := s.patches()
	if len(files) > 0 {
		c.out.Tree = slices.Clone(c.out.Tree)
	}
	for _, f := range files {
		path, ok := f.Target()
		if !ok {
			c.warn(f.PatchLayer.String() + " has a patch that is ignored: rename " + f.Name + " so that it ends with " + PatchSuffix)
			continue
		}
		if err := c.apply(s, f, path); err != nil {
			return nil, err
		}
		touched = append(touched, path)
	}
	return touched, nil
}

// apply applies one patch to the tree, which belongs to the composer.
func (c *composer) apply(s subject, f LayerPatch, path string) error {
	p, err := f.Parse(c.in.Read)
	if err != nil {
		return err
	}
	at, ok := TreeIndex(c.out.Tree, path)
	if !ok {
		return f.Refuse("is for a file that the module does not have", "remove the patch, or name it for a file of the module")
	}
	data, err := c.in.Read(c.out.Tree[at].Content)
	if err != nil {
		return err
	}
	patched, err := f.Apply(p, data)
	if err != nil {
		return err
	}
	upstream, there := c.in.Upstream.Find(path)
	bad, err := leftover(patched, upstream, there, c.in.Read)
	if err != nil {
		return err
	}
	if bad {
		return s.unresolved([]string{path}, "the patch "+f.Name+" puts conflict markers into its file", "create the patch again from the resolved content")
	}
	c.out.Tree[at].Content = deployment.ContentOf(patched)
	return nil
}
