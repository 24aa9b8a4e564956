package configrepo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// MaxFiles is how many files one module or overlay may have.
const MaxFiles = 50_000

// maxContent is how large a file may be whose bytes are asked for.
const maxContent = 256 << 20

// chunk is how many files one goroutine looks at before it asks for more; smaller trees are not worth a second goroutine.
const chunk = 256

// Files reads the files of modules: the half of deployport.Sources that needs no git.
type Files struct {
	index *observe.Index
	limit int      // files of one tree
	bases sync.Map // config repositories, each to where it was last found to be
}

// resolve is a config repository's path with its links resolved. Every module asks; as long as the same directory stands there, it is what it was.
func (f *Files) resolve(repo string) (string, error) {
	now, err := os.Stat(repo)
	if err != nil {
		return "", err
	}
	if known, ok := f.bases.Load(repo); ok {
		real := known.(string)
		if there, err := os.Lstat(real); err == nil && os.SameFile(there, now) {
			return real, nil
		}
	}
	real, err := filepath.EvalSymlinks(repo)
	if err == nil {
		f.bases.Store(repo, real)
	}
	return real, err
}

// NewFiles reads files whose sums an index remembers. It is the caller who saves the index.
func NewFiles(index *observe.Index) *Files { return &Files{index: index, limit: MaxFiles} }

// Local implements deployport.Sources: the tree of a directory or file below the config repository.
func (f *Files) Local(ctx context.Context, at deployment.Locations, source string) (deployment.Tree, error) {
	clean, problem := localPath(source)
	if problem != "" {
		return nil, deployment.ErrPath.WithMessage("%s", problem).WithDetails(deployment.FieldDetails("source", source).AddPath("path", filepath.Join(at.Repo, source)))
	}
	full := filepath.Join(at.Repo, filepath.FromSlash(clean))
	resolved, info, err := f.within(at.Repo, full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, deployment.ErrConfig.WithMessage("the module source %s does not exist; correct its local_path in %s", full, deployment.ManifestFile).
			WithDetails(deployment.FieldDetails("source", source).AddPath("path", full))
	case err != nil:
		return nil, err
	case strings.Contains(filepath.ToSlash(resolved)+"/", "/.git/"): // by a link: the path itself has none
		return nil, deployment.ErrPath.WithMessage("%s is inside git's own directory; name another directory", full).
			WithDetails(deployment.Details{}.AddPath("path", full).AddPath("target", resolved))
	case info.IsDir():
		return f.Tree(ctx, resolved)
	case !info.Mode().IsRegular():
		return nil, notAFile(full, info.Mode())
	}
	w := walk{files: f, root: filepath.Dir(resolved), named: []deployment.File{{Path: path.Base(clean), Content: deployment.Content{Origin: resolved}}}}
	return w.tree(ctx)
}

// Tree is every file below a directory, which is no link itself, apart from what is in or named .git and .agentpack below it. Links
// to files that stay inside are those files; every other link fails with ErrPath, and so does what is neither file nor directory, a name
// that is not text, and a tree of more than MaxFiles files. Contents have an Origin and no Data.
func (f *Files) Tree(ctx context.Context, dir string) (deployment.Tree, error) {
	w := walk{files: f, root: dir}
	if err := w.list(ctx, dir, len(dir)+1); err != nil {
		return nil, err
	}
	return w.tree(ctx)
}

// within resolves the links of a path and makes sure that it stays below root.
func (f *Files) within(root, full string) (resolved string, info fs.FileInfo, err error) {
	base, err := f.resolve(root)
	if err != nil {
		return "", nil, located(full, err)
	}
	if rel, ok := strings.CutPrefix(full, root+string(filepath.Separator)); ok {
		if resolved, info, err = straight(base, rel); err != nil || info != nil {
			return resolved, info, located(full, err)
		}
	}
	if resolved, err = filepath.EvalSymlinks(full); err != nil {
		return "", nil, located(full, err)
	}
	if !inside(base, resolved) {
		return "", nil, deployment.ErrPath.WithMessage("%s leads to %s, outside the config repository; move the files into the repository", full, resolved).
			WithDetails(deployment.Details{}.AddPath("path", full).AddPath("target", resolved))
	}
	if info, err = os.Lstat(resolved); err != nil {
		return "", nil, located(full, err)
	}
	return resolved, info, nil
}

// straight is what stands at rel, a clean path, below base, which is resolved; nil when a link is on the way. Most have none, and every
// module is asked for.
func straight(base, rel string) (full string, info fs.FileInfo, err error) {
	full = base
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if full += string(filepath.Separator) + part; len(full) < len(base)+1+len(rel) { // on the way
			on, err := observe.Lstat(full)
			switch {
			case err != nil:
				return "", nil, err
			case on.Mode&fs.ModeSymlink != 0:
				return "", nil, nil
			}
			continue
		}
		if info, err = os.Lstat(full); err != nil {
			return "", nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", nil, nil
		}
	}
	return full, info, nil
}

// located keeps fs.ErrNotExist for the caller to speak of.
func located(full string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return unreadable(full, err)
}

func inside(root, full string) bool {
	rel, err := filepath.Rel(root, full)
	return err == nil && filepath.IsLocal(rel)
}

// reserved are names that never belong to a module's files, at any depth (agentpack contract §1.7).
func reserved(name string) bool { return name == ".git" || name == ".agentpack" }

// walk is one reading of a tree.
type walk struct {
	files *Files
	root  string // resolved
	named []deployment.File
}

// list collects the names below a directory. sub is how many bytes of a path are before the one within the tree.
func (w *walk) list(ctx context.Context, dir string, sub int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	children, err := observe.ReadDir(dir)
	if err != nil {
		return unreadable(dir, err)
	}
	skip := len(dir) + 1
	slices.SortFunc(children, func(a, b observe.DirEntry) int { return strings.Compare(a.Path[skip:], b.Path[skip:]) }) // little is left to sort of the tree then
	w.named = slices.Grow(w.named, min(len(children), w.files.limit))
	for _, c := range children {
		name := c.Path[skip:]
		if reserved(name) {
			continue
		}
		full := c.Path
		if !utf8.ValidString(name) || strings.ContainsFunc(name, oddRune) {
			return deployment.ErrPath.WithMessage("the name %q is not valid on every system; rename it", full[sub:]).WithDetails(deployment.Details{}.AddPath("path", full))
		}
		switch c.Kind {
		case fs.ModeDir:
			if err := w.list(ctx, full, sub); err != nil {
				return err
			}
			continue
		case 0:
		case fs.ModeSymlink:
			if full, err = w.follow(full); err != nil {
				return err
			}
		default:
			return notAFile(full, c.Kind)
		}
		if len(w.named) >= w.files.limit {
			return deployment.ErrPath.WithMessage("there are more than %d files below %s; a module should be a separate directory", w.files.limit, w.root).
				WithDetails(deployment.FieldDetails("max_files", w.files.limit).AddPath("path", w.root))
		}
		w.named = append(w.named, deployment.File{Path: filepath.ToSlash(c.Path[sub:]), Content: deployment.Content{Origin: full}})
	}
	return nil
}

func oddRune(r rune) bool { return r == '\\' || unicode.IsControl(r) }

func notAFile(full string, mode fs.FileMode) error {
	return deployment.ErrPath.WithMessage("%s is neither a file nor a directory (%s); remove it from the module", full, mode.Type()).
		WithDetails(deployment.Details{}.AddPath("path", full))
}

// follow is the file that a link leads to, inside the tree.
func (w *walk) follow(link string) (string, error) {
	target, err := filepath.EvalSymlinks(link)
	details := deployment.Details{}.AddPath("path", link)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", deployment.ErrPath.WithMessage("%s is a dangling link; remove it, or put the file there", link).WithDetails(details)
	case err != nil:
		return "", unreadable(link, err)
	}
	rel, err := filepath.Rel(w.root, target)
	if err != nil || !filepath.IsLocal(rel) || leadsToReserved(rel) {
		return "", deployment.ErrPath.WithMessage("%s is a link out of the module, to %s; replace it with a copy of the file", link, target).
			WithDetails(details.AddPath("target", target))
	}
	info, err := os.Lstat(target)
	switch {
	case err != nil:
		return "", unreadable(link, err)
	case info.IsDir():
		return "", deployment.ErrPath.WithMessage("%s is a link to a directory; only links to files can be deployed; replace it with a copy", link).
			WithDetails(details.AddPath("target", target))
	case !info.Mode().IsRegular():
		return "", notAFile(link, info.Mode())
	}
	return target, nil
}

func leadsToReserved(rel string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if reserved(part) {
			return true
		}
	}
	return false
}

// tree looks at every named file, several at a time in big trees.
func (w *walk) tree(ctx context.Context) (deployment.Tree, error) {
	tree := deployment.Tree(w.named)
	if tree == nil {
		tree = deployment.Tree{}
	}
	tree.Sort() // first: files are looked at fastest in this order
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < len(w.named); from += chunk {
		part := w.named[from:min(from+chunk, len(w.named))]
		look := func() error {
			eye := w.files.index.NewStatter()
			defer eye.Close()
			for i := range part {
				if err := fill(ctx, eye, &part[i]); err != nil {
					return err
				}
			}
			return nil
		}
		if len(w.named) <= chunk {
			if err := look(); err != nil {
				return nil, err
			}
			continue
		}
		group.Go(look)
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return tree, nil
}

// fill finds out mode, size and sum of the file at its content's origin.
func fill(ctx context.Context, eye *observe.Statter, file *deployment.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := file.Content.Origin
	st, err := eye.Lstat(at)
	if err != nil {
		return unreadable(at, err)
	}
	if !st.Mode.IsRegular() { // it was, a moment ago
		return notAFile(at, st.Mode)
	}
	sum, err := eye.SumOf(at, st)
	switch {
	case errors.Is(err, deployment.ErrPath):
		return err
	case err != nil:
		return unreadable(at, err)
	}
	file.Mode, file.Content.Size, file.Content.Sum = deployment.ModeOf(st.Mode), st.Size, sum
	return nil
}

// Content implements deployport.Sources: a file's bytes, checked against its sum.
func (f *Files) Content(ctx context.Context, c deployment.Content) ([]byte, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.Origin == "":
		return c.Data, nil
	case c.Size > maxContent:
		return nil, deployment.ErrPath.WithMessage("%s has %d bytes; files of at most %d can be deployed", c.Origin, c.Size, maxContent).
			WithDetails(deployment.Details{}.AddPath("path", c.Origin))
	}
	data, err := observe.ReadRegular(c.Origin, c.Size)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(c.Origin, err)
	}
	if err != nil || int64(len(data)) != c.Size || deployment.SumOf(data) != c.Sum {
		return nil, deployment.ErrStale.WithMessage("%s changed after it was read; nothing was written, check it and retry", c.Origin).
			WithDetails(deployment.Details{}.AddPath("path", c.Origin))
	}
	return data, nil
}
