// Package packcmd is the command group pack, context packs for people, and the command tour. Every command of the group but doctor is a
// call of the tools input and output, so a person and an agent get the same answers and the same refusals.
//
//   - packcmd.go: Commands; build.go: new, add, note, diagram; read.go: list, show, diff, export; keep.go: finalize, reopen, touch,
//     reanchor, rm, doctor
//   - tour.go: Command is the command tour: the main job, done on the repository it stands in and shown step by step, with no host and no
//     setting up. It makes the same tool calls as an agent, in a temporary store, and changes nothing else. What it says about the code it
//     has counted or read there
//   - survey.go, choose.go, layout.go: what tour finds in a repository, which definitions it picks, and the diagram of directories;
//     tracked.go: which files belong to the repository, asked of git
//   - outline.go, languages.go, extent.go: Scanner finds the definitions in a source file by the shape of its lines: good enough to point
//     at one, in any common language, without a parser for each. What it cannot make out it leaves out, and its line numbers always exist
//     in the text
package packcmd
