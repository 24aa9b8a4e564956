package deployfile

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// file is the parsed form of a record.
type file struct {
	Kind         deployment.SnapshotKind   `json:"kind"`
	ID           string                    `json:"id"`
	CreatedAt    time.Time                 `json:"created_at"`
	Targets      []string                  `json:"targets"`
	Managed      []owned                   `json:"managed_files"`
	Changes      []change                  `json:"changes"`
	RolledBackTo string                    `json:"rolled_back_to"`
	Lock         deployment.Sum            `json:"lockfile_sha256"`
	Status       deployment.SnapshotStatus `json:"status"`
	Roots        []deployment.Root         `json:"roots"`
	ProjectRoot  string                    `json:"project_root"`
	Profile      string                    `json:"profile"`
	Repo         string                    `json:"repo"`
}

type owned struct {
	Target  string           `json:"target"`
	Path    string           `json:"path"`
	Sum     deployment.Sum   `json:"sha256"`
	Mode    octal            `json:"mode"`
	Modules []string         `json:"module_ids"`
	Root    string           `json:"root"`
	Owner   deployment.Owner `json:"owner"`
	Part    *deployment.Part `json:"part"`
	PartSum deployment.Sum   `json:"part_sha256"`
	Made    [][]string       `json:"made"`
	Created bool             `json:"created"`
}

type change struct {
	Target      string         `json:"target"`
	Op          deployment.Op  `json:"op"`
	Path        string         `json:"path"`
	BeforeSum   deployment.Sum `json:"before_sha256"`
	AfterSum    deployment.Sum `json:"after_sha256"`
	BeforeBytes int64          `json:"before_bytes"`
	BeforeMode  *octal         `json:"before_mode"`
	BeforeLink  string         `json:"before_link"`
	AfterBytes  int64          `json:"after_bytes"`
	AfterMode   *octal         `json:"after_mode"`
	AfterLink   string         `json:"after_link"`
}

// decoded is a record that was read.
type decoded struct {
	deployment.Snapshot
	Sum     deployment.Sum // of its file
	Foreign bool           // written by the original tool, whose contents are in directories beside the record
}

// DecodeSnapshot reads a record, also one of the original tool: that has no status, which counts as applied, and no modes, which count as PlainMode. It
// fails with ErrSnapshotDamaged.
func DecodeSnapshot(data []byte) (decoded, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return decoded{}, deployment.ErrSnapshotDamaged.WithMessage("the record is not valid: %v", err).WithCause(err)
	}
	if !ValidID(f.ID) {
		return decoded{}, deployment.ErrSnapshotDamaged.WithMessage("the record has the invalid id %q", f.ID)
	}
	d := decoded{Snapshot: f.snapshot(), Foreign: f.Status == ""}
	if d.Foreign {
		d.findRoots()
	}
	return d, nil
}

// findRoots works out which roots a record of the original tool was about, which did not say: those whose manifests are among its changes
// (agentpack contract §4.6). A file that is below none of them counts as alone in its directory.
func (d *decoded) findRoots() {
	for _, c := range d.Changes {
		if dir, name := filepath.Split(c.Path); strings.HasPrefix(name, ".agentpack.manifest.") && strings.HasSuffix(name, ".json") {
			d.Roots = append(d.Roots, deployment.Root{Target: c.Target, Path: filepath.Clean(dir)})
		}
	}
	for i := range d.Managed {
		f := &d.Managed[i]
		root, found := deployment.BestRoot(d.Roots, f.Target, f.Path, filepath.Separator)
		if !found {
			root = deployment.Root{Target: f.Target, Path: filepath.Dir(f.Path)}
			d.Roots = append(d.Roots, root)
		}
		f.Root = root.Path
	}
}

func (f file) snapshot() deployment.Snapshot {
	s := deployment.Snapshot{
		ID: f.ID, Kind: cmp.Or(f.Kind, deployment.KindDeploy), Status: cmp.Or(f.Status, deployment.StatusApplied), CreatedAt: f.CreatedAt, Targets: f.Targets,
		Roots: f.Roots, ProjectRoot: f.ProjectRoot, Profile: f.Profile, Repo: f.Repo, RolledBackTo: f.RolledBackTo, Lock: f.Lock,
	}
	for _, o := range f.Managed {
		s.Managed = append(s.Managed, deployment.Owned{Target: o.Target, Root: o.Root, Path: o.Path, Sum: o.Sum, Modules: o.Modules, Owner: o.Owner, Repo: o.Owner.Repo(f.Repo),
			Mode: cmp.Or(o.Mode, octal(deployment.PlainMode)).perm(), Part: o.Part, PartSum: o.PartSum, Made: o.Made, Created: o.Created})
	}
	for _, c := range f.Changes {
		s.Changes = append(s.Changes, deployment.SnapshotRecord{Target: c.Target, Op: c.Op, Path: c.Path,
			Before: seen(c.BeforeSum, c.BeforeBytes, c.BeforeMode, c.BeforeLink), After: seen(c.AfterSum, c.AfterBytes, c.AfterMode, c.AfterLink)})
	}
	return s
}

// seen puts a sight together. Without mode and link it is one of the original tool, which knew regular files only.
func seen(sum deployment.Sum, size int64, mode *octal, link string) deployment.Seen {
	switch {
	case link != "":
		return deployment.Seen{Kind: deployment.Link, Sum: sum, Link: link}
	case mode != nil:
		return deployment.Seen{Kind: deployment.Regular, Sum: sum, Size: size, Mode: mode.perm()}
	case !sum.IsZero():
		return deployment.Seen{Kind: deployment.Regular, Sum: sum, Size: size, Mode: deployment.PlainMode}
	}
	return deployment.Seen{}
}
