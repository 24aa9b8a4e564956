// Package observe inspects the machine for deployments: who owns what in the roots, the state of paths, unmanaged files, and whether
// a root is writable. It writes nothing but the index of sums.
//
//   - observer.go, extras.go, check.go, access_unix.go, access_other.go: Observer
//   - ownership.go: what the home records of roots, and what manifests beside the files say where it records nothing
//   - manifest.go, decode.go, encode.go, scan.go: ownership manifests, the list of files that were deployed to a root and by what (agentpack
//     contract §4.1). Unknown fields are passed over. What cannot be understood of a manifest is left out and reported: a damaged manifest
//     owns nothing, so nothing is deleted because of it
//   - filestate.go: the state of a path (FileState, InspectPath), whether it is unchanged (SameState, EquivalentState, SameFile), and what the
//     file system's errors mean (FileFault, agentpack contract §6.2)
//   - pathresolver.go, ways.go: where directories really are when links are followed, and that none leads out of its root (PathResolver)
//   - statindex.go, format.go, hash.go, statter.go: Index remembers the sums of files by what the file system says of them, so that a file that
//     did not change is never hashed twice, by this process or the next. It is a cache: whatever is wrong with its file, the answer is to
//     hash again. Several processes may share one file; the last one to save wins, which costs the others some hashing
//   - stat_linux.go, stat_other.go, listing.go, listing_linux.go, listing_other.go: stat and directory lists of thousands of files in
//     little time
//   - gitignored.go: whether git ignores a file, asked of git, because it knows rules in more places than a working tree's .gitignore
//
// Its API may change at any time.
package observe
