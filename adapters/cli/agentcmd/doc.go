// Package agentcmd is the command group agents: deployments for people, from a config repository into every coding agent. Every command is
// a call of a tool, so a person and an agent get the same answers and the same refusals.
//
// Under --json stdout is one envelope of the agentpack contract, whatever goes wrong. The exit code is 0 for success, 1 for a failure and 2
// for a command line that is not understood; plan, diff and preview with --detailed-exitcode exit with 2 for changes and 1 for any failure.
//
//   - agentcmd.go: Commands, the whole group; deploy.go: deploy; look.go: plan, diff, preview, status, doctor, score and policy lint;
//     keep.go: rollback, snapshots, recover, and recording events
//   - repocmd.go, modules.go, layer.go, guided.go: the commands that make and change a config repository: init, add, remove, lock, fetch,
//     update, import, bootstrap, remote, sync, overlay and evolve
//   - runner.go, call.go, simple.go, fail.go: Runner, what every command works with: the flags that all of them take, calls of tools with these
//     flags put in, changes that are shown and approved first, and failures in the form of the agentpack contract, for people and programs
//   - show.go, show_keep.go, plan.go, state.go, author.go: Screen, how answers look in a terminal: short lines, tables, diffs, and colour.
//     Data goes in, lines come out; nothing is called
//   - catalogue.go, schema.go, help.go: what help --json and schema --json say: the commands that there are, and how answers look
//     (agentpack contract §5.18, appendix A)
//   - complete.go: shell completion
package agentcmd
