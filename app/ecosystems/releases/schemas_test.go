package releases

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "releases", []toolsnap.Schema{
		{Name: "statusSchema", Doc: bind.SchemaOf[runs.EcosystemInput]()},
		{Name: "validateSchema", Doc: bind.SchemaOf[ValidateInput]()},
		{Name: "logSchema", Doc: bind.SchemaOf[LogInput]()},
		{Name: "bumpSchema", Doc: bind.SchemaOf[BumpInput]()},
		{Name: "promoteSchema", Doc: bind.SchemaOf[PromoteInput]()},
	})
}
