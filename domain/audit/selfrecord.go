package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// The tools under which the record tells of itself. No tool of that name is served.
const (
	KeyTool    = "audit_key"    // a key begins to sign
	AnchorTool = "audit_anchor" // an anchor was added or removed
	AcceptTool = "audit_accept" // the user takes contradictions for explained
	// RestoreTool is under which the record tells that it is an older one, put back by the user: what was put into the anchors before is explained by
	// that, and what was approved or granted before lets nothing happen any more.
	RestoreTool = "audit_restore"
)

// The verdicts of what is recorded of anchors.
const (
	AnchorAdded   = "add"
	AnchorRemoved = "remove"
)

// KeyAdded is the recorded content of a new signing key.
type KeyAdded struct {
	Key     Key `json:"key"`
	Follows Key `json:"follows"` // empty for the first
}

// Accepted records that the user accepted the state of the anchors, and why.
type Accepted struct {
	Anchors   []Anchor `json:"anchors"`
	NoJournal bool     `json:"no_journal,omitempty"`
	Reason    string   `json:"reason"`
	Faults    []string `json:"faults"`
}

// Restored is what is said of a record that was put back from a backup.
type Restored struct {
	ID        string     `json:"id"`        // of the restore
	Backup    canon.Hash `json:"backup"`    // the sum of the backup
	MadeAt    time.Time  `json:"made_at"`   // it
	Home      string     `json:"home"`      // that it was made of
	Records   int64      `json:"records"`   // that it held
	Replaced  int64      `json:"replaced"`  // records of the audit in whose place it was put
	Head      canon.Hash `json:"head"`      // of those
	Aside     string     `json:"aside"`     // where they are
	Withdrawn any        `json:"withdrawn"` // what lets nothing happen any more, and how many of each
	Anchors   []Anchor   `json:"anchors"`   // there are from now on
	NoJournal bool       `json:"no_journal,omitempty"`
}

// SelfEvent returns an event in which the record tells of itself. by is who had it so: empty for the program itself.
func SelfEvent(at time.Time, name, verdict, by string, what any) Event {
	args, _ := json.Marshal(what) // of plain values it never fails
	return Event{Time: at, Phase: Answer, Tool: name, Verdict: verdict, ApprovedBy: by, Args: args}
}

// SelfRecords is what a record tells of itself.
type SelfRecords struct {
	Keys      []KeyFrom
	Anchors   []Anchor // that were added and not removed, the journal aside
	NoJournal bool     // the system's journal, which is used unasked, was removed
	Accepted  time.Time
	Times     int // how often something was accepted, or put back
}

// KeyFrom is a key that signs from a record on.
type KeyFrom struct {
	KeyAdded
	From int64 // the record that announces it
}

var telling = []byte(`"tool":"audit_`)

// Note takes in a record that holds.
func (d *SelfRecords) Note(r Raw) {
	if !bytes.Contains(r.Event, telling) {
		return
	}
	e, ok := Decode(r.Event)
	if !ok || e.Phase != Answer || e.Code != "" {
		return
	}
	switch e.Tool {
	case KeyTool:
		var k KeyAdded
		if json.Unmarshal(e.Args, &k) == nil && k.Key != (Key{}) {
			d.Keys = append(d.Keys, KeyFrom{k, r.Seq})
		}
	case AnchorTool:
		var a Anchor
		if json.Unmarshal(e.Args, &a) != nil {
			return
		}
		if a.Kind == AnchorJournal {
			d.NoJournal = e.Verdict == AnchorRemoved
			return
		}
		d.Anchors = slices.DeleteFunc(d.Anchors, func(have Anchor) bool { return have == a })
		if e.Verdict == AnchorAdded {
			d.Anchors = append(d.Anchors, a)
		}
	case AcceptTool, RestoreTool:
		var a Accepted
		if json.Unmarshal(e.Args, &a) == nil {
			d.Anchors, d.NoJournal, d.Accepted, d.Times = a.Anchors, a.NoJournal, e.Time.Truncate(time.Millisecond), d.Times+1 // heads know the time to the millisecond
		}
	}
}

// Knows reports whether the key is one that the record tells of, or the one given.
func (d *SelfRecords) Knows(k, own Key) bool {
	return k == own && own != (Key{}) || slices.ContainsFunc(d.Keys, func(f KeyFrom) bool { return f.Key == k || f.Follows == k && k != (Key{}) })
}
