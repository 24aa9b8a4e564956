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

// A call that only the user may confirm waits so long for one, and says that it does so often (packageflow contract §5.2, MCP wait
// protocol): clients commonly give a call up after a minute.
const (
	DefaultWait = 45 * time.Second
	DefaultBeat = 5 * time.Second
)

// MetaConfirmWait is the key in a call's _meta with which its client says for how many milliseconds the call waits for the user: 0 to have it
// answered at once, with the id of what is pending, up to MaxWait.
const MetaConfirmWait = "countersign/confirm_wait_ms"

// waitAs has the call wait as its _meta says.
func (r *request) waitAs(said json.RawMessage) error {
	ms, err := strconv.ParseUint(string(said), 10, 32)
	if err != nil || time.Duration(ms)*time.Millisecond > MaxWait {
		return invalid("_meta[%q] is %s, and no number of milliseconds from 0 to %d", MetaConfirmWait, said, MaxWait.Milliseconds())
	}
	if r.wait = time.Duration(ms) * time.Millisecond; ms == 0 {
		r.wait = -1
	}
	return nil
}

// MaxWait is how long a call may wait for the user: as long as a question stays open.
const MaxWait = confirm.QuestionTTL

// ConfirmWait reads the value of COUNTERSIGN_CONFIRM_WAIT for Options.Wait: a duration from 0s, which is not to wait, to MaxWait. It reports false for
// anything else.
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

// look is how often it is looked whether the user has decided, where nothing says so.
const look = 2 * time.Second

// maxWaiting bounds how many calls wait for users at a time. One more is answered at once; its confirmation stays.
const maxWaiting = 32

// People is where users decide while a call waits: in a terminal, in the console, in any process.
type People interface {
	// Decided tells, until stop is called, when that may have changed.
	Decided(id string) (told <-chan struct{}, stop func())
	// FormsOn reports whether the user switched on that forms of the host entry answer.
	FormsOn(ctx context.Context, entry string) (bool, error)
	// Waiting reports whether nobody has decided yet on the confirmation of that id.
	Waiting(ctx context.Context, id string) (bool, error)
	// Withdraw ends the confirmation of that id: nobody waits for its call any more.
	Withdraw(ctx context.Context, id string) error
	// Left marks the confirmation of that id: nobody listens for the answer of its call any more. The same call, made anew, picks it up.
	Left(ctx context.Context, id string) error
}

// waits reports whether the call behind an outcome waits for the user: its caller has no token to confirm it with.
func (s *Server) waits(r *request, out tool.Outcome) bool {
	return s.opts.People != nil && r.wait > 0 && wantsAnswer(out) && !out.Issued.AtOnce
}

// await has the call wait until the user has decided, in the form if there is one or elsewhere, and carries it out, or says that it was denied. The first
// answer counts. When nobody decides in time, or the client leaves, the outcome stays what it is; a client that cancels the call withdraws the question.
func (s *Server) await(ctx context.Context, r *request, out tool.Outcome, form *mcp.ElicitParams) tool.Outcome {
	r.turn.Release()                                    // nothing waits for the user
	r.call.Answer, r.call.Asked = nil, confirm.Digest{} // of an earlier question of the same call
	if !s.patience.TryAcquire(1) {
		return out
	}
	answer, decided := s.decision(ctx, r, out.Issued, form)
	s.patience.Release(1)
	r.call.ID = out.CallID
	switch {
	case answer != nil && ctx.Err() == nil:
		r.call.Answer = answer
		if done := s.again(ctx, r); !late(done) {
			return done
		}
		r.call.Answer = nil // another process was faster elsewhere
	case s.life.Err() != nil, r.over != nil && r.over.Err() != nil: // its session is over; the user may still answer
		return out
	case ctx.Err() != nil && isClosed(r.late):
		return out
	case ctx.Err() != nil:
		s.left.add(out.Issued.ID)
		err := s.opts.People.Withdraw(context.WithoutCancel(ctx), out.Issued.ID)
		if err != nil { // another process was faster, and the answer to that goes nowhere
			s.opts.Log.Debug("a confirmation could not be withdrawn", "confirmation", out.Issued.ID, "error", err)
		}
		return tool.Outcome{CallID: out.CallID, RequestID: r.call.RequestID, Spec: r.spec, Args: r.call.Args, Err: fault.From(ctx.Err())}
	case !decided:
		if isClosed(r.ending) { // its session may never say that it is over
			if err := s.opts.People.Left(context.WithoutCancel(ctx), out.Issued.ID); err != nil {
				s.opts.Log.Debug("a confirmation that was left could not be marked", "confirmation", out.Issued.ID, "error", err)
			}
		}
		return out
	}
	r.call.Asked = out.Issued.Digest
	done := s.again(ctx, r)
	if f := fault.From(done.Err); f == nil || f.Code != confirm.ErrCanceled.Code || !s.left.has(out.Issued.ID) {
		return done
	}
	r.call.Asked, r.call.ID = confirm.Digest{}, "" // another call had asked, and was cancelled: this one asks for itself
	if done = s.again(ctx, r); s.waits(r, done) {
		return s.await(ctx, r, done, nil)
	}
	return done
}

// remembered is how many questions are remembered whose calls were cancelled. Those are told apart from a question that somebody took back.
const remembered = 64

// leaving is the last questions that were withdrawn because their call was cancelled. The same call may have been repeated meanwhile, and wait for the
// same question.
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

// isClosed reports whether a channel on which nothing is sent is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// late reports an answer that came when there was nothing to answer any more.
func late(out tool.Outcome) bool {
	f := fault.From(out.Err)
	return f != nil && (f.Code == confirm.ErrAnswered.Code || f.Code == confirm.ErrUnknown.Code)
}

// again returns the next round of a call that the user was asked about: it has gone to the end of the line.
func (s *Server) again(ctx context.Context, r *request) tool.Outcome {
	r.turn = s.turnOf(r.call.Session, r.spec, r.call.Args)
	defer r.turn.Release()
	return s.run(ctx, r)
}

// decision waits for one. It is what the user said in the form, or the word that somebody has decided elsewhere.
func (s *Server) decision(ctx context.Context, r *request, i *tool.Issued, form *mcp.ElicitParams) (*confirm.Answer, bool) {
	told, deaf := s.opts.People.Decided(i.ID)
	defer deaf()
	ways := "countersign approve " + i.ID + ", or countersign deny " + i.ID
	elsewhere := ways
	var said <-chan *confirm.Answer
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
		waiting, err := s.opts.People.Waiting(ctx, i.ID)
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
			said, ways = nil, elsewhere // nobody was there; the user may answer elsewhere
		case <-told:
		case <-r.ending:
			last = true
		case <-over.C:
			last = true
		case <-looking.C:
		}
		if beats := int(time.Since(began) / s.opts.Beat); beats > heard && !last {
			heard = beats
			r.progress.Report(tool.Progress{Message: fmt.Sprintf("waiting for a person (%s of %s): %s", time.Since(began).Round(time.Second), r.wait, ways)})
		}
	}
}
