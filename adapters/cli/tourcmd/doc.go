// Package tourcmd implements the command tour: a demo of what Countersign is for, without a host and without setup. It makes the same tool calls as
// an agent, in temporary directories, and changes nothing else; what it says about the repository it stands in, it has counted or read there.
//
//   - tour.go: Command, the temporary shell, and the order of the parts
//   - approvals.go: an agent proposes a deployment and a script in a scratch project; the user sees the plans and decides; a script that changes
//     before the answer is refused; a rollback takes the deployment back
//   - pack.go: a context pack of the current repository; scan.go, anchors.go, diagram.go: what it finds there, which definitions it picks, and the
//     diagram of directories
//
// Its API may change at any time.
package tourcmd
