package sandboxes

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestAdminSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "sundry", []toolsnap.Schema{
		{Name: "urlSchema", Doc: bind.SchemaOf[URLInput]()},
		{Name: "noSchema", Doc: bind.SchemaOf[AdminNoInput]()},
		{Name: "modelSchema", Doc: bind.SchemaOf[ModelInput]()},
	})
}
