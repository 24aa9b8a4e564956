// Package resultschema holds the structured content of real calls to the schema that their tool publishes for it.
package resultschema

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Checked returns an outcome whose structured content is what its tool publishes. A tool with a schema answers with structured content, or fails.
func Checked(t testing.TB, o tool.Outcome) tool.Outcome {
	t.Helper()
	doc := present.Results(o.Spec)
	if len(doc) == 0 {
		return o
	}
	d := present.For(o.Spec.Contract)(o)
	if len(d.Object) == 0 {
		require.True(t, d.Fail, "%s publishes a schema, and answers with no structured content: %s", o.Spec.Name, d.Text)
		return o
	}
	Valid(t, o.Spec.Name, doc, d.Object)
	return o
}

// Valid requires structured content to fit a schema.
func Valid(t testing.TB, name tool.Name, schema, object json.RawMessage) {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(schema, &s), name)
	resolved, err := s.Resolve(nil)
	require.NoError(t, err, name)
	var value any
	require.NoError(t, json.Unmarshal(object, &value), name)
	require.NoError(t, resolved.Validate(value), "%s answers with something else than it publishes:\n%s\nschema\n%s", name, object, schema)
}
