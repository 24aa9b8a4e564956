package present_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
)

// TestReleasePlans have how much it is first, a repository in a line with its files, each thing once, and nothing left out.
func TestReleasePlans(t *testing.T) {
	t.Parallel()
	var repos, files, commits []string
	for i := range 50 {
		branch := "main"
		if i == 7 {
			branch = "release/2"
		}
		repos = append(repos, fmt.Sprintf(`{"name":"r%02d","dir":"repos/r%02d","branch":%q,"head":"abc%02d","commits":%d,"commit":true,"commit_message":"release v2","files_total":1,"pushes":["main","v2"]}`, i, i, branch, i, i))
		files = append(files, fmt.Sprintf(`{"path":"repos/r%02d/VERSION","change":"1 → 2"}`, i))
		commits = append(commits, fmt.Sprintf(`{"repo":"r%02d","commit":"abc%02d","subject":"feat: x"}`, i, i))
	}
	files = append(files, `{"path":"releases/v2.json","change":"new record"}`)
	doc := fmt.Sprintf(`{"tag":"v2","branch":"main","repos":[%s],"files":[%s],"commits":[%s],"commits_total":70,"totals":{"tags":50,"repositories":50,"commits_made":51,"files_written":51},
		"validation":{"ok":true,"passed":["clean"],"warnings":["one","two"],"errors":[]},"root":{"branch":"main"},"notes":["a note"],"github_releases":[{"repo":"r01","notes":"- feat: x"}]}`,
		strings.Join(repos, ","), strings.Join(files, ","), strings.Join(commits, ","))
	v, err := present.Parse(json.RawMessage(doc))
	require.NoError(t, err)
	plan, ok := present.ReleasePlan(v.([]present.Field), []any{"one"})
	require.True(t, ok)
	plan = present.ReleaseLines(plan)
	assert.Equal(t, present.Field{Name: "totals", Value: "50 repositories, 51 commits made, 51 files written, 50 tags"}, plan[0])
	rows := present.Member(plan, "repositories").([]any)
	require.Len(t, rows, 50)
	assert.Equal(t, "r01  abc01; 1 commit; writes VERSION (1 → 2)", rows[1])
	assert.Equal(t, "r07  branch release/2; abc07; 7 commits; writes VERSION (1 → 2)", rows[7])
	assert.Equal(t, "release v2", present.Text(plan, "each_commit_says"))
	assert.Equal(t, []any{"main", "v2"}, present.Member(plan, "each_pushes"))
	assert.Equal(t, []any{"releases/v2.json (new record)"}, present.Member(present.Member(plan, "root").([]present.Field), "writes"), "what is in no repository")
	assert.Equal(t, []any{"two"}, present.Member(plan, "warnings"), "the other one stands beside the preview")
	assert.Equal(t, []any{"clean"}, present.Member(plan, "checked"))
	assert.Equal(t, json.Number("70"), present.Member(plan, "commits_total"), "some are not listed")
	assert.Len(t, present.Member(plan, "commits"), 50)
	assert.NotNil(t, present.Member(plan, "notes"))
	assert.NotNil(t, present.Member(plan, "github_releases"))
	assert.Equal(t, "commits", plan[len(plan)-1].Name)

	_, ok = present.ReleasePlan([]present.Field{{Name: "repos", Value: []any{}}}, nil)
	assert.False(t, ok)
}
