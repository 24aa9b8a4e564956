package observe

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// The lists of a home that ownership is read from, below <home>/state.
const (
	OwnedDir  = "owned"      // a record for every root, target and config repository
	RootsName = "roots.json" // the roots that deployments wrote to, and whose
)

// OwnershipName is the name, among the files of a home's state, of what a config repository owns in a root; an empty repository stands for what
// belongs to none.
func OwnershipName(root deployment.Root, repo string) string {
	name := ownershipPrefix(root)
	if repo != "" {
		name += "-" + deployment.SumOf([]byte(repo)).Short(16)
	}
	return OwnedDir + "/" + name + suffix
}

func ownershipPrefix(root deployment.Root) string {
	return deployment.SafeName(root.Target) + "-" + deployment.SumOf([]byte(filepath.Clean(root.Path))).Short(16)
}

// Ownership reads what a home records of roots: who owns which files there. What earlier versions and the original left beside the files counts
// where the home records nothing of a path.
type Ownership struct {
	repo  string       // who looks
	proof Proof        // of the records
	state *docfile.Dir // nil: no home, only what stands beside the files
	names []string     // of the records, sorted
	known []deployport.KnownRoot
	read  bool // known was
}

// OpenOwnership returns the ownership records in a home, as a config repository sees them. Without a home, only manifests beside the files are used.
func OpenOwnership(home, repo string, proof Proof) (*Ownership, error) {
	o := &Ownership{repo: repo, proof: proof}
	if home == "" {
		return o, nil
	}
	o.state = StateOf(home)
	entries, err := os.ReadDir(o.state.File(OwnedDir))
	if err != nil && !IsAbsent(err) {
		return nil, FileFault(err, o.state.File(OwnedDir))
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && !e.IsDir() {
			o.names = append(o.names, name)
		}
	}
	return o, nil
}

// StateOf is the directory of a home's records.
func StateOf(home string) *docfile.Dir { return docfile.NewDir(filepath.Join(home, "state")) }

// Record is what one config repository owns in a root.
type Record struct{ Manifest }

// Records returns the stored records of a root, sorted by repository. An unreadable record is a warning.
func (o *Ownership) Records(root deployment.Root) (out []Record, warnings []string) {
	prefix := ownershipPrefix(root)
	i, _ := slices.BinarySearch(o.names, prefix)
	for ; i < len(o.names) && strings.HasPrefix(o.names[i], prefix); i++ {
		if rest := o.names[i][len(prefix):]; rest != "" && rest[0] != '-' {
			continue
		}
		name := OwnedDir + "/" + o.names[i] + suffix
		data, _, err := o.state.Read(name, MaxManifestSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m Manifest
		if err == nil {
			var skipped []string
			m, skipped, err = DecodeManifest(data, root)
			for _, w := range skipped {
				warnings = append(warnings, "the ownership record "+o.state.File(name)+": "+w)
			}
		}
		if err == nil && (m.Recorded != root.Path || OwnershipName(root, m.Repo) != name) {
			err = ErrBadManifest.WithMessage("it belongs to another directory or config repository")
		}
		if err != nil {
			warnings = append(warnings, "the ownership record "+o.state.File(name)+" cannot be used, so its files count as not deployed: "+ownershipCause(err))
			continue
		}
		proven := o.proof.Of(name, data)
		for i := range m.Files {
			m.Files[i].Repo = m.Repo
			if !proven {
				m.Files[i].Claim = deployment.Unproven
			}
		}
		if !proven && len(m.Files) > 0 {
			warnings = append(warnings, "the audit log does not match the ownership record "+o.state.File(name)+", so its files count as not deployed; the next deployment rewrites it")
		}
		out = append(out, Record{m})
	}
	slices.SortFunc(out, func(a, b Record) int { return strings.Compare(a.Repo, b.Repo) })
	return out, warnings
}

// RootOwnership is what is owned in a root.
type RootOwnership struct {
	deployment.OwnershipManifest                    // what the config repository that looks owns, and what belongs to none
	Others                       []deployment.Owned // what other config repositories own
	Taken                        map[string]bool    // the repositories of which something was found only beside the files
}

// Read is what is owned in a root. wants reports a path that the config repository that looks wants, for manifests beside the files that say too
// little about whose they are; nil wants nothing. It fails as ReadManifest does.
func (o *Ownership) Read(root deployment.Root, wants func(path string) bool) (RootOwnership, []string, error) {
	out := RootOwnership{OwnershipManifest: deployment.OwnershipManifest{Root: root}}
	beside, said, err := ReadManifest(root)
	if err != nil {
		return out, nil, err
	}
	var records []Record
	var warnings []string
	if o.state != nil {
		records, warnings = o.Records(root)
	}
	warnings = append(warnings, said...)
	recorded := map[claim]bool{}
	for _, r := range records {
		for i := range r.Files {
			if beside.Present {
				recorded[claim{r.Files[i].Path, r.Files[i].Owner}] = true
			}
		}
		out.Present = out.Present || r.Repo == "" || r.Repo == o.repo
		out.add(o.repo, r.Files)
	}
	if !beside.Present {
		return out, warnings, nil
	}
	out.Present, out.Legacy, out.Taken = true, beside.Legacy, map[string]bool{}
	if o.state != nil {
		out.Beside = manifestsBeside(root, beside.Legacy)
	}
	whose, err := o.whose(root)
	if err != nil {
		return out, warnings, err
	}
	for _, f := range beside.Owned {
		if recorded[claim{f.Path, f.Owner}] {
			continue
		}
		f.Claim = max(f.Claim, deployment.Beside)
		if f.Owner != deployment.OwnerBootstrap {
			f.Repo = whose(wants != nil && wants(f.Path))
		}
		out.Taken[f.Repo] = true
		out.add(o.repo, []deployment.Owned{f})
	}
	return out, warnings, nil
}

func (r *RootOwnership) add(repo string, owned []deployment.Owned) {
	ours := func(f *deployment.Owned) bool { return f.Repo == "" || f.Repo == repo }
	all := true
	for i := range owned {
		all = all && ours(&owned[i])
	}
	if all && len(r.Owned) == 0 { // mostly one config repository has all of a root, and there may be tens of thousands
		r.Owned = owned
		return
	}
	for _, f := range owned {
		if ours(&f) {
			r.Owned = append(r.Owned, f)
		} else {
			r.Others = append(r.Others, f)
		}
	}
}

// manifestsBeside are the manifests of a target in its root, of which one was read; the one under the legacy name counts when it is this target's.
func manifestsBeside(root deployment.Root, legacy bool) (paths []string) {
	if !legacy {
		paths = append(paths, filepath.Join(root.Path, ManifestName(root.Target)))
	}
	if data, _, err := docfile.NewDir(root.Path).Read(legacyName, MaxManifestSize); err == nil {
		if _, _, err := DecodeManifest(data, root); err == nil {
			paths = append(paths, filepath.Join(root.Path, legacyName))
		}
	}
	return paths
}

// whose tells the config repository of an entry beside the files, which says none: the only one that deployed to the root, and where several did, the
// one that looks if it wants the file and another one if not, so that nothing of theirs is taken for a leftover. Where nothing is known, it is the one
// that looks.
func (o *Ownership) whose(root deployment.Root) (func(wanted bool) string, error) {
	if o.state == nil {
		return func(bool) string { return o.repo }, nil
	}
	if !o.read {
		var err error
		if o.known, err = ReadKnownRoots(o.state); err != nil {
			return nil, err
		}
		o.read = true
	}
	first, ours, any := "", false, false
	for _, k := range o.known {
		if k.Target != root.Target || k.Path != root.Path {
			continue
		}
		any = true
		if k.Repo == o.repo {
			ours = true
		} else if first == "" {
			first = k.Repo
		}
	}
	return func(wanted bool) string {
		if !any || first == "" || ours && wanted {
			return o.repo
		}
		return first
	}, nil
}

// ReadKnownRoots is the list of roots in a home's state. One that cannot be read fails with ErrSnapshotDamaged: without it files could be left behind.
func ReadKnownRoots(state *docfile.Dir) ([]deployport.KnownRoot, error) {
	data, _, err := state.Read(RootsName, maxKnownRoots)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, FileFault(err, state.File(RootsName))
	}
	var known []deployport.KnownRoot
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, deployment.ErrSnapshotDamaged.WithMessage("the list of deployed directories, state/%s, cannot be read: %v; restore it, or move it away", RootsName, err)
	}
	real := map[string]string{} // earlier versions wrote the path as it was named
	for i, k := range known {
		if _, looked := real[k.Repo]; !looked {
			real[k.Repo] = k.Repo
			if path, err := filepath.EvalSymlinks(k.Repo); err == nil {
				real[k.Repo] = path
			}
		}
		known[i].Repo = real[k.Repo]
	}
	return known, nil
}

const maxKnownRoots = 64 << 20
