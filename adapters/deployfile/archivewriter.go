package deployfile

import (
	"archive/zip"
	"bufio"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/countersign-dev/countersign/domain/deployment"
)

const buffer = 1 << 18 // bytes between two writes to an archive

// ArchiveWriter makes the archive of one operation. Nothing of it can be found before Commit. Put may run concurrently.
type ArchiveWriter struct {
	vault *Vault
	name  string // of the archive

	mu   sync.Mutex
	seen map[deployment.Sum]int64 // contents that were put, each with its length
	file *os.File                 // nil until there is something to write
	buf  *bufio.Writer
	zip  *zip.Writer
}

// Begin returns the only writer of that operation's archive.
func (v *Vault) Begin(operation string) *ArchiveWriter {
	return &ArchiveWriter{vault: v, name: operation + suffix, seen: map[deployment.Sum]int64{}}
}

// Put keeps the content, whose sum the caller has checked, unless it is kept already.
func (w *ArchiveWriter) Put(sum deployment.Sum, data []byte) error {
	kept, err := w.vault.Holds(sum)
	if kept || err != nil {
		return err
	}
	header := &zip.FileHeader{Name: sum.String(), Method: zip.Store, CRC32: crc32.ChecksumIEEE(data),
		CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, put := w.seen[sum]; put {
		return nil
	}
	if err := w.open(); err != nil {
		return err
	}
	entry, err := w.zip.CreateRaw(header)
	if err == nil {
		_, err = entry.Write(data)
	}
	if err == nil {
		w.seen[sum] = int64(len(data))
	}
	return err
}

// Size is the length of a content that was put.
func (w *ArchiveWriter) Size(sum deployment.Sum) (size int64, put bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	size, put = w.seen[sum]
	return size, put
}

// open makes the file when the first content comes.
func (w *ArchiveWriter) open() error {
	if w.file != nil {
		return nil
	}
	err := makeDir(w.vault.dir)
	if err != nil {
		return err
	}
	if w.file, err = os.OpenFile(w.temp(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode); err != nil {
		w.file = nil
		return err
	}
	w.buf = bufio.NewWriterSize(w.file, buffer)
	w.zip = zip.NewWriter(w.buf)
	return nil
}

func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func (w *ArchiveWriter) temp() string { return filepath.Join(w.vault.dir, w.name+".tmp") }

// Commit makes the archive durable and its contents available, and reports whether there is one: nothing put, no archive.
func (w *ArchiveWriter) Commit() (made bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return false, nil
	}
	err = w.zip.Close()
	if err == nil {
		err = w.buf.Flush()
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err == nil {
		err = os.Rename(w.temp(), filepath.Join(w.vault.dir, w.name))
	}
	w.file = nil
	if err != nil {
		return false, errors.Join(err, os.Remove(w.temp()))
	}
	if err := syncDir(w.vault.dir); err != nil {
		return false, err
	}
	w.vault.mu.Lock()
	defer w.vault.mu.Unlock()
	if w.vault.loaded {
		w.vault.fresh = append(w.vault.fresh, w.name)
	}
	return true, nil
}

// Has reports whether the content is kept already or was put.
func (w *ArchiveWriter) Has(sum deployment.Sum) (bool, error) {
	if _, put := w.Size(sum); put {
		return true, nil
	}
	return w.vault.Holds(sum)
}

// Abort forgets everything that was put. After Commit it does nothing.
func (w *ArchiveWriter) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return errors.Join(err, os.Remove(w.temp()))
}

// syncDir tolerates file systems that cannot sync a directory.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = f.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Keep drops every content that is not needed, and reports how many bytes came free. Archives are rewritten one by one, each in one step:
// whenever the process dies, everything needed is there. Damaged archives stay, for people to look at.
func (v *Vault) Keep(needed func(deployment.Sum) bool) (freed int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := errors.Join(v.forget(), v.load()); err != nil {
		return 0, err
	}
	for _, a := range v.open {
		free, err := v.shrink(a, needed)
		freed += free
		if err != nil {
			return freed, errors.Join(err, v.forget())
		}
	}
	return freed, errors.Join(v.forget(), v.synced())
}

func (v *Vault) synced() error {
	if err := syncDir(v.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// shrink rewrites one archive with what of it is needed and in no older one.
func (v *Vault) shrink(a *archive, needed func(deployment.Sum) bool) (freed int64, err error) {
	var keep []*zip.File
	for _, entry := range a.entries() {
		var sum deployment.Sum
		if sum.UnmarshalText([]byte(entry.Name)) == nil && v.held[sum].entry == entry && needed(sum) {
			keep = append(keep, entry)
		}
	}
	path := filepath.Join(v.dir, a.name)
	switch {
	case a.zip == nil || len(keep) == len(a.entries()) && len(keep) > 0:
		return 0, nil
	case len(keep) == 0:
		return a.size, os.Remove(path)
	}
	size, err := rewrite(path, keep)
	if err != nil {
		return 0, err
	}
	return a.size - size, nil
}

func rewrite(path string, keep []*zip.File) (size int64, err error) {
	temp := path + ".tmp"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return 0, err
	}
	buf := bufio.NewWriterSize(f, buffer)
	w := zip.NewWriter(buf)
	for _, entry := range keep {
		if err == nil {
			err = w.Copy(entry)
		}
	}
	if err == nil {
		err = errors.Join(w.Close(), buf.Flush())
	}
	if err == nil {
		err = f.Sync()
	}
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(temp))
	}
	return info.Size(), nil
}
