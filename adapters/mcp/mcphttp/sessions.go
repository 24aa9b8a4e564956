package mcphttp

import (
	"context"
	"sync"
	"time"
)

// Defaults.
const (
	defaultMax  = 1000
	defaultIdle = 30 * time.Minute
	defaultEach = 256
	defaultOwn  = 250
)

// maxNamed is the maximum number of sessions without a connection of one owner. A further one replaces the least recently used.
const maxNamed = 32

// SessionTableOptions limits a SessionTable. The zero value uses every default.
type SessionTableOptions struct {
	Max   int            // sessions at a time; zero is defaultMax
	Idle  time.Duration  // after which an unused session ends; zero is defaultIdle, negative is never
	Each  int            // requests of one session at a time; zero is defaultEach
	Own   int            // sessions of one owner at a time that have a connection; zero is defaultOwn
	Ended func(*Session) // called once for each session that has ended, when none of its calls runs; may be nil
}

// SessionTable holds the open sessions. It is safe for concurrent use; NewSessionTable makes it.
type SessionTable struct {
	opts  SessionTableOptions
	life  context.Context //nolint:containedctx // of the table, which every session's is part of
	mu    sync.Mutex
	open  map[string]*Session
	named map[name]*Session
	held  map[string]int // slots reserved for sessions that are about to open, by owner
	over  bool
	alive int             // sessions that have not ended
	empty []chan struct{} // closed when none is
}

// name identifies a session without an ID.
type name struct{ owner, client string }

// SessionInfo describes a session. It is immutable.
type SessionInfo struct {
	ID        string // sent by its client with every request; empty for a session identified by owner and client
	Owner     string // the credential that owns it: no other may use it
	Principal string // its ID
	Instance  string // the client instance in the core
	Client    string // name and version, for users
}

// conn is the connection of a session: the SDK's session.
type conn interface {
	Close() error // ends it; waits for running calls
	Wait() error  // until it has ended
}

// Session is a session of a SessionTable.
type Session struct {
	SessionInfo
	table *SessionTable
	conn  conn // nil for one that has none
	life  context.Context
	end   context.CancelFunc
	done  chan struct{} // closed when it has ended completely
	used  sync.WaitGroup

	mu    sync.Mutex
	uses  int
	ended bool
	last  time.Time
	timer *time.Timer // nil without a time limit
	calls map[string]context.CancelFunc
}

// NewSessionTable returns an empty table. Its sessions end with life at the latest.
func NewSessionTable(life context.Context, o SessionTableOptions) *SessionTable {
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Each <= 0 {
		o.Each = defaultEach
	}
	if o.Own <= 0 {
		o.Own = defaultOwn
	}
	if o.Ended == nil {
		o.Ended = func(*Session) {}
	}
	t := &SessionTable{opts: o, life: life, open: map[string]*Session{}, named: map[name]*Session{}, held: map[string]int{}}
	context.AfterFunc(life, t.endAll)
	return t
}

// Len returns the number of sessions, including reserved ones.
func (t *SessionTable) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count()
}

// count is Len; t.mu is held.
func (t *SessionTable) count() int {
	n := len(t.open) + len(t.named)
	for _, held := range t.held {
		n += held
	}
	return n
}

// Reserve reserves a slot for a session of that owner, and reports whether there is one. If the owner has the maximum number, its least recently used
// session ends, unless all are in use; so no owner takes the slots of others. Unreserve returns the slot, whether or not the session was opened.
func (t *SessionTable) Reserve(owner string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	own := t.held[owner]
	var oldest *Session
	for _, s := range t.open {
		if s.Owner == owner {
			own++
			oldest = older(oldest, s)
		}
	}
	if own >= t.opts.Own {
		if oldest == nil || !oldest.leaveIdle() {
			return false
		}
		t.forget(oldest)
		go oldest.close()
	}
	if t.count() >= t.opts.Max {
		return false
	}
	t.held[owner]++
	return true
}

// Unreserve returns the slot that Reserve took for that owner.
func (t *SessionTable) Unreserve(owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[owner]--; t.held[owner] == 0 {
		delete(t.held, owner)
	}
}

// Open adds a session with an id, which ends with its connection.
func (t *SessionTable) Open(f SessionInfo, conn conn) {
	t.mu.Lock()
	s := t.make(f, conn)
	t.open[f.ID] = s
	over := t.over
	t.mu.Unlock()
	if over {
		s.End()
	}
	go func() {
		_ = conn.Wait() // however it ended
		s.End()
		s.settle()
	}()
}

// make creates a session; t.mu is held until it is in the table, so that it can be removed from there.
func (t *SessionTable) make(f SessionInfo, conn conn) *Session {
	s := &Session{SessionInfo: f, table: t, conn: conn, done: make(chan struct{}), last: time.Now(), calls: map[string]context.CancelFunc{}}
	s.life, s.end = context.WithCancel(t.life)
	t.alive++
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.opts.Idle > 0 {
		s.timer = time.AfterFunc(t.opts.Idle, s.idle)
	}
	return s
}

// EnterResult says whether a caller may use a session.
type EnterResult uint8

// The results.
const (
	SessionUnknown EnterResult = iota // there is none, or it belongs to another owner
	SessionEntered                    // call Leave after the request
	SessionBusy                       // it has the maximum number of requests
	SessionsFull                      // no slot is free
)

// Find returns the session with that ID if it belongs to the owner, else nil.
func (t *SessionTable) Find(id, owner string) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.open[id]; s != nil && s.Owner == owner {
		return s
	}
	return nil
}

// Enter uses the session with that ID if it belongs to the owner.
func (t *SessionTable) Enter(id, owner string) (*Session, EnterResult) {
	return t.enter(id, owner, false)
}

// EnterStream is Enter for a use that ends with the session at the latest, so that the session's end does not wait for it.
func (t *SessionTable) EnterStream(id, owner string) (*Session, EnterResult) {
	return t.enter(id, owner, true)
}

func (t *SessionTable) enter(id, owner string, stream bool) (*Session, EnterResult) {
	s := t.Find(id, owner)
	if s == nil {
		return nil, SessionUnknown
	}
	return s, s.enter(t.opts.Each, stream)
}

// Named uses the session without an ID of a client of that owner, and creates it from known if there is none.
func (t *SessionTable) Named(owner, client string, known func() SessionInfo) (*Session, EnterResult) {
	key := name{owner, client}
	for {
		t.mu.Lock()
		s := t.named[key]
		if s == nil {
			if t.over || !t.room(owner) {
				t.mu.Unlock()
				return nil, SessionsFull
			}
			f := known()
			f.ID, f.Owner = "", owner
			s = t.make(f, nil)
			t.named[key] = s
		}
		t.mu.Unlock()
		if v := s.enter(t.opts.Each, false); v != SessionUnknown { // it has just ended
			return s, v
		}
	}
}

// room reports whether there is room for one more session without a connection, if necessary after ending the least recently used one, the owner's
// own first.
func (t *SessionTable) room(owner string) bool {
	own, full := 0, t.count() >= t.opts.Max
	var oldest, oldestOwn *Session
	for _, s := range t.named {
		if s.Owner == owner {
			own++
			oldestOwn = older(oldestOwn, s)
		}
		oldest = older(oldest, s)
	}
	switch {
	case own >= maxNamed:
		oldest = oldestOwn
	case !full:
		return true
	case oldestOwn != nil:
		oldest = oldestOwn
	}
	if oldest == nil || !oldest.leaveIdle() {
		return false
	}
	t.forget(oldest)
	go oldest.settle()
	return true
}

// older returns the one of two sessions, either of which may be nil, that was used longer ago and is idle.
func older(a, b *Session) *Session {
	at, idle := b.lastUse()
	if !idle {
		return a
	}
	if a != nil {
		if before, _ := a.lastUse(); before.Before(at) {
			return a
		}
	}
	return b
}

// forget removes a session; t.mu is held.
func (t *SessionTable) forget(s *Session) {
	if s.ID != "" {
		if t.open[s.ID] == s {
			delete(t.open, s.ID)
		}
		return
	}
	for key, other := range t.named {
		if other == s {
			delete(t.named, key)
		}
	}
}

// endAll ends every session and prevents new ones.
func (t *SessionTable) endAll() {
	t.mu.Lock()
	t.over = true
	var all []*Session
	for _, s := range t.open {
		all = append(all, s)
	}
	for _, s := range t.named {
		all = append(all, s)
	}
	t.mu.Unlock()
	for _, s := range all {
		s.End()
	}
}

// Close ends every session and waits until all have ended, or fails with the context's error.
func (t *SessionTable) Close(ctx context.Context) error {
	t.endAll()
	over := make(chan struct{})
	t.mu.Lock()
	if t.alive == 0 {
		close(over)
	} else {
		t.empty = append(t.empty, over)
	}
	t.mu.Unlock()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gone counts down after a session has ended.
func (t *SessionTable) gone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alive--; t.alive > 0 {
		return
	}
	for _, over := range t.empty {
		close(over)
	}
	t.empty = nil
}
