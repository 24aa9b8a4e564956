// Package workflows implements the tools that read, store and run workflows and step templates, and the engine that runs workflows. Tools:
// list_workflows, get_workflow, create_workflow, add_workflow_step, run_workflow, list_step_templates and create_step_template.
//
//   - tools that read, and step templates: workflows.go; creating and adding steps: edit.go; the plan of an execution, with every step as it will run: run.go
//   - Engine (engine.go) runs the prepared steps, one after the other, each a process of its own, child workflows included.
//     Executions are written as they progress, so that a reader sees the current step, and after a crash the row says which step was running. A step
//     whose command no longer does what was approved is not run (Step.Still). A RunResult is the result of packageflow contract §2.6, row 21
//
// Its API may change at any time.
package workflows
