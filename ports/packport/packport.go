// Package packport declares what context packs need: a store of packs, and access to source lines. The comments of each method are its contract;
// internal/testkit/packtest runs it against every adapter.
//
// Adapters take their ports.Clock in the constructor: expired packs are absent from every result.
//
// Its API may change at any time.
package packport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
)

// Reader finds packs. What it returns belongs to the caller: changing it changes nothing stored.
type Reader interface {
	// Get is the live pack of that id, or fails with pack.ErrNotFound when there is none or it has expired. It reads that pack
	// alone: damage elsewhere in the store does not matter. Damage to this one is pack.ErrMalformed, another schema version
	// pack.ErrSchema; both name the file.
	Get(ctx context.Context, id pack.ID) (*pack.Pack, error)
	// Lookup lists the live packs of exactly that name (case-sensitive), ordered by id; none is an empty list and no error.
	// It fails closed like List.
	Lookup(ctx context.Context, name pack.Name) ([]pack.Summary, error)
	// List is every live pack, ordered by id. It fails closed: one damaged file anywhere is pack.ErrMalformed, one of another
	// schema version pack.ErrSchema (even if expired); the message names the file and the way out (countersign pack doctor).
	List(ctx context.Context) ([]pack.Summary, error)
}

// Writer changes packs. One change of a pack happens at a time, across all processes; a change is stored whole and durably or not
// at all.
type Writer interface {
	// Create stores a new pack. It fails with pack.ErrExists when the id is taken (by a live, expired or trashed pack), and with
	// pack.ErrNameTaken when another live pack has its name; of creates racing for one name exactly one succeeds. Like List it
	// fails closed when the pack has a name; without a name, damage elsewhere does not matter.
	Create(ctx context.Context, p *pack.Pack) error
	// Update loads the live pack, runs change on it and stores what it leaves, unless change fails, when nothing is stored and
	// its error is returned as it is. A change that leaves the revision as it was stores nothing. It returns the pack as
	// stored. Absence, damage and schema are as with Get. change runs at most once and may not call the repository.
	Update(ctx context.Context, id pack.ID, change func(*pack.Pack) error) (*pack.Pack, error)
	// Delete runs check on the live pack and, unless check fails, moves the pack to a trash that nothing here reads again. Its
	// name is free at once. Absence, damage and schema are as with Get.
	Delete(ctx context.Context, id pack.ID, check func(*pack.Pack) error) error
}

// Repository keeps packs.
type Repository interface {
	Reader
	Writer
}

// Damage is one file of the store that is no readable pack.
type Damage struct {
	File   string // how users find it; give it to Quarantine unchanged
	Reason string
	Schema bool // readable, but of another schema version
}

// Concealed is one file of the store in which a reader would not see everything.
type Concealed struct {
	File string
	What string // in words: which characters, and where the first of them stand
}

// Reviewer looks at what the store holds as users read it.
type Reviewer interface {
	// Hidden lists the files that hold characters a reader would not see or would misread, ordered by name.
	Hidden(ctx context.Context) ([]Concealed, error)
}

// Doctor finds and sets aside damaged files. It never deletes.
type Doctor interface {
	// Inspect lists every damaged file, ordered by name; a healthy store gives an empty list.
	Inspect(ctx context.Context) ([]Damage, error)
	// Quarantine moves one file that Inspect lists out of the store's way and returns where it is now. A file that is healthy
	// or not there fails with ErrHealthy.
	Quarantine(ctx context.Context, file string) (moved string, err error)
}

// Location is a source file: a slash path under a named root (empty: the default root).
type Location struct {
	Root pack.Root
	Path pack.Path
}

// Excerpts reads source lines. Nothing outside a root is ever read: symbolic links are followed only to files inside it.
type Excerpts interface {
	// Read opens the file once and hands visit the line number from, then the line number that visit returns, and so on, without
	// going back, until visit returns 0 or a number not above the current one, or the file ends. Lines between are skipped and
	// cost no call. Lines count from 1 and end at "\n"; one trailing "\r" is stripped; a last line without "\n" counts; an empty
	// file has none. The slice is valid only during the call.
	//
	// lines is the file's number of lines when its end was reached (a wanted line did not exist, or was the last), and otherwise
	// the number of the last line visited.
	//
	// It fails with the Err values below. Text is checked for UTF-8 at least where it is visited. Calls may run concurrently.
	Read(ctx context.Context, at Location, from int, visit func(n int, line []byte) (next int)) (lines int, err error)
}

// History reads source lines as they were at a commit. It is optional: without one, a comparison uses what the pack itself kept.
type History interface {
	// Lines is the range of the file as of commit. It fails with ErrMissing when commit, file or lines are not there.
	Lines(ctx context.Context, at Location, commit pack.Commit, lines pack.LineRange) ([]string, error)
}

// Why a source file cannot be read. Each derivative's message names the path; none names anything outside the root.
var (
	ErrMissing   = fault.New(fault.NotFound, "source_missing", "the file does not exist under source root")
	ErrOutside   = fault.New(fault.Invalid, "source_outside_root", "the path resolves outside the source root")
	ErrRoot      = fault.New(fault.Invalid, "source_root_unknown", "no source root of that name is configured")
	ErrDirectory = fault.New(fault.Unavailable, "source_is_directory", "the path is a directory")
	ErrNotFile   = fault.New(fault.Unavailable, "source_not_a_file", "the path is no regular file")
	ErrNotText   = fault.New(fault.Unavailable, "source_not_utf8", "the file is not valid UTF-8 text")
	ErrTooLong   = fault.New(fault.Unavailable, "source_line_too_long", "a line is longer than can be shown")
	ErrDenied    = fault.New(fault.Unavailable, "source_unreadable", "the file cannot be read")
	ErrHealthy   = fault.New(fault.State, "pack_file_healthy", "the file is not among the damaged ones")
)
