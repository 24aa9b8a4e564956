// Package ecocmd is the command group eco: ecosystems of several repositories, for people. A command calls one tool in mode execute, or
// plan with --dry-run, and follows its run to the end.
//
//   - ecocmd.go, commands.go: Commands, and what all of them share; stages.go: tickets, releases and the rest of an ecosystem's life;
//     runs.go: runs and their logs
//   - follow.go: a run followed to its end: on a terminal a table of repositories at its foot, lines without one
//   - draw.go: View, how answers look in a terminal: tables and lines, in words of the command line
//   - complete.go: shell completion; words.go: what tools say, put into words of the command line
package ecocmd
