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

// Reads are recorded in groups, off the path of the call (product rules on audit): a group every journalPause, or sooner when
// journalGroup are waiting; beyond journalBound they are dropped and counted.
const (
	journalPause = 250 * time.Millisecond
	journalGroup = 512
	journalBound = 4096
)

// journal is the buffer between reads and the audit log. Its writer runs only while something is waiting.
type journal struct {
	log     ports.AuditLog
	slog    *slog.Logger
	mu      sync.Mutex
	waiting []audit.Event
	writing bool
	dropped int64
	full    chan struct{} // wakes the writer early
	closing chan struct{} // closed once nothing more will come
	once    sync.Once
	idle    sync.WaitGroup
}

func newJournal(log ports.AuditLog, l *slog.Logger) *journal {
	return &journal{log: log, slog: l, full: make(chan struct{}, 1), closing: make(chan struct{})}
}

func (j *journal) add(e audit.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.waiting) >= journalBound {
		j.dropped++
		return
	}
	j.waiting = append(j.waiting, e)
	if len(j.waiting) >= journalGroup {
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

// write appends what is waiting, group by group, and ends when nothing is.
func (j *journal) write() {
	defer j.idle.Done()
	for {
		pause, cancel := context.WithTimeout(context.Background(), journalPause)
		select {
		case <-pause.Done():
		case <-j.full:
		case <-j.closing:
		}
		cancel()
		j.mu.Lock()
		group := j.waiting
		j.waiting = nil
		if len(group) == 0 {
			j.writing = false
			j.mu.Unlock()
			return
		}
		j.mu.Unlock()
		j.append(group)
	}
}

func (j *journal) append(group []audit.Event) {
	if err := j.log.Append(context.Background(), group...); err != nil {
		j.mu.Lock()
		j.dropped += int64(len(group))
		dropped := j.dropped
		j.mu.Unlock()
		j.slog.Warn("reads could not be recorded in the audit", "dropped", dropped, "cause", err.Error())
	}
}

// close waits until everything waiting is written, or ctx ends.
func (j *journal) close(ctx context.Context) error {
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
