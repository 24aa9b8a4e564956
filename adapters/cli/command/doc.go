// Package command provides what every command of the command line needs: the terminal, the core (opened on first use), and tool calls with their
// approvals.
//
// # Shell and terminal
//
//   - shell.go: Shell, one run of the command line: Core, how a core is opened (Open), calling tools, changing settings, failing; ErrUsage,
//     Hint, and helpers for arguments and groups of commands. A Shell is not safe for concurrent use
//   - terminal.go, pager.go, prompt.go, livelines.go, diff.go: Terminal, the three streams, whether each is a terminal, and the display of text,
//     tables, questions, progress and diffs. Colour and drawing are used only on a terminal, and never if NO_COLOR is set. Seat is the
//     controlling terminal; Plain and Block print untrusted text with control and hidden characters made visible
//   - document.go: answers and failures as JSON; exit.go: Exit, an exit code without a message
//
// # Approvals
//
//   - decision.go, datedgrant.go: an approval request shown and decided (View, Deciding, Decide, DecideAll), for this call, for the session, or
//     until a date (ParseUntil)
//   - revealsecrets.go: the redacted parts of a request, revealed to the user at the terminal; securitykey.go: approvals that need a security key
//   - planview.go, plantext.go, plandetails.go, parse.go: a plan laid out for the user who decides: what would run, where and with what, one line
//     each, and warnings marked. A plan is {tool, summary, context}, and names of members determine how they are shown; Text is that form alone,
//     Whole is any plan
//
// # Calls of tools
//
//   - runner.go: Runner and Arguments, calls of tools with answers decoded into Go (Send, Ask, Quietly, CallAndShow), errors explained in the
//     Words of a group of commands, and durations and ages for users; complete.go: shell completion
//
// Its API may change at any time.
package command
