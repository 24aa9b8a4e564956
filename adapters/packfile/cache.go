package packfile

import (
	"bytes"
	"os"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/domain/pack"
)

// A store keeps so many of the packs it read or wrote last, of files of so many bytes together: agents work on one pack many times in a row, and decoding
// it costs a hundred times what reading its file does.
const (
	recentPacks = 16
	recentBytes = 8 << 20
)

// recent remembers packs by id. The file system is the truth: a pack is believed while its file's identity, size and both its times are what they were
// when it was read, and the read came late enough after them; else while the file's bytes are the ones that were decoded.
type recent struct {
	mu   sync.Mutex
	kept []kept // the last used last
	size int
}

type kept struct {
	pack  *pack.Pack // never handed out
	data  []byte     // of its file
	stamp stamp
	sure  bool // a later change of the file would show in its stamp
}

// unchanged returns a copy of the remembered pack, or nil when its file at path is surely not known to be the one that was read. It follows symbolic
// links out of the store, which is harmless: what it remembers was read inside.
func (r *recent) unchanged(id pack.ID, path string) *pack.Pack {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.find(id)
	if k == nil || !k.sure {
		return nil
	}
	if now, err := os.Stat(path); err != nil || !k.stamp.is(now) {
		return nil
	}
	return k.pack.Clone()
}

// decoded returns a copy of the pack that was decoded from these very bytes, or nil.
func (r *recent) decoded(id pack.ID, data []byte, at stamp, sure bool) *pack.Pack {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.find(id)
	if k == nil || !bytes.Equal(k.data, data) {
		return nil
	}
	k.stamp, k.sure = at, sure
	return k.pack.Clone()
}

// summary returns the summary of the remembered pack when these very bytes, of the file of that name, are the ones that it was decoded from or written as. A list
// uses nothing: what was used last stays.
func (r *recent) summary(file string, data []byte) (s pack.Summary, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.kept {
		if k := &r.kept[i]; string(k.pack.ID())+packSuffix == file && bytes.Equal(k.data, data) {
			return k.pack.Summary(), true
		}
	}
	return pack.Summary{}, false
}

// find returns the entry of a pack, which becomes the one used last.
func (r *recent) find(id pack.ID) *kept {
	i := slices.IndexFunc(r.kept, func(k kept) bool { return k.pack.ID() == id })
	if i < 0 {
		return nil
	}
	k := r.kept[i]
	r.kept = append(slices.Delete(r.kept, i, i+1), k)
	return &r.kept[len(r.kept)-1]
}

// put remembers a copy of a pack and the bytes of its file; at is the stamp of the file that they were read from.
func (r *recent) put(p *pack.Pack, data []byte, at stamp, sure bool) {
	k := kept{p.Clone(), data, at, sure}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.find(p.ID()); old != nil {
		r.size -= len(old.data)
		r.kept = r.kept[:len(r.kept)-1]
	}
	if len(data) > recentBytes/2 {
		return
	}
	r.kept, r.size = append(r.kept, k), r.size+len(data)
	for len(r.kept) > recentPacks || r.size > recentBytes {
		r.size -= len(r.kept[0].data)
		r.kept = slices.Delete(r.kept, 0, 1)
	}
}
