package projects

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "acting", []toolsnap.Schema{
		{Name: "listSchema", Doc: bind.SchemaOf[ListInput]()},
		{Name: "actionSchema", Doc: bind.SchemaOf[ActionInput]()},
		{Name: "historySchema", Doc: bind.SchemaOf[HistoryInput]()},
		{Name: "executionSchema", Doc: bind.SchemaOf[ExecutionInput]()},
		{Name: "permissionSchema", Doc: bind.SchemaOf[PermissionInput]()},
		{Name: "triggerSchema", Doc: bind.SchemaOf[TriggerInput]()},
		{Name: "programSchema", Doc: bind.SchemaOf[ProgramInput]()},
	})
}
