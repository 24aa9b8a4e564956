// Package packcmd implements the command group pack for context packs. Every command of the group but doctor calls the
// tools input and output, so users and agents get the same results and errors.
//
//   - packcmd.go: Commands; edit.go: new, add, note, diagram; read.go: list, show, diff, export; lifecycle.go: finalize, reopen, touch,
//     reanchor, rm, doctor
//   - gitfiles.go: which files belong to the repository, asked of git
//   - outline.go, languages.go, definitionend.go: Scanner finds the definitions in a source file by the shape of its lines: good enough to point
//     at one, in any common language, without a parser for each. It leaves out what it does not recognise, and its line numbers always exist
//     in the text
//
// Its API may change at any time.
package packcmd
