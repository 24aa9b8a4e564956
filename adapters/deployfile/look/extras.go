package look

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/deployfile/ledger"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Extras implements deployport.Machine. Only regular files count, links are not followed (but the root may be one), and what is called
// .git or .agentpack below the root is passed over, wherever the root itself lies (agentpack contract §1.7). A root that is absent or
// no directory has none. A directory that may not be read is ErrPermission.
func (k *Looker) Extras(ctx context.Context, root plan.Root) ([]string, error) {
	info, err := os.Stat(root.Path)
	switch {
	case absent(err) || err == nil && !info.IsDir():
		return nil, nil
	case err != nil:
		return nil, refused("listed", root.Path, err)
	}
	var files []string
	err = walk(ctx, root.Path, func(path string) { files = append(files, path) })
	return files, err
}

// walk visits the files below dir. The names of a directory come sorted and each is finished before the next, which is the order of
// path components (agentpack contract Appendix D).
func walk(ctx context.Context, dir string, visit func(path string)) error {
	if err := ctx.Err(); err != nil {
		return fault.From(err)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case absent(err): // gone meanwhile
		return nil
	case err != nil:
		return refused("listed", dir, err)
	}
	for _, e := range entries {
		name := e.Name()
		if name == ".git" || name == ".agentpack" {
			continue
		}
		switch path := filepath.Join(dir, name); e.Type() {
		case fs.ModeDir:
			if err := walk(ctx, path, visit); err != nil {
				return err
			}
		case 0:
			if !ledger.IsName(name) {
				visit(path)
			}
		}
	}
	return nil
}
