package workflows

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive checks that the published documents match the Go types; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "workflows", []toolsnap.Schema{
		{Name: "listSchema", Doc: bind.SchemaOf[ListInput]()},
		{Name: "workflowSchema", Doc: bind.SchemaOf[WorkflowInput]()},
		{Name: "createSchema", Doc: bind.SchemaOf[CreateInput]()},
		{Name: "stepSchema", Doc: bind.SchemaOf[StepInput]()},
		{Name: "changeStepSchema", Doc: bind.SchemaOf[ChangeStepInput]()},
		{Name: "runSchema", Doc: bind.SchemaOf[RunInput]()},
		{Name: "templatesSchema", Doc: bind.SchemaOf[TemplatesInput]()},
		{Name: "templateSchema", Doc: bind.SchemaOf[TemplateInput]()},
	})
}
