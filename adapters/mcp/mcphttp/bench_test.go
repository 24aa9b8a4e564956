package mcphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// lean is a client on one connection that does as little as can be, so that what is measured is the server.
type lean struct {
	conn net.Conn
	in   *bufio.Reader
	head string // of a request, without its length
}

func newLean(b testing.TB, url string, headers ...string) *lean {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(b, err)
	head := "POST /mcp HTTP/1.1\r\nHost: " + strings.TrimPrefix(url, "http://") + "\r\nAuthorization: Bearer " + leanToken + "\r\nContent-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\n"
	for _, h := range headers {
		head += h + "\r\n"
	}
	return &lean{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), head: head}
}

// exchange sends a body and returns the session's id, if any, and the answer as it stands in the response.
func (l *lean) exchange(body string) (session string, answer []byte, err error) {
	if _, err = io.WriteString(l.conn, l.head+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		return "", nil, err
	}
	length, status := -1, ""
	for {
		line, err := l.in.ReadSlice('\n')
		if err != nil {
			return "", nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case text == "":
			if length >= 0 {
				answer = make([]byte, length)
				_, err = io.ReadFull(l.in, answer)
			} else {
				answer, err = l.chunks()
			}
			if err == nil && !strings.Contains(status, " 200 ") && !strings.Contains(status, " 202 ") {
				err = fmt.Errorf("%s: %s", status, answer)
			}
			return session, answer, err
		case status == "":
			status = text
		case strings.HasPrefix(text, "Content-Length: "):
			length, _ = strconv.Atoi(text[16:])
		case strings.HasPrefix(text, "Mcp-Session-Id: "):
			session = text[16:]
		}
	}
}

func (l *lean) chunks() (all []byte, err error) {
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			return nil, err
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(l.in, chunk); err != nil {
			return nil, err
		}
		if n == 0 {
			return all, nil
		}
		all = append(all, chunk[:n]...)
	}
}

const (
	leanHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lean","version":"1"}}}`
	leanCall  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_toolsets","arguments":{}}}`
	leanNewer = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_toolsets","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"lean","version":"1"}}}}`
)

// leanSession returns a lean client with a session.
func leanSession(b testing.TB, url string) *lean {
	l := newLean(b, url)
	session, _, err := l.exchange(leanHello)
	require.NoError(b, err)
	l.head += "Mcp-Session-Id: " + session + "\r\nMcp-Protocol-Version: 2025-11-25\r\n"
	_, _, err = l.exchange(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.NoError(b, err)
	return l
}

func leanModern(b testing.TB, url string) *lean {
	return newLean(b, url, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: list_toolsets")
}

// leanToken is the bearer token of lean clients.
const leanToken = "cs_of-a-test-and-of-nothing-else"

// whole returns the product's own core on this machine, served by the endpoint behind the guard.
func whole(b testing.TB) (url string, endpoint *mcphttp.Endpoint) {
	dir := b.TempDir()
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(b.TempDir()), Dir: filepath.Join(dir, "home"), Options: person.ByCaller(local.Defaults()), Packs: local.Packs{Root: filepath.Join(dir, "packs"), Source: dir}})
	require.NoError(b, err)
	life, end := context.WithCancel(context.Background())
	face := mcpserver.New(life, l.App, mcpserver.Options{Version: "1", People: l.App, Forecaster: l.App, Concurrency: 64})
	endpoint = mcphttp.NewEndpoint(life, mcphttp.EndpointOptions{Server: face, Known: mcphttp.NewKnownNames(l.Toolsets()), EndSession: l.EndSession})
	keeper := l.Admission()
	_, err = keeper.Issue(b.Context(), "test", access.Credential{Kind: access.Token, Name: "lean", Digest: access.DigestOf(leanToken)})
	require.NoError(b, err)
	guard := httpauth.NewGuard(httpauth.Options{Credentials: keeper, Owner: l.Owner()})
	mux := http.NewServeMux()
	mux.Handle("/mcp", guard.RequireToken(endpoint.ServeVisitor))
	server := httptest.NewServer(guard.Middleware(mux))
	b.Cleanup(func() {
		end()
		require.NoError(b, endpoint.Close(context.Background()))
		server.CloseClientConnections()
		server.Close()
		require.NoError(b, l.Close())
	})
	return server.URL, endpoint
}

// bare returns the yardstick: the SDK's own server at its defaults, with one tool that answers text.
func bare(b testing.TB, text string) string {
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "list_toolsets", Description: "Repeats.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	b.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// median returns the middle duration of n calls of one client, and the 99th of a hundred.
func median(b testing.TB, l *lean, body string, n int) (p50, p99 time.Duration) {
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		_, _, err := l.exchange(body)
		took[i] = time.Since(began)
		require.NoError(b, err)
	}
	slices.Sort(took)
	return took[n/2], took[n*99/100]
}

// crowded is what so many clients at once see.
type crowded struct {
	rate     float64       // calls a second that are answered
	p50, p99 time.Duration // what one call takes
}

// crowd has so many clients call at once.
func crowd(b testing.TB, body string, each int, all []*lean) crowded {
	var group sync.WaitGroup
	took := make([]time.Duration, each*len(all))
	began := time.Now()
	for i, l := range all {
		group.Go(func() {
			for n := range each {
				asked := time.Now()
				if _, _, err := l.exchange(body); err != nil {
					b.Error(err)
					return
				}
				took[i*each+n] = time.Since(asked)
			}
		})
	}
	group.Wait()
	whole := time.Since(began)
	slices.Sort(took)
	return crowded{rate: float64(len(took)) / whole.Seconds(), p50: took[len(took)/2], p99: took[len(took)*99/100]}
}

// answered returns the text of the tool's answer, and that it is one.
func answered(b testing.TB, l *lean, body string) string {
	_, raw, err := l.exchange(body)
	require.NoError(b, err)
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	require.NoError(b, json.Unmarshal(raw, &m), "%s", raw)
	require.NotEmpty(b, m.Result.Content, "%s", raw)
	return m.Result.Content[0].Text
}

// TestPlayedServer is the process that a benchmark talks to: it serves until its input ends. Without a benchmark it is nothing.
func TestPlayedServer(t *testing.T) {
	url := ""
	switch who := os.Getenv("DUALERA_PLAY"); who {
	case "":
		return
	case "whole":
		url, _ = whole(t)
	default:
		url = bare(t, who)
	}
	fmt.Println("\n" + url)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// played returns a process that serves: "whole", or the SDK's server, which answers any other text. gc is its garbage collection target. worked tells how much
// processor time it has used, where the system has that in a file.
func played(b *testing.B, who, gc string) (url string, worked func() time.Duration) {
	exe, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(exe, "-test.run=^TestPlayedServer$")
	cmd.Env = append(os.Environ(), "DUALERA_PLAY="+who, "GOGC="+gc)
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			go io.Copy(io.Discard, out) //nolint:errcheck // it ends with the process
			return lines.Text(), func() time.Duration {
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
				fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
				ticks := 0
				for i := 11; i <= 12 && i < len(fields); i++ { // user and system, in hundredths of a second
					n, err := strconv.Atoi(fields[i])
					require.NoError(b, err)
					ticks += n
				}
				return time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	b.Fatal("it does not serve")
	return "", nil
}

// BenchmarkCall compares tools/call through the whole pipeline, guard and credential included, with the SDK's bare server at its defaults (sessions,
// streams, Go's own garbage collection), which answers the same bytes. Ours has the product's garbage collection target. (Product goals: one client's
// p50 at most 1.5 times its, 16 clients at least twice its calls a second, with a p99 of at most three times their p50.)
func BenchmarkCall(b *testing.B) {
	url, ourWork := played(b, "whole", "400")
	ours, newer := leanSession(b, url), leanModern(b, url)
	theirURL, theirWork := played(b, answered(b, ours, leanCall), "100")
	require.NotEmpty(b, answered(b, newer, leanNewer))
	theirs := leanSession(b, theirURL)
	n := max(b.N, 2000)
	asked := []string{leanCall, leanCall, leanNewer}
	const many = 16
	var crews [3][]*lean
	for range many {
		crews[0], crews[1], crews[2] = append(crews[0], leanSession(b, theirURL)), append(crews[1], leanSession(b, url)), append(crews[2], leanModern(b, url))
	}
	// In short turns, so that whatever else the machine does meets all of them alike; the middle turn counts.
	const turns = 9
	var p50s [3][]time.Duration
	var rates, tails [3][]float64
	var spent [3]time.Duration // by the server, for its crew
	for range turns {
		for i, l := range []*lean{theirs, ours, newer} {
			p50, _ := median(b, l, asked[i], n/turns)
			p50s[i] = append(p50s[i], p50)
		}
		for i, group := range crews {
			work := []func() time.Duration{theirWork, ourWork, ourWork}[i]
			before := work()
			c := crowd(b, asked[i], n/turns/2, group)
			spent[i] += work() - before
			rates[i], tails[i] = append(rates[i], c.rate), append(tails[i], float64(c.p99)/float64(c.p50))
		}
	}
	p50, calls, tail := [3]float64{}, [3]float64{}, [3]float64{}
	for i := range p50s {
		slices.Sort(p50s[i])
		slices.Sort(rates[i])
		slices.Sort(tails[i])
		p50[i], calls[i], tail[i] = float64(p50s[i][turns/2].Microseconds()), rates[i][turns/2], tails[i][turns/2]
	}
	b.ReportMetric(p50[0], "bare-p50-us")
	b.ReportMetric(p50[1], "ours-p50-us")
	b.ReportMetric(p50[1]/p50[0], "p50-ratio")
	b.ReportMetric(p50[2]/p50[0], "newer-p50-ratio")
	b.ReportMetric(calls[0], "bare-calls/s")
	b.ReportMetric(calls[1], "ours-calls/s")
	b.ReportMetric(calls[1]/calls[0], "rate-ratio")
	b.ReportMetric(calls[2]/calls[0], "newer-rate-ratio")
	if spent[0] > 0 { // what the server itself works decides how many calls it answers, whatever else the machine does
		b.ReportMetric(float64(spent[1])/float64(spent[0]), "cpu-ratio")
		b.ReportMetric(float64(spent[2])/float64(spent[0]), "newer-cpu-ratio")
	}
	b.ReportMetric(tail[0], "bare-p99/p50")
	b.ReportMetric(tail[1], "p99/p50")
	b.ReportMetric(tail[2], "newer-p99/p50")
	b.ReportMetric(0, "ns/op")
}
