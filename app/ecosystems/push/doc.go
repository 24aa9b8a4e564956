// Package push implements the tools that push the branches of an ecosystem's repositories, archive its workspace once all of its commits are known to be
// elsewhere, discard it into the trash, and restore it from there (amof contract §5, §13, §20.4). Tools: amof_push_ecosystem,
// amof_archive_ecosystem, amof_discard_ecosystem, and, for users alone, ecosystem_restore and ecosystem_trash. The first three are runs, which
// Performers carries out.
//
//   - tools: tools.go, push.go, archive.go, discard.go, restore.go; the previews that the user sees: preview.go
//   - the worktrees whose branches are pushed: Pusher and WorkingTree in push_status.go, their content in workspace_contents.go,
//     committing and pushing in send.go. A run's payload is Options (options.go)
//   - saving what is on no remote before an archive (bundles and the archive's record): archive_run.go
//   - moving a workspace to the trash and back: TrashManager in trash.go and trash_restore.go; what was moved can be restored for seven days (TrashRetention, §20.4)
//   - the operation log: Operation in operation_log.go, the note shipping.json beside the ecosystem's state
//
// A push never uses force. It runs the hooks of the repositories, as git does for whoever pushes by hand; the preview names them, and a hook that has
// changed since makes the preview a changed one. Protected files (protected.go in package domain/ecosystem) are never committed: they are looked for
// before anything is done, and again in what was staged and what hooks added.
//
// Each phase of an operation is written to the operation log before it begins, so that the next process can finish or undo it after a crash: what was
// begun is undone up to PhaseRecording, unless the archive's record is made already, and finished from PhaseRemoving on. Both may be repeated
// from anywhere in their middle. Whether what is removed is saved elsewhere is decided before, by archive and discard.
//
// Its API may change at any time.
package push
