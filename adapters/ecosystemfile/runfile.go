package ecosystemfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/ports"
)

// Where things are in the directory. Locks are apart, so that a listing need not pass over them.
const (
	recordSuffix = ".json"
	logSuffix    = ".jsonl"
	locksDir     = "locks"
	recordLock   = ".lock"
	logLock      = ".log.lock"

	maxRecord = 8 << 20
	maxID     = 64
	oldTemp   = time.Hour // what a writer that died left is removed after that
)

// RunOptions are where the runs are and what surrounds them.
type RunOptions struct {
	Dir    func() (string, error)  // the directory, asked for each time; it need not exist
	Clock  ports.Clock             // times events, and says what is old
	Redact func() *redact.Redactor // masks what is logged, asked for on first need; nil is the rules alone
}

// RunStore is the files. Any number of Stores, in any number of processes, may share them. It implements ecosystemport.Runs.
type RunStore struct {
	o    RunOptions
	mask func() *redact.Redactor

	mu   sync.Mutex
	seen map[string]glance // records of runs that have ended, as they were last listed
}

// NewRunStore returns the files in o.Dir. Nothing is opened or made yet.
func NewRunStore(o RunOptions) *RunStore {
	mask := o.Redact
	if mask == nil {
		mask = func() *redact.Redactor { return redact.New(redact.Options{}) }
	}
	return &RunStore{o: o, mask: sync.OnceValue(mask)}
}

func (s *RunStore) dir() (*docfile.Dir, error) {
	path, err := s.o.Dir()
	if err != nil {
		return nil, err
	}
	return docfile.NewDir(path), nil
}

// isID reports what can be, or begin, the id of a run: it is part of a file's name.
func isID(id string) bool {
	return id != "" && len(id) <= maxID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == "" && id[0] != '-'
}

func unknown(id string) error {
	return ecosystem.ErrRunUnknown.WithMessage("run %.64q not found; amof_list_runs lists the runs", id)
}

// lock takes a lock of the run of that id.
func lock(ctx context.Context, dir *docfile.Dir, id, suffix string) (*docfile.Lock, error) {
	held, err := dir.Lock(ctx, locksDir+"/"+id+suffix)
	if errors.Is(err, docfile.ErrLocked) {
		err = ecosystem.ErrBusy.WithMessage("another process has locked the record of run %s for %s; check whether one hangs", id, docfile.LockWait).WithCause(err)
	}
	return held, failed(dir, id, err)
}

// failed words what the file system refused.
func failed(dir *docfile.Dir, id string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return ecosystem.ErrStorage.WithMessage("run %s could not be stored in %s; check the directory's permissions and the free disk space", id, dir.Path()).WithCause(err)
	}
	return err
}

// Add implements ecosystemport.Runs.
func (s *RunStore) Add(ctx context.Context, r ecosystem.Run) error {
	dir, err := s.dir()
	if err != nil {
		return err
	}
	if !isID(r.ID) || len(r.ID) < ecosystem.MinPrefix {
		return unknown(r.ID)
	}
	held, err := lock(ctx, dir, r.ID, recordLock)
	if err != nil {
		return err
	}
	defer held.Release() //nolint:errcheck // closing is all there is to it
	if _, err := dir.Stat(r.ID + recordSuffix); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(failed(dir, r.ID, err), error(ecosystem.ErrMove.WithMessage("run %s already exists", r.ID)))
	}
	return s.write(dir, r)
}

// write stores a record with secrets redacted, except in the payload, which the run needs.
func (s *RunStore) write(dir *docfile.Dir, r ecosystem.Run) error {
	if r.Error != "" {
		r.Error, _ = s.mask().Text(r.Error)
	}
	if r.Result != nil {
		masked, _, err := s.mask().JSON(r.Result)
		if err != nil {
			return err
		}
		r.Result = masked
	}
	text, err := encode(r)
	if err != nil {
		return err
	}
	return failed(dir, r.ID, dir.Write(r.ID+recordSuffix, text))
}

// encode returns one line of JSON, with < and & as they are.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return out.Bytes(), err
}

// Change implements ecosystemport.Runs.
func (s *RunStore) Change(ctx context.Context, id string, change func(*ecosystem.Run) error) (ecosystem.Run, error) {
	dir, err := s.dir()
	if err != nil {
		return ecosystem.Run{}, err
	}
	if !isID(id) {
		return ecosystem.Run{}, unknown(id)
	}
	if _, err := dir.Stat(id + recordSuffix); errors.Is(err, fs.ErrNotExist) {
		return ecosystem.Run{}, unknown(id) // and no lock's file is made for it
	}
	held, err := lock(ctx, dir, id, recordLock)
	if err != nil {
		return ecosystem.Run{}, err
	}
	defer held.Release() //nolint:errcheck // closing is all there is to it
	r, err := read(dir, id)
	if err != nil {
		return ecosystem.Run{}, err
	}
	before, err := encode(r)
	if err != nil {
		return ecosystem.Run{}, err
	}
	if err := change(&r); err != nil {
		return ecosystem.Run{}, err
	}
	r.ID = id
	if after, err := encode(r); err == nil && bytes.Equal(before, after) {
		return r, nil
	}
	return r, s.write(dir, r)
}

// read returns the record of exactly that id.
func read(dir *docfile.Dir, id string) (r ecosystem.Run, err error) {
	text, _, err := dir.Read(id+recordSuffix, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return r, unknown(id)
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && (r.ID != id || !slices.Contains(ecosystem.RunStatuses(), r.Status)) {
		err = errors.New("it is not a record of this run")
	}
	if err != nil {
		return ecosystem.Run{}, ecosystem.ErrState.WithMessage("the record of run %s cannot be read (%s); move it away", id, dir.File(id+recordSuffix)).WithCause(err)
	}
	return r, nil
}

// Load implements ecosystemport.Runs.
func (s *RunStore) Load(ctx context.Context, id string) (ecosystem.Run, error) {
	dir, err := s.dir()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return ecosystem.Run{}, err
	}
	if !isID(id) {
		return ecosystem.Run{}, unknown(id)
	}
	if r, err := read(dir, id); !errors.Is(err, ecosystem.ErrRunUnknown) {
		return r, err
	}
	if len(id) < ecosystem.MinPrefix {
		return ecosystem.Run{}, ecosystem.ErrRunUnknown.WithMessage("run %q not found; give at least %d characters of its id", id, ecosystem.MinPrefix)
	}
	var found []string
	err = scan(dir, func(name string, _ func() (fs.FileInfo, error)) error {
		if strings.HasPrefix(name, strings.ToLower(id)) {
			found = append(found, name)
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return ecosystem.Run{}, err
	case len(found) == 0:
		return ecosystem.Run{}, unknown(id)
	case len(found) > 1:
		slices.Sort(found)
		return ecosystem.Run{}, ecosystem.ErrAmbiguous.WithMessage("the id of %d runs begins with %s; give more of it: %s", len(found), id, strings.Join(found[:min(len(found), 5)], ", "))
	}
	return read(dir, found[0])
}

// Purge implements ecosystemport.Runs. It also removes what writers that died left.
func (s *RunStore) Purge(ctx context.Context) error {
	dir, err := s.dir()
	if err != nil {
		return err
	}
	ended, err := s.all(ctx, ecosystem.RunFilter{})
	if err != nil {
		return err
	}
	now := s.o.Clock.Now()
	for i, r := range ended {
		if r.Status.Final() && (i >= ecosystem.MaxKeptRuns || now.Sub(r.CreatedAt) > ecosystem.RunRetention) {
			err = cmp.Or(err, forget(ctx, dir, r.ID))
		}
	}
	if _, sweep := dir.Sweep(".", oldTemp); sweep != nil && !errors.Is(sweep, fs.ErrNotExist) {
		err = cmp.Or(err, sweep)
	}
	return err
}

// forget removes a run's record, log and locks.
func forget(ctx context.Context, dir *docfile.Dir, id string) error {
	record, err := lock(ctx, dir, id, recordLock)
	if err != nil {
		return err
	}
	defer record.Retire() //nolint:errcheck // a lock's file that stays does no harm
	events, err := lock(ctx, dir, id, logLock)
	if err != nil {
		return err
	}
	defer events.Retire() //nolint:errcheck // a lock's file that stays does no harm
	return failed(dir, id, cmp.Or(dir.Remove(id+logSuffix), dir.Remove(id+recordSuffix)))
}
