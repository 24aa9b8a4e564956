package mcpserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gists runs a whole session and returns the answers in their order.
func gists(t *testing.T, input string, env ...string) []string {
	t.Helper()
	c := stdiotest.Start(t, play(t, "demo", env...))
	c.SendBytes(input)
	c.CloseStdin()
	var got []string
	for _, body := range c.Rest() {
		got = append(got, gist(t, body))
	}
	assert.Zero(t, c.Wait())
	return got
}

// The first message read decides the form of every answer (context-pack contract §6.1).
func TestReplyModeIsThatOfTheFirstMessage(t *testing.T) {
	for _, c := range []struct {
		first  string
		framed bool
	}{{frame(hello), true}, {hello + "\n", false}, {"garbage\n" + frame(hello), true}, {frame("garbage") + hello + "\n", true}} {
		client := stdiotest.Start(t, play(t, "demo"))
		client.SendBytes(c.first + ping("1") + frame(ping("2")))
		client.CloseStdin()
		for range 2 + strings.Count(c.first, "garbage") {
			body, framed := client.RecvFramed()
			if gist(t, body) == "null:-32700" {
				continue
			}
			assert.Equal(t, c.framed, framed, "%s after %q", body, c.first)
		}
		assert.Zero(t, client.Wait())
	}
}

// After shutdown only shutdown and exit are served, and nothing has side effects (context-pack contract §6.3).
func TestShutdownAndExit(t *testing.T) {
	shutdown, exit := `{"id":1,"method":"shutdown"}`, `{"id":2,"method":"exit"}`
	assert.Equal(t, []string{"1:ok", "3:-32000", "4:-32000", "1:ok", "2:ok"},
		gists(t, in(shutdown, ping("3"), `{"method":"tools/call","params":{"name":"mutate"}}`, callTool("4", "mutate", "{}"), shutdown, exit, ping("5"))))
	assert.Equal(t, []string{"3:-32000"}, gists(t, in(`{"method":"shutdown"}`, ping("3"))), "a notification arms it too")
	assert.Equal(t, []string{"0:ok", "2:ok"}, gists(t, in(hello, exit, ping("5"))), "exit needs no shutdown")
	assert.Empty(t, gists(t, in(`{"method":"exit"}`, ping("5"))))

	c := stdiotest.Start(t, play(t, "demo"))
	c.SendBytes(in(callTool("7", "slow", `{"ms":100}`), exit))
	assert.Equal(t, []string{"7:ok", "2:ok"}, []string{gist(t, c.Recv()), gist(t, c.Recv())}, "exit loses no accepted call")
	assert.Zero(t, c.Wait(), "and ends the process while its input is open")

	c = stdiotest.Start(t, play(t, "demo"))
	c.SendBytes(in(callTool("7", "slow", `{"ms":100}`), shutdown))
	assert.Equal(t, "7:ok", gist(t, c.Recv()), "shutdown is answered behind the calls before it")
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":null}`, string(c.Recv()))
}

// A request without an id is carried out and not answered (context-pack contract §6.3).
func TestNotificationsOfMethodsAreCarriedOut(t *testing.T) {
	c := stdiotest.Start(t, play(t, "demo"))
	c.SendBytes(in(hello, `{"method":"tools/call","params":{"name":"mutate"}}`, `{"id":null,"method":"tools/call","params":{"name":"mutate"}}`))
	require.Equal(t, "0:ok", gist(t, c.Recv()))
	assert.Equal(t, "2", value(c.Call("count", nil)))
	c.SendBytes(in(`{"method":"tools/call","params":{"name":"mutate","arguments":{"ms":300}}}`, `{"method":"exit"}`))
	assert.Zero(t, c.Wait())
}

// value returns the value in a demo tool's answer.
func value(r stdiotest.Result) string {
	var body struct {
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal([]byte(r.Text), &body) == nil && body.Value != nil {
		return string(body.Value)
	}
	return r.Text
}

// The process ends well when nobody shakes hands in time; pings do not count, initialize and a request of the
// new era do (context-pack contract §6.4).
func TestInitializeWatchdog(t *testing.T) {
	modern := `{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for _, c := range []struct {
		name, in string
		ends     bool
	}{
		{"nothing", "\n", true}, {"ping", ping("1") + "\n", true}, {"a call", callTool("1", "echo", "{}") + "\n", true},
		{"initialize", hello + "\n", false}, {"initialize as a notification", `{"method":"initialize"}` + "\n", false},
		{"the new era", modern + "\n", false},
		{"the new era, ill-formed", strings.Replace(modern, `:{}}}}`, `:7}}}`, 1) + "\n", true},
		{"a newer era", strings.Replace(modern, "2026-07-28", "2027-01-01", 1) + "\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, client := io.Pipe()
				answers, out := io.Pipe()
				var log bytes.Buffer
				over, lines := make(chan error, 1), make(chan string, 100)
				go func() {
					o := mcpserver.Options{Version: "1.0", Log: slog.New(slog.NewTextHandler(&log, nil))}
					over <- mcpserver.New(t.Context(), newDemo(), o).ServeStdio(in, out, 300*time.Millisecond)
					_ = out.Close()
				}()
				go func() {
					for said := bufio.NewScanner(answers); said.Scan(); {
						lines <- said.Text()
					}
					close(lines)
				}()
				_, err := io.WriteString(client, c.in)
				require.NoError(t, err)
				time.Sleep(time.Minute) // of the bubble's clock
				synctest.Wait()
				require.Equal(t, c.ends, len(over) == 1)
				if !c.ends {
					_, err = io.WriteString(client, alive+"\n")
					require.NoError(t, err)
					for gist(t, []byte(<-lines)) != `"alive":ok` {
					}
				}
				require.NoError(t, client.Close())
				require.NoError(t, <-over)
				for range lines { // until the server has ended
				}
				assert.Equal(t, c.ends, strings.Contains(log.String(), "no initialize request arrived"))
			})
		})
	}
}

func TestInitializeTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 20 * time.Second, "50": 50 * time.Millisecond, " 1500\n": 1500 * time.Millisecond, "0": 20 * time.Second,
		"-5": 20 * time.Second, "1.5": 20 * time.Second, "soon": 20 * time.Second, "99999999999999999999": 20 * time.Second,
		"9223372036854775807": math.MaxInt64 / time.Millisecond * time.Millisecond,
	} {
		assert.Equal(t, want, mcpserver.InitializeTimeout(text), "%q", text)
	}
}

// The handshake settles on the client's revision where it has one, and says the same thing every time.
func TestInitialize(t *testing.T) {
	for asked, want := range map[string]string{
		`"2024-11-05"`: "2024-11-05", `"2025-03-26"`: "2025-03-26", `"2025-06-18"`: "2025-06-18", `"2025-11-25"`: "2025-11-25",
		`"2026-07-28"`: "2025-11-25", `"2099-01-01"`: "2025-11-25", `"1999-01-01"`: "1999-01-01", `"2025-12-01"`: "2025-11-25", `"a \"word\""`: `a "word"`, `" "`: "2025-06-18", "null": "2025-06-18", "5": "2025-06-18",
	} {
		c := stdiotest.Start(t, play(t, "demo"))
		request := fmt.Sprintf(`{"id":1,"method":"initialize","params":{"protocolVersion":%s}}`, asked)
		c.Send(request)
		first := c.Recv()
		c.Send(request)
		assert.JSONEq(t, string(first), string(c.Recv()), "the SDK's answer and ours")
		var body struct {
			Result struct {
				ProtocolVersion string          `json:"protocolVersion"`
				Capabilities    json.RawMessage `json:"capabilities"`
				Instructions    string          `json:"instructions"`
				ServerInfo      struct{ Name, Version string }
			} `json:"result"`
		}
		require.NoError(t, json.Unmarshal(first, &body))
		assert.Equal(t, want, body.Result.ProtocolVersion, asked)
		assert.JSONEq(t, `{"tools":{}}`, string(body.Result.Capabilities))
		assert.Equal(t, "for tests", body.Result.Instructions)
		assert.Equal(t, "countersign", body.Result.ServerInfo.Name)
	}
}

// The id of a request reaches the tool as it was written, with its type (context-pack contract §4.1).
func TestRequestIDReachesTheTool(t *testing.T) {
	c := stdiotest.Start(t, play(t, "demo"))
	for _, id := range []string{"7", "9007199254740993", "1.5", `"a\"b"`, "true", `{"x":[1]}`} {
		c.Send(callTool(id, "echo", `{"big":9007199254740993}`))
		var r stdiotest.Response
		require.NoError(t, json.Unmarshal(c.Recv(), &r))
		var body struct {
			Value struct{ ID, Args json.RawMessage } `json:"value"`
		}
		text := stdiotest.ResultOf(t, r).Text
		require.NoError(t, json.Unmarshal([]byte(text), &body), text)
		if body.Value.ID == nil { // the presenter shows the bare value
			require.NoError(t, json.Unmarshal([]byte(text), &body.Value), text)
		}
		assert.JSONEq(t, id, string(body.Value.ID))
		assert.Equal(t, `{"big":9007199254740993}`, string(body.Value.Args), "and so do the arguments")
	}
}

// Reads go together; what changes something goes alone and in its place.
func TestOrderOfCalls(t *testing.T) {
	c := stdiotest.Start(t, play(t, "demo"))
	c.SendBytes(in(callTool("1", "meet", "{}"), callTool("2", "meet", "{}")))
	assert.ElementsMatch(t, []string{"1:ok", "2:ok"}, []string{gist(t, c.Recv()), gist(t, c.Recv())}, "two reads wait for each other")

	var lines []string
	for i := range 20 {
		lines = append(lines, callTool(fmt.Sprint(100+i), "mutate", `{"ms":2}`), callTool(fmt.Sprint(200+i), "count", "{}"))
	}
	c.SendBytes(in(lines...))
	last := 0
	for range lines {
		var r stdiotest.Response
		require.NoError(t, json.Unmarshal(c.Recv(), &r))
		var id int
		require.NoError(t, json.Unmarshal(r.ID, &id))
		assert.Equal(t, fmt.Sprint(id%100+1), value(stdiotest.ResultOf(t, r)), "call %d sees every change before it and none behind", id)
		assert.GreaterOrEqual(t, id%100, last, "answers come in the order of the changes")
		last = id % 100
	}
}

// A program that runs holds up nobody, and what it says too quickly is said a little later.
func TestProgramsHoldUpNobody(t *testing.T) {
	c := stdiotest.Start(t, play(t, "demo"))
	c.SendBytes(in(`{"id":1,"method":"tools/call","params":{"name":"program","_meta":{"progressToken":"t"}}}`))
	assert.Contains(t, string(c.Recv()), "it runs")
	assert.Contains(t, string(c.Recv()), "it goes on", "although nothing came after it")
	c.SendBytes(in(callTool("2", "mutate", "{}"), callTool("3", "count", "{}")))
	assert.Equal(t, []string{"2:ok", "3:ok"}, []string{gist(t, c.Recv()), gist(t, c.Recv())})
	c.SendBytes(in(callTool("4", "program", "{}")))
	assert.ElementsMatch(t, []string{"1:ok", "4:ok"}, []string{gist(t, c.Recv()), gist(t, c.Recv())}, "two of them meet, token or not")
}

// A cancelled call is answered, and neither it nor one that was still waiting holds up the next.
func TestCancelling(t *testing.T) {
	c := stdiotest.Start(t, play(t, "demo"))
	c.SendBytes(in(callTool(`"a"`, "slow", `{"ms":3600000}`), callTool("2.5", "mutate", "{}"), callTool("3", "mutate", "{}"),
		`{"method":"notifications/cancelled","params":{"requestId":2.5,"reason":"no more"}}`))
	assert.Contains(t, gist(t, c.Recv()), "2.5:")
	c.Send(`{"method":"notifications/cancelled","params":{"requestId":"a"}}`)
	assert.Contains(t, gist(t, c.Recv()), `"a":`)
	assert.Equal(t, "3:ok", gist(t, c.Recv()))
	assert.Equal(t, "1", value(c.Call("count", nil)), "the cancelled change was not made")
}

// TestProgress comes before the answer, with the token as it was written.
func TestProgress(t *testing.T) {
	for _, token := range []string{`"t"`, "5", "9007199254740993"} {
		c := stdiotest.Start(t, play(t, "demo"))
		c.Send(`{"id":1,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":` + token + `}}}`)
		var last struct {
			Method string
			Params struct {
				ProgressToken   json.RawMessage
				Progress, Total float64
				Message         string
			}
		}
		seen := 0
		for {
			body := c.Recv()
			if gist(t, body) == "1:ok" {
				break
			}
			seen++
			require.NoError(t, json.Unmarshal(body, &last))
			assert.Equal(t, "notifications/progress", last.Method)
			assert.Equal(t, token, string(last.Params.ProgressToken))
		}
		assert.GreaterOrEqual(t, seen, 2)
		assert.Equal(t, 3.0, last.Params.Progress)
		assert.Equal(t, 3.0, last.Params.Total)
		assert.Equal(t, "step 3", last.Params.Message)
	}
}

// At the end of input a call that goes on too long is answered in its place, and the process does not wait
// for a tool that cannot be stopped.
func TestEndOfInputIsBounded(t *testing.T) {
	t.Parallel()
	c := stdiotest.Start(t, play(t, "demo"))
	c.SendBytes(in(hello, callTool("1", "slow", `{"ms":3600000}`), callTool("2", "stubborn", `{"ms":3600000}`))) // longer than anybody waits here
	c.CloseStdin()
	var got []string
	for _, body := range c.Rest() {
		got = append(got, gist(t, body))
	}
	assert.ElementsMatch(t, []string{"0:ok", "1:-32000", "2:-32000"}, got)
	assert.Zero(t, c.Wait())
}

// SIGTERM cancels what runs, answers it, and ends the process well, with its input still open.
func TestTermination(t *testing.T) {
	cmd := play(t, "demo")
	c := stdiotest.Start(t, cmd)
	c.SendBytes(in(hello, callTool("1", "slow", `{"ms":60000}`), callTool("2", "echo", "{}")))
	for gist(t, c.Recv()) != "2:ok" {
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, "1:fails", gist(t, c.Recv()))
	assert.Zero(t, c.Wait())
}

// A client that stops reading costs the session, not the process.
func TestOutputBreaks(t *testing.T) {
	cmd := play(t, "demo")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, stdout.Close())
	_, err = stdin.Write([]byte(in(hello, ping("1"))))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		assert.NoError(t, err)
	case <-time.After(stdiotest.Patience):
		require.NoError(t, cmd.Process.Kill())
		t.Fatal("the process goes on although nobody reads")
	}
}

// Thousands of calls sent at once are all answered, though only some are held at a time.
func TestFlood(t *testing.T) {
	const calls = 5000
	c := stdiotest.Start(t, play(t, "demo"))
	go func() {
		var lines []string
		for i := range calls {
			lines = append(lines, callTool(fmt.Sprint(i), "echo", "{}"))
		}
		c.SendBytes(in(lines...))
		c.CloseStdin()
	}()
	seen := map[string]bool{}
	for _, body := range c.Rest() {
		seen[gist(t, body)] = true
	}
	assert.Len(t, seen, calls)
	assert.Zero(t, c.Wait())
}

// All four hints follow from the class (product rules: hints by class), but for what changes nothing when it is done twice.
func TestHints(t *testing.T) {
	c := stdiotest.Start(t, play(t, "demo"))
	c.Initialize("2025-11-25")
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			Annotations map[string]any  `json:"annotations"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	require.NoError(t, json.Unmarshal(c.Request("tools/list", nil).Result, &list))
	got := map[string]string{}
	for _, tool := range list.Tools {
		a := tool.Annotations
		got[tool.Name] = fmt.Sprint(a["readOnlyHint"], a["destructiveHint"], a["idempotentHint"], a["openWorldHint"], " ", a["title"])
		assert.JSONEq(t, `{"type":"object"}`, string(tool.InputSchema))
	}
	assert.Equal(t, "true false true false echo", got["echo"])
	assert.Equal(t, "false false true false note", got["note"])
	assert.Equal(t, "false false false false mutate", got["mutate"])
	assert.Equal(t, "false true false true destroy", got["destroy"])
	assert.Equal(t, "false true false true carry", got["carry"])
	assert.Equal(t, "false false false true program", got["program"])
	assert.Len(t, got, 14)
}
