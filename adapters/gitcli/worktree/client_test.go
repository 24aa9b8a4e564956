package worktree_test

import (
	"os"
	"testing"

	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"

	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain has the tests work where that is quick.
func TestMain(m *testing.M) { os.Exit(workroom.Run(m, "")) }

func newRepos(testing.TB) repos {
	c := worktree.New(worktree.Options{})
	return repos{Repos: c}
}

func TestRemotes(t *testing.T) { remotes(t, newRepos) }

func TestTrees(t *testing.T) { trees(t, newRepos) }

func TestKeeping(t *testing.T) { keeping(t, newRepos) }
