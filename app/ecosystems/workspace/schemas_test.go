package workspace

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "installing", []toolsnap.Schema{
		{Name: "installSchema", Doc: bind.SchemaOf[InstallInput]()},
		{Name: "syncSchema", Doc: bind.SchemaOf[SyncInput]()},
	})
}
