package sandboxfile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const (
	ignoreName  = ".gitignore"
	ignoreText  = ".env\n.env.*\n*.env\n*.pid\n*.log\n"
	markerLimit = 64 << 10
)

// mark is what the marker file says: whose directory this is.
type mark struct {
	URL     string `json:"git_url"`
	Project string `json:"project"`
}

// Prepare implements sandboxport.ProjectDirs.
func (s *Store) Prepare(ctx context.Context, p sandbox.Project, l sandbox.Layout) error {
	if err := cmp.Or(ctx.Err(), s.checkHome(), sandbox.CheckProjectName(p.Name)); err != nil {
		return err
	}
	if err := s.claim(p, l.Base); err != nil {
		return err
	}
	base := docfile.NewDir(l.Base)
	text, err := json.Marshal(mark{URL: p.URL.String(), Project: p.Name})
	if err != nil {
		return fault.ErrInternal.WithCause(err)
	}
	for _, file := range []struct{ name, text string }{{sandbox.MarkerFile, string(text) + "\n"}, {ignoreName, ignoreText}} { // the mark comes first
		if _, err := os.Lstat(base.File(file.name)); !errors.Is(err, fs.ErrNotExist) {
			continue // what is there was looked at, or is somebody's own
		}
		if err := base.Write(file.name, []byte(file.text)); err != nil {
			return err
		}
	}
	for _, dir := range []string{l.Worktrees, filepath.Dir(l.ServerLog), filepath.Dir(l.Key)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return s.arrange(p, l)
}

// arrange writes the project's settings file: what is missing in it, and the key path when it is another one.
func (s *Store) arrange(p sandbox.Project, l sandbox.Layout) error {
	old, _, err := ReadSettings(l.Secrets)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sandbox.ErrConfig.WithMessage("%s cannot be read", l.Secrets).WithCause(err)
	}
	text := string(old)
	values, _ := sandbox.ParseEnvFile(text)
	if had := values["GIT_URL"]; had == "" {
		text, err = sandbox.SetEnvVar(text, "GIT_URL", p.URL.String())
	} else if url, parseErr := git.ParseURL(had); parseErr != nil || url != p.URL {
		return sandbox.ErrConfig.WithMessage("%s belongs to another repository; correct its GIT_URL to %s, or move the file away", l.Secrets, p.URL)
	}
	if had := values["SSH_KEY_PATH"]; err == nil && (had == "" || p.SSHKey != "" && s.absolute(had) != p.SSHKey) {
		text, err = sandbox.SetEnvVar(text, "SSH_KEY_PATH", cmp.Or(p.SSHKey, l.Key))
	}
	if err != nil {
		return sandbox.ErrConfig.WithMessage("%s", err.Error())
	}
	if text == string(old) {
		return nil
	}
	return docfile.NewDir(filepath.Dir(l.Secrets)).Write(filepath.Base(l.Secrets), []byte(text))
}

// claim rejects a base directory that may hold what is not the project's: what carries our mark is deleted one day.
func (s *Store) claim(p sandbox.Project, base string) error {
	if !filepath.IsAbs(base) || filepath.Clean(base) != base {
		return sandbox.ErrBaseDir.WithMessage("the base directory %.200q is not a clean absolute path", base)
	}
	if err := s.outsideOurs(p.Name, base); err != nil {
		return err
	}
	info, err := os.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return sandbox.ErrBaseDir.WithMessage("%s is not a directory, or is a link to one; move it away, or choose another base directory", base)
	}
	found, err := marked(base)
	switch {
	case err != nil:
		return err
	case found != nil && found.URL == p.URL.String():
		return nil
	case found != nil:
		return sandbox.ErrBaseDir.WithMessage("%s belongs to the project %s; choose another base directory", base, found.URL)
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	managed := s.managed(base) && filepath.Base(base) == p.Name
	for _, entry := range entries {
		if name := entry.Name(); !markerTemp(name) && (!managed || !expected(name)) {
			return sandbox.ErrBaseDir.WithMessage("%s contains %q, which does not belong to the project; choose an empty base directory, or move that away", base, name)
		}
	}
	return nil
}

// markerTemp is what a crash leaves of the mark, and then of nothing else.
func markerTemp(name string) bool {
	return strings.HasPrefix(name, "."+sandbox.MarkerFile+".") && strings.HasSuffix(name, ".tmp")
}

// expected are the names that a base directory has, also one that the original made or that an interrupted start left.
func expected(name string) bool {
	return slices.Contains([]string{"repo", "worktrees", ignoreName, ".env"}, name) || strings.HasPrefix(name, "repo.tmp-") ||
		strings.HasSuffix(name, ".pid") || strings.HasSuffix(name, ".log")
}

// outsideOurs rejects what would hold, or lie among, the files of all projects, and what lies inside another project.
func (s *Store) outsideOurs(name, base string) error {
	base = resolved(base)
	memory := resolved(s.dirs.Memory)
	for _, root := range []string{resolved(s.dirs.Projects), memory, filepath.Join(memory, sandbox.SecretsDir), resolved(s.o.Home)} {
		if below(base, root) || base == root {
			return sandbox.ErrBaseDir.WithMessage("%s cannot be the base directory of a project: it contains other files; choose a directory below it", base)
		}
	}
	if below(memory, base) && base != filepath.Join(memory, sandbox.SecretsDir, name) { // where the original had base directories
		return sandbox.ErrBaseDir.WithMessage("%s cannot be the base directory of a project: it contains settings, keys and records", base)
	}
	for up := filepath.Dir(base); ; up = filepath.Dir(up) {
		if found, err := marked(up); err == nil && found != nil {
			return sandbox.ErrBaseDir.WithMessage("%s is inside the project %s; choose another base directory", base, found.URL)
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
}

// resolved is path with the links in those of its parents that exist followed; its last component stays what it is.
func resolved(path string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	if real, err := filepath.EvalSymlinks(parent); err == nil {
		return filepath.Join(real, filepath.Base(path))
	}
	return filepath.Join(resolved(parent), filepath.Base(path))
}

// below reports whether path lies strictly below root, by their names.
func below(root, path string) bool {
	return path != root && strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// managed reports whether base is a directory of ours by its place, links among its parents followed.
func (s *Store) managed(base string) bool {
	for _, root := range []string{s.dirs.Projects, filepath.Join(s.dirs.Memory, sandbox.SecretsDir)} {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if below(root, resolved(base)) {
			return true
		}
	}
	return false
}

// marked returns the marker in dir, or nil if there is none. An invalid marker is ignored.
func marked(dir string) (*mark, error) {
	text, _, err := docfile.NewDir(dir).Read(sandbox.MarkerFile, markerLimit)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &mark{}
	if json.Unmarshal(text, m) != nil || m.URL == "" || m.Project == "" {
		return nil, nil
	}
	return m, nil
}
