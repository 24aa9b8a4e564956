package httpauth_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/access"
)

// talk sends bytes on an open connection and reads one answer.
func talk(t *testing.T, conn net.Conn, in *bufio.Reader, text string) answer {
	t.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	return read(t, res)
}

// over reports that the other side has closed the connection.
func over(t *testing.T, in *bufio.Reader) bool {
	t.Helper()
	_, err := in.ReadByte()
	return err == io.EOF
}

func request(secret, length, body string) string {
	return "POST /tool HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + secret + "\r\n" + length + "\r\n\r\n" + body
}

// TestABodyIsTakenUpToItsLimit, with its length told in advance or not. Who sends more sees the answer, also who looks for it only when everything
// is sent.
func TestABodyIsTakenUpToItsLimit(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	r := open(t)
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	chunked := func(n int) string {
		return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", n, strings.Repeat("x", n))
	}
	for name, c := range map[string]struct {
		length, body string
		status       int
	}{
		"all of it":               {fmt.Sprint("Content-Length: ", most), strings.Repeat("x", most), http.StatusOK},
		"all of it, in pieces":    {"Transfer-Encoding: chunked", chunked(most), http.StatusOK},
		"a byte more":             {fmt.Sprint("Content-Length: ", most+1), strings.Repeat("x", most+1), http.StatusRequestEntityTooLarge},
		"a byte more, in pieces":  {"Transfer-Encoding: chunked", chunked(most + 1), http.StatusRequestEntityTooLarge},
		"half as much again":      {fmt.Sprint("Content-Length: ", most*3/2), strings.Repeat("x", most*3/2), http.StatusRequestEntityTooLarge},
		"half again, in pieces":   {"Transfer-Encoding: chunked", chunked(most * 3 / 2), http.StatusRequestEntityTooLarge},
		"told, but not sent":      {"Content-Length: 99999999999", "", http.StatusRequestEntityTooLarge},
		"asking before it sends":  {"Expect: 100-continue\r\nContent-Length: 99999999", "", http.StatusRequestEntityTooLarge},
		"nothing":                 {"Content-Length: 0", "", http.StatusOK},
		"no token and a lot":      {fmt.Sprint("X: y\r\nContent-Length: ", most), strings.Repeat("x", most), http.StatusUnauthorized},
		"a length that is no one": {"Content-Length: x", "", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := r.dial(t)
			token := secret
			if c.status == http.StatusUnauthorized {
				token = "wrong"
			}
			res := talk(t, conn, bufio.NewReader(conn), request(token, c.length, c.body))
			assert.Equal(t, c.status, res.StatusCode)
			if c.status == http.StatusRequestEntityTooLarge {
				assert.Equal(t, "request_too_large", res.code())
			}
			if c.status == http.StatusOK {
				assert.Len(t, res.seen(t).Body, strings.Count(c.body, "x"))
			}
		})
	}
}

// TestAConnectionSurvivesARefusal, when the request was received as a whole.
func TestAConnectionSurvivesARefusal(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	conn := r.dial(t)
	in := bufio.NewReader(conn)
	for range 3 {
		res := talk(t, conn, in, request("wrong", "Content-Length: 5", "hello"))
		assert.Equal(t, http.StatusUnauthorized, res.StatusCode)
		assert.False(t, res.Close)
		assert.Equal(t, "hello", talk(t, conn, in, request(secret, "Content-Length: 5", "hello")).seen(t).Body)
	}
	res := talk(t, conn, in, request("wrong", "Content-Length: 6", "hello"))
	assert.Equal(t, http.StatusUnauthorized, res.StatusCode, "it does not wait for the rest")
	assert.True(t, res.Close)
	assert.True(t, over(t, in))
}

// TestASlowBody is told so; who stops in the middle holds nothing for long.
func TestASlowBody(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.guard.Limits.BodyTime = 300 * time.Millisecond })
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	for _, length := range []string{"Content-Length: 10", "Transfer-Encoding: chunked"} {
		conn := r.dial(t)
		in := bufio.NewReader(conn)
		began := time.Now()
		res := talk(t, conn, in, request(secret, length, "5\r\nhello"))
		assert.Equal(t, http.StatusRequestTimeout, res.StatusCode)
		assert.Equal(t, "request_too_slow", res.code())
		assert.GreaterOrEqual(t, time.Since(began), 290*time.Millisecond)
		assert.True(t, over(t, in))
	}
	r.stream(t.Context(), bearer(secret))
	conn := r.dial(t)
	q := "GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + secret + "\r\nContent-Length: 5\r\n\r\nhello"
	_, err := io.WriteString(conn, q)
	require.NoError(t, err)
	<-r.begun
	assert.Never(t, func() bool { return len(r.ended) > 0 }, 600*time.Millisecond, 50*time.Millisecond, "once it has arrived, its time does not run")
}

// TestABodyInPieces is one body.
func TestABodyInPieces(t *testing.T) {
	t.Parallel()
	r := open(t)
	conn := r.dial(t)
	_, err := io.WriteString(conn, request(r.token(t, "ci", access.Scope{}, noEnd()), "Content-Length: 5", "he"))
	require.NoError(t, err)
	_, err = io.WriteString(conn, "llo")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	assert.Equal(t, "hello", read(t, res).seen(t).Body)
}

func TestARequestThatEndsInTheMiddle(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := r.token(t, "ci", access.Scope{}, noEnd())
	conn := r.dial(t)
	_, err := io.WriteString(conn, request(secret, "Content-Length: 10", "hello"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite()) // half open
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	got := read(t, res)
	assert.Equal(t, http.StatusBadRequest, got.StatusCode)
	assert.Equal(t, "request_incomplete", got.code())
}

// TestWhoDoesNotReadIsNotWaitedFor: an answer that is not taken ends, and with it what it holds.
func TestWhoDoesNotReadIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.guard.Limits.WriteTime = 200 * time.Millisecond })
	conn := r.dial(t)
	_, err := io.WriteString(conn, "GET /flood HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+r.token(t, "ci", access.Scope{}, noEnd())+"\r\n\r\n")
	require.NoError(t, err)
	<-r.ended // without a byte of it being read
}

// TestAStreamMayBeSilent: the time to take an answer runs while there is something to take.
func TestAStreamMayBeSilent(t *testing.T) {
	t.Parallel()
	for name, tls := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, func(s *setup) {
				s.guard.Limits.WriteTime, s.server.WriteTime = time.Second, time.Second
				if tls {
					s.tls(t)
				}
			})
			require.Eventually(t, func() bool { // on a busy machine shaking hands alone may take longer than that
				res, err := r.client.Get(r.url("/healthz"))
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				return err == nil
			}, time.Minute, 10*time.Millisecond)
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url("/late"), nil)
			require.NoError(t, err)
			q.Header.Set("Authorization", "Bearer "+r.token(t, "ci", access.Scope{}, noEnd()))
			const silence = 1500 * time.Millisecond
			goesOn := func(after time.Duration) { time.AfterFunc(after, func() { r.goOn <- struct{}{} }) }
			goesOn(silence)
			res, err := r.client.Do(q)
			require.NoError(t, err)
			defer res.Body.Close()
			assert.Equal(t, name[:6], res.Proto[:6])
			in := bufio.NewReader(res.Body)
			for _, next := range []time.Duration{0, silence, 0} {
				line, err := in.ReadString('\n')
				require.NoError(t, err)
				assert.Equal(t, "a line\n", line)
				goesOn(next)
			}
			_, err = in.ReadString('\n')
			require.ErrorIs(t, err, io.EOF, "and it ends as it should")
		})
	}
}

func TestOverTLS(t *testing.T) {
	t.Parallel()
	r := open(t, func(s *setup) { s.tls(t) })
	_, port, err := net.SplitHostPort(r.addr)
	require.NoError(t, err)
	ours := []head{{"Origin", "https://" + r.addr}}
	res := r.ask(t, http.MethodPost, "/login", "code="+r.code(t, access.Scope{}), ours...)
	require.Equal(t, http.StatusSeeOther, res.StatusCode, res.body)
	assert.Equal(t, "HTTP/2.0", res.Proto)
	set := res.Cookies()[0]
	assert.Equal(t, "__Host-countersign_"+port, set.Name)
	assert.True(t, set.Secure)
	cookie := head{"Cookie", set.Name + "=" + set.Value}
	form := r.ask(t, http.MethodGet, "/page", "", cookie).seen(t).Form
	got := r.ask(t, http.MethodPost, "/page", "field=six&form_token="+form, ours[0], cookie).seen(t)
	assert.Equal(t, "six", got.Field)
	assert.Equal(t, http.StatusForbidden, r.ask(t, http.MethodGet, "/page", "", cookie, head{"Origin", "http://" + r.addr}).StatusCode, "another scheme is another origin")
	assert.Equal(t, http.StatusForbidden, r.ask(t, http.MethodGet, "/page", "", cookie, head{"Host", "evil.example.org"}).StatusCode)
	big := r.ask(t, http.MethodPost, "/tool", strings.Repeat("x", 5<<20), bearer(r.token(t, "ci", access.Scope{}, noEnd())))
	assert.Equal(t, http.StatusRequestEntityTooLarge, big.StatusCode)
	assert.Equal(t, http.StatusUnauthorized, r.ask(t, http.MethodPost, "/tool", strings.Repeat("x", 5<<20)).StatusCode)
}
