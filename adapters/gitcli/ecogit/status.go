package ecogit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
)

// statusPatience is how long one git may take: the others' answers wait for it.
const statusPatience = 20 * time.Second

// Surveyor is an ecosystemport.Surveyor. It is safe for concurrent use.
type Surveyor struct{ answers answers }

// NewSurveyor returns a Surveyor that caches git's answers about commits and remote branches, which do not change.
func NewSurveyor() *Surveyor { return &Surveyor{} }

// Survey looks at the checkouts, two at a time for each processor.
func (s *Surveyor) Survey(ctx context.Context, checkouts []ecosystem.Checkout) []ecosystem.GitStatus {
	found := make([]ecosystem.GitStatus, len(checkouts))
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i := range checkouts {
		group.Go(func() error {
			found[i] = s.look(ctx, checkouts[i])
			return nil
		})
	}
	_ = group.Wait() // none of them fails
	return found
}

// look returns what git says of one checkout.
func (s *Surveyor) look(ctx context.Context, c ecosystem.Checkout) ecosystem.GitStatus {
	t, problem, err := open(c.Dir)
	if t == nil && err == nil {
		return ecosystem.GitStatus{Name: c.Name, Dir: c.Dir, Missing: true, Problem: problem}
	}
	st := ecosystem.GitStatus{}
	if err == nil {
		var s git.Status
		if s, err = t.Status(ctx, "normal"); err == nil {
			st = ecosystem.NewGitStatus(s)
		}
	}
	st.Name, st.Dir = c.Name, c.Dir
	if err != nil {
		st.Problem = say(err)
		return st
	}
	st.Operation = t.Operation()
	if st.Detached {
		st.Taken = worktree.RebasedBranch(t.Admin)
	}
	if st.Head == "" || st.Head == c.Pushed {
		return st
	}
	if st.Unpushed, err = s.nowhere(ctx, t, st); err != nil {
		st.Unpushed, st.Problem = true, say(err) // what cannot be found out must not look safe
	}
	return st
}

// nowhere reports whether no remote branch has the commit. Git is asked where files do not tell, and only once.
func (s *Surveyor) nowhere(ctx context.Context, t *gitcli.Tree, st ecosystem.GitStatus) (bool, error) {
	tips, plain := remoteTips(t.Common)
	if !plain {
		return worktree.OnlyInRepo(ctx, t, st.Head)
	}
	if is, known := told(st, tips); known {
		return is, nil
	}
	key := question(t.Common, st.Head, tips)
	if is, known := s.answers.get(key); known {
		return is, nil
	}
	is, err := worktree.OnlyInRepo(ctx, t, st.Head)
	if _, shallow := os.Lstat(filepath.Join(t.Common, "shallow")); err == nil && shallow != nil { // a shallow history may be deepened
		s.answers.keep(key, is)
	}
	return is, err
}

// say returns an error for users.
func say(err error) string { return fault.From(err).Message }

// open returns the working tree at dir, found there and nowhere above: a checkout within a workspace must not be taken for that. It is nil where there is
// no repository, with what there is instead.
func open(dir string) (t *gitcli.Tree, problem string, err error) {
	own := filepath.Join(dir, ".git")
	info, err := os.Lstat(own)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, instead(dir), nil
	case errors.Is(err, syscall.ENOTDIR):
		return nil, dir + " is not a directory", nil
	case err != nil:
		return nil, "", gitcli.Disk(err, own)
	case !info.Mode().IsRegular():
		r, err := clone(dir)
		if err != nil {
			return nil, "", err
		}
		return r.Main(), "", nil
	}
	admin, err := pointer(own, "gitdir: ")
	if err != nil {
		return nil, "", err
	}
	if _, err := os.Lstat(admin); errors.Is(err, fs.ErrNotExist) {
		return nil, "the repository of the worktree " + dir + " does not exist (" + admin + ")", nil
	}
	common, err := pointer(filepath.Join(admin, "commondir"), "")
	if err != nil {
		return nil, "", err
	}
	r, err := clone(filepath.Dir(common))
	if err != nil {
		return nil, "", err
	}
	return &gitcli.Tree{Repo: r, Dir: dir, Admin: admin}, "", nil
}

// clone returns the repository in dir, which has to be a directory .git there.
func clone(dir string) (*gitcli.Repo, error) {
	if info, err := os.Lstat(filepath.Join(dir, ".git")); err != nil || !info.IsDir() {
		return nil, ecosystem.ErrGit.WithMessage("%s is not a plain clone: its .git is not a directory; clone it again", dir).WithCause(err)
	}
	return gitcli.OpenRepo(dir, statusPatience)
}

// instead returns what is at dir, where no repository is; empty when nothing is.
func instead(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return ""
	}
	return "there is no repository in the directory " + dir + ", which contains other files; move them away and call amof_sync_ecosystem"
}

// pointer returns the path that a small file of git's states, which is relative to the file's directory.
func pointer(file, before string) (string, error) {
	said, err := os.ReadFile(file)
	if err != nil {
		return "", gitcli.Disk(err, file)
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(said), "\r\n"), before)
	if !ok || path == "" {
		return "", gitcli.Disk(errors.New("it does not contain the path of the repository"), file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return filepath.Clean(path), nil
}
