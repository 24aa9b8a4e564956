// Package ecosystemport declares what ecosystems need: paths, manifests, recorded state, runs and their logs, git, and provisioners. The comments of each
// method are its contract; the adapters' tests hold them to it.
//
// Its API may change at any time.
package ecosystemport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Places resolves paths. Paths are absolute, with links resolved.
type Places interface {
	// Root returns the workspace root (amof contract §2): AMOF_WORKSPACE_ROOT, else the one in amof.yaml, else the nearest directory from the working directory
	// up that has ecosystems/ and is a repository, else the working directory. It fails with ecosystem.ErrRoot.
	Root(ctx context.Context) (string, error)
	// Layout returns the paths of the ecosystem with that name. It creates nothing, and reads only what it needs to distinguish workspaces whose ecosystems have
	// the same name. It fails with ecosystem.ErrName.
	Layout(ctx context.Context, root, name string) (ecosystem.Layout, error)
	// Settings returns amof.yaml overridden by the environment. It fails with ecosystem.ErrSettings.
	Settings(ctx context.Context) (ecosystem.Settings, error)
	// Default returns the ecosystem that .amof/agent.yaml of the root selects, or "".
	Default(ctx context.Context, root string) (string, error)
	// SetDefault selects the default ecosystem and keeps the rest of the file; "" selects none.
	SetDefault(ctx context.Context, root, name string) error
}

// Loaded is a manifest as it was read.
type Loaded struct {
	Manifest ecosystem.ManifestResult // what it says, and everything that is wrong with it
	SHA256   string                   // of the file, hex
	Bytes    []byte
}

// Counts is the number of entries in an ecosystem's directory.
type Counts struct{ KB, Journal, Tasks int }

// Manifests reads and creates the ecosystems of a workspace root.
type Manifests interface {
	// Names returns the directories under ecosystems/ that have a manifest, sorted.
	Names(ctx context.Context, root string) ([]string, error)
	// Load reads a manifest. Problems in it are part of the result. It fails with ecosystem.ErrUnknown, and with ecosystem.ErrManifest for a file that is too
	// large or not a YAML mapping.
	Load(ctx context.Context, l ecosystem.Layout) (Loaded, error)
	// Counts counts the entries beside the manifest.
	Counts(ctx context.Context, l ecosystem.Layout) (Counts, error)
	// Initializes reports whether Create would make the workspace root a git repository.
	Initializes(ctx context.Context, l ecosystem.Layout) (bool, error)
	// Create writes the directory of a new ecosystem atomically, and makes the root a git repository if it is none. It returns the manifest's text and fails
	// with ecosystem.ErrExists.
	Create(ctx context.Context, l ecosystem.Layout, doc ecosystem.Draft) (string, error)
	// Write adds a file to the ecosystem's directory; name is relative to it. It fails with ecosystem.ErrExists.
	Write(ctx context.Context, l ecosystem.Layout, name string, data []byte) (path string, err error)
}

// States keeps the recorded state of installed workspaces.
type States interface {
	// Load returns the current state; zero if none is recorded. A state of version 3 is converted to the current version.
	Load(ctx context.Context, l ecosystem.Layout) (ecosystem.State, error)
	// Update runs change on the state and stores the result durably unless change fails. One Update of a state runs at a time, across all processes. A zero state
	// is deleted.
	Update(ctx context.Context, l ecosystem.Layout, change func(*ecosystem.State) error) (ecosystem.State, error)
	// Lock gives the caller exclusive use of the ecosystem, across all processes, until release is called. It waits at most that long and then fails with
	// ecosystem.ErrBusy. Do the work with held: it is ctx with a mark for the programs that are started. If the last holder was killed, its programs are ended
	// before Lock returns.
	Lock(ctx context.Context, l ecosystem.Layout, most time.Duration) (held context.Context, release func(), err error)
	// Note stores a small document with the state, durably and atomically (such as the operation log or an environment's state); nil deletes it. name is one or
	// two path elements.
	Note(ctx context.Context, l ecosystem.Layout, name string, doc []byte) error
	// Noted returns such a document, or nil.
	Noted(ctx context.Context, l ecosystem.Layout, name string) ([]byte, error)
	// Notes returns the names of the documents whose first path element is dir, without it, sorted.
	Notes(ctx context.Context, l ecosystem.Layout, dir string) ([]string, error)
}

// Runs keeps the records and logs of all runs of the user, within the limits of package ecosystem and without secrets.
type Runs interface {
	// Add stores a new run durably.
	Add(ctx context.Context, r ecosystem.Run) error
	// Change runs change on the record with exactly that ID and stores the result durably unless change fails. One Change of a record runs at a time, across all
	// processes. It fails with ecosystem.ErrRunUnknown.
	Change(ctx context.Context, id string, change func(*ecosystem.Run) error) (ecosystem.Run, error)
	// Load returns the run with that ID or prefix of an ID (at least ecosystem.MinPrefix characters). It fails with ecosystem.ErrRunUnknown and
	// ecosystem.ErrAmbiguous.
	Load(ctx context.Context, id string) (ecosystem.Run, error)
	// List returns the runs that the filter selects, newest first. Records that cannot be read are left out.
	List(ctx context.Context, f ecosystem.RunFilter) ([]ecosystem.Run, error)
	// Purge deletes final runs that are beyond the newest ecosystem.MaxKeptRuns or older than ecosystem.RunRetention.
	Purge(ctx context.Context) error

	// Append adds events to the run's log and sets their numbers and times. Lines are cut at ecosystem.MaxLine bytes.
	Append(ctx context.Context, id string, events ...ecosystem.RunEvent) error
	// Events returns the events with numbers above after.
	Events(ctx context.Context, id string, after int64) (Chunk, error)
}

// Chunk is a part of a run's log.
type Chunk struct {
	Events    []ecosystem.RunEvent
	Total     int64
	Truncated bool // the log met its bound, and what came later is missing
}

// Workers runs queued runs in processes of their own, which outlive the process that queued them.
type Workers interface {
	// Wake makes sure that a process will work on the queue of that ecosystem.
	Wake(ctx context.Context, l ecosystem.Layout) error
	// Turn waits for one of the ecosystem.MaxParallel slots and holds it until release is called.
	Turn(ctx context.Context, places int) (release func(), err error)
}
