package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/notice"
)

// MailSettings is the mail server, the sender and the recipients.
type MailSettings struct {
	SMTP     string   // address of the server: "smtp.example.org:587"; port 465 uses TLS from the start
	From     string   // "Countersign <me@example.org>"
	To       []string // likewise
	User     string   // empty: no authentication
	Password string   // location of the password: "env:NAME" or "file:PATH"
	Plain    bool     // no encryption: for a server on this machine
}

// Mail is a ports.Channel. NewMail makes it.
type Mail struct {
	host, port string
	from       mail.Address
	to         []mail.Address
	user       string
	password   secret
	plain      bool
}

// tlsPort is the port that uses TLS from the start.
const tlsPort = "465"

// NewMail returns the channel of these settings.
func NewMail(s MailSettings, env func(string) string) (*Mail, error) {
	host, port, err := net.SplitHostPort(s.SMTP)
	if err != nil || host == "" || port == "" {
		return nil, ErrSettings.WithMessage("smtp needs a server address with a port, such as smtp.example.org:587")
	}
	m := &Mail{host: host, port: port, user: s.User, plain: s.Plain}
	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return nil, ErrSettings.WithMessage("from is not a mail address")
	}
	m.from = *from
	for _, text := range s.To {
		to, err := mail.ParseAddress(text)
		if err != nil {
			return nil, ErrSettings.WithMessage("to contains something that is not a mail address")
		}
		m.to = append(m.to, *to)
	}
	if len(m.to) == 0 {
		return nil, ErrSettings.WithMessage("to is empty")
	}
	if m.password, err = newSecret(s.Password, env); err != nil {
		return nil, err
	}
	if (m.user == "") != m.password.None() {
		return nil, ErrSettings.WithMessage("give both user and password, or neither")
	}
	if m.plain && m.user != "" && !loopback(host) {
		return nil, ErrSettings.WithMessage("a password is only sent to another machine over TLS; remove starttls: false")
	}
	return m, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Name returns the name of the channel.
func (*Mail) Name() string { return "mail" }

// Where returns the server.
func (m *Mail) Where() string { return "smtp://" + net.JoinHostPort(m.host, m.port) }

// Send sends the message to the server.
func (m *Mail) Send(ctx context.Context, n notice.Message) error {
	password, err := m.password.read()
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(m.host, m.port))
	if err != nil {
		return ErrUnreachable.WithMessage("%s cannot be reached: %s", m.Where(), why(err))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // ends all waiting
	if m.port == tlsPort && !m.plain {
		conn = tls.Client(conn, &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12})
	}
	defer conn.Close() //nolint:errcheck // what matters was acknowledged, or was not
	if err := m.talk(conn, password, n); err != nil {
		return m.judged(ctx, err)
	}
	return nil
}

// talk sends the message over SMTP.
func (m *Mail) talk(conn net.Conn, password string, n notice.Message) error {
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return err
	}
	if err := c.Hello("localhost"); err != nil {
		return err
	}
	if !m.plain && m.port != tlsPort {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return ErrRefused.WithMessage("%s offers no STARTTLS; for a server on this machine set starttls: false", m.Where())
		}
		if err := c.StartTLS(&tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}); err != nil {
			return err
		}
	}
	if m.user != "" {
		if err := c.Auth(smtp.PlainAuth("", m.user, password, m.host)); err != nil {
			return err
		}
	}
	if err := c.Mail(m.from.Address); err != nil {
		return err
	}
	for _, to := range m.to {
		if err := c.Rcpt(to.Address); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.text(n)); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // the server accepted it, or not
		return err
	}
	_ = c.Quit() // it was accepted
	return nil
}

// text returns the message as an e-mail.
func (m *Mail) text(n notice.Message) []byte {
	var to []string
	for _, a := range m.to {
		to = append(to, a.String())
	}
	line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	var b strings.Builder
	for _, h := range [][2]string{{"From", m.from.String()}, {"To", strings.Join(to, ", ")}, {"Subject", mime.QEncoding.Encode("utf-8", line(n.Title))},
		{"Date", n.At.Format(time.RFC1123Z)}, {"Message-ID", "<" + n.ID + "." + n.At.Format("20060102150405") + "@countersign>"}, {"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "8bit"}} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n" + line(n.Text) + "\r\n")
	return []byte(b.String())
}

// judged returns the error of an SMTP conversation without its content, which may include the password.
func (m *Mail) judged(ctx context.Context, err error) error {
	var code *textproto.Error
	switch {
	case errors.Is(err, ErrRefused):
		return err
	case ctx.Err() != nil:
		return ErrUnreachable.WithMessage("%s did not answer in time", m.Where())
	case errors.As(err, &code) && code.Code >= 500:
		return ErrRefused.WithMessage("%s rejects the message with code %d; check user, password, from and to", m.Where(), code.Code)
	case errors.As(err, &code):
		return ErrUnreachable.WithMessage("%s answered with code %d", m.Where(), code.Code)
	}
	return ErrUnreachable.WithMessage("%s: %s", m.Where(), why(err))
}
