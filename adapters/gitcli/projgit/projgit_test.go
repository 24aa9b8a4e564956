package projgit_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/gitcli/projgit"
	"github.com/countersign-dev/countersign/internal/testkit/projecttest/gittest"
	"github.com/countersign-dev/countersign/ports/projectport"
)

func TestRepositories(t *testing.T) {
	gittest.Repositories(t, func(testing.TB) projectport.Repositories { return projgit.New(projgit.Options{}) })
}

func TestHeads(t *testing.T) {
	gittest.Heads(t, func(testing.TB) projectport.Heads { return projgit.New(projgit.Options{}) })
}

func TestWorktrees(t *testing.T) {
	gittest.Worktrees(t, func(testing.TB) projectport.Worktrees { return projgit.New(projgit.Options{}) })
}
