package toolsnap

import (
	"encoding/json"
	"go/format"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// Schema is a published document that a constant of that name holds.
type Schema struct {
	Name string
	Doc  json.RawMessage
}

// Schemas compares the constants in the package's schemas.go with the documents that its types derive, and writes the file with -update.
// Deriving them anew would take a tenth of the time in which a server has to answer its first message, which is why they are constants.
func Schemas(t golden.T, pkg string, schemas []Schema) {
	t.Helper()
	var out strings.Builder
	out.WriteString("package " + pkg + "\n\n// The published input schemas, generated from the input types by this package's schema test with -update.\nconst (\n")
	for _, s := range schemas {
		out.WriteString("\t" + s.Name + " = `" + string(s.Doc) + "`\n")
	}
	out.WriteString(")\n")
	text, err := format.Source([]byte(out.String()))
	require.NoError(t, err)
	golden.Compare(t, "schemas.go", text)
}
