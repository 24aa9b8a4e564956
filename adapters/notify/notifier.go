package notify

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/ports"
)

// The limits of sending.
const (
	sendTimeout  = 10 * time.Second       // of one attempt
	closeTimeout = 5 * time.Second        // for messages in progress when the process ends
	stopGrace    = 500 * time.Millisecond // additional time for channels to stop
	attempts     = 4                      // of one message on one channel
	queued       = 32                     // queued messages of one channel; more are dropped and counted
	sweep        = 15 * time.Second       // interval between checks for due messages
	noteTimeout  = 3 * time.Second
	forgotten    = 24 * time.Hour // requests that expired longer ago are ignored
	byHandAtMost = 1000
)

// The errors besides those of channels.
var (
	ErrTimeout = fault.New(fault.Unavailable, "notify_timeout", "the receiver did not answer in time") // worth a retry
	ErrChannel = fault.New(fault.NotFound, "notify_channel_unknown", "no such channel")
)

// Options configures a Notifier. Every field except the last two is required.
type Options struct {
	Channels []ports.Channel
	Ledger   ports.ApprovalStore
	Clock    ports.Clock
	IDs      ports.IDs
	Rules    notice.Rules
	Dir      string // of the delivery log: COUNTERSIGN_HOME
	Log      *slog.Logger
	// Pause waits between attempts; nth is 1 after the first failure. It returns early when ctx ends. nil is a few seconds, increasing.
	Pause func(ctx context.Context, nth int)
	// Ending is the maximum time that Close waits; zero means closeTimeout.
	Ending time.Duration
}

// Notifier is a ports.Notifier. NewNotifier makes it, Close ends it. It is safe for concurrent use.
type Notifier struct {
	parts Options
	book  book
	lines []*line

	life   context.Context
	end    context.CancelFunc
	wake   chan struct{}
	ending chan struct{} // closed when the process ends

	mu     sync.Mutex
	works  bool
	closed bool
	ended  chan struct{}    // closed once all goroutines have ended; nil before Close
	byHand map[string]bool  // requests of the user's own calls in this process
	under  map[string]*way  // messages being sent
	unsent []notice.Message // messages not delivered because the process ended
	worker sync.WaitGroup
	sender sync.WaitGroup
}

// way is the progress of a message.
type way struct {
	message notice.Message
	left    int  // channels that are not finished with it
	arrived bool // on at least one of them
}

// line is one channel with its queue.
type line struct {
	ports.Channel
	queue   chan notice.Message
	running bool
}

// NewNotifier returns a notifier over these channels. It opens and starts nothing.
func NewNotifier(p Options) *Notifier {
	n := &Notifier{parts: p, book: openBook(p.Dir), wake: make(chan struct{}, 1), ending: make(chan struct{}), byHand: map[string]bool{}, under: map[string]*way{}}
	n.life, n.end = context.WithCancel(context.Background())
	for _, c := range p.Channels {
		n.lines = append(n.lines, &line{Channel: c, queue: make(chan notice.Message, queued)})
	}
	if n.parts.Pause == nil {
		n.parts.Pause = pause
	}
	return n
}

// pause is 2, 8 and 32 seconds.
func pause(ctx context.Context, nth int) {
	t := time.NewTimer(time.Second << (2*nth - 1))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Asked sends the messages that are due, at once; for a request of the user's own call only after it was left open.
func (n *Notifier) Asked(id string, byHand bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || len(n.lines) == 0 {
		return
	}
	if byHand && len(n.byHand) < byHandAtMost {
		n.byHand[id] = true
	}
	if !byHand {
		n.ring()
	}
	n.work()
}

// Watch makes the notifier check for due messages until Close: reminders, expiries, and messages that ended processes did not send.
func (n *Notifier) Watch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || len(n.lines) == 0 {
		return
	}
	n.ring()
	n.work()
}

func (n *Notifier) ring() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// work starts the worker unless it is running. The caller holds mu.
func (n *Notifier) work() {
	if n.works {
		return
	}
	n.works = true
	n.worker.Add(1)
	go func() {
		defer n.worker.Done()
		tick := time.NewTicker(sweep)
		defer tick.Stop()
		for {
			over := false
			select {
			case <-n.wake:
			case <-tick.C:
			case <-n.ending:
				over = true
			}
			n.Look(n.life, over)
			if over {
				return
			}
		}
	}()
}

// Look sends the messages that are due now, without waiting for delivery. over says that this process leaves its requests open.
func (n *Notifier) Look(ctx context.Context, over bool) {
	now := n.parts.Clock.Now()
	var due []notice.Message
	err := n.book.change(ctx, func(b *notice.DeliveryLog) error {
		// The store is read under the lock of the delivery log: another process reads it before it claims messages.
		open, err := n.parts.Ledger.Pending(ctx, ports.PendingFilter{}, now.Add(-forgotten))
		if err != nil {
			return err
		}
		due = b.Due(n.parts.Rules, questions(open), now, func(id string) bool { return over && n.own(id) })
		return nil
	})
	if err != nil {
		n.parts.Log.Warn("the user could not be notified of pending requests", "cause", fault.From(err).Message)
		return
	}
	for _, m := range due {
		n.deliver(m)
	}
}

// questions returns the pending and past approval requests for users.
func questions(open []confirm.Request) []notice.Question {
	var all []notice.Question
	for _, g := range open {
		if g.State == confirm.Pending && g.HumanOnly && !g.Names {
			all = append(all, notice.Question{ID: g.ID, Tool: g.Binding.Tool, Risk: g.View().Risk, About: g.About, AskedAt: g.IssuedAt, ExpiresAt: g.ExpiresAt, ByHand: g.ByHand})
		}
	}
	return all
}

func (n *Notifier) own(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byHand[id]
}

// Announce notifies users of an event.
func (n *Notifier) Announce(what string) {
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	if closed || len(n.lines) == 0 {
		return
	}
	now, link := n.parts.Clock.Now(), ""
	if n.parts.Rules.Link != nil {
		link = n.parts.Rules.Link("")
	}
	n.deliver(notice.NewAnnouncement(n.parts.IDs.NewID("an_", 10), what, link, now))
}

// deliver adds the message to every channel's queue.
func (n *Notifier) deliver(m notice.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &way{message: m}
	for _, l := range n.lines {
		select {
		case l.queue <- m:
			w.left++
			n.under[m.ID] = w
		default:
			n.parts.Log.Warn("a channel is too slow, so a message was dropped", "channel", l.Name(), "message", m.ID)
			continue
		}
		if !l.running {
			l.running = true
			n.sender.Add(1)
			go n.send(l)
		}
	}
}

// send sends the queued messages, and returns when none is left.
func (n *Notifier) send(l *line) {
	defer n.sender.Done()
	for {
		n.mu.Lock()
		var m notice.Message
		select {
		case m = <-l.queue:
		default:
			l.running = false
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		if n.life.Err() != nil {
			n.parts.Log.Warn("the process ended before the user was notified", "channel", l.Name(), "message", m.ID)
			n.came(m, ErrTimeout)
			continue
		}
		err := n.try(l, m)
		n.came(m, err)
		n.note(l.Name(), m, err)
	}
}

// came records the result of a message on one channel. If it was delivered on none because the process ended, another process sends it.
func (n *Notifier) came(m notice.Message, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.under[m.ID]
	if w == nil {
		return
	}
	w.left--
	w.arrived = w.arrived || err == nil
	if w.left > 0 {
		return
	}
	delete(n.under, m.ID)
	select {
	case <-n.ending:
		if !w.arrived && m.Question != "" && fault.From(err).Kind == fault.Unavailable {
			n.unsent = append(n.unsent, m)
		}
	default:
	}
}

// giveBack releases the messages that this process claimed and could not send.
func (n *Notifier) giveBack() {
	n.mu.Lock()
	unsent := n.unsent
	for id, w := range n.under { // on a channel that did not stop
		if !w.arrived && w.message.Question != "" {
			unsent = append(unsent, w.message)
		}
		delete(n.under, id)
	}
	n.mu.Unlock()
	if len(unsent) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
	defer cancel()
	err := n.book.change(ctx, func(b *notice.DeliveryLog) error {
		for _, m := range unsent {
			b.Untold(m.Question, m.Kind)
		}
		return nil
	})
	if err != nil {
		n.parts.Log.Warn("unsent notifications could not be handed to other processes", "cause", fault.From(err).Message)
	}
}

// try sends one message, with retries while they may help and the process runs.
func (n *Notifier) try(l *line, m notice.Message) error {
	waiting, stop := context.WithCancel(n.life)
	defer stop()
	go func() { // no attempt delays the end of the process
		select {
		case <-n.ending:
			stop()
		case <-waiting.Done():
		}
	}()
	for nth := 1; ; nth++ {
		err := n.once(n.life, l, m)
		if err == nil || fault.From(err).Kind != fault.Unavailable || nth == attempts {
			return err
		}
		n.parts.Pause(waiting, nth)
		if waiting.Err() != nil {
			return err
		}
	}
}

// once makes one attempt, within its time limit. It recovers panics of the channel.
func (n *Notifier) once(ctx context.Context, c ports.Channel, m notice.Message) (err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fault.ErrInternal.WithMessage("internal error in the channel")
		}
	}()
	if err = c.Send(ctx, m); err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = ErrTimeout.WithMessage("no answer within %s", sendTimeout)
	}
	return err
}

// note records whether the message was delivered.
func (n *Notifier) note(channel string, m notice.Message, err error) {
	failure := ""
	if err != nil {
		failure = fault.From(err).Message
		n.parts.Log.Warn("the user could not be notified", "channel", channel, "message", m.ID, "cause", failure)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.life), noteTimeout)
	defer cancel()
	err = n.book.change(ctx, func(b *notice.DeliveryLog) error {
		b.Note(channel, failure, n.parts.Clock.Now().UTC())
		return nil
	})
	if err != nil {
		n.parts.Log.Warn("the status of a channel could not be recorded", "channel", channel, "cause", fault.From(err).Message)
	}
}

// Close sends the due messages about requests that this process leaves open, and waits for messages in progress until ctx ends or the time limit.
// Further calls wait for the rest until ctx ends.
func (n *Notifier) Close(ctx context.Context) {
	n.mu.Lock()
	first := !n.closed
	if first {
		n.closed, n.ended = true, make(chan struct{})
	}
	done := n.ended
	n.mu.Unlock()
	if !first {
		select {
		case <-done:
		case <-ctx.Done():
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(n.parts.Ending, closeTimeout))
	defer cancel()
	close(n.ending)
	go func() {
		defer close(done)
		n.worker.Wait()
		n.sender.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		n.end() // ends every attempt that reacts to it
		t := time.NewTimer(stopGrace)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			n.parts.Log.Warn("a channel did not stop in time and was abandoned")
		}
	}
	n.end()
	n.giveBack()
}

// State returns the channels with their status, over all processes of this home.
func (n *Notifier) State(ctx context.Context) ([]notice.Channel, error) {
	b, err := n.book.load()
	if err != nil {
		return nil, err
	}
	all := []notice.Channel{}
	for _, l := range n.lines {
		c := notice.Channel{Name: l.Name(), ChannelStatus: b.Channels[l.Name()]}
		if w, ok := l.Channel.(interface{ Where() string }); ok {
			c.Where = w.Where()
		}
		all = append(all, c)
	}
	return all, ctx.Err()
}

// Test sends a test message on that channel, or on all of them, once, and waits for delivery. It fails with ErrChannel.
func (n *Notifier) Test(ctx context.Context, name string) ([]notice.ChannelTestResult, error) {
	link := ""
	if n.parts.Rules.Link != nil {
		link = n.parts.Rules.Link("")
	}
	all := []notice.ChannelTestResult{}
	for _, l := range n.lines {
		if name != "" && name != l.Name() {
			continue
		}
		m := notice.NewTestMessage(n.parts.IDs.NewID("nt_", 10), link, n.parts.Clock.Now())
		err := n.once(ctx, l, m)
		n.note(l.Name(), m, err)
		r := notice.ChannelTestResult{Channel: l.Name(), Sent: err == nil}
		if err != nil {
			r.Failure = fault.From(err).Message
		}
		all = append(all, r)
	}
	if len(all) == 0 && name != "" {
		return nil, ErrChannel.WithMessage("unknown channel %q; countersign notify lists the channels", name)
	}
	return all, nil
}
