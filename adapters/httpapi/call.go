package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The headers of calls. They repeat what the body says about an approval request, because not every contract has room for it there.
const (
	HeaderCall         = "X-Call-Id"         // in an answer: the ID of the call
	HeaderConfirmation = "X-Confirmation-Id" // in an answer: the ID of the approval request
	HeaderToken        = "X-Confirm-Token"   // in an answer: the confirm_token for the repeated call; never if only users approve
	HeaderWait         = "X-Confirm-Wait"    // in a request: how long to wait for the user
	HeaderApproval     = "X-Approval"        // in an answer: "caller" if no user is asked
)

// look is how often a waiting call checks for a decision without being notified.
const look = 2 * time.Second

// beside is how long to wait for the call record of a decision.
const beside = 25 * time.Millisecond

// callTool calls a tool. The answer follows the tool's contract, except for the status, which depends on the kind of the error.
func (a *API) callTool(x *Exchange) error {
	patience, err := patienceOf(x)
	if err != nil {
		return err
	}
	args, err := x.Body()
	if err != nil {
		return err
	}
	switch {
	case len(bytes.TrimSpace(args)) == 0:
		args = json.RawMessage("{}")
	case !json.Valid(args):
		args = json.RawMessage("null") // rejected in the tool's contract; text that is not JSON cannot be recorded
	}
	call := x.Visitor.Call(tool.Name(x.Name), args)
	out := a.Caller.Call(x.R.Context(), call)
	if patience > 0 && asksPeople(out) && a.decided(x, out.Request.ID, patience) {
		call.ID, call.ApprovalDigest = out.CallID, out.Request.Digest
		out = a.Caller.Call(x.R.Context(), call)
	}
	show(x, out)
	return nil
}

// show writes the outcome of a call.
func show(x *Exchange, out tool.Outcome) {
	doc := present.For(out.Spec.Contract)(out)
	h, status := x.W.Header(), http.StatusOK
	if out.CallID != "" {
		h.Set(HeaderCall, out.CallID)
	}
	if out.Unasked {
		h.Set(HeaderApproval, policy.ApprovalCaller.String())
	}
	if i := out.Request; i != nil {
		h.Set(HeaderConfirmation, i.ID)
		if token := i.Token.Reveal(); token != "" {
			h.Set(HeaderToken, token)
		}
	}
	if out.Err != nil { // in some contracts an approval request is not a failure, but nothing was done
		f := fault.From(out.Err)
		status = present.HTTPStatus(f.Kind)
		if seconds := retryAfter(f); seconds > 0 {
			h.Set("Retry-After", strconv.FormatInt(seconds, 10))
		}
	}
	body := doc.Body
	if out.Spec.Contract == present.Packageflow {
		body = present.WithConfirmation(body, out)
	}
	x.Write(status, "application/json", body)
}

// retryAfter returns after how many seconds to retry, if the error says so.
func retryAfter(f *fault.Error) int64 {
	details, _ := f.Details.(json.RawMessage)
	var rate struct {
		MS int64 `json:"retry_after_ms"`
	}
	_ = json.Unmarshal(details, &rate) // details of another form have no such member
	return (rate.MS + 999) / 1000
}

// patienceOf returns how long the request waits for the user: a duration or whole seconds, at most the lifetime of an approval request.
func patienceOf(x *Exchange) (time.Duration, error) {
	text := x.R.URL.Query().Get("wait")
	if text == "" {
		text = x.R.Header.Get(HeaderWait)
	}
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if seconds, number := strconv.ParseUint(text, 10, 32); number == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < 0 {
		return 0, ErrQuery.WithMessage("invalid wait %q; use a duration such as 30s", Shorten(text))
	}
	return min(d, confirm.MaxTTL), nil
}

// asksPeople reports an approval request that only the user can decide: its caller has no token.
func asksPeople(out tool.Outcome) bool {
	return out.Request != nil && out.Err != nil && out.Request.Pending && !out.Request.AtOnce
}

// decided waits for a decision on the approval request, and reports whether there is one. If the client disconnects, the request stays open.
func (a *API) decided(x *Exchange, id string, patience time.Duration) bool {
	if !a.patience.TryAcquire(1) {
		return false
	}
	defer a.patience.Release(1)
	ctx, cancel := context.WithTimeout(x.R.Context(), patience)
	defer cancel()
	told, deaf := a.App.Decided(id)
	defer deaf()
	looking := time.NewTicker(look)
	defer looking.Stop()
	for {
		waiting, err := a.App.ApprovalPending(x.R.Context(), id) // once more at the time limit
		if err == nil && !waiting {
			a.recorded(ctx, id)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		select {
		case <-ctx.Done():
		case <-told:
		case <-looking.C:
		}
	}
}

// recorded waits until the record of a denied call contains the user's reason, which is stored shortly after the denial.
func (a *API) recorded(ctx context.Context, id string) {
	const most = 40
	for range most {
		views, err := a.App.Confirmations(ctx, "")
		approved := slices.ContainsFunc(views, func(v confirm.View) bool { return v.ID == id })
		rec, unknown := a.App.CallRecord(ctx, id)
		if err != nil || approved || unknown != nil || rec.Status.Final() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(beside):
		}
	}
}
