// Package adminpages provides the console's pages for approvals, activity and the audit log, tools, settings, and passkeys.
//
// Everything that is run or changed is a tool call through the core.
//
//   - approvalpages.go, decision.go, revealsecrets.go: approvals: every pending approval request of any client, with its plan. A decision
//     names the plan that was shown; what is not shown cannot be approved
//   - activitypages.go, audit.go, auditverify.go: activity: calls that change something with their results, and the audit log with the check of
//     its hash chain. Nothing can be changed here
//   - toolpages.go, toolpage.go, schema.go, toolsetting.go: tools: what each tool does and needs, its current verdict, a switch, and a page to call it. A call
//     has the same limits as one of an agent
//   - settingpages.go, policylayers.go, settingchanges.go, token.go: settings: the permission level, the auto-approve list, the
//     console's own mode, session grants, and credentials. A change that widens permissions is stored only after an approval. The
//     server configuration (policy layers and enabled tools) is shown and cannot be changed
//   - keypages.go: enrolled keys, and enrolling passkeys: the passkey that a browser made is the argument of a call, which the user approves in
//     a terminal or with an enrolled key
//
// Its API may change at any time.
package adminpages
