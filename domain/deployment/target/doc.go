// Package target holds a table for each coding agent of where it reads which files. The tables turn modules into the files that should be on the
// machine (agentpack contract §2.6 to §2.9), and a deployed file back into the module's (§5.10). A new agent is a new table.
//
//   - Render turns modules into desired files (render.go, module.go, keys.go); Invert traces a changed file back to its modules, or gives a Reason
//     why it cannot (invert.go)
//   - agent is the table of one coding agent: its directories, which modules go where in them and in what Shape, and the options that switch this
//     (agent.go, agent_tables.go; §2.7). TargetNames, TargetScopes and SelectTargets list and choose targets (select.go). Different contents for one path or key are a
//     conflict (conflict.go, §2.9); CheckProjectRoot keeps project files out of the home directory (project.go)
//   - file formats: frontmatter before a module's text and the way back (header.go, frontmatter.go), and Markdown commands as TOML (command.go,
//     toml.go; §2.7, §10.1). What is written here can be read back, or a reason is given
//   - single keys of the documents that agents read: an MCP server in the words of one agent (Dialect), and the settings of a fragment (entry.go).
//     The contract knows neither; both are Countersign's own module types. JSON objects come in, JSON values go out
//   - paths of one operating system by its separator (Paths in paths.go), so that the same decisions are made for every system on any
//
// The package is pure: module trees come in, desired files come out.
//
// Its API may change at any time.
package target
