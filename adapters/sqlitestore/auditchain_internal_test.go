package sqlitestore

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestMembersAreFoundAsSQLFindsThem: what an index should hold is read from the place at which SQL looks for a member's name, whatever the bytes are.
func TestMembersAreFoundAsSQLFindsThem(t *testing.T) {
	pieces := []string{`"`, `:`, `,`, `":"`, `","`, `phase`, `call_id`, `tool`, `class`, `code`, `grant`, `confirmation`, `"phase":"`, `,"code":"`, `"code":"`, `,"grant":"`, `\"tool":"`,
		`,"confirmation":"`, `"class":"read"`, `x`, `{`, ` `}
	rapid.Check(t, func(t *rapid.T) {
		var event []byte
		for _, piece := range rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "event") {
			event = append(event, piece...)
		}
		found := locate(event)
		for which, name := range memberNames {
			written := `"` + string(name) + `":"`
			if which >= memberCode {
				written = "," + written
			}
			want := bytes.Index(event, []byte(written))
			if want >= 0 {
				want += len(written)
			}
			assert.Equal(t, max(want, 0), found[which], "%s in %s", written, event)
		}
	})
}
