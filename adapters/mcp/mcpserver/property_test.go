package mcpserver_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"pgregory.net/rapid"
)

// piece is something a client may send, and what must come back for it.
type piece struct {
	text string
	want []string
}

func drawPiece(t *rapid.T, id int) piece {
	number := fmt.Sprint(id)
	one := func() piece {
		switch rapid.IntRange(0, 4).Draw(t, "message") {
		case 0:
			return piece{ping(number), []string{number + ":ok"}}
		case 1:
			return piece{callTool(number, "echo", `{"x":"}]\"{"}`), []string{number + ":ok"}}
		case 2:
			return piece{callTool(number, "mutate", "{}"), []string{number + ":ok"}}
		case 3:
			return piece{callTool(number, "panics", "{}"), []string{number + ":-32603"}}
		default:
			return piece{`{"method":"tools/call","params":{"name":"note"}}`, nil}
		}
	}
	switch rapid.IntRange(0, 6).Draw(t, "form") {
	case 0:
		m := one()
		return piece{frame(m.text), m.want}
	case 1:
		return one()
	case 2:
		return piece{"\nnot JSON at all\n", []string{"null:-32700"}}
	case 3:
		return piece{"\n{\"broken\":,}\n", []string{"null:-32700"}}
	case 4:
		m := one()
		if m.want == nil {
			return piece{"[" + m.text + "]", nil}
		}
		return piece{"[7," + m.text + "]", []string{"[null:-32700 " + m.want[0] + "]"}}
	case 5:
		return piece{frame("{"), []string{"null:-32700"}}
	default:
		m := one()
		return piece{m.text + "\r\n", m.want}
	}
}

// Any mixture of sound and broken messages in any framing is answered in full, each message once, and the end
// of input behind it changes nothing.
func TestEveryMessageIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		input, want := hello, []string{"0:ok"}
		for i := range rapid.IntRange(1, 12).Draw(rt, "pieces") {
			p := drawPiece(rt, i+1)
			input += p.text
			want = append(want, p.want...)
		}
		in, out, over := serveOnce(t)
		c := stdiotest.Pipe(t, in, out)
		go func() {
			c.SendBytes(input)
			c.CloseStdin()
		}()
		var got []string
		for _, body := range c.Rest() {
			got = append(got, gist(t, body))
		}
		<-over
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Fatalf("sent %q\ngot  %q\nwant %q", input, got, want)
		}
	})
}
