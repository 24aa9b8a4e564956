// Package agentcmd implements the command group agents: deployments from a config repository into every coding agent. Every command is a tool
// call, so users and agents get the same results and errors.
//
// Under --json stdout is one envelope of the agentpack contract, whatever goes wrong. The exit code is 0 for success, 1 for a failure and 2
// for a command line that is not understood; plan, diff and preview with --detailed-exitcode exit with 2 for changes and 1 for any failure.
//
//   - agentcmd.go: Commands, the whole group; deploy.go: deploy; watch.go: watch; look.go: plan, diff, preview, status, doctor, score and policy lint;
//     keep.go: rollback, snapshots, recover, and recording events
//   - repocmd.go, modules.go, layer.go, guided.go: the commands that make and change a config repository: init, add, remove, lock, fetch,
//     update, import, bootstrap, remote, sync, overlay and evolve
//   - runner.go, call.go, simple.go, fail.go: Runner: the flags that all commands take, tool calls with these flags, changes that are shown and
//     approved first, and errors in the form of the agentpack contract
//   - show.go, show_keep.go, plan.go, state.go, author.go: Screen formats results for a terminal: short lines, tables, diffs and
//     colour. It calls nothing
//   - catalogue.go, schema.go, help.go: the output of help --json and schema --json: the commands, and the form of their results
//     (agentpack contract §5.18, appendix A)
//   - complete.go: shell completion
//
// Its API may change at any time.
package agentcmd
