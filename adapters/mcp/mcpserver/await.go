package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// A call that only a person may confirm waits so long for one, and says that it does so often (packageflow contract §5.2, MCP wait
// protocol): clients commonly give a call up after a minute.
const (
	DefaultWait = 45 * time.Second
	DefaultBeat = 5 * time.Second
)

// MetaConfirmWait is the key in a call's _meta with which its client says for how many milliseconds the call waits for a person: 0 to have it
// answered at once, with the id of what is pending, up to ten minutes.
const MetaConfirmWait = "countersign/confirm_wait_ms"

// waitAs has the call wait as its _meta says.
func (r *request) waitAs(said json.RawMessage) error {
	ms, err := strconv.ParseUint(string(said), 10, 32)
	if err != nil || time.Duration(ms)*time.Millisecond > confirm.MaxTTL {
		return invalid("_meta[%q] is %s, and no number of milliseconds from 0 to %d", MetaConfirmWait, said, confirm.MaxTTL.Milliseconds())
	}
	if r.wait = time.Duration(ms) * time.Millisecond; ms == 0 {
		r.wait = -1
	}
	return nil
}

// ConfirmWait reads the value of COUNTERSIGN_CONFIRM_WAIT for Options.Wait: a duration from 0s, which is not to wait, to ten minutes, which is
// how long a confirmation lives at most. It reports false for anything else.
func ConfirmWait(value string) (time.Duration, bool) {
	if value == "" {
		return DefaultWait, true
	}
	d, err := time.ParseDuration(value)
	if d == 0 {
		d = -1
	}
	return d, err == nil && d >= -1 && d <= confirm.MaxTTL
}

// look is how often it is looked whether a person has decided.
const look = 250 * time.Millisecond

// maxWaiting bounds how many calls wait for people at a time. One more is answered at once; its confirmation stays.
const maxWaiting = 32

// People is where people decide while a call waits: in a terminal, in the console, in whatever process.
type People interface {
	// Waiting reports whether nobody has decided yet on the confirmation of that id.
	Waiting(ctx context.Context, id string) (bool, error)
	// Withdraw ends the confirmation of that id: nobody waits for its call any more.
	Withdraw(ctx context.Context, id string) error
}

// waits reports whether the call behind an outcome waits for a person: its caller has no token to confirm it with.
func (s *Server) waits(r *request, out tool.Outcome) bool {
	return s.opts.People != nil && r.wait > 0 && wantsAnswer(out) && out.Issued.Pending && !out.Issued.AtOnce
}

// await has the call wait until a person has decided, and carries it out, or says that it was denied. When nobody decides in time, or the
// client leaves, the outcome stays what it is; a client that cancels the call withdraws the question.
func (s *Server) await(ctx context.Context, r *request, out tool.Outcome) tool.Outcome {
	r.turn.Release() // nothing waits for a person
	if !s.patience.TryAcquire(1) {
		return out
	}
	decided := s.decision(ctx, r, out.Issued.ID)
	s.patience.Release(1)
	switch {
	case s.life.Err() != nil, r.over != nil && r.over.Err() != nil: // its session is over; a person may still answer
		return out
	case ctx.Err() != nil:
		err := s.opts.People.Withdraw(context.WithoutCancel(ctx), out.Issued.ID)
		if err != nil { // somebody was faster, and the answer to that goes nowhere
			s.opts.Log.Debug("a confirmation could not be withdrawn", "confirmation", out.Issued.ID, "error", err)
		}
		return tool.Outcome{CallID: out.CallID, RequestID: r.call.RequestID, Spec: r.spec, Args: r.call.Args, Err: fault.From(ctx.Err())}
	case !decided:
		return out
	}
	r.call.ID, r.call.Asked = out.CallID, out.Issued.Digest
	return s.again(ctx, r)
}

// decision waits for one, and reports whether there is one now.
func (s *Server) decision(ctx context.Context, r *request, id string) bool {
	over, began, told := time.NewTimer(r.wait), time.Now(), 0
	defer over.Stop()
	looking := time.NewTicker(min(look, r.wait, s.opts.Beat))
	defer looking.Stop()
	for last := false; ; {
		waiting, err := s.opts.People.Waiting(ctx, id)
		switch {
		case err == nil && !waiting:
			return true
		case last || ctx.Err() != nil:
			return false
		}
		select {
		case <-ctx.Done():
		case <-r.ending:
			last = true
		case <-over.C:
			last = true
		case <-looking.C:
		}
		if beats := int(time.Since(began) / s.opts.Beat); beats > told && !last {
			told = beats
			r.progress.Report(tool.Progress{Message: fmt.Sprintf("waiting for a person (%s of %s): countersign approve %s, or countersign deny %s",
				time.Since(began).Round(time.Second), r.wait, id, id)})
		}
	}
}
