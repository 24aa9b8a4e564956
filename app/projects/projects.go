package projects

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/projects/runner"
	"github.com/countersign-dev/countersign/app/projects/workflows"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Name is the toolset's name.
const Name = "projects"

// Contract is the contract of these tools.
const Contract tool.Contract = "packageflow.v1"

// Deps holds the dependencies of the tools.
type Deps struct {
	Browsing  InfoDeps
	Scripting ScriptDeps
	Flows     workflows.Deps
	Acting    ActionDeps
}

// Capability returns the toolset.
func Capability(d Deps) tool.Capability {
	c := tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute}
	for _, entries := range [][]tool.Entry{InfoEntries(d.Browsing), ScriptEntries(d.Scripting), workflows.Entries(d.Flows), ActionEntries(d.Acting)} {
		for _, e := range entries {
			switch e.Spec.Name {
			case RunScript.Name:
				e.Handler = either{script: runner.EitherCasing(e).Handler, action: ProgramHandler(d.Acting, e.Spec)}
				e.Spec.Output = bind.OutputOf(e.Spec.Output, bind.Output[Program]())
			case RunNPMScript.Name:
				e = runner.EitherCasing(e)
				e.Spec.Output = bind.OutputOf(bind.Output[ScriptResult](), bind.Output[StartedScript]())
			case RunTask.Name:
				e = runner.EitherCasing(e)
				e.Spec.Output = bind.OutputOf(bind.Output[TaskResult](), bind.Output[StartedScript]())
			case GetExecution.Name:
				e = runner.EitherCasing(e)
				e.Spec.Output = bind.OutputOf(bind.Output[project.Execution](), bind.Output[tool.Record](), bind.Output[runner.Process]())
			case TriggerWebhook.Name:
				e.Handler = renamed{next: runner.EitherCasing(e).Handler}
			default:
				e = runner.EitherCasing(e)
			}
			c.Entries = append(c.Entries, e)
		}
	}
	return c
}

// WorkbenchCapability returns the toolset of tools for users only. It has this contract too.
func WorkbenchCapability(d AdminDeps) tool.Capability {
	return tool.Capability{Name: WorkbenchName, Contract: Contract, Mode: policy.Execute, Entries: AdminEntries(d)}
}

// either is run_script: a package.json script by its name, or a stored script action by its id (packageflow contract §2.6, row 19).
type either struct{ script, action tool.Handler }

// Decode chooses the form by the argument that only one of them has.
func (h either) Decode(args json.RawMessage) (tool.Invocation, error) {
	fields := fieldsOf(args)
	if err := runner.MergeAliases(fields, "actionId", "action_id"); err != nil {
		return nil, err
	}
	if _, named := fields["actionId"]; !named {
		return h.script.Decode(args)
	}
	for _, other := range []string{"script_name", "scriptName", "project_path", "projectPath"} {
		if _, both := fields[other]; both {
			return nil, project.ErrArgument.WithMessage("give either actionId, or script_name and project_path, not both")
		}
	}
	args, err := tool.Encode(fields)
	if err != nil {
		return nil, err
	}
	return h.action.Decode(args)
}

// renamed is trigger_webhook, whose webhook_id is the id of an action and may also be called actionId.
type renamed struct{ next tool.Handler }

// Decode accepts actionId for webhook_id.
func (h renamed) Decode(args json.RawMessage) (tool.Invocation, error) {
	fields := fieldsOf(args)
	given := len(fields)
	if err := runner.MergeAliases(fields, "webhook_id", "webhookId", "actionId", "action_id"); err != nil {
		return nil, err
	}
	if given == 0 {
		return h.next.Decode(args)
	}
	args, err := tool.Encode(fields)
	if err != nil {
		return nil, err
	}
	return h.next.Decode(args)
}

func fieldsOf(args json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return nil
	}
	return fields
}
