// Package planner turns a config repository into a deployment plan, and is what every deployment tool is built on. It changes nothing.
//
//   - Compiler (compiler.go) resolves the place, loads manifest and lockfile, composes and validates every module once, and renders the chosen
//     targets (agentpack contract §0, pipeline). Its State is the desired state; it does not look at the machine
//   - Planner (planner.go) looks at the machine and compares: Deploy makes the plan forwards, Back the one for a rollback, Survey looks without
//     planning. Roots that a deployment of this repository wrote to and that no target names any more are looked at too. In files that are otherwise
//     the user's, only the managed part is merged (parts.go)
//   - MergeEdits and MergeKeys (threeway.go) merge edits made here with what the config repository says now; the base is what was deployed last, from the
//     ownership manifest or by its sum from where snapshots keep contents. A file whose edits are upstream already is written without adopt
//   - Drift (drift.go) is what is deployed and differs, file by file and root by root (§5.6); FindDrift looks for it, next_actions.go names the commands to run
//     next
//   - FindHandovers (handover.go) returns the files of a plan with which agents run programs or gain permissions; AdoptError (adopt.go) is ErrAdopt for changes
//     that would overwrite or delete work that no deployment wrote; Edit (edit.go) is a plan to write files of the config repository itself
//
// # What the tools share
//
// Every tool has an input type, a typed handle and an entry made by package bind. SelectInput, EditInput and RepoInput (inputs.go) are embedded by the
// inputs; their rules are those of seed 000 and agentpack contract §7.2: null is absent, a wrong type or an unknown name is refused, what is required
// is asked for once there is a yes, and {} is the same call as its defaults spelled out (Selected). A call with dry_run claims no more than a query and
// answers with its plan. The answer of every tool is a Report (entries.go): {data, warnings}, with data of the tool's own type. Warnings are unique, and
// of very many the first are kept. Edit (edit.go) is the plan that the tools of a config repository share or extend.
//
// Its API may change at any time.
package planner
