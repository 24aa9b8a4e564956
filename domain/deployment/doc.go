// Package deployment implements the rules of one config repository deployed into many coding agents: manifest, modules, lockfile, trees of files, the
// plan of a deployment, ownership and snapshots, and the errors of the whole capability (faults.go).
//
// The package is pure: it takes bytes and returns values. Overlays are in package overlay, agents' tables and the rendering of modules in package
// target, policy in package governance.
//
//   - content and trees: Sum, Content, File, Tree (deployment.go)
//   - agentpack.yaml decoded: Manifest, Module, Source (manifest.go); sources as users type them (spec.go); the lockfile (lock.go)
//   - identities of modules, machines and projects, and Place, the directories of one call (identity.go; agentpack contract §1)
//   - ValidateModule (module.go, document.go, command.go): the rules for the files of a module, type by type, before they are deployed (§2.5). It takes
//     a composed tree and functions that read
//   - Markdown markers: Section, JoinSections and ParseSections for the sections of several modules in one file (section.go, fence.go; §2.8), and
//     PutBlock, CutBlock and FindBlock for the one managed block in a file that is otherwise the user's (block.go). Marks are whole lines outside fenced
//     code; nothing else changes
//   - files that give an agent more than text (handover.go): files with which an agent, once it reads them, runs programs or gains permissions without
//     asking again; HandoverOf, MayHandOver, IsRestrictive and TextHandover describe them for the user who decides
//
// # Plans
//
// NewPlan compares Wanted, the desired state, with Observed, the machine (diff.go, state.go; §4.3). The result is a Plan: changes (create, update,
// delete) with sums before and after, each with a Gate that says whether it needs adopt, and what would be owned afterwards (plan.go). A Plan has a
// hash, and an approval counts for exactly its Binding (§7.4). Only owned files are ever deleted; entries.go compares directories, resolveddirs.go
// remembers which directories were reached through links.
//
// A Snapshot records one operation: the state before every write, and what was owned afterwards. Transaction is a set of writes that happens
// atomically (snapshot.go). SnapshotWanted returns the desired state of a snapshot, so that a rollback is an ordinary plan, and Plan.Restore makes
// that plan put back what was at a path before a deployment first wrote to it (rollback.go).
//
// Its API may change at any time.
package deployment
