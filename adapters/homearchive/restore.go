package homearchive

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/adapters/anchoring"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
)

// The ways a home is not restored, and is as it was.
var (
	ErrRestore = fault.New(fault.Unavailable, "restore_failed", "the home was not restored and not changed")
	ErrForged  = fault.New(fault.Conflict, "restore_unknown", "the note of an interrupted restore does not match the audit log")
)

// note is what a restore does, so that every process can finish it. It is a file, which any program of the user can write: it counts only where the audit that
// is replaced knows it.
type note struct {
	ID       string     `json:"id"`
	By       string     `json:"by"`
	Backup   canon.Hash `json:"backup"`
	MadeAt   time.Time  `json:"made_at"`
	Home     string     `json:"home"` // that the backup was made of
	Records  int64      `json:"records"`
	Aside    string     `json:"aside"`    // name of the directory for what is replaced
	Replaces []string   `json:"replaces"` // names that go there, the database apart
	Brings   []string   `json:"brings"`   // names that come, the database apart
	Moving   bool       `json:"moving"`   // the database is ready; from here on it is finished, not taken back
}

// pending is a restore that is made ready and not begun.
type pending struct {
	note note
	held []*docfile.Lock
}

func (p *pending) release() {
	for _, l := range p.held {
		_ = l.Release()
	}
}

// Free fails where a server uses the home.
func (a *Archive) Free() error {
	lock, err := a.server()
	if err != nil {
		return err
	}
	return lock.Release()
}

// server holds the lock of servers.
func (a *Archive) server() (*docfile.Lock, error) {
	lock, err := docfile.NewDir(a.Home).TryLock(serverLock)
	if err == nil && lock == nil {
		err = ports.ErrHomeInUse.WithMessage("a server is running for %s; stop it (Ctrl-C where countersign serve or up runs) and call again; the approval is valid for an hour", a.Home)
	}
	return lock, err
}

// InUse fails where a server or any other process uses the home, this one included.
func InUse(ctx context.Context, home string) error {
	if err := New(Options{Home: home}).Free(); err != nil {
		return err
	}
	path := filepath.Join(home, database)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // nobody can use it
	}
	z, err := sqlitestore.Seize(ctx, path)
	if err != nil {
		if errors.Is(err, ports.ErrHomeInUse) {
			return err
		}
		return nil //nolint:nilerr // whoever opens it says what is wrong with it
	}
	return z.Release()
}

// Stage makes a restore ready beside what is there: nothing of the home is changed before Finish.
func (a *Archive) Stage(ctx context.Context, v ports.BackupView, by string, progress func(done, total int64)) (_ ports.Restored, err error) {
	p := &pending{note: note{ID: a.ID(), By: by, Backup: v.Sum, MadeAt: v.MadeAt, Home: v.Home, Records: v.Records, Aside: asidePrefix + a.Clock.Now().UTC().Format("20060102T150405.000Z")}}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	server, err := a.server()
	if err != nil {
		return ports.Restored{}, err
	}
	p.held = append(p.held, server)
	lock, err := docfile.NewDir(a.Home).TryLock(restoreLock)
	if err == nil && lock == nil || a.pending != nil {
		err = ports.ErrHomeInUse.WithMessage("another process is restoring %s", a.Home)
	}
	if err != nil {
		return ports.Restored{}, err
	}
	p.held = append(p.held, lock)
	if err := a.extract(ctx, v, progress); err != nil {
		os.RemoveAll(a.staged("")) //nolint:errcheck // the next one removes it
		return ports.Restored{}, err
	}
	leave := func(n string) bool { return n == database || slices.Contains(v.Keeps, n) }
	p.note.Brings = slices.DeleteFunc(slices.Clone(v.Brings), leave)
	p.note.Replaces = append(slices.DeleteFunc(slices.Clone(v.Replaces), leave), anchorState)
	if err := a.begin(ctx, p.note); err != nil {
		os.RemoveAll(a.staged("")) //nolint:errcheck // the next one removes it
		return ports.Restored{}, err
	}
	a.pending = p
	return ports.Restored{ID: p.note.ID, Home: a.Home, MadeAt: v.MadeAt, Aside: filepath.Join(a.Home, p.note.Aside)}, nil
}

// operation returns what the audit has of the note.
func (a *Archive) operation() audit.OperationLog {
	named, _ := a.Where()
	return audit.OperationLog{Tool: "restore_operation", Place: map[string]string{"home": named}}
}

// sealed returns the note as the audit knows it, which does not know how far it is.
func (n note) sealed() ([]byte, error) {
	n.Moving = false
	doc, err := json.Marshal(n)
	if err == nil {
		err = json.Unmarshal(doc, &n) // as whoever reads it has it
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(n)
}

// begin has the audit know what is about to be done.
func (a *Archive) begin(ctx context.Context, n note) error {
	doc, err := n.sealed()
	if err == nil && a.audit == nil {
		err = errors.New("the home has no audit log that records it")
	}
	if err == nil {
		err = a.audit.Append(ctx, a.operation().Begun(a.Clock.Now(), doc))
	}
	if err != nil {
		return ErrRestore.WithMessage("the home %s was not restored and not changed: %s", a.Home, fault.From(err).Message).WithCause(err)
	}
	return nil
}

// lately is how many records of an audit can follow the one that a restore was begun: those of the call that did so, and of what it let go of.
const lately = 100

// known fails where the audit of the home does not have it that this restore was begun. One that is said to be moving already has told in the audit that
// comes what does not come back.
func (a *Archive) known(ctx context.Context, n note, z *sqlitestore.Seized) error {
	doc, err := n.sealed()
	if err != nil {
		return err
	}
	newest, err := z.Newest(ctx, lately)
	if err != nil {
		return err
	}
	call := a.operation().Filter().Call
	open, _ := a.operation().Judge(slices.DeleteFunc(newest, func(r audit.Record) bool { return r.Event.CallID != call }), doc)
	if open && n.Moving {
		store := sqlitestore.Open(a.staged(database))
		last, tail := store.Tail(ctx, 1)
		if err := errors.Join(tail, store.Close()); err != nil {
			return err
		}
		open = endsWithRestore(last, n)
	}
	if !open {
		return ErrForged.WithMessage("%s says that a restore was interrupted, but the audit log of %s does not; nothing was moved; check the files that it names and %s, then move both away",
			filepath.Join(a.Home, sqlitestore.RestoreNote), a.Home, a.staged(""))
	}
	return nil
}

// endsWithRestore reports an audit that ends with having been put back by that restore.
func endsWithRestore(last []audit.Record, n note) bool {
	return len(last) == 1 && last[0].Event.Tool == audit.RestoreTool && last[0].Event.CallID == n.ID
}

// staged returns a path in the directory in which a restore is made ready.
func (a *Archive) staged(name string) string {
	return filepath.Join(a.Home, staged, filepath.FromSlash(name))
}

// extract writes what is in a backup into a directory of its own, durably. It has to be the backup that was looked at.
func (a *Archive) extract(ctx context.Context, v ports.BackupView, progress func(done, total int64)) error {
	failed := func(err error) error {
		return ErrRestore.WithMessage("the home %s was not restored and not changed: %v", a.Home, err).WithCause(err)
	}
	if err := os.RemoveAll(a.staged("")); err != nil {
		return failed(err)
	}
	if err := os.Mkdir(a.staged(""), 0o700); err != nil {
		return failed(err)
	}
	root, err := os.OpenRoot(a.staged(""))
	if err != nil {
		return failed(err)
	}
	defer root.Close()
	dirs := map[string]bool{".": true}
	now, err := read(ctx, v.File, progress, func(name string, from io.Reader) error {
		if slices.Contains(v.Keeps, name) {
			_, err := io.Copy(io.Discard, from)
			return err
		}
		at := filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		for dir := filepath.Dir(at); !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
		f, err := root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, f.Sync(), f.Close())
	})
	if err != nil {
		return err
	}
	if now.Sum != v.Sum {
		return ErrBackup.WithMessage("%s is not the file that was approved; call again to get a new plan", v.File)
	}
	for dir := range dirs {
		if err := syncDir(a.staged(dir)); err != nil {
			return failed(err)
		}
	}
	return nil
}

// Finish puts what was staged in the place of the home. This process has let go of the database by then. Without anything staged it does nothing.
func (a *Archive) Finish(ctx context.Context) error {
	p := a.pending
	if p == nil {
		return nil
	}
	a.pending = nil
	defer p.release()
	return a.finish(ctx, p.note)
}

// Resume finishes a restore of that home that was interrupted, or takes it back where it had not begun. It is called before anything of the home is used,
// and costs next to nothing where there is none.
func (a *Archive) Resume(ctx context.Context) error {
	_, begun := os.Lstat(filepath.Join(a.Home, sqlitestore.RestoreNote))
	_, made := os.Lstat(a.staged(""))
	if begun != nil && made != nil {
		return nil
	}
	dir := docfile.NewDir(a.Home)
	if begun != nil { // somebody makes one ready, or died while doing so
		lock, err := dir.TryLock(restoreLock)
		if err != nil || lock == nil {
			return err
		}
		defer lock.Release() //nolint:errcheck // what was done under it is done
		if _, err := os.Lstat(filepath.Join(a.Home, sqlitestore.RestoreNote)); err == nil {
			return nil
		}
		os.RemoveAll(a.staged("")) //nolint:errcheck // the next one tries again
		return nil
	}
	lock, err := dir.Lock(ctx, restoreLock)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // what was done under it is done
	var n note
	data, _, err := dir.Read(sqlitestore.RestoreNote, 1<<22)
	if errors.Is(err, fs.ErrNotExist) { // whoever held the lock has finished it
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err == nil && (n.Aside == "" || !filepath.IsLocal(n.Aside) || slices.ContainsFunc(slices.Concat(n.Brings, n.Replaces), func(name string) bool { return !plain(name) })) {
		err = errors.New("it is invalid")
	}
	if err != nil {
		return ErrRestore.WithMessage("a restore of %s was interrupted, but its note %s cannot be read: %v", a.Home, dir.File(sqlitestore.RestoreNote), err).WithCause(err)
	}
	return a.finish(ctx, n)
}

// plain reports a name directly in the home.
func plain(name string) bool { return filepath.IsLocal(name) && filepath.Base(name) == name }

// at is where a step of a restore begins.
func (a *Archive) at(step string) {
	if a.reached != nil {
		a.reached(step)
	}
}

// finish does the steps of a restore. Each can be done again. Until the database is ready everything is taken back when something fails.
func (a *Archive) finish(ctx context.Context, n note) error {
	ctx = context.WithoutCancel(ctx)
	dir := docfile.NewDir(a.Home)
	if _, err := os.Lstat(a.staged(database)); err == nil { // it goes last, so nothing is left to be moved without it
		z, err := sqlitestore.Seize(ctx, filepath.Join(a.Home, database))
		if err == nil {
			defer z.Release() //nolint:errcheck // nothing was written
			err = a.known(ctx, n, z)
		}
		if err == nil && !n.Moving {
			err = a.ready(ctx, dir, &n, z)
		}
		switch {
		case errors.Is(err, ErrForged):
			return err
		case err != nil && !n.Moving:
			return a.undone(dir, err)
		case err != nil:
			return a.interrupted(err)
		}
		if err := a.move(n); err != nil {
			return a.interrupted(err)
		}
		a.at("moved")
	}
	if err := errors.Join(os.RemoveAll(a.staged("")), dir.Remove(sqlitestore.RestoreNote)); err != nil {
		return a.interrupted(err)
	}
	return nil
}

func (a *Archive) interrupted(err error) error {
	return ErrRestore.WithMessage("the restore of %s has begun but could not be finished: %s; the next command tries again", a.Home, fault.From(err).Message).WithCause(err)
}

// undone takes back a restore that has changed nothing yet.
func (a *Archive) undone(dir *docfile.Dir, err error) error {
	if gone := dir.Remove(sqlitestore.RestoreNote); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return a.interrupted(gone)
	}
	os.RemoveAll(a.staged("")) //nolint:errcheck // the next one removes it
	f := fault.From(err)
	if f.Is(ports.ErrHomeInUse) {
		return f.WithMessage("the home was not restored and not changed: %s", f.Message)
	}
	return ErrRestore.WithMessage("the home %s was not restored and not changed: %s", a.Home, f.Message).WithCause(err)
}

// ready writes the note, and has the database that comes lose what may let something happen and tell that it was put back.
func (a *Archive) ready(ctx context.Context, dir *docfile.Dir, n *note, z *sqlitestore.Seized) error {
	a.at("seized")
	if err := a.write(dir, *n); err != nil {
		return err
	}
	a.at("noted")
	named, machine := a.Where()
	signer := docfile.NewSigner(a.staged(keys), named, machine, a.Clock.Now)
	store := sqlitestore.Open(a.staged(database))
	store.SignWith(signer)
	err := a.tell(ctx, store, signer, *n, z)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	a.at("told")
	for _, c := range sqlitestore.SchemaCopies(a.staged(database)) { // the backup is one
		os.Remove(c.Path) //nolint:errcheck // it is removed with its directory
	}
	n.Moving = true
	return a.write(dir, *n)
}

func (a *Archive) write(dir *docfile.Dir, n note) error {
	doc, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return dir.Write(sqlitestore.RestoreNote, append(doc, '\n'))
}

// tell puts on record that the audit is an older one, which the user put back, and what does not come back with it.
func (a *Archive) tell(ctx context.Context, store *sqlitestore.Store, signer *docfile.Signer, n note, z *sqlitestore.Seized) error {
	last, err := store.Tail(ctx, 1)
	if err != nil {
		return err
	}
	if endsWithRestore(last, n) {
		return nil // told before this was interrupted
	}
	withdrawn, err := store.Withdraw(ctx, a.Clock.Now())
	if err != nil {
		return err
	}
	from := a.staged("")
	if _, err := os.Lstat(filepath.Join(a.Home, anchorList)); err == nil {
		from = a.Home
	}
	anchors, none, err := anchoring.Listed(from)
	if err != nil {
		return err
	}
	seq, hash := z.End()
	e := audit.SelfEvent(a.Clock.Now(), audit.RestoreTool, "", n.By, audit.Restored{ID: n.ID, Backup: n.Backup, MadeAt: n.MadeAt, Home: n.Home, Records: n.Records,
		Replaced: seq, Head: hash, Aside: n.Aside, Withdrawn: withdrawn, Anchors: anchors, NoJournal: none})
	e.CallID = n.ID
	if err := store.Append(ctx, e); err != nil {
		return err
	}
	end, err := store.End(ctx)
	if err == nil && end.Signed != nil {
		err = signer.PutHead(ctx, *end.Signed, true)
	}
	return err
}

// move sets aside what is replaced and puts what comes in its place: the database last, which is never away.
func (a *Archive) move(n note) error {
	aside := filepath.Join(a.Home, n.Aside)
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	for _, name := range n.Replaces {
		a.at("set aside " + name)
		comes := slices.Contains(n.Brings, name)
		if _, err := os.Lstat(a.staged(name)); comes && errors.Is(err, fs.ErrNotExist) {
			continue // it is there already
		}
		if err := setAside(filepath.Join(a.Home, name), filepath.Join(aside, name)); err != nil {
			return err
		}
	}
	for _, name := range n.Brings {
		a.at("bring " + name)
		err := os.Rename(a.staged(name), filepath.Join(a.Home, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := errors.Join(syncDir(aside), syncDir(a.Home)); err != nil {
		return err
	}
	if _, err := os.Lstat(a.staged(database)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	a.at("keep the database")
	path, kept := filepath.Join(a.Home, database), filepath.Join(aside, database)
	if err := keep(path, kept); err != nil {
		return err
	}
	if err := syncDir(aside); err != nil {
		return err
	}
	for _, companion := range []string{"-wal", "-shm", "-journal"} { // they belong to the one that goes, which holds all of it
		if err := setAside(path+companion, kept+companion); err != nil {
			return err
		}
	}
	a.at("bring the database")
	return errors.Join(os.Rename(a.staged(database), path), syncDir(a.Home))
}

// setAside moves what is there, if anything. What came there since this was interrupted is kept as well.
func setAside(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		to += "." + rand.Text()
	}
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keep has the database under a second name, where it stays when the first one gets another file.
func keep(path, kept string) error {
	was, err := os.Stat(path)
	if err != nil {
		return err
	}
	if have, err := os.Lstat(kept); err == nil && os.SameFile(was, have) {
		return nil
	}
	if err := os.Remove(kept); err != nil && !errors.Is(err, fs.ErrNotExist) { // half a copy
		return err
	}
	if os.Link(path, kept) == nil {
		return nil
	}
	from, err := os.Open(path) // where a file has one name only
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(kept, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Sync(), to.Close())
}
