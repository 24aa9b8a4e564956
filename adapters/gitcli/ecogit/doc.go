// Package ecogit is git for ecosystems: workspaces and clones, tickets, pushes, releases and the trash. What a repository holds or
// configures is not run. Failures without a name of their own are ecosystem.ErrGit, in git's own words, redacted.
//
// # Workspaces
//
//   - client.go, workspace_inspect.go, workspace_stage.go, exclude.go: Client makes the worktree of a workspace root atomically, and publishes it
//   - clones.go, checkout.go: Clones clones repositories into a workspace and brings clones forward without ever losing a commit
//   - status.go, remotes.go: Surveyor looks at many checkouts at once: one git status each, and a second git only where files do not tell
//     whether a remote branch has the commit. No remote is asked, nothing is written
//
// # Tickets
//
//   - ticketclient.go, ticket_remove.go: TicketClient keeps a worktree on the ticket's branch in every repository, with the same worktree operations
//     that sandboxes use, which never lose work
//
// # Push, archive, discard
//
//   - pushclient.go, push_status.go, commit.go, push.go: PushClient looks at what could be pushed, commits what was not committed, and pushes; when
//     the network failed it waits and tries again
//   - unpushed.go: finds and bundles work that exists nowhere else
//   - trashworktrees.go: keeps the root's repository right while a workspace moves to the trash and back
//   - trash.go, copy.go: Trash keeps removed workspaces in the trash of the data directory, each in an entry with a record
//     of what it was
//
// # Releases
//
//   - releaseclient.go, release_push.go, release_sources.go, release_prepare.go, release_make.go: ReleaseClient reads what checkouts offer a release, prepares commits
//     and annotated tags without anybody seeing them, makes them in one stroke, takes them back, and pushes them. No hook and no program
//     that a repository configures is run
//
// Its API may change at any time.
package ecogit
