package confgit

import (
	"context"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

const (
	manyConflicts = 127     // the highest count git reports; above are its errors
	growth        = 16      // times its input is what the markers of shortest lines can make of a text
	slack         = 1 << 20 // bytes
)

// Merge implements deployport.Merger. Conflicts are marked in diff3 style, with the labels overlay (ours), baseline (base) and upstream
// (theirs). Conflicts is at most 127, however many there are. Content that is no text fails with ErrBaseline.
func (c *Client) Merge(ctx context.Context, base, ours, theirs []byte) (deployport.Merged, error) {
	files := []struct {
		name string
		data []byte
	}{{"overlay", ours}, {"baseline", base}, {"upstream", theirs}}
	size := 0
	for _, f := range files {
		if !deployment.IsText(f.data) {
			return deployport.Merged{}, deployment.ErrBaseline.WithMessage("the %s is not text and cannot be merged line by line; choose one of the versions by hand", f.name)
		}
		size += len(f.data)
	}
	var merged deployport.Merged
	err := outside(func(dir string, settle []string) error {
		for _, f := range files {
			path := filepath.Join(dir, f.name)
			if err := os.WriteFile(path, f.data, 0o600); err != nil {
				return disk(err, path)
			}
		}
		out, err := c.git(ctx, gitcli.Command{Dir: dir, Env: settle, Limit: int64(growth*size) + slack, Args: []string{"merge-file", "-p", "--diff3", "--marker-size=7",
			"-L", "overlay", "-L", "baseline", "-L", "upstream", "--", "overlay", "baseline", "upstream"}})
		if conflicts := gitcli.ExitOf(err); conflicts > 0 && conflicts <= manyConflicts {
			merged = deployport.Merged{Text: gitcli.Printed(err), Conflicts: conflicts}
			return nil
		}
		merged.Text = out
		return err
	})
	if err != nil {
		return deployport.Merged{}, err
	}
	return merged, nil
}
