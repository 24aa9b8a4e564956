// Package target holds a table for each coding agent that says where the agent reads which files. The tables turn modules into the desired files
// (agentpack contract §2.6 to §2.9), and a deployed file back into the module's (§5.10). A new agent is rows in tables.
//
//   - Render turns modules into desired files (render.go, module.go, keys.go); Invert traces a changed file back to its modules, or gives a Reason
//     why it cannot (invert.go)
//   - tables are the data: which directories an agent has and what moves them, which modules go where and in what shape, the options for
//     this, how MCP servers and references to the environment are written, which lists of settings are sets, and the names of events (tables,
//     hosts.go). CheckTables says what is wrong with them; agent is one agent's table, resolved for a place (agent.go; §2.7). TargetNames, TargetScopes
//     and SelectTargets list and select targets (select.go). Different contents for one path or key are a conflict (conflict.go, §2.9), except that
//     agents which read one file share it; CheckProjectRoot keeps project files out of the home directory (project.go)
//   - file formats: frontmatter before a module's text, and its removal (header.go, frontmatter.go), and Markdown commands as TOML (command.go,
//     toml.go; §2.7, §10.1). What is written here can be read back, or a reason is given
//   - hosts that a config repository describes itself (ownhost.go); the section of a project's .gitignore that lists what is deployed (ignorefile.go)
//   - prompts for agents that read only skills (skillprompt.go), agents in the form of each host (agentfile.go), hooks and permissions (powers.go)
//   - single keys of the documents that agents read: an MCP server in the dialect of one agent (Dialect in entry.go, references.go), and the settings of
//     a fragment. Both are Countersign's own module types, not the contract's. Input is JSON objects, output JSON values
//   - paths of one operating system by its separator (Paths in paths.go), so that the same decisions are made for every system on any
//
// The package is pure: it turns module trees into desired files.
//
// Its API may change at any time.
package target
