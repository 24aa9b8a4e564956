package deployment

import (
	"slices"
	"time"
)

// SnapshotKind is the operation that made a snapshot.
type SnapshotKind string

// The kinds (agentpack contract §4.6). Edit is a change of the config repository: it is in the operation log like any other and leaves no snapshot.
const (
	KindDeploy    SnapshotKind = "deploy"
	KindBootstrap SnapshotKind = "bootstrap"
	KindRollback  SnapshotKind = "rollback"
	KindEdit      SnapshotKind = "edit"
)

// SnapshotStatus is the progress of a snapshot's operation.
type SnapshotStatus string

// The statuses. A record without one was written by a tool without statuses, and counts as applied.
const (
	StatusApplying SnapshotStatus = "applying"
	StatusApplied  SnapshotStatus = "applied"
	StatusUndone   SnapshotStatus = "undone"
)

// InitialSnapshot is the argument of a rollback to the state before the first deployment.
const InitialSnapshot = "initial"

// Snapshot is the record of one operation: the state before every write, and what its owner owned afterwards. The contents of both are stored by sum.
type Snapshot struct {
	ID           string // decimal Unix time in nanoseconds
	Kind         SnapshotKind
	Status       SnapshotStatus
	CreatedAt    time.Time
	Targets      []string // sorted
	Roots        []Root   // all that were examined
	ProjectRoot  string
	Profile      string
	Repo         string  // the config repository that it was made from; empty in records of tools that did not write it
	Managed      []Owned // all that was owned in Roots afterwards
	Changes      []SnapshotRecord
	RolledBackTo string
	Lock         Sum  // of the lockfile; zero when there was none
	Unproven     bool // no recorded operation wrote it in this form
}

// SnapshotRecord is one write of a snapshot, manifests included.
type SnapshotRecord struct {
	Target string
	Op     Op     // also rollback_restore and rollback_delete, in the original's records of rollbacks (agentpack contract §4.6)
	Path   string // absolute, native
	Before Seen   // Absent: there was no file
	After  Seen   // Absent: it was deleted
}

// Write is one file to write or delete in a transaction, with the state that it requires.
type Write struct {
	Target string
	Op     Op // as the snapshot records it
	Path   string
	Root   string // the directory that Path must stay below, links resolved
	Before Seen
	After  Seen    // Absent deletes; Link makes a symbolic link
	Data   Content // of After, when it is Regular
}

// Transaction is a set of writes that happens atomically, with what is owned afterwards.
type Transaction struct {
	Kind         SnapshotKind
	Place        Locations
	Profile      string
	Targets      []string
	Roots        []Root
	Writes       []Write
	Owner        Owner
	Repo         string     // the config repository
	Owned        []Owned    // all that Owner owns in Roots afterwards
	Taken        []Takeover // what other config repositories own there and lose
	Beside       []Root     // other roots that the plan examined: the owners of their files must be known
	Left         []string   // files that are the user's own work and stay as they are
	TakesOver    []string   // manifests beside the files that are moved into the home's records and removed
	Lock         Sum
	RolledBackTo string
	Claim        bool          // write manifests; false for KindEdit
	Ways         *ResolvedDirs // where the directories must be; nil: anywhere
	Settle       bool          // what the owner releases belongs to the user again, in its earlier state: the originals there no longer count
}

// Transaction returns the plan as writes.
func (p Plan) Transaction(at Locations, kind SnapshotKind, lock Sum) Transaction {
	t := Transaction{Kind: kind, Place: at, Profile: p.Profile, Targets: p.Targets, Roots: p.Roots, Owner: p.Owner, Repo: p.Repo, Owned: p.Owned, Taken: p.Taken, Beside: p.Beside, Left: p.leftAlone(), TakesOver: p.TakesOver, Lock: lock, Claim: true, Ways: p.Ways}
	t.Writes = make([]Write, 0, len(p.Changes))
	done := make(map[string]bool, len(p.Changes)) // two targets may want one file, which is written once
	for i := range p.Changes {
		c := &p.Changes[i]
		if done[c.Path] {
			continue
		}
		done[c.Path] = true
		w := Write{Target: c.Target, Op: c.Op, Path: c.Path, Root: p.rootOf(c), Before: c.Before, Data: c.After}
		switch {
		case c.Op != OpDelete && c.Link != "":
			w.After = Seen{Kind: Link, Link: c.Link}
		case c.Op != OpDelete:
			w.After = Seen{Kind: Regular, Sum: c.After.Sum, Size: c.After.Size, Mode: c.Mode}
		}
		t.Writes = append(t.Writes, w)
	}
	return t
}

// rootOf returns the root of what the plan's owner owns at the path of a change; empty if it owns nothing there.
func (p *Plan) rootOf(c *Change) string {
	at := place{c.Target, c.Path}
	i, found := slices.BinarySearchFunc(p.Owned, at, func(f Owned, at place) int { return f.place().compare(at) })
	if !found {
		return ""
	}
	return p.Owned[i].Root
}

// InterruptedOperation is an operation that was begun and never finished.
type InterruptedOperation struct {
	ID        string       `json:"id"`
	Kind      SnapshotKind `json:"kind"`
	StartedAt time.Time    `json:"started_at"`
	Done      int          `json:"writes_done"`
	Total     int          `json:"writes_total"`
}
