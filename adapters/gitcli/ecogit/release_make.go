package ecogit

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// indexPatience is how long an index that another git has locked is waited for.
const indexPatience = 3 * time.Second

// step is a release's step on its repository.
type step struct {
	*gitcli.Tree
	ecosystemport.ReleaseStep
	branch, tag string // objects that branch and tag have now
}

func on(ctx context.Context, s ecosystemport.ReleaseStep, do func(*step) error) error {
	return alone(ctx, s.Dir, func(t *gitcli.Tree) error {
		at := &step{Tree: t, ReleaseStep: s}
		if err := at.look(ctx); err != nil {
			return err
		}
		return do(at)
	})
}

// look reads what branch and tag are.
func (s *step) look(ctx context.Context) error {
	names := []string{heads + s.Branch}
	if s.Tag != "" {
		names = append(names, tags+s.Tag)
	}
	refs, err := s.Refs(ctx, git.RefsFormat, names...)
	for _, ref := range refs {
		switch ref.Name {
		case heads + s.Branch:
			s.branch = ref.Object
		case tags + s.Tag:
			s.tag = ref.Object
		}
	}
	return err
}

// Tagged implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Tagged(ctx context.Context, s ecosystemport.ReleaseStep) (is bool, err error) {
	if gone(s.Dir) {
		return false, nil
	}
	err = on(ctx, s, func(at *step) error {
		is = at.tag == s.TagObject
		return nil
	})
	return is, err
}

// Make implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Make(ctx context.Context, s ecosystemport.ReleaseStep) error {
	return on(ctx, s, func(at *step) error {
		if at.branch != s.Old && at.branch != s.New {
			return ecosystem.ErrChanged.WithMessage("%s: %s has new commits since the plan was made", s.Name, s.Branch)
		}
		if at.tag != "" && at.tag != s.TagObject {
			return ecosystem.ErrChanged.WithMessage("%s: tag %s already exists", s.Name, s.Tag)
		}
		out, err := worktree.Branch(ctx, at.Tree)
		if err == nil && out != s.Branch {
			err = ecosystem.ErrChanged.WithMessage("%s: %s is no longer checked out", s.Name, s.Branch)
		}
		if err == nil {
			err = at.refer(ctx)
		}
		if err != nil {
			return err
		}
		left, err := at.sync(ctx, false)
		if err == nil && len(left) > 0 {
			err = ecosystem.ErrChanged.WithMessage("%s", left[0])
		}
		return err
	})
}

// Finish implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Finish(ctx context.Context, s ecosystemport.ReleaseStep) (left []string, err error) {
	if gone(s.Dir) {
		return []string{s.Name + ": the checkout is gone"}, nil
	}
	err = on(ctx, s, func(at *step) error {
		if at.branch != s.Old && at.branch != s.New {
			left = append(left, s.Name+": "+s.Branch+" has new commits and was not changed")
			return nil
		}
		if err := at.refer(ctx); err != nil {
			return err
		}
		more, err := at.sync(ctx, false)
		left = append(left, more...)
		return err
	})
	return left, err
}

// Undo implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Undo(ctx context.Context, s ecosystemport.ReleaseStep) (left []string, err error) {
	if gone(s.Dir) {
		return nil, nil
	}
	err = on(ctx, s, func(at *step) error {
		moved := at.branch != s.Old && at.branch != s.New
		if err := at.retract(ctx); err != nil {
			return err
		}
		if moved {
			left = append(left, s.Name+": "+s.Branch+" has new commits and keeps the release's commit if it has it")
			return nil
		}
		more, err := at.sync(ctx, true)
		left = append(left, more...)
		return err
	})
	return left, err
}

// refer moves branch and tag to what they become, both or neither.
func (s *step) refer(ctx context.Context) error {
	var orders []string
	if s.branch != s.New {
		orders = append(orders, "update "+heads+s.Branch, s.New, s.zero(s.branch))
	}
	if s.Tag != "" && s.tag == "" {
		orders = append(orders, "create "+tags+s.Tag, s.TagObject)
	}
	return s.transact(ctx, orders, "release "+s.Tag)
}

// retract moves them back where they are still the step's.
func (s *step) retract(ctx context.Context) error {
	var orders []string
	if s.Tag != "" && s.tag == s.TagObject {
		orders = append(orders, "delete "+tags+s.Tag, s.TagObject)
	}
	switch {
	case s.branch != s.New || s.New == s.Old:
	case s.Old == "":
		orders = append(orders, "delete "+heads+s.Branch, s.New)
	default:
		orders = append(orders, "update "+heads+s.Branch, s.Old, s.New)
	}
	return s.transact(ctx, orders, "release "+s.Tag+" taken back")
}

// zero returns an object's name, that of no object for a ref that is not there.
func (s *step) zero(object string) string {
	if object == "" {
		return strings.Repeat("0", len(s.New))
	}
	return object
}

// transact changes refs, all or none, if they are still what they were seen to be.
func (s *step) transact(ctx context.Context, orders []string, reason string) error {
	if len(orders) == 0 {
		return nil
	}
	return gitcli.Patiently(ctx, indexPatience, func() error {
		_, err := s.Git(ctx, gitcli.Command{Args: []string{"update-ref", "-m", reason, "--stdin", "-z"}, Stdin: []byte(strings.Join(orders, "\x00") + "\x00")})
		if words := gitcli.Words(err); strings.Contains(words, "but expected") || strings.Contains(words, "reference already exists") {
			return ecosystem.ErrChanged.WithMessage("%s: branch or tag changed in the meantime", s.Name).WithCause(err)
		}
		return err
	})
}

// sync has index and working tree follow the branch, forwards or back, where they are still as they were.
func (s *step) sync(ctx context.Context, back bool) (left []string, err error) {
	if len(s.Files) == 0 {
		return nil, nil
	}
	out, err := worktree.Branch(ctx, s.Tree)
	if err != nil {
		return nil, err
	}
	if out != s.Branch {
		return []string{s.Name + ": " + s.Branch + " is no longer checked out, so its files were not changed"}, nil
	}
	err = gitcli.Patiently(ctx, indexPatience, func() error {
		left, err = s.index(ctx, back)
		return err
	})
	if err != nil {
		return left, err
	}
	more, err := s.write(ctx, back)
	if err == nil { // only so that git need not compare the files again: it fails where others have changed
		_, _ = s.Git(ctx, gitcli.Command{Args: []string{"update-index", "-q", "--refresh"}})
	}
	return append(left, more...), err
}

// index moves the entries.
func (s *step) index(ctx context.Context, back bool) (left []string, err error) {
	paths := make([]string, len(s.Files))
	for i, f := range s.Files {
		paths[i] = f.Path
	}
	now, err := entries(ctx, s.Tree, paths)
	if err != nil {
		return nil, err
	}
	var info strings.Builder
	for _, f := range s.Files {
		from, to := f.Was, f.Becomes
		if back {
			from, to = to, from
		}
		switch is := now[f.Path].Object; {
		case is == to:
		case is != from:
			left = append(left, s.Name+": the staged version of "+f.Path+" changed in the meantime and was kept")
		case to == "":
			info.WriteString("0 " + strings.Repeat("0", len(from)) + "\t" + f.Path + "\x00")
		default:
			info.WriteString(f.Mode + " " + to + "\t" + f.Path + "\x00")
		}
	}
	if info.Len() == 0 {
		return left, nil
	}
	_, err = s.Git(ctx, gitcli.Command{Args: []string{"update-index", "-z", "--index-info"}, Stdin: []byte(info.String())})
	return left, err
}

// write moves the files.
func (s *step) write(ctx context.Context, back bool) (left []string, err error) {
	root, err := os.OpenRoot(s.Tree.Dir)
	if err != nil {
		return nil, ecosystem.ErrStorage.WithMessage("%s cannot be opened: %v", s.Tree.Dir, err).WithCause(err)
	}
	defer root.Close()
	for _, f := range s.Files {
		_ = root.Remove(filepath.FromSlash(aside(f.Path))) // of a process that was killed
		from, to := f.Before, f.After
		if back {
			from, to = to, from
		}
		is, err := content(root, f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, s.Name+": "+f.Path+" is no longer a regular file and was kept")
			continue
		}
		before, err := s.blob(ctx, from)
		if err != nil {
			return left, err
		}
		after, err := s.blob(ctx, to)
		if err != nil {
			return left, err
		}
		switch {
		case same(is, after):
		case !same(is, before):
			left = append(left, s.Name+": "+f.Path+" changed in the meantime and was kept")
		default:
			if err := replace(root, f.Path, after, f.Mode == git.ScriptMode); err != nil {
				return left, ecosystem.ErrStorage.WithMessage("%s in %s cannot be written: %v", f.Path, s.Tree.Dir, err).WithCause(err)
			}
		}
	}
	return left, nil
}

// same reports whether two files have equal content; nil means that there is no file.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// blob returns a blob's bytes, nil for none.
func (s *step) blob(ctx context.Context, id string) ([]byte, error) {
	if id == "" {
		return nil, nil
	}
	out, err := s.Git(ctx, gitcli.Command{Args: []string{"cat-file", "blob", id}})
	if out == nil && err == nil {
		out = []byte{}
	}
	return out, err
}

// aside returns where a file is written before it takes its place.
func aside(name string) string {
	return path.Join(path.Dir(name), ".countersign-release-"+path.Base(name))
}

// replace puts a file in place of another, atomically, with the permissions of the one before; data nil takes it away.
func replace(root *os.Root, name string, data []byte, script bool) error {
	name = filepath.FromSlash(name)
	if data == nil {
		return root.Remove(name)
	}
	mode := fs.FileMode(0o644)
	if script {
		mode = 0o755
	}
	if info, err := root.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	} else if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	next := filepath.FromSlash(aside(filepath.ToSlash(name)))
	file, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err == nil {
		err = root.Rename(next, name)
	}
	if err != nil {
		_ = root.Remove(next)
	}
	return err
}
