package plan_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
)

// TestADirectoryOfOwnedFilesMakesRoom: a file may take the place of a directory that holds files of ours; whether it holds anything else is
// for whoever writes to find out.
func TestADirectoryOfOwnedFilesMakesRoom(t *testing.T) {
	seen := map[string]plan.Seen{root + "/a": {Kind: plan.Directory}, root + "/a/b": file("old"), root + "/ab": file("old")}
	p := make1(t, []plan.Desired{desired("a", "new")}, []plan.Owned{owned("a/b", "old")}, seen)
	require.Len(t, p.Changes, 2)
	assert.Equal(t, plan.Create, p.Changes[0].Op)
	assert.Equal(t, plan.Seen{}, p.Changes[0].Before)
	assert.Equal(t, plan.Delete, p.Changes[1].Op)

	r := plan.Root{Target: "codex", Path: root}
	_, err := plan.Make(plan.Wanted{Roots: []plan.Root{r}, Files: []plan.Desired{desired("a", "new")}},
		plan.Observed{Ledgers: []plan.Ledger{{Root: r, Present: true, Owned: []plan.Owned{owned("ab", "old")}}}, Files: seen})
	require.ErrorIs(t, err, deployment.ErrPath, "nothing in it is ours")
}

// TestAPartInALinkedDocument: a file that takes the place of a link is private and needs adopt; taking the part out again puts the link back
// while what is left is what it leads to.
func TestAPartInALinkedDocument(t *testing.T) {
	d := desired("config.toml", "theirs and ours")
	d.Part, d.Merge.Ours = &plan.Part{Format: plan.TOML}, sum("ours")
	link := plan.Seen{Kind: plan.Link, Sum: sum("theirs"), Link: "elsewhere"}
	c := make1(t, []plan.Desired{d}, nil, map[string]plan.Seen{d.Path: link}).Changes[0]
	assert.Equal(t, plan.AdoptUpdate, c.Gate)
	assert.Equal(t, fs.FileMode(0o600), c.Mode)
	assert.Contains(t, c.Reason, "symbolic link")

	have := owned("config.toml", "theirs and ours")
	have.Part, have.PartSum = d.Part, sum("ours")
	assert.Equal(t, plan.DriftedUpdate, make1(t, []plan.Desired{d}, []plan.Owned{have}, map[string]plan.Seen{d.Path: link}).Changes[0].Gate)

	without := desired("config.toml", "theirs")
	without.Part, without.Merge.Now = d.Part, sum("ours")
	original := plan.Original{Path: d.Path, Seen: link, Snapshot: "1"}
	back := func(left string) plan.Change {
		without.Content = content(left)
		p := make1(t, []plan.Desired{without}, []plan.Owned{have}, map[string]plan.Seen{d.Path: file(left + " and ours")})
		return p.Restore([]plan.Original{original}, plan.Initial, plan.Observed{}).Changes[0]
	}
	assert.Equal(t, "elsewhere", back("theirs").Link)
	assert.Equal(t, plan.ManagedUpdate, back("theirs").Gate)
	assert.Empty(t, back("edited since").Link, "what was written since stays")
}
