// Package ecosystems is the toolset that works on several git repositories as one, under the modes ask, plan and execute. It is the whole of seed
// 004, with the tools and formats of the amof contract.
//
// Capability joins the entries of this package with those of workspace (install, sync, tickets), push (push, archive, discard, trash), environment,
// releases and runs (the run queue, and what all of them are built on); Performers joins the code that carries out their runs. The tools made here
// look at ecosystems and select or create them: list.go, describe.go (describe and validate), status.go, scope.go (what the session works on, and the
// default of all sessions), create.go (new ecosystems and entries of an ecosystem's journal). Entries in info.go lists them; PolicyMatrix (policy_matrix.go) is
// the mode policy, which amof_policy shows.
//
// # The contract: amof.v1
//
// An answer is one JSON object with _context (scope, ecosystem, breadcrumb, run_id, session_id, timestamp) and suggested_actions, and a text: a line
// "[global > demo] summary", details, "Next: [action]".
//
// Modes: ask is the default; a call's own mode argument beats the session's (amof_set_mode), which beats the default; the maximum mode of the server
// configuration beats all. What only reads runs in every mode. A safe write is refused in ask (status blocked, code mode_forbids_mutation), a dry run
// in plan (status dry_run, with preview and preview_hash), and runs in execute. A dangerous tool is explained in ask (the same refusal, with
// explanation and current_state), a dry run in plan, and in execute needs an approval first: status confirmation_required with a token, its type
// (simple, preview or type), prompt and expiry. amof_confirm answers it; the token is good once, for five minutes, for exactly what was previewed:
// what has changed since is refused (preview_changed) with a new approval request. PolicyMatrix is the whole table (amof contract §12).
//
// A long operation is a run: the tool answers status queued with a run_id at once, and a worker process carries the run out, one at a time in an
// ecosystem and at most four side by side. It checks under the ecosystem's lock that everything is still as it was approved. The record and log of a
// run outlive client, server and worker; a run that was killed is put in order before the next one.
//
// An ecosystem is ecosystems/<name>/ecosystem.yaml in a workspace root, a git repository. Installing it makes a worktree of the root at
// worktrees/<name> on branch workspace/<name>, and clones its repositories below. Tickets are worktrees on feature branches across them. Nothing is
// deleted before every commit is known to be elsewhere, or kept in the trash for seven days.
package ecosystems
