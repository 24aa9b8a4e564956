package lifecycle

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/sandboxes/basis"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "lifecycle", []toolsnap.Schema{
		{Name: "startSchema", Doc: bind.SchemaOf[StartInput]()},
		{Name: "urlSchema", Doc: bind.SchemaOf[basis.URLInput]()},
		{Name: "destroySchema", Doc: bind.SchemaOf[DestroyInput]()},
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
	})
}
