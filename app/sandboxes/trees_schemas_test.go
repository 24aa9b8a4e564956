package sandboxes

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSandboxSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "trees", []toolsnap.Schema{
		{Name: "createSchema", Doc: bind.SchemaOf[CreateInput]()},
		{Name: "urlSchema", Doc: bind.SchemaOf[URLInput]()},
		{Name: "deleteSchema", Doc: bind.SchemaOf[DeleteInput]()},
		{Name: "resetSchema", Doc: bind.SchemaOf[ResetInput]()},
		{Name: "restoreSchema", Doc: bind.SchemaOf[RestoreInput]()},
	})
}
