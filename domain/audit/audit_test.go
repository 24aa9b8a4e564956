package audit_test

import (
	"encoding/json"
	"errors"
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

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123_456_789, time.UTC)

func event(n int) audit.Event {
	return audit.Event{
		Time: noon, Phase: audit.Intent, CallID: fmt.Sprint("call_", n), Session: "s-1", Principal: "me", Client: "test/1", Tool: "deploy",
		Class: "write", Args: json.RawMessage(`{"a":[1,2.5,"<x>"]}`), Plan: canon.SumBytes("test", []byte("plan")), Verdict: "confirm", Rule: "strength",
		ApprovedBy: "token", Code: "plan_stale", DurationUS: 1234, Redactions: 2,
	}
}

func chain(t require.TestingT, events ...audit.Event) []audit.Record {
	var (
		last audit.Record
		all  []audit.Record
		err  error
	)
	for _, e := range events {
		last, err = audit.Link(last, e)
		require.NoError(t, err)
		all = append(all, last)
	}
	return all
}

func five(t require.TestingT) []audit.Record {
	return chain(t, event(1), event(2), event(3), event(4), event(5))
}

func each(records []audit.Record) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func TestLink(t *testing.T) {
	all := five(t)
	for i, r := range all {
		assert.Equal(t, int64(i+1), r.Seq)
		assert.Equal(t, event(i+1), r.Event)
		assert.False(t, r.Hash.IsZero())
		if i == 0 {
			assert.True(t, r.Prev.IsZero())
		} else {
			assert.Equal(t, all[i-1].Hash, r.Prev)
		}
	}
	assert.Equal(t, all, five(t), "the same events make the same chain")
}

// A written chain must verify in every later version: its form is fixed.
func TestHashIsFixed(t *testing.T) {
	assert.Equal(t, "sha256:895896684f4815d7b33d8dffc32de0e01eb00a512a48c73f74e4338213bc93a9", five(t)[4].Hash.String())
}

// The surface and proof of an answer are part of the hash, and records from before these fields still verify.
func TestHashCoversSurfaceAndProof(t *testing.T) {
	e := event(5)
	e.Surface, e.Proof = "terminal", json.RawMessage(`{"tty": "/dev/pts/1", "host": "<box>"}`)
	all := chain(t, event(1), event(2), event(3), event(4), e)
	assert.NotEqual(t, five(t)[4].Hash, all[4].Hash)
	assert.Equal(t, "sha256:9e985e51fe4c0fd7ffba140612c9fab6c3c8c6077e604211810de5f0dc7cae5f", all[4].Hash.String())
}

func TestLinkRefusesWhatCannotBeWritten(t *testing.T) {
	e := event(1)
	e.Args = json.RawMessage(`{"a":`)
	_, err := audit.Link(audit.Record{}, e)
	require.Error(t, err)
	e = event(1)
	e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err = audit.Link(audit.Record{}, e)
	require.Error(t, err)
}

func TestLinkSettlesText(t *testing.T) {
	e := event(1)
	e.Time, e.Client = noon.In(time.FixedZone("east", 3600)), "a\xffb"
	r, err := audit.Link(audit.Record{}, e)
	require.NoError(t, err)
	want := event(1)
	want.Client = "a\ufffdb"
	assert.Equal(t, want, r.Event)
}

func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]audit.Record) []audit.Record
		held   int64
		want   string // empty: the chain is valid
	}{
		"whole":             {func(r []audit.Record) []audit.Record { return r }, 5, ""},
		"empty":             {func([]audit.Record) []audit.Record { return nil }, 0, ""},
		"event changed":     {func(r []audit.Record) []audit.Record { r[2].Event.Tool = "status"; return r }, 2, "audit record 3 was changed after it was written"},
		"hash changed":      {func(r []audit.Record) []audit.Record { r[2].Hash[0]++; return r }, 2, "audit record 3 was changed after it was written"},
		"event and hash":    {func(r []audit.Record) []audit.Record { r[2] = relink(r[1], "x"); return r }, 3, "audit record 4 does not continue record 3"},
		"prev changed":      {func(r []audit.Record) []audit.Record { r[2].Prev[0]++; return r }, 2, "audit record 3 does not continue record 2"},
		"seq changed":       {func(r []audit.Record) []audit.Record { r[2].Seq = 9; return r }, 2, "audit record 3 is missing: record 9 follows record 2"},
		"first removed":     {func(r []audit.Record) []audit.Record { return r[1:] }, 0, "audit record 1 is missing: record 2 follows record 0"},
		"middle removed":    {func(r []audit.Record) []audit.Record { return slices.Delete(r, 2, 3) }, 2, "audit record 3 is missing: record 4 follows record 2"},
		"swapped":           {func(r []audit.Record) []audit.Record { r[1], r[2] = r[2], r[1]; return r }, 1, "audit record 2 is missing: record 3 follows record 1"},
		"doubled":           {func(r []audit.Record) []audit.Record { return slices.Insert(r, 2, r[1]) }, 2, "audit record 3 is missing: record 2 follows record 2"},
		"forged in":         {func(r []audit.Record) []audit.Record { return slices.Insert(r, 2, relink(r[1], "x")) }, 3, "audit record 4 is missing: record 3 follows record 3"},
		"other beginning":   {func(r []audit.Record) []audit.Record { r[0].Prev[0]++; return r }, 0, "audit record 1 does not continue record 0"},
		"two broken":        {func(r []audit.Record) []audit.Record { r[4].Hash[0]++; r[1].Event.Code = ""; return r }, 1, "audit record 2 was changed after it was written"},
		"end cut off":       {func(r []audit.Record) []audit.Record { return r[:3] }, 3, ""},                        // a chain alone cannot detect this
		"forged at the end": {func(r []audit.Record) []audit.Record { return append(r, relink(r[4], "x")) }, 6, ""}, // nor this
	} {
		t.Run(name, func(t *testing.T) {
			n, err := audit.Verify(audit.Record{}, each(c.change(five(t))))
			assert.Equal(t, c.held, n, "so many held before the first that does not")
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, audit.ErrBroken)
			assert.Equal(t, c.want, err.Error())
		})
	}
}

// relink returns a well-formed record that follows last.
func relink(last audit.Record, tool string) audit.Record {
	r, err := audit.Link(last, audit.Event{Tool: tool})
	if err != nil {
		panic(err)
	}
	return r
}

func TestVerifyFromACheckpoint(t *testing.T) {
	all := five(t)
	n, err := audit.Verify(all[1], each(all[2:]))
	require.NoError(t, err)
	assert.Equal(t, int64(3), n)
	_, err = audit.Verify(all[0], each(all[2:]))
	require.ErrorContains(t, err, "audit record 2 is missing")
	checkpoint := audit.Record{Seq: 2, Hash: all[3].Hash}
	_, err = audit.Verify(checkpoint, each(all[2:]))
	require.ErrorContains(t, err, "audit record 3 does not continue record 2")
}

func TestVerifyStopsAtReadErrors(t *testing.T) {
	failure := errors.New("disk")
	n, err := audit.Verify(audit.Record{}, func(yield func(audit.Record, error) bool) {
		if yield(five(t)[0], nil) {
			yield(audit.Record{}, failure)
		}
	})
	require.Equal(t, failure, err)
	assert.Equal(t, int64(1), n)
}

// anyText is text as clients may send it, including bytes that are not UTF-8.
var anyText = rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))

var anyEvent = rapid.Custom(func(t *rapid.T) audit.Event {
	args, err := json.Marshal(map[string]any{
		anyText.Draw(t, "name"): anyText.Draw(t, "text"), "f": rapid.Float64Range(-1e9, 1e9).Draw(t, "float"), "n": rapid.Int64().Draw(t, "int"),
	})
	if err != nil {
		t.Fatal(err)
	}
	e := audit.Event{
		Time:  time.Unix(rapid.Int64Range(0, 1<<34).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")),
		Phase: audit.Phase(anyText.Draw(t, "phase")), DurationUS: rapid.Int64().Draw(t, "duration"), Redactions: rapid.Int().Draw(t, "redactions"),
		Plan: canon.SumBytes("test", []byte(anyText.Draw(t, "plan"))), Args: args,
	}
	if rapid.Bool().Draw(t, "bare") {
		e.Plan, e.Args = canon.Hash{}, nil
	}
	if rapid.Bool().Draw(t, "proven") {
		e.Proof = args
	}
	for _, s := range texts(&e) {
		*s = anyText.Draw(t, "text")
	}
	return e
})

func texts(e *audit.Event) []*string {
	return []*string{&e.CallID, &e.Session, &e.Principal, &e.Client, &e.Tool, &e.Class, &e.Verdict, &e.Rule, &e.ApprovedBy, &e.Code, &e.Surface}
}

func anyChain(t *rapid.T) []audit.Record {
	return chain(t, rapid.SliceOfN(anyEvent, 2, 6).Draw(t, "events")...)
}

// Every recorded event verifies after it was written and read.
func TestChainSurvivesWritingAndReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyChain(t)
		raw, err := json.Marshal(all)
		require.NoError(t, err)
		var read []audit.Record
		require.NoError(t, json.Unmarshal(raw, &read))
		n, err := audit.Verify(audit.Record{}, each(read))
		require.NoError(t, err)
		require.Len(t, all, int(n))
	})
}

// broken requires that Verify names the record with the given index, from 0, as the first invalid one.
func broken(t *rapid.T, records []audit.Record, index int) {
	n, err := audit.Verify(audit.Record{}, each(records))
	require.ErrorIs(t, err, audit.ErrBroken)
	require.Equal(t, int64(index), n)
	require.Regexp(t, fmt.Sprintf("^audit record %d ", index+1), err.Error())
}

func TestAnyChangedFieldIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyChain(t)
		i := rapid.IntRange(0, len(all)-1).Draw(t, "record")
		r := &all[i]
		fields := []func(){
			func() { r.Seq += rapid.Int64Range(1, 9).Draw(t, "by") },
			func() { r.Prev[rapid.IntRange(0, 31).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit") },
			func() { r.Hash[rapid.IntRange(0, 31).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit") },
			func() {
				r.Event.Plan[rapid.IntRange(0, 31).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			},
			func() { r.Event.Time = r.Event.Time.Add(time.Duration(rapid.Int64Range(1, 1e15).Draw(t, "by"))) },
			func() { r.Event.Phase += "x" },
			func() { r.Event.Args = json.RawMessage(`{"other":true}`) },
			func() { r.Event.Proof = json.RawMessage(`{"other":true}`) },
			func() { r.Event.DurationUS ^= 1 << rapid.IntRange(0, 63).Draw(t, "bit") },
			func() { r.Event.Redactions ^= 1 << rapid.IntRange(0, 63).Draw(t, "bit") },
		}
		for _, s := range texts(&r.Event) {
			fields = append(fields, func() { *s += "x" })
		}
		rapid.SampledFrom(fields).Draw(t, "field")()
		broken(t, all, i)
	})
}

// One changed bit anywhere in a written record is detected, unless the record still means exactly the same.
func TestAnyChangedBitIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyChain(t)
		i := rapid.IntRange(0, len(all)-1).Draw(t, "record")
		raw, err := json.Marshal(all[i])
		require.NoError(t, err)
		flipped := slices.Clone(raw)
		flipped[rapid.IntRange(0, len(raw)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		var r audit.Record
		if json.Unmarshal(flipped, &r) != nil {
			return // detected when the record is read
		}
		if again, err := json.Marshal(r); err == nil && string(again) == string(raw) {
			return // a member name in another case
		}
		all[i] = r
		broken(t, all, i)
	})
}

func TestAnyRemovalSwapOrInsertionIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyChain(t)
		i := rapid.IntRange(0, len(all)-2).Draw(t, "at")
		j := rapid.IntRange(i+1, len(all)-1).Draw(t, "and")
		broken(t, slices.Delete(slices.Clone(all), i, j), i)

		swapped := slices.Clone(all)
		swapped[i], swapped[j] = swapped[j], swapped[i]
		broken(t, swapped, i)

		broken(t, slices.Insert(slices.Clone(all), i, all[j]), i)
		broken(t, slices.Insert(slices.Clone(all), j, all[i]), j)

		var before audit.Record
		if i > 0 {
			before = all[i-1]
		}
		forged, err := audit.Link(before, anyEvent.Draw(t, "forged"))
		require.NoError(t, err)
		broken(t, slices.Insert(slices.Clone(all), i, forged), i+1)
	})
}
