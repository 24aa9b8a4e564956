package mcpserver

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/stdio"
)

// DefaultInitializeTimeout is how long a process waits for initialize (context-pack contract §6.4).
const DefaultInitializeTimeout = 20 * time.Second

// grace is how long cancelled calls may take to end: the programs that they run get five seconds to exit and are then killed.
const grace = 6 * time.Second

// InitializeTimeout parses the value of CONTEXT_PACK_INITIALIZE_TIMEOUT_MS: a positive number of milliseconds, else the default (context-pack
// contract §6.4).
func InitializeTimeout(value string) time.Duration {
	ms, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil || ms <= 0 {
		return DefaultInitializeTimeout
	}
	return time.Duration(min(ms, int64(math.MaxInt64/time.Millisecond))) * time.Millisecond
}

// ServeStdio serves one client on in and out until it disconnects, does not initialize in time, or the server's life ends. Every accepted call is
// answered, at the latest some seconds after the end of input. None of these is an error; it fails only if the session cannot be started.
func (s *Server) ServeStdio(in io.Reader, out io.Writer, initializeTimeout time.Duration) error {
	t := stdio.New(stdio.Options{
		In: in, Out: out, Log: s.opts.Log, InitializeTimeout: initializeTimeout,
		Turn: s.Turn, Initialize: s.Handshake, Meta: MetaConfirmWait,
	})
	session, err := s.sdk.Connect(s.life, t, nil)
	if err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := session.Wait(); err != nil {
			s.opts.Log.Debug("the session has ended", "reason", err)
		}
	}()
	select {
	case <-over:
		return nil
	case <-s.life.Done():
		t.End()
	case <-t.Ending():
	}
	select {
	case <-over:
	case <-time.After(stdio.DefaultDrain + grace):
		s.opts.Log.Warn("cancelled calls did not stop and were abandoned")
	}
	return nil
}
