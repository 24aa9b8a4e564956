package deployments_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestEveryWayBackOfTwoRepositories: two config repositories have written one file, one after the other, and each rolls back to before its first
// deployment, in either order, after another deployment of one of them. The original content is restored.
func TestEveryWayBackOfTwoRepositories(t *testing.T) {
	for _, was := range []string{"", "mine from before\n"} {
		for _, teamFirst := range []bool{true, false} {
			o := newOwners(t)
			o.Write(o.mine, "agentpack.yaml", ownersMine["agentpack.yaml"]+wantsBoth)
			if was != "" {
				o.Write(o.UserHome, ".claude/commands/both.md", was)
			}
			before := o.everything()
			first, second := o.mine, o.Repo.Dir
			if teamFirst {
				first, second = second, first
			}
			for _, step := range []func(){
				func() { o.deploys(first, `,"adopt":true`) }, func() { o.deploys(second, `,"adopt":true`) }, func() { o.back(o.Repo.Dir, "initial") },
				func() { o.deploys(o.mine, `,"adopt":true`) }, func() { o.back(o.mine, "initial") },
			} {
				step()
				o.Clock.Advance(time.Second)
			}
			assert.Equal(t, before, o.everything(), "%q, the team first: %t", was, teamFirst)
		}
	}
}
