package present_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

func TestObject(t *testing.T) {
	assert.JSONEq(t, `{"a":"<b>","n":1}`, string(present.Object(map[string]any{"a": "<b>", "n": 1})))
	assert.Contains(t, string(present.Object("<b>")), "<b>", "nothing is escaped for HTML")
	assert.Equal(t, `null`, string(present.Object(nil)))
	assert.Equal(t, `null`, string(present.Object(func() {})), "what is no data is nothing")
}

func TestDetails(t *testing.T) {
	base := fault.New(fault.Invalid, "x", "m")
	for name, c := range map[string]struct {
		details any
		want    map[string]any
	}{
		"none":     {nil, nil},
		"a struct": {struct{ Pid int }{7}, map[string]any{"Pid": json.Number("7")}},
		"JSON":     {json.RawMessage(`{"n":12345678901234567890}`), map[string]any{"n": json.Number("12345678901234567890")}},
		"a list":   {[]string{"a"}, map[string]any{"details": json.RawMessage(`["a"]`)}},
		"a text":   {"a", map[string]any{"details": json.RawMessage(`"a"`)}},
		"no JSON":  {json.RawMessage(`{`), map[string]any{"details": `{`}},
		"null":     {json.RawMessage(`null`), nil},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, present.Details(base.WithDetails(c.details))) })
	}
}
