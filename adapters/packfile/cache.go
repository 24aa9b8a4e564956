package packfile

import (
	"io/fs"
	"os"
	"sync"

	"github.com/countersign-dev/countersign/domain/pack"
)

// A store keeps so many of the packs it read last, of files up to so many bytes: agents ask for one pack many times in a row, and decoding it
// costs a hundred times what one look at its file does.
const (
	recentPacks = 16
	recentBytes = 256 << 10
)

// recent remembers packs by id. The file system is the truth: a pack is believed only while its file's identity, size and time stamp are what
// they were when it was read.
type recent struct {
	mu   sync.Mutex
	kept []kept // the last used last
}

type kept struct {
	pack *pack.Pack // never handed out
	info fs.FileInfo
}

// get returns a copy of the remembered pack, or nil when its file at path is not the one that was read. It follows symbolic links out of the store,
// which is harmless: what it remembers was read inside.
func (r *recent) get(id pack.ID, path string) *pack.Pack {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, k := range r.kept {
		if k.pack.ID() != id {
			continue
		}
		copy(r.kept[i:], r.kept[i+1:])
		r.kept[len(r.kept)-1] = k
		if now, err := os.Stat(path); err != nil || !same(k.info, now) {
			r.kept = r.kept[:len(r.kept)-1]
			return nil
		}
		return k.pack.Clone()
	}
	return nil
}

// put remembers a copy of a pack that has just been read from the file that info describes.
func (r *recent) put(p *pack.Pack, info fs.FileInfo) {
	if info.Size() > recentBytes || !settled(info) {
		return
	}
	p = p.Clone()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, k := range r.kept {
		if k.pack.ID() == p.ID() { // another process was faster
			r.kept[i] = kept{p, info}
			return
		}
	}
	if len(r.kept) == recentPacks {
		r.kept = append(r.kept[:0], r.kept[1:]...)
	}
	r.kept = append(r.kept, kept{p, info})
}
