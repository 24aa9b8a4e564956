package observe

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

const (
	// MaxManifestSize is how large a manifest may be, in bytes; larger ones are not read.
	MaxManifestSize = 64 << 20

	legacyName = ".agentpack.manifest.json"
	prefix     = ".agentpack.manifest."
	suffix     = ".json"
	version    = 1

	maxFiles = 1 << 18 // entries of a manifest
	maxNamed = 20      // entries that are complained about one by one
	maxPath  = 4096    // PATH_MAX and NAME_MAX of Linux
	maxName  = 255
)

// ErrBadManifest reports bytes that are no manifest of that target: no JSON, another version, another target's.
var ErrBadManifest = fault.New(fault.State, "deployment_manifest_unusable", "an ownership manifest cannot be used")

// errOther is ErrBadManifest for a manifest that is fine, but another target's.
var errOther = errors.New("the manifest is another target's")

// ManifestName is the file name of a target's manifest; the target's name is made safe for it.
func ManifestName(target string) string { return prefix + deployment.SafeName(target) + suffix }

// IsManifestName reports the file name of a manifest of any target, or the legacy one.
func IsManifestName(file string) bool {
	return file == legacyName ||
		len(file) > len(prefix)+len(suffix) && strings.HasPrefix(file, prefix) && strings.HasSuffix(file, suffix)
}

// Manifest is what one says.
type Manifest struct {
	GeneratedAt time.Time // zero when the file tells none that can be read
	Target      string
	Root        string // absolute, native: what the files' paths are relative to
	SnapshotID  string // empty when there is none
	Recorded    string // of a record in the home: the root that it is about
	Repo        string // of a record in the home: whose it is
	Files       []deployment.Owned
}

// ReadManifest is what the manifest of root.Target says in the directory root.Path. One that is missing is not Present, and so is one that
// cannot be read or understood, with a warning. The legacy name counts only where the target's own is absent and only when it is this
// target's, with a warning. A symbolic link is followed while it stays inside the root. It fails with ErrPathLong where the root's path
// is too long for anything to be there.
func ReadManifest(root deployment.Root) (deployment.OwnershipManifest, []string, error) {
	l := deployment.OwnershipManifest{Root: root}
	info, err := os.Stat(root.Path)
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return l, nil, deployment.ErrPathLong.WithMessage("the path %s is too long; move the root to a shorter path", root.Path).
			WithDetails(deployment.FieldDetails("hint", "use a shorter root").AddPath("path", root.Path)).WithCause(err)
	case err == nil && !info.IsDir(): // a pipe, opened, would block
		return l, nil, nil
	}
	for _, name := range []string{ManifestName(root.Target), legacyName} {
		file := filepath.Join(root.Path, name)
		data, _, err := docfile.NewDir(root.Path).Read(name, MaxManifestSize)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return l, []string{"the manifest " + file + " cannot be read, so its files count as not deployed: " + ownershipCause(err)}, nil
		}
		m, warnings, err := DecodeManifest(data, root)
		switch {
		case errors.Is(err, errOther) && name == legacyName:
			return l, nil, nil // it belongs to a neighbour
		case err != nil:
			return l, []string{"the manifest " + file + " is ignored, so its files count as not deployed: " + ownershipCause(err)}, nil
		}
		for i, w := range warnings {
			warnings[i] = "the manifest " + file + ": " + w
		}
		if name == legacyName {
			warnings = append(warnings, "the manifest "+file+" has an old name; the next deployment replaces it")
		}
		l.Present, l.Legacy, l.Owned = true, name == legacyName, m.Files
		return l, warnings, nil
	}
	return l, nil, nil
}

// ownershipCause is the reason behind an error whose file the sentence around it names.
func ownershipCause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

// inside is the shortest form of a manifest's path, or why it names no file below its root. Such a path is never touched.
func inside(rel string) (clean, problem string) {
	if filepath.Separator == '/' && (target.Paths{Sep: '/'}).Confined(rel) == nil && !IsManifestName(rel) && !climbs(rel) {
		return rel, "" // what almost all are
	}
	clean = path.Clean(rel)
	switch {
	case strings.IndexByte(rel, 0) >= 0:
		return "", "it has a NUL byte"
	case path.IsAbs(rel) || filepath.VolumeName(filepath.FromSlash(rel)) != "":
		return "", "it is absolute"
	case climbs(rel):
		return "", `it goes up by ".."`
	case clean == ".":
		return "", "it does not name a file"
	case !filepath.IsLocal(filepath.FromSlash(clean)):
		return "", "it cannot be a file here"
	case IsManifestName(clean):
		return "", "it is a manifest itself"
	}
	return clean, ""
}

// climbs reports a ".." component, also one between backslashes: the manifest may come from another system.
func climbs(rel string) bool {
	if !strings.Contains(rel, "..") {
		return false
	}
	for part := range strings.FieldsFuncSeq(rel, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." {
			return true
		}
	}
	return false
}
