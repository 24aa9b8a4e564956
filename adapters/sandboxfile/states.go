package sandboxfile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// document is a file as it was found, and what it becomes.
type document struct {
	name   string
	found  []byte // nil: there is none
	object *sandbox.Object
	report sandbox.MigrationReport // what bringing it up to date changed
	err    error                   // it cannot be used, and is left alone
}

// Load implements sandboxport.States.
func (s *Store) Load(ctx context.Context) (sandbox.State, error) {
	if err := cmp.Or(ctx.Err(), s.checkHome()); err != nil {
		return sandbox.State{}, err
	}
	state, table := s.read()
	if s.unsettled() || outdated(state) || outdated(table) {
		release, err := s.exclude(ctx, lockName, "the state file")
		if err != nil {
			return sandbox.State{}, err
		}
		defer release()
		if state, _, err = s.settle(); err != nil {
			return sandbox.State{}, err
		}
	}
	if state.err != nil {
		return sandbox.State{}, state.err
	}
	return s.decode(state)
}

func outdated(d document) bool { return d.err == nil && d.found != nil && len(d.report.Changes) > 0 }

// Update implements sandboxport.States.
func (s *Store) Update(ctx context.Context, change func(*sandbox.State) error) (sandbox.State, error) {
	release, err := s.exclude(ctx, lockName, "the state file")
	if err != nil {
		return sandbox.State{}, err
	}
	defer release()
	state, table, err := s.settle()
	if err = cmp.Or(err, state.err, table.err); err != nil {
		return sandbox.State{}, err
	}
	before, err := s.decode(state)
	if err != nil {
		return sandbox.State{}, err
	}
	after, err := s.decode(state) // the caller's to change, maps and all
	if err != nil {
		return sandbox.State{}, err
	}
	if err := change(&after); err != nil {
		return sandbox.State{}, err
	}
	if err := consistent(after); err != nil {
		return sandbox.State{}, err
	}
	form := s.form()
	form.Host = s.settings().Reached()
	if err := errors.Join(form.Encode(state.object, after), form.Mirror(table.object, before, after)); err != nil {
		return sandbox.State{}, fault.ErrInternal.WithCause(err)
	}
	stored, err := form.Decode(state.object)
	if err != nil { // what could not be read again is not written
		return sandbox.State{}, ErrRecord.WithCause(err)
	}
	return stored, s.commit(state, table)
}

// consistent rejects records that others would stumble over.
func consistent(s sandbox.State) error {
	names := map[string]string{}
	for key, p := range s.Projects {
		switch other, taken := names[p.Name]; {
		case p.URL.String() != key:
			return ErrRecord.WithMessage("the project %s is recorded under %s", p.URL, key)
		case taken:
			return ErrRecord.WithMessage("%s and %s are both recorded with the name %s and would share directories", key, other, p.Name)
		}
		names[p.Name] = key
		if err := sandbox.CheckProjectName(p.Name); err != nil {
			return ErrRecord.WithCause(err)
		}
		for key, box := range p.Sandboxes {
			if err := sandbox.CheckName(box.Name); err != nil || sandbox.SandboxKey(box.Name) != key {
				return ErrRecord.WithMessage("a sandbox of %s is recorded under %q with the name %q", p.URL, key, box.Name).WithCause(err)
			}
		}
	}
	return nil
}

// read is both documents, brought up to date in memory.
func (s *Store) read() (state, table document) {
	return s.open(stateName, sandbox.MigrateState), s.open(tableName, sandbox.MigrateServers)
}

func (s *Store) open(name string, upgrade func(*sandbox.Object) (sandbox.MigrationReport, error)) document {
	d := document{name: name, object: &sandbox.Object{}}
	found, _, err := s.memory.Read(name, fileLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d
	case err != nil:
		d.err = sandbox.ErrState.WithMessage("%s cannot be read; nothing can change until it is readable", s.memory.File(name)).WithCause(err)
		return d
	}
	d.found = found
	if d.object, err = sandbox.ParseObject(found); err == nil {
		d.report, err = upgrade(d.object)
	}
	if err != nil {
		why := "it is not a JSON object"
		if errors.Is(err, sandbox.ErrShape) {
			why = fault.From(err).Message
		}
		d.err = sandbox.ErrState.WithMessage("%s cannot be used and was not changed: %s; repair it, or move it away to start again", s.memory.File(name), why).WithCause(err)
	}
	return d
}

func (s *Store) decode(d document) (sandbox.State, error) {
	state, err := s.form().Decode(d.object)
	if err != nil {
		return sandbox.State{}, sandbox.ErrState.WithMessage("%s cannot be used and was not changed: %s; repair it, or move it away to start again",
			s.memory.File(d.name), fault.From(err).Message).WithCause(err)
	}
	return state, nil
}

func (s *Store) form() form {
	return form{DeployKey: func(name string) string { return s.Layout(name, "").Key }, Now: s.o.Clock.Now()}
}

// commit stores both documents, or neither: the table is laid beside its place with the sum of the state it belongs to, the state is the decision, and
// the table moves in. Whoever comes after a crash in between ends what was begun (recover). The lock is held.
func (s *Store) commit(state, table document) error {
	stateText, err := state.object.Text()
	if err != nil {
		return fault.ErrInternal.WithCause(err)
	}
	tableText, err := table.object.Text()
	if err != nil {
		return fault.ErrInternal.WithCause(err)
	}
	switch stateSame, tableSame := bytes.Equal(stateText, state.found), bytes.Equal(tableText, table.found); {
	case stateSame && tableSame:
		return nil
	case tableSame:
		return s.memory.Write(stateName, stateText)
	case stateSame:
		return s.memory.Write(tableName, tableText)
	}
	if err := s.memory.Write(sumName, []byte(digest(stateText))); err != nil {
		return err
	}
	if err := s.memory.Write(nextName, tableText); err != nil {
		return cmp.Or(err, s.memory.Remove(nextName))
	}
	if err := s.memory.Write(stateName, stateText); err != nil {
		return cmp.Or(err, s.recover()) // which finds out whether it was written after all
	}
	if err := s.install(); err != nil {
		return cmp.Or(err, s.takeBack(state))
	}
	return nil
}

// install moves the table that was laid ready to its place.
func (s *Store) install() error {
	if err := os.Rename(s.memory.File(nextName), s.memory.File(tableName)); err != nil {
		return err
	}
	return s.memory.Remove(sumName)
}

// takeBack makes the state what it was, for want of its table.
func (s *Store) takeBack(state document) error {
	if _, err := s.memory.Stat(nextName); err != nil {
		return nil // the table is in its place: what is missing is tidiness
	}
	err := s.memory.Remove(stateName)
	if state.found != nil {
		err = s.memory.Write(stateName, state.found)
	}
	return cmp.Or(err, s.memory.Remove(nextName))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// unsettled reports a commit that is going on, or was cut off.
func (s *Store) unsettled() bool {
	_, err := s.memory.Stat(nextName)
	return err == nil
}

// recover ends or drops a commit that was cut off. The lock is held.
func (s *Store) recover() error {
	if !s.unsettled() {
		return nil
	}
	state, _, err := s.memory.Read(stateName, fileLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sum, _, err := s.memory.Read(sumName, 1024)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if digest(state) == string(sum) {
		return s.install()
	}
	return s.memory.Remove(nextName)
}

// settle ends what was cut off and brings both files up to date, keeping copies. The lock is held.
func (s *Store) settle() (state, table document, err error) {
	if err := s.recover(); err != nil {
		return state, table, err
	}
	state, table = s.read()
	for _, d := range []*document{&state, &table} {
		if !outdated(*d) {
			continue
		}
		if _, err := s.upgrade(d); err != nil {
			return state, table, err
		}
	}
	return state, table, nil
}
