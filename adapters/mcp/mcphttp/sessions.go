package mcphttp

import (
	"context"
	"sync"
	"time"
)

// Defaults.
const (
	DefaultMax  = 1000
	DefaultIdle = 30 * time.Minute
	DefaultEach = 256
)

// maxNamed is how many sessions without a connection one owner has. The one that was used longest ago gives way to another.
const maxNamed = 32

// SessionOptions bounds a Table. The zero Options has every default.
type SessionOptions struct {
	Max   int            // sessions at a time; zero is DefaultMax
	Idle  time.Duration  // after which one ends that nobody uses; zero is DefaultIdle, less is never
	Each  int            // requests of one session at a time; zero is DefaultEach
	Ended func(*Session) // called once for each session that is over, when nothing of it runs any more; may be nil
}

// Table is the sessions there are. It is safe for concurrent use; New makes it.
type Table struct {
	opts  SessionOptions
	life  context.Context //nolint:containedctx // of the table, which every session's is part of
	mu    sync.Mutex
	open  map[string]*Session
	named map[name]*Session
	held  int // places kept for sessions that are about to open
	over  bool
	alive int             // sessions that are not over
	empty []chan struct{} // closed when none is
}

// name is what finds a session that has no id.
type name struct{ owner, client string }

// Facts is what is known of a session. They do not change.
type Facts struct {
	ID        string // which its client shows with every request; empty for one that is only known by owner and client
	Owner     string // the credential whose it is: nobody else is let in
	Principal string // id of it
	Instance  string // the client instance of the door
	Client    string // name and version, for people
}

// Conn is what a session is served on: the SDK's session.
type Conn interface {
	Close() error // ends it; waits for what runs
	Wait() error  // until it has ended
}

// Session is one of a Table.
type Session struct {
	Facts
	table *Table
	conn  Conn // nil for one that has none
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

// NewSession is an empty table. Its sessions end with life, at the latest.
func NewSession(life context.Context, o SessionOptions) *Table {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.Each <= 0 {
		o.Each = DefaultEach
	}
	if o.Ended == nil {
		o.Ended = func(*Session) {}
	}
	t := &Table{opts: o, life: life, open: map[string]*Session{}, named: map[name]*Session{}}
	context.AfterFunc(life, t.endAll)
	return t
}

// Len is how many sessions there are, those kept a place for included.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open) + len(t.named) + t.held
}

// Hold keeps a place for a session that is about to open, and reports whether there is one. Give gives it back, opened or not.
func (t *Table) Hold() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || len(t.open)+len(t.named)+t.held >= t.opts.Max {
		return false
	}
	t.held++
	return true
}

// Give gives back what Hold held.
func (t *Table) Give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held--
}

// Open adds a session with an id, which ends with its connection.
func (t *Table) Open(f Facts, conn Conn) {
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
func (t *Table) make(f Facts, conn Conn) *Session {
	s := &Session{Facts: f, table: t, conn: conn, done: make(chan struct{}), last: time.Now(), calls: map[string]context.CancelFunc{}}
	s.life, s.end = context.WithCancel(t.life)
	t.alive++
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.opts.Idle > 0 {
		s.timer = time.AfterFunc(t.opts.Idle, s.idle)
	}
	return s
}

// Verdict says whether somebody may use a session.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // there is none, or it is another's
	Entered                // Leave when the request is over
	Busy                   // it has as many requests as it may
	Full                   // there is no room for another
)

// Find is the session of that id, when it is the owner's, else nil.
func (t *Table) Find(id, owner string) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.open[id]; s != nil && s.Owner == owner {
		return s
	}
	return nil
}

// Enter uses the session of that id, when it is the owner's.
func (t *Table) Enter(id, owner string) (*Session, Verdict) { return t.enter(id, owner, false) }

// EnterStream is Enter for a use that ends with the session, at the latest, so that the end does not wait for it.
func (t *Table) EnterStream(id, owner string) (*Session, Verdict) { return t.enter(id, owner, true) }

func (t *Table) enter(id, owner string, stream bool) (*Session, Verdict) {
	s := t.Find(id, owner)
	if s == nil {
		return nil, Unknown
	}
	return s, s.enter(t.opts.Each, stream)
}

// Named uses the session without an id that a client of that owner has, and makes it when there is none, out of what is known of it then.
func (t *Table) Named(owner, client string, known func() Facts) (*Session, Verdict) {
	key := name{owner, client}
	for {
		t.mu.Lock()
		s := t.named[key]
		if s == nil {
			if t.over || !t.room(owner) {
				t.mu.Unlock()
				return nil, Full
			}
			f := known()
			f.ID, f.Owner = "", owner
			s = t.make(f, nil)
			t.named[key] = s
		}
		t.mu.Unlock()
		if v := s.enter(t.opts.Each, false); v != Unknown { // it has ended just now
			return s, v
		}
	}
}

// room reports whether there is room for one more session without a connection, after the least recently used of them has given way when there was
// none. An owner's own gives way first.
func (t *Table) room(owner string) bool {
	own, full := 0, len(t.open)+len(t.named)+t.held >= t.opts.Max
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

// older is the one of two, either of which may be nil, that was used longer ago and is not in use.
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
func (t *Table) forget(s *Session) {
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
func (t *Table) endAll() {
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
func (t *Table) Close(ctx context.Context) error {
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
func (t *Table) gone() {
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
