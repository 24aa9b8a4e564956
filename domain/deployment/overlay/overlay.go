package overlay

import (
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Kind is how a layer changes what is below it.
type Kind string

// The kinds (agentpack contract §3.2).
const (
	KindDir   Kind = "dir"   // its files override or add
	KindPatch Kind = "patch" // its unified diffs change single files
)

// UpstreamLayer is the name of the layer below all overlays.
const UpstreamLayer = "upstream"

// The files of an overlay directory's reserved part (agentpack contract §3.2).
const (
	MetaDir      = ".agentpack"
	MetaFile     = MetaDir + "/overlay.json"
	IDFile       = MetaDir + "/module_id"
	BaselineFile = MetaDir + "/baseline.json"
	PatchesDir   = MetaDir + "/patches"
	ConflictsDir = MetaDir + "/conflicts"
)

// Layer is one overlay directory as it was read.
type Layer struct {
	Scope     deployment.OverlayScope
	Dir       string // absolute, native: where it is, or would be created
	Exists    bool
	Kind      Kind
	ModuleID  string          // from its metadata; empty without metadata
	Overrides deployment.Tree // everything but the reserved directory and .git
	Patches   []PatchFile     // sorted by name
	Baseline  *Baseline
	Conflicts []string // files left by a rebase with conflicts, by the path of the file in conflict

	// ConflictFiles holds the content of those files, under the same paths. Rebase needs it to see which of them are resolved; a path that is only in
	// Conflicts counts as unresolved.
	ConflictFiles deployment.Tree
}

// PatchFile is one file below the patches directory. Name is its slash path there, with the suffix.
type PatchFile struct {
	Name    string
	Content deployment.Content
}

// Baseline is the state of upstream when the overlay was made or last rebased.
type Baseline struct {
	Version   int                `json:"version"`
	CreatedAt time.Time          `json:"created_at"`
	Sum       deployment.Sum     `json:"upstream_sha256"`
	Manifest  []deployment.Entry `json:"file_manifest"`
	Upstream  *Origin            `json:"upstream"`

	// Unsolved lists the files that the last rebase could not merge, sorted by path. Their entries in Manifest are still the older ones.
	Unsolved []UnresolvedFile `json:"unresolved,omitempty"`
}

// UnresolvedFile is one file whose rebase had conflicts, with what is needed to continue later, when upstream may have changed again.
type UnresolvedFile struct {
	Path     string         `json:"path"`
	Upstream *Origin        `json:"upstream"`        // where the file's older baseline entry can be found
	Theirs   deployment.Sum `json:"upstream_sha256"` // upstream's content in the conflict; zero when upstream is gone, or it is not known
	Artifact deployment.Sum `json:"conflict_sha256"` // of the conflict file as written; zero when none was written
}

// BaselineVersion is the version that is written.
const BaselineVersion = 2

// Origin says where upstream's files can be found again. Its JSON form is a union on kind: git with url, commit and subdir, or local_path with
// repo_rel_path, repo_git_rev and repo_dirty.
type Origin struct {
	Git   *deployment.ResolvedGit
	Local *LocalOrigin
}

// LocalOrigin is a path in the config repository, at a commit if known.
type LocalOrigin struct {
	Path   string
	Commit string // empty when it is not known
	Dirty  *bool
}
