package notify

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of sending a message.
var (
	ErrUnreachable = fault.New(fault.Unavailable, "notify_channel_unreachable", "the receiver could not be reached") // worth a retry
	ErrRefused     = fault.New(fault.State, "notify_channel_refused", "the receiver rejects the message")
	ErrSecret      = fault.New(fault.State, "notify_secret_missing", "a secret of the channel is missing")
	ErrSettings    = fault.New(fault.Invalid, "notify_settings_invalid", "invalid channel settings")
)

// maxSecret is the maximum length of a secret, in bytes.
const maxSecret = 4096

// secret is the location of a secret: "env:NAME" or "file:PATH", whose path is absolute, so that every process finds the same file. The zero secret
// is none. It is read when needed, and not kept.
type secret struct {
	where string
	env   func(string) string
}

// newSecret parses such a reference. Its error does not repeat an invalid one: it may be the secret itself.
func newSecret(where string, env func(string) string) (secret, error) {
	where = strings.TrimSpace(where)
	kind, name, _ := strings.Cut(where, ":")
	switch {
	case where == "":
		return secret{}, nil
	case kind == "file" && strings.TrimSpace(name) != "" && !filepath.IsAbs(name):
		return secret{}, ErrSettings.WithMessage("the file of a secret needs an absolute path, without ~ and variables (file:/path/to/file), because processes have different working directories")
	case (kind == "env" || kind == "file") && strings.TrimSpace(name) != "":
		return secret{where, env}, nil
	}
	return secret{}, ErrSettings.WithMessage("a secret is given as env:NAME or file:PATH, not as a value in the configuration")
}

// String returns the location of the secret.
func (s secret) String() string { return s.where }

// None reports that there is no secret.
func (s secret) None() bool { return s.where == "" }

// read returns the secret itself; empty if there is none.
func (s secret) read() (string, error) {
	if s.None() {
		return "", nil
	}
	kind, name, _ := strings.Cut(s.where, ":")
	if kind == "env" {
		if v := strings.TrimSpace(s.env(name)); v != "" {
			return v, nil
		}
		return "", ErrSecret.WithMessage("the variable %s is not set in this process; set it, or keep the secret in a file (file:PATH)", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // anything but a file must not block
	if err != nil {
		return "", ErrSecret.WithMessage("cannot read the file %s with a channel's secret", name)
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", ErrSecret.WithMessage("%s is not a regular file; it must hold a channel's secret", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	v := strings.TrimSpace(string(data))
	if err != nil || v == "" || len(data) > maxSecret || strings.ContainsAny(v, "\r\n") {
		return "", ErrSecret.WithMessage("the file %s must hold one line with a secret", name)
	}
	return v, nil
}

// address is a URL that may be a secret, as those of many webhooks are.
type address struct {
	plain  *url.URL
	secret secret
}

func newAddress(text string, env func(string) string) (address, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:") {
		s, err := newSecret(text, env)
		return address{secret: s}, err
	}
	u, err := parseURL(text)
	return address{plain: u}, err
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, ErrSettings.WithMessage("a url must begin with http:// or https://, name a host, and contain no password")
	}
	return u, nil
}

// String returns the part of the address that is not secret: its host.
func (a address) String() string {
	if a.plain == nil {
		return a.secret.String()
	}
	return a.plain.Scheme + "://" + a.plain.Host
}

func (a address) url() (*url.URL, error) {
	if a.plain != nil {
		return a.plain, nil
	}
	text, err := a.secret.read()
	if err != nil {
		return nil, err
	}
	return parseURL(text)
}

// client returns a client with one request per connection, which follows no redirects.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// post sends a body and checks the answer. host names the receiver in errors.
func post(ctx context.Context, to *url.URL, host string, body []byte, headers map[string]string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return ErrSettings.WithMessage("cannot create a request to %s", host)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("User-Agent", "Countersign")
	answer, err := client().Do(r)
	if err != nil {
		return ErrUnreachable.WithMessage("%s cannot be reached: %s", host, why(err))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	_ = answer.Body.Close()
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return ErrUnreachable.WithMessage("%s answered with status %d", host, code)
	default:
		return ErrRefused.WithMessage("%s answered with status %d; check the channel's url, token and template", host, code)
	}
}

// why returns the reason of a failed connection, without the address, which may be a secret.
func why(err error) string {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var timed net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timed) && timed.Timeout():
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the process ended first"
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	var name *net.DNSError
	if errors.As(err, &name) {
		return "unknown host"
	}
	return "the connection failed"
}
