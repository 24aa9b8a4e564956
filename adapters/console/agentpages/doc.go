// Package agentpages provides the console's pages for deployments: status and drift, the complete plan, snapshots and rollbacks, and edits
// proposed to the config repository. Everything shown and done is a tool call through the core.
//
//   - agentpages.go: Section, its routes, and the place that a page is about; overview.go: status, drift and actions
//   - plan.go: the plan of a deployment; decide.go: the form that applies exactly what the page shows, by its mark
//   - snapshots.go: snapshots and rollback; evolve.go: edits proposed to the config repository, and missing files recreated; modules.go:
//     modules, their locked versions and their deployed files
//   - matrix.go: modules and agents with the states of their files; maintenance.go: the actions on the config repository
//   - agentview.go, state.go: the results of the tools as Go values: plans, diffs, drift and snapshots. If a list is
//     incomplete, the page says how many entries are missing
//
// Its API may change at any time.
package agentpages
