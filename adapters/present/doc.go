// Package present turns outcomes into what each contract promises: one pure function for each contract, the only place where the wire form
// of an answer is known. Transports choose the function by the tool's contract (For) and pass its Document on; HTTPStatus and ExitCode are
// the status and the exit code for a failure.
//
// # Contracts
//
//   - present.go: Document, Func, the names of the contracts, For, Listing, and the object that every JSON contract shows for an approval
//     request. Outcomes of no known contract, such as that of an unknown tool, are presented as Control's
//   - httpstatus.go: HTTPStatus
//   - control.go: countersign.v1, of Countersign's own tools
//   - contextpack.go: contextpack.v2 (context-pack contract §2 to §4)
//   - agentpack.go, agentpackcodes.go: agentpack.v1: the envelope (agentpack contract §6.1) and its codes
//   - packageflow.go, packageflowcodes.go: packageflow.v1 (packageflow contract, packageflow contract §2.3)
//   - opencode.go, opencodecodes.go: opencode.v1 (opencode contract §13, §14), and tools that took the place of others (Renamed)
//   - amof.go, amoferrors.go, amoftext.go: amof.v1: one JSON object, and a text of a breadcrumb with a summary, details and what to do next (amof
//     contract §11, §14, §15)
//
// # Answers for users
//
//   - answers.go, deployment.go: what tools answer, as Go values for the transports that show it to users: what git says of a project,
//     workflows, actions, and the plans of deployments. What both a terminal and a page say of them in words is said here, once. An answer
//     is read as its contract has it (packageflow §2, agentpack §4); what is not shown anywhere is not read
//   - fields.go: JSON documents with members in the order in which they stand; plain.go: plain data as JSON
//   - agentscommand.go: the commands that contracts name, for programs, as the user types them; what is no command of a contract stays as it is
//
// Its API may change at any time.
package present
