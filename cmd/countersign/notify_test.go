//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// word is what a receiver is told.
type word struct {
	Kind, Question, Tool, Title, Text, Link string
	whole                                   string
}

// receiver returns a webhook that the home of v is set up for, with what it is told.
func (v *victim) receiver(t *testing.T) chan word {
	t.Helper()
	words := make(chan word, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := word{whole: string(body)}
		if json.Unmarshal(body, &said) == nil {
			words <- said
		}
	}))
	t.Cleanup(s.Close)
	write(t, filepath.Join(v.home, ".countersign", "config.yaml"), "notify: {webhook: {url: '"+s.URL+"/a-path-that-is-a-secret'}}\n")
	return words
}

// TestPeopleAreToldOnce of what waits, whichever of several processes asked: a server is there, and an agent's own.
func TestPeopleAreToldOnce(t *testing.T) {
	v := newVictim(t)
	words := v.receiver(t)

	server := v.command("serve", "--addr", "127.0.0.1:0", "--json")
	said, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	line, err := bufio.NewReader(said).ReadBytes('\n')
	require.NoError(t, err)
	var at struct{ Console string }
	require.NoError(t, json.Unmarshal(line, &at))

	assert.Regexp(t, `^http://localhost:\d+$`, at.Console, "log-in links lead there, and a browser is logged in nowhere else")
	assert.Contains(t, v.must("status"), "server    "+at.Console+"\n")

	agent := v.agent()
	agent.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	agent.fails("CONFIRMATION_PENDING", "run_script", v.mark())
	id := v.questions(1)[0].ID
	told := <-words
	assert.Equal(t, word{Kind: "waits", Question: id, Tool: "run_script", Title: told.Title, Text: told.Text, Link: at.Console + "/approvals/" + id, whole: told.whole}, told)
	assert.Contains(t, told.Title, "run_script in shop")
	assert.NotContains(t, told.whole, "echo", "not what would run")
	assert.NotContains(t, told.whole, v.project, "nor where")
	agent.leaves()
	require.NoError(t, server.Process.Signal(os.Interrupt))
	require.NoError(t, server.Wait())
	assert.Empty(t, words, "once, by all that have ended")

	v.refuses(t, "run", "mark", "--project", v.project)
	require.Len(t, words, 1, "what a command leaves open is told before it ends")
	told = <-words
	assert.Empty(t, told.Link)
	assert.Contains(t, told.Text, "countersign approvals")

	var standing struct {
		Waiting  int
		Server   string `json:"server_url"`
		Approval string
		Channels []struct {
			Name, Where string
			SentAt      string `json:"sent_at"`
		}
	}
	v.typed(&standing, "status")
	assert.Equal(t, 2, standing.Waiting)
	assert.Equal(t, "human", standing.Approval)
	assert.Empty(t, standing.Server)
	require.Len(t, standing.Channels, 1)
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+$`, standing.Channels[0].Where)
	assert.NotEmpty(t, standing.Channels[0].SentAt)
	assert.Contains(t, v.must("status"), "2 approvals, the first since")
	for _, listing := range [][]string{{"notify"}, {"notify", "--json"}, {"policy", "show"}, {"status"}} {
		assert.NotContains(t, v.must(listing...), "a-path-that-is-a-secret")
	}

	assert.Contains(t, v.must("notify", "test"), "webhook: sent")
	assert.Equal(t, "test", (<-words).Kind)
	_, problems, code := v.try("notify", "test", "fax")
	assert.Equal(t, 3, code, problems)
	write(t, filepath.Join(v.home, ".countersign", "config.yaml"), "notify: {webhook: {url: 'env:NOT_SET'}}\n")
	out, _, code := v.try("notify", "test", "webhook", "--json")
	assert.Equal(t, 7, code)
	assert.Contains(t, out, `"sent":false`)
	assert.Contains(t, v.must("status"), "webhook: the last message did not arrive")
}

// TestWhatAPersonOpensIsAnnounced, and what is decided at once in the same terminal is no question that waits.
func TestWhatAPersonOpensIsAnnounced(t *testing.T) {
	v := newVictim(t)
	words := v.receiver(t)
	seen, code := v.atTerminal("y", "token", "create", "ci")
	require.Zero(t, code, seen)
	require.Len(t, words, 1, "no question was left open")
	told := <-words
	assert.Equal(t, "announcement", told.Kind)
	assert.Contains(t, told.Text, "a token was made for ci")

	seen, code = v.atTerminal("y", "policy", "allow", "run_script")
	require.Zero(t, code, seen)
	require.Len(t, words, 1)
	assert.Contains(t, (<-words).Text, "the settings were changed")
	v.must("policy", "block", "run_script")
	assert.Empty(t, words, "what narrows is nobody's news")
}
