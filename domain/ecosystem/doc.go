// Package ecosystem is the rules of several repositories worked on as one: the manifest that names them, what is recorded of a workspace, its tickets
// and runs, provisioners, protected paths, and the errors of the capability (faults.go; those of runs and environments beside them). It is pure: what
// git, files and processes say arrives as arguments.
//
//   - Manifest, Repo and Release, names and their limits, and what is recorded (State, Ticket, Layout): ecosystem.go (amof contract §3, §4, §6)
//   - reading an ecosystem.yaml: ReadManifest (manifest.go, manifest_reader.go, manifest_repos.go, manifest_parts.go) gives the manifest with every default in place, and every
//     Problem, with the place, the reason and the next step (§3). It reads the document that a YAML parser made. DraftDocument (draft.go) returns the manifest of
//     a new ecosystem (§13, tool 31)
//   - checkouts: NewGitStatus converts the output of git status (gitstatus.go); compared with what the ecosystem expects, a checkout is OK,
//     MISSING, WRONG_BRANCH, DIRTY or UNPUSHED (ExpectedCheckout in checkout.go; §5)
//   - runs: Run is the record of one long operation, with its states and events and the order of queued ones (run.go; §9, limits §22)
//   - environments: which provisioner deploys and destroys one and with what command (provisioner.go), what is recorded of it (EnvironmentState in
//     environment.go), what it says of itself and how long it is likely to take (outputs.go; §7, §20.5)
//   - protected paths, which must not leave the machine: those that commonly hold secrets, and those that the manifest's guardrails name
//     (protected.go; §3, §20.4). Paths alone decide, not what is in the files
//
// Its API may change at any time.
package ecosystem
