// Package admincmd is the commands of the user who runs Countersign: tools, approvals, policy, the audit log, the HTTP server and its
// credentials, and the connection to agent hosts. Each command calls the core through a command.Shell; tools are what the core has enabled.
//
// # Tools, approvals, records
//
//   - tools.go, list.go: the group tools: any tool listed, shown and called by hand
//   - confirm.go: confirmations, approvals, approve and deny. approve needs a terminal: it exists so that a person sees the plan
//   - grants.go, policy.go: session grants, and the group policy: permission level, who approves, maximum mode, required proofs, tool
//     overrides, auto-approve list
//   - owners.go: processes that have something under way, and settling what is left of those that have ended
//   - keys.go: enrolled keys; notify.go: notification channels
//   - backup.go: backup and restore of the home
//   - runs.go: call records; audit.go, record.go: the audit log listed and exported, verified, its anchors and its signing key
//
// # The full-screen view of approvals
//
// The view shows pending approval requests in a list that keeps itself up to date, each with its plan, risk and arguments, and takes
// decisions on a key. Nothing is approved unseen: a decision is to the very plan that is on the screen, and only while it is.
//
//   - approvalview.go, run.go, model.go: Run and its state: keys and news come in, effects and frames go out (Item, ApprovalsDesk)
//   - coreapprovals.go: Desk, what the view works with, made of the core: what is pending and who asked, decisions, what became of requests
//     that somebody else decided, and the diffs of deployments
//   - screen.go, layout.go, lines.go, signals_unix.go, signals_other.go: drawing; keyboard.go: keys out of the bytes that a terminal sends
//     (Decoder)
//
// # Server and hosts
//
//   - serve.go, serverfile.go, flags.go: serve, and the record by which others find the server of a home (Server, Running)
//   - token.go, login.go, status.go: token, login and status
//   - connect.go, forms.go, up.go: connect puts Countersign into a host's MCP configuration by calling tools; up sets everything up,
//     serves, and says which hosts there are
package admincmd
