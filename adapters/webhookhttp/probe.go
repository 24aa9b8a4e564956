package webhookhttp

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"
)

// probeTime is how long a service may take to answer once.
const probeTime = 2 * time.Second

// Probe is a projectport.Probes.
type Probe struct{}

// Listens implements projectport.Probes.
func (Probe) Listens(ctx context.Context, port int) bool {
	d := net.Dialer{Timeout: probeTime}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			_ = conn.Close() // it was only asked whether there is one
			return true
		}
	}
	return false
}

// Answers implements projectport.Probes.
func (Probe) Answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close() // its content does not matter
	return answer.StatusCode < http.StatusBadRequest
}
