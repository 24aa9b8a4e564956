package mcphttp

import (
	"context"
	"time"
)

// Life returns a context that ends with the session.
func (s *Session) Life() context.Context { return s.life }

// Done returns a channel that is closed once the session has ended and none of its calls runs.
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

// Leave ends a use. After the last one the session is idle.
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

// lastUse returns when the session was last used, and whether it is idle.
func (s *Session) lastUse() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.uses == 0
}

// leaveIdle marks the session ended if it is idle, and reports whether it did.
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

// idle ends the session if it exceeded its idle time.
func (s *Session) idle() {
	if s.leaveIdle() {
		s.leave()
	}
}

// End ends the session: it can no longer be found, and its calls are cancelled. Done reports when all of them have ended.
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

// grace is how long cancelled calls may take to answer before their connection is closed.
const grace = 5 * time.Second

// leave removes an ended session from its table and closes its connection.
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

// close closes the connection once the cancelled calls are answered: the SDK drops later answers.
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
	_ = s.conn.Close() // the goroutine that waits for it notices
}

// settle waits for the running calls and marks the session done.
func (s *Session) settle() {
	s.used.Wait()
	s.table.opts.Ended(s)
	close(s.done)
	s.table.gone()
}

// Begin registers a call that Cancel can cancel, by its request ID, and reports whether the ID was free. Finish must follow.
func (s *Session) Begin(id string, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.calls[id]; twice || s.ended {
		return false
	}
	s.calls[id] = cancel
	return true
}

// Finish removes a call.
func (s *Session) Finish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// Cancel cancels the call with that ID; it does nothing if there is none.
func (s *Session) Cancel(id string) {
	s.mu.Lock()
	cancel := s.calls[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
