package notify

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/countersign-dev/countersign/domain/notice"
)

// NtfySettings configures a server with the ntfy protocol, such as ntfy.sh or a self-hosted one.
type NtfySettings struct {
	URL   string // of the server: "https://ntfy.sh"
	Topic string // everyone who knows it can read it, unless the server requires a token
	Token string // location of the token: "env:NAME" or "file:PATH"; empty for none
}

// ntfy is a ports.Channel. NewNtfy makes it.
type ntfy struct {
	address address
	topic   string
	token   secret
}

// NewNtfy returns the channel of these settings.
func NewNtfy(s NtfySettings, env func(string) string) (*ntfy, error) {
	if !regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(s.Topic) {
		return nil, ErrSettings.WithMessage("a topic has 1 to 64 letters, digits, - and _")
	}
	at, err := newAddress(s.URL, env)
	if err != nil {
		return nil, err
	}
	token, err := newSecret(s.Token, env)
	return &ntfy{at, s.Topic, token}, err
}

// Name returns the name of the channel.
func (*ntfy) Name() string { return "ntfy" }

// Where returns the server; on many servers the topic is as secret as a password.
func (n *ntfy) Where() string { return n.address.String() }

// ntfyMessage is a message in ntfy's JSON form.
type ntfyMessage struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags,omitempty"`
	Click    string   `json:"click,omitempty"`
}

// Send sends the message to the server.
func (n *ntfy) Send(ctx context.Context, m notice.Message) error {
	to, err := n.address.url()
	if err != nil {
		return err
	}
	token, err := n.token.read()
	if err != nil {
		return err
	}
	out := ntfyMessage{Topic: n.topic, Title: m.Title, Message: m.Text, Priority: 3, Click: m.Link}
	if m.Urgent() {
		out.Priority, out.Tags = 4, []string{"warning"}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return ErrSettings.WithCause(err)
	}
	headers := map[string]string{"Content-Type": "application/json"}
	if token != "" {
		headers["Authorization"] = "Bearer " + token
	}
	root := *to // JSON messages are posted to the root
	root.Path = strings.TrimSuffix(root.Path, "/") + "/"
	return post(ctx, &root, n.address.String(), body, headers)
}
