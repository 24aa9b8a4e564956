package anchoring

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/audit"
)

// The files of a home: the list of anchors, the progress of each, and the last checkpoint.
const (
	cacheDir       = "cache"
	checkpointFile = "audit-checkpoint.json"

	listFile  = "anchors.json"
	stateFile = "anchors.state.json"
	lockFile  = "anchors.lock"
)

// list is the user's list of anchors.
type list struct {
	Anchors   []audit.Anchor `json:"anchors"`
	NoJournal bool           `json:"no_journal,omitempty"`
}

// progress is the progress of one anchor.
type progress struct {
	Put      audit.Head `json:"put"`            // the newest head written there
	Mark     string     `json:"mark,omitempty"` // data of the place itself
	Tried    time.Time  `json:"tried"`
	Failures int        `json:"failures,omitempty"` // since the last success
	Failure  string     `json:"failure,omitempty"`
}

// book is both files of a home. Several processes may use them.
type book struct{ dir *docfile.Dir }

func (b book) list() (list, error) {
	var l list
	err := b.read(listFile, &l)
	return l, err
}

func (b book) state() (map[string]progress, error) {
	s := map[string]progress{}
	err := b.read(stateFile, &s)
	if s == nil {
		s = map[string]progress{}
	}
	return s, err
}

func (b book) read(name string, into any) error {
	data, _, err := b.dir.Read(name, 1<<22)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return ErrAnchor.WithMessage("%s cannot be read", b.dir.File(name)).WithCause(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return ErrAnchor.WithMessage("%s is damaged: %v; restore it from a copy", b.dir.File(name), err)
	}
	return nil
}

func (b book) write(name string, v any) error {
	doc, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = b.dir.Write(name, append(doc, '\n'))
	}
	if err != nil {
		return ErrAnchor.WithMessage("%s cannot be written", b.dir.File(name)).WithCause(err)
	}
	return nil
}

// change applies f to the list and stores the result, unless f fails.
func (b book) change(ctx context.Context, f func(*list) error) error {
	return b.locked(ctx, func() error {
		l, err := b.list()
		if err != nil {
			return err
		}
		l.Anchors = slices.Clone(l.Anchors)
		if err := f(&l); err != nil {
			return err
		}
		return b.write(listFile, l)
	})
}

// note applies f to the progress of that anchor and stores the result.
func (b book) note(ctx context.Context, a audit.Anchor, f func(*progress)) error {
	return b.locked(ctx, func() error {
		s, err := b.state()
		if err != nil {
			s = map[string]progress{} // it contains less then, but nothing wrong
		}
		p := s[a.String()]
		f(&p)
		s[a.String()] = p
		return b.write(stateFile, s)
	})
}

// checkpoint returns up to where the audit was checked; zero where nothing usable says so.
func (b book) checkpoint() (at audit.Checkpoint) {
	data, _, err := b.cache().Read(checkpointFile, 1<<22)
	if err != nil || json.Unmarshal(data, &at) != nil {
		return audit.Checkpoint{}
	}
	return at
}

// keep stores up to where the audit was checked.
func (b book) keep(at audit.Checkpoint) error {
	doc, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return b.cache().Write(checkpointFile, append(doc, '\n'))
}

// forget has the next check read everything.
func (b book) forget() {
	_ = b.cache().Remove(checkpointFile) // one that stays is told to be about records that were in order when they were read
}

func (b book) cache() *docfile.Dir { return docfile.NewDir(b.dir.File(cacheDir)) }

func (b book) locked(ctx context.Context, f func() error) error {
	lock, err := b.dir.Lock(ctx, lockFile)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // what was done under it is done
	return f()
}

// Listed returns the anchors configured in the home in that directory, and whether the system's journal is disabled.
func Listed(dir string) (anchors []audit.Anchor, noJournal bool, err error) {
	l, err := book{docfile.NewDir(dir)}.list()
	return l.Anchors, l.NoJournal, err
}
