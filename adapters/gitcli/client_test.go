package gitcli_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/internal/testkit/projecttest/gittest"
	"github.com/countersign-dev/countersign/ports/projectport"
)

func TestRepositories(t *testing.T) {
	gittest.Repositories(t, func(testing.TB) projectport.Repositories { return gitcli.New(gitcli.Options{}) })
}

func TestHeads(t *testing.T) {
	gittest.Heads(t, func(testing.TB) projectport.Repositories { return gitcli.New(gitcli.Options{}) })
}

func TestWorktrees(t *testing.T) {
	gittest.Worktrees(t, func(testing.TB) projectport.Repositories { return gitcli.New(gitcli.Options{}) })
}
