package deployfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// remove deletes one file, if it is still what was looked at.
func (w *run) remove(_ *passage, dir directory, i int) error {
	j := &w.Jobs[i]
	name := filepath.Base(j.Path)
	same, err := dir.unmoved(name, j.Then)
	if err != nil {
		return err
	}
	if !same {
		return w.moved(j)
	}
	if err := dir.remove(name); err != nil {
		return err
	}
	w.Step("removed", j.Path)
	return nil
}

// moved is what to say of a file that somebody changed since it was looked at: what they wrote is kept nowhere. It is found out a moment before the
// change, and as near as a file system lets us come.
func (w *run) moved(j *job) error {
	if w.prepared {
		return StaleError([]string{j.Path})
	}
	return errLeft
}

// errLeft marks a file that is not changed because another program is writing it.
var errLeft = errors.New("changed in the meantime")

// put writes one file or link: beside its place first, then in one step into it.
func (w *run) put(p *passage, dir directory, i int) error {
	j := &w.Jobs[i]
	to, temp := w.target(j), w.temp(i)
	data, err := w.content(p, j, to)
	if err != nil {
		return err
	}
	if err := w.stage(dir, temp, to, data); err != nil {
		return errors.Join(err, dir.remove(temp))
	}
	w.Step("staged", j.Path)
	same, err := dir.place(temp, filepath.Base(j.Path), j.Then)
	if err == nil && !same {
		err = w.moved(j)
	}
	if err != nil {
		return errors.Join(err, dir.remove(temp))
	}
	w.Step("placed", j.Path)
	return nil
}

// content is what is to be written: out of memory, or out of the vault.
func (w *run) content(p *passage, j *job, to deployment.Seen) ([]byte, error) {
	if to.Kind != deployment.Regular {
		return nil, nil
	}
	if w.To == forward && j.From.Data != nil {
		return j.From.Data, nil
	}
	data, err := w.Home.blobIn(p.room, to.Sum)
	if cap(data) <= buffer { // what one large file needed is given back
		p.room = data
	}
	return data, err
}

// stage makes a file or link under another name.
func (w *run) stage(dir directory, temp string, to deployment.Seen, data []byte) error {
	if to.Kind == deployment.Link {
		return dir.link(to.Link, temp)
	}
	mode := to.Mode.Perm()
	return dir.write(temp, data, mode, mode&w.Umask != 0, w.Fsync)
}

// folders removes the directories that are to go and, on the way back, makes again those that went.
func (w *run) folders() error {
	goes, comes := w.Journal.Pruned, []Folder(nil)
	if w.To == backward {
		goes, comes = nil, slices.Clone(w.Journal.Pruned)
		for _, dir := range slices.Backward(w.Journal.Made) {
			goes = append(goes, Folder{Path: dir})
		}
		slices.Reverse(comes) // parents first
	}
	for _, dir := range goes {
		// One in which something is left stays, one that became something else is not ours.
		if err := syscall.Rmdir(dir.Path); err != nil && !observe.IsAbsent(err) && !errors.Is(err, fs.ErrExist) {
			return observe.FileFault(&fs.PathError{Op: "rmdir", Path: dir.Path, Err: err}, dir.Path)
		}
		w.Step("unmade", dir.Path)
	}
	for _, dir := range comes {
		if err := comeBack(dir); err != nil {
			return observe.FileFault(err, dir.Path)
		}
		w.Step("made", dir.Path)
	}
	return nil
}

// comeBack creates a directory again with its old mode, unless its path is in use or its parent is missing.
func comeBack(dir Folder) error {
	err := os.Mkdir(dir.Path, dir.Mode)
	if err != nil && !errors.Is(err, fs.ErrExist) && !observe.IsAbsent(err) {
		return err
	}
	if info, err := os.Lstat(dir.Path); err != nil || !info.IsDir() || info.Mode().Perm() == dir.Mode {
		return nil
	}
	return os.Chmod(dir.Path, dir.Mode)
}

// lists brings the home's own lists to where they are to be.
func (w *run) lists() error {
	for _, s := range w.Journal.State {
		text := s.After
		if w.To == backward {
			text = s.Before
		}
		var err error
		if text == nil {
			err = w.Home.Files.Remove(s.Name)
		} else {
			err = w.Home.Files.Write(s.Name, text)
		}
		if err != nil {
			return observe.FileFault(err, w.Home.Files.File(s.Name))
		}
		w.Step("listed", w.Home.Files.File(s.Name))
	}
	return nil
}
