package mcphttp_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
)

const sessionPatience = time.Minute

// line is a connection that can be cut.
type line struct {
	once   sync.Once
	over   chan struct{}
	closed atomic.Int64
}

func newLine() *line { return &line{over: make(chan struct{})} }

func (l *line) Close() error {
	l.closed.Add(1)
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *line) Wait() error {
	<-l.over
	return nil
}

// table returns one whose ends are noted.
func table(t *testing.T, o mcphttp.SessionTableOptions) (*mcphttp.SessionTable, chan string) {
	t.Helper()
	ended := make(chan string, 100)
	o.Ended = func(s *mcphttp.Session) { ended <- s.Instance }
	all := mcphttp.NewSessionTable(context.Background(), o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sessionPatience)
		defer cancel()
		assert.NoError(t, all.Close(ctx))
	})
	return all, ended
}

func open(all *mcphttp.SessionTable, id string) *line {
	l := newLine()
	all.Open(mcphttp.SessionInfo{ID: id, Owner: "ann", Instance: "of " + id}, l)
	return l
}

func named(all *mcphttp.SessionTable, owner, client string) (*mcphttp.Session, mcphttp.EnterResult) {
	return all.Named(owner, client, func() mcphttp.SessionInfo { return mcphttp.SessionInfo{Instance: owner + "/" + client} })
}

func next(t *testing.T, c <-chan string) string {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-time.After(sessionPatience):
		t.Fatal("nothing has ended")
		return ""
	}
}

func TestASessionIsItsOwners(t *testing.T) {
	all, ended := table(t, mcphttp.SessionTableOptions{})
	l := open(all, "1")
	for _, who := range []string{"bob", ""} {
		_, v := all.Enter("1", who)
		assert.Equal(t, mcphttp.SessionUnknown, v)
		assert.Nil(t, all.Find("1", who))
	}
	_, v := all.Enter("2", "ann")
	assert.Equal(t, mcphttp.SessionUnknown, v)
	s, v := all.Enter("1", "ann")
	require.Equal(t, mcphttp.SessionEntered, v)
	assert.Equal(t, "of 1", s.Instance)
	s.Leave()
	s.End()
	s.End()
	assert.Equal(t, "of 1", next(t, ended), "once")
	<-s.Done()
	require.Error(t, s.Life().Err())
	assert.Nil(t, all.Find("1", "ann"))
	_, v = all.Enter("1", "ann")
	assert.Equal(t, mcphttp.SessionUnknown, v)
	assert.NotZero(t, l.closed.Load())
	assert.Empty(t, ended)
}

// A connection that breaks ends its session; the end waits for what runs, and closes the connection only after that.
func TestEnds(t *testing.T) {
	all, ended := table(t, mcphttp.SessionTableOptions{})
	open(all, "broken").Close() //nolint:errcheck // a test's
	assert.Equal(t, "of broken", next(t, ended))

	l := open(all, "busy")
	s, v := all.Enter("busy", "ann")
	require.Equal(t, mcphttp.SessionEntered, v)
	stream, v := all.EnterStream("busy", "ann")
	require.Equal(t, mcphttp.SessionEntered, v)
	s.End()
	select {
	case <-s.Done():
		t.Fatal("it is over while something runs")
	case <-time.After(20 * time.Millisecond):
	}
	assert.Zero(t, l.closed.Load(), "what runs can still answer")
	s.Leave()
	assert.Equal(t, "of busy", next(t, ended), "a stream is not waited for")
	stream.LeaveStream()
}

// TestNobodyUsesUpTheSessions: an owner who has as many as one may have loses the oldest idle one to the next, and is refused while all are in use. Others are let in.
func TestNobodyUsesUpTheSessions(t *testing.T) {
	all, ended := table(t, mcphttp.SessionTableOptions{Max: 10, Own: 2})
	open(all, "1")
	l := open(all, "2")
	_, v := all.Enter("1", "ann") // and goes on
	require.Equal(t, mcphttp.SessionEntered, v)
	require.True(t, all.Reserve("ann"))
	assert.Equal(t, "of 2", next(t, ended))
	assert.EqualValues(t, 1, l.closed.Load(), "its connection is closed")
	assert.Nil(t, all.Find("2", "ann"))
	assert.False(t, all.Reserve("ann"), "one in use, and one about to open")
	assert.True(t, all.Reserve("bob"))
	all.Unreserve("bob")
	all.Unreserve("ann")
	require.True(t, all.Reserve("ann"))
	all.Unreserve("ann")
	s, _ := all.Enter("1", "ann")
	s.Leave()
	s.Leave()
}

func TestSessionBounds(t *testing.T) {
	all, ended := table(t, mcphttp.SessionTableOptions{Max: 3, Each: 2})
	open(all, "1")
	require.True(t, all.Reserve("ann"))
	require.True(t, all.Reserve("ann"))
	require.False(t, all.Reserve("ann"), "a place that is kept counts")
	assert.Equal(t, 3, all.Len())
	all.Unreserve("ann")
	s, v := named(all, "ann", "x")
	require.Equal(t, mcphttp.SessionEntered, v)
	_, v = named(all, "bob", "y")
	assert.Equal(t, mcphttp.SessionsFull, v, "who is busy does not make room")
	all.Unreserve("ann")
	s.Leave()
	require.True(t, all.Reserve("ann"))
	_, v = named(all, "bob", "y")
	require.Equal(t, mcphttp.SessionEntered, v, "who is idle does")
	assert.Equal(t, "ann/x", next(t, ended))
	one, v := all.Enter("1", "ann")
	require.Equal(t, mcphttp.SessionEntered, v)
	two, _ := all.Enter("1", "ann")
	_, v = all.Enter("1", "ann")
	assert.Equal(t, mcphttp.SessionBusy, v)
	one.Leave()
	_, v = all.Enter("1", "ann")
	assert.Equal(t, mcphttp.SessionEntered, v)
	two.Leave()
	two.Leave()
	all.Unreserve("ann")
	y, _ := named(all, "bob", "y")
	y.Leave()
	y.Leave()
}

// One owner's clients make room for each other before anybody else's do.
func TestAnOwnersClientsGiveWay(t *testing.T) {
	all, ended := table(t, mcphttp.SessionTableOptions{})
	s, _ := named(all, "bob", "his")
	s.Leave()
	for i := range 40 {
		s, v := named(all, "ann", fmt.Sprint(i))
		require.Equal(t, mcphttp.SessionEntered, v)
		s.Leave()
	}
	assert.Equal(t, 33, all.Len())
	var gone, want []string
	for i := range 8 {
		gone, want = append(gone, next(t, ended)), append(want, fmt.Sprintf("ann/%d", i))
	}
	assert.ElementsMatch(t, want, gone, "the least recently used first")
	again, _ := named(all, "ann", "39")
	again.Leave()
	assert.Empty(t, ended, "who is known needs no room")
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, ended := table(t, mcphttp.SessionTableOptions{Idle: time.Minute})
		open(all, "left")
		open(all, "used")
		s, _ := all.Enter("used", "ann")
		n, _ := named(all, "ann", "x")
		n.Leave()
		time.Sleep(time.Hour) // of the bubble's clock
		assert.ElementsMatch(t, []string{"of left", "ann/x"}, []string{<-ended, <-ended})
		assert.NotNil(t, all.Find("used", "ann"))
		s.Leave()
		assert.Equal(t, "of used", <-ended)
		never, ended := table(t, mcphttp.SessionTableOptions{Idle: -1})
		open(never, "1")
		time.Sleep(1000 * time.Hour)
		assert.Empty(t, ended)
		require.NoError(t, never.Close(t.Context()))
		assert.Equal(t, "of 1", <-ended)
	})
}

// A use puts the end of a session off, however many there were.
func TestEachUseCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := mcphttp.NewSessionTable(t.Context(), mcphttp.SessionTableOptions{Idle: time.Minute})
		open(all, "1")
		for range 5 {
			time.Sleep(59 * time.Second) // of the bubble's clock
			s, v := all.Enter("1", "ann")
			require.Equal(t, mcphttp.SessionEntered, v)
			s.Leave()
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		assert.Zero(t, all.Len())
		require.NoError(t, all.Close(t.Context()))
	})
}

func TestCancelling(t *testing.T) {
	all, _ := table(t, mcphttp.SessionTableOptions{})
	open(all, "1")
	s, _ := all.Enter("1", "ann")
	cancelled := 0
	require.True(t, s.Begin("a", func() { cancelled++ }))
	require.False(t, s.Begin("a", func() {}), "an id is one call's")
	s.Cancel("b")
	assert.Zero(t, cancelled)
	s.Cancel("a")
	assert.Equal(t, 1, cancelled)
	s.Finish("a")
	s.Cancel("a")
	assert.Equal(t, 1, cancelled)
	require.True(t, s.Begin("a", func() {}))
	s.Finish("a")
	s.Leave()
	s.End()
	assert.False(t, s.Begin("c", func() {}), "nothing begins in a session that is over")
}

// When the table is closed nothing opens any more, and all of it is over.
func TestClosing(t *testing.T) {
	life, end := context.WithCancel(context.Background())
	var over atomic.Int64
	all := mcphttp.NewSessionTable(life, mcphttp.SessionTableOptions{Ended: func(*mcphttp.Session) { over.Add(1) }})
	for i := range 20 {
		open(all, fmt.Sprint(i))
	}
	s, _ := named(all, "ann", "x")
	end()
	require.Eventually(t, func() bool { return all.Len() == 0 }, sessionPatience, time.Millisecond)
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, all.Close(short), context.DeadlineExceeded, "one is still in use")
	s.Leave()
	require.NoError(t, all.Close(context.Background()))
	assert.EqualValues(t, 21, over.Load())
	assert.False(t, all.Reserve("ann"))
	_, v := named(all, "ann", "x")
	assert.Equal(t, mcphttp.SessionsFull, v)
	l := open(all, "late")
	require.NoError(t, all.Close(context.Background()))
	assert.NotZero(t, l.closed.Load())
	assert.Zero(t, all.Len())
}

// Whatever goes on at the same time, every session ends once.
func TestRaces(t *testing.T) {
	var ended sync.Map
	all := mcphttp.NewSessionTable(context.Background(), mcphttp.SessionTableOptions{Max: 20, Idle: time.Millisecond, Ended: func(s *mcphttp.Session) {
		_, again := ended.LoadOrStore(s, true)
		assert.False(t, again, "%s %s ends twice", s.ID, s.Instance)
	}})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 200 {
				switch id := fmt.Sprint(i, j/10); j % 10 {
				case 0:
					if all.Reserve("ann") {
						open(all, id)
						all.Unreserve("ann")
					}
				case 9:
					if s := all.Find(id, "ann"); s != nil {
						s.End()
					}
				default:
					if s, v := all.Enter(id, "ann"); v == mcphttp.SessionEntered {
						s.Leave()
					}
					if s, v := named(all, "ann", fmt.Sprint(j%40)); v == mcphttp.SessionEntered {
						s.Leave()
					}
				}
			}
		})
	}
	group.Wait()
	require.Eventually(t, func() bool { return all.Len() == 0 }, sessionPatience, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), sessionPatience)
	defer cancel()
	require.NoError(t, all.Close(ctx))
}
