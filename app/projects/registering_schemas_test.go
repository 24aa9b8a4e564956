package projects

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestAdminSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "registering", []toolsnap.Schema{
		{Name: "addSchema", Doc: bind.SchemaOf[AddInput]()},
		{Name: "changeSchema", Doc: bind.SchemaOf[ChangeInput]()},
		{Name: "removeSchema", Doc: bind.SchemaOf[RemoveInput]()},
		{Name: "changeWorkflowSchema", Doc: bind.SchemaOf[ChangeWorkflowInput]()},
		{Name: "workflowSchema", Doc: bind.SchemaOf[WorkflowInput]()},
		{Name: "stepSchema", Doc: bind.SchemaOf[StepInput]()},
		{Name: "addTriggerSchema", Doc: bind.SchemaOf[AddTriggerInput]()},
		{Name: "setWebhookSchema", Doc: bind.SchemaOf[SetWebhookInput]()},
		{Name: "setIncomingSchema", Doc: bind.SchemaOf[SetIncomingInput]()},
		{Name: "saveActionSchema", Doc: bind.SchemaOf[SaveActionInput]()},
		{Name: "switchSchema", Doc: bind.SchemaOf[SwitchInput]()},
		{Name: "actionSchema", Doc: bind.SchemaOf[AdminActionInput]()},
		{Name: "ruleSchema", Doc: bind.SchemaOf[RuleInput]()},
		{Name: "templateSchema", Doc: bind.SchemaOf[TemplateInput]()},
	})
}
