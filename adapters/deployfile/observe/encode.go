package observe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// document is the file's form. The first fields are the format's own, in its order; an entry's from mode on are ours.
type document struct {
	Version     int     `json:"schema_version"`
	GeneratedAt string  `json:"generated_at"`
	Tool        string  `json:"tool"`
	SnapshotID  string  `json:"snapshot_id,omitempty"`
	Root        string  `json:"root,omitempty"` // of a record in the home
	Repo        string  `json:"repo,omitempty"`
	Files       entries `json:"managed_files"`
}

type entries []entry

type entry struct {
	Path    string           `json:"path"` // relative, with slashes
	Sum     string           `json:"sha256"`
	Modules []string         `json:"module_ids,omitempty"`
	Mode    string           `json:"mode,omitempty"`
	Owner   deployment.Owner `json:"owner,omitempty"`
	Part    *deployment.Part `json:"part,omitempty"`
	PartSum string           `json:"part_sha256,omitempty"`
	Made    [][]string       `json:"made,omitempty"`
	Created bool             `json:"created,omitempty"`
	Over    string           `json:"over_sha256,omitempty"`
	Claim   deployment.Claim `json:"claim,omitempty"` // how much it counts, where that is not all
}

// EncodeManifest is the file of m: entries sorted by path, then owner; indented, with a final newline. It fails with deployment.ErrPath for a
// file that is not below m.Root or whose path cannot be written as text, and with ErrBadManifest for a part that is no JSON.
func EncodeManifest(m Manifest) ([]byte, error) {
	doc := document{Version: version, GeneratedAt: m.GeneratedAt.UTC().Format(time.RFC3339Nano), Tool: m.Target, SnapshotID: m.SnapshotID, Root: m.Recorded, Repo: m.Repo,
		Files: make(entries, 0, len(m.Files))}
	if !utf8.ValidString(m.Recorded) || !utf8.ValidString(m.Repo) {
		return nil, deployment.ErrPath.Sayf("%q or %q is no UTF-8 path, so nothing can be recorded of it; rename the directory", m.Recorded, m.Repo)
	}
	if len(m.Files) > maxFiles {
		return nil, ErrBadManifest.Sayf("%d files in %s are too many for one manifest; at most %d are allowed", len(m.Files), m.Root, maxFiles)
	}
	for _, f := range m.Files {
		e, err := m.entry(f)
		if err != nil {
			return nil, err
		}
		doc.Files = append(doc.Files, e)
	}
	slices.SortStableFunc(doc.Files, func(a, b entry) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Owner, b.Owner)) })
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return nil, ErrBadManifest.Sayf("the manifest of %s in %s cannot be written", m.Target, m.Root).Because(err)
	}
	return out.Bytes(), nil
}

func (m Manifest) entry(f deployment.Owned) (entry, error) {
	rel, err := filepath.Rel(m.Root, f.Path)
	rel = filepath.ToSlash(rel)
	if _, problem := inside(rel); err != nil || problem != "" || !utf8.ValidString(rel) {
		return entry{}, deployment.ErrPath.Sayf("%q cannot be listed in the manifest of %s: it is no UTF-8 path of a file below it", f.Path, m.Root).
			With(deployment.FieldDetails("root", m.Root).AddPath("path", f.Path)).Because(err)
	}
	e := entry{Path: rel, Sum: f.Sum.String(), Modules: f.Modules, Owner: f.Owner, Part: f.Part, PartSum: f.PartSum.String(), Made: f.Made, Created: f.Created, Over: f.Over.String(), Claim: f.Claim}
	if deployment.ModeOf(f.Mode) == deployment.ExecutableMode {
		e.Mode = "0" + strconv.FormatUint(uint64(deployment.ExecutableMode), 8)
	}
	return e, nil
}
