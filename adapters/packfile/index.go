package packfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/pack"
)

// index remembers the summary of every pack file, so that a list costs one look at each file instead of reading it. The file system is the truth:
// refresh believes a summary only while the file's identity, size and both its times are what they were when it was read.
type index struct {
	mu      sync.Mutex
	entries map[string]*entry // by file name
	order   []*entry          // by file name, hence by id
	pass    uint64            // of refresh; marks what it has seen
	temps   bool              // refresh saw files of writers, dead or alive, or could not look

	file       string // of the listing; empty where there is none
	recalled   bool
	unrecorded int // entries that were read since the listing was written
}

type entry struct {
	file    string
	stamp   stamp // of the file that was read
	settled bool
	summary pack.Summary
	damage  error // why the file is no readable pack; the summary is void then
	pass    uint64
}

func (e *entry) current(info fs.FileInfo) bool { return e.settled && e.stamp.is(info) }

// Lookup implements packport.Reader.
func (s *Store) Lookup(ctx context.Context, name pack.Name) ([]pack.Summary, error) {
	return s.list(ctx, func(p *pack.Summary) bool { return string(p.Name) == string(name) })
}

// List implements packport.Reader. Now and then it also deletes the files of expired packs.
func (s *Store) List(ctx context.Context) ([]pack.Summary, error) { return s.list(ctx, nil) }

func (s *Store) list(ctx context.Context, want func(*pack.Summary) bool) ([]pack.Summary, error) {
	found, expired, temps, err := s.collect(ctx, want)
	s.clean(expired, temps)
	return found, err
}

// collect brings the index up to date and picks the live packs that are wanted; nil wants all. It fails when any file is damaged, and says
// even then which packs have expired, and whether writers may have left files.
func (s *Store) collect(ctx context.Context, want func(*pack.Summary) bool) (found []pack.Summary, expired []pack.ID, temps bool, err error) {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	if err := s.refresh(ctx); err != nil {
		return nil, nil, s.index.temps, err
	}
	now := s.clock.Now()
	found = []pack.Summary{}
	if want == nil {
		found = make([]pack.Summary, 0, len(s.index.order))
	}
	var damage error
	for _, e := range s.index.order {
		switch {
		case e.damage != nil:
			damage = cmp.Or(damage, e.damage)
		case pack.Expired(e.summary.ExpiresAt, now):
			expired = append(expired, e.summary.ID)
		case want == nil || want(&e.summary):
			found = append(found, e.summary)
		}
	}
	if damage != nil {
		return nil, expired, s.index.temps, damage
	}
	return found, expired, s.index.temps, nil
}

// refresh looks at every pack file and reads those that changed. The caller holds the index's lock.
func (s *Store) refresh(ctx context.Context) error {
	s.index.temps = true
	if err := ctx.Err(); err != nil {
		return err
	}
	x := &s.index
	x.recall()
	x.pass++
	seen, stale, temps := 0, []*entry(nil), false
	err := s.dir.Scan(packsDir, func(file string, look func() (fs.FileInfo, error)) error {
		if !strings.HasSuffix(file, packSuffix) {
			temps = temps || docfile.IsTemp(file)
			return nil
		}
		info, err := look()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil
		}
		e := x.entries[file]
		if e == nil {
			e = &entry{file: file}
		}
		e.pass = x.pass
		seen++
		if err != nil || !e.current(info) { // an error shows again, with its reason, when the file is read
			stale = append(stale, e)
		}
		return nil
	})
	switch {
	case absent(err):
	case err != nil:
		return unusable("list the packs", err)
	}
	x.temps = temps
	if err := s.reread(ctx, stale); err != nil {
		return err
	}
	x.settle(seen, stale)
	if !s.cleanup.off {
		x.record(settledOf(stale))
	}
	return nil
}

// settledOf counts the entries that a listing can hold.
func settledOf(read []*entry) (n int) {
	for _, e := range read {
		if e.settled && e.damage == nil {
			n++
		}
	}
	return n
}

// reread reads the files again, several at a time.
func (s *Store) reread(ctx context.Context, stale []*entry) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, e := range stale {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.fill(e)
		})
	}
	return group.Wait()
}

// fill reads the entry's file, and decodes it unless that was done before. It fails only for errors that are not the file's.
func (s *Store) fill(e *entry) error {
	e.damage, e.settled = nil, false
	data, info, err := s.bytes(e.file)
	var summary pack.Summary
	if err == nil {
		summary, err = s.summarize(e.file, data)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.pass = 0 // it went between the look and the reading
		return nil
	case errors.Is(err, pack.ErrMalformed), errors.Is(err, pack.ErrSchema):
		e.damage = err
	case err != nil:
		return err
	default:
		e.summary = summary
	}
	if info != nil {
		e.stamp, e.settled = s.settled(info)
	}
	return nil
}

func (s *Store) summarize(file string, data []byte) (pack.Summary, error) {
	if known, ok := s.recent.summary(file, data); ok {
		return known, nil
	}
	p, err := s.decode(file, data)
	if err != nil {
		return pack.Summary{}, err
	}
	return p.Summary(), nil
}

// settle makes the entries those of this pass. seen counts them, those that vanished included; stale are those that were read.
func (x *index) settle(seen int, stale []*entry) {
	if len(stale) == 0 && seen == len(x.entries) && len(x.order) == seen {
		return
	}
	if x.entries == nil {
		x.entries = make(map[string]*entry, seen)
	}
	for _, e := range stale {
		x.entries[e.file] = e
	}
	x.order = x.order[:0]
	for file, e := range x.entries {
		if e.pass != x.pass {
			delete(x.entries, file)
			continue
		}
		x.order = append(x.order, e)
	}
	slices.SortFunc(x.order, func(a, b *entry) int { return cmp.Compare(a.file, b.file) })
}
