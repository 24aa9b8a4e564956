package observe

import (
	"sync/atomic"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Statter looks at many files for one goroutine. Files of one directory, one after the other in the order of their names, it sees much faster
// than Lstat and SumOf would; in any other order it does no harm. What it keeps of a directory it keeps until the next one, so it is made
// for one look around and closed then.
type Statter struct {
	index  *Index
	dir    directory
	folder *folder // the last one; nil when nothing of that path was remembered
	path   string  // of that folder
	next   int     // where the next file's entry is, if that is the next in order
}

// NewStatter is a new one.
func (x *Index) NewStatter() *Statter { return &Statter{index: x} }

// Lstat is what the file system says of path itself, links not followed: see Lstat.
func (e *Statter) Lstat(path string) (stat, error) { return e.dir.lstat(path) }

// SumOf is the sum of the file at path, of which st was just taken: see Index.SumOf.
func (e *Statter) SumOf(path string, st stat) (deployment.Sum, error) {
	if sum, ok := e.known(path, st); ok {
		return sum, nil
	}
	h := e.index.hasher()
	defer e.index.spare.Put(h)
	now := e.index.now() // before reading: what is written from here on gets a later time than this
	f, err := e.dir.open(path)
	if err != nil {
		return deployment.Sum{}, err
	}
	sum, read, err := h.file(f, path)
	if err == nil {
		e.index.keep(path, read, sum, now)
	}
	return sum, err
}

// known is Index.Known.
func (e *Statter) known(path string, st stat) (deployment.Sum, bool) {
	if st.stamp == (stamp{}) {
		return deployment.Sum{}, false
	}
	x, n := e.index, split(path)
	x.Load()
	x.mu.RLock()
	defer x.mu.RUnlock()
	if e.folder == nil || e.path != path[:n] {
		e.folder, e.path, e.next = x.folders[path[:n]], path[:n], 0
		if e.folder == nil {
			return deployment.Sum{}, false
		}
	}
	i, ok := e.folder.find(path[n:], e.next)
	if e.next = i + 1; !ok || e.folder.entries[i].stamp != st.stamp {
		return deployment.Sum{}, false
	}
	remembered := &e.folder.entries[i]
	if atomic.LoadUint32(&remembered.used) == 0 {
		atomic.StoreUint32(&remembered.used, 1)
	}
	return remembered.sum, true
}

// Close releases the directory. The Statter may be used again.
func (e *Statter) Close() { e.dir.close() }
