package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// The figures of a health check (opencode contract §8.2).
const (
	checkTimeout = 5 * time.Second // of one request
	maxHealth    = 64 << 10        // bytes of an answer that are read
	user         = "opencode"      // that the server's password belongs to
)

// Healthy is sandboxport.Launcher: /global/health, or / of a server that has no such path (opencode contract §8.2). A server that listens on all
// addresses is asked on the loopback one.
func (l *Launcher) Healthy(ctx context.Context, host string, port int, password string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	at := net.JoinHostPort(reachable(host), strconv.Itoa(port))
	status, body, err := l.ask(ctx, at, "/global/health", password)
	if err == nil && missing(status) {
		status, body, err = l.ask(ctx, at, "/", password)
		body = body[:0] // a page, and no word about health
	}
	switch {
	case err != nil:
		return "", sandbox.ErrUnhealthy.WithMessage("no healthy server answers at %s: %s", at, reason(err)).WithCause(err)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "", sandbox.ErrAuth.WithMessage("the server at %s rejects the password: another user started it, or the password changed after it started", at)
	case status < 200 || status > 299:
		return "", sandbox.ErrUnhealthy.WithMessage("the server at %s answers its health check with HTTP %d", at, status)
	}
	var health struct {
		Healthy *bool  `json:"healthy"`
		Version string `json:"version"`
	}
	if json.Unmarshal(body, &health) == nil && health.Healthy != nil && !*health.Healthy {
		return "", sandbox.ErrUnhealthy.WithMessage("the server at %s reports that it is not healthy", at)
	}
	return health.Version, nil
}

// Busy is sandboxport.Launcher, by opencode's /session/status, which is asked for one directory at a time and names the sessions that are not idle.
func (l *Launcher) Busy(ctx context.Context, s sandboxport.Settings, port int, dirs []string) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	at := net.JoinHostPort(reachable(s.Host), strconv.Itoa(port))
	for _, dir := range dirs {
		status, body, err := l.ask(ctx, at, "/session/status?"+url.Values{"directory": {dir}}.Encode(), s.Password)
		if err != nil {
			return false
		}
		var sessions map[string]struct{ Type string }
		if status != http.StatusOK || json.Unmarshal(body, &sessions) != nil {
			continue
		}
		for _, one := range sessions {
			if one.Type != "idle" {
				return true
			}
		}
	}
	return false
}

// missing reports an answer of a server that does not know the path.
func missing(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// reachable returns where a server that listens on host is asked.
func reachable(host string) string {
	ip := net.ParseIP(host)
	switch {
	case host == "":
		return "127.0.0.1"
	case ip != nil && ip.IsUnspecified() && ip.To4() == nil:
		return "::1"
	case ip != nil && ip.IsUnspecified():
		return "127.0.0.1"
	}
	return host
}

func (l *Launcher) ask(ctx context.Context, at, path, password string) (status int, body []byte, err error) {
	return l.send(ctx, http.MethodGet, at, path, password, nil)
}

func (l *Launcher) send(ctx context.Context, method, at, path, password string, doc []byte) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+at+path, bytes.NewReader(doc))
	if err != nil {
		return 0, nil, err
	}
	req.SetBasicAuth(user, password)
	if doc != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxHealth))
	return resp.StatusCode, body, err
}

// reason returns why a request failed, without the address that the message has already.
func reason(err error) string {
	var failed *url.Error
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &op):
		return op.Err.Error()
	case errors.As(err, &failed):
		return failed.Err.Error()
	}
	return err.Error()
}
