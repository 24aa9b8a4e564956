package webhookhttp_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/webhookhttp"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

const token, secret = "0f4c8f6e-token", "signing-secret"

// rig is a server on a real socket, with the workflows it knows and what it started.
type rig struct {
	t       *testing.T
	clock   *clock.Fake
	address string
	stop    func() error

	mu      sync.Mutex
	started []string // workflow and body
	events  []webhookhttp.Event
	fail    error // what starting fails with
	block   chan struct{}
	entered chan struct{}
}

// workflows returns who may start what.
func workflows() map[string]webhook.Incoming {
	digest := webhook.DigestToken(token)
	return map[string]webhook.Incoming{
		"plain":     {Enabled: true, TokenDigest: digest},
		"signed":    {Enabled: true, TokenDigest: digest, Secret: []byte(secret), RequireSignature: true},
		"optional":  {Enabled: true, TokenDigest: digest, Secret: []byte(secret)},
		"untimed":   {Enabled: true, TokenDigest: digest, Secret: []byte(secret), RequireSignature: true, Untimed: true},
		"closed":    {TokenDigest: digest},
		"tokenless": {Enabled: true},
		"empty":     {Enabled: true, TokenDigest: webhook.DigestToken("")},
	}
}

func start(t *testing.T, limits webhookhttp.Limits) *rig {
	r := &rig{t: t, clock: &clock.Fake{}, entered: make(chan struct{}, 100)}
	server := webhookhttp.NewServer(webhookhttp.ServerOptions{Lookup: r.lookup, Trigger: r.trigger, Report: r.report, Clock: r.clock, Limits: limits})
	listener, err := webhookhttp.Listen(t.Context(), "localhost:0")
	require.NoError(t, err)
	r.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = r.stop() })
	return r
}

func (r *rig) lookup(_ context.Context, workflow string) (webhook.Incoming, error) {
	if workflow == "broken" {
		return webhook.Incoming{}, errors.New("the disk is gone")
	}
	in, ok := workflows()[workflow]
	if !ok {
		return webhook.Incoming{}, project.ErrWorkflowNotFound
	}
	return in, nil
}

func (r *rig) trigger(ctx context.Context, workflow string, body []byte) (string, error) {
	r.entered <- struct{}{}
	r.mu.Lock()
	block, fail := r.block, r.fail
	r.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if fail != nil {
		return "", fail
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = append(r.started, workflow+" "+string(body))
	return "e-" + strconv.Itoa(len(r.started)), nil
}

func (r *rig) report(e webhookhttp.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *rig) runs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.started...)
}

func (r *rig) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// reply is an answer, read.
type reply struct {
	code    int
	headers http.Header
	Success bool   `json:"success"`
	ID      string `json:"executionId"`
	Message string `json:"message"`
	Error   string `json:"error"`
	raw     string
}

// send posts a body with headers given as name, value, name, value.
func (r *rig) send(method, path, body string, headers ...string) reply {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.address+path, strings.NewReader(body))
	require.NoError(r.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(r.t, err)
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	got := reply{code: response.StatusCode, headers: response.Header, raw: string(raw)}
	require.NoError(r.t, json.Unmarshal(raw, &got), string(raw))
	assert.Equal(r.t, got.code == http.StatusOK, got.Success)
	assert.Equal(r.t, "application/json", response.Header.Get("Content-Type"))
	return got
}

// last returns the event of the last request that was answered.
func (r *rig) last() webhookhttp.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(r.t, r.events)
	return r.events[len(r.events)-1]
}

// sign returns a signature over what is given, in its header's form.
func sign(key, signed string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, signed)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// timed returns the headers of a request signed at the clock's time plus d.
func (r *rig) timed(body string, d time.Duration) []string {
	stamp := strconv.FormatInt(r.clock.Now().Add(d).Unix(), 10)
	return []string{"X-Webhook-Token", token, "X-Webhook-Timestamp", stamp, "X-Webhook-Signature", sign(secret, stamp+"."+body)}
}

func TestStartingAWorkflow(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	got := r.send("POST", "/webhook/plain", `{"a":1}`, "X-Webhook-Token", token)
	assert.Equal(t, http.StatusOK, got.code)
	assert.Equal(t, "e-1", got.ID)
	assert.NotEmpty(t, got.Message)
	assert.Equal(t, "e-2", r.send("POST", "/webhook/plain", "", "Authorization", "bearer "+token).ID)
	assert.Equal(t, []string{`plain {"a":1}`, "plain "}, r.runs())
	e := r.last()
	assert.Equal(t, "127.0.0.1", e.Remote)
	assert.Equal(t, clock.Epoch, e.At)
	assert.Equal(t, http.StatusOK, e.Status)
	assert.NotEmpty(t, e.ExecutionID)
}

// TestNoOracle: without the token, a workflow that exists, one that does not and one that is closed look the same, to the byte.
func TestNoOracle(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	want := r.send("POST", "/webhook/plain", "{}", "X-Webhook-Token", "wrong")
	assert.Equal(t, http.StatusUnauthorized, want.code)
	for _, workflow := range []string{"plain", "signed", "closed", "tokenless", "empty", "no-such-workflow"} {
		for _, headers := range [][]string{
			{}, {"X-Webhook-Token", "wrong"}, {"X-Webhook-Token", ""}, {"Authorization", "Bearer wrong"}, {"Authorization", "Basic " + token}, {"Authorization", token},
			{"X-Webhook-Token", token, "X-Webhook-Token", "wrong"}, {"X-Webhook-Token", "wrong", "Authorization", "Bearer " + token},
			{"X-Webhook-Signature", sign(secret, "{}")}, {"X-Webhook-Token", webhook.DigestToken(token)},
		} {
			got := r.send("POST", "/webhook/"+workflow+"?token="+token, "{}", headers...)
			got.headers.Del("Date")
			want.headers.Del("Date")
			assert.Equal(t, want, got, "%s %v", workflow, headers)
			r.clock.Advance(time.Second)
		}
	}
	assert.Empty(t, r.runs())
	assert.Equal(t, webhook.RefusedUnknown, r.last().Refusal, "the log knows better")

	conn, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /webhook/no-such-workflow HTTP/1.1\r\nHost: "+r.address+"\r\nX-Webhook-Token: "+token+"\r\nContent-Length: "+strconv.Itoa(webhook.MaxIncoming+1)+"\r\n\r\n")
	require.NoError(t, err)
	large, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, large.StatusCode, "a body is not waited for from somebody without the token")
	assert.Equal(t, http.StatusUnauthorized, r.send("POST", "/webhook/tokenless", "").code, "no token is not the empty token")
}

func TestOtherRefusals(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	for _, path := range []string{"/", "/webhook", "/webhook/", "/webhook/plain/", "/webhook/plain/x", "/webhook/a%2Fb", "/Webhook/plain", "/webhook//plain", "/webhook/" + strings.Repeat("x", 129), "/webhook/a%00"} {
		assert.Equal(t, http.StatusNotFound, r.send("POST", path, "", "X-Webhook-Token", token).code, path)
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		got := r.send(method, "/webhook/plain", "", "X-Webhook-Token", token)
		assert.Equal(t, http.StatusMethodNotAllowed, got.code)
		assert.Equal(t, "POST", got.headers.Get("Allow"))
		assert.Equal(t, got.raw, r.send(method, "/webhook/no-such-workflow", "").raw)
	}
	assert.Equal(t, http.StatusNotFound, r.send("POST", "/webhook/closed", "", "X-Webhook-Token", token).code, "who has the token learns that it is closed")
	assert.Equal(t, webhook.RefusedDisabled, r.last().Refusal)

	got := r.send("POST", "/webhook/broken", "", "X-Webhook-Token", token)
	assert.Equal(t, http.StatusInternalServerError, got.code)
	assert.NotContains(t, got.raw, "disk", "the reason is for the log")
	assert.ErrorContains(t, r.last().Err, "disk")
	assert.Empty(t, r.runs())
}

func TestBodies(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	full := strings.Repeat("x", webhook.MaxIncoming)
	assert.Equal(t, http.StatusOK, r.send("POST", "/webhook/plain", full, "X-Webhook-Token", token).code)
	assert.Equal(t, "plain "+full, r.runs()[0])
	assert.Equal(t, http.StatusRequestEntityTooLarge, r.send("POST", "/webhook/plain", full+"x", "X-Webhook-Token", token).code)

	// Without a length: the server finds out while it reads.
	request, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+r.address+"/webhook/plain", io.MultiReader(strings.NewReader(full), strings.NewReader("x")))
	require.NoError(t, err)
	request.Header.Set("X-Webhook-Token", token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	assert.Len(t, r.runs(), 1)
}

func TestSignedRequests(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	post := func(workflow, body string, headers ...string) int {
		r.clock.Advance(time.Second) // every request is signed at a time of its own
		return r.send("POST", "/webhook/"+workflow, body, headers...).code
	}
	stamp := func() string { return strconv.FormatInt(r.clock.Now().Unix(), 10) }
	for _, workflow := range []string{"signed", "optional"} {
		assert.Equal(t, 200, post(workflow, "a", r.timed("a", 0)...))
		assert.Equal(t, 401, post(workflow, "b", r.timed("a", 0)...), "signed for another body")
		assert.Equal(t, 401, post(workflow, "a", "X-Webhook-Token", token, "X-Webhook-Timestamp", stamp(), "X-Webhook-Signature", sign("other", stamp()+".a")), "another secret")
		assert.Equal(t, 401, post(workflow, "a", "X-Webhook-Token", token, "X-Webhook-Signature", sign(secret, "a")), "body alone")
		assert.Equal(t, 401, post(workflow, "a", "X-Webhook-Token", token, "X-Webhook-Timestamp", stamp(), "X-Webhook-Signature", sign(secret, "a")), "body alone, dressed up")
		assert.Equal(t, 401, post(workflow, "a", r.timed("a", -6*time.Minute)...), "stale")
		assert.Equal(t, 401, post(workflow, "a", r.timed("a", 7*time.Minute)...), "from the future")
		assert.Equal(t, 401, post(workflow, "a", append(r.timed("a", 0)[2:], "X-Webhook-Token", "wrong")...), "the signature is no token")
		r.clock.Advance(time.Minute)
	}
	assert.Equal(t, 401, post("signed", "a", "X-Webhook-Token", token), "required and missing")
	assert.Equal(t, 200, post("optional", "a", "X-Webhook-Token", token))
	assert.Equal(t, 401, post("plain", "a", r.timed("a", 0)...), "a signature nobody can check")

	assert.Equal(t, 200, post("untimed", "a", "X-Webhook-Token", token, "X-Webhook-Signature", sign(secret, "a")))
	assert.Equal(t, 200, post("untimed", "a", "X-Webhook-Token", token, "X-Webhook-Signature", sign(secret, "a")), "the same twice is two requests")
	assert.Equal(t, 401, post("untimed", "a", r.timed("a", 0)...), "a timed signature is no untimed one")
	assert.Equal(t, []string{"signed a", "optional a", "optional a", "untimed a", "untimed a"}, r.runs())
}

func TestReplays(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	headers := r.timed("a", 0)
	send := func() int { return r.send("POST", "/webhook/signed", "a", headers...).code }

	r.set(func() { r.fail = errors.New("no space") })
	assert.Equal(t, 500, send())
	r.set(func() { r.fail = nil })
	assert.Equal(t, 200, send(), "what was not started may be tried again")
	assert.Equal(t, 401, send())
	assert.Equal(t, webhook.RefusedReplay, r.last().Refusal)
	capital := append(append([]string(nil), headers[:5]...), "sha256="+strings.ToUpper(strings.TrimPrefix(headers[5], "sha256=")))
	assert.Equal(t, 401, r.send("POST", "/webhook/signed", "a", capital...).code, "spelled differently")
	r.clock.Advance(webhook.SignatureWindow)
	assert.Equal(t, 401, send(), "at the window's very end")
	r.clock.Advance(time.Second)
	assert.Equal(t, 401, send(), "and then it is stale")
	assert.Equal(t, 200, r.send("POST", "/webhook/signed", "a", r.timed("a", 0)...).code)

	// Many copies at once: one starts.
	early := r.timed("b", 4*time.Minute) // the longest to remember
	var group sync.WaitGroup
	codes := make(chan int, 20)
	for range 20 {
		group.Go(func() { codes <- r.send("POST", "/webhook/signed", "b", early...).code })
	}
	group.Wait()
	close(codes)
	won := 0
	for code := range codes {
		if code == 200 {
			won++
		}
	}
	assert.Equal(t, 1, won)
	r.clock.Advance(8 * time.Minute)
	assert.Equal(t, 401, r.send("POST", "/webhook/signed", "b", early...).code, "remembered as long as it is valid")
}

func TestAHundredAMinute(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	for i := range webhook.RatePerWindow {
		path := []string{"/webhook/plain", "/webhook/no-such-workflow", "/"}[i%3]
		require.NotEqual(t, http.StatusTooManyRequests, r.send("POST", path, "", "X-Webhook-Token", token).code, i)
		r.clock.Advance(100 * time.Millisecond)
	}
	before := len(r.runs())
	got := r.send("POST", "/webhook/plain", "", "X-Webhook-Token", token, "X-Forwarded-For", "8.8.8.8")
	assert.Equal(t, http.StatusTooManyRequests, got.code)
	assert.Equal(t, "50", got.headers.Get("Retry-After"))
	assert.Len(t, r.runs(), before)
	r.clock.Advance(49 * time.Second)
	assert.Equal(t, "1", r.send("POST", "/webhook/plain", "", "X-Webhook-Token", token).headers.Get("Retry-After"))
	r.clock.Advance(time.Second)
	assert.Equal(t, http.StatusOK, r.send("POST", "/webhook/plain", "", "X-Webhook-Token", token).code, "after as many seconds as it said")
	assert.Equal(t, http.StatusTooManyRequests, r.send("POST", "/webhook/plain", "", "X-Webhook-Token", token).code)
}

func TestWhatStartingCanAnswer(t *testing.T) {
	r := start(t, webhookhttp.Limits{Trigger: 50 * time.Millisecond})
	for _, c := range []struct {
		fail error
		want int
	}{
		{errors.New("secret path /home/x"), 500}, {project.ErrConflict, 500}, {project.ErrWorkflowNotFound, 404},
	} {
		r.set(func() { r.fail = c.fail })
		got := r.send("POST", "/webhook/plain", "", "X-Webhook-Token", token)
		assert.Equal(t, c.want, got.code)
		assert.NotContains(t, got.raw, "/home/x")
		assert.ErrorIs(t, r.last().Err, c.fail)
	}
	r.set(func() { r.fail, r.block = nil, make(chan struct{}) })
	assert.Equal(t, 500, r.send("POST", "/webhook/plain", "", "X-Webhook-Token", token).code, "starting has a time limit")
}

// dial opens a bare connection.
func (r *rig) dial() net.Conn {
	conn, err := net.Dial("tcp", r.address)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(r.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

const head = "POST /webhook/plain HTTP/1.1\r\nHost: localhost\r\nX-Webhook-Token: " + token + "\r\n"

// TestClientsThatDawdle: whoever does not send what they announced is cut off, and started nothing.
func TestClientsThatDawdle(t *testing.T) {
	r := start(t, webhookhttp.Limits{Header: 100 * time.Millisecond, Request: 200 * time.Millisecond, Idle: 100 * time.Millisecond})
	for name, sent := range map[string]string{
		"says nothing":         "",
		"stops in its headers": head[:40],
		"never ends headers":   head,
		"stops in its body":    head + "Content-Length: 10\r\n\r\nabc",
		"stops in a chunk":     head + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
	} {
		conn := r.dial()
		_, err := io.WriteString(conn, sent)
		require.NoError(t, err)
		rest, err := io.ReadAll(conn)
		require.NoError(t, err, "%s: the server ends it", name)
		assert.NotContains(t, string(rest), "200 OK", name)
	}
	assert.Empty(t, r.runs())

	r = start(t, webhookhttp.Limits{Header: time.Minute, Request: time.Minute})
	half := r.dial()
	_, err := io.WriteString(half, head+"Content-Length: 10\r\n\r\nabc")
	require.NoError(t, err)
	require.NoError(t, half.(*net.TCPConn).CloseWrite())
	rest, err := io.ReadAll(half)
	require.NoError(t, err)
	assert.Contains(t, string(rest), "400 Bad Request", "half a body is not a body")
	assert.Empty(t, r.runs())

	flood := r.dial()
	_, _ = io.WriteString(flood, head+"X-Flood: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	rest, _ = io.ReadAll(flood)
	assert.Contains(t, string(rest), "431", "headers have a bound")
}

// TestHeadersAndIdlenessHaveTheirOwnLimits: shorter ones than a body has.
func TestHeadersAndIdlenessHaveTheirOwnLimits(t *testing.T) {
	r := start(t, webhookhttp.Limits{Header: 100 * time.Millisecond, Request: time.Hour, Idle: 100 * time.Millisecond})
	slow := r.dial()
	_, err := io.WriteString(slow, head)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, slow)
	require.NoError(t, err, "the server ends it")

	r = start(t, webhookhttp.Limits{Header: time.Minute, Request: time.Hour, Idle: 100 * time.Millisecond})
	idle := r.dial()
	_, err = io.WriteString(idle, head+"Content-Length: 0\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(idle), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	_, err = io.Copy(io.Discard, idle)
	assert.NoError(t, err, "a connection nobody uses is closed")
	assert.Len(t, r.runs(), 1)
}

// TestTheSenderHangsUp: a workflow that is being started is started, whether its sender waits or not.
func TestTheSenderHangsUp(t *testing.T) {
	r := start(t, webhookhttp.Limits{})
	r.set(func() { r.block = make(chan struct{}) })
	conn := r.dial()
	_, err := io.WriteString(conn, head+"Content-Length: 1\r\n\r\na")
	require.NoError(t, err)
	<-r.entered
	require.NoError(t, conn.Close())
	require.Never(t, func() bool { // the server notices within this time
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.events) > 0
	}, 100*time.Millisecond, 10*time.Millisecond, "starting goes on")
	close(r.block)
	require.Eventually(t, func() bool { return len(r.runs()) == 1 }, time.Minute, time.Millisecond)
}

func TestConnectionsAreBounded(t *testing.T) {
	r := start(t, webhookhttp.Limits{Connections: 2, Header: time.Minute, Request: time.Minute})
	first, second, third := r.dial(), r.dial(), r.dial()
	for _, conn := range []net.Conn{first, second} { // both places are taken once the server reads
		_, err := io.WriteString(conn, head+"Content-Length: 1\r\nExpect: 100-continue\r\n\r\n")
		require.NoError(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "100 Continue")
	}
	_, err := io.WriteString(third, head+"Content-Length: 0\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, third.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = third.Read(make([]byte, 1))
	require.Error(t, err, "it waits for its turn")
	require.NoError(t, first.Close())
	require.NoError(t, third.SetReadDeadline(time.Now().Add(time.Minute)))
	answer, err := io.ReadAll(third)
	require.NoError(t, err)
	assert.Contains(t, string(answer), "200 OK")
}

func TestShutdown(t *testing.T) {
	r := start(t, webhookhttp.Limits{Grace: time.Minute, Trigger: time.Minute})
	r.set(func() { r.block = make(chan struct{}) })
	conn := r.dial()
	_, err := io.WriteString(conn, head+"Content-Length: 1\r\n\r\na")
	require.NoError(t, err)
	<-r.entered
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	require.Eventually(t, func() bool { // nobody new is let in
		c, err := net.Dial("tcp", r.address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	}, time.Minute, time.Millisecond)
	close(r.block)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Contains(t, string(answer), `"executionId":"e-1"`, "what was in progress is finished")
	assert.NoError(t, <-stopped)
}

func TestShutdownWithoutPatience(t *testing.T) {
	r := start(t, webhookhttp.Limits{Grace: 50 * time.Millisecond, Trigger: time.Minute})
	r.set(func() { r.block = make(chan struct{}) })
	conn := r.dial()
	_, err := io.WriteString(conn, head+"Content-Length: 1\r\n\r\na")
	require.NoError(t, err)
	<-r.entered
	assert.NoError(t, r.stop())
	answer, _ := io.ReadAll(conn)
	assert.Empty(t, answer, "who takes longer than the grace is cut off")
	close(r.block)
}

func TestLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.168.1.1:0", "example.com:0", "localhost", "", "[::ffff:10.0.0.1]:0"} {
		_, err := webhookhttp.Listen(t.Context(), address)
		assert.ErrorIs(t, err, project.ErrArgument, address)
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "127.9.9.9:0"} {
		l, err := webhookhttp.Listen(t.Context(), address)
		if assert.NoError(t, err, address) {
			assert.NoError(t, l.Close())
		}
	}
	everywhere, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	server := webhookhttp.NewServer(webhookhttp.ServerOptions{Clock: &clock.Fake{}})
	assert.ErrorIs(t, server.Serve(t.Context(), everywhere), project.ErrArgument)
	assert.ErrorIs(t, everywhere.Close(), net.ErrClosed, "it is closed at once")

	closed, err := webhookhttp.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	assert.Error(t, server.Serve(t.Context(), closed), "a listener that fails ends the serving")
}
