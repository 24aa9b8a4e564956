package environment

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "environment", []toolsnap.Schema{
		{Name: "deploySchema", Doc: bind.SchemaOf[DeployInput]()},
		{Name: "destroySchema", Doc: bind.SchemaOf[DestroyInput]()},
		{Name: "statusSchema", Doc: bind.SchemaOf[StatusInput]()},
		{Name: "askSchema", Doc: bind.SchemaOf[AskInput]()},
	})
}
