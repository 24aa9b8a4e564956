package webhookhttp

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/redact"
)

// How long the parts of an attempt may take, within the request's total.
const (
	lookupTime    = 10 * time.Second
	dialTime      = 5 * time.Second // of one address
	handshakeTime = 10 * time.Second
)

// ClientOptions are what a Client takes from the machine. The zero Options is the machine itself; nothing here makes it trust more than RootCAs.
type ClientOptions struct {
	RootCAs *x509.CertPool                                               // nil is the system's
	Lookup  func(ctx context.Context, host string) ([]netip.Addr, error) // nil asks the system's name servers
	Wait    func(ctx context.Context, d time.Duration) error             // before a retry; nil waits
	Own     func() []uint16                                              // ports this product serves on by now, added to webhook.Rules.Never
}

// client is a projectport.Webhooks. It keeps nothing between requests and is safe for concurrent use.
type client struct{ opts ClientOptions }

// NewClient returns a Client.
func NewClient(o ClientOptions) *client {
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return new(net.Resolver).LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	return &client{opts: o}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Resolve returns where the request would go (projectport.Webhooks).
func (c *client) Resolve(ctx context.Context, r webhook.Request, rules webhook.Rules) (webhook.Target, error) {
	rules = c.complete(rules)
	e, err := rules.Endpoint(r.URL)
	if err != nil {
		return webhook.Target{}, err
	}
	target, err := c.vet(ctx, e, rules)
	if err != nil {
		return webhook.Target{}, verdict(ctx, r, e, webhook.Response{}, err)
	}
	return target, nil
}

// complete adds the ports that are this product's own, which whoever stored the rules could not know.
func (c *client) complete(rules webhook.Rules) webhook.Rules {
	if c.opts.Own != nil {
		rules.Never = slices.Concat(rules.Never, c.opts.Own())
	}
	return rules
}

// vet looks a host up, once, and judges all its addresses.
func (c *client) vet(ctx context.Context, e webhook.Endpoint, rules webhook.Rules) (webhook.Target, error) {
	addrs := []netip.Addr{e.Addr}
	if !e.Addr.IsValid() {
		ctx, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		var err error
		if addrs, err = c.opts.Lookup(ctx, e.Host); err != nil {
			return webhook.Target{}, unreached(err)
		}
	}
	return rules.Vet(e, addrs)
}

// Send makes the request (projectport.Webhooks).
func (c *client) Send(ctx context.Context, r webhook.Request, rules webhook.Rules) (webhook.Response, error) {
	started := time.Now()
	rules = c.complete(rules)
	e, err := rules.Endpoint(r.URL)
	if err != nil {
		return webhook.Response{}, err
	}
	if r.Timeout <= 0 || r.Timeout > webhook.MaxTimeout {
		r.Timeout = webhook.MaxTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	a := attempt{client: c, request: r, endpoint: e, rules: rules, redactor: redact.New(redact.Options{Known: r.Secrets()})}
	for retry := 0; ; retry++ {
		answer, err := a.run(ctx)
		if retry < min(r.Retries, webhook.MaxRetries) && passing(answer, err) && c.rest(ctx, webhook.Backoff(retry)) {
			continue
		}
		answer.RetryAttempts, answer.DurationMS = retry, time.Since(started).Milliseconds()
		return answer, verdict(ctx, r, e, answer, err)
	}
}

// passing reports what may be over at the next attempt: the connection failed, or the receiver said so itself.
func passing(answer webhook.Response, err error) bool {
	if err == nil {
		return webhook.IsRetryable(answer.StatusCode)
	}
	var none *noConnection
	return errors.As(err, &none) && none.passing
}

// rest waits before a retry, unless the wait would use up the request's time: what there is by now says more than a timeout does.
func (c *client) rest(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	return c.opts.Wait(ctx, d) == nil
}

// verdict is what an attempt that was the last means to the caller; nil for success.
func verdict(ctx context.Context, r webhook.Request, e webhook.Endpoint, answer webhook.Response, err error) error {
	switch {
	case errors.Is(err, project.ErrURLBlocked):
		return innermost(err)
	case err == nil && answer.OK():
		return nil
	case err == nil && !errors.Is(ctx.Err(), context.Canceled):
		return project.ErrExecutionFailed.WithMessage("%s answered %d; a webhook succeeds with 2xx", e.Authority(), answer.StatusCode).WithDetails(answer)
	case errors.Is(ctx.Err(), context.Canceled):
		return project.ErrCancelled.WithMessage("the webhook was cancelled before %s had answered", e.Authority()).WithDetails(answer)
	case ctx.Err() != nil:
		return project.ErrExecutionTimeout.WithMessage("%s did not answer in full within %v", e.Authority(), r.Timeout).WithDetails(answer)
	case errors.Is(err, project.ErrExecutionFailed): // no address
		return innermost(err)
	}
	return project.ErrExecutionFailed.WithMessage("%s: %s", e.Authority(), describe(err)).WithDetails(answer)
}
