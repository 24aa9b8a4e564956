package mcphttp

import (
	"context"
	"time"
)

// Life ends with the session.
func (s *Session) Life() context.Context { return s.life }

// Done is closed when the session is over and nothing of it runs any more.
func (s *Session) Done() <-chan struct{} { return s.done }

func (s *Session) enter(most int, stream bool) EnterResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return SessionUnknown
	case s.uses >= most:
		return SessionBusy
	}
	if !stream {
		s.used.Add(1)
	}
	if s.uses++; s.uses == 1 && s.timer != nil {
		s.timer.Stop()
	}
	return SessionEntered
}

// Leave ends a use. From the last one on, the session is idle.
func (s *Session) Leave() {
	defer s.used.Done()
	s.LeaveStream()
}

// LeaveStream ends a use that EnterStream began.
func (s *Session) LeaveStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if s.uses--; s.uses == 0 && s.timer != nil && !s.ended {
		s.timer.Reset(s.table.opts.Idle)
	}
}

// lastUse returns when the session was last used, and whether nobody does now.
func (s *Session) lastUse() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.uses == 0
}

// leaveIdle marks the session ended when nobody uses it, and reports whether it did.
func (s *Session) leaveIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses > 0 || s.ended {
		return false
	}
	s.stop()
	return true
}

// stop marks the session ended; s.mu is held.
func (s *Session) stop() {
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.end()
}

// idle ends a session that nobody has used for its time.
func (s *Session) idle() {
	if s.leaveIdle() {
		s.leave()
	}
}

// End ends the session: it is found no more, and what runs in it is cancelled. Done tells when all of that is over.
func (s *Session) End() {
	s.mu.Lock()
	first := !s.ended
	if first {
		s.stop()
	}
	s.mu.Unlock()
	if first {
		s.leave()
	}
}

// grace is how long what was cancelled may take to answer before the connection that it answers on is closed.
const grace = 5 * time.Second

// leave takes an ended session out of its table and closes its connection.
func (s *Session) leave() {
	s.table.mu.Lock()
	s.table.forget(s)
	s.table.mu.Unlock()
	if s.conn == nil {
		go s.settle()
		return
	}
	go s.close()
}

// close closes the connection as soon as what was cancelled has been answered: the SDK drops whatever comes later.
func (s *Session) close() {
	answered := make(chan struct{})
	go func() {
		s.used.Wait()
		close(answered)
	}()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-answered:
	case <-late.C:
	}
	_ = s.conn.Close() // whoever waits for it sees it end
}

// settle waits for what still runs, and says that the session is over.
func (s *Session) settle() {
	s.used.Wait()
	s.table.opts.Ended(s)
	close(s.done)
	s.table.gone()
}

// Begin notes a call that Cancel can cancel, under the id of its request, and reports whether there is none of that id. Finish follows.
func (s *Session) Begin(id string, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.calls[id]; twice || s.ended {
		return false
	}
	s.calls[id] = cancel
	return true
}

// Finish forgets a call.
func (s *Session) Finish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// Cancel cancels the call of that id; of one that is over, or was never begun, it knows nothing.
func (s *Session) Cancel(id string) {
	s.mu.Lock()
	cancel := s.calls[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
