package projects

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive checks that the published documents match the Go types; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "projects", []toolsnap.Schema{
		{Name: "infoListSchema", Doc: bind.SchemaOf[InfoListInput]()},
		{Name: "pathSchema", Doc: bind.SchemaOf[PathInput]()},
		{Name: "projectSchema", Doc: bind.SchemaOf[ProjectInput]()},
		{Name: "worktreeSchema", Doc: bind.SchemaOf[WorktreeInput]()},
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
		{Name: "adminActionSchema", Doc: bind.SchemaOf[AdminActionInput]()},
		{Name: "ruleSchema", Doc: bind.SchemaOf[RuleInput]()},
		{Name: "templateSchema", Doc: bind.SchemaOf[TemplateInput]()},
		{Name: "listSchema", Doc: bind.SchemaOf[ListInput]()},
		{Name: "actionSchema", Doc: bind.SchemaOf[ActionInput]()},
		{Name: "historySchema", Doc: bind.SchemaOf[HistoryInput]()},
		{Name: "executionSchema", Doc: bind.SchemaOf[ExecutionInput]()},
		{Name: "permissionSchema", Doc: bind.SchemaOf[PermissionInput]()},
		{Name: "triggerSchema", Doc: bind.SchemaOf[TriggerInput]()},
		{Name: "programSchema", Doc: bind.SchemaOf[ProgramInput]()},
		{Name: "servicesSchema", Doc: bind.SchemaOf[ServicesInput]()},
		{Name: "servicesUpSchema", Doc: bind.SchemaOf[ServicesUpInput]()},
		{Name: "servicesDownSchema", Doc: bind.SchemaOf[ServicesDownInput]()},
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "runSchema", Doc: bind.SchemaOf[RunInput]()},
		{Name: "runNPMSchema", Doc: bind.SchemaOf[RunNPMInput]()},
		{Name: "runTaskSchema", Doc: bind.SchemaOf[RunTaskInput]()},
		{Name: "outputSchema", Doc: bind.SchemaOf[OutputInput]()},
		{Name: "stopSchema", Doc: bind.SchemaOf[StopInput]()},
	})
}
