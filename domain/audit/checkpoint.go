package audit

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// Checkpoint says how far a check found everything in order, so that the next can go on from there. It promises that the records up to it were read then,
// and no more: who changes one of them afterwards is found by a check of all records, and not by one that goes on from a checkpoint. It is bound to the
// chain by the hash of its record, and signed with the key of the machine.
type Checkpoint struct {
	Hash canon.Hash  `json:"hash"` // of the last record that was read
	Self SelfRecords `json:"self"` // what the records up to it tell of themselves
	Full time.Time   `json:"full"` // when all records were read last
	Head Head        `json:"head"` // names that record, and is signed over the sum of the rest
}

// Sum returns the hash that its head is signed over. No record has it.
func (c Checkpoint) Sum() canon.Hash {
	c.Head, c.Full = Head{}, c.Full.UTC()
	doc, err := json.Marshal(c)
	if err != nil { // of a year that no clock shows
		return canon.Hash{}
	}
	return canon.SumBytes("audit.checkpoint.v1", doc)
}

// Holds reports whether it was signed with that key as it is.
func (c Checkpoint) Holds(own Key) bool {
	sum := c.Sum()
	return own != (Key{}) && c.Head.Key == own && c.Head.Seq > 0 && !sum.IsZero() && c.Head.Hash == sum && c.Head.Signed()
}

// From has the check go on behind a checkpoint that holds. It is called before the first record.
func (c *Check) From(at Checkpoint) {
	c.checker = NewChecker(Record{Seq: at.Head.Seq, Hash: at.Hash})
	c.checker.held, c.from, c.selfRecords = at.Head.Seq, at, at.Self
}

// Wanted returns the records up to the checkpoint whose hash anchors know. Know says what it is.
func (c *Check) Wanted() (all []int64) {
	for seq := range c.wanted {
		if seq <= c.from.Head.Seq {
			all = append(all, seq)
		}
	}
	return all
}

// Know says what hash a record up to the checkpoint has.
func (c *Check) Know(seq int64, hash canon.Hash) { c.wanted[seq] = hash }

// Checkpoint returns where the next check may go on, to be signed. now is when this check began.
func (c *Check) Checkpoint(now time.Time) Checkpoint {
	at := Checkpoint{Hash: c.checker.last.Hash, Self: c.selfRecords, Full: c.from.Full, Head: Head{Seq: c.checker.last.Seq}}
	if c.from.Head.Seq == 0 {
		at.Full = now.UTC().Truncate(time.Second)
	}
	return at
}
