// Package admincmd implements the administration commands: tools, approvals, policy, the audit log, the HTTP server and its
// credentials, and the connection to agent hosts. Each command calls the core through a command.Shell; tools are what the core has enabled.
//
// # Tools, approvals, records
//
//   - tools.go, toollist.go: the group tools: any tool listed, shown and called by hand
//   - approvals.go: confirmations, approvals, approve and deny. approve needs a terminal, so that the user sees the plan
//   - grants.go, policy.go: session grants, and the group policy: permission level, who approves, maximum mode, required proofs, tool
//     overrides, auto-approve list
//   - owners.go: processes that own calls, and releasing what ended ones still own
//   - keys.go: enrolled keys; notify.go: notification channels
//   - backup.go: backup and restore of the home
//   - runs.go: call records; audit.go, auditverify.go: the audit log listed and exported, verified, its anchors and its signing key
//
// # The full-screen view of approvals
//
// The view shows pending approval requests in a list that keeps itself up to date, each with its plan, risk and arguments, and takes
// decisions by key. A decision applies only to the plan that is on the screen.
//
//   - approvalsource.go, approvalscreen.go, approvalscreen_model.go: RunApprovals and its state: keys and updates come in, effects and frames go out
//   - coreapprovals.go: CoreApprovals, the view's data from the core: pending requests and their clients, decisions, the results of requests
//     that were decided elsewhere, and the diffs of deployments
//   - approvalscreen_layout.go, approvalscreen_text.go: what is drawn, line by line, and what the library could not draw of it; suspend_unix.go, suspend_other.go: Ctrl-Z. The terminal itself
//     (raw mode, keys, drawing) is bubbletea's
//
// # Server and hosts
//
//   - serve.go, serverfile.go, flags.go: serve, and the record by which other processes find the server of a home (RunningServer)
//   - token.go, login.go, status.go: token, login and status
//   - connect.go, connect_forms.go, up.go: connect adds Countersign to a host's MCP configuration by calling tools; up sets everything up,
//     serves, and lists the hosts
//
// Its API may change at any time.
package admincmd
