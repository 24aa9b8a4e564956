package mcphttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
)

const patience = time.Minute

// later sends a request and returns where its answer comes.
func (c *caller) later(r *http.Request) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		res, err := c.client.Do(r)
		if err != nil {
			answers <- answer{}
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answers <- answer{status: res.StatusCode, header: res.Header, body: body, events: events(res.Header, body)}
	}()
	return answers
}

func (s *site) runs(n int64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.running.Load() == n }, patience, time.Millisecond)
}

func soon[T any](t testing.TB, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(patience):
		require.Fail(t, "nothing comes")
	}
	return got
}

// TestOneCredentialLeavesRoomForOthers: who connects again and again loses sessions that nobody uses, the oldest first, and nobody else does.
func TestOneCredentialLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false), func(o *mcphttp.EndpointOptions, _ *mcpserver.Options) { o.Sessions, o.Own = 4, 2 })
	ping := `{"jsonrpc":"2.0","id":9,"method":"ping"}`
	bob := s.as("bob").connect("2025-11-25", "{}")
	var ann []*caller
	for range 5 {
		ann = append(ann, s.as("ann").connect("2025-11-25", "{}"))
	}
	for i, c := range ann { // the last two are left
		assert.Equal(t, map[bool]int{true: 404, false: 200}[i < 3], c.post(ping).status, "session %d", i)
	}
	assert.Equal(t, 200, bob.post(ping).status)
	s.as("bob").connect("2025-11-25", "{}")
}

// What cancels a call in the older era is a notification of its session that names it, however the call went and however its id is written.
func TestCancellingInASession(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	for _, meta := range []string{"", `{"progressToken":1}`} {
		for id, named := range map[string]string{"41": "41", `"caf\u00e9"`: `"café"`} {
			c, other := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").connect("2025-11-25", "{}")
			cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + named + `}}`
			answers := c.later(c.ask(id, "tools/call", toolCall("slow", `{"ms":60000}`, meta)))
			s.runs(1)
			assert.Equal(t, 202, other.post(cancel).status)
			assert.Equal(t, 202, c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`).status)
			assert.EqualValues(t, 1, s.running.Load(), "neither another session nor another id")
			assert.Equal(t, 202, c.post(cancel).status)
			a := soon(t, answers)
			assert.Contains(t, string(a.body), "cancel")
			s.runs(0)
		}
	}
}

// In the older era a lost connection cancels nothing; in the newer one it does, however the call went.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"2025-11-25", modern} {
		for _, meta := range []string{"", `{"progressToken":1}`} {
			s := serve(t, newTown(t, false))
			c := s.as("ann").in(era)
			ctx, hangUp := context.WithCancel(context.Background())
			r := c.ask("1", "tools/call", toolCall("slow", `{"ms":60000}`, meta)).WithContext(ctx)
			answers := c.later(r)
			s.runs(1)
			hangUp()
			soon(t, answers)
			if era == modern {
				s.runs(0)
				continue
			}
			_, failed := c.call("look", "{}")
			assert.False(t, failed)
			assert.EqualValues(t, 1, s.running.Load(), "it goes on")
			close(s.gate)
			s.runs(0)
		}
	}
}

// A client that sends no more but still listens gets its answer in the older era.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").connect("2025-11-25", "{}")
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"ms":60000}}}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n"+
		"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", c.session, len(body), body)
	require.NoError(t, err)
	s.runs(1)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	close(s.gate)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	all, _ := io.ReadAll(conn)
	assert.Contains(t, string(all), `"result"`)
}

// A body that ends early, and one that comes in pieces.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").connect("2025-11-25", "{}")
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\nMcp-Session-Id: " + c.session + "\r\nMcp-Protocol-Version: 2025-11-25\r\n" +
		"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"name":"x"}}}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, head+"Transfer-Encoding: chunked\r\n\r\n")
	require.NoError(t, err)
	for _, b := range []byte(body) {
		_, err = fmt.Fprintf(conn, "1\r\n%c\r\n", b)
		require.NoError(t, err)
	}
	_, err = io.WriteString(conn, "0\r\n\r\n")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	assert.Equal(t, 200, res.StatusCode)
	_ = res.Body.Close()

	broken, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer broken.Close()
	_, err = fmt.Fprintf(broken, "%sContent-Length: %d\r\n\r\n%s", head, len(body)+10, body)
	require.NoError(t, err)
	require.NoError(t, broken.(*net.TCPConn).CloseWrite())
	res, err = http.ReadResponse(bufio.NewReader(broken), nil)
	require.NoError(t, err)
	assert.Equal(t, 400, res.StatusCode)
	_ = res.Body.Close()
}

// When the server ends, what runs is cancelled and answered, streams end, new requests are refused, and every session is over.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	older, newer := s.as("ann").connect("2025-11-25", "{}"), s.as("bob").newer()
	stream := older.later(older.request(http.MethodGet, ""))
	var running []<-chan answer
	for i, c := range []*caller{older, newer} {
		running = append(running, c.later(c.ask("1", "tools/call", toolCall("slow", `{"ms":60000}`, ""))), c.later(c.ask("2", "tools/call", toolCall("slow", `{"ms":60000}`, `{"progressToken":1}`))))
		s.runs(int64(2 * (i + 1)))
	}
	s.end()
	for _, r := range running {
		assert.Contains(t, string(soon(t, r).body), "cancel")
	}
	assert.Equal(t, 200, soon(t, stream).status)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.endpoint.Close(ctx))
	assert.Zero(t, s.endpoint.Sessions())
	assert.NotEqual(t, soon(t, s.ended), soon(t, s.ended), "both client instances are forgotten")
	for _, c := range []*caller{older, newer} {
		a := c.do(c.ask("3", "tools/call", toolCall("look", "{}", "")))
		assert.Equal(t, 503, a.status)
		assert.EqualValues(t, -32000, a.last(t).Error.Code)
	}
}

// DELETE cancels what runs in the session, and nothing of it runs when it is answered.
func TestEndingASessionCancelsItsCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").connect("2025-11-25", "{}")
	stream := c.later(c.request(http.MethodGet, ""))
	calls := []<-chan answer{c.later(c.ask("1", "tools/call", toolCall("slow", `{"ms":60000}`, ""))), c.later(c.ask("2", "tools/call", toolCall("slow", `{"ms":60000}`, `{"progressToken":1}`)))}
	s.runs(2)
	assert.Equal(t, 204, c.do(c.request(http.MethodDelete, "")).status)
	assert.Zero(t, s.running.Load())
	soon(t, s.ended)
	for _, r := range append(calls, stream) {
		soon(t, r)
	}
}

// A request with the id of one that is under way is refused, and the first goes on.
func TestAnIDTwice(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").connect("2025-11-25", "{}")
	first := c.later(c.ask("1", "tools/call", toolCall("slow", `{"ms":60000}`, "")))
	s.runs(1)
	a := c.do(c.ask("1", "tools/call", toolCall("look", `{}`, "")))
	assert.Equal(t, 400, a.status)
	assert.EqualValues(t, -32600, a.last(t).Error.Code)
	close(s.gate)
	_, failed := resultOf(t, soon(t, first))
	assert.False(t, failed)
	_, failed = c.call("look", "{}")
	assert.False(t, failed, "the id can be used again")
}

// So many sessions, and no more until one ends; so many requests of one session.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false), func(d *mcphttp.EndpointOptions, _ *mcpserver.Options) { d.Sessions, d.Requests = 2, 3 })
	first, second := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").connect("2025-11-25", "{}")
	for _, c := range []*caller{s.as("ann"), s.as("bob").newer()} {
		var a answer
		if c.version == modern {
			a = c.do(c.ask("1", "tools/call", toolCall("look", "{}", "")))
		} else {
			a = c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"9"}}}`)
		}
		assert.Equal(t, 503, a.status)
		assert.Equal(t, "60", a.header.Get("Retry-After"))
		assert.EqualValues(t, -32000, a.last(t).Error.Code)
	}
	assert.Equal(t, 204, second.do(second.request(http.MethodDelete, "")).status)
	s.as("bob").newer().call("look", "{}")
	assert.Equal(t, 2, s.endpoint.Sessions())
	for range 3 { // of a client without a session, the one that was used longest ago makes room
		c := s.as("ann").newer()
		c.info = `{"name":"` + time.Now().String() + `"}`
		_, failed := c.call("look", "{}")
		assert.False(t, failed)
	}
	assert.Equal(t, 2, s.endpoint.Sessions())

	var slow []<-chan answer
	for i := range 3 {
		slow = append(slow, first.later(first.ask(fmt.Sprint(i), "tools/call", toolCall("slow", `{"ms":60000}`, ""))))
	}
	s.runs(3)
	a := first.do(first.ask("9", "tools/call", toolCall("look", "{}", "")))
	assert.Equal(t, 429, a.status)
	assert.EqualValues(t, -32000, a.last(t).Error.Code)
	close(s.gate)
	for _, r := range slow {
		assert.Equal(t, 200, soon(t, r).status)
	}
	_, failed := first.call("look", "{}")
	assert.False(t, failed)
}

// A session that nobody uses ends by itself; calls, whichever way they go, and an open stream are uses.
func TestIdleSessions(t *testing.T) {
	t.Parallel()
	const idle = 3 * time.Second // by then a busy machine, too, has done what is to be done first
	s := serve(t, newTown(t, false), func(d *mcphttp.EndpointOptions, _ *mcpserver.Options) { d.Idle = idle })
	busy, streaming, left, newer := s.as("ann").connect("2025-11-25", "{}"), s.as("ann").connect("2025-11-25", "{}"), s.as("ann").connect("2025-11-25", "{}"), s.as("ann").newer()
	newer.call("look", "{}")
	ctx, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	stream := streaming.later(streaming.request(http.MethodGet, "").WithContext(ctx))
	slow := busy.later(busy.ask("1", "tools/call", toolCall("slow", `{"ms":60000}`, "")))
	s.runs(1)
	require.Eventually(t, func() bool { return s.endpoint.Sessions() == 2 }, patience, 10*time.Millisecond)
	assert.Equal(t, 404, left.do(left.ask("1", "ping", "{}")).status)
	assert.NotEqual(t, soon(t, s.ended), soon(t, s.ended))
	newer.call("look", "{}")
	assert.Equal(t, 3, s.endpoint.Sessions(), "a client without sessions just comes again")
	close(s.gate)
	assert.Equal(t, 200, soon(t, slow).status)
	assert.Equal(t, 200, streaming.do(streaming.ask("1", "ping", "{}")).status)
	hangUp()
	soon(t, stream)
	require.Eventually(t, func() bool { return s.endpoint.Sessions() == 0 }, patience, 10*time.Millisecond)
}

// A session is a stream, and one alone, for what nobody asked for.
func TestOneStreamASession(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann").connect("2025-11-25", "{}")
	ctx, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	res, err := c.client.Do(c.request(http.MethodGet, "").WithContext(ctx))
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, 200, res.StatusCode)
	assert.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	a := c.do(c.request(http.MethodGet, ""))
	assert.Equal(t, 409, a.status)
	assert.NotNil(t, a.last(t).Error)
	r := c.request(http.MethodGet, "")
	r.Header.Set("Accept", "application/json")
	assert.Equal(t, 400, c.do(r).status)
	r = c.request(http.MethodGet, "")
	r.Header.Set("Last-Event-ID", "a_1")
	assert.Equal(t, 400, c.do(r).status)
	c.session = ""
	assert.Equal(t, 400, c.do(c.request(http.MethodGet, "")).status)
	assert.Equal(t, 400, c.do(c.request(http.MethodDelete, "")).status)
	a = c.do(c.request(http.MethodPut, "x"))
	assert.Equal(t, 405, a.status)
	assert.Equal(t, "GET, POST, DELETE", a.header.Get("Allow"))
}

// Before the handshake only what needs no session is served, and nothing of it stays.
func TestBeforeTheHandshake(t *testing.T) {
	t.Parallel()
	s := serve(t, newTown(t, false))
	c := s.as("ann")
	assert.Nil(t, c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).last(t).Error)
	assert.NotNil(t, c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`).last(t).Error)
	assert.NotNil(t, c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).last(t).Error)
	assert.Zero(t, s.endpoint.Sessions())
	a := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2099-01-01","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"9"}}}`)
	assert.Contains(t, string(a.last(t).Result), `"protocolVersion":"2025-11-25"`)
	c.session, c.version = a.header.Get("Mcp-Session-Id"), "2025-11-25"
	assert.NotNil(t, c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"9"}}}`).last(t).Error, "once is enough")
}

// Many sessions read at once; when they end, nothing is left.
func TestManySessions(t *testing.T) {
	s := serve(t, newTown(t, false))
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			c := s.as([]string{"ann", "bob"}[i%2])
			defer c.client.CloseIdleConnections()
			c.in(eras[i%len(eras)])
			for range 10 {
				for _, call := range [][2]string{{"look", `{"name":"x"}`}, {"list_toolsets", "{}"}, {"get_policy", "{}"}} {
					text, failed := c.call(call[0], call[1])
					assert.False(t, failed, text)
				}
				assert.Equal(t, 200, c.do(c.ask("5", "tools/list", "{}")).status)
			}
			if c.session != "" {
				assert.Equal(t, 204, c.do(c.request(http.MethodDelete, "")).status)
			}
		})
	}
	group.Wait()
	assert.LessOrEqual(t, s.endpoint.Sessions(), 2, "the two clients without sessions")
}
