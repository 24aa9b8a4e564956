package deployfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/domain/deployment"
)

const (
	suffix     = ".zip"
	tempSuffix = ".zip.tmp"

	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Vault is the archives of one directory, which need not exist. Archives are looked into when something is asked for; those made by others
// since are seen by a new Vault. Methods may run concurrently, except for Close, Remove and Keep.
type Vault struct {
	dir string

	mu     sync.Mutex
	loaded bool
	held   map[deployment.Sum]place
	open   []*archive
	fresh  []string // archives made since the others were looked into
}

// archive is one file of the vault. Damaged ones hold nothing.
type archive struct {
	name string
	file *os.File
	size int64
	zip  *zip.Reader
}

// place is where a content is.
type place struct {
	in    *archive
	entry *zip.File
}

// NewVault is the vault in that directory.
func NewVault(dir string) *Vault { return &Vault{dir: dir} }

// Dir is where the vault is.
func (v *Vault) Dir() string { return v.dir }

// File is the path of the archive of an operation, whether there is one or not.
func (v *Vault) File(operation string) string { return filepath.Join(v.dir, operation+suffix) }

// Close gives up the files that are open. The vault may be used again.
func (v *Vault) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.forget()
}

func (v *Vault) forget() error {
	errs := make([]error, len(v.open))
	for i, a := range v.open {
		errs[i] = a.file.Close()
	}
	v.open, v.held, v.fresh, v.loaded = nil, nil, nil, false
	return errors.Join(errs...)
}

// Holds reports whether the content is kept, without reading it.
func (v *Vault) Holds(sum deployment.Sum) (bool, error) {
	_, ok, err := v.find(sum)
	return ok, err
}

// Where is the path of the archive that holds the content, and what to look for in it, as one text; empty when it is not kept.
func (v *Vault) Where(sum deployment.Sum) (string, error) {
	at, ok, err := v.find(sum)
	if !ok || err != nil {
		return "", err
	}
	return filepath.Join(v.dir, at.in.name) + "#" + sum.String(), nil
}

// Blob is the content, checked against its sum: fs.ErrNotExist when it is not kept, ErrSnapshotDamaged when it is not what it was.
func (v *Vault) Blob(sum deployment.Sum) ([]byte, error) { return v.BlobIn(nil, sum) }

// BlobIn is Blob in the room of another text, where it is large enough.
func (v *Vault) BlobIn(room []byte, sum deployment.Sum) ([]byte, error) {
	at, ok, err := v.find(sum)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("content %s is not in %s: %w", sum, v.dir, fs.ErrNotExist)
	}
	data, err := at.read(room)
	if err != nil || deployment.SumOf(data) != sum {
		return nil, deployment.ErrSnapshotDamaged.WithMessage("content %s in %s is damaged; the snapshots that need it cannot be used",
			sum, filepath.Join(v.dir, at.in.name)).WithCause(err)
	}
	return data, nil
}

func (p place) read(room []byte) ([]byte, error) {
	if p.entry.UncompressedSize64 > uint64(p.in.size) {
		return nil, zip.ErrFormat // nothing is compressed, so nothing is larger than its archive
	}
	begin, err := p.entry.DataOffset()
	if err != nil {
		return nil, err
	}
	data := slices.Grow(room[:0], int(p.entry.UncompressedSize64))[:p.entry.UncompressedSize64]
	_, err = p.in.file.ReadAt(data, begin)
	return data, err
}

func (v *Vault) find(sum deployment.Sum) (place, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.load(); err != nil {
		return place{}, false, err
	}
	at, ok := v.held[sum]
	return at, ok, nil
}

// load looks into every archive, oldest first, so that what two of them hold is found in the older one.
func (v *Vault) load() error {
	names, err := v.fresh, error(nil)
	if !v.loaded {
		if names, err = v.names(); err != nil {
			return err
		}
		v.held = map[deployment.Sum]place{}
	}
	for _, name := range names {
		a, err := openArchive(v.dir, name)
		if err != nil {
			_ = v.forget()
			return err
		}
		v.add(a)
	}
	v.loaded, v.fresh = true, nil
	return nil
}

func (v *Vault) add(a *archive) {
	v.open = append(v.open, a)
	for _, entry := range a.entries() {
		var sum deployment.Sum
		if entry.Method != zip.Store || sum.UnmarshalText([]byte(entry.Name)) != nil {
			continue
		}
		if _, known := v.held[sum]; !known {
			v.held[sum] = place{a, entry}
		}
	}
}

// names are the archives there are, in the order in which they were made.
func (v *Vault) names() ([]string, error) {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // names are decimal numbers
		}
		return strings.Compare(a, b)
	})
	return names, nil
}

// Operations are the operations that have an archive, oldest first.
func (v *Vault) Operations() ([]string, error) {
	names, err := v.names()
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, suffix)
	}
	return names, err
}

// openArchive reads an archive's directory. An archive that is damaged counts as an empty one: what it held is stored again when it comes by.
func openArchive(dir, name string) (*archive, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a := &archive{name: name, file: f, size: info.Size()}
	if r, err := zip.NewReader(f, info.Size()); err == nil {
		a.zip = r
	}
	return a, nil
}

func (a *archive) entries() []*zip.File {
	if a.zip == nil {
		return nil
	}
	return a.zip.File
}

// Remove deletes the archive of an operation that left nothing behind. One that is not there is no error.
func (v *Vault) Remove(operation string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.forget(); err != nil {
		return err
	}
	if err := os.Remove(v.File(operation)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep removes what writers that died left behind.
func (v *Vault) Sweep() error {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempSuffix) {
			err = errors.Join(err, os.Remove(filepath.Join(v.dir, e.Name())))
		}
	}
	return err
}
