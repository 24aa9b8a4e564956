package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/countersign-dev/countersign/adapters/mcp/wire"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read returns one word a message: "method#id", "~id" for a response, "[...]" for a batch, the error code
// with the recovered id for a bad one; "/f" is appended to framed ones.
func read(t testing.TB, src io.Reader) []string {
	t.Helper()
	r := wire.NewReader(src)
	var words []string
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			return words
		}
		require.NoError(t, err)
		words = append(words, word(m))
	}
}

func word(m wire.Message) string {
	w := ""
	switch m.Kind {
	case wire.Request:
		w = m.Method
		if m.ID != nil {
			w += "#" + string(m.ID)
		}
	case wire.Response:
		w = "~" + string(m.ID)
	case wire.Batch:
		var items []string
		for _, i := range m.Items {
			items = append(items, word(i))
		}
		w = "[" + strings.Join(items, " ") + "]"
	case wire.Bad:
		w = fmt.Sprint(m.Code)
		if m.ID != nil {
			w += "#" + string(m.ID)
		}
	}
	if m.Framed {
		w += "/f"
	}
	return w
}

func framed(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func request(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"a":[1,{"b":"}"}]}}`, id)
}

// pad returns a request of exactly n bytes.
func pad(n int, idFirst bool) string {
	head, tail := `{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"`, `"}}`
	if !idFirst {
		head, tail = `{"jsonrpc":"2.0","method":"m","params":{"x":"`, `"},"id":7}`
	}
	return head + strings.Repeat("y", n-len(head)-len(tail)) + tail
}

type readCase struct {
	name, in string
	want     []string
}

func readCases() []readCase {
	half := request(1)[:30]
	return []readCase{
		{"nothing", "", nil},
		{"blank", " \r\n\t\f\n", nil},
		{"line", request(1) + "\n", []string{"m#1"}},
		{"no newline", request(1), []string{"m#1"}},
		{"pipelined without newline", request(1) + request(2) + " " + request(3), []string{"m#1", "m#2", "m#3"}},
		{"pretty-printed", "{\n  \"id\": 1,\n  \"method\": \"m\"\n}\n" + request(2), []string{"m#1", "m#2"}},
		{"byte order mark", "\uFEFF" + request(1) + "\n\uFEFF" + request(2), []string{"m#1", "m#2"}},
		{"framed", framed(request(1)) + framed(request(2)), []string{"m#1/f", "m#2/f"}},
		{"framed, line feeds only", "content-length:2\n\n{}" + framed(request(2)), []string{"-32700/f", "m#2/f"}},
		{"framed, other headers around", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH : 99\r\nX-A:b\r\nContent-Length: " +
			fmt.Sprint(len(request(1))) + "\r\nZ: 1\r\n\r\n" + request(1), []string{"m#1/f"}},
		{"framed, blank and empty bodies", "Content-Length: 0\r\n\r\n" + framed(" \n\t") + framed(request(1)), []string{"m#1/f"}},
		{"framed, body with line ends and mark", framed("\uFEFF\n" + request(1) + "\r\n"), []string{"m#1/f"}},
		{"mixed", framed(request(1)) + request(2) + "\n" + framed(request(3)) + request(4), []string{"m#1/f", "m#2", "m#3/f", "m#4"}},
		{"stray text", "hello\n" + request(1), []string{"-32700", "m#1"}},
		{"stray text with a colon", "hello: world\n" + request(1) + "\n" + request(2), []string{"-32700/f", "m#1", "m#2"}},
		{"stray sentence with a colon", "it went wrong: sorry\n" + framed(request(1)), []string{"-32700", "m#1/f"}},
		{"stray text at the end", request(1) + "\nhello", []string{"m#1", "-32700"}},
		{"binary", "\x00\x01\xff\n" + request(1), []string{"-32700", "m#1"}},
		{"rest of a line", request(1) + " trailing\n" + request(2), []string{"m#1", "-32700", "m#2"}},
		{"broken line", `{"id":1,,}` + "\n" + request(2), []string{"-32700", "m#2"}},
		{"single quotes", "{'id':1}\n" + request(2), []string{"-32700", "m#2"}},
		{"half a message, then whole ones", half + "\n" + request(2) + "\n" + request(3), []string{"-32700", "m#2", "m#3"}},
		{"half a message that still could go on", `{"id":1,"params":` + "\n" + request(2) + "\n" + request(3), []string{"-32700", "m#2", "m#3"}},
		{"half a message after a comma", `{"id":1,` + "\n" + request(2) + "\n", []string{"-32700", "m#2"}},
		{"half a message at the end", request(1) + "\n" + half, []string{"m#1", "-32700"}},
		{"a broken array of many lines", "[\n1,\n2,\n}\n" + request(2), []string{"-32700", "m#2"}},
		{"length too short", "Content-Length: 20\r\n\r\n" + request(1) + framed(request(2)), []string{"-32700/f", "m#1", "m#2/f"}},
		{"half a message in a frame", framed("{") + request(2) + framed("[1,") + framed(request(3)) + framed(`{"a":"`) + "\n" + request(4), strings.Fields("-32700/f m#2 -32700/f m#3/f -32700/f m#4")},
		{"length too long", fmt.Sprintf("Content-Length: %d\r\n\r\n", len(request(1))+9) + request(1) + framed(request(2)), []string{"-32700/f", "m#2/f"}},
		{"length into a line", fmt.Sprintf("Content-Length: %d\r\n\r\n", len(request(1))+9) + request(1) + "\n" + request(2), []string{"m#1/f", "m#2"}},
		{"length into a line that says nothing", "Content-Length: 3\n\n\n" + request(1) + "\n" + request(2), []string{"-32700/f", "m#1", "m#2"}},
		{"length into the second line", "Content-Length: 6\n\n[1,\n" + request(1) + "\n" + request(2), []string{"-32700/f", "m#1", "m#2"}},
		{"length of much that never comes", "Content-Length: 200000000\r\n\r\n[\n" + request(1) + "\n" + request(2), []string{"-32600/f", "m#1", "m#2"}},
		{"length into a line end", fmt.Sprintf("Content-Length: %d\n\n[1,\n", 4+len(request(1))) + request(1) + "\n" + request(2), []string{"-32700/f", "m#1", "m#2"}},
		{"length of so much, and a message", "Content-Length: 200000000\r\n\r\n\n" + request(1) + "\n" + framed(request(2)), []string{"-32600/f", "m#1", "m#2/f"}},
		{"length of more that never comes", "Content-Length: 90000\r\n\r\n[\n" + request(1) + "\n" + framed(request(2)), []string{"-32700/f", "m#1", "m#2/f"}},
		{"length of text", "Content-Length: 90000\r\n\r\nhello\n{\n\"id\":1,\n\"method\":\"m\"\n}\n" + framed(request(2)), []string{"-32700/f", "m#1", "m#2/f"}},
		{"length of much text", "Content-Length: 200000000\r\n\r\nhello\n  {\n}\n{\n\"id\":1,\n\"method\":\"m\"\n}\n" + framed(request(2)), []string{"-32600/f", "m#1", "m#2/f"}},
		{"frame of many lines", framed("[\n  "+request(1)+"\n ,\n"+request(2)+"]\n\n") + request(3), []string{"[m#1 m#2]/f", "m#3"}},
		{"frame with blanks behind it", framed(request(1)+"\r\n \r\n") + request(2), []string{"m#1/f", "m#2"}},
		{"an array that never ends", "[\n" + request(1) + "\n" + request(2) + "\n", []string{"-32700", "m#1", "m#2"}},
		{"a member that never comes", "{\"a\":[1,\n" + request(1) + "\n[" + request(2) + "]\n", []string{"-32700", "m#1", "[m#2]"}},
		{"an array that never ends, and a batch", "[[\n[" + request(1) + "]\n", []string{"-32700", "[m#1]"}},
		{"lines inside a message", "{\"id\":1,\"method\":\"m\",\"params\":\n{\"method\":\"n\",\"id\":2}\n}", []string{"m#1"}},
		{"half a frame, then a whole one", "Content-Length: 90\r\n\r\n" + half + framed(request(2)), []string{"-32700/f", "m#2/f"}},
		{"length not a number", "Content-Length: ten\r\n\r\n" + request(1), []string{"-32700/f", "m#1"}},
		{"length negative", "Content-Length: -5\r\n\r\n" + request(1), []string{"-32700/f", "m#1"}},
		{"length absurd", "Content-Length: 99999999999999999999\r\n\r\n" + request(1), []string{"-32700/f", "m#1"}},
		{"length missing", "Content-Type: x\r\n\r\n" + request(1), []string{"-32700/f", "m#1"}},
		{"header without end", "Content-Length: 10\r\nX: y", []string{"-32700/f"}},
		{"body without end", "Content-Length: 10\r\n\r\n{", []string{"-32700/f"}},
		{"header line too long", "X: " + strings.Repeat("y", 9000) + "\n" + framed(request(1)), []string{"-32700", "m#1/f"}},
		{"header too long", strings.Repeat("X: y\n", 40) + "\n" + framed(request(1)), []string{"-32700/f", "-32700/f", "m#1/f"}},
		{"framed scalar", framed("5") + framed(`"x"`) + framed(request(1)), []string{"-32700/f", "-32700/f", "m#1/f"}},
		{"framed garbage", framed("{nope}") + framed(request(1)), []string{"-32700/f", "m#1/f"}},
	}
}

func messageCases() []readCase {
	deep := func(n int) string {
		return `{"id":4,"method":"m","params":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}"
	}
	return []readCase{
		{"no jsonrpc", `{"id":1,"method":"m"}`, []string{"m#1"}},
		{"other jsonrpc", `{"jsonrpc":"1.0","id":1,"method":"m"}`, []string{"m#1"}},
		{"jsonrpc no string", `{"jsonrpc":2.0,"id":1,"method":"m"}`, []string{"-32700"}},
		{"no method", `{"id":1}`, []string{"-32700"}},
		{"method no string", `{"id":1,"method":5}`, []string{"-32700"}},
		{"method null", `{"id":1,"method":null}`, []string{"-32700"}},
		{"method twice", `{"id":1,"method":"a","method":"b"}`, []string{"-32700"}},
		{"id twice", `{"id":1,"id":2,"method":"b"}`, []string{"-32700"}},
		{"empty method", `{"id":1,"method":""}`, []string{"#1"}},
		{"escaped names", `{"\u0069d":1,"m\u0065thod":"\u006d\n"}`, []string{"m\n#1"}},
		{"names in other case", `{"ID":1,"Method":"m"}`, []string{"-32700"}},
		{"notification", `{"method":"m"}`, []string{"m"}},
		{"null id", `{"id":null,"method":"m"}`, []string{"m"}},
		{"ids of all types", `{"id":9007199254740993,"method":"m"}{"id":1.5,"method":"m"}{"id":-0.0e-1 ,"method":"m"}{"id":true,"method":"m"}{"id":"a\"\u00e9","method":"m"}`,
			[]string{"m#9007199254740993", "m#1.5", "m#-0.0e-1", "m#true", `m#"a\"\u00e9"`}},
		{"ids that are no scalars", "{\"id\":{ \"a\" :\n[1] },\"method\":\"m\"}{\"id\":[\n],\"method\":\"m\"}", []string{`m#{"a":[1]}`, "m#[]"}},
		{"id at the end", `{"method":"m","id":1}{"method":"m","id": 12 }`, []string{"m#1", "m#12"}},
		{"id too long", `{"id":"` + strings.Repeat("i", 5000) + `","method":"m"}`, []string{"-32600"}},
		{"nested names do not count", `{"params":{"id":5,"method":"x"},"method":"m"}`, []string{"m"}},
		{"response", `{"id":3,"result":{}}{"id":4,"error":{"code":1}}{"result":1}`, []string{"~3", "~4", "-32700"}},
		{"batch", `[{"id":1,"method":"a"},5,{"method":"n"},[],{"id":2,"result":0}]`, []string{"[a#1 -32700 n -32700 ~2]"}},
		{"batch over lines", "[\n  " + request(1) + ",\n  " + request(2) + "\n]\n", []string{"[m#1 m#2]"}},
		{"batch over lines that are not indented", "[" + request(1) + ",\n" + request(2) + "]\n", []string{"[m#1 m#2]"}},
		{"empty batch", "[]", []string{"-32700"}},
		{"batch too long", "[1" + strings.Repeat(",1", 1000) + "]", []string{"-32600"}},
		{"nesting allowed", deep(wire.MaxDepth), []string{"m#4"}},
		{"nesting too deep", deep(wire.MaxDepth+1) + request(5), []string{"-32600#4", "m#5"}},
		{"nesting far too deep", deep(300000) + request(5), []string{"-32600#4", "m#5"}},
		{"nesting without end", strings.Repeat("[", 5000) + "\n", []string{"-32700"}},
		{"nesting without end, then requests", strings.Repeat("[", 1100) + "\n" + request(1) + "\n{\n\"id\":2,\n\"method\":\"m\"\n}\n", []string{"-32700", "m#1", "m#2"}},
		{"nesting too deep over lines", "{\"id\":3,\"params\":\n" + strings.Repeat("  [\n", 1500) + strings.Repeat("  ]\n", 1500) + "}\n" + request(1), []string{"-32700#3", "m#1"}},
		{"numbers that are none", `{"id":01}` + "\n" + `{"id":+1}` + "\n" + `{"id":1.}` + "\n" + `{"id":.5}` + "\n" + `{"id":1e}` + "\n" + `{"id":-}` + "\n", strings.Fields(strings.Repeat("-32700 ", 6))},
		{"texts that are none", `{"id":"\x"}` + "\n" + `{"id":"\u12g4"}` + "\n" + `{"id":nul}` + "\n" + `{"id":True}` + "\n" + "{\"id\":\"a\tb\"}\n", strings.Fields(strings.Repeat("-32700 ", 5))},
		{"brackets that do not match", `{"a":[1}}` + "\n" + `[1,]` + "\n" + `{"a":1,}` + "\n" + `{"a"}` + "\n" + `{1:2}` + "\n", strings.Fields(strings.Repeat("-32700 ", 5))},
		{"invalid UTF-8", "{\"id\":\"a\xff\",\"method\":\"m\"}", []string{"m#\"a\uFFFD\""}},
		{"just fits", pad(wire.MaxMessage, true) + request(2), []string{"m#7", "m#2"}},
		{"too large", pad(wire.MaxMessage+1, true) + request(2), []string{"-32600#7", "m#2"}},
		{"too large, id last", pad(3<<20, false) + request(2), []string{"-32600#7", "m#2"}},
		{"too large and broken", pad(3<<20, true)[:2<<20] + "\n" + request(2), []string{"-32600#7", "m#2"}},
		{"too large over lines", "{\"id\":3,\"params\":[1\n" + strings.Repeat("  ,{}\n", 180000) + "]}\n" + framed(request(1)), []string{"-32600#3", "m#1/f"}},
		{"too large over lines, without end", "[1" + strings.Repeat(",1", 600000) + "\nContent\n" + request(1), []string{"-32600", "m#1"}},
		{"frame just fits", framed(pad(wire.MaxMessage, true)) + framed(request(2)), []string{"m#7/f", "m#2/f"}},
		{"frame too large", framed(pad(wire.MaxMessage+1, false)) + framed(request(2)), []string{"-32600#7/f", "m#2/f"}},
		{"frame too large and cut", framed(pad(2<<20, true))[:1<<20], []string{"-32600#7/f"}},
	}
}

// Every case is read whole, in one-byte pieces and with the end of input delivered with the last bytes:
// where a read ends must not matter.
func TestReaderNext(t *testing.T) {
	for _, c := range append(readCases(), messageCases()...) {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, read(t, strings.NewReader(c.in)))
			assert.Equal(t, c.want, read(t, iotest.OneByteReader(strings.NewReader(c.in))), "one byte at a time")
			assert.Equal(t, c.want, read(t, iotest.DataErrReader(strings.NewReader(c.in))), "end of input with the data")
		})
	}
}

// A message is delivered when its last byte has come, not when more follows.
func TestReaderDoesNotWaitForMore(t *testing.T) {
	for _, text := range []string{request(1), framed(request(1)), "[" + request(1) + "]", "garbage\n", "{]\n"} {
		in, out := io.Pipe()
		r := wire.NewReader(in)
		go func() { _, _ = out.Write([]byte(text)) }()
		m, err := r.Next()
		require.NoError(t, err)
		require.NotEmpty(t, word(m))
		require.NoError(t, in.Close())
	}
}

func TestReaderReportsTheSourcesError(t *testing.T) {
	broken := errors.New("broken pipe")
	r := wire.NewReader(io.MultiReader(strings.NewReader(request(1)), iotest.ErrReader(broken)))
	m, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "m#1", word(m))
	_, err = r.Next()
	require.ErrorIs(t, err, broken)
	_, err = wire.NewReader(silent{}).Next()
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// Members are exactly what was written.
func TestMembersAreKeptAsWritten(t *testing.T) {
	m, err := wire.NewReader(strings.NewReader(`{"id": 1 ,"method":"m", "params" : {"n": 9007199254740993 , "s":"<&>"} }`)).Next()
	require.NoError(t, err)
	assert.Equal(t, `{"n": 9007199254740993 , "s":"<&>"}`, string(m.Params))
	m, err = wire.NewReader(strings.NewReader(`{"id":1,"result":[ 1 ],"error":null}`)).Next()
	require.NoError(t, err)
	assert.Equal(t, "[ 1 ]", string(m.Result))
	assert.Equal(t, "null", string(m.Error))
}

// A message much larger than allowed is not held.
func TestReaderMemoryIsBounded(t *testing.T) {
	const size = 64 << 20
	in := io.MultiReader(strings.NewReader(`{"id":1,"x":"`), io.LimitReader(endless('a'), size), strings.NewReader(`"}`+request(2)))
	r := wire.NewReader(in)
	result := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			_, _ = r.Next()
		}
	})
	assert.Less(t, result.MemBytes, uint64(16<<20))
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestMembersOfAnObject(t *testing.T) {
	got := wire.Members([]byte(`{"a":1,"b":{"a":2},"c":"x","a" : [3] }`), "a", "c", "absent")
	assert.Equal(t, "[3]", string(got[0]), "the last one counts")
	assert.Equal(t, `"x"`, string(got[1]))
	assert.Nil(t, got[2])
	for _, none := range []string{"", "7", "[1]", `"a"`, "null"} {
		assert.Nil(t, wire.Members([]byte(none), "a")[0])
	}
	text, ok := wire.Text([]byte(`"a\u00e9\""`))
	assert.True(t, ok)
	assert.Equal(t, "aé\"", text)
	_, ok = wire.Text([]byte("7"))
	assert.False(t, ok)
}

func TestAnswers(t *testing.T) {
	assert.Equal(t, `{"jsonrpc":"2.0","id":1.5,"result":{}}`, string(wire.Result([]byte("1.5"), []byte("{}"))))
	assert.Equal(t, `{"jsonrpc":"2.0","id":null,"result":null}`, string(wire.Result(nil, nil)))
	assert.Equal(t, `{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"\"x\"","data":[1]}}`,
		string(wire.Failure([]byte(`"a"`), -1, `"x"`, []byte("[1]"))))
	assert.Equal(t, `[{},{}]`, string(wire.Array([][]byte{[]byte("{}"), []byte("{}")})))
	assert.Equal(t, "Content-Length: 2\r\n\r\n{}", string(wire.Frame(nil, []byte("{}"), true)))
	assert.Equal(t, "{}\n", string(wire.Frame(nil, []byte("{}"), false)))
}

func BenchmarkReader(b *testing.B) {
	one := []byte(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"output","arguments":{"action":"get","id":"pk_abcdefgh"}}}` + "\n")
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	r := wire.NewReader(bytes.NewReader(bytes.Repeat(one, b.N)))
	for range b.N {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
