package webhookhttp

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/countersign-dev/countersign/domain/project"
)

const listenerMaxHeaders = 16 << 10 // bytes

// Listen opens a listener on the loopback interface: 127.0.0.1:9876, [::1]:0, localhost:0. Every other address is project.ErrArgument.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, project.ErrArgument.WithMessage("invalid listen address %q; use host:port, for example 127.0.0.1:9876", address)
	}
	if host == "localhost" { // not looked up: a hosts file may say anything
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.Unmap().IsLoopback() {
		return nil, project.ErrArgument.WithMessage("incoming webhooks listen on the loopback interface only, not on %s; put a tunnel or proxy in front", address)
	}
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
}

// Serve answers requests on the listener, which must be a loopback one, until the context ends; requests in progress then have
// Limits.Grace to finish. It closes the listener, and returns nil after an orderly end.
func (s *server) Serve(ctx context.Context, listener net.Listener) error {
	if at, ok := listener.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		_ = listener.Close()
		return project.ErrArgument.WithMessage("incoming webhooks listen on the loopback interface only, not on %s", at)
	}
	limits := s.opts.Limits
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: limits.Header,
		ReadTimeout:       limits.Request,
		WriteTimeout:      limits.Request + limits.Trigger,
		IdleTimeout:       limits.Idle,
		MaxHeaderBytes:    listenerMaxHeaders,
		ErrorLog:          log.New(io.Discard, "", 0), // says only what senders did wrong
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(newBounded(listener, limits.Connections)) }()
	select {
	case err := <-ended:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = server.Close() // whoever is still sending now is cut off
	}
	<-ended
	return err
}

// bounded is a listener with a number of connections at once; further ones wait to be accepted.
type bounded struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newBounded(l net.Listener, n int) *bounded {
	return &bounded{Listener: l, free: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept waits for a free place, then for a connection.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.free <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.free
		return nil, err
	}
	return &place{Conn: conn, leave: sync.OnceFunc(func() { <-b.free })}, nil
}

// Close lets nobody in any more.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// place is a connection that takes one of the places.
type place struct {
	net.Conn
	leave func()
}

// Close gives the place back.
func (p *place) Close() error {
	defer p.leave()
	return p.Conn.Close()
}

// CloseWrite ends the sending side alone: the server uses it so that a refusal reaches senders who are still busy sending.
func (p *place) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
