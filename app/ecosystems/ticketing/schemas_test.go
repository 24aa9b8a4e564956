package ticketing

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/footing"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "ticketing", []toolsnap.Schema{
		{Name: "listSchema", Doc: bind.SchemaOf[footing.EcosystemInput]()},
		{Name: "startSchema", Doc: bind.SchemaOf[StartInput]()},
		{Name: "switchSchema", Doc: bind.SchemaOf[SwitchInput]()},
		{Name: "endSchema", Doc: bind.SchemaOf[EndInput]()},
	})
}
