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

// Owner is a ports.ProcessIdentity that uses only what the system reports. The zero Owner is ready; it is safe for concurrent use.
type Owner struct{}

// Self returns the identity of this process.
func (Owner) Self() string { return string(osproc.SelfIdentity()) }

// Judge returns what the system reports about the process with that identity. A reused pid does not match.
func (Owner) Judge(name string) owner.Verdict { return osproc.JudgeIdentity(name, false) }

// Elsewhere describes where a process is that the system does not report.
func (o Owner) Elsewhere(name string) string {
	if o.Judge(name) != owner.Unknown {
		return ""
	}
	return owner.Elsewhere(name, osproc.LocalPlace())
}

// findWait is how long a verdict waits for a lease.
const findWait = 5 * time.Second

// Owners is a ports.ProcessIdentity that also uses leases and the user's declarations, and that renews the lease of this process once it owns something.
// NewOwners makes it; it is safe for concurrent use.
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

// Self returns the identity of this process, which then counts as owning something.
func (o *Owners) Self() string {
	o.begin.Do(func() { go o.live() })
	return Owner{}.Self()
}

// live renews the lease every owner.RenewalInterval until Close. A process that ends earlier leaves none: the system reports its end.
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

// Renew renews the lease of this process, and the first time deletes those of processes that are known to have ended.
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

// Close ends renewing, and the lease. What this process still owns is judged by what the system reports.
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

// Judge returns what the system reports about the process with that identity, and otherwise what the user declared and what its lease says.
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

// Elsewhere describes where a process is that cannot be observed from here.
func (o *Owners) Elsewhere(name string) string {
	if o.Judge(name) != owner.Unknown {
		return ""
	}
	return owner.Elsewhere(name, osproc.LocalPlace())
}
