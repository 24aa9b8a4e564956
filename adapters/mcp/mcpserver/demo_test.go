package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary play the servers that the tests talk to as child processes.
func TestMain(m *testing.M) {
	switch os.Getenv("MCPSERVER_PLAY") {
	case "demo":
		playDemo()
	case "bare":
		playBare()
	default:
		os.Exit(m.Run())
	}
}

// playDemo serves the demo tools as a program would.
func playDemo() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	signal.Ignore(syscall.SIGPIPE)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s := mcpserver.New(ctx, newDemo(), mcpserver.Options{Version: "1.0", Log: log, Instructions: "for tests"})
	if err := s.ServeStdio(os.Stdin, os.Stdout, mcpserver.InitializeTimeout(os.Getenv("CONTEXT_PACK_INITIALIZE_TIMEOUT_MS"))); err != nil {
		log.Error("serving", "error", err)
		os.Exit(1)
	}
}

// playBare is the yardstick: the SDK alone, with its own transport and one trivial tool.
func playBare() {
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	addBareTool(s)
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

func addBareTool(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: "echo", Description: "Repeats.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
		})
}

// play returns a child process that plays a server.
func play(t testing.TB, who string, env ...string) *exec.Cmd {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	// Under the race detector a process sleeps a second before it exits, unless told not to.
	cmd.Env = append(os.Environ(), append(env, "MCPSERVER_PLAY="+who, "GORACE=atexit_sleep_ms=0")...)
	return cmd
}

// demo is a core with a handful of tools that do what a test asks of them.
type demo struct {
	count   atomic.Int64 // of mutations
	running atomic.Int64
	peak    atomic.Int64
	pair    chan struct{} // meet: two calls at once
	gate    chan struct{} // gate: ends once this is closed
	specs   []tool.Spec
}

func newDemo() *demo {
	d := &demo{pair: make(chan struct{}), gate: make(chan struct{})}
	for _, s := range []tool.Spec{
		{Name: "echo", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "slow", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "stubborn", Class: policy.ClassRead, Effects: policy.Read, Toolset: "other"},
		{Name: "panics", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "big", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "steps", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "meet", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "gate", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "count", Class: policy.ClassRead, Effects: policy.Read},
		{Name: "note", Class: policy.ClassScratch, Effects: policy.Read | policy.Write, Idempotent: true},
		{Name: "mutate", Class: policy.ClassWrite, Effects: policy.Read | policy.Write},
		{Name: "destroy", Class: policy.ClassDangerous, Effects: policy.Delete | policy.Network},
		{Name: "program", Class: policy.ClassWrite, Effects: policy.Exec},
		{Name: "carry", Class: policy.ClassRead, Effects: policy.Read, RunsOtherCalls: true},
	} {
		s.Title, s.Description, s.Input = string(s.Name), "A tool for tests.", json.RawMessage(`{"type":"object"}`)
		if s.Toolset == "" {
			s.Toolset = "demo"
		}
		d.specs = append(d.specs, s)
	}
	return d
}

func (d *demo) Specs() iter.Seq[tool.Spec] { return slices.Values(d.specs) }

func (d *demo) Call(ctx context.Context, c tool.Call) tool.Outcome {
	now := d.running.Add(1)
	defer d.running.Add(-1)
	for peak := d.peak.Load(); now > peak && !d.peak.CompareAndSwap(peak, now); peak = d.peak.Load() {
	}
	out := tool.Outcome{CallID: "call_1", RequestID: c.RequestID, Args: c.Args}
	for _, s := range d.specs {
		if s.Name == c.Tool {
			out.Spec = s
		}
	}
	value, err := d.run(ctx, c)
	if err != nil {
		out.Err = fault.From(err)
		return out
	}
	out.Value, err = json.Marshal(value)
	if err != nil {
		out.Err = fault.From(err)
	}
	return out
}

func (d *demo) run(ctx context.Context, c tool.Call) (any, error) {
	var args struct {
		MS   int `json:"ms"`
		Size int `json:"size"`
	}
	if len(c.Args) > 0 {
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, err
		}
	}
	wait := time.Duration(args.MS) * time.Millisecond
	switch c.Tool {
	case "slow":
		select {
		case <-time.After(wait):
			return "slept", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "stubborn":
		<-time.After(wait)
	case "panics":
		panic("the demo tool panics")
	case "big":
		return strings.Repeat("x", args.Size), nil
	case "steps":
		for i := range int64(3) {
			c.Progress(tool.Progress{Done: i + 1, Total: 3, Message: fmt.Sprint("step ", i+1)})
		}
	case "program":
		c.Progress(tool.Progress{Message: "it runs"})
		c.Progress(tool.Progress{Done: 1, Total: 3, Message: "it goes on"})
		fallthrough
	case "meet":
		select {
		case d.pair <- struct{}{}:
		case <-d.pair:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "gate":
		select {
		case <-d.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "count":
		return d.count.Load(), nil
	case "mutate":
		was := d.count.Load()
		<-time.After(wait)
		d.count.Store(was + 1) // loses a count when another runs at the same time
		return was + 1, nil
	}
	return map[string]any{"id": c.RequestID, "args": c.Args, "session": c.Session, "client": c.Client}, nil
}
