package audit

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// PruneTool names the records that say that retention has removed reads.
const PruneTool = "audit_prune"

// SettingsTool names the calls that change the settings; among them is for how many days reads are kept.
const SettingsTool = "change_settings"

// Removable reports whether the event may be removed by retention: a read that policy allowed without asking anybody, and that succeeded. Nothing else ever
// is: no request, decision, change, setting, preview or denial, no failure, nothing that names a plan, a grant or an approval, and nothing that cannot be
// told. The zero Event is kept.
func (e *Event) Removable() bool {
	return e.Phase == Outcome && e.Class == classRead && e.Verdict == verdictAllow && e.Plan.IsZero() && e.ApprovedBy == "" && e.Code == "" &&
		e.Surface == "" && len(e.Proof) == 0 && e.Grant == "" && e.Confirmation == "" && e.Home == ""
}

// Kept identifies all records up to one that are never removed: how many there are, and a running hash over their places and hashes. It is worked out when
// records are written, and signed with the end of the chain, so that it can be compared with what is left after others were removed. The zero Kept is unknown.
type Kept struct {
	Count int64      `json:"count"`
	Hash  canon.Hash `json:"hash"`
}

// NoneKept returns the Kept of no records.
func NoneKept() Kept { return Kept{Hash: canon.SumBytes("audit.kept.v1", nil)} }

// With returns the Kept that includes one more record.
func (k Kept) With(seq int64, hash canon.Hash) Kept {
	room := make([]byte, 0, 2*len(hash)+20)
	room = append(append(room, k.Hash[:]...), hash[:]...)
	return Kept{Count: k.Count + 1, Hash: canon.SumBytes("audit.kept.v1", strconv.AppendInt(room, seq, 10))}
}

// Of returns the Kept that includes the record behind those of k, if that is one to keep.
func (k Kept) Of(r *Record) Kept {
	if r.Event.Removable() {
		return k
	}
	return k.With(r.Seq, r.Hash)
}

// OfRaw is Of for a record as it is stored. It does not check the record.
func (k Kept) OfRaw(r Raw) Kept {
	if _, read := form(r.Event); read || len(r.Hash) != len(k.Hash) {
		return k
	}
	return k.With(r.Seq, canon.Hash(r.Hash))
}

// Position is a place in the chain: a record with its hash, and what is kept of the records up to it. The zero Position is unknown; Start is the beginning.
type Position struct {
	Seq  int64      `json:"seq"`
	Hash canon.Hash `json:"hash"`
	Kept Kept       `json:"kept"`
}

// Start returns the position before the first record.
func Start() Position { return Position{Kept: NoneKept()} }

// Retention is for how many days reads are kept, according to the log.
type Retention struct {
	Days    int   `json:"days"`    // zero for all the time
	Allowed int64 `json:"allowed"` // the record of the change with which a person allowed to remove them; zero for none
}

// Removal is the content of the record that says that reads were removed. It holds for all records from the first to To, since what is left of them is
// compared as a whole; From is where this removal began.
type Removal struct {
	From    int64      `json:"from"`
	To      int64      `json:"to"`
	Removed int64      `json:"removed"` // from From to To
	Before  time.Time  `json:"before"`  // what was removed is older
	Days    int        `json:"days"`
	Allowed int64      `json:"allowed"` // see Retention
	Hash    canon.Hash `json:"hash"`    // of the record To
	Kept    Kept       `json:"kept"`    // of the records up to To
	// Again is the record of the removal that this one repeats under a new key; zero for a removal.
	Again int64 `json:"again,omitempty"`
	Head  Head  `json:"head"` // names To, and is signed over the hash of the rest
}

// Sum returns the hash that its head is signed over. No record has that hash.
func (r Removal) Sum() canon.Hash {
	r.Head, r.Before = Head{}, r.Before.UTC()
	doc, err := json.Marshal(r)
	if err != nil { // a year that no clock shows
		return canon.Hash{}
	}
	return canon.SumBytes("audit.removal.v1", doc)
}

// SignedBy reports whether the removal is unchanged since it was signed with that key.
func (r Removal) SignedBy(k Key) bool {
	sum := r.Sum()
	return k != (Key{}) && r.Head.Key == k && r.Head.Seq == r.To && r.To > 0 && !sum.IsZero() && r.Head.Hash == sum && r.Head.Signed()
}

// Position returns where the chain goes on behind the removed records.
func (r Removal) Position() Position { return Position{Seq: r.To, Hash: r.Hash, Kept: r.Kept} }

// Event returns the record of the removal.
func (r Removal) Event(at time.Time) Event { return SelfEvent(at, PruneTool, "", "", r) }

// ReadRemoval returns the removal that the record is about; false for a record about something else.
func ReadRemoval(event []byte) (Removal, bool) {
	if log, _ := tells(event); !log {
		return Removal{}, false
	}
	e, ok := Decode(event)
	if !ok {
		return Removal{}, false
	}
	return e.removal()
}

// Removal returns the removal that the record is about; false for a record about something else.
func (r *Record) Removal() (Removal, bool) { return r.Event.removal() }

func (e *Event) removal() (Removal, bool) {
	var r Removal
	if e.Phase != Answer || e.Tool != PruneTool || e.Code != "" || json.Unmarshal(e.Args, &r) != nil || r.To < 1 || r.Kept == (Kept{}) {
		return Removal{}, false
	}
	return r, true
}

// settingsSaid is what a change of the settings says about retention.
type settingsSaid struct {
	KeepReadsDays int `json:"keep_reads_days"`
}

// after returns what holds after that change of the settings. To keep reads for a shorter time counts only with a person's approval; to keep them longer
// needs none.
func (h Retention) after(e *Event, seq int64) Retention {
	var said settingsSaid
	if e.Phase != Outcome || e.Tool != SettingsTool || e.Code != "" || e.Verdict != verdictAllow && e.Verdict != verdictConfirm {
		return h
	}
	if json.Unmarshal(e.Args, &said) != nil || said.KeepReadsDays < 0 {
		return Retention{}
	}
	switch days := said.KeepReadsDays; {
	case days == h.Days:
		return h
	case days == 0:
		return Retention{}
	case h.Allowed > 0 && days > h.Days:
		return Retention{Days: days, Allowed: h.Allowed}
	case e.Verdict == verdictConfirm && e.Confirmation != "" && e.ApprovedBy != "" && !e.byCaller() && e.ApprovedBy != e.Rule:
		return Retention{Days: days, Allowed: seq}
	default:
		return Retention{Days: days}
	}
}

// RemovedReads is what retention has removed from a log.
type RemovedReads struct {
	Reads  int64     `json:"reads"`  // how many
	From   int64     `json:"from"`   // the records among which they were
	To     int64     `json:"to"`     //
	Before time.Time `json:"before"` // they were older
	Days   int       `json:"days"`   // for so long reads were kept then
	Record int64     `json:"record"` // the record that says so
}

// Removed has the check expect that reads were removed, as the log's own records of removals say, which are passed in any order. Only a removal that own, the
// key of this machine, has signed counts. It is called before the first record.
func (c *Check) Removed(all []Raw, own Key) {
	for _, raw := range all {
		r, ok := ReadRemoval(raw.Event)
		if !ok || !r.SignedBy(own) || cmp.Or(cmp.Compare(r.To, c.removal.To), cmp.Compare(raw.Seq, c.removalAt)) <= 0 {
			continue
		}
		c.removal, c.removalAt, c.checker.removed = r, raw.Seq, r.Position()
	}
}

// noteRemoval checks a removal that is on record: it is signed, and was allowed when it was written.
func (c *Check) noteRemoval(seq int64, r Removal) {
	fail := func(why string) {
		c.odd = append(c.odd, ErrContradicted.WithMessage("record %d states that retention removed reads up to record %d, but %s", seq, r.To, why))
	}
	if c.removalAt == seq && r.Sum() == c.removal.Sum() {
		c.removalSeen = true
	}
	had, known := c.removals[r.Again]
	switch allowed := c.selfRecords.Retention; {
	case !r.SignedBy(r.Head.Key):
		fail("it is not signed")
	case r.To >= seq:
		fail("it is older than those reads")
	case r.Again > 0 && (!known || had.To != r.To || had.Hash != r.Hash || had.Kept != r.Kept):
		fail("repeats one that is not in the audit log")
	case r.Again == 0 && (allowed.Days <= 0 || allowed.Allowed == 0):
		fail("no user had allowed the removal")
	case r.Again == 0 && (r.Days != allowed.Days || r.Allowed != allowed.Allowed):
		fail("the user had allowed a different removal")
	}
	if c.removals == nil {
		c.removals = map[int64]Removal{}
	}
	c.removals[seq] = r
}

// strangeRemovals returns the removals that none of this machine's keys has signed.
func (c *Check) strangeRemovals(own Key) (faults []error) {
	for _, seq := range slices.Sorted(maps.Keys(c.removals)) {
		if k := c.removals[seq].Head.Key; !c.selfRecords.Knows(k, own) {
			faults = append(faults, ErrContradicted.WithMessage("record %d states that retention removed reads, but its signing key %s is not in the audit log", seq, k))
		}
	}
	return faults
}

// Still fails with ErrStale if, according to the records, which were written since, other reads may be removed now.
func (h Retention) Still(since iter.Seq2[Raw, error]) error {
	now := SelfRecords{Retention: h}
	for r, err := range since {
		if err != nil {
			return err
		}
		now.Note(r)
	}
	if now.Retention != h {
		return ErrStale.WithMessage("the retention period for reads changed during the removal, so the removal stopped")
	}
	return nil
}

// ErrStale is returned for a removal that is not what is to be removed any more; it is planned anew.
var ErrStale = fault.New(fault.Conflict, "audit_prune_stale", "the audit log changed since the removal was planned")

// Retention returns what the records passed so far say about retention.
func (c *Check) Retention() Retention { return c.selfRecords.Retention }
