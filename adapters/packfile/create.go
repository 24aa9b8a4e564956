package packfile

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/pack"
)

const (
	purgeEvery = 3 * time.Second  // at most this often, files of expired packs are deleted
	purgeMost  = 500              // at once, so that no list takes long
	sweepEvery = 10 * time.Minute // at most this often, leftovers of dead writers are looked for
	sweepAge   = 10 * time.Minute // a write takes milliseconds; what is this old was left behind
)

// Create implements packport.Writer.
func (s *Store) Create(ctx context.Context, p *pack.Pack) error {
	if err := s.create(ctx, p); err != nil {
		return err
	}
	if s.cleanup.due(s.clock.Now(), purgeEvery) {
		// The pack is stored; what goes wrong now is the next list's to report.
		_, _ = s.List(ctx)
	}
	return nil
}

func (s *Store) create(ctx context.Context, p *pack.Pack) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	lock, err := s.dir.Lock(ctx, createLock)
	if err != nil {
		return unusable("create pack "+string(p.ID()), err)
	}
	defer lock.Release()
	for _, name := range []string{packName(p.ID()), trashDir + "/" + string(p.ID()) + packSuffix} {
		if _, err := s.dir.Stat(name); err == nil {
			return pack.ErrExists.WithMessage("pack %s already exists, or existed until it was deleted; use another id", p.ID())
		} else if !absent(err) {
			return unusable("create pack "+string(p.ID()), err)
		}
	}
	if name := p.Name(); name != "" {
		same, _, _, err := s.collect(ctx, func(other *pack.Summary) bool { return other.Name == name })
		if err != nil {
			return err
		}
		if len(same) > 0 {
			return pack.ErrNameTaken.WithMessage("pack %s already has the name %q; choose another name or use that pack", same[0].ID, name)
		}
	}
	return s.write(p)
}

// cleanup remembers when it was last cleaned.
type cleanup struct {
	mu            sync.Mutex
	off           bool // nothing is ever deleted
	purged, swept time.Time
}

// due reports whether it is time to purge.
func (h *cleanup) due(now time.Time, every time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.off && passed(h.purged, now, every)
}

// start reports what is due and takes it as done.
func (h *cleanup) start(now time.Time) (purge, sweep bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off {
		return false, false
	}
	if purge = passed(h.purged, now, purgeEvery); purge {
		h.purged = now
	}
	if sweep = passed(h.swept, now, sweepEvery); sweep {
		h.swept = now
	}
	return purge, sweep
}

// passed also says yes when the clock was set back.
func passed(last, now time.Time, every time.Duration) bool {
	return last.IsZero() || now.Before(last) || now.Sub(last) >= every
}

// clean deletes the files of expired packs and what dead writers may have left, when it is time. It is housekeeping: what it cannot do now is left for
// the next time, and a store that cannot be written stays readable.
func (s *Store) clean(expired []pack.ID, temps bool) {
	purge, sweep := s.cleanup.start(s.clock.Now())
	if sweep && temps {
		_, _ = s.dir.Sweep(packsDir, sweepAge)
	}
	if !purge {
		return
	}
	for _, id := range expired[:min(len(expired), purgeMost)] {
		s.purge(id)
	}
}

// purge deletes one pack's file if the pack is expired still, seen under its lock. A pack somebody is working on is left alone.
func (s *Store) purge(id pack.ID) {
	lock, err := s.dir.TryLock(lockName(id))
	if err != nil || lock == nil {
		return
	}
	defer lock.Release()
	p, err := s.load(id)
	switch {
	case errors.Is(err, pack.ErrNotFound): // another process was faster
	case err != nil, !p.Expired(s.clock.Now()), s.dir.Remove(packName(id)) != nil:
		return
	}
	_ = lock.Retire()
}
