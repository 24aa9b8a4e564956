// Package ecosystemport declares what ecosystems need: paths, manifests, recorded state, runs and their logs, git, and provisioners. The comments of each
// method are its contract; internal/testkit/ecosystemtest runs it against the adapters.
package ecosystemport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Places says where things are. Paths are absolute, with their links resolved.
type Places interface {
	// Root is the workspace root (amof contract §2): AMOF_WORKSPACE_ROOT, else amof.yaml's, else the nearest directory from the working
	// directory up that has ecosystems/ and is a repository, else the working directory. It fails with ecosystem.ErrRoot.
	Root(ctx context.Context) (string, error)
	// Layout is where things of the ecosystem of that name are. It reads no more than it must to tell workspaces apart that have ecosystems of
	// one name, and makes nothing. It fails with ecosystem.ErrName.
	Layout(ctx context.Context, root, name string) (ecosystem.Layout, error)
	// Settings is amof.yaml, the environment over it. It fails with ecosystem.ErrSettings.
	Settings(ctx context.Context) (ecosystem.Settings, error)
	// Default is the ecosystem that .amof/agent.yaml of the root selects, or empty.
	Default(ctx context.Context, root string) (string, error)
	// SetDefault selects it, keeping whatever else the file says; empty selects none.
	SetDefault(ctx context.Context, root, name string) error
}

// Loaded is a manifest as it was read.
type Loaded struct {
	Manifest ecosystem.ManifestResult // what it says, and everything that is wrong with it
	SHA256   string                   // of the file, hex
	Bytes    []byte
}

// Counts are what lies in an ecosystem's directory.
type Counts struct{ KB, Journal, Tasks int }

// Manifests are the ecosystems of a workspace root.
type Manifests interface {
	// Names are the directories under ecosystems/ with a manifest, sorted.
	Names(ctx context.Context, root string) ([]string, error)
	// Load reads a manifest. A manifest with problems is no error; it fails with ecosystem.ErrUnknown, and with ecosystem.ErrManifest for what
	// is no YAML mapping at all, or too large.
	Load(ctx context.Context, l ecosystem.Layout) (Loaded, error)
	// Counts counts what lies beside the manifest.
	Counts(ctx context.Context, l ecosystem.Layout) (Counts, error)
	// Initializes reports whether Create would also make the workspace root a git repository, because it is none.
	Initializes(ctx context.Context, l ecosystem.Layout) (bool, error)
	// Create writes the directory of a new ecosystem, whole or not at all, making the root a git repository when it is none. It returns the
	// manifest's text, and fails with ecosystem.ErrExists.
	Create(ctx context.Context, l ecosystem.Layout, doc ecosystem.Draft) (string, error)
	// Write puts one more file into the ecosystem's directory; name is relative to it. It fails with ecosystem.ErrExists.
	Write(ctx context.Context, l ecosystem.Layout, name string, data []byte) (path string, err error)
}

// States are what is recorded of installed workspaces.
type States interface {
	// Load is the state as it is now; zero when nothing is recorded. A state of version 3 is read as the version there is now.
	Load(ctx context.Context, l ecosystem.Layout) (ecosystem.State, error)
	// Update runs change on the state and stores what it leaves, durably, unless it fails; only one Update of a state runs at a time, across
	// all processes. A state that change leaves zero is forgotten.
	Update(ctx context.Context, l ecosystem.Layout, change func(*ecosystem.State) error) (ecosystem.State, error)
	// Lock has the caller be the only one that works on the ecosystem, across all processes, until release is called. It waits for at most
	// that long, then fails with ecosystem.ErrBusy. The work is done with held, which is ctx with a mark for the programs that are started: where the last holder
	// was killed, the programs that it had started are ended before Lock returns.
	Lock(ctx context.Context, l ecosystem.Layout, most time.Duration) (held context.Context, release func(), err error)
	// Note keeps a small document with the state, durably and whole or not at all (the journal of what is being done; the spin's state);
	// nil forgets it. name is one path element, or two.
	Note(ctx context.Context, l ecosystem.Layout, name string, doc []byte) error
	// Noted is such a document, or nil.
	Noted(ctx context.Context, l ecosystem.Layout, name string) ([]byte, error)
}

// Runs keeps the records of runs, for all workspaces of the user, and the logs of what happens in them: within the bounds of the domain, and
// without secrets.
type Runs interface {
	// Add stores a new run, durably.
	Add(ctx context.Context, r ecosystem.Run) error
	// Change runs change on the record of exactly that id and stores what it leaves, durably, unless it fails; only one Change of a record runs
	// at a time, across all processes. It fails with tracked.ErrUnknown.
	Change(ctx context.Context, id string, change func(*ecosystem.Run) error) (ecosystem.Run, error)
	// Load is the run whose id is that, or begins so (at least tracked.MinPrefix characters). It fails with tracked.ErrUnknown and tracked.ErrAmbiguous.
	Load(ctx context.Context, id string) (ecosystem.Run, error)
	// List is the runs that the filter chooses, newest first. A record that cannot be read is left out.
	List(ctx context.Context, f ecosystem.RunFilter) ([]ecosystem.Run, error)
	// Purge forgets runs that have ended, beyond the newest tracked.Kept and older than tracked.KeptFor.
	Purge(ctx context.Context) error

	// Append adds events to the run's log; it numbers and times them. Lines over tracked.MaxLine are cut.
	Append(ctx context.Context, id string, events ...ecosystem.RunEvent) error
	// Events are those numbered above after.
	Events(ctx context.Context, id string, after int64) (Chunk, error)
}

// Chunk is a part of a run's events.
type Chunk struct {
	Events    []ecosystem.RunEvent
	Total     int64
	Truncated bool // the log met its bound, and what came later is missing
}

// Workers carry out queued runs, in processes of their own that outlive whoever queued.
type Workers interface {
	// Wake has a process see to the queue of that ecosystem soon. It returns once that is certain.
	Wake(ctx context.Context, l ecosystem.Layout) error
	// Turn waits until one of the tracked.Parallel places is free, and takes it until release is called.
	Turn(ctx context.Context, places int) (release func(), err error)
}
