// Package tasks reads what a project's directories can run out of their files, and which directories belong together. It runs nothing.
//
//   - Documents and Tree: the files, as an adapter hands them over; documents.go
//   - Task and List: what can be run by its name, and by which program; tasks.go finds them, makefile.go, taskfile.go, justfile.go, mise.go and manifests.go
//     read one kind of file each
//   - Workspace and Member: the packages of a monorepo in the order of their dependencies; workspace.go finds them, glob.go expands patterns, dependencies.go
//     reads what they need of one another, selection.go chooses among them
//
// What a task runs is shown as its file has it (Command), and once more with the runner's own variables as shell text (Shell), which is what rules look at. Both
// are no more than what can be read: make and its like can compute anything.
//
// Its API may change at any time.
package tasks
