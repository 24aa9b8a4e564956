// Package mcpclients implements the tools that put Countersign itself into the MCP configuration of hosts: list_hosts and connect_host. Only users may
// call them (tool.Spec.UserOnly).
//
//   - the tools, their dependencies and typed handles: mcpclients.go; their answers: list.go, report.go
//   - the table of hosts (hosts.go): where each keeps its MCP servers, in what words it describes one, how its own command adds one, and what shows
//     whether it is installed (packageflow contract §5.8, packageflow-security contract §5.7). A new host is a new row
//   - what an entry says, and what its arguments mean when read back: entry.go; limits on the time of a call: timeouts.go; keys set and removed:
//     keys.go
//   - plans and how they are applied: plan.go, commit.go; what is in the documents now: observe.go
//   - documents shown without other programs' secrets (redact.go): values are masked by the names they stand under, and of a document that is one
//     long line only the change is shown
//
// # The contract in short
//
// Hosts are claude-code, codex, cursor, vscode, gemini-cli and opencode, each with one document for its user and one for a project. connect_host
// adds, changes or removes one entry in one of them. It shows the file, the entry and a diff first, with secret values masked, and then writes
// exactly that: every other byte of the document stays, its mode too, a symbolic link is written through, a copy of the old document is put into
// COUNTERSIGN_HOME/backups, and the file is replaced in one step or not at all. A file that was changed since the plan stops it
// (deployment.ErrStale); so does one that does not parse, that may not be written, or that is no file.
//
// The entry starts this program over stdio: by its absolute path for a user, by its plain name for a project, whose file others share. With a url it
// leads to a running server, with a token made for that host (connect:HOST); no token is ever written into a project's file (ErrShared). The entry
// names itself to the server (--host), raises the host's limit on the time of a call as far as the host reads one, and says how long the server waits
// for the user, which is less. Over HTTP the token covers the toolsets that are enabled by default, unless others are named; "all" is every one. When
// an entry is changed to start the program instead of leading to the server, its token is revoked, and the plan says so. Whatever an entry allows,
// its plan says; where the user approves, one at a terminal or in the console is asked about it, whatever was allowed beforehand.
//
// With a sandbox the entry leads to the gateway in front of the agent servers, with the gateway's token for that project or isolated sandbox: it is
// read when the plan is carried out, and is in no plan, record, diff or answer. remove takes the entry out; the gateway keeps its token.
//
// An entry of another program under the same name is left alone (ErrForeign) unless force replaces it, and the plan shows it then. In an entry of
// ours, keys that are not ours stay, and so do its arguments: the toolsets unless others are named, how long it waits, and whatever else the user has
// added. An entry that is already as it should be is reported as connected, and nothing is written or asked.
//
// remove takes the entry out, with what was made for it, so that a document that nothing else has touched since is what it was before, byte for byte.
//
// Answers are {data, warnings}, as of every tool of deployments.
//
// Its API may change at any time.
package mcpclients
