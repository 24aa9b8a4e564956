// Package app is the core of Countersign: every transport, the console and an embedding program call tools through App.Call, which prepares a plan,
// has the user approve it where policy says so, applies exactly that plan, and records what happened.
//
// New builds an App from a Core (the ports that it needs), Options (the server configuration) and the tool.Capability of each toolset. The package
// imports no capability and no transport: capabilities are values handed to New, and presenters turn a tool.Outcome into an answer elsewhere. Caller,
// Do and Unconfirmed are the same pipeline for Go programs that embed it, with typed tool handles (caller.go).
//
// # The call pipeline
//
// App.Call (app.go, the steps themselves in pipeline.go) looks the tool up, takes the approval token out of the arguments, decodes them, checks the claims
// of the call against its tool, asks policy for a verdict, charges the rate limits, checks an approval that the call brings along, prepares the plan
// and has policy decide again with what the plan says of itself. Then it explains, returns a dry run, asks for approval or applies the plan. Nothing
// changes anything before the plan is applied, and the intent of a change is written to the audit log durably before the approval is used up: without
// an intent nothing is changed. A panic in a tool becomes an error of that call. Everything that leaves the pipeline is redacted and bounded.
//
// # Where things are
//
//   - approval requests as a call makes, explains and uses them: approval_request.go, offers of preview tools included; what the user sees and how it is
//     checked for hidden or secret text: inspection.go, plandetails.go, review.go, revealsecrets.go; remotes that a call would fetch from: remotes.go
//   - the approval store's rules (Approvals): approvals.go, session grants in grants_session.go, grants until a date in approvals_grants.go and grants_dated.go, what
//     changed since an approval in plan_change.go. At most MaxPendingPerSession requests of one session and MaxPendingPerMachine of the machine wait for the user at a time
//     (packageflow-security contract §4.4; ErrLimit), every answer is on record in the audit log with who gave it, and "always allow" counts for the
//     session that asked, for 12 hours at most
//   - policy layers and settings: policy_layers.go (which layer decided what), audit.go (Settings, changed only by a recorded call; the audit queries), and
//     settings_diff.go (LoosenedSettings, TightenedSettings and ChangedSettings: what a change of settings would allow, so that the user can approve it)
//   - denials: denial.go says why policy holds a call back and what would allow it; policy itself decides in package policy
//   - enabled tools: toolselection.go (Selection). It applies the server configuration to the registry; who may call an enabled tool is policy's
//   - call records (Calls): calllog.go, queried through callrecords.go. A record is kept while its call is under way; records that only look open,
//     because they were not answered in time or their process is gone, are settled when they are read. Nothing is ever applied again
//   - the audit log: auditbuffer.go (AuditBuffer writes the records of reads in groups, off the path of the call; what cannot be written is dropped and
//     counted, a call never waits for it), auditpages.go (AuditRecords pages through records)
//   - redaction: redaction.go (Redaction, one for each call). What the redactor could not read is not passed on, and texts end at their bound
//   - credentials: credentials.go (Credentials). It issues, recognises, records and revokes the credentials that let requests in over a network, and puts
//     each of these into the audit log. It stores digests; whoever issues a credential keeps the secret
//   - processes that own calls under way, and what is known of them from here: owners.go; the remembered policy: policycache.go; outcomes as they are
//     rendered and stored: render.go, result.go
package app
