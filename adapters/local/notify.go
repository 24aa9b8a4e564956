package local

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/notify"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/ports"
)

// Notify configures notifications of pending approvals. The zero Notify sends none.
type Notify struct {
	// Desktop enables notifications on the desktop session of this process by default. The commands set it.
	Desktop  bool
	Channels []ports.Channel
	Rules    notice.Rules // its Link is filled in
}

// serverFile is the file in which the server of a home records its address.
const serverFile = "serve.json"

// notifyFile is the part notify of config.yaml.
type notifyFile struct {
	Desktop   string `yaml:"desktop"`
	Reminder  string `yaml:"reminder"`
	PerMinute int    `yaml:"per_minute"`
	Ntfy      *struct {
		URL   string `yaml:"url"`
		Topic string `yaml:"topic"`
		Token string `yaml:"token"`
	} `yaml:"ntfy"`
	Webhook *struct {
		URL         string `yaml:"url"`
		Secret      string `yaml:"secret"`
		Preset      string `yaml:"preset"`
		Template    string `yaml:"template"`
		ContentType string `yaml:"content_type"`
		Chat        string `yaml:"chat"`
	} `yaml:"webhook"`
	Mail *struct {
		SMTP     string   `yaml:"smtp"`
		From     string   `yaml:"from"`
		To       []string `yaml:"to"`
		User     string   `yaml:"user"`
		Password string   `yaml:"password"`
		StartTLS string   `yaml:"starttls"`
	} `yaml:"mail"`
}

// notify returns the channels that the file describes, beside those that the program chose.
func (s *settings) notify(f notifyFile, n Notify) Notify {
	n.Rules.Reminder, n.Rules.PerMinute = s.reminder(f.Reminder), f.PerMinute
	if f.PerMinute < 0 || f.PerMinute > notice.MaxPerMinute {
		s.problem("notify.per_minute", "use 1 to 60 messages a minute for each channel")
	}
	keep := func(part string, c ports.Channel, err error) {
		if err != nil {
			s.problem("notify."+part, fault.From(err).Message)
			return
		}
		n.Channels = append(n.Channels, c)
	}
	wanted := n.Desktop && notify.HasDesktopSession(s.env)
	switch strings.ToLower(strings.TrimSpace(f.Desktop)) {
	case "", "auto":
	case "true", "on", "yes":
		wanted = true
	case "false", "off", "no":
		wanted = false
	default:
		s.problem("notify.desktop", "use true, false or auto")
	}
	if wanted {
		keep("desktop", notify.NewDesktopChannel(s.env), nil)
	}
	if f.Ntfy != nil {
		c, err := notify.NewNtfy(notify.NtfySettings{URL: f.Ntfy.URL, Topic: f.Ntfy.Topic, Token: f.Ntfy.Token}, s.env)
		keep("ntfy", c, err)
	}
	if f.Webhook != nil {
		c, err := notify.NewWebhook(notify.WebhookSettings{URL: f.Webhook.URL, Secret: f.Webhook.Secret, Preset: f.Webhook.Preset, Template: f.Webhook.Template,
			ContentType: f.Webhook.ContentType, Chat: f.Webhook.Chat}, s.env, system.Clock{})
		keep("webhook", c, err)
	}
	if f.Mail != nil {
		plain := false
		switch strings.ToLower(strings.TrimSpace(f.Mail.StartTLS)) {
		case "", "true", "on", "yes":
		case "false", "off", "no":
			plain = true
		default:
			s.problem("notify.mail.starttls", "use true or false")
		}
		c, err := notify.NewMail(notify.MailSettings{SMTP: f.Mail.SMTP, From: f.Mail.From, To: f.Mail.To, User: f.Mail.User, Password: f.Mail.Password, Plain: plain}, s.env)
		keep("mail", c, err)
	}
	return n
}

// reminder returns how long before a request expires a reminder is sent.
func (s *settings) reminder(written string) time.Duration {
	switch v := strings.ToLower(strings.TrimSpace(written)); v {
	case "":
		return notice.DefaultReminder
	case "off", "false", "no", "0":
		return 0
	default:
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 || d > 24*time.Hour {
			s.problem("notify.reminder", "use off, or a duration of at most 24h, such as 1h")
		}
		return d
	}
}

// notifier notifies users of pending approvals in this home. It opens nothing.
func (c Config) notifier(core app.Dependencies) *notify.Notifier {
	rules := c.Notify.Rules
	rules.Link = func(id string) string { return c.console(core.Owner, id) }
	return notify.NewNotifier(notify.Options{Channels: c.Notify.Channels, Ledger: core.Ledger, Clock: core.Clock, IDs: core.IDs, Rules: rules, Dir: c.Dir, Log: c.Log})
}

// console returns the page of a request, or of all, if a server of this home is recorded and not known to have ended; empty otherwise.
func (c Config) console(owners ports.ProcessIdentity, id string) string {
	text, err := os.ReadFile(filepath.Join(c.Dir, serverFile))
	var at struct {
		Process string `json:"process"`
		URL     string `json:"url"`
		Console string `json:"console"` // with the host name: browsers are logged in there, not at the address
	}
	if err != nil || json.Unmarshal(text, &at) != nil || at.Process == "" || owners.Judge(at.Process).Dead() {
		return ""
	}
	base, err := url.Parse(cmp.Or(at.Console, at.URL))
	if err != nil || base.Host == "" {
		return ""
	}
	return base.JoinPath("approvals", id).String()
}

// Notifier tells users what waits.
func (l *Local) Notifier() *notify.Notifier { return l.notifier }
