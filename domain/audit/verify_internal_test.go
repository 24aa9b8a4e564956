package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/canon"
)

var typical = Event{Time: time.Date(2026, 1, 2, 12, 0, 0, 123_456_000, time.UTC), Phase: Answer, CallID: "call_1", Session: "s-1", Principal: "me", Client: "test/1", Tool: "deploy",
	Class: "write", Args: json.RawMessage(`{"a":[1,2.5,"x y\n"],"b":{}}`), Plan: canon.SumBytes("test", []byte("plan")), Verdict: "confirm", Rule: "strength",
	ApprovedBy: "terminal", Code: "plan_stale", DurationUS: 1234, Redactions: 2, Surface: "terminal", Proof: json.RawMessage(`{"tty":"/dev/pts/1"}`), Grant: "cf_1", Confirmation: "cf_2", Home: "0f"}

// The members of the fast path are those of an event, in its order, and so is what is written when empty.
func TestMembersAreThoseOfAnEvent(t *testing.T) {
	of := reflect.TypeFor[Event]()
	require.Equal(t, of.NumField(), len(members))
	for i, m := range members {
		name, option, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		assert.Equal(t, `"`+name+`":`, m.name)
		assert.Equal(t, option == "" || name == "plan", m.empty, name) // a hash is never omitted
	}
}

// Typical events take the fast path: the speed of a check depends on it.
func TestTypicalEventsAreSeenAtAGlance(t *testing.T) {
	for _, change := range []func(*Event){
		func(*Event) {}, func(e *Event) { e.Args, e.Proof = nil, nil }, func(e *Event) { *e = Event{} }, func(e *Event) { e.Plan, e.DurationUS = canon.Hash{}, 0 },
	} {
		e := typical
		change(&e)
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		ok, read := plain(raw)
		assert.True(t, ok, "%s", raw)
		assert.Equal(t, e.Removable(), read, "%s", raw)
	}
}

// What is seen of an event without decoding it is what decoding gives.
func TestAGlanceSeesTheTexts(t *testing.T) {
	for _, e := range []Event{typical, {}} {
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		seen, ok := Glance(raw)
		require.True(t, ok)
		e.Time, e.Args, e.Plan, e.DurationUS, e.Redactions, e.Proof = time.Time{}, nil, canon.Hash{}, 0, 0, nil
		assert.Equal(t, e, seen)
	}
	_, ok := Glance([]byte(`{"time":"0001-01-01T00:00:00Z","phase":"","call_id":"","tool":"\u0078","plan":""}`))
	assert.False(t, ok, "an escaped text has to be decoded")
}

// The fast path accepts nothing that decoding would reject.
func TestAGlanceTakesNothingThatDecodingDoesNot(t *testing.T) {
	whole, err := json.Marshal(typical)
	require.NoError(t, err)
	bare, err := json.Marshal(Event{Tool: "x", Args: json.RawMessage(`{"tool":"y"}`)})
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		raw := slices.Clone(rapid.SampledFrom([][]byte{whole, bare}).Draw(t, "event"))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
			end := rapid.IntRange(at, min(len(raw), at+30)).Draw(t, "end")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				raw[at] = rapid.SampledFrom([]byte(`{}[]",:\ 0a-<`+"\x00\n\xff")).Draw(t, "byte")
			case 1:
				raw = slices.Delete(raw, at, end)
			case 2:
				raw = slices.Insert(raw, end, bytes.Clone(raw[at:end])...)
			}
			if len(raw) == 0 {
				return
			}
		}
		e, ok := Decode(raw)
		if sure, read := plain(raw); sure && (!ok || read != e.Removable()) {
			t.Fatalf("taken: %s", raw)
		}
	})
	for _, odd := range []string{
		`{"time":"0001-01-01T00:00:00Z","phase":"","call_id":"","tool":"x","tool":"y","plan":""}`,
		`{"time":"0001-01-01T00:00:00Z","phase":"","call_id":"","tool":"x","plan":"","other":1}`,
		`{"time":"0001-01-01T00:00:00Z","phase":"","call_id":"","tool":"x","plan":"","code":""}`,
		`{"time":"0001-01-01T00:00:00Z","phase":"","call_id":"","tool":"x","plan":"","redactions":00}`,
		`{"time":"0001-01-01T00:00:00.10Z","phase":"","call_id":"","tool":"x","plan":""}`,
		`{"phase":"","time":"0001-01-01T00:00:00Z","call_id":"","tool":"x","plan":""}`,
		`{"time":"0001-01-01T00:00:00Z","phase":"","call_id":"","tool":"x","args":{"a": 1},"plan":""}`,
		`{"time":"0001-01-01T00:00:00Z","phase":"","call_id":"","tool":"x","plan":"sha256:00"}`,
	} {
		_, ok := Decode([]byte(odd))
		assert.False(t, ok, odd)
		sure, _ := plain([]byte(odd))
		assert.False(t, sure, odd)
	}
}
