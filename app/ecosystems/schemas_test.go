package ecosystems

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "ecosystems", []toolsnap.Schema{
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "listSchema", Doc: bind.SchemaOf[ListInput]()},
		{Name: "ecosystemSchema", Doc: bind.SchemaOf[runs.EcosystemInput]()},
		{Name: "validateSchema", Doc: bind.SchemaOf[ValidateInput]()},
		{Name: "createSchema", Doc: bind.SchemaOf[CreateInput]()},
		{Name: "journalSchema", Doc: bind.SchemaOf[JournalInput]()},
		{Name: "switchSchema", Doc: bind.SchemaOf[SwitchInput]()},
		{Name: "selectSchema", Doc: bind.SchemaOf[SelectInput]()},
		{Name: "infoNoSchema", Doc: bind.SchemaOf[InfoNoInput]()},
	})
}
