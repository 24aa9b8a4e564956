package audit

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The ways in which an audit log with a valid chain can still differ from what was written.
var (
	ErrContradicted = fault.New(fault.State, "audit_contradicted", "an external anchor contradicts the audit log")
	ErrUnchecked    = fault.New(fault.Unavailable, "audit_anchor_unread", "an audit anchor cannot be read")
	ErrUnsigned     = fault.New(fault.State, "audit_unsigned", "the last audit record is not signed by this machine's key")
)

// End is what a store knows of the end of its chain, apart from the records.
type End struct {
	Seq    int64
	Hash   canon.Hash
	Kept   Kept  // of all records
	Signed *Head // the newest signed head; nil for none
}

// Report is the result of checking an audit log. The zero Report is that of a log that was never used.
type Report struct {
	Records int64 `json:"records"` // number of valid records, from the first, with those that retention removed
	// Before is how many of them an earlier check read, the last full one at Full; this check continued after them. Both are zero for a check of all
	// records.
	Before  int64      `json:"checked_before,omitempty"`
	Full    *time.Time `json:"checked_before_at,omitempty"`
	Head    canon.Hash `json:"head"` // hash of the last valid record
	Keys    []Stretch  `json:"keys"`
	Anchors []Vouch    `json:"anchors"`
	// Removed is what retention has removed; nil for nothing.
	Removed   *RemovedReads `json:"removed,omitempty"`
	Retention Retention     `json:"retention,omitzero"` // as the log says
	Faults    []error       `json:"-"`                  // the worst first; empty for a valid log
}

// Stretch is the records that a key vouches for: those it signed and everything before.
type Stretch struct {
	Key  Key   `json:"key"`
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Vouch is an anchor's statement that records 1 to To are unchanged since At.
type Vouch struct {
	Anchor
	To       int64     `json:"to"` // zero for none
	At       time.Time `json:"at"`
	Heads    int       `json:"heads"` // of this audit log
	Odd      int       `json:"odd,omitempty"`
	Behind   int64     `json:"behind"` // records that it does not have yet
	Problem  string    `json:"problem,omitempty"`
	Note     string    `json:"note,omitempty"`
	Failures int       `json:"failures,omitempty"` // failed attempts to add a head since the last success
	Failure  string    `json:"failure,omitempty"`  // the last failure
	err      error
}

// Err returns the worst fault, nil for a valid log.
func (r Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	return r.Faults[0]
}

// Check checks an audit log record by record. NewCheck returns one; pass it the records with Next, then call End for the result.
type Check struct {
	checker     *Checker
	selfRecords SelfRecords
	holdings    []AnchorContents
	wanted      map[int64]found
	order       []int64 // the keys of wanted that were not passed yet, in rising order
	broken      error
	from        Checkpoint // its head is zero for a check of all records
	removal     Removal    // the newest one of this machine; its To is zero for none
	removalAt   int64      // its record
	removalSeen bool
	removals    map[int64]Removal // by record
	odd         []error           // what is wrong with records of removals
	prune       pruneSearch
}

// found is what a check found of a record that somebody asks for.
type found struct {
	hash   canon.Hash // zero for a record that is not there
	kept   Kept       // of the records up to it; zero if not known
	gone   bool       // retention removed it
	unread bool       // retention removed it, and the records up to it were not read
}

// fits reports whether the head is of that record, or of the records that retention left up to it. A head of an earlier version does not say what was to be
// left: then nothing is known.
func (f found) fits(h Head) (fits, known bool) {
	switch {
	case f.unread, f.gone && h.Kept == (Kept{}):
		return false, false
	case f.gone:
		return f.kept == h.Kept, true
	}
	return !f.hash.IsZero() && f.hash == h.Hash && (f.kept == (Kept{}) || h.Kept == (Kept{}) || f.kept == h.Kept), true
}

// NewCheck returns a check of an audit log against the contents of its anchors, which must be read before the log.
func NewCheck(holdings ...AnchorContents) *Check {
	c := &Check{checker: NewChecker(Record{}), holdings: holdings, wanted: map[int64]found{}}
	for _, h := range holdings {
		for _, head := range h.Heads {
			c.wanted[head.Seq] = found{}
		}
	}
	return c
}

// Next checks the next record. It fails with ErrBroken; records after that one need not be passed.
func (c *Check) Next(r Raw) error {
	if c.broken != nil {
		return c.broken
	}
	if c.order == nil && len(c.wanted) > 0 {
		c.order = slices.Sorted(maps.Keys(c.wanted))
	}
	before := c.checker.kept
	if c.broken = c.checker.Next(r); c.broken != nil {
		return c.broken
	}
	c.pass(r.Seq, before)
	c.prune.note(c.checker, r)
	if removal, ok := ReadRemoval(r.Event); ok {
		c.noteRemoval(r.Seq, removal)
	}
	c.selfRecords.Note(r)
	return nil
}

// pass keeps what is wanted of the records up to that one, before which kept was the Kept.
func (c *Check) pass(seq int64, kept Kept) {
	for ; len(c.order) > 0 && c.order[0] <= seq; c.order = c.order[1:] {
		at := c.order[0]
		switch {
		case at <= c.from.Head.Seq: // Know was told
		case at == seq:
			c.wanted[at] = found{hash: c.checker.last.Hash, kept: c.checker.kept}
		case at == c.removal.To:
			c.wanted[at] = found{hash: c.removal.Hash, kept: c.removal.Kept}
		case at > 0:
			c.wanted[at] = found{kept: kept, gone: true}
		}
	}
}

// Want keeps what End will need of a record.
func (c *Check) Want(seq int64) { c.wanted[seq] = found{} }

// Context is what an audit log is checked against besides its anchors.
type Context struct {
	Home, Machine string
	Own           Key      // the machine's public key from its file; zero for none
	OwnErr        error    // why that key cannot be used
	Listed        []Anchor // anchors to read, except home and journal
	NoJournal     bool     // the journal was not read
	Index         error    // set if records may be missing from searches by content
}

// End compares the chain with the store's own end and with every anchor.
func (c *Check) End(end End, about Context) Report {
	if c.broken == nil {
		kept := c.checker.kept
		if c.broken = c.checker.finish(); c.broken == nil {
			c.pass(c.removal.To, kept)
		}
	}
	last := c.checker.last
	r := Report{Records: last.Seq, Head: last.Hash, Keys: []Stretch{}, Anchors: []Vouch{}, Retention: c.selfRecords.Retention}
	if m := c.removal; m.To > 0 {
		r.Removed = &RemovedReads{Reads: m.To - m.Kept.Count, From: 1, To: m.To, Before: m.Before, Days: m.Days, Record: c.removalAt}
	}
	if c.from.Head.Seq > 0 {
		r.Before, r.Full = c.from.Head.Seq, &c.from.Full
	}
	fail := func(err error) { r.Faults = append(r.Faults, err) }
	switch {
	case c.broken != nil:
		fail(c.broken)
	case end.Seq > last.Seq:
		fail(ErrBroken.WithMessage("audit record %d is missing: the chain was truncated; it ended with record %d", last.Seq+1, end.Seq))
	case end.Seq < last.Seq:
		fail(ErrBroken.WithMessage("audit record %d comes after the recorded end of the chain, record %d", end.Seq+1, end.Seq))
	case end.Hash != last.Hash:
		fail(ErrBroken.WithMessage("audit record %d is not the recorded last record of the chain", last.Seq))
	}
	if c.broken == nil && c.removal.To > 0 && !c.removalSeen && c.removalAt > c.from.Head.Seq {
		fail(ErrBroken.WithMessage("reads up to record %d are missing, and no record shows that retention removed them", c.removal.To))
	}
	r.Faults = append(append(r.Faults, c.odd...), c.strangeRemovals(own(about, end))...)
	if end.Signed != nil {
		if err := c.signed(*end.Signed, about); err != nil {
			fail(err)
		}
	} else if last.Seq > 0 && about.Own != (Key{}) && c.broken == nil {
		fail(ErrUnsigned.WithMessage("the last audit record is not signed although a signing key exists: another program wrote to the audit log"))
	}
	says := end.Kept != (Kept{}) || end.Signed != nil && end.Signed.Kept != (Kept{})
	if c.broken == nil && says && end.Kept != c.checker.kept {
		fail(ErrContradicted.WithMessage("the audit head's count of permanent records is wrong: the head or the records were edited"))
	}
	r.Keys = c.stretches(end)
	for _, h := range c.holdings {
		v := c.vouch(h, about, end)
		if v.err != nil {
			fail(v.err)
		}
		r.Anchors = append(r.Anchors, v)
	}
	if c.broken == nil {
		for _, err := range c.listed(about) {
			fail(err)
		}
	}
	if about.OwnErr != nil {
		fail(about.OwnErr)
	}
	if about.Index != nil {
		fail(about.Index)
	}
	r.order()
	return r
}

// order sorts faults: broken, then contradicted, then what could not be examined.
func (r *Report) order() {
	var sorted []error
	for rank := range 3 {
		for _, err := range r.Faults {
			of := 1
			switch {
			case errors.Is(err, ErrBroken):
				of = 0
			case errors.Is(err, ErrUnchecked):
				of = 2
			}
			if of == rank {
				sorted = append(sorted, err)
			}
		}
	}
	r.Faults = sorted
}

// signed checks the newest signed head in the store.
func (c *Check) signed(h Head, about Context) error {
	last := c.checker.last
	there, asked := c.wanted[h.Seq]
	fits, known := there.fits(h)
	switch {
	case !h.Signed():
		return ErrContradicted.WithMessage("the audit head in the database claims a signature by %s for record %d, but the signature is invalid", h.Key, h.Seq)
	case about.Own != (Key{}) && h.Key != about.Own:
		return ErrUnsigned.WithMessage("records since %d are not signed: this machine's key is %s, but it was %s; restore the key file from a backup, or record a new key: countersign audit key new",
			h.Seq, about.Own, h.Key)
	case c.broken != nil && h.Seq > last.Seq:
		return nil // the break of the chain is already reported
	case h.Seq > last.Seq:
		return ErrContradicted.WithMessage("record %d was signed at %s, but the audit log now ends with record %d: it was truncated", h.Seq, stamp(h.At), last.Seq)
	case asked && known && !fits:
		return ErrContradicted.WithMessage("audit record %d differs from the one signed at %s: the chain was rebuilt", h.Seq, stamp(h.At))
	case h.Seq < last.Seq && about.OwnErr == nil:
		return ErrUnsigned.WithMessage("the audit log is signed up to record %d only: another program wrote the later records, or the key was not available", h.Seq)
	}
	return nil
}

// stretches returns which key vouches for which records.
func (c *Check) stretches(end End) []Stretch {
	all := []Stretch{}
	if end.Signed == nil {
		return all
	}
	to := min(end.Signed.Seq, c.checker.last.Seq)
	from, first := int64(1), end.Signed.Key
	if len(c.selfRecords.Keys) > 0 && c.selfRecords.Keys[0].Follows != (Key{}) {
		first = c.selfRecords.Keys[0].Follows
	} else if len(c.selfRecords.Keys) > 0 {
		first = c.selfRecords.Keys[0].Key
	}
	at := Stretch{Key: first, From: from}
	for _, k := range c.selfRecords.Keys {
		if k.Key == at.Key { // the first key, announced in a log that began without one
			continue
		}
		at.To = k.From - 1
		all = append(all, at)
		at = Stretch{Key: k.Key, From: k.From}
	}
	if at.To = to; at.To >= at.From {
		all = append(all, at)
	}
	return all
}

// own returns the key of this machine, or the one that signed last if that is not known.
func own(about Context, end End) Key {
	if about.Own == (Key{}) && end.Signed != nil {
		return end.Signed.Key
	}
	return about.Own
}

// vouch compares the chain with one anchor.
func (c *Check) vouch(h AnchorContents, about Context, end End) Vouch {
	last := c.checker.last
	v := Vouch{Anchor: h.Anchor, Odd: h.Odd}
	switch {
	case h.Err != nil && h.Fades: // used without being configured, so it need not be readable for every user
		v.Note = fault.From(h.Err).Message
		return v
	case errors.Is(h.Err, ErrContradicted):
		v.Problem = fault.From(h.Err).Message
		v.err = ErrContradicted.WithMessage("anchor %s contradicts the audit log: %s", h.Anchor, v.Problem)
		return v
	case h.Err != nil:
		v.Problem = fault.From(h.Err).Message
		v.err = ErrUnchecked.WithMessage("anchor %s cannot be read: %s", h.Anchor, v.Problem).WithCause(h.Err)
		return v
	}
	own := own(about, end)
	newest, forgiven := int64(0), 0
	say := func(format string, args ...any) {
		if v.err == nil {
			v.err = ErrContradicted.WithMessage("the anchor "+h.Anchor.String()+" contradicts the audit log: "+format, args...)
			v.Problem = fault.From(ErrContradicted.WithMessage(format, args...)).Message
		}
	}
	for _, head := range h.Heads {
		known := c.selfRecords.Knows(head.Key, own) || end.Signed != nil && head.Key == end.Signed.Key
		if !known && (head.Home != about.Home || head.Machine != about.Machine) {
			continue // of another audit log
		}
		v.Heads++
		newest = max(newest, head.Seq)
		forgive := head.At.Before(c.selfRecords.Accepted)
		fits, said := c.wanted[head.Seq].fits(head)
		switch {
		case known && head.Signed() && !said:
			// what it says cannot be compared any more: retention has removed its record
		case known && head.Signed() && fits:
			if v.err == nil && head.Seq > v.To {
				v.To, v.At = head.Seq, head.At
			}
		case c.broken != nil && head.Seq > last.Seq:
			// the break of the chain is already reported
		case forgive:
			forgiven++
		case !head.Signed():
			say("an entry claims a signature by %s for record %d at %s, but the signature is invalid", head.Key, head.Seq, stamp(head.At))
		case !known && head.Seq > last.Seq:
			say("it has %d records at %s, signed by key %s, but the audit log now ends with record %d and does not contain that key", head.Seq, stamp(head.At), head.Key, last.Seq)
		case !known:
			say("key %s, which signed record %d at %s, is not in the audit log", head.Key, head.Seq, stamp(head.At))
		case head.Seq > last.Seq:
			say("it has record %d (%s), but the audit log now ends with record %d: it was truncated, or replaced by an older copy", head.Seq, stamp(head.At), last.Seq)
		default:
			say("record %d differs from the one anchored at %s: the chain was rebuilt from that record or an earlier one", head.Seq, stamp(head.At))
		}
	}
	v.Behind = max(last.Seq-max(v.To, 0), 0)
	if lost := h.Put.Seq > newest && !h.Put.At.Before(c.selfRecords.Accepted); lost && h.Fades {
		v.Note = "earlier entries are missing from it"
	} else if lost {
		say("record %d was anchored at %s, but its entry is missing", h.Put.Seq, stamp(h.Put.At))
	}
	if forgiven > 0 && v.Note == "" {
		v.Note = "the user accepted older entries that contradict the audit log at " + stamp(c.selfRecords.Accepted)
	}
	return v
}

// listed compares the list of anchors with what the log says about them.
func (c *Check) listed(about Context) (faults []error) {
	has := func(all []Anchor, a Anchor) bool {
		for _, have := range all {
			if have == a {
				return true
			}
		}
		return false
	}
	for _, a := range c.selfRecords.Anchors {
		if !has(about.Listed, a) {
			faults = append(faults, ErrContradicted.WithMessage("anchor %s was removed without an audit record; add it again: countersign audit anchor add %s", a, a))
		}
	}
	for _, a := range about.Listed {
		if !has(c.selfRecords.Anchors, a) {
			faults = append(faults, ErrContradicted.WithMessage("anchor %s is configured but not in the audit log: the log was truncated, or replaced by an older copy", a))
		}
	}
	if about.NoJournal && !c.selfRecords.NoJournal {
		faults = append(faults, ErrContradicted.WithMessage("the system journal was removed from the anchors without an audit record; add it again: countersign audit anchor add journal"))
	}
	return faults
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
