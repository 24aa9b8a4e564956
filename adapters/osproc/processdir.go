package osproc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
)

// What is in the directory: a directory a process, with its state, its mailbox and its output, and the names of those that have not
// ended in one directory more, so that looking for them does not mean reading all.
const (
	stateName  = "state.json"
	boxName    = "mailbox"
	lockName   = "lock"
	activeName = "active"
)

// maxState bounds a state that is read: arguments may have a megabyte, and JSON makes up to six bytes of one.
const maxState = 8 << 20

// record is what is kept of a process besides its output.
type record struct {
	State  process.State `json:"state"`
	Owner  Identity      `json:"owner"`  // who looks after it; the only one to write while alive
	Leader Identity      `json:"leader"` // of its process group; empty before it runs
}

// idForm is the names that newPlace gives. It is made when it is needed: most programs that are built with this package start nothing.
var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(bp|run)_[0-9a-f]{8}$`) })

func (p *Processes) path(id process.ID, name string) string {
	return filepath.Join(p.o.Dir, string(id), name)
}

// claim makes the place of a process that is about to be started by this one.
func (p *Processes) claim(ctx context.Context, s process.Spec, background bool) (record, error) {
	lock, err := docfile.NewDir(p.o.Dir).Lock(ctx, lockName)
	if err != nil {
		return record{}, err
	}
	defer lock.Release() //nolint:errcheck // the file stays, the lock goes with the descriptor
	prefix := "run_"
	if background {
		prefix = "bp_"
		if err := p.checkLimit(); err != nil {
			return record{}, err
		}
	}
	id, err := p.newPlace(prefix)
	if err != nil {
		return record{}, err
	}
	state, err := process.NewState(id, s, p.o.Clock.Now())
	if err != nil {
		return record{}, err
	}
	redactor := p.o.Redact().With(s.Secrets...)
	for i, arg := range state.Argv {
		state.Argv[i], _ = redactor.Text(redact.StripControl(arg))
	}
	state.Background = background
	rec := record{State: state}.ownedBy(SelfIdentity())
	if err := p.save(rec); err != nil {
		return record{}, errors.Join(err, os.RemoveAll(p.path(id, "")))
	}
	return rec, p.setActive(id)
}

func (r record) ownedBy(owner Identity) record {
	r.Owner, r.State.Owner = owner, owner.PID()
	return r
}

// checkLimit fails if no further process may run in the background. The caller holds the lock.
func (p *Processes) checkLimit() error {
	ids, err := p.active()
	if err != nil {
		return err
	}
	var titles []string
	for _, id := range ids {
		if rec, err := p.load(id); err == nil && rec.State.Background && !rec.State.Status.Final() {
			titles = append(titles, title(rec.State))
		}
	}
	if len(titles) < p.o.Background {
		return nil
	}
	return process.ErrLimit.WithMessage("%d background processes are running, the maximum: %s; stop one with stop_background_process",
		len(titles), strings.Join(titles, ", "))
}

func (p *Processes) newPlace(prefix string) (process.ID, error) {
	for {
		var random [4]byte
		rand.Read(random[:]) //nolint:errcheck // it never fails: it ends the program instead
		id := process.ID(prefix + hex.EncodeToString(random[:]))
		if err := os.Mkdir(p.path(id, ""), 0o700); !errors.Is(err, fs.ErrExist) {
			return id, err
		}
	}
}

func (p *Processes) setActive(id process.ID) error {
	dir := filepath.Join(p.o.Dir, activeName)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := filepath.Join(dir, string(id))
	if os.Link(p.path(id, stateName), name) == nil { // the name is all that matters, and this takes no file of its own
		return nil
	}
	return os.WriteFile(name, nil, 0o600)
}

func (p *Processes) setEnded(id process.ID) {
	_ = os.Remove(filepath.Join(p.o.Dir, activeName, string(id))) // whoever finds it later sees that the process has ended
}

// active returns the processes that may not have ended.
func (p *Processes) active() ([]process.ID, error) { return idsIn(filepath.Join(p.o.Dir, activeName)) }

// all returns the processes there is a place of.
func (p *Processes) all() ([]process.ID, error) { return idsIn(p.o.Dir) }

func idsIn(dir string) (ids []process.ID, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if idForm().MatchString(e.Name()) {
			ids = append(ids, process.ID(e.Name()))
		}
	}
	return ids, err
}

// save writes a record so that readers see the old one or the new one. It need not survive a crash of the machine: no process does.
func (p *Processes) save(rec record) error {
	doc, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	file := p.path(rec.State.ID, stateName)
	if err = os.WriteFile(file+".new", doc, 0o600); err == nil {
		err = os.Rename(file+".new", file)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.unsaved[rec.State.ID] = rec
		return err
	}
	delete(p.unsaved, rec.State.ID)
	return nil
}

// conclude is save for the last record of a process, and setEnded. The file among the active ones becomes the record, where that is another
// one: making files is what running a short program spends most on.
func (p *Processes) conclude(rec record) error {
	active, file := filepath.Join(p.o.Dir, activeName, string(rec.State.ID)), p.path(rec.State.ID, stateName)
	mark, _ := os.Stat(active)
	have, _ := os.Stat(file)
	doc, err := json.Marshal(rec)
	if err == nil && mark != nil && have != nil && !os.SameFile(mark, have) && os.WriteFile(active, doc, 0o600) == nil && os.Rename(active, file) == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.unsaved, rec.State.ID)
		return nil
	}
	err = p.save(rec)
	if err == nil {
		p.setEnded(rec.State.ID)
	}
	return err
}

// load reads a record, or fails with process.ErrNotFound.
func (p *Processes) load(id process.ID) (record, error) {
	if !idForm().MatchString(string(id)) {
		return record{}, process.ErrNotFound.WithMessage("process %.40q not found", id)
	}
	doc, _, err := docfile.NewDir(p.o.Dir).Read(string(id)+"/"+stateName, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, process.ErrNotFound.WithMessage("process %s not found; list_background_processes lists the processes, and ended ones are removed after an hour", id)
	}
	var rec record
	if err == nil {
		err = json.Unmarshal(doc, &rec)
	}
	if err == nil && rec.State.ID != id {
		err = errors.New("it belongs to another process")
	}
	if err != nil {
		return record{}, process.ErrNotFound.WithMessage("the record of process %s in %s cannot be read", id, p.path(id, stateName)).WithCause(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if newer, ok := p.unsaved[id]; ok {
		rec = newer
	}
	return rec, nil
}

// saveEnded retries writing the records of ended processes. The record of a running process is written by its owner.
func (p *Processes) saveEnded() {
	p.mu.Lock()
	unsaved := slices.Collect(maps.Values(p.unsaved))
	p.mu.Unlock()
	for _, rec := range unsaved {
		if rec.State.Status.Final() && p.save(rec) == nil {
			p.setEnded(rec.State.ID)
		}
	}
}

// settled loads a record and reports whether nobody looks after its process, which has not ended, any more. One whose owner cannot be seen from
// here is looked after.
func (p *Processes) settled(id process.ID) (rec record, lost bool, err error) {
	rec, err = p.load(id)
	if err != nil || rec.State.Status.Final() || !p.o.Judge(string(rec.Owner)).Dead() {
		return rec, false, err
	}
	rec, err = p.load(id) // what its owner wrote last
	return rec, err == nil && !rec.State.Status.Final() && p.o.Judge(string(rec.Owner)).Dead(), err
}

// elsewhere says where the owner of a process is that cannot be seen from here, and how the user settles it; empty when it can be seen.
func (p *Processes) elsewhere(rec record) string {
	if p.o.Judge(string(rec.Owner)) != owner.Unknown {
		return ""
	}
	return owner.Elsewhere(string(rec.Owner), LocalPlace())
}

// lastSign returns when something was last written of a process.
func (p *Processes) lastSign(id process.ID) time.Time {
	var last time.Time
	if info, err := os.Stat(p.path(id, "")); err == nil {
		last = info.ModTime()
	}
	entries, _ := os.ReadDir(p.path(id, ""))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != lockName && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last.UTC()
}

// prune forgets processes that ended long ago, and the oldest of very many, once a minute at most.
func (p *Processes) prune() {
	now := p.o.Clock.Now()
	p.mu.Lock()
	due := p.pruned.IsZero() || now.Sub(p.pruned) >= time.Minute
	if due {
		p.pruned = now
	}
	p.mu.Unlock()
	type old struct {
		id    process.ID
		ended time.Time
		keep  time.Duration
	}
	if !due {
		return
	}
	var olds []old
	ids, _ := p.all()
	active, _ := p.active()
	for _, id := range ids {
		if slices.Contains(active, id) {
			continue
		}
		rec, lost, err := p.settled(id)
		ended := rec.State.EndedAt
		if err != nil || lost { // no more of it than a beginning
			ended = p.lastSign(id)
		}
		if err != nil || lost || rec.State.Status.Final() {
			olds = append(olds, old{id, ended, max(rec.State.Keep, keepEnded)})
		}
	}
	slices.SortFunc(olds, func(a, b old) int { return b.ended.Compare(a.ended) })
	for i, o := range olds {
		if i >= keepMost || now.Sub(o.ended) > o.keep {
			_ = os.RemoveAll(p.path(o.id, "")) // the next time, if not now
		}
	}
}
