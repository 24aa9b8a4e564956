package packs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// published returns the schema of a type in the contract's form: no required, no additionalProperties, no bounds the contract's own
// coercions would contradict (context-pack contract §6.5).
func published(t *testing.T, doc json.RawMessage) string {
	t.Helper()
	text := strings.ReplaceAll(string(doc), `"additionalProperties":false,`, "")
	text = strings.ReplaceAll(text, `,"additionalProperties":false`, "")
	text = strings.ReplaceAll(text, `,"minimum":0`, "")
	require.True(t, json.Valid([]byte(text)))
	return text
}

// TestSchemasAreWhatTheTypesDerive checks that the published documents match the Go types; -update rewrites the constants.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	in := published(t, bind.SchemaOf[InputArgs]())
	out := published(t, bind.SchemaOf[OutputArgs]())
	read := published(t, bind.SchemaOf[ReadArgs]())
	golden.Compare(t, "schemas.go", []byte("package packs\n\n// The published input schemas, generated from InputArgs, OutputArgs and ReadArgs by this package's"+
		" schema test with -update.\nconst (\n\tinputSchema  = `"+in+"`\n\toutputSchema = `"+out+"`\n\treadSchema   = `"+read+"`\n)\n"))
}

// TestSchemasStaySmall checks the tools' budgets: 1,200 tokens for input and 300 for output, at 3.5 bytes per token.
func TestSchemasStaySmall(t *testing.T) {
	in, out := inputSpec(), outputSpec()
	assert.LessOrEqual(t, len(in.Description)+len(in.Input), 4200)
	assert.LessOrEqual(t, len(out.Description)+len(out.Input), 1050)
	for _, s := range []string{inputSchema, outputSchema, readSchema} {
		assert.NotContains(t, s, `"required"`)
		assert.NotContains(t, s, `"additionalProperties"`)
	}
}
