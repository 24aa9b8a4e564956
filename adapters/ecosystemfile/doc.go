// Package ecosystemfile keeps ecosystems as files: the manifests of a workspace root, the states of installed workspaces, and runs with
// their logs, in the directories of the contract (amof contract §2, §3, §4). Any number of processes may share the files; nothing is opened
// or made before it is needed.
//
//   - ecosystemfile.go, manifests.go, create.go: Store, the ecosystem manifests, and new ecosystems (ecosystemport.Places and Manifests)
//   - paths.go, settings.go, agent.go: PathFinder says where the files of ecosystems are on this machine, what amof.yaml and the
//     environment set about them (amof contract §2, §20.8), and which ecosystem a workspace root selects
//   - statestore.go, legacystate.go: StateStore, the recorded state of installed workspaces and the lock of each ecosystem, in the user's state directory
//     (amof contract §4); states of version 3 are taken over
//   - runfile.go, list.go, log.go: RunStore, a JSON document and a log of JSON lines for each run, in one directory (amof contract §2, §9)
//   - worker.go: Workers starts worker processes that execute queued runs, and lets only so many of them work at a time (amof contract §9)
//   - watch.go: Watch follows the runs of other processes by looking at their records again and again: not every file system says when a
//     file that several processes share has changed
//   - provisioners.go: ProvisionerFinder finds the scripts of provisioners, makes sure that they may be run, and gives every environment a private
//     directory. Nothing is run
//   - controlplane.go: ControlPlane, the optional HTTP listener on loopback that answers health checks (amof contract §17 and §20.7)
//
// Its API may change at any time.
package ecosystemfile
