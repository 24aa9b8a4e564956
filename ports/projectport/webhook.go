package projectport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// Webhooks makes requests to hosts outside, within the rules a person set (packageflow-security contract §4.7). What a rule forbids is
// project.ErrURLBlocked with egress.Blocked as its details; neither it nor any other error names an address a host's name led to, or
// repeats a secret of the request.
type Webhooks interface {
	// Resolve is where the request would go, with every address of the host vetted: what a person is shown before a request is made. It
	// asks a name server at most, and connects to nobody. A host without an address is project.ErrExecutionFailed.
	Resolve(ctx context.Context, r webhook.Request, rules webhook.Rules) (webhook.Target, error)
	// Send makes the request, to an address it has vetted itself, and is the answer when that is a 2xx. Any other answer, a redirect
	// among them, and a connection that fails are project.ErrExecutionFailed with the webhook.Response as details; running out of the
	// request's time is project.ErrExecutionTimeout, and an ended context project.ErrCancelled, both with what there is by then. Requests
	// with Retries left are made again when no connection came about and after webhook.IsRetryable answers, after webhook.Backoff.
	Send(ctx context.Context, r webhook.Request, rules webhook.Rules) (webhook.Response, error)
}
