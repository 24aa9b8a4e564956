// Package sandboxfile keeps what is recorded of sandboxes' projects, their settings and their keys as files, laid out so that programs
// which know the original's files read them too (opencode contract §4.2). Any number of processes may share the files; nothing is opened or
// made before it is needed.
//
//   - sandboxfile.go, states.go, migrate.go: Store, the records and their locks; both documents are stored, or neither; older forms are
//     migrated
//   - stateformat.go, table.go, jsonmembers.go: the JSON documents that other programs read and write too: the state file and the gateway's table
//     of servers (opencode contract §9.1, §9.2). Members that are not known here stay where they are
//   - layout.go, prepare.go, discard.go, program.go: the base directory of a project: found, made, marked as this project's, deleted only
//     where the mark or the place says that it is; and the program of the agent server (opencode contract §5.4)
//   - settingsfiles.go, settings.go: the settings that users write for sandboxes: the global file with its secrets, a project's own, and
//     what the environment says (opencode contract §5). Nothing is written but a first global file, whose random secrets are nowhere else
//   - deploykeys.go, userkey.go, detach_unix.go, detach_other.go: DeployKeys, one SSH deploy key for each project, and keys that the user provides
//     (opencode contract §6). What a private key holds is never read here, and never shown
//   - modelfile.go, modeltext.go: Models, the model in the configuration file of the agent server opencode (opencode contract §11). Keys of
//     providers stand in that file, so nothing but the model ever leaves it, and nothing but the model is ever changed
//
// Its API may change at any time.
package sandboxfile
