package ecogit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// releaseLiteral has git take paths as they are.
const releaseLiteral = "GIT_LITERAL_PATHSPECS=1"

// preparation is a step in the making, with a private index.
type preparation struct {
	*gitcli.Tree
	work    ecosystemport.ReleaseWork
	scratch string
	env     []string // who commits, and when
}

// Prepare implements ecosystemport.ReleaseGit.
func (c *ReleaseClient) Prepare(ctx context.Context, w ecosystemport.ReleaseWork) (ecosystemport.ReleaseStep, error) {
	s := ecosystemport.ReleaseStep{Name: w.Name, Dir: w.Dir, Branch: w.Branch, Old: w.Head, New: w.Head, Tag: w.Tag}
	t, err := openRelease(w.Dir)
	if err != nil {
		return s, err
	}
	if s.Author, err = author(ctx, t); err != nil {
		return s, err
	}
	scratch, err := os.MkdirTemp("", "countersign-release-*")
	if err != nil {
		return s, ecosystem.ErrStorage.WithMessage("the directory for preparing a release cannot be created: %v", err).WithCause(err)
	}
	defer os.RemoveAll(scratch)
	p := preparation{Tree: t, work: w, scratch: scratch}
	return s, namedRelease(p.all(ctx, &s))
}

func (p *preparation) all(ctx context.Context, s *ecosystemport.ReleaseStep) (err error) {
	at, err := p.time(ctx)
	if err != nil {
		return err
	}
	p.env = releaseIdentity(s.Author, p.work.At, at)
	if len(p.work.Files) > 0 {
		if s.Files, err = p.files(ctx); err != nil {
			return err
		}
		if s.New, err = p.commit(ctx, s.Files); err != nil {
			return err
		}
		if s.New == s.Old {
			s.Files = nil
		}
	}
	if p.work.Tag != "" {
		s.TagObject, err = p.tag(ctx, s)
	}
	return err
}

// time returns the time of the new commit: now, but not before its parent, because git relies on ordered dates when it walks history.
func (p *preparation) time(ctx context.Context) (time.Time, error) {
	if p.work.Head == "" {
		return p.work.At, nil
	}
	word, err := p.Word(ctx, "log", "-1", "--no-show-signature", "--format=%ct", "--end-of-options", p.work.Head, "--")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return time.Time{}, ecosystem.ErrGit.WithMessage("git printed no time for commit %s in %s", p.work.Head, p.Dir).WithCause(err)
	}
	if parent := time.Unix(seconds, 0).UTC(); parent.After(p.work.At) {
		return parent, nil
	}
	return p.work.At, nil
}

// releaseIdentity returns the environment variables that set a commit's author and committer.
func releaseIdentity(who string, authored, committed time.Time) []string {
	name, email, _ := strings.Cut(strings.TrimSuffix(who, ">"), " <")
	date := func(t time.Time) string { return "@" + strconv.FormatInt(t.Unix(), 10) + " +0000" }
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_AUTHOR_DATE=" + date(authored),
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email, "GIT_COMMITTER_DATE=" + date(committed)}
}

// files returns the files of the step: each is as the work says it is, and as it was committed.
func (p *preparation) files(ctx context.Context) ([]ecosystemport.ReleaseFile, error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, ecosystem.ErrStorage.WithCause(err)
	}
	defer root.Close()
	out := make([]ecosystemport.ReleaseFile, len(p.work.Files))
	var paths []string
	for i, f := range p.work.Files {
		there, err := content(root, f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if (there == nil) != (f.Old == nil) || !bytes.Equal(there, f.Old) {
			return nil, ecosystem.ErrChanged.WithMessage("%s in %s changed during the release; call again", f.Path, p.Dir)
		}
		out[i].Path = f.Path
		paths = append(paths, f.Path)
	}
	if err := p.committed(ctx, paths, out); err != nil {
		return nil, err
	}
	return out, p.blobs(ctx, out)
}

// committed finds what HEAD and the index record of the files, which has to be one thing.
func (p *preparation) committed(ctx context.Context, paths []string, files []ecosystemport.ReleaseFile) error {
	staged, err := entries(ctx, p.Tree, paths)
	if err != nil {
		return err
	}
	head := map[string]git.Entry{}
	if p.work.Head != "" {
		out, err := p.Git(ctx, gitcli.Command{Env: []string{releaseLiteral}, Args: append([]string{"ls-tree", "-z", "--full-tree", p.work.Head, "--"}, paths...)})
		if err != nil {
			return err
		}
		if head, err = listedRelease(out); err != nil {
			return err
		}
	}
	for i := range files {
		f := &files[i]
		was, tracked := head[f.Path]
		switch {
		case was != staged[f.Path]:
			return ecosystem.ErrChanged.WithMessage("%s in %s has changes that are staged and not committed; commit or undo them", f.Path, p.Dir)
		case !tracked && p.work.Files[i].Old != nil:
			return ecosystem.ErrChanged.WithMessage("%s in %s is not committed; commit it first", f.Path, p.Dir)
		case tracked && was.Mode != git.FileMode && was.Mode != git.ScriptMode:
			return ecosystem.ErrChanged.WithMessage("%s in %s is a link or a submodule; a release writes only regular files", f.Path, p.Dir)
		}
		f.Mode, f.Was = cmp.Or(was.Mode, git.FileMode), was.Object
	}
	return nil
}

// listedRelease reads `ls-files --stage -z`, or `ls-tree -z`.
func listedRelease(out []byte) (map[string]git.Entry, error) {
	found := map[string]git.Entry{}
	for e, err := range git.Entries(out) {
		if err != nil {
			return nil, ecosystem.ErrGit.WithMessage("%v", err).WithCause(err)
		}
		found[e.Path] = e
	}
	return found, nil
}

// entries returns the index's.
func entries(ctx context.Context, t *gitcli.Tree, paths []string) (map[string]git.Entry, error) {
	out, err := t.Git(ctx, gitcli.Command{Env: []string{releaseLiteral}, Args: append([]string{"ls-files", "--stage", "-z", "--"}, paths...)})
	if err != nil {
		return nil, err
	}
	return listedRelease(out)
}

// blobs stores what the files are and become: in the working tree byte for byte, and as git would record it.
func (p *preparation) blobs(ctx context.Context, files []ecosystemport.ReleaseFile) error {
	var names strings.Builder
	var into []*string
	keep := func(data []byte, id *string) error {
		name := filepath.Join(p.scratch, strconv.Itoa(len(into)))
		names.WriteString(name + "\n")
		into = append(into, id)
		return os.WriteFile(name, data, 0o600)
	}
	for i := range files {
		f, edit := &files[i], &p.work.Files[i]
		err := keep(edit.New, &f.After)
		if err == nil && edit.Old != nil {
			err = keep(edit.Old, &f.Before)
		}
		if err != nil {
			return ecosystem.ErrStorage.WithMessage("the directory for preparing a release cannot be created: %v", err).WithCause(err)
		}
		out, err := p.Git(ctx, gitcli.Command{Args: []string{"hash-object", "-w", "--stdin", "--path=" + f.Path}, Stdin: edit.New})
		if err != nil {
			return err
		}
		f.Becomes = strings.TrimSpace(string(out))
	}
	out, err := p.Git(ctx, gitcli.Command{Args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, Stdin: []byte(names.String())})
	if err != nil {
		return err
	}
	ids := strings.Fields(string(out))
	if len(ids) != len(into) {
		return ecosystem.ErrGit.WithMessage("git stored %d of %d files in %s", len(ids), len(into), p.Dir)
	}
	for i, id := range ids {
		*into[i] = id
	}
	return nil
}

// commit returns a commit of the head's files with the given ones replaced; the head itself if nothing changes.
func (p *preparation) commit(ctx context.Context, files []ecosystemport.ReleaseFile) (string, error) {
	from := "--empty"
	if p.work.Head != "" {
		from = p.work.Head
	}
	if _, err := p.indexed(ctx, nil, "read-tree", from); err != nil {
		return "", err
	}
	var info strings.Builder
	same := true
	for _, f := range files {
		same = same && f.Becomes == f.Was
		info.WriteString(f.Mode + " " + f.Becomes + "\t" + f.Path + "\x00")
	}
	if same {
		return p.work.Head, nil
	}
	if _, err := p.indexed(ctx, []byte(info.String()), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	top, err := p.indexed(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", top, "-F", "-"}
	if p.work.Head != "" {
		args = append(args, "-p", p.work.Head)
	}
	return p.indexed(ctx, []byte(p.work.Message), args...)
}

// indexed runs git on the private index.
func (p *preparation) indexed(ctx context.Context, stdin []byte, args ...string) (string, error) {
	out, err := p.Git(ctx, gitcli.Command{Args: args, Stdin: stdin, Env: append([]string{"GIT_INDEX_FILE=" + filepath.Join(p.scratch, "index")}, p.env...),
		Settings: []gitcli.Setting{{Name: "i18n.commitEncoding", Value: "UTF-8"}, {Name: "commit.gpgSign", Value: "false"}}})
	return strings.TrimSuffix(string(out), "\n"), err
}

// tag returns the object of the annotated tag.
func (p *preparation) tag(ctx context.Context, s *ecosystemport.ReleaseStep) (string, error) {
	text := "object " + s.New + "\ntype commit\ntag " + s.Tag + "\ntagger " + s.Author + " " + strconv.FormatInt(p.work.At.Unix(), 10) + " +0000\n\n" + p.work.Annotation
	out, err := p.Git(ctx, gitcli.Command{Args: []string{"mktag"}, Stdin: []byte(text)})
	return strings.TrimSpace(string(out)), err
}
