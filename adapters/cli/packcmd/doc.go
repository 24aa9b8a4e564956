// Package packcmd implements the command group pack for context packs, and the command tour. Every command of the group but doctor calls the
// tools input and output, so users and agents get the same results and errors.
//
//   - packcmd.go: Commands; edit.go: new, add, note, diagram; read.go: list, show, diff, export; lifecycle.go: finalize, reopen, touch,
//     reanchor, rm, doctor
//   - tour.go: Command is the command tour: a demo in the current repository, step by step, without a host and without setup. It makes the same
//     tool calls as an agent, in a temporary store, and changes nothing else. It prints only what it has counted or read in the code
//   - tourscan.go, touranchors.go, tourdiagram.go: what tour finds in a repository, which definitions it picks, and the diagram of directories;
//     gitfiles.go: which files belong to the repository, asked of git
//   - outline.go, languages.go, definitionend.go: Scanner finds the definitions in a source file by the shape of its lines: good enough to point
//     at one, in any common language, without a parser for each. It leaves out what it does not recognise, and its line numbers always exist
//     in the text
//
// Its API may change at any time.
package packcmd
