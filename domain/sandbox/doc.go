// Package sandbox implements the rules of sandbox projects: a project keyed by its git URL, its agent server, and its sandboxes, which are git
// worktrees that several agents can work in at the same time. It also holds the errors of the capability (faults.go).
//
//   - stored state: Project, Server, Sandbox, Gateway, State, and the limits and timeouts of the contract (sandbox.go; directories in layout.go,
//     opencode contract §4.2); running servers are counted in server_status.go, never stored (§8.5, §8.7)
//   - names and hashes made from URLs: identity.go (§3.4, §9.2, §12.3); server ports: serverport.go (§7); ports, index and database name of a sandbox:
//     portlease.go
//   - git output: worktrees and changes (package git), commits (graph.go), branches and what a new worktree starts from (branch.go, §12.3), clone
//     progress (progress.go). Output that is not in the form that git promises is an error
//   - unsaved work: backup.go names the refs under refs/opencode-backup; cleanup.go decides which sandboxes cleanup may delete. Sandboxes with
//     unsaved work stay
//   - requests to agent servers: routing.go (§10); model names: model.go
//   - documents of other programs: envfile.go reads and edits KEY=VALUE lines as users write them for settings (§5.2): comments, one pair of quotes
//     around a value, export before a name, no expansion. jsonobject.go keeps the order of members and every value that is not understood
//   - migration.go updates state files and the gateway's table of servers from earlier forms (§9.3): one gateway for all projects, projects
//     keyed by canonical URL, directories named as they are now. The caller that stores the documents keeps a copy first
//
// The package is pure: it takes observations as arguments and returns decisions as values.
//
// Its API may change at any time.
package sandbox
