package gitcli_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/gitcli"

	"github.com/countersign-dev/countersign/ports/projectport"
)

func TestRepositories(t *testing.T) {
	repositoriesDo(t, func(testing.TB) projectport.Repositories { return gitcli.New(gitcli.Options{}) })
}

func TestHeads(t *testing.T) {
	heads(t, func(testing.TB) projectport.Repositories { return gitcli.New(gitcli.Options{}) })
}

func TestWorktrees(t *testing.T) {
	worktrees(t, func(testing.TB) projectport.Repositories { return gitcli.New(gitcli.Options{}) })
}
