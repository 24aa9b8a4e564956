package chat

import (
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
)

// waiting is a call that the user has to decide on, as it was made.
type waiting struct {
	call    Call
	pending Pending
	doorID  string // the call's id in the core
	taken   bool   // its decision is being carried out
}

// book remembers the calls that wait. What makes an approval good for one use is the approval store of the core; the book only keeps a
// second click from starting a second call.
type book struct {
	now   func() time.Time
	mu    sync.Mutex
	calls []*waiting // oldest first
}

func (b *book) find(id string) int {
	return slices.IndexFunc(b.calls, func(w *waiting) bool { return w.call.ID == id })
}

// free rejects an id that a call is waiting under. One that is over may come again: some models count anew in every turn.
func (b *book) free(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire()
	if b.find(id) >= 0 {
		return tool.ErrArguments.WithMessage("the call %q is still waiting for approval; use a different id for each call", id)
	}
	return nil
}

// expire forgets the calls that can no longer be agreed to.
func (b *book) expire() {
	now := b.now()
	b.calls = slices.DeleteFunc(b.calls, func(w *waiting) bool { return !w.taken && !now.Before(w.pending.ExpiresAt) })
}

// add has a call wait, in place of one of the same id that began at the same time.
func (b *book) add(w waiting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(slices.DeleteFunc(b.calls, func(old *waiting) bool { return !old.taken && old.call.ID == w.call.ID }), &w)
}

// take has the decision on a call begin, for one taker.
func (b *book) take(id string) (waiting, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.find(id)
	switch {
	case i < 0:
		return waiting{}, confirm.ErrUnknown.WithMessage("call %q is not pending in this chat; it was decided or has expired", id)
	case b.calls[i].taken:
		return *b.calls[i], confirm.ErrUsed.WithMessage("the call %q was already decided, and its decision is being applied", id)
	}
	b.calls[i].taken = true
	return *b.calls[i], nil
}

// settle ends what take began: the call waits again, or is decided.
func (b *book) settle(id string, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.find(id)
	if again {
		b.calls[i].taken = false
		return
	}
	b.calls = slices.Delete(b.calls, i, i+1)
}

// Waiting returns the calls that wait for an approval, oldest first.
func (h *Handler) Waiting() []Pending {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	h.book.expire()
	out := []Pending{}
	for _, w := range h.book.calls {
		if !w.taken {
			out = append(out, w.pending)
		}
	}
	return out
}
