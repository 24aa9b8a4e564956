package ecosystemfile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

const (
	maxNodes   = 50_000 // of a manifest, with what its aliases stand for
	maxCounted = 10_000 // files
)

// Names implements ecosystemport.Manifests.
func (s *Store) Names(ctx context.Context, root string) ([]string, error) {
	dir := docfile.NewDir(root)
	names := []string{}
	err := dir.Scan(ecosystems, func(name string, _ func() (fs.FileInfo, error)) error {
		if ecosystem.CheckName(name) != nil {
			return ctx.Err()
		}
		if info, err := dir.Stat(inside(name, manifestFile)); err == nil && info.Mode().IsRegular() {
			names = append(names, name)
		}
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// inside returns the way from the root to what lies in an ecosystem's directory.
func inside(name string, parts ...string) string {
	return path.Join(append([]string{ecosystems, name}, parts...)...)
}

// Load implements ecosystemport.Manifests. What is wrong with the YAML is in the error's details, as a list of ecosystem.Problem under "errors".
func (s *Store) Load(ctx context.Context, l ecosystem.Layout) (ecosystemport.Loaded, error) {
	if err := cmp.Or(ctx.Err(), ecosystem.CheckName(l.Name)); err != nil {
		return ecosystemport.Loaded{}, err
	}
	text, _, err := docfile.NewDir(l.Root).Read(inside(l.Name, manifestFile), ecosystem.MaxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return ecosystemport.Loaded{}, s.missing(ctx, l)
	}
	var doc map[string]any
	if err == nil {
		doc, err = parse(text)
	}
	if err != nil {
		return ecosystemport.Loaded{}, unreadable(l, err)
	}
	sum := sha256.Sum256(text)
	return ecosystemport.Loaded{Manifest: ecosystem.ReadManifest(l.Name, doc), SHA256: hex.EncodeToString(sum[:]), Bytes: text}, nil
}

func (s *Store) missing(ctx context.Context, l ecosystem.Layout) error {
	names, err := s.Names(ctx, l.Root)
	if err != nil {
		names = nil // the names are a courtesy
	}
	there := "no ecosystem exists in " + l.Root + " yet; create one with amof_create_ecosystem"
	if len(names) > 0 {
		there = "there are: " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return ecosystem.ErrUnknown.WithMessage("ecosystem %s not found; %s", l.Name, there).WithDetails(map[string]any{"ecosystem": l.Name, "available": names})
}

// unreadable words what is wrong with a manifest that is no mapping.
func unreadable(l ecosystem.Layout, err error) error {
	f := fault.From(err)
	problems := []ecosystem.Problem{{Message: f.Message, Fix: "correct the file"}}
	if found, ok := f.Details.(yamlcodec.Problems); ok {
		problems = nil
		for _, p := range found.Problems {
			problems = append(problems, ecosystem.Problem{Message: p.String(), Fix: "correct the line"})
		}
	}
	return ecosystem.ErrManifest.WithMessage("the manifest %s cannot be read: %s", l.Manifest, problems[0].Message).
		WithDetails(map[string]any{"errors": problems, "ecosystem": l.Name}).WithCause(err)
}

// parse returns the mapping that a YAML document is. Text before it by which editors mark UTF-8 is passed over.
func parse(text []byte) (map[string]any, error) {
	root, err := yamlcodec.Parse([]byte(strings.TrimPrefix(string(text), "\ufeff")), yamlcodec.Options{MaxBytes: ecosystem.MaxManifestBytes})
	if err != nil {
		return nil, err
	}
	if root.Kind() != yamlcodec.Mapping {
		return nil, ecosystem.ErrManifest.WithMessage("the document is %s where a mapping is expected", root.Say())
	}
	left := maxNodes
	value, err := plain(root, &left)
	doc, _ := value.(map[string]any)
	return doc, err
}

// plain converts a node for ecosystem.ReadManifest. left limits their number, because a few aliases of aliases can expand to billions.
func plain(n yamlcodec.Node, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, ecosystem.ErrManifest.WithMessage("the document has more than %d values, with its aliases expanded", maxNodes)
	}
	switch n.Kind() {
	case yamlcodec.Mapping:
		out := map[string]any{}
		for _, field := range n.Fields() {
			value, err := plain(field.Value, left)
			if err != nil {
				return nil, err
			}
			out[field.Key.Text()] = value
		}
		return out, nil
	case yamlcodec.List:
		out := []any{}
		for _, item := range n.Items() {
			value, err := plain(item, left)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case yamlcodec.Text:
		return n.Text(), nil
	case yamlcodec.Bool:
		return strings.EqualFold(n.Text(), "true"), nil
	case yamlcodec.Number:
		var value any
		err := n.Load(&value, yamlcodec.Options{})
		return value, err
	}
	return nil, nil
}

// Counts implements ecosystemport.Manifests: files in kb/, journal/ and tasks/, and below. Those whose name begins with a dot do not count.
func (s *Store) Counts(ctx context.Context, l ecosystem.Layout) (c ecosystemport.Counts, err error) {
	for sub, into := range map[string]*int{"kb": &c.KB, "journal": &c.Journal, "tasks": &c.Tasks} {
		if err := count(ctx, l, sub, into); err != nil {
			return c, err
		}
	}
	return c, nil
}
