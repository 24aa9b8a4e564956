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
		Files: entries{}}
	if !utf8.ValidString(m.Recorded) || !utf8.ValidString(m.Repo) {
		return nil, deployment.ErrPath.WithMessage("%q or %q is not a UTF-8 path and cannot be recorded; rename the directory", m.Recorded, m.Repo)
	}
	if len(m.Files) > maxFiles {
		return nil, ErrBadManifest.WithMessage("%d files in %s are too many for one manifest; at most %d are allowed", len(m.Files), m.Root, maxFiles)
	}
	type row struct {
		rel  string
		file *deployment.Owned
	}
	rows, room := make([]row, len(m.Files)), 1024
	for i := range m.Files {
		rel, err := m.relative(&m.Files[i])
		if err != nil {
			return nil, err
		}
		rows[i] = row{rel, &m.Files[i]}
		if room += len(rel) + 160; len(m.Files[i].Modules) > 0 {
			room += 48 + len(m.Files[i].Modules[0])
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.rel, b.rel), cmp.Compare(a.file.Owner, b.file.Owner)) })
	out, err := appendIndented(make([]byte, 0, room), "", doc)
	for i := range rows {
		if err != nil {
			break
		}
		if i == 0 {
			out = append(bytes.TrimSuffix(out, []byte("]\n}")), '\n')
		} else {
			out = append(out, ",\n"...)
		}
		if out, err = newEntry(rows[i].rel, rows[i].file).append(out); err == nil && i == len(rows)-1 {
			out = append(out, "\n  ]\n}"...)
		}
	}
	if err != nil {
		return nil, ErrBadManifest.WithMessage("the manifest of %s in %s cannot be written", m.Target, m.Root).WithCause(err)
	}
	return append(out, '\n'), nil
}

// append appends an entry in the place that it has in the file. Most are short, and there may be tens of thousands: those are written down as the encoder would.
func (e entry) append(out []byte) ([]byte, error) {
	const line = "\n      "
	out = append(out, "    "...)
	if e.Part != nil || e.PartSum != "" || len(e.Made) > 0 || e.Created || e.Over != "" || e.Claim != deployment.Proven {
		return appendIndented(out, "    ", e)
	}
	out = appendText(append(append(append(out, '{'), line...), `"path": `...), e.Path)
	out = appendText(append(append(append(out, ','), line...), `"sha256": `...), e.Sum)
	if len(e.Modules) > 0 {
		out = append(append(append(out, ','), line...), `"module_ids": [`...)
		for i, id := range e.Modules {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendText(append(append(out, line...), "  "...), id)
		}
		out = append(append(out, line...), ']')
	}
	if e.Mode != "" {
		out = appendText(append(append(append(out, ','), line...), `"mode": `...), e.Mode)
	}
	if e.Owner != "" {
		out = appendText(append(append(append(out, ','), line...), `"owner": `...), string(e.Owner))
	}
	return append(out, "\n    }"...), nil
}

// appendText appends a text as JSON has it.
func appendText(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			out, _ = appendIndented(out, "", s) // a text always has a form
			return out
		}
	}
	return append(append(append(out, '"'), s...), '"')
}

// appendIndented appends a value as JSON has it, two spaces a level; prefix begins its lines but the first.
func appendIndented(out []byte, prefix string, v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, "  ")
	err := encoder.Encode(v)
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), err
}

// relative is the path of a file of the manifest as the manifest has it.
func (m Manifest) relative(f *deployment.Owned) (string, error) {
	rel, err := filepath.Rel(m.Root, f.Path)
	rel = filepath.ToSlash(rel)
	if _, problem := inside(rel); err != nil || problem != "" || !utf8.ValidString(rel) {
		return "", deployment.ErrPath.WithMessage("%q cannot be listed in the manifest of %s: it is not a UTF-8 path of a file below it", f.Path, m.Root).
			WithDetails(deployment.FieldDetails("root", m.Root).AddPath("path", f.Path)).WithCause(err)
	}
	return rel, nil
}

func newEntry(rel string, f *deployment.Owned) entry {
	e := entry{Path: rel, Sum: f.Sum.String(), Modules: f.Modules, Owner: f.Owner, Part: f.Part, PartSum: f.PartSum.String(), Made: f.Made, Created: f.Created, Over: f.Over.String(), Claim: f.Claim}
	if deployment.ModeOf(f.Mode) == deployment.ExecutableMode {
		e.Mode = "0" + strconv.FormatUint(uint64(deployment.ExecutableMode), 8)
	}
	return e
}
