package ecosystemfile

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// What is made in a workspace root is for everybody who may read the repository.
const (
	sharedDir  fs.FileMode = 0o755
	sharedFile fs.FileMode = 0o644
)

// Create implements ecosystemport.Manifests. Of several that create one name at a time, one does.
func (s *Store) Create(ctx context.Context, l ecosystem.Layout, doc ecosystem.Draft) (string, error) {
	doc.Name = l.Name
	if err := ecosystem.CheckName(l.Name); err != nil {
		return "", err
	}
	if r := doc.Read(); !r.Valid() {
		p := r.Errors[0]
		return "", ecosystem.ErrManifest.WithMessage("the ecosystem %s would not be valid: %s: %s", l.Name, p.Path, p.Message).
			WithDetails(map[string]any{"errors": r.Errors, "ecosystem": l.Name})
	}
	text, err := yamlcodec.Encode(pairs(ecosystem.DraftDocument(doc)))
	if err != nil {
		return "", err
	}
	if len(text) > ecosystem.MaxManifestBytes {
		return "", ecosystem.ErrManifest.WithMessage("the manifest of %s would have %d bytes, more than the limit of %d", l.Name, len(text), ecosystem.MaxManifestBytes)
	}
	root, err := openRoot(l)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if _, err := root.Lstat(inside(l.Name)); err == nil {
		return "", exists(l)
	}
	if s.initializes(root) {
		if err := s.o.Init(ctx, l.Root); err != nil {
			return "", ecosystem.ErrStorage.WithMessage("cannot create a git repository in %s; check the directory's permissions and the free disk space", l.Root).WithCause(err)
		}
	}
	return string(text), stored(createDir(root, l, text), "the ecosystem "+l.Name, l.Dir)
}

// Initializes implements ecosystemport.Manifests.
func (s *Store) Initializes(ctx context.Context, l ecosystem.Layout) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	root, err := openRoot(l)
	if err != nil {
		return false, err
	}
	defer root.Close()
	return s.initializes(root), nil
}

func (s *Store) initializes(root *os.Root) bool {
	_, err := root.Lstat(".git")
	return errors.Is(err, fs.ErrNotExist) && s.o.Init != nil
}

func openRoot(l ecosystem.Layout) (*os.Root, error) {
	root, err := os.OpenRoot(l.Root)
	if err != nil {
		return nil, ecosystem.ErrRoot.WithMessage("the workspace root %s cannot be opened; set AMOF_WORKSPACE_ROOT to another directory", l.Root).WithCause(err)
	}
	return root, nil
}

func exists(l ecosystem.Layout) error {
	return ecosystem.ErrExists.WithMessage("%s already exists; choose another name than %s", l.Dir, l.Name)
}

// pairs returns the members in their order, as the codec wants them.
func pairs(m ecosystem.Members) yamlcodec.Pairs {
	out := make(yamlcodec.Pairs, 0, len(m))
	for _, member := range m {
		value := member.Value
		if list, ok := value.([]ecosystem.Members); ok {
			items := make([]yamlcodec.Pairs, len(list))
			for i, item := range list {
				items[i] = pairs(item)
			}
			value = items
		}
		out = append(out, yamlcodec.Pair{Key: member.Key, Value: value})
	}
	return out
}

// createDir makes the directory beside its place and moves it there.
func createDir(root *os.Root, l ecosystem.Layout, text []byte) error {
	if err := root.MkdirAll(ecosystems, sharedDir); err != nil {
		return at(err, l)
	}
	temp := path.Join(ecosystems, "."+l.Name+"."+rand.Text()+".tmp")
	err := root.Mkdir(temp, sharedDir)
	for _, sub := range []string{"kb", "journal"} {
		if err == nil {
			err = root.Mkdir(path.Join(temp, sub), sharedDir)
		}
	}
	if err == nil {
		err = write(root, path.Join(temp, manifestFile), text)
	}
	if err == nil {
		err = root.Rename(temp, inside(l.Name)) // takes the place of nothing but an empty directory
	}
	if err != nil {
		_ = root.RemoveAll(temp)
		if taken(err) {
			return exists(l)
		}
		return at(err, l)
	}
	return syncFile(root, ecosystems)
}

func taken(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.ENOTDIR)
}

// at gives an error of the file system the path it is about.
func at(err error, l ecosystem.Layout) error {
	return &fs.PathError{Op: "write", Path: l.Dir, Err: err}
}

// write makes a new file, durably.
func write(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, sharedFile)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFile makes a directory's names durable, where the file system can.
func syncFile(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // what may be entered but not read cannot be synced
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// Write implements ecosystemport.Manifests.
func (s *Store) Write(ctx context.Context, l ecosystem.Layout, name string, data []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) {
		return "", ecosystem.ErrArguments.WithMessage("%.80q is not a path below the ecosystem's directory", name)
	}
	root, err := openRoot(l)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if info, err := root.Stat(inside(l.Name)); err != nil || !info.IsDir() {
		return "", ecosystem.ErrUnknown.WithMessage("ecosystem %s not found; amof_list_ecosystems lists the ecosystems", l.Name)
	}
	file := filepath.Join(l.Dir, filepath.FromSlash(name))
	switch err := place(root, inside(l.Name, name), data); {
	case errors.Is(err, fs.ErrExist):
		return "", ecosystem.ErrExists.WithMessage("%s already exists; choose another name", file)
	case err != nil:
		return "", stored(at(err, l), name, l.Dir)
	}
	return file, nil
}

// place puts a whole file where none is.
func place(root *os.Root, name string, data []byte) error {
	parent := path.Dir(name)
	if err := root.MkdirAll(parent, sharedDir); err != nil {
		return err
	}
	temp := path.Join(parent, "."+path.Base(name)+"."+rand.Text()+".tmp")
	err := write(root, temp, data)
	if err == nil {
		err = root.Link(temp, name)
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) { // a file system without links
		if _, there := root.Lstat(name); there == nil {
			err = fs.ErrExist
		} else {
			err = root.Rename(temp, name)
		}
	}
	_ = root.Remove(temp)
	if err != nil {
		return err
	}
	return syncFile(root, parent)
}

// count counts the files in sub and below.
func count(ctx context.Context, l ecosystem.Layout, sub string, into *int) error {
	root, err := openRoot(l)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), inside(l.Name, sub), func(name string, d fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(path.Base(name), "."); {
		case err != nil && (d == nil || d.IsDir()):
			return fs.SkipDir // there is none, or it may not be read
		case err != nil || ctx.Err() != nil:
			return ctx.Err()
		case hidden && d.IsDir():
			return fs.SkipDir
		case !hidden && d.Type().IsRegular():
			if *into++; *into >= maxCounted {
				return fs.SkipAll
			}
		}
		return nil
	})
}
