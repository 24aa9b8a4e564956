package httpauth_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// listenRig is a server on a real socket: / answers, /wait does so when it is told to, or with how it was cancelled.
type listenRig struct {
	addr  string
	begun chan struct{}
	goOn  chan struct{}
	end   func()
	over  chan error
}

func openListen(t *testing.T, o httpauth.ListenOptions) *listenRig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &listenRig{addr: l.Addr().String(), begun: make(chan struct{}, 100), goOn: make(chan struct{}), over: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("/wait", func(w http.ResponseWriter, q *http.Request) {
		r.begun <- struct{}{}
		select {
		case <-q.Context().Done():
			fmt.Fprint(w, q.Context().Err())
		case <-r.goOn:
			fmt.Fprint(w, "done")
		}
	})
	ctx, end := context.WithCancel(context.Background())
	go func() { r.over <- httpauth.Serve(ctx, l, mux, o) }()
	r.end = sync.OnceFunc(end)
	t.Cleanup(func() {
		r.end()
		select {
		case err := <-r.over:
			assert.NoError(t, err)
		case <-time.After(time.Minute):
			t.Error("it does not end")
		}
	})
	return r
}

// dial returns a raw connection.
func (r *listenRig) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn, bufio.NewReader(conn)
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
}

func hear(t *testing.T, in *bufio.Reader) (int, string) {
	t.Helper()
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

func ask(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

// closed waits until the other side has closed the connection.
func closed(t *testing.T, in *bufio.Reader) {
	t.Helper()
	for {
		if _, err := in.ReadByte(); err != nil {
			var late net.Error
			assert.False(t, errors.As(err, &late) && late.Timeout(), "it is still open")
			return
		}
	}
}

func TestWhatIsUnderWayIsFinished(t *testing.T) {
	t.Parallel()
	ending := make(chan struct{})
	r := openListen(t, httpauth.ListenOptions{Grace: time.Minute, Ending: func() { close(ending) }})
	conn, in := r.dial(t)
	say(t, conn, ask("/wait"))
	<-r.begun
	r.end()
	<-ending
	require.Eventually(t, func() bool {
		other, err := net.Dial("tcp", r.addr)
		if err == nil {
			other.Close()
		}
		return err != nil
	}, time.Minute, 5*time.Millisecond, "nobody is let in any more")
	r.goOn <- struct{}{}
	_, body := hear(t, in)
	assert.Equal(t, "done", body)
	assert.NoError(t, <-r.over)
	r.over <- nil // for the end of the test
}

func TestWhatTakesTooLongIsCancelled(t *testing.T) {
	t.Parallel()
	r := openListen(t, httpauth.ListenOptions{Grace: 50 * time.Millisecond})
	conn, in := r.dial(t)
	say(t, conn, ask("/wait"))
	<-r.begun
	r.end()
	_, body := hear(t, in)
	assert.Equal(t, "context canceled", body, "and may still say so")
}

// TestWhoDoesNotHeedTheEndIsCutOff: a handler that waits for nothing but its own affairs holds nobody up.
func TestWhoDoesNotHeedTheEndIsCutOff(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	begun, free := make(chan struct{}), make(chan struct{})
	ctx, end := context.WithCancel(context.Background())
	over := make(chan error, 1)
	deaf := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(begun); <-free })
	go func() { over <- httpauth.Serve(ctx, l, deaf, httpauth.ListenOptions{Grace: 20 * time.Millisecond}) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	say(t, conn, ask("/"))
	<-begun
	end()
	assert.NoError(t, <-over)
	close(free)
}

func TestAListenerThatFailsIsTold(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	require.ErrorIs(t, httpauth.Serve(t.Context(), l, http.NotFoundHandler(), httpauth.ListenOptions{}), net.ErrClosed)
}

// served returns a connection that has had an answer; on a busy machine one may come too late with its request, and be taken for slow.
func (r *listenRig) served(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	for range 100 {
		conn, in := r.dial(t)
		if _, err := io.WriteString(conn, ask("/")); err != nil {
			continue
		}
		if res, err := http.ReadResponse(in, nil); err == nil {
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, "ok", string(body))
			return conn, in
		}
	}
	require.FailNow(t, "nobody is served")
	return nil, nil
}

// TestSlowHeaders: who says nothing, or says it slowly, is not waited for.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	r := openListen(t, httpauth.ListenOptions{HeaderTime: 200 * time.Millisecond})
	_, silent := r.dial(t)
	slow, in := r.dial(t)
	say(t, slow, "GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
	dripping, drip := r.dial(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				if _, err := io.WriteString(dripping, "x"); err != nil {
					return
				}
			}
		}
	})
	conn, good := r.served(t)
	closed(t, silent)
	closed(t, in)
	closed(t, drip)
	close(stop)
	wg.Wait()
	say(t, conn, ask("/"))
	_, body := hear(t, good)
	assert.Equal(t, "ok", body, "between requests there is more time")
}

func TestHeadersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	r := openListen(t, httpauth.ListenOptions{})
	for _, c := range []struct{ size, status int }{{60 << 10, http.StatusOK}, {80 << 10, http.StatusRequestHeaderFieldsTooLarge}} {
		conn, in := r.dial(t)
		say(t, conn, "GET / HTTP/1.1\r\nHost: x\r\nX-A: "+strings.Repeat("x", c.size)+"\r\n\r\n")
		status, _ := hear(t, in)
		assert.Equal(t, c.status, status)
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	r := openListen(t, httpauth.ListenOptions{IdleTime: 100 * time.Millisecond})
	conn, in := r.dial(t)
	say(t, conn, ask("/"))
	hear(t, in)
	closed(t, in)
}

// TestIdleConnectionsMakeRoom: a hundred that do nothing keep nobody out, and those that are served are not cut.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	const most = 20
	r := openListen(t, httpauth.ListenOptions{Connections: most, HeaderTime: time.Hour, IdleTime: time.Hour, Grace: 10 * time.Second})
	var busy []*bufio.Reader
	for range 3 {
		conn, in := r.dial(t)
		say(t, conn, ask("/wait"))
		<-r.begun
		busy = append(busy, in)
	}
	used, kept := r.dial(t)
	say(t, used, ask("/"))
	hear(t, kept)
	var idle []*bufio.Reader
	for n := range 100 {
		conn, in := r.dial(t)
		if n%2 == 0 {
			say(t, conn, "GET / HT")
		}
		idle = append(idle, in)
	}
	conn, in := r.dial(t)
	say(t, conn, ask("/"))
	_, body := hear(t, in)
	assert.Equal(t, "ok", body)
	for _, gone := range idle[:100-most] {
		closed(t, gone) // the oldest, and all but so many
	}
	closed(t, kept)
	for range busy {
		r.goOn <- struct{}{}
	}
	for _, in := range busy {
		_, body := hear(t, in)
		assert.Equal(t, "done", body)
	}
}

// TestWhenEverybodyIsServed the one that comes is turned away.
func TestWhenEverybodyIsServed(t *testing.T) {
	t.Parallel()
	r := openListen(t, httpauth.ListenOptions{Connections: 2, Grace: 10 * time.Second})
	var busy []*bufio.Reader
	for range 2 {
		conn, in := r.dial(t)
		say(t, conn, ask("/wait"))
		<-r.begun
		busy = append(busy, in)
	}
	_, in := r.dial(t)
	closed(t, in)
	for _, in := range busy {
		r.goOn <- struct{}{}
		defer func() {
			_, body := hear(t, in)
			assert.Equal(t, "done", body)
		}()
	}
}

func TestListenOverTLS(t *testing.T) {
	t.Parallel()
	fake := httptest.NewUnstartedServer(nil)
	fake.StartTLS()
	defer fake.Close()
	r := openListen(t, httpauth.ListenOptions{TLS: &tls.Config{Certificates: fake.TLS.Certificates}, HeaderTime: time.Hour, Connections: 3})
	client := &http.Client{Transport: fake.Client().Transport.(*http.Transport).Clone()}
	defer client.CloseIdleConnections()
	get := func() {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.addr, nil)
		require.NoError(t, err)
		res, err := client.Do(q)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		assert.Equal(t, "ok", string(body))
	}
	get()
	for range 10 {
		r.dial(t)
	}
	get() // who never shakes hands takes nobody's place
	hasty := openListen(t, httpauth.ListenOptions{TLS: &tls.Config{Certificates: fake.TLS.Certificates}, HeaderTime: 100 * time.Millisecond})
	_, silent := hasty.dial(t)
	closed(t, silent) // and is not waited for
}
