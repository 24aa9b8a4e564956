// Package ecocmd implements the command group eco: ecosystems of several repositories. A command calls one tool in mode execute, or
// plan with --dry-run, and follows its run to the end.
//
//   - ecocmd.go, commands.go: Commands, and what all of them share; tickets_releases.go: tickets, releases and the other commands of an ecosystem;
//     runs.go: runs and their logs
//   - runfollow.go: a run followed to its end: on a terminal a table of repositories at its foot, lines without one
//   - output.go: View formats results for a terminal, as tables and lines
//   - complete.go: shell completion; hints.go: messages of tools with the command line's names
//
// Its API may change at any time.
package ecocmd
