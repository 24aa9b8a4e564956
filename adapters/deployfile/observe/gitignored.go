package observe

import (
	"context"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/fault"
)

// patience is how long git may think about one path.
const patience = 10 * time.Second

// IsGitIgnored reports whether git ignores the file, which need not exist, in that work tree. Where git cannot tell it does not.
func IsGitIgnored(ctx context.Context, tree, file string) (bool, error) {
	rel, err := filepath.Rel(tree, file)
	if err != nil {
		return false, fault.From(err)
	}
	asked := gitcli.Command{Dir: tree, Machine: true, Timeout: patience, Args: []string{"check-ignore", "-q", "--", "./" + filepath.ToSlash(rel)}} // a leading colon would mean something to git
	_, err = asked.Output(ctx)
	if ctx.Err() != nil {
		return false, fault.From(ctx.Err())
	}
	return err == nil, nil // 1 is "no"
}
