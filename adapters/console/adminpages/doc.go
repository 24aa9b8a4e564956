// Package adminpages is the console's pages for deciding and administering: approvals, activity and the audit log, tools, settings, and
// passkeys.
//
// Everything that is tried or changed passes the core, as a call of an agent does.
//
//   - approvalpages.go, answer.go, reveal.go: approvals (ApprovalSection): every call that waits for a person, whichever client made it,
//     with its plan. A decision has to name the plan that was shown, and no approval is offered of what is not shown
//   - activitypages.go, audit.go, check.go: activity (Section): calls that change something with what came of each, and the audit log, with
//     the check of its hash chain. Nothing can be changed here
//   - toolpages.go, one.go, schema.go, setting.go: tools (ToolSection): what each tool does and needs, the verdict of policy now, a switch,
//     and a page where it can be tried. A tool does no more for a person than it does for an agent
//   - settingpages.go, layers.go, changing.go, token.go: settings (SettingPages): the permission level, the auto-approve list, the
//     console's own mode, session grants, and credentials. Nothing that opens anything is stored before a person has seen and approved it.
//     What belongs to the server configuration, the layers of policy above and below people's settings and what is enabled, is shown and
//     cannot be changed
//   - keypages.go: enrolled keys (Pages), and enrolling passkeys: what a browser has made is the argument of a call, which a person
//     approves in a terminal, or with a key that counts already
package adminpages
