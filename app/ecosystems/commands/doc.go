// Package commands implements the tool that runs one program in several repositories of an ecosystem. Tool: ecosystem_exec. It is a run, which Performers
// carries out.
//
// The plan names the checkouts (a repository's worktree in the active ticket, else its clone), the program with its arguments, and the files that it reads as
// code, by hash; if any of it changed since, the run does nothing. No shell is added. What each program prints goes to the log of the run behind the name of
// its repository, and the result has every exit code.
//
// Its API may change at any time.
package commands
