package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TestWhatWasLeftOutIsListed: a host need not make what nobody serves, and its name is not lost.
func TestWhatWasLeftOutIsListed(t *testing.T) {
	absent := []tool.Toolset{{Name: "zoo", Served: []string{}, ServedWith: "--toolsets zoo"}, {Name: "aviary", Served: []string{}, ServedWith: "a ticket"}}
	h := open(t, func(o *app.Options) { o.Absent = absent })
	var names []string
	for _, set := range h.Toolsets() {
		names = append(names, set.Name)
		if set.Name == "zoo" {
			assert.Equal(t, absent[0], set)
		}
	}
	assert.Equal(t, []string{"aviary", "control", "notes", "zoo"}, names)
	assert.Equal(t, "zoo", absent[0].Name, "the host's own list stays as it was")
	o := h.call("list_toolsets", `{}`)
	require.NoError(t, o.Err)
	var answer struct{ Toolsets []json.RawMessage }
	require.NoError(t, json.Unmarshal(o.Value, &answer))
	assert.JSONEq(t, `{"name":"aviary","served":[],"served_with":"a ticket"}`, string(answer.Toolsets[0]))

	for chosen, says := range map[string]string{
		"nots": `unknown toolset "nots"; use one of aviary, control, notes, zoo`,
		"zoo":  `the toolset "zoo" is not part of this application`,
	} {
		_, err := app.New(h.core, app.Options{Absent: absent, Serve: app.Selection{Toolsets: []string{"notes", chosen}}}, h.caps...)
		require.ErrorIs(t, err, app.ErrWiring)
		assert.Contains(t, err.Error(), says)
	}
}

func TestWhichToolsetsASelectionServes(t *testing.T) {
	for name, c := range map[string]struct {
		s             app.Selection
		notes, others bool
	}{
		"nothing said":   {app.Selection{}, true, true},
		"only excluding": {app.Selection{Exclude: []string{"a"}, ReadOnly: true}, true, true},
		"all":            {app.Selection{Toolsets: []string{"notes", "all"}}, true, true},
		"one":            {app.Selection{Toolsets: []string{"notes"}}, true, false},
		"single tools":   {app.Selection{Tools: []string{"read_note"}}, false, false},
	} {
		assert.Equal(t, c.notes, c.s.Serves("notes"), name)
		assert.Equal(t, c.others, c.s.Serves("others"), name)
		assert.True(t, c.s.Serves(tool.ControlToolset), name)
	}
}
