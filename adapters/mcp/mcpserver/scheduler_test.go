package mcpserver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func hasTurn(k *Ticket) bool {
	select {
	case <-k.ready:
		return true
	default:
		return false
	}
}

func TestTurnsOfOneQueue(t *testing.T) {
	q := NewScheduler()
	r1, r2, w1, r3, w2 := q.Enqueue("a", false), q.Enqueue("a", false), q.Enqueue("a", true), q.Enqueue("a", false), q.Enqueue("a", true)
	other := q.Enqueue("b", true)
	turns := func() []bool { return []bool{hasTurn(r1), hasTurn(r2), hasTurn(w1), hasTurn(r3), hasTurn(w2)} }
	assert.Equal(t, []bool{true, true, false, false, false}, turns(), "reads go together, up to the next change")
	assert.True(t, hasTurn(other), "another toolset does not wait")
	r2.Release()
	r2.Release()
	assert.False(t, hasTurn(w1))
	r1.Release()
	assert.Equal(t, []bool{true, true, true, false, false}, turns(), "a change goes alone")
	r3.Release()
	w1.Release()
	assert.True(t, hasTurn(w2), "one that gave up waiting holds up nobody")
	w2.Release()
	other.Release()
	assert.Empty(t, q.queues)

	blocking := q.Enqueue("a", true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, q.Enqueue("a", true).Wait(ctx), context.Canceled)
	require.NoError(t, blocking.Wait(t.Context()))
}

// Whatever comes and goes: a change never has its turn with another call, a call has its turn when all before
// it that it must wait for are gone, and in the end nothing is left.
func TestTurnsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewScheduler()
		var open []*Ticket
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) { open = append(open, q.Enqueue("q", rapid.Bool().Draw(t, "alone"))) },
			"release": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip("nothing is open")
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				open[i].Release()
				open = append(open[:i:i], open[i+1:]...)
			},
			"": func(t *rapid.T) {
				changeBefore := false
				for i, k := range open {
					want := !changeBefore && (!k.alone || i == 0)
					if hasTurn(k) != want {
						t.Fatalf("call %d of %d (alone: %v) has its turn: %v", i, len(open), k.alone, hasTurn(k))
					}
					changeBefore = changeBefore || k.alone
				}
			},
		})
		for _, k := range open {
			k.Release()
		}
		if len(q.queues) != 0 {
			t.Fatal("a queue is left")
		}
	})
}
