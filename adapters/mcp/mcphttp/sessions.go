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

// maxNamed is how many sessions without a connection one owner has. The one that was used longest ago gives way to another.
const maxNamed = 32

// SessionTableOptions bounds a Table. The zero Options has every default.
type SessionTableOptions struct {
	Max   int            // sessions at a time; zero is defaultMax
	Idle  time.Duration  // after which one ends that nobody uses; zero is defaultIdle, less is never
	Each  int            // requests of one session at a time; zero is defaultEach
	Own   int            // sessions of one owner at a time that have a connection; zero is defaultOwn
	Ended func(*Session) // called once for each session that is over, when nothing of it runs any more; may be nil
}

// SessionTable is the sessions there are. It is safe for concurrent use; New makes it.
type SessionTable struct {
	opts  SessionTableOptions
	life  context.Context //nolint:containedctx // of the table, which every session's is part of
	mu    sync.Mutex
	open  map[string]*Session
	named map[name]*Session
	held  map[string]int // places kept for sessions that are about to open, by owner
	over  bool
	alive int             // sessions that are not over
	empty []chan struct{} // closed when none is
}

// name is what finds a session that has no id.
type name struct{ owner, client string }

// SessionInfo is what is known of a session. They do not change.
type SessionInfo struct {
	ID        string // which its client shows with every request; empty for one that is only known by owner and client
	Owner     string // the credential whose it is: nobody else is let in
	Principal string // id of it
	Instance  string // the client instance in the core
	Client    string // name and version, for users
}

// conn is what a session is served on: the SDK's session.
type conn interface {
	Close() error // ends it; waits for what runs
	Wait() error  // until it has ended
}

// Session is one of a Table.
type Session struct {
	SessionInfo
	table *SessionTable
	conn  conn // nil for one that has none
	life  context.Context
	end   context.CancelFunc
	done  chan struct{} // closed when all of it is over
	used  sync.WaitGroup

	mu    sync.Mutex
	uses  int
	ended bool
	last  time.Time
	timer *time.Timer // nil without a time limit
	calls map[string]context.CancelFunc
}

// NewSessionTable returns an empty table. Its sessions end with life, at the latest.
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

// Len returns how many sessions there are, those kept a place for included.
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

// Reserve keeps a place for a session of that owner that is about to open, and reports whether there is one. An owner who has as many as one may have loses the one that was
// used longest ago, unless all are in use: nobody uses up what others need. Unreserve gives it back, opened or not.
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

// Unreserve gives back what Reserve kept for that owner.
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
		_ = conn.Wait() // however it has ended
		s.End()
		s.settle()
	}()
}

// make makes a session; t.mu is held until it is in the table, so that it can be taken out of there.
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

// EnterResult says whether somebody may use a session.
type EnterResult uint8

// The verdicts.
const (
	SessionUnknown EnterResult = iota // there is none, or it is another's
	SessionEntered                    // Leave when the request is over
	SessionBusy                       // it has as many requests as it may
	SessionsFull                      // there is no room for another
)

// Find returns the session of that id, when it is the owner's, else nil.
func (t *SessionTable) Find(id, owner string) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.open[id]; s != nil && s.Owner == owner {
		return s
	}
	return nil
}

// Enter uses the session of that id, when it is the owner's.
func (t *SessionTable) Enter(id, owner string) (*Session, EnterResult) {
	return t.enter(id, owner, false)
}

// EnterStream is Enter for a use that ends with the session, at the latest, so that the end does not wait for it.
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

// Named uses the session without an id that a client of that owner has, and makes it when there is none, out of what is known of it then.
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
		if v := s.enter(t.opts.Each, false); v != SessionUnknown { // it has ended just now
			return s, v
		}
	}
}

// room reports whether there is room for one more session without a connection, after the least recently used of them has given way when there was
// none. An owner's own gives way first.
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

// older returns the one of two, either of which may be nil, that was used longer ago and is not in use.
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

// endAll ends every session; none is opened any more.
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

// Close ends every session and waits until all are over, or fails with the context's error.
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

// gone counts a session that is over.
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
