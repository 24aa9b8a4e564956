package audit_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
)

func readEvent(n int) audit.Event {
	return audit.Event{Time: noon.Add(time.Duration(n) * time.Minute), Phase: audit.Outcome, CallID: fmt.Sprint("call_", n), Tool: "list_packs", Class: "read", Verdict: "allow"}
}

func allowed(days int) audit.Event {
	return audit.Event{Time: noon, Phase: audit.Outcome, CallID: "call_s", Tool: audit.SettingsTool, Class: "scratch", Verdict: "confirm", ApprovedBy: "terminal", Confirmation: "cf_1",
		Args: json.RawMessage(fmt.Sprintf(`{"revision":1,"keep_reads_days":%d}`, days)), Plan: canon.SumBytes("test", []byte("settings"))}
}

// log is an audit log as a store keeps it, with a key that signs its end.
type log struct {
	key     ed25519.PrivateKey
	records []audit.Record
	end     audit.End
}

func (l *log) add(t require.TestingT, events ...audit.Event) {
	if l.end.Seq == 0 {
		l.end.Kept = audit.NoneKept()
	}
	last := audit.Record{Seq: l.end.Seq, Hash: l.end.Hash}
	for _, e := range events {
		r, err := audit.Link(last, e)
		require.NoError(t, err)
		l.records, last, l.end.Kept = append(l.records, r), r, l.end.Kept.Of(&r)
	}
	l.end.Seq, l.end.Hash = last.Seq, last.Hash
	h := l.sign(audit.Position{Seq: l.end.Seq, Hash: l.end.Hash, Kept: l.end.Kept})
	l.end.Signed = &h
}

func (l *log) sign(at audit.Position) audit.Head {
	h := audit.Head{Seq: at.Seq, Hash: at.Hash, Kept: at.Kept, At: noon, Home: "/home", Machine: "m", Key: public(l.key)}
	h.Sig = ed25519.Sign(l.key, h.Statement())
	return h
}

func rawOf(t require.TestingT, r audit.Record) audit.Raw {
	event, err := json.Marshal(r.Event)
	require.NoError(t, err)
	return audit.Raw{Seq: r.Seq, Event: event, Prev: r.Prev[:], Hash: r.Hash[:]}
}

func (l *log) raws(t require.TestingT, after, to int64) iter.Seq2[audit.Raw, error] {
	return func(yield func(audit.Raw, error) bool) {
		for _, r := range l.records {
			if r.Seq > after && r.Seq <= to && !yield(rawOf(t, r), nil) {
				return
			}
		}
	}
}

// check checks the log, and returns what may be removed before that time in steps of three.
func (l *log) check(t require.TestingT, before time.Time, heads ...audit.Head) (audit.Report, audit.Pruning) {
	c := audit.NewCheck(audit.AnchorContents{Anchor: audit.Anchor{Kind: audit.AnchorFile, Where: "/a"}, Heads: heads})
	c.Want(l.end.Seq)
	var removals []audit.Raw
	for r := range l.raws(t, 0, l.end.Seq) {
		if _, ok := audit.ReadRemoval(r.Event); ok {
			removals = append(removals, r)
		}
	}
	c.Removed(removals, public(l.key))
	if !before.IsZero() {
		c.SeekPrune(before, l.end.Seq, 3)
	}
	for r := range l.raws(t, 0, 1<<40) {
		if c.Next(r) != nil {
			break
		}
	}
	report := c.End(l.end, audit.Context{Home: "/home", Machine: "m", Own: public(l.key)})
	return report, c.Pruning()
}

// prune removes what may go, as a store does, and puts it on record.
func (l *log) prune(t require.TestingT, before time.Time) (steps int) {
	_, p := l.check(t, before)
	for _, s := range p.Steps {
		runs, err := s.Pick(before, l.raws(t, s.From.Seq, s.To.Seq))
		require.NoError(t, err)
		l.records = slices.DeleteFunc(l.records, func(r audit.Record) bool {
			return slices.ContainsFunc(runs, func(run [2]int64) bool { return r.Seq >= run[0] && r.Seq <= run[1] })
		})
		m := audit.Removal{From: s.From.Seq + 1, To: s.To.Seq, Removed: s.Reads, Before: before, Days: p.Retention.Days, Allowed: p.Retention.Allowed, Hash: s.To.Hash, Kept: s.To.Kept}
		m.Head = l.sign(audit.Position{Seq: m.To, Hash: m.Sum()})
		l.add(t, m.Event(noon))
	}
	return len(p.Steps)
}

// history is a log in which reads and changes follow each other at random, with a person's approval to remove reads.
func history(t *rapid.T) (*log, []audit.Head) {
	l := &log{key: signer(1)}
	l.add(t, allowed(30))
	var heads []audit.Head
	for n := range rapid.IntRange(2, 25).Draw(t, "records") {
		e := readEvent(n)
		if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
			e = event(n)
		}
		l.add(t, e)
		if rapid.Bool().Draw(t, "anchored") {
			heads = append(heads, *l.end.Signed)
		}
	}
	return l, heads
}

// After any removal the log is in order, every head that was put outside before and says what is kept vouches for it, and what was kept is all there.
func TestRemovalOfReadsLeavesALogThatVerifies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, heads := history(t)
		var kept []audit.Record
		for _, r := range l.records {
			if !r.Event.Removable() {
				kept = append(kept, r)
			}
		}
		before := noon.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "age")) * time.Minute)
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			l.prune(t, before)
			l.add(t, event(90), readEvent(91))
			before = before.Add(5 * time.Minute)
		}
		heads = append(heads, *l.end.Signed)
		r, _ := l.check(t, time.Time{}, heads...)
		require.Empty(t, r.Faults)
		assert.Equal(t, l.end.Seq, r.Records)
		assert.Equal(t, l.end.Seq, r.Anchors[0].To)
		for _, want := range kept {
			assert.True(t, slices.ContainsFunc(l.records, func(have audit.Record) bool { return have.Seq == want.Seq && have.Hash == want.Hash }), "record %d", want.Seq)
		}
		if m := r.Removed; m != nil {
			assert.Equal(t, l.end.Seq, int64(len(l.records))+m.Reads)
		}
	})
}

// Whoever writes to the store without the key can do nothing to what retention has left, and remove nothing in its name.
func TestNothingButWhatWasRemovedMayBeMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, heads := history(t)
		l.add(t, event(50), readEvent(51)) // the last ones stay
		if l.prune(t, noon.Add(time.Hour)) == 0 {
			t.Skip("nothing to remove")
		}
		heads = append(heads, *l.end.Signed)
		whole, _ := l.check(t, time.Time{}, heads...)
		require.Empty(t, whole.Faults)
		i := rapid.IntRange(0, len(l.records)-1).Draw(t, "which")
		relink := func(r *audit.Record, change func(*audit.Event)) {
			change(&r.Event)
			again, err := audit.Link(audit.Record{Seq: r.Seq - 1, Hash: r.Prev}, r.Event)
			require.NoError(t, err)
			*r = again
		}
		how := rapid.SampledFrom([]string{"drop", "edit", "a change becomes a read", "insert a read", "insert a change", "end without it", "older end", "forged removal"}).Draw(t, "how")
		switch how {
		case "drop":
			l.records = slices.Delete(l.records, i, i+1)
		case "edit":
			relink(&l.records[i], func(e *audit.Event) { e.Principal += "x" })
		case "a change becomes a read":
			if l.records[i].Event.Removable() {
				t.Skip("it is one")
			}
			relink(&l.records[i], func(e *audit.Event) { *e = readEvent(7) })
		case "insert a read", "insert a change":
			seq := l.records[i].Seq + 1
			if slices.ContainsFunc(l.records, func(r audit.Record) bool { return r.Seq == seq }) {
				t.Skip("there is one")
			}
			e := readEvent(3)
			if how == "insert a change" {
				e = event(3)
			}
			r, err := audit.Link(l.records[i], e)
			require.NoError(t, err)
			l.records = slices.Insert(l.records, i+1, r)
		case "end without it":
			l.end.Kept = audit.NoneKept()
		case "older end":
			l.records = l.records[:len(l.records)-1]
			last := l.records[len(l.records)-1]
			l.end.Seq, l.end.Hash = last.Seq, last.Hash
		case "forged removal":
			if i == len(l.records)-1 || l.records[i].Seq < 2 {
				t.Skip("nothing behind it")
			}
			to := l.records[i]
			kept := audit.NoneKept()
			for _, r := range l.records[1 : i+1] {
				kept = kept.Of(&r)
			}
			l.records = slices.Delete(l.records, 1, 2)
			other := &log{key: signer(2)}
			m := audit.Removal{From: 1, To: to.Seq, Removed: 1, Before: noon.Add(time.Hour), Days: 30, Allowed: 1, Hash: to.Hash, Kept: kept}
			m.Head = other.sign(audit.Position{Seq: m.To, Hash: m.Sum()})
			l.add(t, m.Event(noon)) // signed with the rest of the log, since the program signs what it appends to
		}
		r, _ := l.check(t, time.Time{}, heads...)
		assert.NotEmpty(t, r.Faults, "%s %d", how, i)
	})
}

// A removal counts only while a person's approval of a number of days is on record, and for that number.
func TestARemovalNeedsThatAPersonAllowedIt(t *testing.T) {
	unasked, byToken, dry, failed := allowed(30), allowed(30), allowed(30), allowed(30)
	unasked.Verdict, unasked.ApprovedBy, unasked.Confirmation = "allow", "", ""
	byToken.ApprovedBy = "token"
	dry.Verdict = "dry_run"
	failed.Code = "denied"
	longer := unasked
	longer.Args = allowed(90).Args
	never := unasked
	never.Args = allowed(0).Args
	for name, c := range map[string]struct {
		before []audit.Event
		days   int
	}{
		"approved": {[]audit.Event{allowed(30)}, 30}, "kept longer without asking": {[]audit.Event{allowed(30), longer}, 90},
		"nobody asked": {[]audit.Event{unasked}, 0}, "by the caller": {[]audit.Event{byToken}, 0}, "only tried": {[]audit.Event{dry}, 0}, "refused": {[]audit.Event{failed}, 0},
		"taken back": {[]audit.Event{allowed(30), never}, 0}, "taken back, and again without asking": {[]audit.Event{allowed(30), never, unasked}, 0},
		"longer, then shorter without asking": {[]audit.Event{allowed(30), longer, unasked}, 0}, "nothing said": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := &log{key: signer(1)}
			l.add(t, event(1), readEvent(1), readEvent(2), readEvent(3), event(2))
			if len(c.before) > 0 {
				l.add(t, c.before...)
			}
			_, p := l.check(t, noon.Add(time.Hour))
			if c.days == 0 {
				assert.Zero(t, p.Retention.Allowed)
			}
			l.prune(t, noon.Add(time.Hour))
			r, _ := l.check(t, time.Time{}, *l.end.Signed)
			if c.days == 0 {
				assert.ErrorIs(t, r.Err(), audit.ErrContradicted)
				return
			}
			require.Empty(t, r.Faults)
			assert.Equal(t, c.days, r.Removed.Days)
			assert.Equal(t, int64(3), r.Removed.Reads)
		})
	}
}

// Only reads that succeeded unasked may be removed: whatever else a record says keeps it.
func TestOnlyPlainReadsAreRemovable(t *testing.T) {
	plain := readEvent(1)
	plain.Session, plain.Principal, plain.Client, plain.Args, plain.Rule, plain.DurationUS, plain.Redactions = "s", "p", "c", json.RawMessage(`{}`), "class", 4, 1
	assert.True(t, plain.Removable())
	assert.False(t, (&audit.Event{}).Removable())
	for name, change := range map[string]func(*audit.Event){
		"phase": func(e *audit.Event) { e.Phase = audit.Intent }, "class": func(e *audit.Event) { e.Class = "write" }, "no class": func(e *audit.Event) { e.Class = "" },
		"verdict": func(e *audit.Event) { e.Verdict = "deny" }, "no verdict": func(e *audit.Event) { e.Verdict = "" }, "plan": func(e *audit.Event) { e.Plan = canon.SumBytes("test", nil) },
		"approved": func(e *audit.Event) { e.ApprovedBy = "terminal" }, "code": func(e *audit.Event) { e.Code = "not_found" }, "surface": func(e *audit.Event) { e.Surface = "terminal" },
		"proof": func(e *audit.Event) { e.Proof = json.RawMessage(`{}`) }, "grant": func(e *audit.Event) { e.Grant = "g" }, "confirmation": func(e *audit.Event) { e.Confirmation = "cf" },
		"home": func(e *audit.Event) { e.Home = "h" },
	} {
		e := plain
		change(&e)
		assert.False(t, e.Removable(), name)
	}
}

// A head of an earlier version verifies as before, and says nothing against a removal; one that says what is kept does.
func TestHeadsSayWhatIsKept(t *testing.T) {
	l := &log{key: signer(1)}
	l.add(t, allowed(30), readEvent(1), readEvent(2))
	old := signed(l.key, l.records[1], noon)
	says := l.sign(audit.Position{Seq: 2, Hash: l.records[1].Hash, Kept: audit.NoneKept().Of(&l.records[0])})
	lies := l.sign(audit.Position{Seq: 2, Hash: l.records[1].Hash, Kept: audit.NoneKept()})
	l.add(t, event(1))
	r, _ := l.check(t, time.Time{}, old, says)
	require.Empty(t, r.Faults)
	assert.Equal(t, int64(2), r.Anchors[0].To)
	require.Equal(t, 1, l.prune(t, noon.Add(time.Hour)))
	for name, c := range map[string]struct {
		heads []audit.Head
		to    int64
		fits  bool
	}{"old": {[]audit.Head{old}, 0, true}, "says": {[]audit.Head{old, says}, 2, true}, "lies": {[]audit.Head{lies}, 0, false}} {
		r, _ := l.check(t, time.Time{}, c.heads...)
		assert.Equal(t, c.to, r.Anchors[0].To, name)
		assert.Equal(t, c.fits, len(r.Faults) == 0, name)
	}
}
