// Package overlay implements the layers over a module's upstream files: what a layer is, how layers are composed into the tree that is deployed, and
// how an overlay is rebased when its upstream has changed (agentpack contract §3).
//
//   - Layer, Kind (dir or patch), Baseline and the file names of an overlay's metadata: overlay.go, kind.go, origin.go, baseline.go
//   - Compose applies layers lowest scope first (compose.go, §3.1 to §3.6); sorted trees merged by path: MergeTrees and PathClash in treemerge.go
//   - patch files of an overlay, and errors that name module, layer and next step: patchfile.go (§3.5)
//   - unified diffs: ParsePatch (parse.go) and FilePatch (patch.go, apply.go; §3.5, §10.4)
//   - Rebase updates an overlay to its upstream, file by file (rebase.go, rebase_forms.go; §3.8). drift.go warns of what upstream changed below
//     a layer since its baseline (§3.6)
//   - conflicts that a rebase cannot decide (conflict.go; §3.8, §10.1): MergeSides.Merge merges a file three ways, with marker lines around the sides;
//     a resolved file is told from an unresolved one by them
//
// A patch is a unified diff of one text file, read by its structure and applied strictly: every line of a hunk must be in the file at the position
// that the patch gives, and nothing is guessed. An accepted patch gives the same bytes as git apply. Where git is lax (text after the last hunk, an
// insertion without any context, a missing final newline in the middle of a file) the patch is rejected. Texts are UTF-8.
//
// The package is pure: bytes and a merge function (MergeFunc) are arguments.
//
// Its API may change at any time.
package overlay
