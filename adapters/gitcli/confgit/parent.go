package confgit

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/adapters/gitcli/run"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/gitref"
)

// Parent implements deployport.Ancestry. It fails with ErrGitRepo when dir is in no repository, and with ErrGit for text that is no commit.
func (c *Client) Parent(ctx context.Context, dir, commit string) (parent string, found bool, err error) {
	id, err := gitref.ParseCommit(commit)
	if err != nil {
		return "", false, deployment.ErrGit.Sayf("%q is no commit; give all 40 hex digits", commit).Because(err)
	}
	out, err := c.git(ctx, run.Command{Dir: dir, Env: []string{"GIT_NO_REPLACE_OBJECTS=1"},
		Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", id.String() + "^1^{commit}"}})
	if exitOf(err) == 1 { // the first commit, and one beyond which a shallow clone knows nothing
		return "", false, nil
	}
	return strings.TrimSpace(string(out)), err == nil, err
}
