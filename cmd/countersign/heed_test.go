package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// TestSignalsEndAServerWell: from its first call on, and soon after its start without one, a server that is told to end does so by itself.
func TestSignalsEndAServerWell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no signals for children")
	}
	if signal.Ignored(os.Interrupt) { // a shell's background job passes that on to the servers, unless this process handles it
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		defer signal.Reset(os.Interrupt)
	}
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run("after a call: "+s.String(), func(t *testing.T) {
			cmd := newPlace(t).command("mcp")
			c := stdiotest.Start(t, cmd)
			c.Initialize("2025-06-18")
			c.Call("list_toolsets", args{})
			require.NoError(t, cmd.Process.Signal(s))
			assert.Equal(t, 0, c.Wait(), c.Stderr())
		})
		t.Run("uncalled: "+s.String(), func(t *testing.T) {
			for idle := 100 * time.Millisecond; ; idle *= 2 { // as long as it takes
				cmd := newPlace(t).command("mcp")
				c := stdiotest.Start(t, cmd)
				c.Initialize("2025-06-18")
				<-time.After(idle)
				require.NoError(t, cmd.Process.Signal(s))
				if c.Wait() == 0 {
					return
				}
				require.Less(t, idle, stdiotest.Patience, "it never heeds signals")
			}
		})
	}
}
