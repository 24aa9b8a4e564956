package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a call waits for the user's approval, and how often it reports that it waits (packageflow contract §5.2, MCP wait protocol): clients
// commonly time out after a minute.
const (
	DefaultWait = 45 * time.Second
	DefaultBeat = 5 * time.Second
)

// MetaConfirmWait is the key in a call's _meta that sets for how many milliseconds the call waits for the user: 0 answers it at once, with the ID of
// the pending approval; the maximum is MaxWait.
const MetaConfirmWait = "countersign/confirm_wait_ms"

// waitAs sets the call's wait from its _meta.
func (r *request) waitAs(said json.RawMessage) error {
	ms, err := strconv.ParseUint(string(said), 10, 32)
	if err != nil || time.Duration(ms)*time.Millisecond > MaxWait {
		return invalid("invalid _meta[%q] %s; use a number of milliseconds from 0 to %d", MetaConfirmWait, said, MaxWait.Milliseconds())
	}
	if r.wait = time.Duration(ms) * time.Millisecond; ms == 0 {
		r.wait = -1
	}
	return nil
}

// MaxWait is the maximum time that a call may wait for the user: as long as an approval request stays open.
const MaxWait = confirm.QuestionTTL

// ConfirmWait parses the value of COUNTERSIGN_CONFIRM_WAIT for Options.Wait: a duration from 0s, which means no wait, to MaxWait. It reports false
// for anything else.
func ConfirmWait(value string) (time.Duration, bool) {
	if value == "" {
		return DefaultWait, true
	}
	d, err := time.ParseDuration(value)
	if d == 0 {
		d = -1
	}
	return d, err == nil && d >= -1 && d <= MaxWait
}

// look is how often a waiting call checks for a decision without being notified.
const look = 2 * time.Second

// maxWaiting is the maximum number of calls that wait for users at a time. A further call is answered at once; its approval request stays open.
const maxWaiting = 32

// People reports decisions that users make while a call waits: in a terminal, in the console, in any process.
type People interface {
	// Decided signals, until stop is called, when that may have changed.
	Decided(id string) (told <-chan struct{}, stop func())
	// FormsOn reports whether the user lets forms of the host entry approve.
	FormsOn(ctx context.Context, entry string) (bool, error)
	// ApprovalPending reports whether the approval request with that ID is undecided.
	ApprovalPending(ctx context.Context, id string) (bool, error)
	// CancelApproval cancels the approval request with that ID, because its call was cancelled.
	CancelApproval(ctx context.Context, id string) error
	// Left marks the approval request with that ID, because its client no longer waits. If the same call is made again, it picks the request up.
	Left(ctx context.Context, id string) error
}

// waits reports whether the call of an outcome waits for the user: its caller has no token to approve it.
func (s *Server) waits(r *request, out tool.Outcome) bool {
	return s.opts.People != nil && r.wait > 0 && wantsAnswer(out) && !out.Request.AtOnce
}

// await makes the call wait until the user has decided, in the form if there is one or elsewhere, and applies it or reports the denial. The first
// decision counts. If there is no decision in time, or the client disconnects, the outcome stays unchanged; if the client cancels the call, the
// request is withdrawn.
func (s *Server) await(ctx context.Context, r *request, out tool.Outcome, form *mcp.ElicitParams) tool.Outcome {
	r.turn.Release()                                               // calls do not wait for the user
	r.call.Decision, r.call.ApprovalDigest = nil, confirm.Digest{} // of an earlier request of the same call
	if !s.patience.TryAcquire(1) {
		return out
	}
	answer, decided := s.decision(ctx, r, out.Request, form)
	s.patience.Release(1)
	r.call.ID = out.CallID
	switch {
	case answer != nil && ctx.Err() == nil:
		r.call.Decision = answer
		if done := s.again(ctx, r); !late(done) {
			return done
		}
		r.call.Decision = nil // another process decided first
	case s.life.Err() != nil, r.over != nil && r.over.Err() != nil: // its session has ended; the user may still decide
		return out
	case ctx.Err() != nil && isClosed(r.late):
		return out
	case ctx.Err() != nil:
		s.left.add(out.Request.ID)
		err := s.opts.People.CancelApproval(context.WithoutCancel(ctx), out.Request.ID)
		if err != nil { // another process decided first, and the form's answer is dropped
			s.opts.Log.Debug("an approval request could not be cancelled", "confirmation", out.Request.ID, "error", err)
		}
		return tool.Outcome{CallID: out.CallID, RequestID: r.call.RequestID, Spec: r.spec, Args: r.call.Args, Err: fault.From(ctx.Err())}
	case !decided:
		if isClosed(r.ending) { // the end of its session may never be reported
			if err := s.opts.People.Left(context.WithoutCancel(ctx), out.Request.ID); err != nil {
				s.opts.Log.Debug("an abandoned approval request could not be marked", "confirmation", out.Request.ID, "error", err)
			}
		}
		return out
	}
	r.call.ApprovalDigest = out.Request.Digest
	done := s.again(ctx, r)
	if f := fault.From(done.Err); f == nil || f.Code != confirm.ErrCanceled.Code || !s.left.has(out.Request.ID) {
		return done
	}
	r.call.ApprovalDigest, r.call.ID = confirm.Digest{}, "" // another call had asked and was cancelled: this one asks for itself
	if done = s.again(ctx, r); s.waits(r, done) {
		return s.await(ctx, r, done, nil)
	}
	return done
}

// remembered is how many requests withdrawn by cancelled calls are remembered, to distinguish them from requests withdrawn by a user.
const remembered = 64

// leaving holds the last requests withdrawn because their call was cancelled. The same call may have been repeated since and wait for the same
// request.
type leaving struct {
	mu  sync.Mutex
	ids [remembered]string
	n   int
}

func (l *leaving) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids[l.n%remembered] = id
	l.n++
}

func (l *leaving) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.ids[:], id)
}

// isClosed reports whether a channel that is only ever closed is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// late reports a decision that came after the request was closed.
func late(out tool.Outcome) bool {
	f := fault.From(out.Err)
	return f != nil && (f.Code == confirm.ErrAnswered.Code || f.Code == confirm.ErrUnknown.Code)
}

// again runs the next round of a call after the user was asked: it goes to the end of its queue.
func (s *Server) again(ctx context.Context, r *request) tool.Outcome {
	r.turn = s.turnOf(r.call.Session, r.spec, r.call.Args)
	defer r.turn.Release()
	return s.run(ctx, r)
}

// decision waits for a decision: the user's answer in the form, or the signal that the request was decided elsewhere.
func (s *Server) decision(ctx context.Context, r *request, i *tool.ApprovalRequest, form *mcp.ElicitParams) (*confirm.Decision, bool) {
	told, deaf := s.opts.People.Decided(i.ID)
	defer deaf()
	ways := "countersign approve " + i.ID + ", or countersign deny " + i.ID
	elsewhere := ways
	var said <-chan *confirm.Decision
	if form != nil {
		answers, closeForm := s.show(ctx, r, i, form)
		defer closeForm()
		said, ways = answers, "in the form; or "+ways
	}
	over, began, heard := time.NewTimer(r.wait), time.Now(), 0
	defer over.Stop()
	looking := time.NewTicker(min(look, r.wait, s.opts.Beat))
	defer looking.Stop()
	for last := false; ; {
		waiting, err := s.opts.People.ApprovalPending(ctx, i.ID)
		switch {
		case err == nil && !waiting:
			return nil, true
		case last || ctx.Err() != nil:
			return nil, false
		}
		select {
		case <-ctx.Done():
		case answer := <-said:
			if answer != nil {
				return answer, false
			}
			said, ways = nil, elsewhere // the form was not answered; the user may decide elsewhere
		case <-told:
		case <-r.ending:
			last = true
		case <-over.C:
			last = true
		case <-looking.C:
		}
		if beats := int(time.Since(began) / s.opts.Beat); beats > heard && !last {
			heard = beats
			r.progress.Report(tool.Progress{Message: fmt.Sprintf("waiting for the user (%s of %s): %s", time.Since(began).Round(time.Second), r.wait, ways)})
		}
	}
}
