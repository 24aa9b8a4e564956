package webhookhttp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// webhookWorld is the part of the world that the suite of webhooks plays: name servers, certificate authorities, the passing of time
// before a retry.
type webhookWorld struct {
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Roots  *x509.CertPool // nil: whom the machine trusts
	Wait   func(ctx context.Context, d time.Duration) error
}

// openWebhooks opens webhooks in such a world.
type openWebhooks func(t testing.TB, w webhookWorld) projectport.Webhooks

// webhooks holds webhooks to projectport's contract, over real sockets on the loopback interface.
func webhooks(t *testing.T, open openWebhooks) {
	for name, test := range map[string]func(*testing.T, openWebhooks){
		"SendsWhatWasBuilt":      sendsWhatWasBuilt,
		"KeepsTheName":           keepsTheName,
		"DistrustsCertificates":  distrustsCertificates,
		"VetsEveryAddress":       vetsEveryAddress,
		"AsksOnceAndBelieves":    asksOnceAndBelieves,
		"AsksNobodyInVain":       asksNobodyInVain,
		"FollowsNoRedirect":      followsNoRedirect,
		"FailsUnlessAccepted":    failsUnlessAccepted,
		"EndsInTime":             endsInTime,
		"BoundsAnswers":          boundsAnswers,
		"UnpacksNothing":         unpacksNothing,
		"TriesAgain":             triesAgain,
		"TriesAgainOnlyIfUnsent": triesAgainOnlyIfUnsent,
		"StopsWhenCancelled":     stopsWhenCancelled,
		"NeverOutwaitsItsTime":   neverOutwaitsItsTime,
		"RepeatsNoSecret":        repeatsNoSecret,
		"NamesNoAddress":         namesNoAddress,
		"HasNoAmbience":          hasNoAmbience,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// receiver is a server that remembers what it was sent.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen []received
}

type received struct {
	*http.Request
	body string
	sni  string
}

// receive starts a receiver over plain HTTP; answer writes its answers.
func receive(t testing.TB, answer http.HandlerFunc) *receiver {
	r := prepare(t, answer)
	r.Start()
	return r
}

// receiveTLS starts a receiver over TLS. Its certificate is for example.com and the loopback addresses.
func receiveTLS(t testing.TB, answer http.HandlerFunc) *receiver {
	r := prepare(t, answer)
	r.StartTLS()
	return r
}

func prepare(t testing.TB, answer http.HandlerFunc) *receiver {
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		one := received{Request: req, body: string(body)}
		if req.TLS != nil {
			one.sni = req.TLS.ServerName
		}
		r.mu.Lock()
		r.seen = append(r.seen, one)
		r.mu.Unlock()
		answer(w, req)
	}))
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) received() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.seen...)
}

// port is ":port" of the receiver.
func (r *receiver) port(t testing.TB) string {
	u, err := url.Parse(r.URL)
	require.NoError(t, err)
	return ":" + u.Port()
}

func (r *receiver) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	return pool
}

// here are rules that let webhooks reach host:port although it is this machine.
func here(hostPorts ...string) webhook.Rules {
	return webhook.Rules{AllowLoopback: true, AllowHosts: hostPorts}
}

// names is a name server that knows some hosts and counts questions.
type names struct {
	mu      sync.Mutex
	hosts   map[string][]string
	answers [][]string // when not empty: one a question, whatever the host
	asked   int
}

func (n *names) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := n.hosts[host]
	if len(n.answers) > 0 {
		found = n.answers[min(n.asked, len(n.answers)-1)]
	}
	n.asked++
	var addrs []netip.Addr
	for _, a := range found {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

func (n *names) questions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// local returns a world in which every host is this machine.
func local() webhookWorld {
	n := &names{answers: [][]string{{"127.0.0.1"}}}
	return webhookWorld{Lookup: n.lookup}
}

// built returns the request of a webhook without variables.
func built(t testing.TB, c webhook.Config) webhook.Request {
	t.Helper()
	r, err := c.Build(webhook.Input{})
	require.NoError(t, err)
	return r
}

// answered returns the answer that an error carries.
func answered(t testing.TB, err error) webhook.Response {
	t.Helper()
	require.Error(t, err)
	r, ok := fault.From(err).Details.(webhook.Response)
	require.True(t, ok, "the details of %v are the answer", err)
	return r
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
