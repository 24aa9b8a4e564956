package sundry

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/sandboxes/basis"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "sundry", []toolsnap.Schema{
		{Name: "urlSchema", Doc: bind.SchemaOf[basis.URLInput]()},
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "modelSchema", Doc: bind.SchemaOf[ModelInput]()},
	})
}
