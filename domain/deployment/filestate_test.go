package deployment_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// states lists every combination of three versions: what was deployed last, what is on disk (L is a symbolic link to the text b) and what the config
// repository says; then the state, and the op and gate of the plan. A dash is no file, an empty op no change.
const states = `
- - -
- - b  not_deployed      create
- b -
- b b  up_to_date
- c b  not_deployed      update adopt_update
- L b  up_to_date
- L c  not_deployed      update adopt_update
a - -  up_to_date
a - a  missing           create
a - b  missing           create
a a -  changed_upstream  delete
a a a  up_to_date
a a b  changed_upstream  update managed_update
a b -  conflict          delete drifted_delete
a b a  edited_here       update drifted_update
a b b  up_to_date
a b c  conflict          update drifted_update
a L -  conflict          delete drifted_delete
a L a  edited_here       update drifted_update
a L b  up_to_date
a L c  conflict          update drifted_update
`

// TestThreeVersionsAndTheirState checks every combination, with the resulting plan for whole files, and for parts of files.
func TestThreeVersionsAndTheirState(t *testing.T) {
	part := &deployment.Part{Format: deployment.FormatMarkdown}
	found := map[deployment.FileState]bool{}
	for row := range strings.Lines(strings.TrimSpace(states)) {
		cells := append(strings.Fields(row), "", "", "")
		base, disk, repo, state := cells[0], cells[1], cells[2], deployment.FileState(cells[3])
		found[state] = true
		var files []deployment.Desired
		var have []deployment.Owned
		seen := map[string]deployment.Seen{}
		if base != "-" {
			have = append(have, owned("x", base))
		}
		switch disk {
		case "-":
		case "L":
			link := file("b")
			link.Kind, link.Link = deployment.Link, "elsewhere"
			seen[root+"/x"] = link
		default:
			seen[root+"/x"] = file(disk)
		}
		if repo != "-" {
			files = append(files, desired("x", repo))
		}
		p := make1(t, files, have, seen)
		if cells[4] == "" {
			assert.Empty(t, p.Changes, row)
		} else if assert.Len(t, p.Changes, 1, row) {
			c := p.Changes[0]
			assert.Equal(t, cells[4:6], []string{string(c.Op), string(c.Gate)}, row)
			assert.Equal(t, state, c.State, row)
			assert.Equal(t, state.IsEdited(), len(p.Edited()) == 1, row)
			text, err := json.Marshal(c)
			require.NoError(t, err)
			assert.Equal(t, c.Op != deployment.OpCreate || state == deployment.StateMissing, strings.Contains(string(text), `"state":"`+string(state)+`"`), row)
		}
		if len(files) == 1 {
			var entry *deployment.Owned
			if len(have) == 1 {
				entry = &have[0]
			}
			assert.Equal(t, state, files[0].State(entry, seen[root+"/x"]), row)
			taken := files[0]
			taken.Taken = true
			if state == deployment.StateConflict {
				assert.Equal(t, deployment.StateChangedUpstream, taken.State(entry, seen[root+"/x"]), "all of the edit is upstream: %s", row)
			} else {
				assert.Equal(t, state, taken.State(entry, seen[root+"/x"]), row)
			}
		}
		if disk == "L" {
			continue // a part has no links
		}
		sums := map[string]deployment.Sum{"-": {}, "a": sum("a"), "b": sum("b"), "c": sum("c")}
		d := desired("config", "whole")
		d.Part, d.Merge.Now, d.Merge.Ours = part, sums[disk], sums[repo]
		var entry *deployment.Owned
		if base != "-" {
			entry = &deployment.Owned{Part: part, PartSum: sums[base]}
		}
		assert.Equal(t, state, d.State(entry, file("whole")), "part: %s", row)
	}
	for _, s := range deployment.FileStates() {
		assert.True(t, found[s], "no row has %s", s)
	}
}

// TestTheExecutableBitIsPartOfAVersion: a changed mode alone is an edit, and a changed mode upstream is an upstream change.
func TestTheExecutableBitIsPartOfAVersion(t *testing.T) {
	script := file("a")
	script.Mode = 0o755
	d, have := desired("x", "a"), owned("x", "a")
	assert.Equal(t, deployment.StateEditedHere, d.State(&have, script))
	have.Mode = deployment.ExecutableMode
	assert.Equal(t, deployment.StateChangedUpstream, d.State(&have, script))
	assert.Equal(t, deployment.StateUpToDate, d.State(&have, file("a")))
}

// TestAnEditThatUpstreamHasIsNotGuarded: what is already merged may be written without adopt.
func TestAnEditThatUpstreamHasIsNotGuarded(t *testing.T) {
	d := desired("x", "both")
	d.Taken = true
	p := make1(t, []deployment.Desired{d}, []deployment.Owned{owned("x", "old")}, map[string]deployment.Seen{root + "/x": file("mine")})
	require.Len(t, p.Changes, 1)
	assert.Equal(t, deployment.ManagedUpdate, p.Changes[0].Gate)
	assert.Equal(t, deployment.StateChangedUpstream, p.Changes[0].State)
	assert.Empty(t, p.Adoptions())
}
