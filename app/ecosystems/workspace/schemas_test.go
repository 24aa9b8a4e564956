package workspace

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "workspace", []toolsnap.Schema{
		{Name: "installSchema", Doc: bind.SchemaOf[InstallInput]()},
		{Name: "syncSchema", Doc: bind.SchemaOf[SyncInput]()},
		{Name: "listSchema", Doc: bind.SchemaOf[runs.EcosystemInput]()},
		{Name: "startSchema", Doc: bind.SchemaOf[StartInput]()},
		{Name: "syncTicketSchema", Doc: bind.SchemaOf[FinishInput]()},
		{Name: "mergeSchema", Doc: bind.SchemaOf[MergeInput]()},
		{Name: "proposalSchema", Doc: bind.SchemaOf[ProposalInput]()},
		{Name: "proposeSchema", Doc: bind.SchemaOf[ProposeInput]()},
		{Name: "switchSchema", Doc: bind.SchemaOf[SwitchInput]()},
		{Name: "endSchema", Doc: bind.SchemaOf[EndInput]()},
	})
}
