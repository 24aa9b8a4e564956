package workspace

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestTicketSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "ticketing", []toolsnap.Schema{
		{Name: "listSchema", Doc: bind.SchemaOf[runs.EcosystemInput]()},
		{Name: "startSchema", Doc: bind.SchemaOf[StartInput]()},
		{Name: "switchSchema", Doc: bind.SchemaOf[SwitchInput]()},
		{Name: "endSchema", Doc: bind.SchemaOf[EndInput]()},
	})
}
