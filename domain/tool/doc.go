// Package tool is the vocabulary of tool calls: what a tool is (Spec), how a call becomes an Invocation with a Plan, and its result (Outcome). The
// Registry holds every tool of a process; there is no second list.
//
//   - tool.go: Spec and Entry; Handler decodes raw arguments into an Invocation, which prepares a Plan and applies exactly that Plan; Call and
//     Outcome are one request and its result; Ref is a typed handle for Go callers. Further properties of a plan are optional: the small
//     interfaces such as Assessed, Prompter, Detailer, Targeter, Idle and Gated, each documented where it is declared
//   - basic_plan.go: PlanBase is the plan that capabilities embed and extend, and BasicPlan the form of it that projects and sandboxes show
//   - registry.go: Capability is one toolset with its contract, default mode and entries; NewRegistry joins capabilities and fails on an invalid
//     entry (ErrRegistry). A Registry is immutable and sorted by name; schema.go checks input schemas
//   - narrowing.go: Narrowing removes tools for one client, never adds any
//   - token.go: SplitToken removes confirm_token and typed_value from arguments; Encode is the only way values become JSON text
//   - status.go and record.go: Record is the stored record of one call that asked to change something, as a small state machine: the call, its
//     Status, and its result (packageflow contract, ToolExecutionState; packageflow-security contract §5.2). Completed, Failed and Denied are final, and a
//     Reason says why a call failed or was denied. Results are cut at MaxOutput; MaxKeptRecords and RecordRetention limit what is kept. Everything in a
//     record is redacted, and the state machine has no clock: times arrive as arguments
//
// The package contains no transport, no wire format of a contract, and no tool.
package tool
