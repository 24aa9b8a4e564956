package projectfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/tasks"
)

// maxTaskFile bounds a file that says what can be run, in bytes. Real ones have a few kilobytes.
const maxTaskFile = 2 << 20

// maxListed is how many entries of one directory are looked at for members.
const maxListed = 10_000

// Tasks implements projectport.Directories.
func (d *directories) Tasks(ctx context.Context, dir string, facts project.Facts) (tasks.List, error) {
	in, err := openTree(ctx, dir)
	if err != nil {
		return tasks.List{}, err
	}
	defer in.Close()
	return tasks.Read(in.At("."), facts), ctx.Err()
}

// Workspace implements projectport.Directories.
func (d *directories) Workspace(ctx context.Context, dir string, facts project.Facts) (tasks.Workspace, error) {
	in, err := openTree(ctx, dir)
	if err != nil {
		return tasks.Workspace{}, err
	}
	defer in.Close()
	return tasks.FindWorkspace(in, facts), ctx.Err()
}

// Program implements projectport.Directories.
func (d *directories) Program(ctx context.Context, root, dir, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if own, is := strings.CutPrefix(name, "./"); is {
		at := filepath.Join(dir, own)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
		return "", project.ErrExecutionFailed.WithMessage("%s is not an executable program; make it executable and call again", at)
	}
	v := variables(d.env())
	if found := program(root, searchPath(root, append(filepath.SplitList(v["PATH"]), d.toolchains(v)...)), name); found != "" {
		return found, nil
	}
	return "", project.ErrExecutionFailed.WithMessage("%s is not installed on this machine; install it and call again", name)
}

// tree is a directory with what is below it, as domain/project/tasks reads it. It ends with its context.
type tree struct {
	folder
	ctx context.Context //nolint:containedctx // of the one call that it is read for
}

func openTree(ctx context.Context, dir string) (tree, error) {
	if err := ctx.Err(); err != nil {
		return tree{}, err
	}
	in, err := open(dir)
	return tree{in, ctx}, err
}

// At implements tasks.Tree.
func (t tree) At(dir string) tasks.Documents { return documents{t.folder, dir} }

// Dirs implements tasks.Tree.
func (t tree) Dirs(dir string) []string {
	if t.ctx.Err() != nil {
		return nil
	}
	at, err := t.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil
	}
	defer at.Close()
	entries, _ := at.ReadDir(maxListed) // as many as can be read
	var out []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains([]string{"node_modules", "bower_components", "target", "vendor", "__pycache__"}, e.Name()) {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}

// documents are the files of one directory of a folder.
type documents struct {
	in  folder
	dir string
}

func (d documents) at(name string) string { return filepath.FromSlash(path.Join(d.dir, name)) }

// Has implements tasks.Documents.
func (d documents) Has(name string) bool { return d.in.has(d.at(name)) }

// Text implements tasks.Documents.
func (d documents) Text(name string) ([]byte, error) {
	text, err := d.in.read(d.at(name), maxTaskFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = reason(err)
	}
	return text, err
}

// Tree implements tasks.Documents.
func (d documents) Tree(name string) (any, error) {
	text, err := d.Text(name)
	if err != nil {
		return nil, err
	}
	var doc any
	switch path.Ext(name) {
	case ".yml", ".yaml":
		if err = yamlcodec.Decode(text, &doc, yamlcodec.Options{}); err == nil {
			doc, err = byText(doc)
		}
	case ".json":
		err = json.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &doc)
	default:
		var values map[int]json.RawMessage
		if values, err = (docedit.Editor{}).Values("toml", text, [][]string{{}}); err == nil {
			err = json.Unmarshal(values[0], &doc)
		}
	}
	return doc, err
}

// byText returns a tree whose keys are all text, as task runners take them: of one with a number or a boolean for a key, nothing would be seen.
func byText(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = byText(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = byText(v[key]); err != nil {
				return nil, err
			}
		}
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			name := fmt.Sprint(key)
			if _, twice := out[name]; twice {
				return nil, fmt.Errorf("the key %.80q occurs twice, as text and as a number or a boolean", name)
			}
			if out[name], err = byText(value); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
