package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/project"
)

// Header is one header of a request.
type Header struct {
	Name  string `json:"name"` // in canonical spelling
	Value string `json:"value"`
}

// Request is exactly what will be sent. It holds secrets: show users its View.
type Request struct {
	Method  string        `json:"method"`
	URL     string        `json:"url"` // absolute; host in lower-case ASCII, everything escaped
	Headers []Header      `json:"headers"`
	Body    []byte        `json:"body,omitempty"`
	Timeout time.Duration `json:"timeout"` // in total, including waits and retries
	Retries int           `json:"retries"` // after the first attempt
}

// Input is the data of one execution.
type Input struct {
	Variables map[string]string
	Payload   json.RawMessage // replaces the template if it is not empty
}

// Build returns the request that a webhook makes for an input (packageflow contract §1.6): variables are percent-encoded in the URL, escaped in the
// body for its content type, rejected in headers if they have line breaks; variables without a value stay. An explicit payload replaces the template
// and is sent unchanged. It fails as Validate does, and with project.ErrArgument for an invalid input.
func (c Config) Build(in Input) (Request, error) {
	if err := c.Validate(); err != nil {
		return Request{}, err
	}
	target, err := expandURL(c.URL, in.Variables)
	if err != nil {
		return Request{}, err
	}
	r := Request{Method: c.method(), URL: target, Timeout: c.timeout()}
	if r.Headers, err = c.expandHeaders(in.Variables); err != nil {
		return Request{}, err
	}
	if r.Body, err = c.body(in); err != nil {
		return Request{}, err
	}
	if len(r.Body) > 0 && r.header(contentType) == "" {
		r.Headers = append(r.Headers, Header{Name: contentType, Value: "application/json"})
	}
	slices.SortFunc(r.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	if n := r.size(); n > MaxRequest {
		return Request{}, project.ErrArgument.WithMessage("the request has %d bytes; at most %d are allowed", n, MaxRequest)
	}
	if r.repeatable() {
		r.Retries = c.RetryCount
	}
	return r, nil
}

func (c Config) expandHeaders(variables map[string]string) (headers []Header, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		form := canonicalName(name)
		value, err := expand(c.Headers[name], variables, func(s string) string { return s })
		if err != nil {
			return nil, err
		}
		if unprintable(value) {
			return nil, project.ErrArgument.WithMessage("a variable puts a line break or another control character in header %s", form)
		}
		headers = append(headers, Header{Name: form, Value: strings.TrimSpace(value)})
	}
	return headers, nil
}

func (c Config) body(in Input) ([]byte, error) {
	form := syntaxOf(c.contentType())
	if len(in.Payload) > 0 {
		switch {
		case !c.carries():
			return nil, project.ErrArgument.WithMessage("a %s request has no payload", c.method())
		case form != syntaxJSON:
			return nil, project.ErrArgument.WithMessage("this webhook sends %s, so its template makes the payload; give variables instead", c.contentType())
		}
		return slices.Clone(in.Payload), checkJSON(string(in.Payload))
	}
	if c.PayloadTemplate == "" {
		return nil, nil
	}
	text, err := expandBody(c.PayloadTemplate, form, in.Variables)
	return []byte(text), err
}

// repeatable reports whether the request may be sent again without doing its work twice: its method says so, or it has a key by which the receiver
// recognises it (packageflow-security contract §4.7). Such a key is never added here: only the author of the webhook knows whether its receiver uses
// one, and it must differ between executions.
func (r Request) repeatable() bool {
	switch r.Method {
	case "GET", "HEAD", "PUT", "DELETE":
		return true
	}
	key := r.header(idempotencyKey)
	return key != "" && !strings.Contains(key, "{{")
}

func (r Request) header(name string) string {
	for _, h := range r.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// size returns the part of the request that counts towards MaxRequest.
func (r Request) size() int {
	n := len(r.Method) + len(r.URL) + len(r.Body)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value) + 4
	}
	return n
}

// view is a request as shown to users and agents: secrets masked, the payload truncated.
type view struct {
	Method       string   `json:"method"`
	URL          string   `json:"url"`
	Host         string   `json:"host"`
	Headers      []Header `json:"headers"`
	Payload      string   `json:"payload,omitempty"` // at most MaxPreview bytes
	PayloadBytes int      `json:"payloadBytes"`
	Cut          bool     `json:"payloadCut,omitempty"`
	Digest       string   `json:"payloadSha256,omitempty"` // of the whole payload if it is not fully shown, so that an approval covers the rest too
	TimeoutMS    int64    `json:"timeoutMs"`
	Retries      int      `json:"retries"`
}

// View returns the redacted request. Values in the payload are not examined here: the caller redacts it like any text.
func (r Request) View() view {
	v := view{Method: r.Method, URL: maskURL(r.URL), Headers: []Header{}, PayloadBytes: len(r.Body), TimeoutMS: r.Timeout.Milliseconds(), Retries: r.Retries}
	if u, err := url.Parse(r.URL); err == nil {
		v.Host = u.Host
	}
	for _, h := range r.Headers {
		v.Headers = append(v.Headers, Header{Name: h.Name, Value: maskHeader(h.Name, h.Value)})
	}
	v.Payload, v.Cut = head(strings.ToValidUTF8(string(r.Body), "\uFFFD"), MaxPreview)
	if v.Cut || !utf8.Valid(r.Body) {
		sum := sha256.Sum256(r.Body)
		v.Digest = hex.EncodeToString(sum[:])
	}
	return v
}

// Masked returns the webhook for lists: secret values in headers and in the URL's query masked.
func (c Config) Masked() Config {
	c.URL = maskURL(c.URL)
	c.Headers = maps.Clone(c.Headers)
	for name, value := range c.Headers {
		c.Headers[name] = maskHeader(name, value)
	}
	return c
}

// Secrets returns the values of the request that no result and no error may contain, for redaction.
func (r Request) Secrets() (secrets []string) {
	for _, h := range r.Headers {
		if maskHeader(h.Name, h.Value) == h.Value {
			continue
		}
		secrets = append(secrets, h.Value)
		if _, credentials, ok := strings.Cut(h.Value, " "); ok {
			secrets = append(secrets, credentials)
		}
	}
	_, query, _ := strings.Cut(r.URL, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok && secretName(name) && value != "" {
			secrets = append(secrets, value)
			if plain, err := url.QueryUnescape(value); err == nil && plain != value {
				secrets = append(secrets, plain)
			}
		}
	}
	return secrets
}

// RedactedValue replaces a value that is not shown.
const RedactedValue = "[REDACTED:webhook]"

// maskURL masks the values of secret-named parameters in a URL's query, also of a template.
func maskURL(raw string) string {
	base, query, ok := strings.Cut(raw, "?")
	if !ok {
		return raw
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok && secretName(name) && value != "" {
			pairs[i] = name + "=" + RedactedValue
		}
	}
	return base + "?" + strings.Join(pairs, "&")
}

func maskHeader(name, value string) string {
	if value == "" || !secretName(name) && !secretForm(value) {
		return value
	}
	return RedactedValue
}

// secretName reports whether the value of a header or parameter with this name is secret. It masks rather too much.
func secretName(name string) bool {
	name = strings.ToLower(name)
	if name == "idempotency-key" {
		return false
	}
	for _, part := range []string{"auth", "token", "secret", "pass", "pwd", "key", "cookie", "credential", "signature", "session", "jwt"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "sig" || name == "code" || strings.HasSuffix(name, "-pin")
}

// secretForm reports values that look like credentials under any name: a scheme with credentials, or 32 and more characters without a blank that mix
// letters and digits.
func secretForm(value string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(value), " ")
	if ok && slices.Contains([]string{"basic", "bearer", "digest", "token", "apikey", "hmac", "negotiate"}, scheme) {
		return true
	}
	return len(value) >= 32 && !strings.ContainsAny(value, " /;,{") && strings.ContainsAny(value, "0123456789") &&
		strings.ContainsFunc(value, func(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' })
}

// head returns at most n bytes of s, ending at a rune's end, and whether that is less than all.
func head(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}
