package deployfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// journalVersion is the only form of journals there is; journalHead says it.
const journalVersion = 1

// Journal is everything that is needed to finish an operation or to take it back, besides the contents, which are in the vault.
type Journal struct {
	deployment.Snapshot
	Roots  []string // of every change, the directory it must stay below
	Made   []string // directories that the operation makes, parents first
	Pruned []Folder // directories that it removes because nothing is left in them, children first
	State  []Text   // files of the home that change with it
}

// Folder is a directory with its permission bits.
type Folder struct {
	Path string
	Mode fs.FileMode
}

// Text is a small file of the home before and after; nil is an absent one.
type Text struct {
	Name          string
	Before, After []byte
}

// journalHead is what a journal begins with, up to the record of its operation.
const journalHead = `{"schema_version":1,"snapshot":`

type journalFile struct {
	Version  int             `json:"schema_version"`
	Snapshot json.RawMessage `json:"snapshot"`
	journalRest
	State []textFile `json:"state,omitempty"`
}

// journalRest is the short fields after the record.
type journalRest struct {
	Bases  []string `json:"bases"`
	Within []int    `json:"within"`
	Made   []string `json:"made,omitempty"`
	Pruned []folder `json:"pruned,omitempty"`
}

type folder struct {
	Path string `json:"path"`
	Mode octal  `json:"mode"`
}

type textFile struct {
	Name   string  `json:"name"`
	Before *string `json:"before"`
	After  *string `json:"after"`
}

// room is about how many bytes a journal takes besides its record.
func (j Journal) room() int {
	n := 4096 + 8*len(j.Roots)
	for _, dir := range j.Made {
		n += len(dir) + 8
	}
	for _, s := range j.State {
		n += (len(s.Before)+len(s.After))*9/8 + len(s.Name) + 64
	}
	return n
}

// EncodeJournal writes a journal down. snapshot is j.Snapshot as it was encoded; the journal is written behind it, so that the two are in memory once.
func EncodeJournal(j Journal, snapshot encoded) ([]byte, error) {
	f := journalRest{Made: j.Made, Within: make([]int, len(j.Roots))}
	known := map[string]int{}
	for i, base := range j.Roots {
		at, ok := known[base]
		if !ok {
			at = len(f.Bases)
			known[base] = at
			f.Bases = append(f.Bases, base)
		}
		f.Within[i] = at
	}
	for _, p := range j.Pruned {
		f.Pruned = append(f.Pruned, folder{p.Path, octal(p.Mode)})
	}
	rest, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	out := append(append(snapshot.text, ','), bytes.Trim(rest, "{}")...)
	for i, s := range j.State {
		if out = append(out, ','); i == 0 {
			out = append(out, `"state":[`...)
		}
		out = append(appendQuoted(append(out, `{"name":`...), []byte(s.Name)), `,"before":`...)
		out = append(appendQuoted(out, s.Before), `,"after":`...)
		out = append(appendQuoted(out, s.After), '}')
	}
	if len(j.State) > 0 {
		out = append(out, ']')
	}
	return append(out, "}\n"...), nil
}

// appendQuoted adds a text as a JSON string, as encoding/json does but for what is special in HTML; nil is null. Of a record of tens of thousands of files
// that one makes three copies.
func appendQuoted(b, text []byte) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	b = append(b, '"')
	done := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(append(b, text[done:]...), '"')
}

// DecodeJournal reads a journal. It fails with ErrSnapshotDamaged, also for a form that is newer than this one.
func DecodeJournal(data []byte) (Journal, error) {
	var f journalFile
	if err := json.Unmarshal(data, &f); err != nil {
		return Journal{}, deployment.ErrSnapshotDamaged.WithMessage("the journal is not valid: %v", err).WithCause(err)
	}
	if f.Version != journalVersion {
		return Journal{}, deployment.ErrSnapshotDamaged.WithMessage("the journal has version %d, and this program supports version %d", f.Version, journalVersion)
	}
	d, err := DecodeSnapshot(f.Snapshot)
	if err != nil {
		return Journal{}, err
	}
	j := Journal{Snapshot: d.Snapshot, Made: f.Made}
	for _, at := range f.Within {
		if at < 0 || at >= len(f.Bases) {
			return Journal{}, deployment.ErrSnapshotDamaged.WithMessage("the journal is not valid: it has no base %d", at)
		}
		j.Roots = append(j.Roots, f.Bases[at])
	}
	if len(j.Roots) != len(j.Changes) {
		return Journal{}, deployment.ErrSnapshotDamaged.WithMessage("the journal is not valid: %d changes have %d bases", len(j.Changes), len(j.Roots))
	}
	for _, p := range f.Pruned {
		j.Pruned = append(j.Pruned, Folder{p.Path, p.Mode.perm()})
	}
	for _, s := range f.State {
		j.State = append(j.State, Text{s.Name, bytesOf(s.Before), bytesOf(s.After)})
	}
	return j, nil
}

func bytesOf(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

// original is one entry of the registry of originals.
type original struct {
	Path     string         `json:"path"`
	Sum      deployment.Sum `json:"sha256"`
	Size     int64          `json:"bytes,omitempty"`
	Mode     *octal         `json:"mode,omitempty"`
	Link     string         `json:"link,omitempty"`
	Snapshot string         `json:"snapshot_id"`
	Settled  string         `json:"settled_by,omitempty"`
	Unproven bool           `json:"unproven,omitempty"`
}

// EncodeOriginals writes the registry of originals down, sorted by path; those of one path stay in their order.
func EncodeOriginals(all []deployment.Original) []byte {
	out := make([]original, 0, len(all))
	for _, o := range all {
		entry := original{Path: o.Path, Sum: o.Sum, Size: o.Size, Link: o.Link, Snapshot: o.Snapshot, Settled: o.Settled, Unproven: o.Unproven}
		if o.Kind == deployment.Regular {
			mode := octal(o.Mode)
			entry.Mode = &mode
		}
		out = append(out, entry)
	}
	slices.SortStableFunc(out, func(a, b original) int { return cmp.Compare(a.Path, b.Path) })
	return lines(out)
}

// DecodeOriginals reads the registry of originals; nothing is an empty one. It fails with ErrSnapshotDamaged.
func DecodeOriginals(data []byte) ([]deployment.Original, error) {
	var all []original
	if err := decode(data, &all); err != nil {
		return nil, err
	}
	var out []deployment.Original
	for _, o := range all {
		out = append(out, deployment.Original{Path: o.Path, Seen: seen(o.Sum, o.Size, o.Mode, o.Link), Snapshot: o.Snapshot, Settled: o.Settled, Unproven: o.Unproven})
	}
	return out, nil
}

// EncodePaths writes a sorted list of paths down.
func EncodePaths(paths []string) []byte { return lines(paths) }

// DecodePaths reads a list of paths; nothing is an empty one. It fails with ErrSnapshotDamaged.
func DecodePaths(data []byte) ([]string, error) {
	var all []string
	return all, decode(data, &all)
}

// lines is a JSON array with an entry a line.
func lines[T any](all []T) []byte {
	b := []byte{'['}
	for i, v := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(append(b, "\n  "...), v)
	}
	return append(b, "\n]\n"...)
}

func decode(data []byte, into any) error {
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return deployment.ErrSnapshotDamaged.WithMessage("the registry is not valid: %v", err).WithCause(err)
	}
	return nil
}
