package ports

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrHomeInUse is returned when other processes use the home, so that it cannot be replaced.
var ErrHomeInUse = fault.New(fault.Conflict, "home_in_use", "other processes use this home")

// Backups makes backups of a home and restores them.
type Backups interface {
	// Holds returns what a backup made now would contain. It changes nothing.
	Holds(ctx context.Context) (BackupContents, error)
	// Target returns the file that a backup would be written to, and whether it exists. An existing file is replaced only with over.
	Target(path string, over bool) (file string, there bool, err error)
	// Make writes a backup atomically, while other processes use the home.
	Make(ctx context.Context, file string, over bool, progress func(done, total int64)) (Backup, error)
	// Look reads a whole backup and checks it against its own list. It changes nothing.
	Look(ctx context.Context, file string, progress func(done, total int64)) (BackupView, error)
	// Free fails with ErrHomeInUse while a server uses the home.
	Free() error
	// Stage has the backup that Look read replace the home as soon as this process releases it. It fails if the backup changed since.
	Stage(ctx context.Context, v BackupView, by string, progress func(done, total int64)) (Restored, error)
}

// BackupContents is the content of a backup, one line each.
type BackupContents struct {
	Secrets []string `json:"secrets"`            // and what each opens
	Others  []string `json:"holds"`              // names
	LeftOut []string `json:"left_out,omitempty"` // that a reader could expect, and why
}

// Backup is the description that a backup contains of itself.
type Backup struct {
	Format  int          `json:"format"`
	Version string       `json:"version"` // of the program that made it
	Schema  int          `json:"schema"`  // of its database
	MadeAt  time.Time    `json:"made_at"`
	Home    string       `json:"home"`
	Machine string       `json:"machine"`
	Files   []BackupFile `json:"files"`
}

// BackupFile is a file in a backup.
type BackupFile struct {
	Name string     `json:"name"`
	Size int64      `json:"size"`
	Sum  canon.Hash `json:"sha256"`
}

// BackupView is a backup that was read completely, and the home that it would replace.
type BackupView struct {
	Backup
	File      string
	Sum       canon.Hash // of all of it
	Records   int64      // of its audit
	Withdrawn Withdrawn  // what would not come back
	Settings  Settings   // that would
	Opens     []string   // what rules of actions keep from happening now, and would not then: a line each
	Keys      []enrolled.Key
	Config    string   // config.yaml, where it is another one than there is now
	Replaces  []string // names in the home that are set aside
	Brings    []string // names that come back
	Keeps     []string // in both the home and the backup: data that stays unchanged
}

// Withdrawn counts what a restored home leaves out.
type Withdrawn struct {
	Requests    int `json:"requests"`    // that wait for a decision
	Approvals   int `json:"approvals"`   // that no call has used
	Grants      int `json:"grants"`      // until a date
	Sessions    int `json:"sessions"`    // with their modes and grants
	Credentials int `json:"credentials"` // tokens, log-ins and browsers
}

// Restored is the result of a restore.
type Restored struct {
	ID     string    `json:"id"`
	Home   string    `json:"home"`
	MadeAt time.Time `json:"made_at"` // the backup
	Aside  string    `json:"aside"`   // where the replaced state is
}
