// Package stdiotest is a raw JSON-RPC client for tests of servers that speak MCP on standard input and
// output, in a child process or behind pipes. It checks that every byte the server prints belongs to a JSON
// message, and shares no code with any server.
package stdiotest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a client waits for a message or for the end of a process before it fails the test.
const Patience = 2 * time.Minute

// Client is one session. It is for the goroutine of its test.
type Client struct {
	t      testing.TB
	stdin  io.WriteCloser
	got    chan message
	framed bool
	lastID int
	cmd    *exec.Cmd
	exited chan struct{}
	code   int
	stderr lockedBuffer

	// Notifications are the messages of the server's own that Call and Request met while waiting.
	Notifications []json.RawMessage
}

type message struct {
	body   json.RawMessage
	framed bool
	err    error // io.EOF, or what was wrong with the output
}

// Start runs cmd and talks to it in lines. The process is killed when the test ends.
func Start(t testing.TB, cmd *exec.Cmd) *Client {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("standard input of %s: %v", cmd.Path, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("standard output of %s: %v", cmd.Path, err)
	}
	c := &Client{t: t, stdin: stdin, cmd: cmd, exited: make(chan struct{})}
	if cmd.Stderr == nil {
		cmd.Stderr = &c.stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", cmd.Path, err)
	}
	read := c.read(stdout)
	go func() {
		<-read // Wait closes the pipe, so everything is read first
		c.code = exitCode(cmd.Wait())
		close(c.exited)
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		<-c.exited
	})
	return c
}

// Pipe talks in lines to a server that reads what is written to stdin and writes what is read from stdout.
func Pipe(t testing.TB, stdin io.WriteCloser, stdout io.Reader) *Client {
	c := &Client{t: t, stdin: stdin}
	c.read(stdout)
	t.Cleanup(func() { _ = stdin.Close() })
	return c
}

// Framed makes the client send with Content-Length headers from now on.
func (c *Client) Framed() *Client {
	c.framed = true
	return c
}

// Send sends a message, which need not be valid JSON, in the client's framing.
func (c *Client) Send(raw string) {
	c.t.Helper()
	if c.framed {
		c.SendBytes(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(raw), raw))
		return
	}
	c.SendBytes(raw + "\n")
}

// SendBytes sends exactly these bytes.
func (c *Client) SendBytes(raw string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, raw); err != nil {
		c.t.Fatalf("the server does not read: %v%s", err, c.complaint())
	}
}

// Recv returns the next message of the server.
func (c *Client) Recv() json.RawMessage {
	c.t.Helper()
	m := c.next()
	if m.err != nil {
		c.t.Fatalf("no message: %v%s", m.err, c.complaint())
	}
	return m.body
}

// RecvFramed is Recv, and reports whether the message had a Content-Length header.
func (c *Client) RecvFramed() (json.RawMessage, bool) {
	c.t.Helper()
	m := c.next()
	if m.err != nil {
		c.t.Fatalf("no message: %v%s", m.err, c.complaint())
	}
	return m.body, m.framed
}

// Rest returns every message up to the end of the output.
func (c *Client) Rest() []json.RawMessage {
	c.t.Helper()
	var all []json.RawMessage
	for {
		m := c.next()
		if errors.Is(m.err, io.EOF) {
			return all
		}
		if m.err != nil {
			c.t.Fatalf("after %d messages: %v%s", len(all), m.err, c.complaint())
		}
		all = append(all, m.body)
	}
}

// Response is an answer to a request.
type Response struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// Error is a JSON-RPC error.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Request sends a request with an id of the client's own and waits for the answer to it. Other messages that
// come before are kept in Notifications.
func (c *Client) Request(method string, params any) Response {
	c.t.Helper()
	c.lastID++
	id := strconv.Itoa(c.lastID)
	request := map[string]any{"jsonrpc": "2.0", "id": c.lastID, "method": method}
	if params != nil {
		request["params"] = params
	}
	raw, err := json.Marshal(request)
	if err != nil {
		c.t.Fatalf("params of %s: %v", method, err)
	}
	c.Send(string(raw))
	for {
		body := c.Recv()
		var r Response
		if json.Unmarshal(body, &r) == nil && string(r.ID) == id {
			return r
		}
		c.Notifications = append(c.Notifications, body)
	}
}

// Initialize shakes hands at a protocol revision and returns the result.
func (c *Client) Initialize(version string) json.RawMessage {
	c.t.Helper()
	r := c.Request("initialize", map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "stdiotest", "version": "1"},
	})
	if r.Error != nil {
		c.t.Fatalf("initialize: %s", r.Error.Message)
	}
	c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return r.Result
}

// Result is what a tool answered.
type Result struct {
	Text       string // of the first content
	IsError    bool
	Structured json.RawMessage
	Err        *Error // of the protocol; nothing else is set then
}

// Call calls a tool; nil args are left out.
func (c *Client) Call(tool string, args any) Result {
	c.t.Helper()
	params := map[string]any{"name": tool}
	if args != nil {
		params["arguments"] = args
	}
	return ResultOf(c.t, c.Request("tools/call", params))
}

// ResultOf reads the answer to a tools/call.
func ResultOf(t testing.TB, r Response) Result {
	t.Helper()
	if r.Error != nil {
		return Result{Err: r.Error}
	}
	var body struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		IsError           bool            `json:"isError"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(r.Result, &body); err != nil || len(body.Content) == 0 {
		t.Fatalf("not the result of a tool: %s", r.Result)
	}
	return Result{Text: body.Content[0].Text, IsError: body.IsError, Structured: body.StructuredContent}
}

// CloseStdin ends the server's input.
func (c *Client) CloseStdin() { _ = c.stdin.Close() }

// Wait waits for the process to end by itself and returns its exit code. Messages not yet received are
// dropped, but still checked.
func (c *Client) Wait() int {
	c.t.Helper()
	c.Notifications = append(c.Notifications, c.Rest()...)
	select {
	case <-c.exited:
		return c.code
	case <-time.After(Patience):
		c.t.Fatalf("the process does not end%s", c.complaint())
		return -1
	}
}

// Kill ends the process at once and waits until it is gone. What it was saying is dropped: it may have been in the middle of a line.
func (c *Client) Kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Fatalf("killing the process: %v", err)
	}
	select {
	case <-c.exited:
	case <-time.After(Patience):
		c.t.Fatalf("the process does not end although it was killed%s", c.complaint())
	}
}

// Stderr returns what the process has said on standard error so far.
func (c *Client) Stderr() string { return c.stderr.String() }

func (c *Client) next() message {
	select {
	case m, ok := <-c.got:
		if !ok {
			return message{err: io.EOF}
		}
		return m
	case <-time.After(Patience):
		return message{err: fmt.Errorf("nothing came in %s", Patience)}
	}
}

func (c *Client) complaint() string {
	if text := strings.TrimSpace(c.Stderr()); text != "" {
		return "\nstandard error:\n" + text
	}
	return ""
}

// read starts reading and returns a channel that is closed at the end of the output.
func (c *Client) read(stdout io.Reader) <-chan struct{} {
	c.got = make(chan message, 1<<16)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer close(c.got)
		r := bufio.NewReader(stdout)
		for {
			m := readMessage(r)
			if errors.Is(m.err, io.EOF) {
				return
			}
			c.got <- m
			if m.err != nil {
				_, _ = io.Copy(io.Discard, r)
				return
			}
		}
	}()
	return over
}

// readMessage reads one line of JSON or one frame.
func readMessage(r *bufio.Reader) message {
	line, err := r.ReadBytes('\n')
	if err != nil {
		if len(line) > 0 {
			return message{err: fmt.Errorf("the output ends inside a line: %.200q", line)}
		}
		return message{err: err}
	}
	length, framed := bytes.CutPrefix(line, []byte("Content-Length: "))
	if !framed {
		return checked(bytes.TrimSuffix(line, []byte("\n")), false)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(string(length), "\r\n"))
	if err != nil {
		return message{err: fmt.Errorf("not a length: %q", length)}
	}
	body := make([]byte, 2+n)
	if _, err := io.ReadFull(r, body); err != nil || string(body[:2]) != "\r\n" {
		return message{err: fmt.Errorf("not a frame of %d bytes: %v", n, err)}
	}
	return checked(body[2:], true)
}

func checked(body []byte, framed bool) message {
	if !json.Valid(body) {
		return message{err: fmt.Errorf("the server printed something that is no JSON: %.200q", body)}
	}
	return message{body: body, framed: framed}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write keeps what a process says.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was kept.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
