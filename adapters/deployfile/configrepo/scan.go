package configrepo

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// scanFiles reads the files of modules, as package configrepo does.
type scanFiles interface {
	// Local is the tree of a directory or file below at.Repo.
	Local(ctx context.Context, at deployment.Locations, source string) (deployment.Tree, error)
	// Tree returns the files of a directory that is not itself a link.
	Tree(ctx context.Context, dir string) (deployment.Tree, error)
}

// Scanner is deployport.Scanner over the file system. Its methods may run concurrently.
type Scanner struct{ files scanFiles }

// NewScanner is a Scanner that has trees read by files.
func NewScanner(files scanFiles) *Scanner { return &Scanner{files} }

// Scan implements deployport.Scanner. What cannot be inspected (a link into a directory that is closed) counts as absent.
func (s *Scanner) Scan(ctx context.Context, dir string) ([]deployport.Found, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, scanUnreadable(dir, err)
	}
	out := make([]deployport.Found, 0, len(entries))
	for _, e := range entries {
		f := deployport.Found{Name: e.Name(), Path: filepath.Join(dir, e.Name()), Link: e.Type()&fs.ModeSymlink != 0}
		mode := e.Type()
		if f.Link {
			info, err := os.Stat(f.Path)
			if err != nil {
				out = append(out, f)
				continue
			}
			mode = info.Mode()
		}
		switch {
		case mode.IsDir():
			f.Kind = deployment.Directory
		case mode.IsRegular():
			f.Kind = deployment.Regular
		default:
			f.Kind = deployment.Special
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b deployport.Found) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Real implements deployport.Scanner.
func (s *Scanner) Real(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", scanUnreadable(path, err)
	}
	return real, nil
}

// Tree implements deployport.Scanner.
func (s *Scanner) Tree(ctx context.Context, path string) (deployment.Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, deployment.ErrConfig.WithMessage("%s no longer exists", path).WithDetails(deployment.Details{}.AddPath("path", path))
	case err != nil:
		return nil, scanUnreadable(path, err)
	case info.IsDir():
		return s.files.Tree(ctx, real)
	}
	tree, err := s.files.Local(ctx, deployment.Locations{Repo: filepath.Dir(real)}, filepath.Base(real))
	if err == nil && len(tree) == 1 {
		tree[0].Path = filepath.Base(path) // its name here, wherever a link leads
	}
	return tree, err
}

// scanUnreadable is an error of the file system in the words of the capability.
func scanUnreadable(path string, err error) error {
	details := deployment.Details{}.AddPath("path", path)
	if errors.Is(err, fs.ErrPermission) {
		return deployment.ErrPermission.WithMessage("cannot read %s: permission denied; change its permissions, or name another directory", path).WithDetails(details).WithCause(err)
	}
	return deployment.ErrPath.WithMessage("%s cannot be read: %v", path, err).WithDetails(details.Add("error", err.Error())).WithCause(err)
}
