package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/notify"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/logbuf"
	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mailbox is a receiver on loopback.
type mailbox struct {
	url      string
	messages chan notice.Message
	mu       sync.Mutex
	status   []int // of the next answers; then 200
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	b := &mailbox{messages: make(chan notice.Message, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		status := http.StatusOK
		if len(b.status) > 0 {
			status, b.status = b.status[0], b.status[1:]
		}
		b.mu.Unlock()
		w.WriteHeader(status)
		var m notice.Message
		if status == http.StatusOK && json.Unmarshal(body, &m) == nil {
			b.messages <- m
		}
	}))
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

// home is what processes share: questions, a clock, and the directory of the book.
type home struct {
	t     *testing.T
	store *memstore.Store
	clock *clock.Fake
	dir   string
	log   *logbuf.Buffer
}

func newHome(t *testing.T) *home {
	c := &clock.Fake{}
	return &home{t: t, store: memstore.New(), clock: c, dir: t.TempDir(), log: &logbuf.Buffer{}}
}

// process returns a notifier of one process of the home.
func (h *home) process(all ...ports.Channel) *notify.Notifier {
	n := notify.NewNotifier(notify.Options{Channels: all, Ledger: h.store, Clock: h.clock, IDs: system.IDs{}, Rules: notice.Rules{Reminder: time.Hour}, Dir: h.dir,
		Log: slog.New(slog.NewTextHandler(h.log, nil)), Pause: func(context.Context, int) {}, Ending: time.Minute})
	h.t.Cleanup(func() { n.Close(context.Background()) })
	return n
}

func (h *home) webhook(url string) ports.Channel {
	c, err := notify.NewWebhook(notify.WebhookSettings{URL: url}, func(string) string { return "" }, h.clock)
	require.NoError(h.t, err)
	return c
}

// asks stores a question that waits for the user.
func (h *home) asks(id string, change func(*confirm.Request)) {
	now := h.clock.Now()
	g := confirm.Request{ID: id, Digest: confirm.NewToken(id).Digest(), Binding: confirm.Binding{Tool: "run_script", Session: "s", Principal: "p"}, HumanOnly: true, IssuedAt: now,
		ExpiresAt: now.Add(confirm.QuestionTTL), Prompt: "run script rm -rf of shop", Args: json.RawMessage(`{"password":"hunter2"}`), Plan: json.RawMessage(`{"argv":["rm","-rf"]}`)}
	g.About = "shop"
	if change != nil {
		change(&g)
	}
	require.NoError(h.t, h.store.Issue(h.t.Context(), g))
}

// TestOneProcessTells of a question that several see: whoever is first.
func TestOneProcessTells(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	one, two := h.process(h.webhook(box.url)), h.process(h.webhook(box.url))
	h.asks("cf_1", nil)
	one.Asked("cf_1", false)
	two.Asked("cf_1", false)
	two.Watch()
	m := <-box.messages
	assert.Equal(t, "Approval needed: run_script in shop (low risk)", m.Title)
	one.Close(t.Context())
	two.Close(t.Context())
	assert.Empty(t, box.messages)
	whole, err := json.Marshal(m)
	require.NoError(t, err)
	for _, secret := range []string{"rm -rf", "hunter2", "argv", confirm.NewToken("cf_1").Digest().String()} {
		assert.NotContains(t, string(whole), secret, "neither plan nor arguments nor token")
	}
}

// TestWhatIsNoQuestionIsNotTold: tokens that name a plan, what the caller approves, what is approved already.
func TestWhatIsNoQuestionIsNotTold(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	h.asks("ct_1", func(g *confirm.Request) { g.Names, g.HumanOnly = true, false })
	h.asks("cf_2", func(g *confirm.Request) { g.HumanOnly = false })
	h.asks("cf_3", func(g *confirm.Request) { g.State = confirm.Approved })
	n := h.process(h.webhook(box.url))
	n.Look(t.Context(), false)
	n.Close(t.Context())
	assert.Empty(t, box.messages)
}

// TestWhatAPersonLeavesOpenIsToldWhenTheProcessEnds, and not before; what was decided meanwhile is not.
func TestWhatAPersonLeavesOpenIsToldWhenTheProcessEnds(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	n := h.process(h.webhook(box.url))
	for _, id := range []string{"cf_1", "cf_2"} {
		h.asks(id, func(g *confirm.Request) { g.ByHand = true })
		n.Asked(id, true)
	}
	n.Look(t.Context(), false)
	require.NoError(t, h.store.Settle(t.Context(), confirm.NewToken("cf_2").Digest(), func(g *confirm.Request) error { return g.Deny("terminal", h.clock.Now()) }))
	n.Close(t.Context())
	require.Len(t, box.messages, 1)
	assert.Equal(t, "cf_1", (<-box.messages).Question)
}

// TestRemindersAreSentByWhoeverLives: the process that asked is gone.
func TestRemindersAreSentByWhoeverLives(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	h.asks("cf_1", nil)
	one := h.process(h.webhook(box.url))
	one.Asked("cf_1", false)
	assert.Equal(t, notice.Waits, (<-box.messages).Kind)
	one.Close(t.Context())
	two, three := h.process(h.webhook(box.url)), h.process(h.webhook(box.url))
	h.clock.Advance(23 * time.Hour)
	two.Look(t.Context(), false)
	three.Look(t.Context(), false)
	assert.Equal(t, notice.Reminder, (<-box.messages).Kind)
	h.clock.Advance(time.Hour)
	three.Look(t.Context(), false)
	two.Look(t.Context(), false)
	assert.Equal(t, notice.Expired, (<-box.messages).Kind)
	two.Close(t.Context())
	three.Close(t.Context())
	assert.Empty(t, box.messages)
}

// TestAFloodIsBounded over all processes together.
func TestAFloodIsBounded(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	var all []*notify.Notifier
	for i := range 12 {
		h.asks(fmt.Sprint("cf_", i), nil)
		n := h.process(h.webhook(box.url))
		n.Asked(fmt.Sprint("cf_", i), false)
		all = append(all, n)
	}
	for _, n := range all {
		n.Close(t.Context())
	}
	assert.Len(t, box.messages, notice.DefaultPerMinute)
	h.clock.Advance(notice.RateWindow)
	later := h.process(h.webhook(box.url))
	later.Look(t.Context(), false)
	later.Close(t.Context())
	require.Len(t, box.messages, notice.DefaultPerMinute+1)
	for range notice.DefaultPerMinute {
		<-box.messages
	}
	assert.Equal(t, "7 new requests", (<-box.messages).Title)
}

// TestAReceiverThatFailsIsAskedAgain, and what does not arrive is said.
func TestAReceiverThatFailsIsAskedAgain(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	box.status = []int{500, 503}
	n := h.process(h.webhook(box.url))
	h.asks("cf_1", nil)
	n.Asked("cf_1", false)
	assert.Equal(t, "cf_1", (<-box.messages).Question, "the third attempt")
	n.Close(t.Context())

	box.status = []int{500, 500, 500, 500, 500, 500}
	n = h.process(h.webhook(box.url))
	_, err := n.Test(t.Context(), "fax")
	require.ErrorIs(t, err, notify.ErrChannel)
	results, err := n.Test(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, results, 1)
	assert.False(t, results[0].Sent)
	state, err := h.process(h.webhook(box.url)).State(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, state[0].Failures, "seen from another process")
	assert.Contains(t, state[0].Failure, "status 500")
	assert.Contains(t, h.log.String(), "the user could not be notified")
}

// hung is a channel that answers nobody, and says when somebody waits for it.
type hung struct{ reached chan struct{} }

func (hung) Name() string { return "hung" }

func (h hung) Send(ctx context.Context, _ notice.Message) error {
	select {
	case h.reached <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return notify.ErrUnreachable.WithCause(ctx.Err())
}

// TestAReceiverThatHangsHoldsNothingUp: neither who asks, nor another channel, nor the end of the process, which waits no longer than it is told to.
func TestAReceiverThatHangsHoldsNothingUp(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	slow := hung{make(chan struct{}, 1)}
	n := h.process(slow, h.webhook(box.url))
	h.asks("cf_1", nil)
	n.Asked("cf_1", false)
	<-slow.reached
	assert.Equal(t, "cf_1", (<-box.messages).Question)
	for range 200 { // more than are queued
		n.Announce("something")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	n.Close(over) // returns
	n.Announce("nobody hears it")
	n.Asked("cf_2", false)
	state, err := n.State(t.Context())
	require.NoError(t, err)
	assert.NotZero(t, state[0].Failures)
	assert.Contains(t, h.log.String(), "too slow")
}

// TestWhatAProcessCouldNotSendAnyMoreIsSentByAnother, once: it ended while its receiver kept it waiting.
func TestWhatAProcessCouldNotSendAnyMoreIsSentByAnother(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	slow := hung{make(chan struct{}, 1)}
	n := h.process(slow)
	h.asks("cf_1", nil)
	n.Asked("cf_1", false)
	<-slow.reached
	other := h.process(h.webhook(box.url))
	other.Look(t.Context(), false) // it is claimed
	over, cancel := context.WithCancel(t.Context())
	cancel()
	n.Close(over)
	other.Look(t.Context(), false)
	other.Look(t.Context(), false)
	other.Close(t.Context())
	require.Len(t, box.messages, 1)
	assert.Equal(t, notice.Waits, (<-box.messages).Kind)
}

// deaf is a channel that heeds nothing until it is let go.
type deaf struct{ reached, let chan struct{} }

func (deaf) Name() string { return "deaf" }

func (d deaf) Send(context.Context, notice.Message) error {
	close(d.reached)
	<-d.let
	return notify.ErrUnreachable
}

// TestAChannelThatHeedsNothingIsNotWaitedFor: the process ends all the same, and another one sends what it could not.
func TestAChannelThatHeedsNothingIsNotWaitedFor(t *testing.T) {
	h, box := newHome(t), newMailbox(t)
	d := deaf{make(chan struct{}), make(chan struct{})}
	n := h.process(d)
	t.Cleanup(func() {
		close(d.let)
		n.Close(context.Background())
	})
	h.asks("cf_1", nil)
	n.Asked("cf_1", false)
	<-d.reached
	over, cancel := context.WithCancel(t.Context())
	cancel()
	n.Close(over) // returns
	other := h.process(h.webhook(box.url))
	other.Look(t.Context(), false)
	other.Close(t.Context())
	require.Len(t, box.messages, 1)
	assert.Equal(t, "cf_1", (<-box.messages).Question)
}

// TestADesktopThatIsNotThere is an error in words, and not tried again.
func TestADesktopThatIsNotThere(t *testing.T) {
	env := func(name string) string { return map[string]string{"DISPLAY": ":0", "SSH_CONNECTION": "x"}[name] }
	require.False(t, notify.HasDesktopSession(env), "there is no bus")
	err := notify.NewDesktopChannel(env).Send(t.Context(), notice.Message{})
	require.ErrorIs(t, err, notify.ErrDesktop)
	assert.NotEqual(t, fault.Unavailable, fault.From(err).Kind)
	assert.Contains(t, err.Error(), "notify: desktop: false")
}
