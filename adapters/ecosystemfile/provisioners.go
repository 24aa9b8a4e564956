package ecosystemfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// The names of the contract (§20.5).
const (
	scripts = "provisioners"
	script  = "spin.sh"
)

const (
	maxScript = 4 << 20 // bytes
	others    = 0o002   // the permission that nobody else may have
	private   = 0o700
)

// errNotDirectory is that a part of a path is no directory, so that nothing is below it.
const errNotDirectory = syscall.ENOTDIR

// ProvisionerFinder is an ecosystemport.Provisioners over files.
type ProvisionerFinder struct{}

// Script implements ecosystemport.Provisioners.
func (ProvisionerFinder) Script(ctx context.Context, l ecosystem.Layout, name string) (ecosystem.Script, error) {
	if err := errors.Join(ctx.Err(), ecosystem.CheckName(name)); err != nil {
		return ecosystem.Script{}, err
	}
	root, err := filepath.EvalSymlinks(l.Root)
	if err != nil {
		return ecosystem.Script{}, ecosystem.ErrRoot.WithMessage("the workspace root %s cannot be opened", l.Root).WithCause(err)
	}
	var looked []string
	for _, dir := range []string{l.Dir, l.Root} {
		file := filepath.Join(dir, scripts, name, script)
		shown := relative(l.Root, file)
		_, err := os.Lstat(file)
		switch {
		case err == nil:
			return examine(root, file, shown)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDirectory):
			return ecosystem.Script{}, ecosystem.ErrUnsafe.WithMessage("the provisioner script %s cannot be read", shown).WithCause(err)
		}
		looked = append(looked, shown)
	}
	return ecosystem.Script{}, ecosystem.ErrMissing.WithMessage("provisioner %q not found: %s does not exist, and the built-in provisioners are local and noop", name, strings.Join(looked, " nor "))
}

func relative(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

// examine returns the script behind a name, links resolved: what is examined is what will be run.
func examine(root, file, shown string) (ecosystem.Script, error) {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return ecosystem.Script{}, ecosystem.ErrUnsafe.WithMessage("the provisioner script %s is a dangling link; correct or delete it", shown).WithCause(err)
	}
	inside := relative(root, path)
	if filepath.IsAbs(inside) || inside == ".." || strings.HasPrefix(inside, "../") {
		return ecosystem.Script{}, ecosystem.ErrUnsafe.WithMessage("the provisioner script %s is a link out of the workspace root, to %s; replace it with the script", shown, path)
	}
	if err := closed(root, inside, shown); err != nil {
		return ecosystem.Script{}, err
	}
	f, err := openRegular(path)
	if err != nil {
		return ecosystem.Script{}, ecosystem.ErrUnsafe.WithMessage("the provisioner script %s is not a readable regular file", shown).WithCause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ecosystem.Script{}, err
	}
	if info.Mode().Perm()&others != 0 {
		return ecosystem.Script{}, ecosystem.ErrUnsafe.WithMessage("every user of this machine can write the provisioner script %s; run: chmod o-w %s", shown, shown)
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(f, maxScript+1))
	if err != nil {
		return ecosystem.Script{}, ecosystem.ErrUnsafe.WithMessage("the provisioner script %s cannot be read", shown).WithCause(err)
	}
	if n > maxScript {
		return ecosystem.Script{}, ecosystem.ErrUnsafe.WithMessage("the provisioner script %s exceeds the limit of %d MiB", shown, maxScript>>20)
	}
	return ecosystem.Script{Path: path, Shown: shown, SHA256: hex.EncodeToString(hash.Sum(nil)), Executable: info.Mode().Perm()&0o111 != 0}, nil
}

// openRegular opens a regular file, and nothing that opening would wait for.
func openRegular(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a " + before.Mode().Type().String() + ", not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(err, f.Close(), errors.New("it was replaced while it was opened"))
	}
	return f, nil
}

// closed rejects a script that another user could replace.
func closed(root, inside, shown string) error {
	for dir := filepath.Join(root, filepath.Dir(filepath.FromSlash(inside))); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return ecosystem.ErrUnsafe.WithMessage("the provisioner script %s cannot be read", shown).WithCause(err)
		}
		if info.Mode().Perm()&others != 0 && info.Mode()&os.ModeSticky == 0 {
			rel := relative(root, dir)
			return ecosystem.ErrUnsafe.WithMessage("every user of this machine can replace the provisioner script %s, because they can write its directory %s; run: chmod o-w %s", shown, rel, rel)
		}
		if dir == root {
			return nil
		}
	}
}

// suffix keeps the directory of an environment apart from what is recorded of one, whatever the two are called.
const suffix = "@"

// Dir implements ecosystemport.Provisioners.
func (ProvisionerFinder) Dir(ctx context.Context, l ecosystem.Layout, environment string) (string, error) {
	if err := errors.Join(ctx.Err(), ecosystem.CheckName(environment)); err != nil {
		return "", err
	}
	dir := filepath.Join(l.State, "spin", environment+suffix)
	err := os.MkdirAll(dir, private)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Lstat(dir); err == nil && !info.IsDir() {
			err = errNotDirectory
		}
	}
	if err == nil {
		err = os.Chmod(dir, private) //nolint:gosec // a directory is entered by its owner alone
	}
	if err != nil {
		return "", ecosystem.ErrStorage.WithMessage("the directory %s of the environment cannot be created", dir).WithCause(err)
	}
	return dir, nil
}

// Inherited implements ecosystemport.Provisioners.
func (ProvisionerFinder) Inherited() []string { return os.Environ() }
