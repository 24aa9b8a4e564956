package deployment_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// TestADirectoryOfOwnedFilesMakesRoom: a file may replace a directory of owned files; the writer finds out whether the directory holds anything else.
func TestADirectoryOfOwnedFilesMakesRoom(t *testing.T) {
	seen := map[string]deployment.Seen{root + "/a": {Kind: deployment.Directory}, root + "/a/b": file("old"), root + "/ab": file("old")}
	p := make1(t, []deployment.Desired{desired("a", "new")}, []deployment.Owned{owned("a/b", "old")}, seen)
	require.Len(t, p.Changes, 2)
	assert.Equal(t, deployment.OpCreate, p.Changes[0].Op)
	assert.Equal(t, deployment.Seen{}, p.Changes[0].Before)
	assert.Equal(t, deployment.OpDelete, p.Changes[1].Op)

	r := deployment.Root{Target: "codex", Path: root}
	_, err := deployment.NewPlan(deployment.Wanted{Roots: []deployment.Root{r}, Files: []deployment.Desired{desired("a", "new")}},
		deployment.Observed{Ledgers: []deployment.OwnershipManifest{{Root: r, Present: true, Owned: []deployment.Owned{owned("ab", "old")}}}, Files: seen})
	require.ErrorIs(t, err, deployment.ErrPath, "nothing in it is ours")
}

// TestAPartInALinkedDocument: a file that replaces a link is private and needs adopt; removing the part restores the link if the rest equals the
// content of its target.
func TestAPartInALinkedDocument(t *testing.T) {
	d := desired("config.toml", "theirs and ours")
	d.Part, d.Merge.Ours = &deployment.Part{Format: deployment.FormatTOML}, sum("ours")
	link := deployment.Seen{Kind: deployment.Link, Sum: sum("theirs"), Link: "elsewhere"}
	c := make1(t, []deployment.Desired{d}, nil, map[string]deployment.Seen{d.Path: link}).Changes[0]
	assert.Equal(t, deployment.AdoptUpdate, c.Gate)
	assert.Equal(t, fs.FileMode(0o600), c.Mode)
	assert.Contains(t, c.Reason, "symbolic link")

	have := owned("config.toml", "theirs and ours")
	have.Part, have.PartSum = d.Part, sum("ours")
	assert.Equal(t, deployment.DriftedUpdate, make1(t, []deployment.Desired{d}, []deployment.Owned{have}, map[string]deployment.Seen{d.Path: link}).Changes[0].Gate)

	without := desired("config.toml", "theirs")
	without.Part, without.Merge.Now = d.Part, sum("ours")
	original := deployment.Original{Path: d.Path, Seen: link, Snapshot: "1"}
	back := func(left string) deployment.Change {
		without.Content = content(left)
		p := make1(t, []deployment.Desired{without}, []deployment.Owned{have}, map[string]deployment.Seen{d.Path: file(left + " and ours")})
		return p.Restore([]deployment.Original{original}, deployment.InitialSnapshot, deployment.Observed{}).Changes[0]
	}
	assert.Equal(t, "elsewhere", back("theirs").Link)
	assert.Equal(t, deployment.ManagedUpdate, back("theirs").Gate)
	assert.Empty(t, back("edited since").Link, "what was written since stays")
}
