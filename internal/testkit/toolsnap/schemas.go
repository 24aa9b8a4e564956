package toolsnap

import (
	"bytes"
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

// ByName returns the documents with their members and properties in one order: type and bounds first, then the properties by name, each with its type
// first. It is for contracts whose published order is that.
func ByName(schemas []Schema) []Schema {
	type property struct {
		Type        string            `json:"type"`
		Items       map[string]string `json:"items,omitempty"`
		Enum        []string          `json:"enum,omitempty"`
		Description string            `json:"description,omitempty"`
	}
	for i, s := range schemas {
		var doc struct {
			Type       string              `json:"type"`
			Additional bool                `json:"additionalProperties"`
			Required   []string            `json:"required,omitempty"`
			Properties map[string]property `json:"properties"`
		}
		decoder := json.NewDecoder(bytes.NewReader(s.Doc))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&doc); err != nil {
			panic(s.Name + ": " + err.Error()) // a schema that says more than these tools' do
		}
		schemas[i].Doc, _ = json.Marshal(doc) // texts and lists always have a JSON form
	}
	return schemas
}
