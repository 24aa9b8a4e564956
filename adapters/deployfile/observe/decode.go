package observe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// DecodeManifest is what data says as a manifest of root.Target in root.Path. Fields that are not known are passed over. It fails with
// ErrBadManifest for what is no JSON, of another version or another target's; entries that cannot be used are left out with a warning
// each.
func DecodeManifest(data []byte, root deployment.Root) (Manifest, []string, error) {
	c := newCollector(root, len(data))
	doc, plain := scan(data, c.add)
	if !plain {
		c, doc = newCollector(root, len(data)), document{}
		if err := json.Unmarshal(data, &doc); err != nil {
			return Manifest{}, nil, ErrBadManifest.WithMessage("it is not a valid manifest: %v", err)
		}
		for i := range doc.Files {
			c.add(&doc.Files[i])
		}
	}
	switch {
	case doc.Version != version:
		return Manifest{}, nil, ErrBadManifest.WithMessage("its schema_version is %d, and only %d is supported", doc.Version, version)
	case doc.Tool != root.Target:
		return Manifest{}, nil, ErrBadManifest.WithMessage("its tool is %q, not %q", doc.Tool, root.Target).WithCause(errOther)
	}
	m := Manifest{Target: doc.Tool, Root: root.Path, SnapshotID: doc.SnapshotID, Recorded: doc.Root, Repo: doc.Repo, Files: c.files}
	if at, err := time.Parse(time.RFC3339Nano, doc.GeneratedAt); err == nil {
		m.GeneratedAt = at.UTC()
	}
	return m, c.skipped.all(), nil
}

// collector makes what is owned out of entries.
type collector struct {
	root    deployment.Root
	base    string // its path, clean
	files   []deployment.Owned
	known   map[claim]bool // only once they come out of order: sorted ones cannot come twice
	modules []string       // of the last entry: they mostly repeat
	skipped complaints
}

// newCollector has room for about as many entries as fit in a file of size bytes.
func newCollector(root deployment.Root, size int) *collector {
	const each, most = 150, 1 << 15 // more is only made for what are entries
	return &collector{root: root, base: filepath.Clean(root.Path), files: make([]deployment.Owned, 0, min(size/each+1, most))}
}

func (c *collector) add(e *entry) {
	f, problem := e.owned(c.base)
	if problem == "" && c.known == nil && !follows(c.files, f) {
		c.known = make(map[claim]bool, cap(c.files))
		for i := range c.files {
			c.known[claim{c.files[i].Path, c.files[i].Owner}] = true
		}
	}
	if problem == "" && c.known[claim{f.Path, f.Owner}] {
		problem = "it is listed twice"
	}
	if problem != "" {
		c.skipped.add(e.Path, problem)
		return
	}
	if c.known != nil {
		c.known[claim{f.Path, f.Owner}] = true
	}
	f.Target, f.Root, f.Modules = c.root.Target, c.root.Path, c.shared(e.Modules)
	c.files = append(c.files, f)
}

// shared is a list that is not the entry's: the last one again, if it says the same.
func (c *collector) shared(modules []string) []string {
	if modules == nil || c.modules == nil || !slices.Equal(modules, c.modules) {
		c.modules = slices.Clone(modules)
		for i, m := range c.modules {
			c.modules[i] = strings.Clone(m) // it is a piece of the whole text
		}
	}
	return c.modules
}

// complaints are the entries that were skipped. The first few are named; a manifest that is nonsense must not drown everything else.
type complaints struct {
	named []string
	more  int
}

func (c *complaints) add(path, problem string) {
	if len(c.named) == maxNamed {
		c.more++
		return
	}
	c.named = append(c.named, fmt.Sprintf("the entry %.200q is skipped: %s", path, problem))
}

func (c *complaints) all() []string {
	if c.more == 0 {
		return c.named
	}
	return append(c.named, fmt.Sprintf("%d more entries are skipped", c.more))
}

// claim is what may be listed once.
type claim struct {
	path  string
	owner deployment.Owner
}

// follows reports an entry that comes after all of files, when those are sorted.
func follows(files []deployment.Owned, f deployment.Owned) bool {
	if len(files) == 0 {
		return true
	}
	last := &files[len(files)-1]
	return cmp.Or(cmp.Compare(last.Path, f.Path), cmp.Compare(last.Owner, f.Owner)) < 0
}

// UnmarshalJSON stops at more entries than any root has files: a manifest may come with somebody else's repository.
func (es *entries) UnmarshalJSON(data []byte) error {
	*es = nil
	if string(data) == "null" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return errors.New("managed_files is not a list")
	}
	*es = entries{}
	for decoder.More() {
		if len(*es) == maxFiles {
			return fmt.Errorf("it lists more than %d files", maxFiles)
		}
		var e entry
		if err := decoder.Decode(&e); err != nil {
			return err
		}
		*es = append(*es, e)
	}
	return nil
}

// owned returns the entry below base, without its target and root, or its problem.
func (e *entry) owned(base string) (deployment.Owned, string) {
	rel, problem := inside(e.Path)
	if problem == "" && (len(base)+len(rel)+2 > maxPath || longName(rel)) {
		problem = "it exceeds the maximum length of a path"
	}
	if problem != "" {
		return deployment.Owned{}, problem
	}
	f := deployment.Owned{Path: below(base, rel), Mode: deployment.PlainMode, Owner: e.Owner, Part: e.Part, Made: e.Made, Created: e.Created, Claim: min(e.Claim, deployment.Unproven)}
	if !parse(&f.Sum, e.Sum) || !parse(&f.PartSum, e.PartSum) || !parse(&f.Over, e.Over) {
		return deployment.Owned{}, "one of its checksums is not 64 hex digits"
	}
	if e.Mode != "" {
		if bits, err := strconv.ParseUint(e.Mode, 8, 32); err == nil {
			f.Mode = deployment.ModeOf(fs.FileMode(bits))
		}
	}
	if f.Part != nil {
		for i := range f.Part.Keys {
			f.Part.Keys[i].Value = compact(f.Part.Keys[i].Value)
		}
	}
	return f, ""
}

// longName reports a component that no file system has room for.
func longName(rel string) bool {
	for len(rel) > maxName {
		i := strings.IndexByte(rel, '/')
		if i < 0 || i > maxName {
			return true
		}
		rel = rel[i+1:]
	}
	return false
}

// below is the native path of rel in base; both are clean.
func below(base, rel string) string {
	rel = filepath.FromSlash(rel)
	if strings.HasSuffix(base, string(filepath.Separator)) { // the top of a file system
		return base + rel
	}
	return base + string(filepath.Separator) + rel
}

// parse is Sum.UnmarshalText without a copy on the heap.
func parse(sum *deployment.Sum, text string) bool {
	var digits [2 * len(deployment.Sum{})]byte
	return len(text) <= len(digits) && sum.UnmarshalText(digits[:copy(digits[:], text)]) == nil
}

// compact takes the file's indentation out of a value again.
func compact(value json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return value
	}
	return out.Bytes()
}
