package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// The tool names of the log's records about itself. No tool with such a name is enabled.
const (
	KeyTool    = "audit_key"    // a key starts to sign
	AnchorTool = "audit_anchor" // an anchor was added or removed
	AcceptTool = "audit_accept" // the user accepts contradictions as explained
	// RestoreTool marks that the user replaced the audit log with an older one from a backup: that explains heads put into anchors before, and makes
	// approvals and session grants from before invalid.
	RestoreTool = "audit_restore"
)

// The verdicts of records about anchors.
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

// Restored is the content of the record that says that the log was restored from a backup.
type Restored struct {
	ID        string     `json:"id"`        // of the restore
	Backup    canon.Hash `json:"backup"`    // hash of the backup
	MadeAt    time.Time  `json:"made_at"`   // when the backup was made
	Home      string     `json:"home"`      // of the backup's source
	Records   int64      `json:"records"`   // number of records in the backup
	Replaced  int64      `json:"replaced"`  // number of records of the log that it replaced
	Head      canon.Hash `json:"head"`      // of the replaced log
	Aside     string     `json:"aside"`     // where the replaced log is kept
	Withdrawn any        `json:"withdrawn"` // what was made invalid, with the number of each
	Anchors   []Anchor   `json:"anchors"`   // from now on
	NoJournal bool       `json:"no_journal,omitempty"`
}

// SelfEvent returns an event of the log about itself. by is the user who caused it, empty for the program.
func SelfEvent(at time.Time, name, verdict, by string, what any) Event {
	args, _ := json.Marshal(what) // never fails for plain values
	return Event{Time: at, Phase: Answer, Tool: name, Verdict: verdict, ApprovedBy: by, Args: args}
}

// SelfRecords is what an audit log says about its own keys and anchors.
type SelfRecords struct {
	Keys      []KeyFrom
	Anchors   []Anchor // added and not removed, except the journal
	NoJournal bool     // the system's journal, which is used by default, was removed
	Accepted  time.Time
	Times     int       // how often contradictions were accepted or the log restored
	Retention Retention `json:",omitzero"`
}

// KeyFrom is a key and the first record that it signs.
type KeyFrom struct {
	KeyAdded
	From int64 // the record that announces it
}

// How the tools of records about the log and about the settings are written, on the two sides of an underscore.
var (
	aboutLog              = []byte(`"tool":"audit`)
	aboutSet, aboutSetEnd = []byte(`"tool":"change`), []byte(`settings"`)
)

// tells reports whether the tool of a record about the log, or that of a change of the settings, is written in an event, as a member or elsewhere. It goes
// from one underscore to the next, which is faster than searching for either.
func tells(event []byte) (log, settings bool) {
	for {
		before, rest, more := bytes.Cut(event, []byte{'_'})
		if !more {
			return log, settings
		}
		log = log || bytes.HasSuffix(before, aboutLog)
		settings = settings || bytes.HasSuffix(before, aboutSet) && bytes.HasPrefix(rest, aboutSetEnd)
		event = rest
	}
}

// Note adds what a valid record says.
func (d *SelfRecords) Note(r Raw) {
	log, settings := tells(r.Event)
	if settings {
		if e, ok := Decode(r.Event); ok {
			d.Retention = d.Retention.after(&e, r.Seq)
		}
	}
	if !log {
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

// Knows reports whether the key is announced in the log, or is the one given.
func (d *SelfRecords) Knows(k, own Key) bool {
	return k == own && own != (Key{}) || slices.ContainsFunc(d.Keys, func(f KeyFrom) bool { return f.Key == k || f.Follows == k && k != (Key{}) })
}
