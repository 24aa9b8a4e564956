package ecosystemfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

const (
	maxState   = 16 << 20
	firstPause = 2 * time.Millisecond
	maxPause   = 50 * time.Millisecond
)

// stateOptions are all required, but for Carry and End. A work is known by its name, whatever process is at it.
type stateOptions struct {
	Clock  ports.Clock
	State  func() (string, error)                                 // the user's state directory
	Config func() (string, error)                                 // that of settings, where an earlier version's state may be
	Carry  func(ctx context.Context, work string) context.Context // has programs that are started with the context be known as that work's; nil marks none
	End    func(work string) (left []int)                         // ends the programs that a process which was killed had started for the work, and reports those that could not be; nil ends none
}

// StateStore reads and writes the files. Any number of StateStores, in any number of processes, may share them. It implements ecosystemport.States.
type StateStore struct{ o stateOptions }

// NewStateStore returns the files below the directories of o. Nothing is opened or made yet.
func NewStateStore(o stateOptions) *StateStore { return &StateStore{o} }

// recorded is what a state directory holds of a workspace's ecosystem.
type recorded struct {
	dir   *docfile.Dir
	owner string // the workspace root it belongs to; empty: to none yet
	state ecosystem.State
	there bool     // a state of the form there is now is stored
	old   *earlier // where the state came from, when that was an earlier version's file
}

// Load implements ecosystemport.States. What is recorded of another workspace's ecosystem of that name is not this one's.
func (b *StateStore) Load(ctx context.Context, l ecosystem.Layout) (ecosystem.State, error) {
	if err := ctx.Err(); err != nil {
		return ecosystem.State{}, err
	}
	r, err := b.read(l)
	return r.state, err
}

func (b *StateStore) read(l ecosystem.Layout) (r recorded, err error) {
	r.dir = docfile.NewDir(l.State)
	if r.owner, err = owner(l.State); err != nil {
		return r, err
	}
	if r.owner != "" && r.owner != l.Root {
		return r, nil
	}
	text, _, err := r.dir.Read(stateFile, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.old, err = b.earlier(l)
		if r.old != nil {
			r.state = r.old.state
		}
		return r, err
	case err == nil:
		err = json.Unmarshal(text, &r.state)
	}
	switch {
	case err != nil:
		err = ecosystem.ErrState.WithMessage("%s cannot be used and was not changed; repair it, or move it away and install again", r.dir.File(stateFile)).WithCause(err)
	case r.state.Version > ecosystem.StateVersion:
		err = ecosystem.ErrState.WithMessage("%s has version %d, but this program supports only %d; use a newer program", r.dir.File(stateFile), r.state.Version, ecosystem.StateVersion)
	case r.state.Version < ecosystem.StateVersion || r.state.Root != l.Root || r.state.Ecosystem != l.Name:
		r.state = ecosystem.State{} // nothing of ours; it is replaced when something is recorded
	default:
		r.there = true
		return r, nil
	}
	r.state = ecosystem.State{}
	return r, err
}

// Update implements ecosystemport.States. It fills in the version, the names and the times; what is the same as before is not written again.
func (b *StateStore) Update(ctx context.Context, l ecosystem.Layout, change func(*ecosystem.State) error) (ecosystem.State, error) {
	release, err := b.hold(ctx, l)
	if err != nil {
		return ecosystem.State{}, err
	}
	defer release()
	r, err := b.read(l)
	if err == nil {
		err = r.foreign(l)
	}
	if err != nil {
		return ecosystem.State{}, err
	}
	before, err := encodeState(r.state)
	if err != nil {
		return ecosystem.State{}, err
	}
	after := ecosystem.State{}
	if err := json.Unmarshal(before, &after); err != nil { // the caller's to change, maps and all
		return ecosystem.State{}, err
	}
	if err := change(&after); err != nil {
		return ecosystem.State{}, err
	}
	if blank(after) {
		return ecosystem.State{}, storedState(b.forget(ctx, l, r), l)
	}
	if text, err := encodeState(after); err == nil && r.there && bytes.Equal(text, before) {
		return after, nil
	}
	return after, storedState(b.write(ctx, l, r, &after), l)
}

// write stores a state, and takes over the directory and the earlier version's file with it.
func (b *StateStore) write(ctx context.Context, l ecosystem.Layout, r recorded, s *ecosystem.State) error {
	s.Version, s.Ecosystem, s.Root, s.LastModified = ecosystem.StateVersion, l.Name, l.Root, b.o.Clock.Now().UTC()
	if s.CreatedAt.IsZero() {
		s.CreatedAt = s.LastModified
	}
	if s.Tickets == nil {
		s.Tickets = map[string]ecosystem.Ticket{}
	}
	if s.Repos == nil {
		s.Repos = []ecosystem.RepoState{}
	}
	text, err := encodeState(s)
	if err != nil {
		return err
	}
	return cmp.Or(r.claim(l), b.take(ctx, l, r.old), r.dir.Write(stateFile, text))
}

// forget removes a state; the directory stays the workspace's own while anything else is in it.
func (b *StateStore) forget(ctx context.Context, l ecosystem.Layout, r recorded) error {
	if !r.there && r.old == nil {
		return nil
	}
	if r.old != nil { // or it would come back
		if err := cmp.Or(r.claim(l), b.take(ctx, l, r.old)); err != nil {
			return err
		}
	}
	if err := r.dir.Remove(stateFile); err != nil {
		return err
	}
	left := 0
	err := r.dir.Scan(".", func(name string, _ func() (fs.FileInfo, error)) error {
		if name != ownerFile {
			left++
		}
		return nil
	})
	if err == nil && left == 0 {
		err = r.dir.Remove(ownerFile)
	}
	return err
}

// claim marks the directory as the workspace's.
func (r recorded) claim(l ecosystem.Layout) error {
	if r.owner == l.Root {
		return nil
	}
	return r.dir.Write(ownerFile, []byte(l.Root+"\n"))
}

// foreign fails for a directory that another workspace took since the layout was worked out.
func (r recorded) foreign(l ecosystem.Layout) error {
	if r.owner == "" || r.owner == l.Root {
		return nil
	}
	return ecosystem.ErrBusy.WithMessage("another workspace with an ecosystem %s, %s, was recorded at the same time; try again", l.Name, r.owner)
}

func blank(s ecosystem.State) bool {
	return !s.Installed() && s.WorkspaceBranch == "" && s.ActiveTicket == nil && len(s.Tickets) == 0 && len(s.Repos) == 0
}

// encodeState is indented JSON, with < and & as they are.
func encodeState(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}

// storedState words what the file system refused.
func storedState(err error, l ecosystem.Layout) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return err
	}
	return ecosystem.ErrStorage.WithMessage("the state of %s could not be stored in %s; check the directory's permissions and the free disk space", l.Name, l.State).WithCause(err)
}

// hold takes the lock of an ecosystem's state for the moment of a change.
func (b *StateStore) hold(ctx context.Context, l ecosystem.Layout) (release func(), err error) {
	return b.lock(ctx, l, ".state.lock", docfile.LockWait)
}

// Lock implements ecosystemport.States. The lock goes with the process that has it; a file beside the lock says that it did not go in order.
func (b *StateStore) Lock(ctx context.Context, l ecosystem.Layout, most time.Duration) (held context.Context, release func(), err error) {
	unlock, err := b.lock(ctx, l, ".lock", most)
	if err != nil {
		return ctx, nil, err
	}
	state, err := b.o.State()
	if err != nil {
		unlock()
		return ctx, nil, err
	}
	busy := filepath.Join(state, "locks", filepath.Base(l.State)+".busy")
	switch file, err := os.OpenFile(busy, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); {
	case err == nil:
		_ = file.Close()
	case errors.Is(err, fs.ErrExist) && b.o.End != nil:
		if left := b.o.End(busy); len(left) > 0 {
			unlock()
			return ctx, nil, ecosystem.ErrBusy.WithMessage("a process that worked on ecosystem %s was killed, and programs that it started cannot be stopped (processes %v); stop them and call again", l.Name, left)
		}
	} // where there is no room for the file, the work still goes on
	if b.o.Carry != nil {
		ctx = b.o.Carry(ctx, busy)
	}
	return ctx, func() {
		_ = os.Remove(busy)
		unlock()
	}, nil
}

func (b *StateStore) lock(ctx context.Context, l ecosystem.Layout, suffix string, most time.Duration) (func(), error) {
	state, err := b.o.State()
	if err != nil {
		return nil, err
	}
	dir, name := docfile.NewDir(filepath.Join(state, "locks")), filepath.Base(l.State)+suffix // apart from what it guards, which may go
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		held, err := dir.TryLock(name)
		if err != nil {
			return nil, storedState(err, l)
		}
		if held != nil {
			return func() { _ = held.Release() }, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		case <-deadline.C:
			return nil, ecosystem.ErrBusy.WithMessage("another Countersign process is working on ecosystem %s and did not finish within %s; amof_get_active_runs lists its runs", l.Name, most)
		}
	}
}

// Note implements ecosystemport.States.
func (b *StateStore) Note(ctx context.Context, l ecosystem.Layout, name string, doc []byte) error {
	if err := checkNote(name); err != nil {
		return err
	}
	release, err := b.hold(ctx, l)
	if err != nil {
		return err
	}
	defer release()
	r := recorded{dir: docfile.NewDir(l.State)}
	if r.owner, err = owner(l.State); err == nil {
		err = r.foreign(l)
	}
	if err != nil {
		return err
	}
	if doc == nil {
		return storedState(r.dir.Remove(name), l)
	}
	return storedState(cmp.Or(r.claim(l), r.dir.Write(name, doc)), l)
}

// Noted implements ecosystemport.States.
func (b *StateStore) Noted(ctx context.Context, l ecosystem.Layout, name string) ([]byte, error) {
	if err := cmp.Or(ctx.Err(), checkNote(name)); err != nil {
		return nil, err
	}
	if owner, err := owner(l.State); err != nil || owner != "" && owner != l.Root {
		return nil, err
	}
	doc, _, err := docfile.NewDir(l.State).Read(name, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ecosystem.ErrState.WithMessage("%s cannot be read; repair it, or move it away", filepath.Join(l.State, name)).WithCause(err)
	}
	return doc, nil
}

// Notes implements ecosystemport.States.
func (b *StateStore) Notes(ctx context.Context, l ecosystem.Layout, dir string) ([]string, error) {
	if err := cmp.Or(ctx.Err(), checkNote(dir)); err != nil {
		return nil, err
	}
	if owner, err := owner(l.State); err != nil || owner != "" && owner != l.Root {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(l.State, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ecosystem.ErrState.WithMessage("%s cannot be read; repair it, or move it away", filepath.Join(l.State, dir)).WithCause(err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// checkNote fails for a name that is not one path element or two, or that the state itself has: a defect of the caller.
func checkNote(name string) error {
	if !fs.ValidPath(name) || strings.Count(name, "/") > 1 || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || strings.ContainsRune(name, 0) ||
		name == stateFile || name == ownerFile || name == tookFile {
		return fault.ErrInternal.WithCause(errors.New("no name of a note: " + name))
	}
	return nil
}
