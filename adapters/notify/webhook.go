package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/ports"
)

// The headers of a webhook. The signature is v1= and the hex HMAC-SHA256, under the shared secret, of the timestamp (seconds since 1970), a dot, and
// the body: a receiver that verifies it, and compares the timestamp with its clock, accepts no forged message and no replay.
const (
	SignatureHeader = "Countersign-Signature"
	TimestampHeader = "Countersign-Timestamp"
	IDHeader        = "Countersign-Message"
)

// WebhookSettings configures a receiver of any kind.
type WebhookSettings struct {
	URL         string // or its location: "env:NAME" or "file:PATH"
	Secret      string // location of the secret that signs messages; empty for none
	Preset      string // "slack", "teams", "telegram", "discord"; empty for Template
	Template    string // the body, with {{.Field}}; empty is the message as JSON
	ContentType string // of the body; empty is application/json
	Chat        string // the Telegram chat: {{.Chat}}
}

// webhook is a ports.Channel. NewWebhook makes it.
type webhook struct {
	address  address
	secret   secret
	template string
	media    string
	chat     string
	clock    ports.Clock
}

// presets returns the bodies for well-known services.
func presets() map[string]string {
	return map[string]string{
		"slack": `{"text":"*{{.Title}}*\n{{.Text}}"}`,
		"teams": `{"type":"message","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive","content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json",` +
			`"type":"AdaptiveCard","version":"1.4","body":[{"type":"TextBlock","weight":"Bolder","wrap":true,"text":"{{.Title}}"},{"type":"TextBlock","wrap":true,"text":"{{.Text}}"}]}}]}`,
		"telegram": `{"chat_id":"{{.Chat}}","text":"{{.Title}}\n{{.Text}}","disable_web_page_preview":true}`,
		"discord":  `{"content":"**{{.Title}}**\n{{.Text}}","allowed_mentions":{"parse":[]}}`,
	}
}

// NewWebhook returns the channel of these settings.
func NewWebhook(s WebhookSettings, env func(string) string, clock ports.Clock) (*webhook, error) {
	at, err := newAddress(s.URL, env)
	if err != nil {
		return nil, err
	}
	secret, err := newSecret(s.Secret, env)
	if err != nil {
		return nil, err
	}
	w := &webhook{address: at, secret: secret, template: s.Template, media: s.ContentType, chat: s.Chat, clock: clock}
	if s.Preset != "" {
		ready, known := presets()[s.Preset]
		switch {
		case !known:
			return nil, ErrSettings.WithMessage("unknown preset %q; use one of %s", s.Preset, strings.Join(slices.Sorted(maps.Keys(presets())), ", "))
		case s.Template != "" || s.ContentType != "":
			return nil, ErrSettings.WithMessage("give either preset or template, not both")
		case s.Preset == "telegram" && s.Chat == "":
			return nil, ErrSettings.WithMessage("the preset telegram needs chat, the id of the chat to write to")
		}
		w.template = ready
	}
	if w.media == "" {
		w.media = "application/json"
	}
	if _, _, err := mime.ParseMediaType(w.media); err != nil {
		return nil, ErrSettings.WithMessage("invalid content type %q", w.media)
	}
	_, err = w.body(notice.Message{Title: `"t"`, Text: "x\ny"})
	return w, err
}

// Name returns the name of the channel.
func (*webhook) Name() string { return "webhook" }

// Where returns the receiver's host: for many services the rest of the address is a secret.
func (w *webhook) Where() string { return w.address.String() }

// fields returns the fields of a template.
func (w *webhook) fields(m notice.Message) map[string]string {
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return map[string]string{"ID": m.ID, "Kind": string(m.Kind), "Title": m.Title, "Text": m.Text, "Question": m.Question, "Tool": m.Tool, "Risk": m.Risk, "About": m.About,
		"Link": m.Link, "At": stamp(m.At), "ExpiresAt": stamp(m.ExpiresAt), "Chat": w.chat}
}

// body returns the template with the message inserted. In JSON, inserted values are escaped, so that the body stays valid.
func (w *webhook) body(m notice.Message) ([]byte, error) {
	if w.template == "" {
		return json.Marshal(m)
	}
	fields := w.fields(m)
	isJSON := strings.Contains(w.media, "json")
	var wrong string
	text := regexp.MustCompile(`\{\{[^}]*\}\}|\{\{`).ReplaceAllStringFunc(w.template, func(hole string) string {
		name, field := strings.CutPrefix(strings.TrimSpace(strings.Trim(hole, "{}")), ".")
		value, known := fields[name]
		if !field || !known {
			wrong = hole
			return ""
		}
		if !isJSON {
			return value
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			wrong = hole
			return ""
		}
		return string(quoted[1 : len(quoted)-1])
	})
	if wrong != "" {
		return nil, ErrSettings.WithMessage("the template names %s; the fields are {{.%s}}", wrong, strings.Join(slices.Sorted(maps.Keys(fields)), "}}, {{."))
	}
	if isJSON && !json.Valid([]byte(text)) {
		return nil, ErrSettings.WithMessage("the template makes no JSON; fields stand within quotation marks, as in {\"text\": \"{{.Title}}\"}, or content_type is another one")
	}
	return []byte(text), nil
}

// Send posts the message, signed if there is a secret.
func (w *webhook) Send(ctx context.Context, m notice.Message) error {
	to, err := w.address.url()
	if err != nil {
		return err
	}
	secret, err := w.secret.read()
	if err != nil {
		return err
	}
	body, err := w.body(m)
	if err != nil {
		return err
	}
	headers := map[string]string{"Content-Type": w.media, IDHeader: m.ID}
	if secret != "" {
		stamp := strconv.FormatInt(w.clock.Now().Unix(), 10)
		headers[TimestampHeader], headers[SignatureHeader] = stamp, Sign(secret, stamp, body)
	}
	return post(ctx, to, w.address.String(), body, headers)
}

// Sign returns the value of SignatureHeader.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
