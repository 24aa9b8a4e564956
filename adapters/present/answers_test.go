package present_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/deployment"
)

func read[T any](t *testing.T, doc string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(doc), &v))
	return v
}

func TestStanding(t *testing.T) {
	s := read[present.GitStatus](t, `{"branch":"main","head":"0123456789abcdef","upstream":"origin/main","ahead":2,"behind":1,"clean":false,
		"staged":["a"],"staged_count":1,"modified":["b","c"],"modified_count":5,"untracked":[],"untracked_count":0,"conflicted":["d"],"conflicted_count":1}`)
	assert.Equal(t, "main", s.Branch)
	assert.Equal(t, []present.Listed{{What: "conflicted", Names: []string{"d"}, Count: 1}, {What: "staged", Names: []string{"a"}, Count: 1},
		{What: "modified", Names: []string{"b", "c"}, Count: 5}}, s.Lists(), "the gravest first, and nothing that is empty")
	assert.Equal(t, 3, s.Lists()[2].More())
	assert.Zero(t, s.Lists()[0].More())
	assert.Empty(t, read[present.GitStatus](t, `{"clean":true}`).Lists())
}

func TestWorktrees(t *testing.T) {
	w := read[present.Worktrees](t, `{"worktrees":[{"path":"/w","branch":"main","head":"0123456789abcdef","is_main":true},
		{"path":"/x","head":"0123","is_detached":true,"locked":true,"prunable":true},{"path":"/b","is_bare":true}]}`).Worktrees
	require.Len(t, w, 3)
	assert.Equal(t, "0123456789ab", w[0].Commit())
	assert.Equal(t, "0123", w[1].Commit())
	assert.Empty(t, w[2].Commit())
	assert.Equal(t, []string{"main"}, w[0].Marks())
	assert.Equal(t, []string{"detached", "locked", "prunable: its directory is gone"}, w[1].Marks())
	assert.Equal(t, []string{"bare"}, w[2].Marks())
}

func TestWhatStepsAndActionsDo(t *testing.T) {
	for config, want := range map[string]string{
		`{"command":"npm test"}`: "", `{"targetWorkflowId":"wf_1"}`: "waits until it ends", `{"targetWorkflowId":"wf_1","waitForCompletion":true}`: "waits until it ends",
		`{"targetWorkflowId":"wf_1","waitForCompletion":false,"onChildFailure":"continue"}`: "does not wait for it, continues if it fails",
	} {
		assert.Equal(t, want, read[present.Step](t, `{"config":`+config+`}`).Starts(), config)
	}
	for doc, want := range map[string]string{
		`{"actionType":"script","config":{"command":"./b.sh","args":["--to","a b"]},"description":null,"projectId":null}`: `./b.sh --to 'a b'`,
		`{"actionType":"webhook","config":{"url":"https://x.example/"}}`:                                                  "POST https://x.example/",
		`{"actionType":"webhook","config":{"url":"https://x.example/","method":"PUT"}}`:                                   "PUT https://x.example/",
		`{"actionType":"workflow","config":{"workflowId":"wf_1"}}`:                                                        "workflow wf_1",
	} {
		assert.Equal(t, want, read[present.Action](t, doc).Does(), doc)
	}
}

// TestTheStatesHaveWords: every state of the domain has its words, and they are all different.
func TestTheStatesHaveWords(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, s := range deployment.FileStates() {
		words := present.StateWords(string(s))
		assert.False(t, seen[words], "%s: %q", s, words)
		seen[words] = true
	}
	assert.Empty(t, present.StateWords("odd"))
	counts := read[present.StateCounts](t, `{"up_to_date":2,"changed_upstream":3,"not_wanted":1,"conflict":1,"unmanaged":4}`)
	assert.Equal(t, []present.StateCount{{State: "up_to_date", Words: "up to date", Files: 2}, {State: "changed_upstream", Words: "changed upstream", Files: 2},
		{Words: "no longer wanted", Files: 1}, {State: "conflict", Words: "both (conflict)", Files: 1}, {Words: "extra", Files: 4}}, counts.Each())
}

// TestWhatAFileIsToldOf: a file that goes is not called changed, a link is told of, and one file of two targets is counted once.
func TestWhatAFileIsToldOf(t *testing.T) {
	p := read[present.Plan](t, `{"changes":[{"op":"delete","target":"codex","path":"/gone","state":"changed_upstream"},
		{"op":"update","target":"codex","path":"/both","update_kind":"drifted_update","state":"edited_here","before_link":"/elsewhere"},
		{"op":"update","target":"zed","path":"/both","update_kind":"drifted_update","state":"edited_here","before_link":"/elsewhere"},
		{"op":"update","target":"zed","path":"/back","update_kind":"managed_update","link":"../x"}],"summary":{"update":3,"delete":1}}`)
	var notes []string
	for _, c := range p.Changes {
		notes = append(notes, c.Note())
	}
	const both = "edited here: overwrites edits made since it was deployed; a file replaces the link to /elsewhere"
	assert.Equal(t, []string{"no longer wanted", both, both, "becomes a link to ../x"}, notes)
	assert.Equal(t, present.Summary{Update: 2, Delete: 1}, p.Files())
	adopted := read[present.Change](t, `{"op":"update","path":"/x","update_kind":"adopt_update","state":"not_deployed","differs_from":["command:a"]}`)
	assert.Equal(t, "overwrites a file that no deployment wrote and that differs from command:a", adopted.Note())
	assert.Equal(t, "would overwrite; it differs from command:a", present.Why([]present.Field{{Name: "op", Value: "update"}, {Name: "reason", Value: "would overwrite"}, {Name: "differs_from", Value: []any{"command:a"}}}))
	p.Changes = p.Changes[:1]
	assert.Equal(t, p.Summary, p.Files(), "of a list that was cut")
	assert.Equal(t, "no longer wanted", present.Why([]present.Field{{Name: "op", Value: "delete"}, {Name: "state", Value: "changed_upstream"}}))
	assert.Equal(t, "no longer managed; it is a link to /x", present.Why([]present.Field{{Name: "op", Value: "delete"}, {Name: "reason", Value: "no longer managed"}, {Name: "before_link", Value: "/x"}}))
}

func TestWhatChangesTake(t *testing.T) {
	p := read[present.Plan](t, `{"changes":[{"op":"create","target":"codex","path":"/a"},{"op":"update","path":"/b","update_kind":"adopt_update"},{"op":"update","path":"/c","update_kind":"merge_update"},
		{"op":"delete","path":"/d","delete_kind":"drifted_delete"},{"op":"update","path":"/e","update_kind":"drifted_update"},{"op":"delete","path":"/f","delete_kind":"managed_delete"}],
		"summary":{"create":1,"update":3,"delete":2}}`)
	var own, noted []string
	for _, c := range p.Adoptions() {
		own = append(own, c.Path)
	}
	for _, c := range p.Changes {
		if c.Note() != "" {
			noted = append(noted, c.Path)
		}
	}
	assert.Equal(t, []string{"/b", "/d", "/e"}, own)
	assert.Equal(t, []string{"/b", "/c", "/d", "/e"}, noted)
	assert.Equal(t, "codex /a", p.Changes[0].Key())
	assert.Equal(t, "1 to create, 3 to update, 2 to delete", p.Summary.Words())
	assert.True(t, present.Summary{}.Empty())
	assert.Equal(t, "nothing to change", present.Summary{}.Words())
}
