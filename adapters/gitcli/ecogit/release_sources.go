package ecogit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// each does something for every number below n, several at a time.
func each(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait()
}

// ReleaseBases implements ecosystemport.ReleaseGit with two gits a checkout.
func (c *ReleaseClient) ReleaseBases(ctx context.Context, dirs []string) []ecosystemport.ReleaseBase {
	out := make([]ecosystemport.ReleaseBase, len(dirs))
	each(len(dirs), func(i int) {
		if err := footing(ctx, dirs[i], &out[i]); err != nil {
			out[i].Err = namedRelease(err)
		}
	})
	return out
}

func footing(ctx context.Context, dir string, f *ecosystemport.ReleaseBase) error {
	t, err := openRelease(dir)
	if err != nil {
		return err
	}
	s, err := t.Status(ctx, "normal")
	if err != nil {
		return err
	}
	f.Behind, f.Doing, f.Head, f.Branch = s.Behind, t.Operation(), s.Head, s.Branch
	if len(s.Changes) > 0 {
		sum := sha256.New()
		for _, change := range s.Changes {
			f.Changed = append(f.Changed, change.Path)
			_, _ = io.WriteString(sum, change.Code()+" "+change.Path+"\x00")
		}
		f.Tree = hex.EncodeToString(sum.Sum(nil))
	}
	refs, err := worktree.Refs(ctx, t, tags)
	f.Tags = make(map[string]string, len(refs))
	for ref, object := range refs {
		f.Tags[strings.TrimPrefix(ref, tags)] = object
	}
	return err
}

// Since implements ecosystemport.ReleaseGit with one git a span, and another where there are more commits than were wanted.
func (c *ReleaseClient) Since(ctx context.Context, spans []ecosystemport.CommitRange, most int) []ecosystemport.History {
	out := make([]ecosystemport.History, len(spans))
	each(len(spans), func(i int) {
		if spans[i].Head == "" {
			return
		}
		if err := since(ctx, spans[i], most, &out[i]); err != nil {
			out[i].Err = namedRelease(err)
		}
	})
	return out
}

// Breaking implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Breaking(ctx context.Context, spans []ecosystemport.CommitRange) []bool {
	out := make([]bool, len(spans))
	each(len(spans), func(i int) {
		if spans[i].Head == "" {
			return
		}
		if t, err := openRelease(spans[i].Dir); err == nil {
			word, err := t.Word(ctx, append(append([]string{"rev-list", "--max-count=1", "--extended-regexp", "--grep=^BREAKING[ -]CHANGE:"}, spanArgs(spans[i])...), "--")...)
			out[i] = err == nil && word != ""
		}
	})
	return out
}

func spanArgs(s ecosystemport.CommitRange) []string {
	span := []string{"--end-of-options", s.Head}
	if s.From != "" {
		span = append(span, "^"+s.From)
	}
	return span
}

func since(ctx context.Context, s ecosystemport.CommitRange, most int, h *ecosystemport.History) error {
	t, err := openRelease(s.Dir)
	if err != nil {
		return err
	}
	return history(ctx, t, spanArgs(s), most, h)
}

func history(ctx context.Context, t *gitcli.Tree, span []string, most int, h *ecosystemport.History) error {
	args := append([]string{"log", "-z", "--no-show-signature", "--no-color", "--format=%H %ct %s", "--max-count=" + strconv.Itoa(most)}, span...)
	out, err := t.Git(ctx, gitcli.Command{Args: append(args, "--"), Settings: []gitcli.Setting{{Name: "i18n.logOutputEncoding", Value: "UTF-8"}}})
	if err != nil {
		return err
	}
	for _, record := range git.SplitRecords(out) {
		id, rest, _ := strings.Cut(record, " ")
		at, subject, ok := strings.Cut(rest, " ")
		if !ok {
			continue
		}
		seconds, _ := strconv.ParseInt(at, 10, 64)
		h.Commits = append(h.Commits, ecosystemport.ReleaseCommit{ID: id, At: time.Unix(seconds, 0).UTC(), Subject: subject})
	}
	if h.Total = len(h.Commits); h.Total < most {
		return nil
	}
	word, err := t.Word(ctx, append(append([]string{"rev-list", "--count"}, span...), "--")...)
	if err != nil {
		return err
	}
	h.Total, err = strconv.Atoi(word)
	return err
}

// Times implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Times(ctx context.Context, dir string, names []string) (map[string]time.Time, error) {
	t, err := openRelease(dir)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	args := []string{"for-each-ref", "--format=%(refname) %(creatordate:unix)"}
	for _, name := range names {
		args = append(args, tags+name)
	}
	out, err := t.Git(ctx, gitcli.Command{Args: args})
	if err != nil {
		return nil, namedRelease(err)
	}
	found := map[string]time.Time{}
	for line := range strings.Lines(string(out)) {
		ref, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		if seconds, err := strconv.ParseInt(at, 10, 64); err == nil {
			found[strings.TrimPrefix(ref, tags)] = time.Unix(seconds, 0).UTC()
		}
	}
	return found, nil
}

// Tracked implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Tracked(ctx context.Context, dir string, paths []string) ([]string, error) {
	t, err := openRelease(dir)
	if err != nil {
		return nil, err
	}
	found, err := entries(ctx, t, paths)
	return slices.Sorted(maps.Keys(found)), namedRelease(err)
}

const maxText = 8 << 20 // bytes of a file that a release writes

// Texts implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Texts(_ context.Context, dir string, paths []string) []ecosystemport.FileText {
	out := make([]ecosystemport.FileText, len(paths))
	root, err := os.OpenRoot(dir)
	for i := range paths {
		if err == nil {
			out[i].Data, out[i].Err = content(root, paths[i])
		} else {
			out[i].Err = err
		}
		if errors.Is(out[i].Err, fs.ErrNotExist) {
			out[i].Missing, out[i].Err = true, nil
		}
	}
	if err == nil {
		_ = root.Close()
	}
	return out
}

// content returns the bytes of a file, never nil, to which no link leads. It fails with fs.ErrNotExist for one that is not there.
func content(root *os.Root, name string) ([]byte, error) {
	if err := plain(root, name); err != nil {
		return nil, err
	}
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxText+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxText:
		return nil, ecosystem.ErrGit.WithMessage("%s is larger than %d bytes, the limit for files that a release writes", name, maxText)
	case data == nil:
		data = []byte{}
	}
	return data, nil
}

// plain fails for a path that is not a regular file, is behind a link, or belongs to git.
func plain(root *os.Root, name string) error {
	if !fs.ValidPath(name) || name == "." {
		return ecosystem.ErrGit.WithMessage("%q is not a path inside the repository", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return ecosystem.ErrGit.WithMessage("%s belongs to git", name)
		}
	}
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := root.Lstat(filepath.FromSlash(name[:i]))
		switch {
		case err != nil:
			return err
		case i == len(name) && !info.Mode().IsRegular(), i < len(name) && !info.IsDir():
			return ecosystem.ErrGit.WithMessage("%s is not a regular file, or is behind a link; a release writes only regular files", name)
		}
	}
	return nil
}

const (
	releaseMaxRecord = 1 << 20
	maxRecords       = 2000
)

// Records implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Records(_ context.Context, root, dir string) ([][]byte, error) {
	top, err := os.OpenRoot(filepath.Join(root, filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ecosystem.ErrStorage.WithMessage("the records of releases cannot be read: %v", err).WithCause(err)
	}
	defer top.Close()
	entries, err := fs.ReadDir(top.FS(), ".")
	if err != nil {
		return nil, ecosystem.ErrStorage.WithMessage("the records of releases cannot be read: %v", err).WithCause(err)
	}
	var found [][]byte
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > releaseMaxRecord || path.Ext(entry.Name()) != ".json" || len(found) == maxRecords {
			continue
		}
		if data, err := content(top, entry.Name()); err == nil {
			found = append(found, data)
		}
	}
	return found, nil
}
