package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	alive = `{"jsonrpc":"2.0","id":"alive","method":"ping"}`
	limit = 1 << 20
)

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func callTool(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// in brings lines together.
func in(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// gist returns an answer in short: its id and "ok", "fails" for a tool's error, or the error code.
func gist(t *testing.T, body json.RawMessage) string {
	t.Helper()
	if body[0] == '[' {
		var items []json.RawMessage
		require.NoError(t, json.Unmarshal(body, &items))
		var words []string
		for _, i := range items {
			words = append(words, gist(t, i))
		}
		return "[" + strings.Join(words, " ") + "]"
	}
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  struct {
			IsError bool `json:"isError"`
		} `json:"result"`
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	require.NoError(t, json.Unmarshal(body, &m), "%s", body)
	require.Equal(t, "2.0", m.JSONRPC)
	switch {
	case m.Method != "":
		return m.Method
	case m.Error != nil:
		require.NotEmpty(t, m.Error.Message)
		return fmt.Sprintf("%s:%d", m.ID, m.Error.Code)
	case m.Result.IsError:
		return string(m.ID) + ":fails"
	}
	return string(m.ID) + ":ok"
}

type oddCase struct {
	name string
	in   string
	want []string // in any order
}

func oddInput() []oddCase {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	pretty := "{\n\t\"jsonrpc\": \"2.0\",\n\t\"id\": 1,\n\t\"method\": \"ping\"\n}\n"
	return []oddCase{
		{"a byte order mark", "\uFEFF" + in(hello, ready), []string{"0:ok"}},
		{"garbage", in(hello, "garbage", ping("1"), "\x00\x01\xfe", ping("2")), []string{"0:ok", "null:-32700", "1:ok", "null:-32700", "2:ok"}},
		{"garbage first", in("garbage", hello), []string{"null:-32700", "0:ok"}},
		{"a log line with a colon", in("warning: careful", hello, ping("1")), []string{"null:-32700", "0:ok", "1:ok"}},
		{"wrong jsonrpc", in(hello, `{"jsonrpc":"1.0","id":1,"method":"ping"}`), []string{"0:ok", "1:ok"}},
		{"missing jsonrpc", in(hello, `{"id":1,"method":"ping"}`), []string{"0:ok", "1:ok"}},
		{"jsonrpc of another type", in(hello, `{"jsonrpc":2,"id":1,"method":"ping"}`), []string{"0:ok", "null:-32700"}},
		{"no method", in(hello, `{"jsonrpc":"2.0","id":1}`), []string{"0:ok", "null:-32700"}},
		{"method of another type", in(hello, `{"jsonrpc":"2.0","id":1,"method":7}`), []string{"0:ok", "null:-32700"}},
		{"a member twice", in(hello, `{"id":1,"id":2,"method":"ping"}`), []string{"0:ok", "null:-32700"}},
		{"unknown method", in(hello, `{"id":1,"method":"no/such"}`), []string{"0:ok", "1:-32601"}},
		{"empty method", in(hello, `{"id":1,"method":""}`), []string{"0:ok", "1:-32601"}},
		{"boolean id", in(hello, ping("true")), []string{"0:ok", "true:ok"}},
		{"huge ids", in(hello, ping("9007199254740993"), ping("123456789012345678901234567890"), ping("1.5"), ping("-0")),
			[]string{"0:ok", "9007199254740993:ok", "123456789012345678901234567890:ok", "1.5:ok", "-0:ok"}},
		{"ids that are no scalars", in(hello, ping(`{"a":[1]}`), ping("[]")), []string{"0:ok", `{"a":[1]}:ok`, "[]:ok"}},
		{"ids of text", in(hello, ping(`""`), ping(`"\u00e9\n"`)), []string{"0:ok", `"":ok`, `"\u00e9\n":ok`}},
		{"id too long", in(hello, ping(`"`+strings.Repeat("i", 9000)+`"`)), []string{"0:ok", "null:-32600"}},
		{"null id", in(hello, ping("null")), []string{"0:ok"}},
		{"duplicate ids in flight", in(hello, callTool("1", "slow", `{"ms":30}`), callTool("1", "slow", `{"ms":20}`), ping("1")),
			[]string{"0:ok", "1:ok", "1:ok", "1:ok"}},
		{"deep arguments", in(hello, callTool("1", "echo", `{"a":`+deep(900)+`}`)), []string{"0:ok", "1:ok"}},
		{"too deep", in(hello, callTool("1", "echo", `{"a":`+deep(1000)+`}`), callTool("2", "echo", `{"a":`+deep(100000)+`}`)),
			[]string{"0:ok", "1:-32600", "2:-32600"}},
		{"pretty-printed", hello + pretty, []string{"0:ok", "1:ok"}},
		{"pipelined without newlines", hello + ping("1") + ping("2") + " " + ping("3"), []string{"0:ok", "1:ok", "2:ok", "3:ok"}},
		{"half a line", in(hello, ping("1")[:20], ping("2")), []string{"0:ok", "null:-32700", "2:ok"}},
		{"half an object that could go on", in(hello, `{"id":1,"params":`, ping("2"), ping("3")), []string{"0:ok", "null:-32700", "2:ok", "3:ok"}},
		{"frames", frame(hello) + frame(ready) + frame(ping("1")), []string{"0:ok", "1:ok"}},
		{"frames and lines", frame(hello) + in(ping("1")) + frame(ping("2")) + ping("3"), []string{"0:ok", "1:ok", "2:ok", "3:ok"}},
		{"frame with a length too short", frame(hello) + "Content-Length: 9\r\n\r\n" + in(ping("1")) + frame(ping("2")), []string{"0:ok", "null:-32700", "1:ok", "2:ok"}},
		{"frame with a length too long", frame(hello) + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(ping("1"))+7) + ping("1") + frame(ping("2")), []string{"0:ok", "null:-32700", "2:ok"}},
		{"frame with a wrong length", frame(hello) + "Content-Length: abc\r\n\r\n" + "Content-Length: -5\r\n\r\n" + frame(ping("2")), []string{"0:ok", "2:ok"}},
		{"frame with no length", frame(hello) + "Content-Type: x\r\n\r\n" + frame(ping("2")), []string{"0:ok", "2:ok"}},
		{"frame with garbage", frame(hello) + frame("garbage") + frame(ping("2")), []string{"0:ok", "null:-32700", "2:ok"}},
		{"an array", in(hello, "["+ping("1")+`,{"method":"ping"},7,`+callTool("2", "echo", "{}")+"]"), []string{"0:ok", "[1:ok null:-32700 2:ok]"}},
		{"an array in another order than it is finished", in(hello, "["+callTool("1", "slow", `{"ms":50}`)+","+ping("2")+"]"), []string{"0:ok", "[1:ok 2:ok]"}},
		{"an array of notifications", in(hello, `[`+ready+`,{"method":"ping"}]`), []string{"0:ok"}},
		{"an empty array", in(hello, "[]"), []string{"0:ok", "null:-32700"}},
		{"an array before anything", "[" + hello + "," + ping("1") + "]", []string{"[0:ok 1:ok]"}},
		{"an array with exit in it", in(hello, "["+ping("1")+`,{"method":"notifications/x"},`+callTool("2", "echo", "{}")+"]"), []string{"0:ok", "[1:ok 2:ok]"}},
		{"a message that just fits", in(hello, sized("1", limit)), []string{"0:ok", "1:ok"}},
		{"a message too large", in(hello, sized("1", limit+1), ping("2")), []string{"0:ok", "1:-32600", "2:ok"}},
		{"a frame too large", frame(hello) + frame(sized("1", 3*limit)) + frame(ping("2")), []string{"0:ok", "1:-32600", "2:ok"}},
		{"an answer too large", in(hello, callTool("1", "big", `{"size":1100000}`), ping("2")), []string{"0:ok", "1:-32000", "2:ok"}},
		{"answers too large together", in(hello, "["+callTool("1", "big", `{"size":600000}`)+","+callTool("2", "big", `{"size":500000}`)+"]"), []string{"0:ok", "[1:-32000 2:ok]"}},
		{"a panicking tool", in(hello, callTool("1", "panics", "{}"), ping("2")), []string{"0:ok", "1:-32603", "2:ok"}},
		{"an unknown tool", in(hello, callTool("1", "no_such", "{}")), []string{"0:ok", "1:-32602"}},
		{"tools/call without sense", in(hello, `{"id":1,"method":"tools/call"}`, `{"id":2,"method":"tools/call","params":{}}`, `{"id":3,"method":"tools/call","params":[]}`,
			`{"id":4,"method":"tools/call","params":{"name":5}}`, `{"id":5,"method":"tools/call","params":null}`),
			[]string{"0:ok", "1:-32602", "2:-32602", "3:-32602", "4:-32602", "5:-32602"}},
		{"arguments that are no object", in(hello, callTool("1", "echo", "null"), callTool("2", "echo", "[]"), callTool("3", "echo", `"x"`), `{"id":4,"method":"tools/call","params":{"name":"echo"}}`),
			[]string{"0:ok", "1:-32602", "2:-32602", "3:-32602", "4:ok"}},
		{"calls before initialize", in(callTool("1", "echo", "{}"), `{"id":2,"method":"tools/list"}`, hello), []string{"1:ok", "2:ok", "0:ok"}},
		{"initialize again", in(hello, strings.Replace(hello, `"id":0`, `"id":1`, 1), `{"id":2,"method":"initialize"}`), []string{"0:ok", "1:ok", "2:ok"}},
		{"initialize without sense", in(`{"id":0,"method":"initialize","params":{"protocolVersion":7,"capabilities":[1],"clientInfo":"x"}}`, ping("1")), []string{"0:ok", "1:ok"}},
		{"initialize of wrong capabilities", in(`{"id":0,"method":"initialize","params":{"capabilities":{"roots":7},"clientInfo":{"name":7}}}`, callTool("1", "echo", "{}")), []string{"0:ok", "1:ok"}},
		{"initialized as a request", in(hello, `{"id":1,"method":"notifications/initialized"}`, `{"id":2,"method":"initialized"}`), []string{"0:ok", "1:ok", "2:ok"}},
		{"params of another type", in(hello, `{"id":1,"method":"ping","params":[1]}`, `{"id":2,"method":"tools/list","params":7}`), []string{"0:ok", "1:ok", "2:ok"}},
		{"answers to no question", in(hello, `{"id":1,"result":{}}`, `{"id":"x","error":{"code":1,"message":"m"}}`, `{"id":{},"result":1}`), []string{"0:ok"}},
		{"unknown notifications", in(hello, `{"method":"notifications/no/such"}`, `{"method":"no/such"}`, `{"method":"notifications/cancelled","params":{"requestId":77}}`, `{"method":"notifications/cancelled"}`), []string{"0:ok"}},
		{"methods not served", in(hello, `{"id":1,"method":"resources/list"}`, `{"id":2,"method":"prompts/list"}`, `{"id":3,"method":"completion/complete","params":{}}`, `{"id":4,"method":"logging/setLevel","params":{"level":"info"}}`),
			[]string{"0:ok", "1:-32601", "2:-32601", "3:-32601", "4:-32601"}},
	}
}

// sized returns a request of exactly n bytes.
func sized(id string, n int) string {
	base := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"x":""}}`
	return strings.Replace(base, `""`, `"`+strings.Repeat("y", n-len(base))+`"`, 1)
}

// Nothing a client sends ends the session or loses an answer: not while it goes on, and not when the input
// ends right behind it.
func TestOddInput(t *testing.T) {
	for _, c := range oddInput() {
		t.Run(c.name, func(t *testing.T) {
			t.Run("the session goes on", func(t *testing.T) {
				client := stdiotest.Start(t, play(t, "demo"))
				client.SendBytes(c.in)
				var got []string
				for range c.want {
					got = append(got, gist(t, client.Recv()))
				}
				client.SendBytes("\n" + alive + "\n")
				client.CloseStdin()
				rest := client.Rest()
				require.Len(t, rest, 1, "%s", rest)
				assert.ElementsMatch(t, c.want, got)
				assert.Equal(t, `"alive":ok`, gist(t, rest[0]))
				assert.Zero(t, client.Wait())
			})
			t.Run("the input ends", func(t *testing.T) {
				client := stdiotest.Start(t, play(t, "demo"))
				client.SendBytes(c.in)
				client.CloseStdin()
				var got []string
				for _, body := range client.Rest() {
					got = append(got, gist(t, body))
				}
				assert.ElementsMatch(t, c.want, got)
				assert.Zero(t, client.Wait())
			})
		})
	}
}

// Wherever the input ends, what came whole before is answered and the process ends well.
func TestInputEndsAnywhere(t *testing.T) {
	for _, session := range []string{
		in(hello, ready, callTool("1", "echo", `{"a":1}`)),
		frame(hello) + frame(ready) + frame(callTool("1", "echo", `{"a":1}`)),
	} {
		for _, part := range []float64{0, 0.03, 0.2, 0.45, 0.7, 0.85, 0.99, 1} {
			cut := int(part * float64(len(session)))
			client := stdiotest.Start(t, play(t, "demo"))
			client.SendBytes(session[:cut])
			client.CloseStdin()
			var got []string
			for _, body := range client.Rest() {
				got = append(got, gist(t, body))
			}
			assert.Equal(t, cut > strings.Index(session, ready), slices.Contains(got, "0:ok"), "cut at %d: %s", cut, got)
			assert.Equal(t, cut == len(session), slices.Contains(got, "1:ok"), "cut at %d: %s", cut, got)
			assert.Zero(t, client.Wait())
		}
	}
}
