package ecosystemfile

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// patience is how long a listener waits for answers under way when it stops, and for a request to come in.
const patience = 5 * time.Second

// ControlPlane is an ecosystemport.ControlPlane; New makes it. It is safe for concurrent use.
type ControlPlane struct {
	version string
	began   time.Time
	mu      sync.Mutex
	server  *http.Server
	host    string
	port    int
}

var _ ecosystemport.ControlPlane = (*ControlPlane)(nil)

// NewControlPlane returns a listener that does not listen yet. It calls itself that version.
func NewControlPlane(version string, clock ports.Clock) *ControlPlane {
	return &ControlPlane{version: version, began: clock.Now()}
}

// Start has it listen on a loopback address. It fails with ecosystem.ErrServer.
func (l *ControlPlane) Start(ctx context.Context, host string, port int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		return ecosystem.ErrServer.WithMessage("this server already listens on port %d; call amof_server_restart to change the port", l.port)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ecosystem.ErrServer.WithMessage("%q is not a loopback address; the listener is for this machine only (127.0.0.1)", host)
	}
	var config net.ListenConfig
	at, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return ecosystem.ErrServer.WithMessage("cannot listen on port %d of %s; use another port", port, host).WithCause(err)
	}
	server := &http.Server{Handler: l.handler(host, port), ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: 4 * patience, MaxHeaderBytes: 16 << 10}
	l.server, l.host, l.port = server, host, port
	go server.Serve(at) //nolint:errcheck // it ends with http.ErrServerClosed
	return nil
}

// handler serves /health to requests for exactly this address, so that web pages cannot reach it under another host name.
func (l *ControlPlane) handler(host string, port int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if r.Host != net.JoinHostPort(host, strconv.Itoa(port)) || r.Header.Get("Origin") != "" {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"status": "ok", "version": l.version, "pid": os.Getpid()}) //nolint:errcheck // nobody is left to be told
	})
	return mux
}

// Stop has it listen no more; it reports whether it did.
func (l *ControlPlane) Stop(ctx context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, l.server.Close())
	}
	l.server, l.port = nil, 0
	return true, err
}

// Status returns what there is.
func (l *ControlPlane) Status(context.Context) ecosystemport.ServerStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ecosystemport.ServerStatus{PID: os.Getpid(), Host: l.host, Port: l.port, StartedAt: l.began, Version: l.version}
}
