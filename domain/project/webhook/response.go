package webhook

import (
	"slices"
	"strings"
	"time"
)

// The limits of responses (packageflow-security contract §4.7).
const (
	MaxRead = 1 << 20  // bytes of a body that are read
	MaxKept = 10 << 10 // bytes of a body that are kept
	maxLine = 1 << 10  // bytes of a header's value that are kept
)

// Response is what is kept of a response. A StatusCode of 0 means that none arrived.
type Response struct {
	StatusCode    int               `json:"statusCode"`
	Headers       map[string]string `json:"responseHeaders"`
	Body          string            `json:"responseBody,omitempty"` // at most MaxKept bytes, whole characters
	Truncated     bool              `json:"truncated,omitempty"`    // the body was longer
	TotalBytes    int64             `json:"totalBytes"`             // read of the body, at most MaxRead
	DurationMS    int64             `json:"durationMs"`             // in total, including waits and retries
	RetryAttempts int               `json:"retryAttempts"`          // after the first attempt
}

// OK reports whether the receiver accepted the request: 2xx. A redirect is a response like any other and is never followed.
func (r Response) OK() bool { return r.StatusCode >= 200 && r.StatusCode < 300 }

// NewResponse returns what is kept of a response: headers that are known to be harmless, the beginning of the body. more says that the body was
// longer than what was read.
func NewResponse(status int, headers map[string][]string, body []byte, more bool) Response {
	r := Response{StatusCode: status, Headers: map[string]string{}, TotalBytes: int64(len(body))}
	for name, values := range headers {
		if form := canonicalName(name); len(values) > 0 && slices.Contains(keptHeaders(), form) {
			r.Headers[form], _ = head(printable(strings.Join(values, ", ")), maxLine)
		}
	}
	var cut bool
	r.Body, cut = head(strings.ToValidUTF8(string(body[:min(len(body), 4*MaxKept)]), "\uFFFD"), MaxKept)
	r.Truncated = cut || more || len(body) > 4*MaxKept
	return r
}

// keptHeaders returns the headers of a response that reach the caller; cookies and credentials do not.
func keptHeaders() []string {
	return []string{
		"Allow", "Content-Length", "Content-Type", "Date", "Etag", "Last-Modified", "Location", "Ratelimit-Limit", "Ratelimit-Remaining",
		"Ratelimit-Reset", "Retry-After", "X-Correlation-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id",
	}
}

func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// IsRetryable reports responses after which a repeatable request is sent again: 502, 503 and 504.
func IsRetryable(status int) bool { return status >= 502 && status <= 504 }

// Backoff returns the wait before a retry, counted from 0: 1 s, 2 s, 4 s (packageflow contract §1.6).
func Backoff(retry int) time.Duration { return time.Second << min(retry, 6) }
