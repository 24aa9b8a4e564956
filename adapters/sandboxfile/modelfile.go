package sandboxfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const (
	maxBytes      = 4 << 20
	modelLockName = ".countersign-model.lock" // there only while a model is written
	fileMode      = 0o600
)

// Models is the user's configuration of models. It has no state besides where the files are, and is safe for concurrent use, also by
// several processes.
type Models struct{ candidates []string }

// NewModels returns the configuration that opencode would read: OPENCODE_CONFIG where that is set, else opencode.jsonc, opencode.json and
// config.json under ${XDG_CONFIG_HOME:-home/.config}/opencode. environ looks variables up; a relative XDG_CONFIG_HOME counts as none, as
// its specification says. Nothing is looked at before it is needed.
func NewModels(home string, environ func(name string) string) *Models {
	if file := environ("OPENCODE_CONFIG"); file != "" {
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(home, rest)
		}
		if abs, err := filepath.Abs(file); err == nil {
			file = abs
		}
		return &Models{[]string{file}}
	}
	base := environ("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(base) {
		return &Models{}
	}
	dir := filepath.Join(base, "opencode")
	return &Models{[]string{filepath.Join(dir, "opencode.jsonc"), filepath.Join(dir, "opencode.json"), filepath.Join(dir, "config.json")}}
}

// Read implements sandboxport.Models. A link counts as what it leads to, and a link to nothing as nothing. A file that is not JSON, with
// or without comments, is sandbox.ErrConfig, naming file, line and column.
func (m *Models) Read(ctx context.Context) (model, path string, exists bool, err error) {
	f, err := m.find(ctx)
	return f.model, f.path, f.exists, err
}

// Write implements sandboxport.Models: the model goes into the file that Read finds it in, by a splice of its text. A link is followed
// and stays; permissions stay. Where there is no file yet, opencode.json is made, for its owner alone. A model that has no such form is
// sandbox.ErrArguments; a file that cannot be edited safely, or that its owner made read-only, is sandbox.ErrConfig and left as it is.
func (m *Models) Write(ctx context.Context, model string) (previous, path string, err error) {
	if _, _, err := sandbox.SplitModel(model); err != nil {
		return "", "", err
	}
	f, err := m.find(ctx)
	if err != nil {
		return "", "", err
	}
	if _, err := f.with(model); err != nil { // before anything is touched
		return "", "", err
	}
	dir := docfile.NewDir(filepath.Dir(f.real))
	lock, err := dir.Lock(ctx, modelLockName)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, lock.Retire()) }()
	was := f.real
	if f, err = m.find(ctx); err != nil {
		return "", "", err
	}
	if f.real != was {
		return "", "", sandbox.ErrBusy.WithMessage("another process has just created or moved %s; try again", f.path)
	}
	text, err := f.with(model)
	if err == nil && !(f.exists && bytes.Equal(text, f.text)) {
		err = dir.WriteMode(filepath.Base(f.real), text, f.mode)
	}
	if err != nil {
		return "", "", err
	}
	return f.model, f.path, nil
}

// file is a configuration file as it was found, or as it would be made.
type file struct {
	path   string // as users know it
	real   string // where it is once links are followed
	exists bool
	mode   fs.FileMode
	text   []byte
	set    bool   // it has a model, of whatever form
	model  string // empty when none is set, or what is set is no text
}

// find returns the first file that has a model, else the first there is, else the one to make.
func (m *Models) find(ctx context.Context) (file, error) {
	if err := ctx.Err(); err != nil {
		return file{}, err
	}
	if len(m.candidates) == 0 {
		return file{}, sandbox.ErrConfig.WithMessage("the configuration file of opencode is unknown; set HOME, XDG_CONFIG_HOME or OPENCODE_CONFIG")
	}
	fresh := m.candidates[min(1, len(m.candidates)-1)] // opencode.json
	found := file{path: fresh, real: fresh, mode: fileMode}
	for _, path := range m.candidates {
		f, err := load(path)
		switch {
		case err != nil:
			return file{}, err
		case f.set:
			return f, nil
		case f.exists && !found.exists:
			found = f
		}
	}
	return found, nil
}

// load reads a file; one that is not there has nothing set.
func load(path string) (file, error) {
	f := file{path: path}
	var err error
	f.real, err = filepath.EvalSymlinks(path)
	var system *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case errors.As(err, &system):
		return file{}, err
	case err != nil:
		why := strings.TrimPrefix(err.Error(), "EvalSymlinks: ")
		return file{}, sandbox.ErrConfig.WithMessage("%s cannot be opened: %s; check its links and parent directories", path, why)
	}
	text, info, err := docfile.NewDir(filepath.Dir(f.real)).Read(filepath.Base(f.real), maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone since
		return f, nil
	case errors.Is(err, docfile.ErrNotFile), errors.Is(err, docfile.ErrTooLarge):
		return file{}, sandbox.ErrConfig.WithMessage("%s is not a configuration file; use a regular file of at most %d bytes", path, maxBytes)
	case err != nil:
		return file{}, err
	}
	f.exists, f.mode, f.text = true, info.Mode().Perm(), text
	value, err := modelIn(text)
	if err != nil {
		return file{}, unusable(path, err)
	}
	f.set = value != nil
	_ = json.Unmarshal(value, &f.model) // what is no text is no model, and is replaced
	return f, nil
}

// with returns the file's text with that model.
func (f file) with(model string) ([]byte, error) {
	if !f.exists {
		if _, err := os.Lstat(f.path); err == nil {
			return nil, sandbox.ErrConfig.WithMessage("%s is a dangling link; correct or remove it", f.path)
		}
		return withModel(nil, model)
	}
	if f.mode&0o200 == 0 {
		return nil, sandbox.ErrConfig.WithMessage("%s is read-only; make it writable (chmod u+w), or set the model where the file is generated", f.path)
	}
	text, err := withModel(f.text, model)
	if err != nil {
		return nil, unusable(f.path, err)
	}
	return text, nil
}
