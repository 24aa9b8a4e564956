//go:build linux

package main

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/internal/testkit/softkey"
)

// thief is a program that has a browser's log-in to the console, and a passkey made of software.
type thief struct {
	*visitor
	b   *consoleFixture
	key *softkey.Key
}

func newThief(b *consoleFixture) *thief {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(b.t, err)
	v := &visitor{t: b.t, base: b.pages(), http: &http.Client{Jar: jar, Transport: &http.Transport{}}}
	b.t.Cleanup(v.http.CloseIdleConnections)
	link, err := url.Parse(b.login("/keys"))
	require.NoError(b.t, err)
	status, _ := v.send(http.MethodPost, "/login", url.Values{"code": {link.Query().Get("code")}})
	require.Equal(b.t, http.StatusOK, status, "it is logged in")
	th := &thief{visitor: v, b: b, key: softkey.New(b.t)}
	th.key.Origin = b.pages()
	return th
}

// part returns what the page has between two texts.
func (th *thief) part(page, before, after string) string {
	th.t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(before) + "(.*?)" + regexp.QuoteMeta(after)).FindStringSubmatch(page)
	require.NotNil(th.t, found, "%s … %s in %s", before, after, page)
	return found[1]
}

// enrols sends what the passkey makes to the page that enrols one, and gives the question's page.
func (th *thief) enrols() (page string) {
	th.t.Helper()
	status, page := th.send(http.MethodGet, "/keys", nil)
	require.Equal(th.t, http.StatusOK, status, page)
	raw, err := base64.RawURLEncoding.DecodeString(th.part(page, `data-challenge="`, `"`))
	require.NoError(th.t, err)
	status, page = th.send(http.MethodPost, "/keys", url.Values{"form_token": {th.part(page, `name="form_token" value="`, `"`)}, "name": {"laptop"},
		"signed": {string(th.key.Registration([32]byte(raw)))}})
	require.Equal(th.t, http.StatusOK, status, page)
	return page
}

// signs answers the question of that id, about the plan that its page shows, with what the passkey signs.
func (th *thief) signs(id string) (status int, page string) {
	th.t.Helper()
	_, page = th.send(http.MethodGet, "/approvals/"+id, nil)
	hash := th.part(page, `name="plan_hash" value="`, `"`)
	plan, err := canon.Parse(hash)
	require.NoError(th.t, err)
	made := th.key.Signed(enrolled.Challenge(plan, id), th.key.Origin)
	doc, err := json.Marshal(map[string]any{"handle": th.key.Handle(), "client_data": made.ClientData, "authenticator_data": made.AuthenticatorData, "signature": made.Signature})
	require.NoError(th.t, err)
	return th.send(http.MethodPost, "/approvals/"+id, url.Values{"form_token": {th.part(page, `name="form_token" value="`, `"`)}, "decision": {"approve"}, "plan_hash": {hash}, "signed": {string(doc)}})
}

// sql edits the database as a program of the same user can.
func (th *thief) sql(query string, arguments ...any) {
	th.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(th.b.home, ".countersign", "countersign.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(th.t, err)
	defer db.Close() //nolint:errcheck // it is only read back by others
	_, err = db.Exec(query, arguments...)
	require.NoError(th.t, err)
}

// TestAPasskeyEnrolledByAProgram: policy wants a passkey, and a program with a stolen log-in of a browser makes one. It counts once the user has approved it
// in a terminal, and then, and only then, it approves.
func TestAPasskeyEnrolledByAProgram(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	_, problems, code := b.try("policy", "require", "passkey", "for", "run_script", "high")
	require.Zero(t, code, problems)
	assert.Contains(t, problems, "no passkey is enrolled, so calls that need one could not be approved; enrol one first: countersign login /keys")
	mark := args{"project_path": b.shop(map[string]string{"mark": "echo done > mark"}, nil), "script_name": "mark"}
	agent := b.serve("--confirm-wait", "0s")
	agent.fails("CONFIRMATION_PENDING", "run_script", mark)
	wanted := b.questions(1)[0].ID
	seen, code := b.atTerminal("y", "approve", wanted)
	assert.NotZero(t, code, seen)
	assert.Contains(t, seen, "needs a passkey")
	assert.Contains(t, strings.Join(strings.Fields(seen), " "), "in the console", "it says where")

	th := newThief(b)
	page := th.enrols()
	assert.Contains(t, page, "needs a decision in a terminal")
	var enrolment string
	for _, q := range b.questions(2) {
		if q.ID != wanted {
			enrolment = q.ID
		}
	}
	form := url.Values{"form_token": {th.part(page, `name="form_token" value="`, `"`)}, "decision": {"approve"}, "plan_hash": {th.part(page, `name="plan_hash" value="`, `"`)}}
	_, page = th.send(http.MethodPost, th.part(page, `action="`, `/answer"`)+"/answer", form)
	assert.Contains(t, page, "approving this needs a decision in a terminal")
	_, _, code = b.try("approve", enrolment, "--yes")
	assert.Equal(t, 6, code, "nor does a command without one")
	th.sql(`INSERT INTO enrolled_keys (id, kind, handle, body) VALUES (?, 'passkey', ?, ?)`, enrolledAs(th.key).ID(), th.key.Handle(), encoded(t, enrolledAs(th.key)))
	_, page = th.send(http.MethodGet, "/keys", nil)
	assert.Contains(t, page, "its enrolment is not in the audit log")
	_, page = th.signs(wanted)
	assert.Contains(t, page, "does not count")
	agent.fails("CONFIRMATION_PENDING", "run_script", mark)

	s := b.sits(200, 90, "approve", enrolment)
	s.sees(`enrol the passkey "laptop"`, "Approve? [y/n")
	s.types("y\n")
	<-s.exited
	require.Zero(t, s.cmd.ProcessState.ExitCode())
	require.Eventually(t, func() bool {
		_, page = th.send(http.MethodGet, "/keys", nil)
		return strings.Contains(page, ">Valid<")
	}, time.Minute, 50*time.Millisecond)
	status, page := th.signs(wanted)
	require.Equal(t, http.StatusOK, status, page)
	value, failed := outcome(t, agent.Call("run_script", mark))
	require.Nil(t, failed, "%+v", failed)
	assert.Contains(t, string(value), "success")
	out, problems, code := b.try("audit", "verify")
	assert.Zero(t, code, "%s%s", out, problems)
}

// enrolledAs returns the key as its enrolment is stored.
func enrolledAs(k *softkey.Key) enrolled.Key {
	out := k.Enrolled("laptop")
	out.Owner = "local"
	return out
}

func encoded(t *testing.T, k enrolled.Key) []byte {
	t.Helper()
	doc, err := json.Marshal(k)
	require.NoError(t, err)
	return doc
}
