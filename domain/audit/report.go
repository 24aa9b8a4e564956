package audit

import (
	"errors"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The ways in which an audit log with a valid chain can still differ from what was written.
var (
	ErrContradicted = fault.New(fault.State, "audit_contradicted", "what was put outside the database contradicts the audit")
	ErrUnchecked    = fault.New(fault.Unavailable, "audit_anchor_unread", "an anchor of the audit could not be read")
	ErrUnsigned     = fault.New(fault.State, "audit_unsigned", "the end of the audit is not signed by the key of this machine")
)

// End is what a store knows of the end of its chain, apart from the records.
type End struct {
	Seq    int64
	Hash   canon.Hash
	Signed *Head // the newest signed head; nil for none
}

// Report is the result of checking an audit log. The zero Report is that of a log that was never used.
type Report struct {
	Records int64 `json:"records"` // number of valid records, from the first
	// Before is how many of them an earlier check read, the last full one at Full; this check continued after them. Both are zero for a check of all
	// records.
	Before  int64      `json:"checked_before,omitempty"`
	Full    *time.Time `json:"checked_before_at,omitempty"`
	Head    canon.Hash `json:"head"` // hash of the last valid record
	Keys    []Stretch  `json:"keys"`
	Anchors []Vouch    `json:"anchors"`
	Faults  []error    `json:"-"` // the worst first; empty for a valid log
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
	wanted      map[int64]canon.Hash
	broken      error
	from        Checkpoint // its head is zero for a check of all records
}

// NewCheck returns a check of an audit log against the contents of its anchors, which must be read before the log.
func NewCheck(holdings ...AnchorContents) *Check {
	c := &Check{checker: NewChecker(Record{}), holdings: holdings, wanted: map[int64]canon.Hash{}}
	for _, h := range holdings {
		for _, head := range h.Heads {
			c.wanted[head.Seq] = canon.Hash{}
		}
	}
	return c
}

// Next checks the next record. It fails with ErrBroken; records after that one need not be passed.
func (c *Check) Next(r Raw) error {
	if c.broken != nil {
		return c.broken
	}
	if c.broken = c.checker.Next(r); c.broken != nil {
		return c.broken
	}
	if len(c.wanted) > 0 {
		if _, asked := c.wanted[r.Seq]; asked {
			c.wanted[r.Seq] = c.checker.last.Hash
		}
	}
	c.selfRecords.Note(r)
	return nil
}

// Want keeps the hash of a record that End will need.
func (c *Check) Want(seq int64) { c.wanted[seq] = canon.Hash{} }

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
	last := c.checker.last
	r := Report{Records: c.checker.held, Head: last.Hash, Keys: []Stretch{}, Anchors: []Vouch{}}
	if c.from.Head.Seq > 0 {
		r.Before, r.Full = c.from.Head.Seq, &c.from.Full
	}
	fail := func(err error) { r.Faults = append(r.Faults, err) }
	switch {
	case c.broken != nil:
		fail(c.broken)
	case end.Seq > last.Seq:
		fail(ErrBroken.Sayf("audit record %d is missing: the chain was cut off; it continued to record %d", last.Seq+1, end.Seq))
	case end.Seq < last.Seq:
		fail(ErrBroken.Sayf("audit record %d stands behind the end of the chain, which is record %d", end.Seq+1, end.Seq))
	case end.Hash != last.Hash:
		fail(ErrBroken.Sayf("audit record %d is not the one that the chain ended with", last.Seq))
	}
	if end.Signed != nil {
		if err := c.signed(*end.Signed, about); err != nil {
			fail(err)
		}
	} else if last.Seq > 0 && about.Own != (Key{}) && c.broken == nil {
		fail(ErrUnsigned.Sayf("there is a key that signs the end of the audit, and it has not signed it: somebody else has written here"))
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
	hash, known := c.wanted[h.Seq]
	switch {
	case !h.Signed():
		return ErrContradicted.Sayf("the head in the database says that %s has signed record %d, and it has not", h.Key, h.Seq)
	case about.Own != (Key{}) && h.Key != about.Own:
		return ErrUnsigned.Sayf("records since %d are not signed: the key of this machine is %s, and it was %s; put that file back from a copy, or begin with a new key on record: countersign audit key new",
			h.Seq, about.Own, h.Key)
	case c.broken != nil && h.Seq > last.Seq:
		return nil // the break of the chain is already reported
	case h.Seq > last.Seq:
		return ErrContradicted.Sayf("record %d was signed at %s, and the record there is now ends with %d: it was cut off", h.Seq, stamp(h.At), last.Seq)
	case known && hash != h.Hash:
		return ErrContradicted.Sayf("audit record %d is another one than the one that was signed at %s: the chain was rebuilt", h.Seq, stamp(h.At))
	case h.Seq < last.Seq && about.OwnErr == nil:
		return ErrUnsigned.Sayf("the audit is signed up to record %d, and the records behind it are not: somebody else has written them, or the key could not be used then", h.Seq)
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
		v.err = ErrContradicted.Sayf("the anchor %s contradicts the audit: %s", h.Anchor, v.Problem)
		return v
	case h.Err != nil:
		v.Problem = fault.From(h.Err).Message
		v.err = ErrUnchecked.Sayf("the anchor %s could not be read: %s", h.Anchor, v.Problem).Because(h.Err)
		return v
	}
	own := about.Own
	if own == (Key{}) && end.Signed != nil {
		own = end.Signed.Key
	}
	newest, forgiven := int64(0), 0
	say := func(format string, args ...any) {
		if v.err == nil {
			v.err = ErrContradicted.Sayf("the anchor "+h.Anchor.String()+" contradicts the audit: "+format, args...)
			v.Problem = fault.From(ErrContradicted.Sayf(format, args...)).Message
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
		hash := c.wanted[head.Seq]
		switch fits := hash == head.Hash; {
		case known && head.Signed() && fits && !hash.IsZero():
			if v.err == nil && head.Seq > v.To {
				v.To, v.At = head.Seq, head.At
			}
		case c.broken != nil && head.Seq > last.Seq:
			// the break of the chain is already reported
		case forgive:
			forgiven++
		case !head.Signed():
			say("an entry says that %s has signed record %d at %s, and it has not", head.Key, head.Seq, stamp(head.At))
		case !known && head.Seq > last.Seq:
			say("it knows this home with %d records at %s, signed by the key %s, and the record there is now ends with %d and does not know that key", head.Seq, stamp(head.At), head.Key, last.Seq)
		case !known:
			say("the key %s, which has signed record %d of this home at %s, is none that the record tells of", head.Key, head.Seq, stamp(head.At))
		case head.Seq > last.Seq:
			say("it knows record %d (%s), and the record there is now ends with %d: it was cut off, or replaced by an older copy", head.Seq, stamp(head.At), last.Seq)
		default:
			say("record %d is another one than it was at %s: the chain was rebuilt from there or before", head.Seq, stamp(head.At))
		}
	}
	v.Behind = max(last.Seq-max(v.To, 0), 0)
	if lost := h.Put.Seq > newest && !h.Put.At.Before(c.selfRecords.Accepted); lost && h.Fades {
		v.Note = "it has forgotten what was put there before"
	} else if lost {
		say("record %d was put there at %s, and it is not there any more", h.Put.Seq, stamp(h.Put.At))
	}
	if forgiven > 0 && v.Note == "" {
		v.Note = "older entries that contradict the record were accepted by a person at " + stamp(c.selfRecords.Accepted)
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
			faults = append(faults, ErrContradicted.Sayf("the anchor %s was taken from the list without a record of that; put it back: countersign audit anchor add %s", a, a))
		}
	}
	for _, a := range about.Listed {
		if !has(c.selfRecords.Anchors, a) {
			faults = append(faults, ErrContradicted.Sayf("the list names the anchor %s, and the record does not tell of it: it was cut off, or replaced by an older copy", a))
		}
	}
	if about.NoJournal && !c.selfRecords.NoJournal {
		faults = append(faults, ErrContradicted.Sayf("the system's journal was taken from the list of anchors without a record of that; put it back: countersign audit anchor add journal"))
	}
	return faults
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
