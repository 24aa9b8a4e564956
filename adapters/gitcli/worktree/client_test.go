package worktree_test

import (
	"os"
	"testing"

	"github.com/countersign-dev/countersign/adapters/gitcli/worktree"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxtest/keeptest"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxtest/treetest"
	"github.com/countersign-dev/countersign/internal/testkit/workroom"
)

// TestMain has the tests work where that is quick.
func TestMain(m *testing.M) { os.Exit(workroom.Run(m, "")) }

func house(testing.TB) treetest.House {
	c := worktree.New(worktree.Options{})
	return treetest.House{Repos: c}
}

func TestRemotes(t *testing.T) { treetest.Remotes(t, house) }

func TestTrees(t *testing.T) { treetest.Trees(t, house) }

func TestKeeping(t *testing.T) { keeptest.Keeping(t, house) }
