package observe

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
)

const (
	// RacyWindow is how long a file must have been left alone before its sum is remembered. A change within one tick of the file
	// system's clock leaves every time stamp as it was; two seconds is the coarsest tick in use (FAT's).
	RacyWindow = 2 * time.Second

	maxIdle = 5        // indexes that may save before an entry drops out that none of them was asked for
	maxFile = 64 << 20 // bytes of an index file that is read; larger ones count as empty
)

// Index is a set of remembered sums. Methods may be called from many goroutines.
//
// Several processes may share one file: the last one to save wins, which costs the others some hashing and nothing else.
type Index struct {
	file string
	now  func() time.Time

	load   sync.Once
	saving sync.Mutex // one at a time
	spare  sync.Pool  // of *hasher

	mu      sync.RWMutex
	folders map[string]*folder // by path
	changed bool               // since the last save
}

// folder is the remembered files of one directory: most files have many beside them, and are asked for together.
type folder struct {
	path    string       // up to the names, with the last separator
	entries []indexEntry // sorted by name
}

// indexEntry is one remembered file.
type indexEntry struct {
	name  string
	stamp stamp
	sum   deployment.Sum
	used  uint32 // atomic: 1 once it was asked for
	idle  uint8  // indexes that saved since it was last asked for, this one not counted
}

// find is the place of a name's entry, or where it would be. guess is tried first.
func (f *folder) find(name string, guess int) (int, bool) {
	if guess < len(f.entries) && f.entries[guess].name == name {
		return guess, true
	}
	if n := len(f.entries); n == 0 || f.entries[n-1].name < name {
		return n, false
	}
	return slices.BinarySearchFunc(f.entries, name, func(e indexEntry, name string) int { return strings.Compare(e.name, name) })
}

// split is where a path's folder ends and its name begins.
func split(path string) int { return strings.LastIndexByte(path, filepath.Separator) + 1 }

// stamp is what has to agree for a file to be the one that was hashed. The zero stamp agrees with nothing.
type stamp struct {
	size, mtime, ctime int64 // bytes, and nanoseconds since 1970
	inode, device      uint64
}

// racy reports a file that changed so recently that it could change again without showing it. A time in the future is just as useless.
func (s stamp) racy(now time.Time) bool {
	return s == stamp{} || now.UnixNano()-max(s.mtime, s.ctime) < int64(RacyWindow)
}

// OpenIndex is the index that is kept in file, or in memory only when file is "". Nothing is read before the first use; a file that is
// missing, damaged, foreign or of another version counts as empty.
func OpenIndex(file string) *Index { return OpenIndexWithClock(file, time.Now) }

// OpenIndexWithClock is Open with a clock of the caller's.
func OpenIndexWithClock(file string, now func() time.Time) *Index {
	return &Index{file: file, now: now}
}

// Load reads the index's file, which the first use does otherwise.
func (x *Index) Load() { x.load.Do(x.read) }

// stat is what the file system says of one path.
type stat struct {
	Mode  fs.FileMode
	Size  int64
	stamp stamp
}

// StatOf is what info says. Where the system behind info tells no inodes, nothing is ever remembered for it.
func StatOf(info fs.FileInfo) stat {
	return stat{Mode: info.Mode(), Size: info.Size(), stamp: stampOf(info)}
}

// Sum is the sum of the file at path, of which info was just taken: see SumOf.
func (x *Index) Sum(path string, info fs.FileInfo) (deployment.Sum, error) {
	return x.SumOf(path, StatOf(info))
}

// SumOf is the sum of the file at path, a symbolic link followed, of which st was just taken. It is remembered when the file had
// been left alone for RacyWindow and did not change while it was read. Errors of the file system come as they are, a path that is no
// regular file is deployment.ErrPath.
func (x *Index) SumOf(path string, st stat) (deployment.Sum, error) {
	e := Statter{index: x}
	defer e.Close()
	return e.SumOf(path, st)
}

// Known is the remembered sum of the file at path, if st is what it was when it was hashed.
func (x *Index) Known(path string, st stat) (deployment.Sum, bool) {
	e := Statter{index: x}
	return e.known(path, st)
}

// Put remembers a sum that the caller knows, having read or written the very file that info describes. It is quietly not remembered
// when the file changed within RacyWindow, which is to say: right after it was written.
func (x *Index) Put(path string, info fs.FileInfo, sum deployment.Sum) {
	if info.Mode().IsRegular() {
		x.keep(path, StatOf(info), sum, x.now())
	}
}

func (x *Index) keep(path string, st stat, sum deployment.Sum, now time.Time) {
	if st.stamp.racy(now) || path == "" || len(path) > indexMaxPath {
		return
	}
	x.Load()
	x.mu.Lock()
	defer x.mu.Unlock()
	n := split(path)
	f := x.folders[path[:n]]
	if f == nil {
		f = &folder{path: strings.Clone(path[:n])} // the caller's path may be a piece of something large
		x.folders[f.path] = f
	}
	i, ok := f.find(path[n:], len(f.entries))
	if !ok {
		f.entries = slices.Insert(f.entries, i, indexEntry{name: strings.Clone(path[n:])})
	}
	e := &f.entries[i]
	if e.stamp != st.stamp || e.sum != sum {
		e.stamp, e.sum, x.changed = st.stamp, sum, true
	}
	e.used = 1
}

func (x *Index) read() {
	x.folders = map[string]*folder{}
	if x.file == "" {
		return
	}
	data, _, err := docfile.NewDir(filepath.Dir(x.file)).Read(filepath.Base(x.file), maxFile)
	if err != nil {
		return
	}
	folders, ok := decode(data)
	if !ok {
		return
	}
	x.folders = make(map[string]*folder, len(folders))
	for i := range folders {
		x.folders[folders[i].path] = &folders[i]
	}
}

// Save writes the index, atomically, when something new was remembered since the last time. Entries that nobody asked for during the
// lives of the last five indexes that saved are left out. It does not wait for the disk: a file torn by a crash counts as empty. Errors
// of the file system come as they are; the index goes on working.
func (x *Index) Save() error {
	x.saving.Lock()
	defer x.saving.Unlock()
	folders := x.news()
	if len(folders) == 0 {
		return nil
	}
	err := write(x.file, encode(folders))
	if err != nil {
		x.mu.Lock()
		x.changed = true
		x.mu.Unlock()
	}
	return err
}

// Close saves. The index may be used again.
func (x *Index) Close() error { return x.Save() }

// news is what to write, sorted; nothing when it is written already.
func (x *Index) news() []folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.changed || x.file == "" {
		return nil
	}
	x.changed = false
	out := make([]folder, 0, len(x.folders))
	for _, f := range x.folders {
		kept := make([]indexEntry, 0, len(f.entries))
		for _, e := range f.entries {
			if e.idle++; e.used != 0 {
				e.idle = 0
			}
			if e.idle < maxIdle {
				kept = append(kept, e)
			}
		}
		if len(kept) > 0 {
			out = append(out, folder{f.path, kept})
		}
	}
	slices.SortFunc(out, func(a, b folder) int { return strings.Compare(a.path, b.path) })
	return out
}

// write replaces the file in one step.
func write(file string, data []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already when all went well
	if _, err = temp.Write(data); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
