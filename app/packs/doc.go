// Package packs is the toolset of context packs: the tools input (create, edit, list and get packs) and output (render a pack as Markdown), and the
// use cases behind them. Arguments, the order of checks and coercions are the context-pack contract's (contextpack.v2); results are plain values.
//
// Capability makes the toolset. It panics, at wiring, when a required dependency is missing.
//
//   - types of arguments and results for Go callers: types.go; the tool input: input.go, its actions one by one in actions.go, whole documents (the
//     action write) and validation in document_write.go
//   - the tool output: output.go. A document of more than MaxOutput bytes is refused, never cut (contract §3)
//   - raw arguments as the contract coerces them (Args and Shape in arguments.go): blank text, fractions, negative numbers and null count as absent,
//     and only names and JSON types are enforced
//   - what a pack's anchors show now (SourceReader and RefEvidence in excerpts.go): every distinct file is read once, several at a time, and an anchor that
//     cannot be read never stops the others. Secrets are masked only in what is shown (redact.go); earlier text comes from excerpt_history.go
//   - lookup (PackFinder in lookup.go): by id or name as the contract resolves them, and in filtered, ordered lists
package packs
