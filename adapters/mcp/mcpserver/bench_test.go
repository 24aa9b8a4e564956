package mcpserver_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// peer is a client as lean as can be, so that what is measured is the server.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPeer(b testing.TB, who string) *peer {
	cmd := play(b, who, "GOGC=400")
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	return &peer{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<16)}
}

func (p *peer) exchange(b testing.TB, lines string, answers int) {
	_, err := io.WriteString(p.in, lines)
	require.NoError(b, err)
	for range answers {
		_, err := p.out.ReadSlice('\n')
		require.NoError(b, err)
	}
}

// stop ends the process and returns the CPU time it used.
func (p *peer) stop(b testing.TB) time.Duration {
	require.NoError(b, p.in.Close())
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// cpuOf returns the CPU time of n calls of the trivial tool, one after the other, without that of starting.
func cpuOf(b testing.TB, who string, n int) time.Duration {
	used := [2]time.Duration{}
	for i, calls := range []int{0, n} {
		p := startPeer(b, who)
		p.exchange(b, hello+"\n"+ready+"\n", 1)
		for range calls {
			p.exchange(b, callTool("1", "echo", `{"text":"hello"}`)+"\n", 1)
		}
		used[i] = p.stop(b)
	}
	return used[1] - used[0]
}

// BenchmarkToolsCall compares the CPU time of a trivial tools/call over stdio with the bare SDK's, both with
// GOGC=400 (product goal for the whole pipeline: at most 1.25).
func BenchmarkToolsCall(b *testing.B) {
	n := max(b.N, 2000)
	bare, ours := cpuOf(b, "bare", n), cpuOf(b, "demo", n)
	b.ReportMetric(float64(bare.Microseconds())/float64(n), "bare-us/call")
	b.ReportMetric(float64(ours.Microseconds())/float64(n), "ours-us/call")
	b.ReportMetric(ours.Seconds()/bare.Seconds(), "cpu-ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStart compares the time from the start of the process to the answered handshake with the bare
// SDK's (product goal: at most 1.5).
func BenchmarkStart(b *testing.B) {
	runs := max(b.N, 20)
	took := map[string]time.Duration{}
	for range runs {
		for _, who := range []string{"bare", "demo"} {
			began := time.Now()
			p := startPeer(b, who)
			p.exchange(b, hello+"\n", 1)
			took[who] += time.Since(began)
			p.stop(b)
		}
	}
	b.ReportMetric(float64(took["bare"].Microseconds())/float64(runs)/1000, "bare-ms")
	b.ReportMetric(float64(took["demo"].Microseconds())/float64(runs)/1000, "ours-ms")
	b.ReportMetric(took["demo"].Seconds()/took["bare"].Seconds(), "start-ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkYes is from the user's yes being given to the answer of the call that waited for it, in one process and through another core over the same
// database and directory, as a ratio to a floor in the same run: writing a file and reading it. p95 is of the whole.
func BenchmarkYes(b *testing.B) {
	shared := func(b *testing.B) (asks, answers *fixture) {
		dir := b.TempDir()
		over := func(c *app.Dependencies) {
			store := sqlitestore.Open(filepath.Join(dir, "countersign.db"))
			b.Cleanup(func() { _ = store.Close() })
			c.Bell, c.Ledger, c.Audit, c.Settings, c.Sessions, c.Runs = system.NewBell(filepath.Join(dir, "signals"), nil), sqlitestore.NewLedger(store), store, store, store.Sessions(), sqlitestore.NewRuns(store)
		}
		return newTownOver(b, true, over), newTownOver(b, true, over)
	}
	for name, open := range map[string]func(*testing.B) (asks, answers *fixture){
		"one door": func(b *testing.B) (asks, answers *fixture) {
			asks, _ = shared(b)
			return asks, asks
		},
		"two doors": shared,
	} {
		b.Run(name, func(b *testing.B) {
			asks, answers := open(b)
			s := connect(b, asks, "2025-11-25", func(o *mcpserver.Options) { o.People, o.Wait = asks, time.Minute }, nil)
			touched, done := filepath.Join(b.TempDir(), "touched"), make(chan *mcp.CallToolResult, 1)
			var waits []time.Duration
			var all, floor time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				require.NoError(b, os.WriteFile(touched, []byte("yes"), 0o600))
				_, err := os.ReadFile(touched)
				require.NoError(b, err)
				floor += time.Since(began)
				go func() { done <- call(b, s, "wipe", map[string]any{"name": strconv.Itoa(i)}) }()
				var asked []confirm.View
				require.Eventually(b, func() bool {
					asked, err = asks.Confirmations(b.Context(), "")
					return err == nil && len(asked) == 1
				}, time.Minute, time.Millisecond)
				began = time.Now()
				_, err = answers.Answer(b.Context(), confirm.Decision{ID: asked[0].ID, Approve: true, By: "terminal", Proof: person.AtTerminal})
				require.NoError(b, err)
				require.False(b, (<-done).IsError)
				waits = append(waits, time.Since(began))
				all += waits[len(waits)-1]
			}
			slices.Sort(waits)
			b.ReportMetric(float64(all)/float64(floor), "×floor")
			b.ReportMetric(float64(waits[len(waits)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
