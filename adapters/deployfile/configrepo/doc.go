// Package configrepo reads a config repository on disk: agentpack.yaml and its lockfile, the files of its modules, overlays and
// organisation policy; and, in the home directory, the event log. It does not change the repository: edits come back as writes for whoever
// applies the transaction. No link leads it out of the repository, and none out of a module.
//
//   - configs.go: Configs, which is deployport.Configs
//   - manifest.go, schema.go, rules.go: agentpack.yaml read and validated (agentpack contract §2.1); unknown keys are warnings. edit.go:
//     changes to it that leave every other byte alone
//   - lock.go: agentpack.lock.json (agentpack contract §2.4); modules sorted by identifier, two spaces, a final line break
//   - frontmatter.go: the front matter of modules (agentpack contract §2.5)
//   - files.go: module files below the repository (Files); overlays.go: overlay directories (Overlays)
//   - scan.go: Scanner looks for modules where coding agents keep them, in directories that are no part of a config repository; it writes
//     nothing
//   - policy.go: agentpack.org.yaml, its lockfile, and which files policy looks into (PolicyReader, agentpack contract §5.17); only policy uses it
//   - places.go, gitconfig.go: where a call works: the home directory of the capability, the config repository, the machine's name, and the
//     project around the working directory with its remote (Places). No process is started: git's files are read, git is not asked
//   - events.go: the event log (Events)
//
// Its API may change at any time.
package configrepo
