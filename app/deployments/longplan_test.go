package deployments_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// TestALongPlanSaysWhatItLeavesOut: existing files are listed before new ones, and all are counted by directory.
func TestALongPlanSaysWhatItLeavesOut(t *testing.T) {
	var c clock.Fake
	dir := commanded(t, commands)
	door := sampleDoorOver(t, dir, &c)
	call := func(name tool.Name, args string, token confirm.Token) tool.Outcome {
		return door.Call(context.Background(), tool.Call{Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: name, Args: json.RawMessage(args), Token: token, MaxOutput: 24 << 10})
	}
	first := call("deploy", `{}`, confirm.Token{})
	require.NoError(t, first.Err)
	require.NoError(t, call("deploy_apply", `{"yes":true}`, first.Request.Token).Err)

	manifest := strings.Replace(commands, "write_instructions: true", "write_instructions: true, write_user_skills: true", 1) +
		"  - {id: \"skill:big\", type: skill, tags: [base], source: {local_path: {path: big}}}\n"
	repo := filepath.Join(dir, "pack/repo")
	require.NoError(t, os.WriteFile(filepath.Join(repo, "agentpack.yaml"), []byte(manifest), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(repo, "big"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(repo, "big/SKILL.md"), []byte("---\nname: big\ndescription: many files\n---\n"), 0o644))
	for i := range 99 {
		require.NoError(t, os.WriteFile(filepath.Join(repo, "big", fmt.Sprintf("part-%02d.md", i)), []byte("part\n"), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(repo, "rules/AGENTS.md"), []byte("# Other rules\n"), 0o644))
	o := call("plan", `{}`, confirm.Token{})
	require.NoError(t, o.Err)
	var report struct{ Data deployments.ChangesData }
	require.NoError(t, json.Unmarshal(o.Value, &report))
	assert.Positive(t, report.Data.Omitted)
	require.NotEmpty(t, report.Data.Changes)
	updates := 0
	for _, c := range report.Data.Changes {
		if c.Op == deployment.OpUpdate {
			updates++
		}
	}
	assert.Equal(t, report.Data.Summary.Update, updates, "what is there already is listed first")
	assert.Positive(t, updates)
	var sum deployment.Summary
	for _, at := range report.Data.Places {
		sum.Create, sum.Update, sum.Delete = sum.Create+at.Summary.Create, sum.Update+at.Summary.Update, sum.Delete+at.Summary.Delete
	}
	assert.Equal(t, report.Data.Summary, sum)
	assert.Equal(t, 100, sum.Create)
	assert.Equal(t, sum.Create+sum.Update+sum.Delete, len(report.Data.Changes)+report.Data.Omitted)
}

// TestAHugeFileIsNotCompared: it is deployed all the same, and the result says that its diff is omitted.
func TestAHugeFileIsNotCompared(t *testing.T) {
	var c clock.Fake
	dir := commanded(t, commands)
	rules := filepath.Join(dir, "pack/repo/rules/AGENTS.md")
	require.NoError(t, os.WriteFile(rules, []byte(strings.Repeat("A rule.\n", 3<<20)), 0o644)) // 24 MiB
	o := sampleDoorOver(t, dir, &c).Call(context.Background(), tool.Call{Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: "preview", Args: json.RawMessage(`{"diff":true}`)})
	require.NoError(t, o.Err)
	assert.Contains(t, string(o.Value), "it has more than 8388608 bytes, and is not compared")
	assert.Less(t, len(o.Value), 64<<10)
}
