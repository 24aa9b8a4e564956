// Package agentpages provides the console's pages for deployments: status and drift, the complete plan, snapshots and rollbacks, and edits that
// go back into the config repository. Everything shown and done is a tool call through the core.
//
//   - agentpages.go: Section, its routes, and the place that a page is about; overview.go: status, drift and what can be done
//   - plan.go: the plan of a deployment; decide.go: the form that applies exactly what the page shows, by its mark
//   - snapshots.go: snapshots and rollback; evolve.go: edits proposed to the config repository, and missing files recreated; modules.go:
//     modules, what they are locked to and what is deployed of them
//   - agentview.go, state.go: the answers of the tools as Go values for people: plans with what they would overwrite, diffs, drift and
//     snapshots. Where there is more than is shown, the page says so, and no file that a deployment wrote is called unmanaged
//
// Its API may change at any time.
package agentpages
