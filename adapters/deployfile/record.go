package deployfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// maxID is how long an identifier may be, in bytes.
const maxID = 64

// ValidID reports text that may be part of a file name: letters, digits, - and _ of ASCII. Our own identifiers are decimal numbers; those of
// other tools may be words.
func ValidID(id string) bool {
	return id != "" && len(id) <= maxID && deployment.SafeName(id) == id
}

// CompareIDs orders identifiers: numbers by value, then words.
func CompareIDs(a, b string) int {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	switch {
	case errX == nil && errY == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// SnapshotRecord is a snapshot with where its contents are.
type SnapshotRecord struct {
	deployment.Snapshot
	BackupRoot string                          // the vault's directory
	Where      func(sum deployment.Sum) string // where a content is kept, for people who have only the record
	Room       int                             // bytes of the journal besides the record, about
}

// encoded is a record in its form on disk, behind what a journal begins with. All but its status stays as it is while an operation goes on.
type encoded struct {
	text          []byte // journalHead, the record of an operation that is going on, and room for the rest of the journal
	status, after int    // where the status is, and what comes after it
}

// parts is the record with that status.
func (e encoded) parts(s deployment.SnapshotStatus) [][]byte {
	return [][]byte{e.text[len(journalHead):e.status], []byte(s), e.text[e.after:]}
}

// As is the record with that status.
func (e encoded) As(s deployment.SnapshotStatus) []byte { return slices.Concat(e.parts(s)...) }

// Sum is the sum of the record with that status.
func (e encoded) Sum(s deployment.SnapshotStatus) (sum deployment.Sum) {
	h := sha256.New()
	for _, part := range e.parts(s) {
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}

// EncodeSnapshot writes a record down. The contract's fields come first and in its order; what else there is to say is left out when it is empty.
func EncodeSnapshot(r SnapshotRecord) encoded {
	w := &writer{b: append(make([]byte, 0, 1024+360*len(r.Managed)+420*len(r.Changes)+r.Room), journalHead...)}
	w.begin('{')
	w.text("kind", string(r.Kind))
	w.text("id", r.ID)
	w.text("created_at", r.CreatedAt.UTC().Format(time.RFC3339Nano))
	w.texts("targets", r.Targets)
	if len(r.Managed) > 0 {
		w.key("managed_files")
		w.begin('[')
		for _, f := range r.Managed {
			w.owned(f)
		}
		w.end(']')
	}
	w.key("changes")
	w.begin('[')
	for _, c := range r.Changes {
		w.change(c, r.Where)
	}
	w.end(']')
	w.optional("rolled_back_to", r.RolledBackTo)
	w.key("lockfile_sha256")
	if r.Lock.IsZero() {
		w.raw("null")
	} else {
		w.quote(r.Lock.String())
	}
	w.text("backup_root", r.BackupRoot)
	w.key("status")
	w.raw(`"`)
	e := encoded{status: len(w.b)}
	w.raw(string(deployment.StatusApplying))
	e.after = len(w.b)
	w.raw(`"`)
	w.roots(r.Roots)
	w.optional("project_root", r.ProjectRoot)
	w.optional("profile", r.Profile)
	w.optional("repo", r.Repo)
	w.end('}')
	e.text = append(w.b, '\n')
	return e
}

func (w *writer) roots(roots []deployment.Root) {
	if len(roots) == 0 {
		return
	}
	w.key("roots")
	w.begin('[')
	for _, r := range roots {
		w.item()
		w.begin('{')
		w.text("target", r.Target)
		w.text("path", r.Path)
		w.key("scan_extras")
		w.raw(strconv.FormatBool(r.ScanExtras))
		w.end('}')
	}
	w.end(']')
}

func (w *writer) owned(f deployment.Owned) {
	w.item()
	w.begin('{')
	w.text("target", f.Target)
	w.text("path", f.Path)
	w.text("sha256", f.Sum.String())
	if f.Mode != 0 && f.Mode != deployment.PlainMode {
		w.text("mode", octal(f.Mode).String())
	}
	if len(f.Modules) > 0 {
		w.texts("module_ids", f.Modules)
	}
	w.optional("root", f.Root)
	w.optional("owner", string(f.Owner))
	if f.Part != nil {
		w.value("part", f.Part)
	}
	w.optional("part_sha256", f.PartSum.String())
	if len(f.Made) > 0 {
		w.value("made", f.Made)
	}
	if f.Created {
		w.key("created")
		w.raw("true")
	}
	w.end('}')
}

func (w *writer) change(c deployment.SnapshotRecord, where func(deployment.Sum) string) {
	w.item()
	w.begin('{')
	w.text("target", c.Target)
	w.text("op", string(c.Op))
	w.text("path", c.Path)
	if c.Before.Kind == deployment.Regular && where != nil {
		w.optional("backup_path", where(c.Before.Sum))
	}
	w.optional("before_sha256", c.Before.Sum.String())
	w.optional("after_sha256", c.After.Sum.String())
	w.seen("before_", c.Before)
	w.seen("after_", c.After)
	w.end('}')
}

// seen is what of a sight the contract has no field for.
func (w *writer) seen(prefix string, s deployment.Seen) {
	switch s.Kind {
	case deployment.Regular:
		w.key(prefix + "bytes")
		w.b = strconv.AppendInt(w.b, s.Size, 10)
		w.text(prefix+"mode", octal(s.Mode).String())
	case deployment.Link:
		w.text(prefix+"link", s.Link)
	}
}

// writer writes pretty JSON, two spaces a level. A value that fails to be written is null; none of ours does.
type writer struct {
	b     []byte
	depth int
	some  bool // something was written on this level
}

func (w *writer) raw(s string) { w.b = append(w.b, s...) }

func (w *writer) begin(c byte) {
	w.b = append(w.b, c)
	w.depth++
	w.some = false
}

func (w *writer) end(c byte) {
	w.depth--
	if w.some {
		w.line()
	}
	w.b = append(w.b, c)
	w.some = true
}

const blanks = "\n                "

func (w *writer) line() { w.raw(blanks[:1+2*w.depth]) }

// item begins the next entry of an array or object.
func (w *writer) item() {
	if w.some {
		w.b = append(w.b, ',')
	}
	w.line()
	w.some = true
}

func (w *writer) key(name string) {
	w.item()
	w.b = append(append(append(w.b, '"'), name...), `": `...)
}

func (w *writer) text(name, value string) {
	w.key(name)
	w.quote(value)
}

func (w *writer) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) texts(name string, values []string) {
	w.key(name)
	w.begin('[')
	for _, v := range values {
		w.item()
		w.quote(v)
	}
	w.end(']')
}

func (w *writer) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			w.b = appendValue(w.b, s)
			return
		}
	}
	w.b = append(append(append(w.b, '"'), s...), '"')
}

func (w *writer) value(name string, v any) {
	w.key(name)
	w.b = appendValue(w.b, v)
}

func appendValue(b []byte, v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return append(b, "null"...)
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// octal is permission bits as people write them.
type octal fs.FileMode

func (o octal) String() string {
	text := "0000" + strconv.FormatUint(uint64(fs.FileMode(o).Perm()), 8)
	return text[len(text)-4:]
}

func (o octal) perm() fs.FileMode { return fs.FileMode(o) }

// MarshalText is four octal digits.
func (o octal) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads octal digits.
func (o *octal) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil || n > uint64(fs.ModePerm) {
		return deployment.ErrSnapshotDamaged.WithMessage("%q are not permission bits", text)
	}
	*o = octal(n)
	return nil
}
