package webhookhttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"

	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/redact"
)

const (
	userAgent     = "Countersign-Webhook/1"
	maxHeaders    = 64 << 10 // bytes of an answer's headers
	maskingMargin = 4        // times what is kept of a body is masked, so that cutting never hides half a secret from the masking
)

// attempt is one way to the receiver and back, which may be gone several times.
type attempt struct {
	client   *client
	request  webhook.Request
	endpoint webhook.Endpoint
	rules    webhook.Rules
	redactor *redact.Redactor
}

// run resolves, vets, connects, sends and reads once. What was read of a body before it broke off comes with the error.
func (a attempt) run(ctx context.Context) (webhook.Response, error) {
	target, err := a.client.vet(ctx, a.endpoint, a.rules)
	if err != nil {
		return webhook.Response{}, err
	}
	request, err := a.message(ctx)
	if err != nil {
		return webhook.Response{}, err
	}
	transport := a.transport(target)
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request) // a transport alone follows no redirect and keeps no cookie
	if err != nil {
		return webhook.Response{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, webhook.MaxRead+1))
	return a.keep(answer, body), err
}

func (a attempt) message(ctx context.Context) (*http.Request, error) {
	r := a.request
	m, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	m.Header.Set("User-Agent", userAgent)
	for _, h := range r.Headers {
		m.Header.Set(h.Name, h.Value)
	}
	return m, nil
}

// transport connects to the target's addresses and to no other, whatever the name would mean by then. TLS and Host go by the name.
func (a attempt) transport(target webhook.Target) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // not the environment's: it would see every secret, and connect where we do not look
		DisableKeepAlives:      true,
		DisableCompression:     true, // a small body that unpacks into a large one stays small
		MaxResponseHeaderBytes: maxHeaders,
		TLSHandshakeTimeout:    handshakeTime,
		TLSClientConfig:        &tls.Config{RootCAs: a.client.opts.RootCAs, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return a.dial(ctx, network, target)
		},
	}
}

// dial tries the target's addresses in turn.
func (a attempt) dial(ctx context.Context, network string, target webhook.Target) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTime, Control: a.control}
	var failures []error
	for _, addr := range target.Addresses {
		conn, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(addr, target.Port).String())
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, unreached(errors.Join(failures...))
}

// control judges the peer of a socket that is about to connect. It repeats what was decided about the name, for the address that really
// is used.
func (a attempt) control(_, address string, _ syscall.RawConn) error {
	peer, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return a.rules.Admit(a.endpoint, peer.Addr())
}

// keep returns what is kept of an answer, with the request's own secrets and whatever looks like one masked.
func (a attempt) keep(answer *http.Response, body []byte) webhook.Response {
	more := len(body) > webhook.MaxRead
	body = body[:min(len(body), webhook.MaxRead)]
	window := body[:min(len(body), maskingMargin*webhook.MaxKept)]
	masked, _ := a.redactor.Text(string(bytes.ToValidUTF8(window, []byte("\uFFFD"))))
	kept := webhook.NewResponse(answer.StatusCode, answer.Header, []byte(masked), more || len(window) < len(body))
	kept.TotalBytes = int64(len(body))
	for name, value := range kept.Headers {
		kept.Headers[name], _ = a.redactor.Text(value)
	}
	return kept
}
