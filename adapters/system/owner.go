package system

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/ports"
)

// Owner is a ports.Owner that knows what the system tells, and nothing else. The zero Owner is ready; all methods may be called from many
// goroutines.
type Owner struct{}

// Self is this process.
func (Owner) Self() string { return string(osproc.SelfIdentity()) }

// Judge returns what the system tells of the process of that name. A number that belongs to another process now is not it.
func (Owner) Judge(name string) owner.Verdict { return osproc.JudgeIdentity(name, false) }

// Elsewhere says where a process is that the system tells nothing of.
func (o Owner) Elsewhere(name string) string {
	if o.Judge(name) != owner.Unknown {
		return ""
	}
	return owner.Elsewhere(name, osproc.LocalPlace())
}

// findWait bounds how long a verdict waits for a lease.
const findWait = 5 * time.Second

// Owners is a ports.Owner that also heeds leases and what users said, and that renews the lease of this process as long as it lives, once it
// owns something. NewOwners makes it; all methods may be called from many goroutines.
type Owners struct {
	leases  ports.Leases
	clock   ports.Clock
	log     *slog.Logger
	begin   sync.Once
	closing sync.Once
	end     chan struct{}
	over    chan struct{}
	renewed atomic.Bool
}

// NewOwners starts nothing before this process owns something. The caller closes it.
func NewOwners(leases ports.Leases, clock ports.Clock, log *slog.Logger) *Owners {
	return &Owners{leases: leases, clock: clock, log: log, end: make(chan struct{}), over: make(chan struct{})}
}

// Self is this process, which owns something from now on.
func (o *Owners) Self() string {
	o.begin.Do(func() { go o.live() })
	return Owner{}.Self()
}

// live renews the lease every owner.RenewalInterval until Close. A process that is over before leaves none: whatever it owned, the system tells of it.
func (o *Owners) live() {
	defer close(o.over)
	tick := time.NewTicker(owner.RenewalInterval)
	defer tick.Stop()
	for {
		select {
		case <-o.end:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), findWait)
			if err := o.Renew(ctx); err != nil {
				o.log.Warn("the lease of this process could not be renewed", "cause", err.Error())
			}
			cancel()
		}
	}
}

// Renew renews the lease of this process, and the first time forgets those of processes that are known to have ended.
func (o *Owners) Renew(ctx context.Context) error {
	if !o.renewed.Swap(true) {
		all, err := o.leases.List(ctx)
		if err != nil {
			return err
		}
		for _, l := range all {
			if l.Owner != "" && (Owner{}).Judge(l.Owner).Dead() {
				if err := o.leases.Release(ctx, l.Owner); err != nil {
					return err
				}
			}
		}
	}
	return o.leases.Renew(ctx, Owner{}.Self(), o.clock.Now())
}

// Close ends renewing, and the lease. What this process still owns is judged by what the system tells.
func (o *Owners) Close() error {
	o.begin.Do(func() { close(o.over) })
	o.closing.Do(func() { close(o.end) })
	<-o.over
	if !o.renewed.Swap(false) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), findWait)
	defer cancel()
	return o.leases.Release(ctx, Owner{}.Self())
}

// Judge returns what the system tells of the process of that name, and where it tells nothing, what the user said and what its lease says.
func (o *Owners) Judge(name string) owner.Verdict {
	v := Owner{}.Judge(name)
	if v != owner.Unknown {
		return v
	}
	ctx, cancel := context.WithTimeout(context.Background(), findWait)
	defer cancel()
	lease, err := o.leases.Find(ctx, owner.Name(name))
	switch {
	case err != nil:
		return owner.Unknown
	case !lease.Forgotten.IsZero():
		return owner.Dead
	}
	return osproc.JudgeIdentity(name, lease.Lapsed(o.clock.Now()))
}

// Elsewhere says where a process is that nothing is known of.
func (o *Owners) Elsewhere(name string) string {
	if o.Judge(name) != owner.Unknown {
		return ""
	}
	return owner.Elsewhere(name, osproc.LocalPlace())
}
