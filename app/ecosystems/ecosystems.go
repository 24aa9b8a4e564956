// Package ecosystems is the toolset of ecosystems: several git repositories as one, under the modes ask, plan and execute. It is the whole of
// seed 004, with the tools and formats of its contract.
//
// The contract, amof.v1. An answer is one JSON object with _context (scope, ecosystem, breadcrumb, run_id, session_id, timestamp) and
// suggested_actions, and a text: a line "[global > demo] summary", details, "Next: [action]". Modes: ask is the default; a call's own mode argument
// beats the session's (amof_set_mode), which beats the default; the operator's ceiling beats all. What only reads runs in every mode. A safe write is
// refused in ask (status blocked, code mode_forbids_mutation), a dry run in plan (status dry_run, with preview and preview_hash), and runs in
// execute. What is dangerous is explained in ask (the same refusal, with explanation and current_state), a dry run in plan, and in execute asks for
// a confirmation first: status confirmation_required with a token, its type (simple, preview or type), prompt and expiry. amof_confirm answers it;
// the token is good once, for five minutes, for exactly what was previewed: what has changed since is refused (preview_changed) with a fresh question.
// Matrix is the whole table.
//
// What takes long is a run: the tool answers status queued with a run_id at once, and a process of its own carries the run out, one at a time in an
// ecosystem and at most four side by side. It checks under the ecosystem's lock that everything is still as it was confirmed. Its record and log
// outlive everybody; one that is killed is put in order before the next.
//
// An ecosystem is ecosystems/<name>/ecosystem.yaml in a workspace root, a git repository. Installing it makes a worktree of the root at
// worktrees/<name> on branch workspace/<name>, and clones its repositories below. Tickets are worktrees on feature branches across them. Nothing is
// deleted before every commit is known to be elsewhere, or kept in the trash for seven days.
package ecosystems

import (
	"slices"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/push"
	"github.com/countersign-dev/countersign/app/ecosystems/environment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Name is the toolset's name.
const Name = "ecosystems"

// Contract is the contract of these tools.
const Contract tool.Contract = "amof.v1"

// Deps is what the tools work with, part by part.
type Deps struct {
	Basis      runs.Deps
	Browsing   InfoDeps
	Installing workspace.Deps
	Ticketing  workspace.TicketDeps
	Shipping   push.Deps
	Spinning   environment.Deps
	Releasing  releases.Deps
	Running    runs.QueueDeps
	Control    []tool.Entry // the door's own tools under the names of seed 004
}

// Capability is the toolset.
func Capability(d Deps) tool.Capability {
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Ask, Placed: true, Entries: slices.Concat(d.Control, Entries(d.Browsing), workspace.Entries(d.Installing),
		workspace.TicketEntries(d.Ticketing), push.Entries(d.Shipping), environment.Entries(d.Spinning), releases.Entries(d.Releasing), runs.Entries(d.Running),
		[]tool.Entry{policyEntry(d.Basis)})}
}

// Performers carry out the runs of these tools.
func Performers(d Deps) []runs.Performer {
	return slices.Concat(workspace.Performers(d.Installing), push.Performers(d.Shipping), environment.Performers(d.Spinning), releases.Performers(d.Releasing))
}
