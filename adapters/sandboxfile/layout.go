package sandboxfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// Layout implements sandboxport.ProjectDirs.
func (s *Store) Layout(name, base string) sandbox.Layout { return sandbox.LayoutOf(s.dirs, name, base) }

// Identify implements sandboxport.ProjectDirs.
func (s *Store) Identify(ctx context.Context, raw string) (url git.URL, cloneURL string, warnings []string, err error) {
	raw = strings.TrimSpace(raw)
	path, local, err := localPath(raw)
	if err != nil {
		return git.URL{}, "", nil, err
	}
	if local {
		url, warnings, err = s.identifyLocal(ctx, path)
		return url, url.String(), warnings, err
	}
	if url, err = git.ParseURL(raw); err != nil {
		return git.URL{}, "", nil, urlFault(err)
	}
	if git.CarriesCredentials(raw) {
		warnings = append(warnings, "the user name or password in the URL was dropped and not stored; use an SSH key for a private repository")
	}
	return url, sandbox.CloneURL(raw, url), warnings, nil
}

// urlFault is gitref's refusal under this capability's code; its message never repeats the text.
func urlFault(err error) error { return sandbox.ErrURL.WithMessage("%s", err.Error()) }

// localPath returns the path that raw is, when it is one by its form: absolute, file://, or relative with a dot or a tilde in front.
func localPath(raw string) (path string, local bool, err error) {
	path = raw
	if scheme, rest, ok := strings.Cut(raw, "://"); ok && strings.EqualFold(scheme, "file") {
		host, _, _ := strings.Cut(rest, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", false, sandbox.ErrURL.WithMessage("a file URL has no host; write file:///path")
		}
		path = rest[len(host):]
		local = true
	}
	switch first, _, _ := strings.Cut(path, "/"); first {
	case "", ".", "..", "~":
		local = local || raw != ""
	}
	if !local {
		return "", false, nil
	}
	switch {
	case len(path) > git.MaxURLBytes:
		return "", false, sandbox.ErrURL.WithMessage("the path has %d bytes, more than the limit of %d", len(path), git.MaxURLBytes)
	case path == "" || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", false, sandbox.ErrURL.WithMessage("the path is empty or contains control characters")
	case path[0] == '/' && hasDots(path):
		return "", false, sandbox.ErrURL.WithMessage("the path contains \".\" or \"..\"; give the path without them")
	}
	return path, true, nil
}

func hasDots(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

func (s *Store) identifyLocal(ctx context.Context, path string) (git.URL, []string, error) {
	abs := path
	switch {
	case strings.HasPrefix(path, "~"):
		if abs = s.absolute(path); s.o.Home == "" {
			return git.URL{}, nil, sandbox.ErrURL.WithMessage("the home directory (~) is unknown; use an absolute path")
		}
	case !filepath.IsAbs(path):
		var err error
		if abs, err = filepath.Abs(path); err != nil {
			return git.URL{}, nil, sandbox.ErrURL.WithMessage("the working directory is unknown; use an absolute path").WithCause(err)
		}
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return s.departed(ctx, abs)
	}
	if err != nil {
		return git.URL{}, nil, sandbox.ErrURL.WithMessage("%.200q cannot be read", abs).WithCause(err)
	}
	if filepath.Base(real) == ".git" && isGitDir(real) {
		real = filepath.Dir(real)
	}
	if !isRepository(real) {
		if top := enclosing(real); top != "" {
			return git.URL{}, nil, sandbox.ErrURL.WithMessage("%.200q is a directory inside a repository; use %.200q", real, top)
		}
		return git.URL{}, nil, sandbox.ErrURL.WithMessage("%.200q is not a git repository: neither a worktree nor a bare repository", real)
	}
	url, err := git.ParseURL("file://" + real)
	if err != nil {
		return git.URL{}, nil, urlFault(err)
	}
	return url, nil, nil
}

// departed returns a repository that no longer exists. If it has a project, that can still be named, to be stopped and destroyed.
func (s *Store) departed(ctx context.Context, abs string) (git.URL, []string, error) {
	gone := sandbox.ErrURL.WithMessage("repository %.200q not found", abs)
	url, err := git.ParseURL("file://" + filepath.Clean(abs))
	if err != nil {
		return git.URL{}, nil, gone
	}
	state, err := s.Load(ctx)
	if err != nil {
		return git.URL{}, nil, gone.WithCause(err)
	}
	if _, known := state.Projects[url.String()]; !known {
		return git.URL{}, nil, gone
	}
	return url, []string{"the repository no longer exists, but its project does"}, nil
}

func isRepository(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, ".git")); err == nil && (info.Mode().IsRegular() || isGitDir(filepath.Join(dir, ".git"))) {
		return true
	}
	return isGitDir(dir)
}

// isGitDir reports what git itself takes for a repository: HEAD, objects and refs.
func isGitDir(dir string) bool {
	if info, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil || info.IsDir() {
		return false
	}
	for _, sub := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// enclosing returns the nearest repository above dir, or "" if there is none.
func enclosing(dir string) string {
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		if isRepository(up) {
			return up
		}
	}
	return ""
}
