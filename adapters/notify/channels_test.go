package notify_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/notify"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/ports"
)

const hidden = "s3cr3t-of-the-channel"

// env returns an environment with one secret.
func env(name string) string { return map[string]string{"SECRET": hidden}[name] }

func message() notice.Message {
	return notice.Message{ID: "cf_1-waits", Kind: notice.Waits, Title: `Approval needed: run_script in "shop" (high risk)`, Text: "A call waits.\nAnswer at http://localhost:8317/approvals/cf_1",
		Question: "cf_1", Tool: "run_script", Risk: "high", About: "shop", Link: "http://localhost:8317/approvals/cf_1", At: clock.Epoch, ExpiresAt: clock.Epoch.Add(1)}
}

// got is one request as a receiver took it.
type got struct {
	path   string
	header http.Header
	body   []byte
}

// receiver returns a server on loopback that answers with a status.
func receiver(t *testing.T, status int) (url string, requests chan got) {
	t.Helper()
	requests = make(chan got, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- got{r.URL.Path, r.Header, body}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func TestNtfy(t *testing.T) {
	url, requests := receiver(t, http.StatusOK)
	c, err := notify.NewNtfy(notify.NtfySettings{URL: url, Topic: "my-topic", Token: "env:SECRET"}, env)
	require.NoError(t, err)
	require.NoError(t, c.Send(t.Context(), message()))
	r := <-requests
	assert.Equal(t, "Bearer "+hidden, r.header.Get("Authorization"))
	assert.Equal(t, "/", r.path)
	assert.JSONEq(t, `{"topic":"my-topic","title":"Approval needed: run_script in \"shop\" (high risk)","message":"A call waits.\nAnswer at http://localhost:8317/approvals/cf_1",
		"priority":4,"tags":["warning"],"click":"http://localhost:8317/approvals/cf_1"}`, string(r.body))
	assert.Equal(t, url, c.Where())
}

func TestAWebhookIsSigned(t *testing.T) {
	url, requests := receiver(t, http.StatusNoContent)
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(hidden+"\n"), 0o600))
	c, err := notify.NewWebhook(notify.WebhookSettings{URL: url + "/hook/path-that-is-a-secret", Secret: "file:" + key}, env, &clock.Fake{})
	require.NoError(t, err)
	require.NoError(t, c.Send(t.Context(), message()))
	r := <-requests
	stamp := r.header.Get(notify.TimestampHeader)
	assert.Equal(t, "1767323045", stamp)
	assert.Equal(t, notify.Sign(hidden, stamp, r.body), r.header.Get(notify.SignatureHeader))
	assert.NotEqual(t, notify.Sign(hidden, stamp, append(r.body, ' ')), r.header.Get(notify.SignatureHeader))
	assert.Equal(t, "cf_1-waits", r.header.Get(notify.IDHeader))
	var m notice.Message
	require.NoError(t, json.Unmarshal(r.body, &m))
	assert.Equal(t, message(), m)
	assert.Equal(t, url, c.Where(), "its path is not said")
}

// TestTemplates: what is put into a body stays what it is, and what a service is known to take is ready.
func TestTemplates(t *testing.T) {
	for name, c := range map[string]struct {
		settings notify.WebhookSettings
		want     string
		refused  string
	}{
		"own":         {settings: notify.WebhookSettings{Template: `{"t":"{{.Title}}","x":"{{ .Text }}","u":"{{.Link}}"}`}, want: `{"t":"Approval needed: run_script in \"shop\" (high risk)","x":"A call waits.\nAnswer at http://localhost:8317/approvals/cf_1","u":"http://localhost:8317/approvals/cf_1"}`},
		"text":        {settings: notify.WebhookSettings{Template: "{{.Tool}}: {{.Risk}}", ContentType: "text/plain"}, want: "run_script: high"},
		"slack":       {settings: notify.WebhookSettings{Preset: "slack"}, want: `{"text":"*Approval needed: run_script in \"shop\" (high risk)*\nA call waits.\nAnswer at http://localhost:8317/approvals/cf_1"}`},
		"telegram":    {settings: notify.WebhookSettings{Preset: "telegram", Chat: "-100"}, want: `{"chat_id":"-100","text":"Approval needed: run_script in \"shop\" (high risk)\nA call waits.\nAnswer at http://localhost:8317/approvals/cf_1","disable_web_page_preview":true}`},
		"discord":     {settings: notify.WebhookSettings{Preset: "discord"}, want: `{"content":"**Approval needed: run_script in \"shop\" (high risk)**\nA call waits.\nAnswer at http://localhost:8317/approvals/cf_1","allowed_mentions":{"parse":[]}}`},
		"no field":    {settings: notify.WebhookSettings{Template: `{"t":"{{.Plan}}"}`}, refused: "{{.Plan}}"},
		"no template": {settings: notify.WebhookSettings{Template: `{"t":"{{range .Title}}"}`}, refused: "{{range .Title}}"},
		"open":        {settings: notify.WebhookSettings{Template: `{"t":"{{.Title"}`}, refused: "{{"},
		"no JSON":     {settings: notify.WebhookSettings{Template: `{"t":{{.Title}}}`}, refused: "no JSON"},
		"no preset":   {settings: notify.WebhookSettings{Preset: "fax"}, refused: "discord, slack, teams, telegram"},
		"no chat":     {settings: notify.WebhookSettings{Preset: "telegram"}, refused: "chat"},
		"both":        {settings: notify.WebhookSettings{Preset: "slack", Template: "{}"}, refused: "not both"},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := receiver(t, http.StatusOK)
			c.settings.URL = url
			w, err := notify.NewWebhook(c.settings, env, &clock.Fake{})
			if c.refused != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), c.refused)
				return
			}
			require.NoError(t, err)
			require.NoError(t, w.Send(t.Context(), message()))
			r := <-requests
			assert.Equal(t, c.want, string(r.body))
			assert.Empty(t, r.header.Get(notify.SignatureHeader), "nothing to sign it with")
		})
	}
	url, requests := receiver(t, http.StatusOK)
	teams, err := notify.NewWebhook(notify.WebhookSettings{URL: url, Preset: "teams"}, env, &clock.Fake{})
	require.NoError(t, err)
	require.NoError(t, teams.Send(t.Context(), message()))
	var card struct {
		Attachments []struct {
			Content struct {
				Body []struct {
					Text string `json:"text"`
				} `json:"body"`
			} `json:"content"`
		} `json:"attachments"`
	}
	require.NoError(t, json.Unmarshal((<-requests).body, &card))
	assert.Equal(t, message().Title, card.Attachments[0].Content.Body[0].Text)
}

// TestAnswersAreJudged: what may succeed later is tried again, and what a redirect leads to is not asked at all.
func TestAnswersAreJudged(t *testing.T) {
	for status, kind := range map[int]fault.Kind{500: fault.Unavailable, 503: fault.Unavailable, 429: fault.Unavailable, 401: fault.State, 404: fault.State, 302: fault.State} {
		url, requests := receiver(t, status)
		c, err := notify.NewWebhook(notify.WebhookSettings{URL: url + "/path-that-is-a-secret"}, env, &clock.Fake{})
		require.NoError(t, err)
		err = c.Send(t.Context(), message())
		assert.Len(t, requests, 1, "status %d", status)
		require.Error(t, err, "status %d", status)
		assert.Equal(t, kind, fault.From(err).Kind, "status %d", status)
		assert.NotContains(t, err.Error(), "path-that-is-a-secret")
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c, err := notify.NewWebhook(notify.WebhookSettings{URL: gone.URL + "/path-that-is-a-secret"}, env, &clock.Fake{})
	require.NoError(t, err)
	err = c.Send(t.Context(), message())
	require.ErrorIs(t, err, notify.ErrUnreachable)
	assert.NotContains(t, err.Error(), "path-that-is-a-secret")
}

// TestSecretsAreNamedAndNotWritten into the configuration, nor into what goes wrong.
func TestSecretsAreNamedAndNotWritten(t *testing.T) {
	_, err := notify.NewNtfy(notify.NtfySettings{URL: "https://ntfy.example", Topic: "t", Token: hidden}, env)
	require.ErrorIs(t, err, notify.ErrSettings)
	assert.NotContains(t, err.Error(), hidden)
	for _, where := range []string{"env:NOT_SET", "file:/nowhere/at/all"} {
		c, err := notify.NewNtfy(notify.NtfySettings{URL: "https://ntfy.example", Topic: "t", Token: where}, env)
		require.NoError(t, err, "it may be set when it is needed")
		err = c.Send(t.Context(), message())
		require.ErrorIs(t, err, notify.ErrSecret)
	}
	for _, where := range []string{"file:hook.txt", "file:./hook.txt", "file:~/hook.txt"} {
		_, err := notify.NewWebhook(notify.WebhookSettings{URL: where}, env, &clock.Fake{})
		require.ErrorIs(t, err, notify.ErrSettings, "each process would find another file")
		assert.Contains(t, err.Error(), "absolute path")
	}
	c, err := notify.NewNtfy(notify.NtfySettings{URL: "https://ntfy.example", Topic: "t", Token: "file:" + t.TempDir()}, env)
	require.NoError(t, err)
	require.ErrorIs(t, c.Send(t.Context(), message()), notify.ErrSecret)
	c2, err := notify.NewWebhook(notify.WebhookSettings{URL: "env:SECRET"}, env, &clock.Fake{})
	require.NoError(t, err)
	assert.Equal(t, "env:SECRET", c2.Where())
	err = c2.Send(t.Context(), message())
	require.Error(t, err, "it is no address")
	assert.NotContains(t, err.Error(), hidden)
	for _, url := range []string{"", "ftp://x", "https://", "https://me:" + hidden + "@host/"} {
		_, err := notify.NewWebhook(notify.WebhookSettings{URL: url}, env, &clock.Fake{})
		require.ErrorIs(t, err, notify.ErrSettings, url)
		assert.NotContains(t, err.Error(), hidden)
	}
}

// postOffice returns an SMTP server that takes what it is sent, with each line of the conversation.
func postOffice(t *testing.T, extensions ...string) (address string, said chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	said = make(chan string, 200)
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close() //nolint:errcheck // the client is gone
		in, out := bufio.NewScanner(conn), conn
		answer := func(lines ...string) { _, _ = io.WriteString(out, strings.Join(lines, "\r\n")+"\r\n") }
		answer("220 here")
		data := false
		for in.Scan() {
			line := in.Text()
			said <- line
			switch word, _, _ := strings.Cut(line, " "); {
			case data && line == ".":
				data = false
				answer("250 taken")
			case data:
			case word == "EHLO":
				lines := []string{"250-here"}
				for _, e := range extensions {
					lines = append(lines, "250-"+e)
				}
				answer(append(lines, "250 8BITMIME")...)
			case word == "AUTH":
				answer("235 in")
			case word == "RCPT" && strings.Contains(line, "nobody@"):
				answer("550 no such person " + hidden)
			case word == "DATA":
				data = true
				answer("354 go on")
			case word == "QUIT":
				answer("221 bye")
				return
			default:
				answer("250 yes")
			}
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-served })
	return listener.Addr().String(), said
}

func mailTo(t *testing.T, smtp string, change func(*notify.MailSettings)) (ports.Channel, error) {
	t.Helper()
	s := notify.MailSettings{SMTP: smtp, From: "Countersign <me@example.org>", To: []string{"you@example.org", "Ü <other@example.org>"}, Plain: true}
	if change != nil {
		change(&s)
	}
	return notify.NewMail(s, env)
}

func TestMail(t *testing.T) {
	address, said := postOffice(t, "AUTH PLAIN")
	c, err := mailTo(t, address, func(s *notify.MailSettings) { s.User, s.Password = "me", "env:SECRET" })
	require.NoError(t, err)
	m := message()
	m.Title = "Ünsafe\r\nBcc: evil@example.org"
	require.NoError(t, c.Send(t.Context(), m))
	var lines []string
	for line := range said {
		lines = append(lines, line)
		if line == "QUIT" {
			break
		}
	}
	text := strings.Join(lines, "\n")
	assert.Contains(t, text, "AUTH PLAIN AG1lAHMzY3IzdC1vZi10aGUtY2hhbm5lbA==")
	assert.Contains(t, text, "MAIL FROM:<me@example.org>")
	assert.Contains(t, text, "RCPT TO:<other@example.org>")
	assert.Contains(t, text, "\nFrom: \"Countersign\" <me@example.org>\nTo: <you@example.org>, =?utf-8?q?=C3=9C?= <other@example.org>\nSubject: =?utf-8?q?=C3=9Cnsafe_Bcc:_evil@example.org?=\n")
	assert.NotContains(t, text, "\nBcc:")
	assert.Contains(t, text, "\n\nA call waits. Answer at http://localhost:8317/approvals/cf_1\n.\n")
}

func TestMailThatIsNotTaken(t *testing.T) {
	address, _ := postOffice(t)
	c, err := mailTo(t, address, func(s *notify.MailSettings) { s.Plain = false })
	require.NoError(t, err)
	err = c.Send(t.Context(), message())
	require.ErrorIs(t, err, notify.ErrRefused)
	assert.Contains(t, err.Error(), "no STARTTLS")

	address, _ = postOffice(t)
	c, err = mailTo(t, address, func(s *notify.MailSettings) { s.To = []string{"nobody@example.org"} })
	require.NoError(t, err)
	err = c.Send(t.Context(), message())
	require.ErrorIs(t, err, notify.ErrRefused)
	assert.Contains(t, err.Error(), "code 550")
	assert.NotContains(t, err.Error(), hidden, "what a server says is not repeated")

	for name, change := range map[string]func(*notify.MailSettings){
		"no port": func(s *notify.MailSettings) { s.SMTP = "host" }, "nobody": func(s *notify.MailSettings) { s.To = nil }, "from": func(s *notify.MailSettings) { s.From = "x" },
		"a user alone":    func(s *notify.MailSettings) { s.User = "me" },
		"password abroad": func(s *notify.MailSettings) { s.SMTP, s.User, s.Password = "smtp.example.org:25", "me", "env:SECRET" },
		"in clear":        func(s *notify.MailSettings) { s.User, s.Password = "me", hidden },
	} {
		_, err := mailTo(t, "127.0.0.1:25", change)
		require.ErrorIs(t, err, notify.ErrSettings, name)
		assert.NotContains(t, err.Error(), hidden, name)
	}
}

// TestAReceiverThatHangsIsLeft when whoever sends ends.
func TestAReceiverThatHangsIsLeft(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close() //nolint:errcheck // the test is over
	reached := make(chan net.Conn, 2)
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				close(reached)
				return
			}
			reached <- conn
		}
	}()
	hook, err := notify.NewWebhook(notify.WebhookSettings{URL: "http://" + silent.Addr().String()}, env, &clock.Fake{})
	require.NoError(t, err)
	post, err := mailTo(t, silent.Addr().String(), nil)
	require.NoError(t, err)
	for _, c := range []ports.Channel{hook, post} {
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan error, 1)
		go func() { sent <- c.Send(ctx, message()) }()
		conn := <-reached
		cancel()
		err := <-sent
		require.Error(t, err, c.Name())
		assert.Equal(t, fault.Unavailable, fault.From(err).Kind, c.Name())
		_ = conn.Close()
	}
}
