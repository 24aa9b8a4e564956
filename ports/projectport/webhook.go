package projectport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// Webhooks sends requests to external hosts within the user's egress rules (packageflow-security contract §4.7). A forbidden request fails with
// project.ErrURLBlocked, with webhook.Blocked as details. No error contains a resolved address or a secret of the request.
type Webhooks interface {
	// Resolve returns where the request would go, with every address of the host checked, to be shown before the request is approved. It may query a name
	// server but connects to no host. A host without an address is project.ErrExecutionFailed.
	Resolve(ctx context.Context, r webhook.Request, rules webhook.Rules) (webhook.Target, error)
	// Send sends the request to an address that it has checked itself, and returns a 2xx response. Any other response (a redirect included) and a failed
	// connection are project.ErrExecutionFailed with the webhook.Response as details; a timeout is project.ErrExecutionTimeout, and an ended context
	// project.ErrCancelled, both with the response so far. Requests with Retries left are sent again if no connection was made or webhook.IsRetryable, after
	// webhook.Backoff.
	Send(ctx context.Context, r webhook.Request, rules webhook.Rules) (webhook.Response, error)
}

// Probes tells whether services of this machine are ready.
type Probes interface {
	// Listens reports whether something on this machine accepts connections at that port.
	Listens(ctx context.Context, port int) bool
	// Answers reports whether a URL of this machine answers with a status below 400. Redirects are not followed.
	Answers(ctx context.Context, url string) bool
}
