package stdiotest_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary play a server: it prints its argument and repeats its input.
func TestMain(m *testing.M) {
	if says := os.Getenv("STDIOTEST_SAYS"); says != "" {
		fmt.Print(says)
		fmt.Fprintln(os.Stderr, "a word on standard error")
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func server(t testing.TB, says string) *exec.Cmd {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "STDIOTEST_SAYS="+says)
	return cmd
}

func TestChildProcess(t *testing.T) {
	c := stdiotest.Start(t, server(t, "{\"a\":1}\n"+"Content-Length: 2\r\n\r\n[]"))
	assert.JSONEq(t, `{"a":1}`, string(c.Recv()))
	body, framed := c.RecvFramed()
	assert.True(t, framed)
	assert.Equal(t, "[]", string(body))
	c.Send(`{"echo":1}`)
	assert.JSONEq(t, `{"echo":1}`, string(c.Recv()))
	c.Framed().Send(`{"echo":2}`)
	body, framed = c.RecvFramed()
	assert.True(t, framed)
	assert.JSONEq(t, `{"echo":2}`, string(body))
	c.CloseStdin()
	assert.Equal(t, 3, c.Wait())
	assert.Contains(t, c.Stderr(), "a word")
}

// A server that prints anything but JSON fails its test.
func TestGarbageIsNoticed(t *testing.T) {
	for _, says := range []string{"starting up\n", "{\"half\":", "Content-Length: 9\r\n\r\n{}", "{}{}\n"} {
		probe := &recorder{TB: t}
		func() {
			defer func() { _ = recover() }()
			c := stdiotest.Start(probe, server(t, says))
			c.CloseStdin()
			c.Rest()
		}()
		assert.True(t, probe.failed, "%q", says)
	}
}

// recorder is a test that notes its failure instead of failing.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	panic("failed")
}
