package webhook

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
)

// The bounds of outgoing requests (packageflow contract §1.6, packageflow-security contract §4.7).
const (
	defaultMethod  = "POST"
	defaultTimeout = 30_000 * time.Millisecond
	MaxTimeout     = 60_000 * time.Millisecond // in total, including waits and retries
	MaxRetries     = 3
	MaxRequest     = 256 << 10 // bytes of URL, headers and body together
	MaxPreview     = 4 << 10   // bytes of the payload that the user sees
)

// Rules say where webhooks may go, and Target is the destination of a request: see EgressRules.
type (
	Rules  = EgressRules
	Target = EgressTarget
)

// Config is a stored webhook (packageflow contract §1.6). {{name}} stands for a variable in the URL's path and query, in header values and in the
// payload; nowhere else.
type Config struct {
	URL             string            `json:"url"`
	Method          string            `json:"method,omitempty"` // empty is POST
	Headers         map[string]string `json:"headers,omitempty"`
	PayloadTemplate string            `json:"payloadTemplate,omitempty"`
	TimeoutMS       int64             `json:"timeoutMs,omitempty"` // 0 is DefaultTimeout
	RetryCount      int               `json:"retryCount,omitempty"`
	VerifySSL       *bool             `json:"verifySsl,omitempty"` // true or absent: certificates are always verified
}

// Validate rejects a webhook that no request could be made from: project.ErrURLBlocked for its URL, project.ErrArgument for the rest. A valid
// webhook's address may still be forbidden; Rules decide that.
func (c Config) Validate() error {
	if _, err := ParseURL(c.URL); err != nil {
		return err
	}
	if !slices.Contains(methods(), c.method()) {
		return project.ErrArgument.WithMessage("webhook method %q is not supported; use one of %s", c.Method, strings.Join(methods(), ", "))
	}
	if c.TimeoutMS < 0 || c.TimeoutMS > MaxTimeout.Milliseconds() {
		return project.ErrArgument.WithMessage("timeoutMs %d is outside the range 0 to %d", c.TimeoutMS, MaxTimeout.Milliseconds())
	}
	if c.RetryCount < 0 || c.RetryCount > MaxRetries {
		return project.ErrArgument.WithMessage("retryCount %d is outside the range 0 to %d", c.RetryCount, MaxRetries)
	}
	if c.VerifySSL != nil && !*c.VerifySSL {
		return project.ErrArgument.WithMessage("certificates are always verified; remove verifySsl, or set it to true")
	}
	if err := c.checkHeaders(); err != nil {
		return err
	}
	return c.checkTemplate()
}

func (c Config) checkTemplate() error {
	switch {
	case c.PayloadTemplate == "":
		return nil
	case !c.carries():
		return project.ErrArgument.WithMessage("a %s request has no payload; remove payloadTemplate, or use POST", c.method())
	case len(c.PayloadTemplate) > MaxRequest:
		return project.ErrArgument.WithMessage("payloadTemplate has %d bytes; at most %d are allowed", len(c.PayloadTemplate), MaxRequest)
	}
	if syntaxOf(c.contentType()) != syntaxJSON {
		return nil
	}
	_, err := expandJSON(c.PayloadTemplate, nil, standIn)
	return err
}

func methods() []string { return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} }

func (c Config) method() string {
	if c.Method == "" {
		return defaultMethod
	}
	return strings.ToUpper(c.Method)
}

// carries reports whether a request with that method has a body.
func (c Config) carries() bool { return c.method() != "GET" && c.method() != "HEAD" }

func (c Config) timeout() time.Duration {
	if c.TimeoutMS == 0 {
		return defaultTimeout
	}
	return time.Duration(c.TimeoutMS) * time.Millisecond
}

// contentType returns the content type in the webhook's own headers; empty if there is none.
func (c Config) contentType() string {
	for name, value := range c.Headers {
		if strings.EqualFold(name, contentType) {
			return value
		}
	}
	return ""
}

// checkHeaders rejects header names and values that would change the framing of the request, its destination, or how its body is escaped.
func (c Config) checkHeaders() error {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		value, form := c.Headers[name], canonicalName(name)
		switch {
		case !token(name):
			return project.ErrArgument.WithMessage("invalid header name %q", name)
		case reserved(form):
			return project.ErrArgument.WithMessage("header %s cannot be set: it is a connection header", form)
		case seen[form]:
			return project.ErrArgument.WithMessage("header %s is set twice in different spellings", form)
		case unprintable(value):
			return project.ErrArgument.WithMessage("the value of header %s contains a line break or another control character", form)
		case form == contentType && strings.Contains(value, "{{"):
			return project.ErrArgument.WithMessage("header %s must not contain a variable, because it decides how variables in the payload are escaped", form)
		}
		seen[form] = true
	}
	return nil
}

const (
	contentType    = "Content-Type"
	idempotencyKey = "Idempotency-Key"
)

// reserved reports whether only the connection may set the header (packageflow-security contract §4.7), because it affects destination or framing.
// form is a canonical name.
func reserved(form string) bool {
	switch form {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Keep-Alive", "Te", "Trailer", "Expect", "Http2-Settings":
		return true
	}
	return strings.HasPrefix(form, "Proxy-")
}

// token reports whether s is a token of RFC 9110 §5.6.2, as header names are.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// canonicalName returns a header's name in its usual form: X-Request-Id.
func canonicalName(name string) string {
	form, upper := []byte(name), true
	for i, c := range form {
		switch {
		case upper && c >= 'a' && c <= 'z':
			form[i] = c - 'a' + 'A'
		case !upper && c >= 'A' && c <= 'Z':
			form[i] = c - 'A' + 'a'
		}
		upper = c == '-'
	}
	return string(form)
}

// unprintable reports control characters except the tab; header values must have none.
func unprintable(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
