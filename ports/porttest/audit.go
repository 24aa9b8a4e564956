package porttest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/ports"
)

// Event returns an event with every field set, told apart by its call ID.
func Event(call string) audit.Event {
	return audit.Event{
		Time: issued, Phase: audit.Intent, CallID: call, Session: "s-1", Principal: "me", Client: "suite/1", Tool: "deploy_apply", Class: "write",
		Args: json.RawMessage(`{"share":0.25,"html":"<&>","list":[1,2]}`), Plan: canon.SumBytes("test", []byte(call)), Verdict: "confirm", Rule: "strength",
		ApprovedBy: "token", Code: "plan_stale", DurationUS: 1234, Redactions: 1,
	}
}

// AuditLog runs the contract of ports.AuditLog.
func AuditLog(t *testing.T, open func(testing.TB) ports.AuditLog) {
	for name, test := range map[string]func(*testing.T, ports.AuditLog){
		"EmptyHoldsNothing":       auditEmpty,
		"KeepsEveryField":         auditKeeps,
		"ChainHolds":              auditChain,
		"HostileTextHolds":        auditHostile,
		"AllOrNone":               auditWhole,
		"RecordsPage":             auditPages,
		"TailIsTheEnd":            auditTail,
		"SearchIsNewestFirst":     auditSearch,
		"SearchFilters":           auditFilters,
		"SearchSeesThroughPoses":  auditPoses,
		"ManyWritersOneChain":     auditContention,
		"CopiesNotAliases":        auditCopies,
		"EndedContextDoesNothing": auditContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func auditEmpty(t *testing.T, l ports.AuditLog) {
	require.NoError(t, l.Append(t.Context()), "no events are no work")
	records, err := l.Records(t.Context(), 0, 0)
	require.NoError(t, err)
	assert.Empty(t, records)
	records, err = l.Tail(t.Context(), 10)
	require.NoError(t, err)
	assert.Empty(t, records)
}

func auditKeeps(t *testing.T, l ports.AuditLog) {
	bare := audit.Event{Tool: "list_toolsets"}
	east := Event("call_3")
	east.Time = issued.In(time.FixedZone("east", 5*3600))
	require.NoError(t, l.Append(t.Context(), Event("call_1"), bare, east))
	records, err := l.Records(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 3)
	east.Time = issued
	for i, want := range []audit.Event{Event("call_1"), bare, east} {
		got := records[i].Event
		if want.Args != nil {
			assert.JSONEq(t, string(want.Args), string(got.Args))
			got.Args = want.Args
		}
		assert.Equal(t, want, got)
		assert.Equal(t, int64(i+1), records[i].Seq)
	}
	assert.True(t, records[0].Prev.IsZero())
	assert.Equal(t, records[0].Hash, records[1].Prev)
}

func auditChain(t *testing.T, l ports.AuditLog) {
	for n := range 20 {
		events := make([]audit.Event, n%4)
		for i := range events {
			events[i] = Event(fmt.Sprintf("call_%d_%d", n, i))
		}
		require.NoError(t, l.Append(t.Context(), events...))
	}
	assert.Equal(t, int64(30), Verify(t, l))
}

// auditHostile checks that the chain stays valid for any text of a client: a record must hash the same after it was read.
func auditHostile(t *testing.T, l ports.AuditLog) {
	for _, text := range []string{"\xff\xfe", "a\x00b", "\u2028<script>&", "\ufffd", "😀\xf0\x9f", "line\nbreak", `"quoted\"`} {
		e := Event("call_" + text)
		e.Client, e.Session, e.Principal, e.Tool, e.Phase, e.ApprovedBy, e.Grant, e.Confirmation = text, text, text, text, audit.Phase(text), text, text, text
		e.Args = json.RawMessage("{\"a\": \"\u2028<>&\xff\", \"a\":1e400, \"b\" : [ null ]}")
		require.NoError(t, l.Append(t.Context(), e), "%q", text)
	}
	assert.Equal(t, int64(7), Verify(t, l))
	all, err := l.Records(t.Context(), 0, 0)
	require.NoError(t, err)
	for _, r := range all {
		for _, f := range []audit.Filter{{Call: r.Event.CallID}, {Confirmation: r.Event.Confirmation}, {Tool: r.Event.Tool, Phase: r.Event.Phase}} {
			found, err := l.Search(t.Context(), f)
			require.NoError(t, err)
			assert.Contains(t, seqs(found), r.Seq, "%q", f)
			assert.LessOrEqual(t, len(found), 2, "two of them are one text by now")
		}
	}
}

// auditPoses checks that a record is found only by its own members, whatever its call's arguments contain.
func auditPoses(t *testing.T, l ports.AuditLog) {
	posing := `{"a":1,"phase":"asked","call_id":"cf_9","tool":"approve_remote","confirmation":"cf_8","grant":"cf_9"}`
	for i, args := range []string{`{}`, posing, strings.Repeat("[", 1500) + posing + strings.Repeat("]", 1500)} {
		e := Event(fmt.Sprint("call_", i))
		e.Phase, e.Args, e.Confirmation = audit.Outcome, json.RawMessage(args), "cf_7"
		require.NoError(t, l.Append(t.Context(), e))
		e.CallID, e.Tool, e.Confirmation = fmt.Sprint("other_", i), `","tool":"status","`, ""
		require.NoError(t, l.Append(t.Context(), e))
	}
	for _, c := range []struct {
		filter audit.Filter
		want   []int64
	}{
		{audit.Filter{Confirmation: "cf_7"}, []int64{5, 3, 1}},
		{audit.Filter{Confirmation: "cf_7", Before: 5, Limit: 1}, []int64{3}},
		{audit.Filter{Confirmation: "cf_7", After: 1}, []int64{5, 3}},
		{audit.Filter{Call: "call_2", After: 5}, nil},
		{audit.Filter{Tool: "deploy_apply", Phase: audit.Outcome, After: 1, Before: 5}, []int64{3}},
		{audit.Filter{Confirmation: "cf_8"}, nil},
		{audit.Filter{Confirmation: `"`}, nil},
		{audit.Filter{Call: "call_2"}, []int64{5}},
		{audit.Filter{Call: "cf_9"}, nil},
		{audit.Filter{Call: `call_2","session`}, nil},
		{audit.Filter{Tool: "deploy_apply", Phase: audit.Outcome}, []int64{5, 3, 1}},
		{audit.Filter{Tool: "deploy_apply", Phase: audit.Outcome, Limit: 2, Before: 5}, []int64{3, 1}},
		{audit.Filter{Tool: `","tool":"status","`, Phase: audit.Outcome}, []int64{6, 4, 2}},
		{audit.Filter{Tool: "status", Phase: audit.Outcome}, nil},
		{audit.Filter{Tool: "approve_remote", Phase: audit.Asked}, nil},
	} {
		found, err := l.Search(t.Context(), c.filter)
		require.NoError(t, err)
		assert.Equal(t, c.want, seqs(found), "%+v", c.filter)
	}
	assert.Equal(t, int64(6), Verify(t, l))
}

func auditWhole(t *testing.T, l ports.AuditLog) {
	broken := Event("call_2")
	broken.Args = json.RawMessage(`{"cut":`)
	require.Error(t, l.Append(t.Context(), Event("call_1"), broken, Event("call_3")))
	records, err := l.Records(t.Context(), 0, 0)
	require.NoError(t, err)
	assert.Empty(t, records)
	require.NoError(t, l.Append(t.Context(), Event("call_4")))
	assert.Equal(t, int64(1), Verify(t, l))
}

func auditPages(t *testing.T, l ports.AuditLog) {
	fill(t, l, 250)
	for _, c := range []struct {
		after       int64
		limit       int
		first, many int64
	}{
		{0, 0, 1, 100}, {0, -1, 1, 100}, {0, 7, 1, 7}, {-5, 7, 1, 7}, {100, 0, 101, 100}, {245, 10, 246, 5}, {249, 1, 250, 1}, {250, 10, 0, 0}, {9999, 10, 0, 0},
		{0, 1000, 1, 250},
	} {
		records, err := l.Records(t.Context(), c.after, c.limit)
		require.NoError(t, err)
		require.Len(t, records, int(c.many), "after %d limit %d", c.after, c.limit)
		for i, r := range records {
			require.Equal(t, c.first+int64(i), r.Seq, "after %d limit %d", c.after, c.limit)
		}
	}
}

func auditTail(t *testing.T, l ports.AuditLog) {
	fill(t, l, 5)
	for n, want := range map[int][]int64{-1: nil, 0: nil, 1: {5}, 3: {3, 4, 5}, 5: {1, 2, 3, 4, 5}, 50: {1, 2, 3, 4, 5}} {
		records, err := l.Tail(t.Context(), n)
		require.NoError(t, err)
		var got []int64
		for _, r := range records {
			got = append(got, r.Seq)
		}
		assert.Equal(t, want, got, "last %d", n)
	}
}

func seqs(records []audit.Record) []int64 {
	var out []int64
	for _, r := range records {
		out = append(out, r.Seq)
	}
	return out
}

func auditSearch(t *testing.T, l ports.AuditLog) {
	none, err := l.Search(t.Context(), audit.Filter{})
	require.NoError(t, err)
	assert.Empty(t, none)
	fill(t, l, 120)
	for _, c := range []struct {
		filter audit.Filter
		first  int64
		many   int
	}{
		{audit.Filter{}, 120, audit.DefaultListed}, {audit.Filter{Limit: 3}, 120, 3}, {audit.Filter{Limit: 3, Before: 10}, 9, 3}, {audit.Filter{Before: 4}, 3, 3},
		{audit.Filter{Before: 1}, 0, 0}, {audit.Filter{Before: -5, Limit: 1}, 120, 1}, {audit.Filter{Before: 9999, Limit: audit.MaxListed}, 120, 120},
	} {
		found, err := l.Search(t.Context(), c.filter)
		require.NoError(t, err)
		require.Len(t, found, c.many, "%+v", c.filter)
		for i, r := range found {
			require.Equal(t, c.first-int64(i), r.Seq, "%+v", c.filter)
		}
	}
	found, err := l.Search(t.Context(), audit.Filter{Limit: 1, Before: 8})
	require.NoError(t, err)
	whole, err := l.Records(t.Context(), 6, 1)
	require.NoError(t, err)
	assert.Equal(t, whole, found, "a record is found as it is in the chain")
}

func auditFilters(t *testing.T, l ports.AuditLog) {
	plain := func(call, tool string, phase audit.Phase, code, args string) audit.Event {
		return audit.Event{Time: issued, CallID: call, Tool: tool, Phase: phase, Code: code, Args: json.RawMessage(args)}
	}
	require.NoError(t, l.Append(t.Context(),
		plain("call_1", "input", audit.Intent, "", `{"action":"create"}`),
		plain("call_1", "input", audit.Outcome, "pack_not_found", `{}`),
		plain("call_2", "output", audit.Outcome, "", `{"tool":"input","code":"none","q":"Größe <b> \"x\" 100%_"}`),
		plain("cf_1", "deploy_apply", audit.Answer, "", `null`),
		audit.Event{Time: issued, CallID: "call_3", Tool: "look", Phase: audit.Outcome, Class: "read", Verdict: "allow", Args: json.RawMessage(`{"class":"write"}`)},
		audit.Event{Time: issued, CallID: `"class":"read"`, Tool: "change", Phase: audit.Outcome, Class: "write", Verdict: "allow", Args: json.RawMessage(`{"class":"read"}`)},
		audit.Event{Time: issued, CallID: "call_5", Tool: "change", Phase: audit.Outcome, Class: "write", Verdict: "confirm", ApprovedBy: "terminal", Grant: "cf_9", Args: json.RawMessage(`{}`)},
		audit.Event{Time: issued, CallID: "call_6", Tool: "change", Phase: audit.Outcome, Class: "write", Verdict: "confirm", ApprovedBy: "terminal", Confirmation: "cf_7", Args: json.RawMessage(`{"grant":"cf_9","confirmation":"cf_8"}`)}))
	for _, c := range []struct {
		filter audit.Filter
		want   []int64
	}{
		{audit.Filter{Tool: "input"}, []int64{2, 1}}, // what an argument says is not the tool
		{audit.Filter{Tool: "INPUT"}, nil},
		{audit.Filter{Tool: `in"put`}, nil},
		{audit.Filter{Phase: audit.Outcome}, []int64{8, 7, 6, 5, 3, 2}},
		{audit.Filter{Grant: "cf_9"}, []int64{7}}, // what an argument says is no grant
		{audit.Filter{Confirmation: "cf_7"}, []int64{8}},
		{audit.Filter{Confirmation: "cf_8"}, nil}, // nor a confirmation
		{audit.Filter{Unattended: true}, []int64{6}},
		{audit.Filter{Unattended: true, Tool: "look"}, nil},
		{audit.Filter{Phase: audit.Outcome, Tool: "input"}, []int64{2}},
		{audit.Filter{Call: "cf_1", Phase: audit.Answer}, []int64{4}},
		{audit.Filter{Code: "pack_not_found"}, []int64{2}},
		{audit.Filter{Code: "none"}, nil},
		{audit.Filter{Failed: true}, []int64{2}},
		{audit.Filter{Text: "CREATE"}, []int64{1}},
		{audit.Filter{Text: `größe <B> "X" 100%_`}, []int64{3}},
		{audit.Filter{Text: `GRÖSSE`}, nil},
		{audit.Filter{Text: `Größe <B>`}, []int64{3}},
		{audit.Filter{Text: `%`}, []int64{3}},
		{audit.Filter{Text: "call_1", Limit: 1}, []int64{2}},
		{audit.Filter{Tool: "input", Limit: 1}, []int64{2}},
		{audit.Filter{Tool: "input", Limit: 1, Before: 2}, []int64{1}},
		{audit.Filter{Tool: "nowhere"}, nil},
	} {
		found, err := l.Search(t.Context(), c.filter)
		require.NoError(t, err)
		assert.Equal(t, c.want, seqs(found), "%+v", c.filter)
	}
}

func auditContention(t *testing.T, l ports.AuditLog) {
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for n := range 5 {
				call := fmt.Sprintf("call_%d_%d", w, n)
				if err := l.Append(t.Context(), Event(call), Event(call)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(160), Verify(t, l))
	records, err := l.Records(t.Context(), 0, 160)
	require.NoError(t, err)
	for i := 0; i < len(records); i += 2 {
		require.Equal(t, records[i].Event.CallID, records[i+1].Event.CallID, "events appended together stand together")
	}
}

func auditCopies(t *testing.T, l ports.AuditLog) {
	e := Event("call_1")
	require.NoError(t, l.Append(t.Context(), e))
	e.Args[2] = 'X'
	for range 2 {
		records, err := l.Records(t.Context(), 0, 0)
		require.NoError(t, err)
		assert.JSONEq(t, string(Event("").Args), string(records[0].Event.Args))
		records[0].Event.Args[2], records[0].Event.Tool = 'X', "other"
		records, err = l.Tail(t.Context(), 1)
		require.NoError(t, err)
		assert.JSONEq(t, string(Event("").Args), string(records[0].Event.Args))
		records[0].Event.Args[2], records[0].Hash = 'X', canon.Hash{}
	}
	assert.Equal(t, int64(1), Verify(t, l))
}

func auditContext(t *testing.T, l ports.AuditLog) {
	require.Error(t, l.Append(ended(t), Event("call_1")))
	_, err := l.Records(ended(t), 0, 0)
	require.Error(t, err)
	_, err = l.Tail(ended(t), 1)
	require.Error(t, err)
	_, err = l.Search(ended(t), audit.Filter{})
	require.Error(t, err)
	assert.Zero(t, Verify(t, l))
}

func fill(t testing.TB, l ports.AuditLog, n int) {
	events := make([]audit.Event, n)
	for i := range events {
		events[i] = Event(fmt.Sprintf("call_%d", i+1))
	}
	require.NoError(t, l.Append(t.Context(), events...))
}

// All walks the whole log, page by page.
func All(ctx context.Context, l ports.AuditLog) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for after := int64(0); ; {
			page, err := l.Records(ctx, after, 0)
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
				after = r.Seq
			}
			if err != nil {
				yield(audit.Record{}, err)
			}
			if err != nil || len(page) == 0 {
				return
			}
		}
	}
}

// Verify requires that the whole chain holds, and reports how many records it has.
func Verify(t testing.TB, l ports.AuditLog) int64 {
	t.Helper()
	n, err := audit.Verify(audit.Record{}, All(t.Context(), l))
	require.NoError(t, err)
	return n
}

// ended returns a context that is over.
func ended(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// BenchmarkAuditLog measures what one event costs, alone and in a group.
func BenchmarkAuditLog(b *testing.B, open func(testing.TB) ports.AuditLog) {
	b.Run("AppendOne", func(b *testing.B) {
		l := open(b)
		for b.Loop() {
			require.NoError(b, l.Append(b.Context(), Event("call_1")))
		}
	})
	b.Run("Append100", func(b *testing.B) {
		l := open(b)
		for b.Loop() {
			fill(b, l, 100)
		}
	})
}
