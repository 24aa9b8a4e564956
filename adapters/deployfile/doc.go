// Package deployfile applies deployments on the machine it runs on: atomically, one at a time in a home, with an operation log so
// that a killed one can be finished or undone, and with a snapshot of what was there before. What is to be written, and what has to be
// there for it to happen, a transaction says.
//
// Machine implements deployport.Machine, Snapshots and Recovery. Its methods may run concurrently, here and in other processes. Package
// observe looks at the machine, package configrepo reads the config repository.
//
// # An operation
//
//   - machine.go, apply.go, prepare.go, claim.go: NewMachine and Apply: find out what can be known before anything is written, put what must
//     be kept into the vault, write, record who owns what; what was written is taken back when something fails
//   - work.go, write.go, job.go: an operation applied, finished or undone (RunWork) file by file, each in one step, so that a process that
//     dies anywhere leaves every file as it was or as it was to be. A file that somebody changed since it was looked at is left alone. Files are
//     written relative to open directories, through no link (directory_linux.go, directory_other.go)
//   - recovery.go, snapshots.go, roots.go: an interrupted operation shown, finished or undone; snapshots listed, loaded and pruned; the
//     roots that were written to
//
// # What a home keeps
//
// home.go and home_snapshots.go keep, below <home>/state: deploy.lock (held while anything here is changed), journal.json (there while an
// operation is under way), snapshots/<id>.json, vault/<id>.zip, originals.json (what stood at paths before a deployment first wrote there)
// directories.json (the directories that deployments made), roots.json (the roots that deployments own or owned files in), repositories.json (the
// config repositories that deployed here) and owned/ (who owns what, a file for each root, target and config repository). All of these change with
// the operation, by its journal.
//
//   - record.go, decode.go: the snapshot record (agentpack contract §4.6, a superset of it, and records of the original tool read back)
//   - journal.go: the operation log of an operation under way, the registry of originals and lists of paths
//   - repository.go: which config repository a place has, and manifests beside the files for tools that read no other
//   - vault.go, archivewriter.go: contents by their SHA-256 for as long as something needs them: one archive for every operation, each a
//     plain ZIP without compression whose entries are named by the sum of what they hold. Archives are only ever added, or rewritten
//     without what nobody needs any more, so a process that dies in the middle loses nothing. The caller holds the lock that keeps other
//     writers away
//
// Its API may change at any time.
package deployfile
