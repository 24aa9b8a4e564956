package bind_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/policy"
)

type inner struct {
	Name  string `json:"name"`
	Count int    `json:"count,omitempty"`
}

type more struct {
	Extra bool `json:"extra"`
}

type answer struct {
	Name   int             `json:"name"`
	List   []inner         `json:"list"`
	Maybe  []string        `json:"maybe,omitempty"`
	By     map[string]any  `json:"by"`
	Raw    json.RawMessage `json:"raw"`
	One    *inner          `json:"one"`
	Level  policy.Level    `json:"level"`
	At     time.Time       `json:"at,omitzero"`
	Again  *answer         `json:"again,omitempty"`
	Bytes  []byte          `json:"bytes,omitempty"`
	Hidden string          `json:"-"`
	Plain  float64
	inner  // its name is hidden by the outer one
	more
	*certainty
}

type certainty struct {
	Sure bool `json:"sure"`
}

// TestTheSchemaOfAnAnswerIsWhatIsWritten: nothing with two types, no bare true, and null where there may be one.
func TestTheSchemaOfAnAnswerIsWhatIsWritten(t *testing.T) {
	assert.JSONEq(t, `{"type":"object","properties":{
		"name":{"type":"integer"},
		"list":{"anyOf":[{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"count":{"type":"integer"}},"required":["name"]}},{"type":"null"}]},
		"maybe":{"type":"array","items":{"type":"string"}},
		"by":{"anyOf":[{"type":"object"},{"type":"null"}]},
		"one":{"anyOf":[{"type":"object","properties":{"name":{"type":"string"},"count":{"type":"integer"}},"required":["name"]},{"type":"null"}]},
		"level":{"type":"string"},"at":{"type":"string"},"again":{"type":"object"},"bytes":{"type":"string"},"Plain":{"type":"number"},
		"count":{"type":"integer"},"extra":{"type":"boolean"},"sure":{"type":"boolean"}},
		"required":["name","list","by","raw","one","level","Plain","extra"]}`, string(bind.Output[answer]().JSON()))
	for _, none := range []any{bind.Output[any](), bind.Output[[]inner](), bind.Output[json.RawMessage](), bind.Output[int](), bind.Output[map[string]any]()} {
		require.Nil(t, none)
	}
	assert.JSONEq(t, `{"type":"object","anyOf":[{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]},
		{"type":"object","properties":{"name":{"type":"string"},"count":{"type":"integer"}},"required":["name"]}]}`,
		string(bind.OutputOf(bind.Output[certainty](), bind.Output[*inner]()).JSON()))
}
