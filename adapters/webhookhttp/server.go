package webhookhttp

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/ports"
)

// ServerOptions are what a Server asks. Lookup, Trigger and Clock are needed.
type ServerOptions struct {
	// Lookup is who may start the workflow. A workflow that does not exist, or has no incoming webhook, is a fault.NotFound.
	Lookup func(ctx context.Context, workflow string) (webhook.Incoming, error)
	// Trigger starts the workflow and does not wait for its end. Its context outlives the request, so that a sender who hangs up leaves no
	// workflow half started. A workflow that is gone is a fault.NotFound.
	Trigger func(ctx context.Context, workflow string, body []byte) (executionID string, err error)
	// Report is told of every request once it is decided, before it is answered. It may be nil, and is called from many goroutines.
	Report func(Event)
	Clock  ports.Clock
	Limits Limits
}

// Limits bound what a sender can occupy. Zero fields are the defaults.
type Limits struct {
	Header      time.Duration // until the headers have arrived; 5 s
	Request     time.Duration // until the body has arrived; 15 s
	Trigger     time.Duration // for starting a workflow; 15 s
	Idle        time.Duration // between requests of one connection; 30 s
	Grace       time.Duration // for requests in progress at shutdown; 5 s
	Connections int           // at once; 64
}

func (l Limits) withDefaults() Limits {
	l.Header = cmp.Or(l.Header, 5*time.Second)
	l.Request = cmp.Or(l.Request, 15*time.Second)
	l.Trigger = cmp.Or(l.Trigger, 15*time.Second)
	l.Idle = cmp.Or(l.Idle, 30*time.Second)
	l.Grace = cmp.Or(l.Grace, 5*time.Second)
	l.Connections = cmp.Or(l.Connections, 64)
	return l
}

// Event is a request that was decided. It holds neither token nor body.
type Event struct {
	At          time.Time
	Remote      string // the sender's address
	Workflow    string // as the request named it; empty when it named none
	Status      int
	Refusal     webhook.Refusal // empty when the workflow was started
	ExecutionID string
	Err         error // what kept the workflow from being found or started
}

// server is an http.Handler. It remembers recent requests and signatures, so there is one for all workflows.
type server struct {
	opts    ServerOptions
	rates   rates
	replays replays
}

// NewServer returns a Server.
func NewServer(o ServerOptions) *server {
	o.Limits = o.Limits.withDefaults()
	return &server{opts: o}
}

// ServeHTTP answers 200 with {success, executionId, message}; otherwise {success: false, error} with 400, 401, 404, 405, 413, 429 or 500. What it
// answers to somebody without the token depends on nothing but the request: not on whether the workflow exists or is open.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	event := Event{At: s.opts.Clock.Now(), Remote: remote(r)}
	retryAfter := s.handle(w, r, &event)
	event.Status = event.Refusal.Status()
	if s.opts.Report != nil {
		s.opts.Report(event)
	}
	write(w, event, retryAfter)
}

// handle decides, starts the workflow if it may, and fills in the event. The duration is when a sender that was too fast may come back.
func (s *server) handle(w http.ResponseWriter, r *http.Request, event *Event) time.Duration {
	if wait, ok := s.rates.take(event.Remote, event.At); !ok {
		event.Refusal = webhook.RefusedRate
		return wait
	}
	workflow, ok := strings.CutPrefix(r.URL.Path, "/webhook/")
	switch {
	case !ok || !plausible(workflow):
		event.Refusal = webhook.RefusedPath
		return 0
	case r.Method != http.MethodPost:
		event.Workflow, event.Refusal = workflow, webhook.RefusedMethod
		return 0
	}
	event.Workflow = workflow
	incoming, err := s.opts.Lookup(r.Context(), workflow)
	known := err == nil
	if !known && fault.From(err).Kind != fault.NotFound {
		event.Refusal, event.Err = webhook.RefusedNotStarted, err
		return 0
	}
	if event.Refusal = incoming.CheckRequest(known, matches(r, incoming.TokenDigest)); event.Refusal != webhook.Admitted {
		return 0
	}
	body, refusal := read(r)
	if refusal == webhook.Admitted {
		refusal = s.admit(incoming, workflow, r, body)
	}
	if event.Refusal = refusal; refusal == webhook.Admitted {
		s.start(r, workflow, body, event)
	}
	return 0
}

// admit judges the signature and remembers it, so that it starts one workflow only.
func (s *server) admit(in webhook.Incoming, workflow string, r *http.Request, body []byte) webhook.Refusal {
	signature := signatureOf(r)
	refusal := in.CheckSignature(signature, signs(in, signature, body), s.opts.Clock.Now())
	if refusal != webhook.Admitted {
		return refusal
	}
	if until, ok := in.ReplayExpiry(signature); ok && !s.replays.claim(replayKey(workflow, signature), until, s.opts.Clock.Now()) {
		return webhook.RefusedReplay
	}
	return webhook.Admitted
}

func (s *server) start(r *http.Request, workflow string, body []byte, event *Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.opts.Limits.Trigger)
	defer cancel()
	id, err := s.opts.Trigger(ctx, workflow, body)
	if err == nil {
		event.ExecutionID = id
		return
	}
	s.replays.release(replayKey(workflow, signatureOf(r))) // nothing was started: the sender may try the same again
	event.Err, event.Refusal = err, webhook.RefusedNotStarted
	if fault.From(err).Kind == fault.NotFound {
		event.Refusal = webhook.RefusedGone
	}
}

// matches compares the request's token with the stored digest in constant time. An unknown workflow has the digest of nothing, and costs
// the same comparison.
func matches(r *http.Request, digest string) bool {
	const none = "0000000000000000000000000000000000000000000000000000000000000000"
	if len(digest) != len(none) {
		digest = none
	}
	var token string
	given := r.Header.Values(webhook.TokenHeader)
	if bearer := r.Header.Values("Authorization"); len(given) == 0 && len(bearer) == 1 {
		if scheme, credentials, ok := strings.Cut(bearer[0], " "); ok && strings.EqualFold(scheme, "Bearer") {
			given = []string{credentials}
		}
	}
	if len(given) == 1 { // several are ambiguous, and none of them counts
		token = strings.TrimSpace(given[0])
	}
	equal := subtle.ConstantTimeCompare([]byte(webhook.DigestToken(token)), []byte(digest)) == 1
	return equal && token != ""
}

// drained is how much of a body that is too long is read all the same, in bytes: whoever still sends when the connection is closed may never see
// the answer.
const drained = 1 << 20

// read returns the whole body, which may be webhook.MaxIncoming bytes long.
func read(r *http.Request) ([]byte, webhook.Refusal) {
	body, err := io.ReadAll(io.LimitReader(r.Body, webhook.MaxIncoming+1))
	switch {
	case err != nil:
		return nil, webhook.RefusedBody
	case len(body) > webhook.MaxIncoming:
		_, _ = io.CopyN(io.Discard, r.Body, drained) // it is refused whatever comes
		return nil, webhook.RefusedSize
	}
	return body, webhook.Admitted
}

func signatureOf(r *http.Request) webhook.Signature {
	return webhook.ReadSignature(r.Header.Get(webhook.SignatureHeader), r.Header.Get(webhook.TimestampHeader))
}

// signs reports whether the signature is HMAC-SHA256 over what has to be signed.
func signs(in webhook.Incoming, s webhook.Signature, body []byte) bool {
	if len(in.Secret) == 0 {
		return false
	}
	mac := hmac.New(sha256.New, in.Secret)
	_, _ = io.WriteString(mac, in.Prefix(s)) // a hash takes everything
	_, _ = mac.Write(body)
	return hmac.Equal(mac.Sum(nil), s.MAC())
}

func replayKey(workflow string, s webhook.Signature) string {
	return workflow + "\x00" + string(s.MAC())
}

// plausible reports whether s may be the identifier of a workflow.
func plausible(s string) bool {
	return s != "" && len(s) <= 128 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// remote returns the sender's address as the connection knows it; headers that claim another one are not believed.
func remote(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return peer.Addr().Unmap().WithZone("").String()
}

// answer is the body of every answer.
type answer struct {
	Success     bool   `json:"success"`
	ExecutionID string `json:"executionId,omitempty"`
	Message     string `json:"message,omitempty"`
	Error       string `json:"error,omitempty"`
}

func write(w http.ResponseWriter, event Event, retryAfter time.Duration) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch event.Status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	case http.StatusTooManyRequests:
		seconds := int64((retryAfter + time.Second - 1) / time.Second)
		h.Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="webhook"`)
	}
	body := answer{Error: says(event.Status)}
	if event.Status == http.StatusOK {
		body = answer{Success: true, ExecutionID: event.ExecutionID, Message: "the workflow was started"}
	}
	w.WriteHeader(event.Status)
	_ = json.NewEncoder(w).Encode(body) // a sender who hung up misses the answer, and that is all
}

// says returns the one sentence that every refusal of that status has.
func says(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "the body did not arrive in full"
	case http.StatusUnauthorized:
		return "not accepted: send the workflow's token in " + webhook.TokenHeader + " or as a bearer token, and sign the request when the workflow requires it"
	case http.StatusNotFound:
		return "nothing to start here; start workflows with POST /webhook/{workflow}"
	case http.StatusMethodNotAllowed:
		return "start workflows with POST"
	case http.StatusRequestEntityTooLarge:
		return "the body has more than " + strconv.Itoa(webhook.MaxIncoming) + " bytes"
	case http.StatusTooManyRequests:
		return "too many requests; retry after Retry-After seconds"
	}
	return "the workflow could not be started; Countersign's log has the reason"
}
