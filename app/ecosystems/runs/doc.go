// Package runs is what every ecosystem tool is built on, and the run queue with its tools (amof contract §9): runs are queued, carried out one after
// the other in an ecosystem and side by side across ecosystems, followed, cancelled, and settled when their process is gone.
//
// # What tools share
//
//   - tool specs by class: ReadSpec, SessionSpec, SafeWriteSpec, DangerousSpec (common.go; amof contract §11)
//   - Deps.Find is the ecosystem that a call is about, Focus what the session works on (§10)
//   - AnswerText, Context, Envelope and Action are what every answer carries besides its own members (§15); SuggestAction and AfterRelease in suggestions.go choose the
//     actions
//   - Plan (plan.go) is what a tool is about to do. Its hash is over everything it shows and everything that the run which carries it out is given;
//     the facts that a preview was made from have a hash of their own and are checked again before anything is done
//   - Deps.Enqueue queues a long operation as a run and answers with QueuedRun
//
// # The queue
//
// Worker (worker.go) carries out the queued runs of an ecosystem, oldest first, under its lock; before that it settles what a process that is gone
// has left. A Performer holds the code of one action and is given a Job. Run records are files that any program of the user can write, so a run is
// carried out only if the audit log says that a call was allowed to queue it. Entries makes the tools: listing, status and cancelling in runs.go,
// logs and summaries in logs.go, and the server's own status, start, stop and restart in server.go.
//
// Its API may change at any time.
package runs
