// Package tasks finds the tasks of a project's directories by reading their files, and which directories form a workspace. It runs nothing.
//
//   - Documents and Tree: the files, as an adapter provides them; documents.go
//   - Task and List: what can be run by name, and by which program; tasks.go finds them, makefile.go, taskfile.go, justfile.go, mise.go and manifests.go
//     read one kind of file each
//   - Workspace and Member: the packages of a monorepo in the order of their dependencies; workspace.go finds them, glob.go expands patterns, dependencies.go
//     reads their dependencies, selection.go selects among them
//
// What a task runs is shown as its file has it (Command), and once more with the runner's own variables as shell text (Shell), which rules examine.
// Both are only what can be read: make and similar programs can compute anything.
//
// Its API may change at any time.
package tasks
