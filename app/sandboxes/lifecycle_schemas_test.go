package sandboxes

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestProjectSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "lifecycle", []toolsnap.Schema{
		{Name: "startSchema", Doc: bind.SchemaOf[StartInput]()},
		{Name: "urlSchema", Doc: bind.SchemaOf[URLInput]()},
		{Name: "destroySchema", Doc: bind.SchemaOf[DestroyInput]()},
		{Name: "noSchema", Doc: bind.SchemaOf[ProjectNoInput]()},
	})
}
