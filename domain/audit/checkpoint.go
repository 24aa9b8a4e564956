package audit

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
)

// Checkpoint is a position up to which a check found everything valid, so that the next check can continue there. It proves only that the records up
// to it were read at that time: a later change of one of them is detected by a check of all records, not by one that continues from a checkpoint. It
// is bound to the chain by the hash of its record and signed with the machine's key.
type Checkpoint struct {
	Hash canon.Hash  `json:"hash"`          // of the last record read
	Kept Kept        `json:"kept,omitzero"` // of the records up to it; zero in checkpoints of earlier versions, which are not used
	Self SelfRecords `json:"self"`          // what the records up to it say about keys and anchors
	Full time.Time   `json:"full"`          // time of the last check of all records
	Head Head        `json:"head"`          // names that record; signed over the hash of the rest
}

// Sum returns the hash that its head is signed over. No record has that hash.
func (c Checkpoint) Sum() canon.Hash {
	c.Head, c.Full = Head{}, c.Full.UTC()
	doc, err := json.Marshal(c)
	if err != nil { // a year that no clock shows
		return canon.Hash{}
	}
	return canon.SumBytes("audit.checkpoint.v1", doc)
}

// Holds reports whether the checkpoint is unchanged since it was signed with that key.
func (c Checkpoint) Holds(own Key) bool {
	sum := c.Sum()
	return own != (Key{}) && c.Kept != (Kept{}) && c.Head.Key == own && c.Head.Seq > 0 && !sum.IsZero() && c.Head.Hash == sum && c.Head.Signed()
}

// From makes the check continue after a valid checkpoint. It is called before the first record.
func (c *Check) From(at Checkpoint) {
	removed := c.checker.removed
	c.checker = newChecker(Position{Seq: at.Head.Seq, Hash: at.Hash, Kept: at.Kept})
	c.checker.held, c.checker.removed, c.from, c.selfRecords = at.Head.Seq, removed, at, at.Self
}

// Wanted returns the records up to the checkpoint whose hashes the anchors know. Pass their hashes to Know.
func (c *Check) Wanted() (all []int64) {
	for seq := range c.wanted {
		if seq <= c.from.Head.Seq {
			all = append(all, seq)
		}
	}
	return all
}

// Know passes the check the hash of a record up to the checkpoint; zero for one that is not there.
func (c *Check) Know(seq int64, hash canon.Hash) {
	c.wanted[seq] = found{hash: hash, unread: hash.IsZero() && seq <= c.checker.removed.Seq}
}

// Checkpoint returns the position from which the next check may continue, to be signed. now is when this check began.
func (c *Check) Checkpoint(now time.Time) Checkpoint {
	at := Checkpoint{Hash: c.checker.last.Hash, Kept: c.checker.kept, Self: c.selfRecords, Full: c.from.Full, Head: Head{Seq: c.checker.last.Seq}}
	if c.from.Head.Seq == 0 {
		at.Full = now.UTC().Truncate(time.Second)
	}
	return at
}
