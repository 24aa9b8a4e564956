package sandboxfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Check implements sandboxport.Keys (opencode contract §6, §15.8): a regular file of the user's below the home directory, closed to others, with its
// public half beside it. Outside the home directory nothing is looked at.
func (r *DeployKeys) Check(ctx context.Context, path string) (sandboxport.Key, error) {
	if err := ctx.Err(); err != nil {
		return sandboxport.Key{}, err
	}
	key, err := r.given(path)
	var refused *fault.Error
	if err == nil || errors.As(err, &refused) {
		return key, err
	}
	return key, sandbox.ErrKeyInvalid.WithMessage("the key %.200q cannot be read", path).WithDetails(given{path}).WithCause(err)
}

func (r *DeployKeys) given(path string) (sandboxport.Key, error) {
	full := path
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		full = filepath.Join(r.o.Home, rest)
	}
	invalid := func(format string, args ...any) error {
		return sandbox.ErrKeyInvalid.WithMessage(format, args...).WithDetails(given{path})
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) || !filepath.IsAbs(full) {
		return sandboxport.Key{}, invalid("invalid path of a key %.200q; use an absolute path, or one that begins with ~/, without control characters", path)
	}
	full = filepath.Clean(full)
	home, err := filepath.EvalSymlinks(r.o.Home)
	if err != nil {
		return sandboxport.Key{}, err
	}
	if !within(r.o.Home, full) && !within(home, full) {
		return sandboxport.Key{}, invalid("the key %.200q is outside your home directory; copy it to ~/.ssh", path)
	}
	real, err := filepath.EvalSymlinks(full)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return sandboxport.Key{}, sandbox.ErrKeyNotFound.WithMessage("key %.200q not found; use the path of a private key, or omit it to get a deploy key", path).WithDetails(given{path})
	case err != nil:
		return sandboxport.Key{}, err
	case !within(home, real):
		return sandboxport.Key{}, invalid("the key %.200q is a link out of your home directory; copy it to ~/.ssh", path)
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return sandboxport.Key{}, err
	case !info.Mode().IsRegular():
		return sandboxport.Key{}, invalid("the key %.200q is not a regular file", path)
	case strings.HasSuffix(real, publicSuffix):
		return sandboxport.Key{}, invalid("%.200q is a public key; use the private one", path)
	case info.Mode().Perm()&0o077 != 0:
		return sandboxport.Key{}, invalid("other users can read the key %.200q (mode %04o), and ssh rejects such a key; run: chmod 600 '%s'", path, info.Mode().Perm(),
			strings.ReplaceAll(full, "'", `'\''`))
	}
	for _, public := range []string{full + publicSuffix, real + publicSuffix} {
		line, err := publicLine(public)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return sandboxport.Key{}, invalid("%.200q does not contain the public key that belongs to the key", public)
		}
		return sandboxport.Key{Path: full, PublicPath: public, Public: line}, nil
	}
	return sandboxport.Key{}, invalid("the public key of %.200q is missing; run: ssh-keygen -y -f '%s' > '%s.pub'", path, full, full)
}

// within reports whether path lies below root, by their names.
func within(root, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(filepath.Clean(root), "/")+"/")
}
