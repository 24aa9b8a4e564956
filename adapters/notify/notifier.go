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

// The bounds of sending.
const (
	sendTimeout  = 10 * time.Second       // of one attempt
	closeTimeout = 5 * time.Second        // of what is still on its way when the process ends
	stopGrace    = 500 * time.Millisecond // more, for channels to heed that it is over
	attempts     = 4                      // of one message on one channel
	queued       = 32                     // messages that wait for one channel; more are dropped and counted
	sweep        = 15 * time.Second       // between looks for what has become due
	noteTimeout  = 3 * time.Second
	forgotten    = 24 * time.Hour // questions that ran out longer ago are not looked at
	byHandAtMost = 1000
)

// What can be wrong besides what channels fail with.
var (
	ErrTimeout = fault.New(fault.Unavailable, "notify_timeout", "the receiver did not answer in time") // worth another attempt
	ErrChannel = fault.New(fault.NotFound, "notify_channel_unknown", "there is no such channel")
)

// Options are what a Notifier works with. Every field is required but the last two.
type Options struct {
	Channels []ports.Channel
	Ledger   ports.Ledger
	Clock    ports.Clock
	IDs      ports.IDs
	Rules    notice.Rules
	Dir      string // of the book: COUNTERSIGN_HOME
	Log      *slog.Logger
	// Pause waits between attempts; the nth is 1 after the first failure. It returns early when ctx ends. nil is a few seconds, rising.
	Pause func(ctx context.Context, nth int)
	// Ending is how long Close waits at most; zero means closeTimeout.
	Ending time.Duration
}

// Notifier is a ports.Notifier. New makes it, Close ends it. It is safe for concurrent use.
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
	ended  chan struct{}    // closed once nothing of it runs any more; nil before Close
	byHand map[string]bool  // questions that users asked in this process
	under  map[string]*way  // messages on their way
	unsent []notice.Message // that reached nobody because the process ended
	worker sync.WaitGroup
	sender sync.WaitGroup
}

// way is how far a message is.
type way struct {
	message notice.Message
	left    int  // channels that have not come to an end with it
	arrived bool // on one of them
}

// line is one channel with what waits for it.
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

// Asked has what is due found out and sent, at once; of a question that the user asked only when it is left open.
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

// Watch has the notifier look for what becomes due until Close: reminders, what ran out, and what processes that are gone left untold.
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

// work starts the worker unless it runs. The caller holds mu.
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

// Look sends what is due now, and that alone, and does not wait until it has arrived. over says that this process leaves open what it asked.
func (n *Notifier) Look(ctx context.Context, over bool) {
	now := n.parts.Clock.Now()
	var due []notice.Message
	err := n.book.change(ctx, func(b *notice.DeliveryLog) error {
		// The ledger is asked under the lock of the book: what another process has claimed by then, it had asked before.
		open, err := n.parts.Ledger.Pending(ctx, ports.PendingFilter{}, now.Add(-forgotten))
		if err != nil {
			return err
		}
		due = b.Due(n.parts.Rules, questions(open), now, func(id string) bool { return over && n.own(id) })
		return nil
	})
	if err != nil {
		n.parts.Log.Warn("people could not be told of what waits", "cause", fault.From(err).Message)
		return
	}
	for _, m := range due {
		n.deliver(m)
	}
}

// questions returns the confirmations that wait for the user, or did.
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

// Announce sends users word of something that has happened.
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

// deliver puts the message into every channel's queue.
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

// send sends what is queued, and ends when nothing is.
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
			n.parts.Log.Warn("the process ended before people were told", "channel", l.Name(), "message", m.ID)
			n.came(m, ErrTimeout)
			continue
		}
		err := n.try(l, m)
		n.came(m, err)
		n.note(l.Name(), m, err)
	}
}

// came keeps what came of a message on one channel. One that reached nobody because the process ended is another process's to send.
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

// giveBack leaves to other processes what this one has claimed and could not send.
func (n *Notifier) giveBack() {
	n.mu.Lock()
	unsent := n.unsent
	for id, w := range n.under { // on a channel that does not heed the end
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
		n.parts.Log.Warn("what people were not told could not be left to others", "cause", fault.From(err).Message)
	}
}

// try sends one message, again and again while that may help and the process lives.
func (n *Notifier) try(l *line, m notice.Message) error {
	waiting, stop := context.WithCancel(n.life)
	defer stop()
	go func() { // no attempt is waited for when the process ends
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

// once is one attempt, within its time. A channel that fails unforeseen takes nothing along.
func (n *Notifier) once(ctx context.Context, c ports.Channel, m notice.Message) (err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fault.ErrInternal.Sayf("the channel failed in an unforeseen way")
		}
	}()
	if err = c.Send(ctx, m); err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = ErrTimeout.Sayf("no answer within %s", sendTimeout)
	}
	return err
}

// note puts on record whether the message arrived.
func (n *Notifier) note(channel string, m notice.Message, err error) {
	failure := ""
	if err != nil {
		failure = fault.From(err).Message
		n.parts.Log.Warn("people could not be told", "channel", channel, "message", m.ID, "cause", failure)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.life), noteTimeout)
	defer cancel()
	err = n.book.change(ctx, func(b *notice.DeliveryLog) error {
		b.Note(channel, failure, n.parts.Clock.Now().UTC())
		return nil
	})
	if err != nil {
		n.parts.Log.Warn("how a channel does could not be put on record", "channel", channel, "cause", fault.From(err).Message)
	}
}

// Close sends what is due of the questions that this process leaves open, and waits for what is on its way: until ctx ends, or as long as it may. Called
// again it waits for whatever the first call did not wait for, until ctx ends.
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
		n.end() // ends every attempt that heeds it
		t := time.NewTimer(stopGrace)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			n.parts.Log.Warn("a channel did not end in time and is not waited for")
		}
	}
	n.end()
	n.giveBack()
}

// State returns the channels as they do, in any process of this home.
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

// Test sends a message that says so on that channel, or on all of them, once, and waits until it has arrived. It fails with ErrChannel.
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
		return nil, ErrChannel.Sayf("there is no channel %q; countersign notify lists those there are", name)
	}
	return all, nil
}
