package httpauth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// ListenOptions configures Serve. The zero value serves plain HTTP; zero limits are the defaults.
type ListenOptions struct {
	TLS    *tls.Config  // nil: plain HTTP
	Ending func()       // called when serving starts to end, to end long requests; may be nil
	Log    *slog.Logger // for client errors; nil: no log

	HeaderBytes int           // of a request's headers; 64 KiB
	HeaderTime  time.Duration // for headers to arrive; 5 s
	IdleTime    time.Duration // between requests of a connection; 2 min
	WriteTime   time.Duration // for the client to read an answer, unless the handler sets another; 30 s; negative: no limit
	Grace       time.Duration // for requests in progress when serving ends, and once more after they are cancelled; 2 s
	Connections int           // maximum number; 2048, beyond it idle ones are closed
}

// complete returns the options with zeros replaced by the defaults.
func (o ListenOptions) complete() ListenOptions {
	o.HeaderBytes = cmp.Or(o.HeaderBytes, 64<<10)
	o.HeaderTime = cmp.Or(o.HeaderTime, 5*time.Second)
	o.IdleTime = cmp.Or(o.IdleTime, 2*time.Minute)
	o.WriteTime = cmp.Or(o.WriteTime, 30*time.Second)
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	o.Connections = cmp.Or(o.Connections, 2048)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Serve serves h on l, which it closes, until ctx ends; requests in progress then have a few seconds before they are cancelled, and as long to react.
// That end is not an error.
func Serve(ctx context.Context, l net.Listener, h http.Handler, o ListenOptions) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	o = o.complete()
	c := &connLimiter{most: o.Connections, seats: map[string]*connSlot{}}
	server := &http.Server{
		Handler: c.serving(h), TLSConfig: o.TLS, ConnState: c.turned, BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: o.HeaderTime, IdleTimeout: o.IdleTime, WriteTimeout: o.WriteTime, MaxHeaderBytes: o.HeaderBytes,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		HTTP2:    &http.HTTP2Config{SendPingTimeout: o.IdleTime, PingTimeout: max(o.WriteTime, 0), WriteByteTimeout: max(o.WriteTime, 0)},
	}
	over := make(chan error, 1)
	go func() {
		if o.TLS != nil {
			over <- server.ServeTLS(l, "", "")
		} else {
			over <- server.Serve(l)
		}
	}()
	select {
	case err := <-over:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	if o.Ending != nil {
		o.Ending()
	}
	err := shutdown(server, o.Grace)
	if errors.Is(err, context.DeadlineExceeded) {
		cancel() // the remaining ones end now
		if err = shutdown(server, o.Grace); errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
	}
	if ended := <-over; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// shutdown accepts no more requests, and waits at most patience for those in progress.
func shutdown(server *http.Server, patience time.Duration) error {
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	return server.Shutdown(ctx)
}

// connLimiter limits the connections of a server. If there are too many, idle ones are closed: clients that open connections and send nothing, or
// send slowly, keep no other client out.
type connLimiter struct {
	mu    sync.Mutex
	most  int
	seats map[string]*connSlot // by remote address
}

// connSlot is one connection.
type connSlot struct {
	conn  net.Conn
	since time.Time // when it became idle
	busy  int       // requests being served
}

// turned handles state changes of connections.
func (c *connLimiter) turned(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := conn.RemoteAddr().String()
	switch state {
	case http.StateNew:
		c.seats[key] = &connSlot{conn: conn, since: time.Now()}
		if len(c.seats) > c.most {
			c.makeRoom(key)
		}
	case http.StateClosed, http.StateHijacked:
		if s, ok := c.seats[key]; ok && s.conn == conn {
			delete(c.seats, key)
		}
	}
}

// makeRoom closes the connection that has been idle longest; if all others are busy, the new one.
func (c *connLimiter) makeRoom(latest string) {
	gone := latest
	for key, s := range c.seats {
		if s.busy == 0 && s.since.Before(c.seats[gone].since) {
			gone = key
		}
	}
	conn := c.seats[gone].conn
	if ciphered, ok := conn.(*tls.Conn); ok {
		conn = ciphered.NetConn() // a TLS close message might block on a client that does not read
	}
	_ = conn.Close() // its goroutine notices
	delete(c.seats, gone)
}

// serving returns h that marks its connection busy.
func (c *connLimiter) serving(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := c.acquireSlot(r.RemoteAddr)
		defer c.releaseSlot(s)
		h.ServeHTTP(w, r)
	})
}

func (c *connLimiter) acquireSlot(address string) *connSlot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seats[address]
	if s != nil {
		s.busy++
	}
	return s
}

func (c *connLimiter) releaseSlot(s *connSlot) {
	if s == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.busy--
	s.since = time.Now()
}
