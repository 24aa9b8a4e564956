// Package app is the core of Countersign: every transport, the console and an embedding program call tools through App.Call, which prepares a plan,
// has the user approve it if policy says so, applies exactly that plan, and records what happened.
//
// New builds an App from a Core (the ports that it needs), Options (the server configuration) and the tool.Capability of each toolset. The package
// imports no capability and no transport: capabilities are values passed to New, and presenters turn a tool.Outcome into an answer elsewhere. Caller,
// Do and ApprovalRequiredError are the same pipeline for Go programs that embed it, with typed tool handles (caller.go).
//
// # The call pipeline
//
// App.Call (app.go, the steps themselves in pipeline.go) looks the tool up, takes the approval token out of the arguments, decodes them, checks the
// claims of the call against its tool, asks policy for a verdict, charges the rate limits, checks an approval that the call brings, prepares the plan
// and has policy decide again with what the plan states. Then it explains, returns a dry run, asks for approval or applies the plan. Nothing changes
// before the plan is applied, and the intent of a change is written to the audit log durably before the approval is used: without a recorded intent
// nothing is changed. A panic in a tool becomes an error of that call. Every result is redacted and bounded.
//
// # Where things are
//
//   - approval requests, as a call creates, explains and uses them, including token requests of preview tools: approval_request.go; what the user
//     sees and how
//     it is checked for hidden or secret text: inspection.go, plandetails.go, review.go, revealsecrets.go; remotes that a call would fetch from: remotes.go
//   - the rules of the approval store (Approvals): approvals.go, session grants in grants_session.go, grants until a date in approvals_grants.go and
//     grants_dated.go, what changed since an approval in plan_change.go. At most MaxPendingPerSession requests of one session and MaxPendingPerMachine of the
//     machine are pending at a time (packageflow-security contract §4.4; ErrLimit), every decision is in the audit log with who made it, and a session grant
//     counts for the session that asked, for 12 hours at most
//   - policy layers and settings: policy_layers.go (which layer decided what), audit.go (Settings, changed only by a recorded call; the audit
//     queries), and
//     settings_diff.go (LoosenedSettings, TightenedSettings and ChangedSettings: what a change of settings would allow, so that the user can approve it)
//   - denials: denial.go explains why policy denies a call and what would allow it; the decision itself is made in package policy
//   - enabled tools: toolselection.go (Selection). It applies the server configuration to the registry; policy decides who may call an enabled tool
//   - call records (Calls): calllog.go, queried through callrecords.go. A record is kept while its call is in progress; records that only look open,
//     because they expired undecided or their process ended, are settled when they are read. No call is ever applied again
//   - the audit log: auditbuffer.go (AuditBuffer writes the records of reads in batches, in the background; records that cannot be written are
//     dropped and
//     counted, a call never waits for it), auditpages.go (AuditRecords pages through records)
//   - enrolled keys: keys.go (KeyManager). It decides which keys count, by the audit log, and verifies their signatures
//   - redaction: redaction.go (Redaction, one for each call). Data that the redactor could not read is withheld, and texts are cut at their limit
//   - credentials: credentials.go (Credentials). It issues, recognises, records and revokes the credentials that let requests in over a network, and
//     writes
//     each of these actions to the audit log. It stores digests; whoever issues a credential keeps the secret
//   - processes that own calls in progress, and what is known of them from here: owners.go; the cached policy: policycache.go; rendering and storing
//     outcomes: render.go, result.go
package app
