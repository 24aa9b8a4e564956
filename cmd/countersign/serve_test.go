package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// web is countersign serve as a process of its own.
type web struct {
	place
	cmd  *exec.Cmd
	said struct {
		PID     int    `json:"pid"`
		Address string `json:"address"`
		URL     string `json:"url"`
		Login   struct {
			URL string `json:"url"`
		} `json:"login"`
		MCP string `json:"mcp_url"`
	}
	errors *bytes.Buffer
	wait   func() error
}

// served starts the server of the place on a free port, and waits until it says where it is.
func served(p place, flags ...string) *web {
	p.t.Helper()
	w := &web{place: p, errors: &bytes.Buffer{}}
	w.cmd = p.command(append([]string{"serve", "--addr", "127.0.0.1:0", "--json"}, flags...)...)
	w.cmd.Stderr = w.errors
	out, err := w.cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, w.cmd.Start())
	w.wait = sync.OnceValue(w.cmd.Wait)
	p.t.Cleanup(func() {
		w.cmd.Process.Kill() //nolint:errcheck // it has ended when all went well
		w.wait()             //nolint:errcheck // likewise
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(p.t, err, "%s", w.errors)
	require.NoError(p.t, json.Unmarshal(line, &w.said), "%s", line)
	return w
}

// pages returns where browsers see it: passkeys belong to names, not to addresses.
func (w *web) pages() string { return strings.Replace(w.said.URL, "127.0.0.1", "localhost", 1) }

func (w *web) record() string { return filepath.Join(w.home, ".countersign", "serve.json") }

// end sends a signal and is how the process ended.
func (w *web) end(s os.Signal) *os.ProcessState {
	w.t.Helper()
	require.NoError(w.t, w.cmd.Process.Signal(s))
	w.wait() //nolint:errcheck // the state says it
	return w.cmd.ProcessState
}

// person returns a browser of somebody's, logged in by the link's page and its button.
func (w *web) person(link string) (*http.Client, *http.Response) {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w.t.Cleanup(browser.CloseIdleConnections)
	page := w.ask(browser, http.MethodGet, link, nil)
	require.Equal(w.t, http.StatusOK, page.StatusCode)
	form := url.Values{}
	for _, field := range regexp.MustCompile(`name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(page.Status, -1) {
		form.Set(field[1], field[2])
	}
	require.NotEmpty(w.t, form.Get("code"))
	return browser, w.ask(browser, http.MethodPost, w.pages()+"/login", form)
}

// ask sends a request as a browser does; the answer's Status is its body.
func (w *web) ask(c *http.Client, method, address string, form url.Values) *http.Response {
	w.t.Helper()
	q, err := http.NewRequestWithContext(w.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(w.t, err)
	q.Header.Set("Accept", "text/html")
	if form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		q.Header.Set("Origin", q.URL.Scheme+"://"+q.URL.Host)
		q.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	res, err := c.Do(q)
	require.NoError(w.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	res.Status = string(body)
	return res
}

// TestServeFromItsStartToItsEnd: the link it prints logs a browser in, once; login makes another; SIGTERM ends it with code 0, and nothing of it is
// left.
func TestServeFromItsStartToItsEnd(t *testing.T) {
	t.Parallel()
	w := served(newPlace(t))
	info, err := os.Stat(w.record())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	assert.Equal(t, w.cmd.Process.Pid, w.said.PID)
	assert.Equal(t, w.said.URL+"/mcp", w.said.MCP)
	assert.Equal(t, "http://"+w.said.Address, w.said.URL)

	assert.True(t, strings.HasPrefix(w.said.Login.URL, w.pages()+"/login?code=cl_"), w.said.Login.URL)
	browser, res := w.person(w.said.Login.URL)
	assert.Equal(t, http.StatusSeeOther, res.StatusCode, res.Status)
	assert.Equal(t, "/", res.Header.Get("Location"))
	assert.Equal(t, http.StatusOK, w.ask(browser, http.MethodGet, w.pages()+"/logout", nil).StatusCode, "it is in")
	stranger, again := w.person(w.said.Login.URL)
	assert.Equal(t, http.StatusUnauthorized, again.StatusCode)
	assert.Contains(t, again.Status, "already used")
	assert.Equal(t, http.StatusUnauthorized, w.ask(stranger, http.MethodGet, w.pages()+"/logout", nil).StatusCode)

	out, problems, code := w.run("login", "/approvals", "--print")
	require.Zero(t, code, problems)
	_, res = w.person(strings.TrimSpace(out))
	assert.Equal(t, http.StatusSeeOther, res.StatusCode)
	assert.Equal(t, "/approvals", res.Header.Get("Location"))

	_, problems, code = w.run("serve", "--addr", "127.0.0.1:0")
	assert.Equal(t, 4, code)
	assert.Contains(t, problems, "a server is already running at "+w.pages())

	elsewhere := newPlace(t)
	_, problems, code = elsewhere.run("serve", "--addr", w.said.Address)
	assert.Equal(t, 4, code)
	assert.Contains(t, problems, w.said.Address+" is in use by ")
	if runtime.GOOS == "linux" {
		assert.Regexp(t, `is in use by process \d+ \S+; stop that`, problems)
	}
	assert.NoFileExists(t, filepath.Join(elsewhere.home, ".countersign", "serve.json"))

	state := w.end(syscall.SIGTERM)
	assert.Zero(t, state.ExitCode(), w.errors)
	assert.NoFileExists(t, w.record())
	_, problems, code = w.run("login")
	assert.Equal(t, 4, code)
	assert.Contains(t, problems, "start one with countersign up")
}

// TestServeAfterADeathByViolence: the record that is left is known to be nobody's, and who was logged in still is.
func TestServeAfterADeathByViolence(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := served(p)
	first.end(os.Kill)
	assert.FileExists(t, first.record())
	_, problems, code := p.run("login", "--print")
	assert.Equal(t, 4, code, "a dead server is none")
	assert.Contains(t, problems, "start one with countersign up")

	port := first.said.Address[strings.LastIndex(first.said.Address, ":")+1:]
	second := served(p, "--addr", "127.0.0.1:"+port)
	assert.Equal(t, first.said.Address, second.said.Address)
	browser, res := second.person(first.said.Login.URL)
	assert.Equal(t, http.StatusSeeOther, res.StatusCode, "its link is as good as it was")
	second.end(os.Kill)
	third := served(p, "--addr", "127.0.0.1:"+port)
	assert.Equal(t, http.StatusOK, third.ask(browser, http.MethodGet, third.pages()+"/logout", nil).StatusCode, "and so is a cookie")
	assert.Zero(t, third.end(os.Interrupt).ExitCode())
	assert.NoFileExists(t, third.record())
}

// TestServeIsAskedTwiceToEnd: a request that does not end is not waited for then.
func TestServeIsAskedTwiceToEnd(t *testing.T) {
	t.Parallel()
	w := served(newPlace(t))
	conn, err := net.Dial("tcp", w.said.Address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /login HTTP/1.1\r\nHost: "+w.said.Address+"\r\nOrigin: "+w.said.URL+"\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue", "the request is being served")
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		other, err := net.Dial("tcp", w.said.Address)
		if err == nil {
			other.Close()
		}
		return err != nil
	}, time.Minute, 5*time.Millisecond)
	state := w.end(syscall.SIGTERM)
	status, ok := state.Sys().(syscall.WaitStatus)
	assert.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGTERM, state.String())
	_, _, code := w.run("login", "--print")
	assert.Equal(t, 4, code, "what is left of it is nobody's")
}

// TestTokensOfAServerThatRuns: made and ended by other processes, each counts with the next request.
func TestTokensOfAServerThatRuns(t *testing.T) {
	t.Parallel()
	w := served(newPlace(t))
	out, problems, code := w.run("token", "create", "ci", "--toolsets", "packs", "--read-only", "--max-mode", "plan", "--expires", "1h", "--json")
	require.Zero(t, code, problems)
	var made struct {
		Token string `json:"token"`
		ID    string `json:"id"`
		Scope json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	assert.Regexp(t, "^cs_[A-Za-z0-9_-]{43}$", made.Token)
	assert.JSONEq(t, `{"toolsets":["packs"],"read_only":true,"max_mode":"plan"}`, string(made.Scope))
	out, _, _ = w.run("token", "list")
	assert.Contains(t, out, "packs; read-only; up to plan")
	assert.NotContains(t, out, made.Token)
	audit, _, _ := w.run("audit", "export")
	assert.Contains(t, audit, made.ID)
	assert.NotContains(t, audit, made.Token)
	_, problems, code = w.run("token", "revoke", "ci")
	require.Zero(t, code, problems)
	out, _, _ = w.run("token", "list", "--json")
	assert.JSONEq(t, `{"count":0,"credentials":[]}`, out)
}

// TestServeOpensTheBrowser that $BROWSER names, and says the link where there is none.
func TestServeOpensTheBrowser(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("browser", "#!/bin/sh\necho \"$1\" >seen.new && mv seen.new seen\n")
	require.NoError(t, os.Chmod(filepath.Join(p.repo, "browser"), 0o755))
	w := served(p)
	cmd := p.command("login")
	cmd.Env = append(cmd.Env, "BROWSER="+filepath.Join(p.repo, "browser"))
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, "opened the console of "+w.pages()+" in the browser\n", string(out))
	var link []byte
	require.Eventually(t, func() bool {
		link, err = os.ReadFile(filepath.Join(p.repo, "seen"))
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	_, res := w.person(strings.TrimSpace(string(link)))
	assert.Equal(t, http.StatusSeeOther, res.StatusCode)
	out2, _, code := p.run("login")
	assert.Zero(t, code)
	assert.Contains(t, out2, w.pages()+"/login?code=cl_", "without a screen")
}
