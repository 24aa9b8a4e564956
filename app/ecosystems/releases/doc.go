// Package releases implements the tools that release an ecosystem: several repositories get one version, one tag in each of them or in none, and a record
// (amof contract §8, §13.24–28, §20.6). Tools: amof_release_status, amof_release_validate, amof_release_log, amof_release_bump, amof_release_promote.
// Bumping and promoting are runs, which Performers carries out.
//
//   - the tools: releases.go; those that read: status.go; the plans of bump and promote: plan.go
//   - the draft of a release, worked out before the user is asked about it: which repositories it is about and how they are (ReleaseState and RepoState in
//     state.go), what its version and tag are, which files it writes, and what prevents it (Draft in draft.go). Nothing of it changes anything
//   - making the release: Publisher in publish.go and operation_log.go. All of its objects are made first, then every repository is changed in one step
//     each. Each step is written to the operation log (the note release/journal) before it is done, so that whatever is interrupted is finished or
//     taken back (§20.6)
//
// Its API may change at any time.
package releases
