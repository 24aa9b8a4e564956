package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

// A batch is written after each pause, or earlier once it is full; events beyond the limit are dropped and counted (product rules on audit).
const (
	pause = 250 * time.Millisecond
	group = 512
	bound = 4096
)

// AuditBuffer writes the audit records of reads in the background. Its goroutine runs only while records are pending. NewAuditBuffer makes one.
type AuditBuffer struct {
	log     ports.AuditLog
	slog    *slog.Logger
	mu      sync.Mutex
	waiting []audit.Event
	writing bool
	dropped int64
	full    chan struct{} // wakes the writer early
	closing chan struct{} // closed once no more events will come
	once    sync.Once
	idle    sync.WaitGroup
}

// NewAuditBuffer returns a buffer in front of that log. It starts nothing until an event is added.
func NewAuditBuffer(log ports.AuditLog, l *slog.Logger) *AuditBuffer {
	return &AuditBuffer{log: log, slog: l, full: make(chan struct{}, 1), closing: make(chan struct{})}
}

// Add queues an event.
func (j *AuditBuffer) Add(e audit.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.waiting) >= bound {
		j.dropped++
		return
	}
	j.waiting = append(j.waiting, e)
	if len(j.waiting) >= group {
		select {
		case j.full <- struct{}{}:
		default:
		}
	}
	if !j.writing {
		j.writing = true
		j.idle.Add(1)
		go j.write()
	}
}

// write appends the pending events, batch by batch, and returns when none is left.
func (j *AuditBuffer) write() {
	defer j.idle.Done()
	for {
		over, cancel := context.WithTimeout(context.Background(), pause)
		select {
		case <-over.Done():
		case <-j.full:
		case <-j.closing:
		}
		cancel()
		j.mu.Lock()
		events := j.waiting
		j.waiting = nil
		if len(events) == 0 {
			j.writing = false
			j.mu.Unlock()
			return
		}
		j.mu.Unlock()
		j.append(events)
	}
}

// Dropped returns how many events could not be written.
func (j *AuditBuffer) Dropped() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

func (j *AuditBuffer) append(events []audit.Event) {
	if err := j.log.Append(context.Background(), events...); err != nil {
		if len(events) > 1 && fault.From(err).Kind == fault.Internal { // one event cannot be written: do not lose the others with it
			for _, e := range events {
				j.append([]audit.Event{e})
			}
			return
		}
		j.mu.Lock()
		j.dropped += int64(len(events))
		dropped := j.dropped
		j.mu.Unlock()
		j.slog.Warn("reads could not be recorded in the audit log", "dropped", dropped, "cause", err.Error())
	}
}

// Close waits until the queued events are written or ctx ends.
func (j *AuditBuffer) Close(ctx context.Context) error {
	j.once.Do(func() { close(j.closing) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		j.idle.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fault.From(ctx.Err())
	}
}
