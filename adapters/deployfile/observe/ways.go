package observe

import (
	"io/fs"
	"path/filepath"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// ways finds out where the directories of the paths, and the roots, really are. Each is looked at once.
func ways(l deployport.Look, o deployment.Observed) *deployment.ResolvedDirs {
	f := follower{real: map[string]string{}, ways: deployment.NewResolvedDirs()}
	for _, root := range l.Roots {
		f.dir(filepath.Clean(root.Path))
	}
	last := "" // paths mostly stand together
	for _, path := range l.Paths {
		if dir := filepath.Dir(path); dir != last {
			f.dir(dir)
			last = dir
		}
	}
	for have := range o.Entries() {
		if dir := filepath.Dir(have.Path); dir != last {
			f.dir(dir)
			last = dir
		}
	}
	return f.ways
}

type follower struct {
	real map[string]string
	ways *deployment.ResolvedDirs
}

// dir is where a directory really is; of one that is not there, where it would be made.
func (f *follower) dir(dir string) string {
	if real, known := f.real[dir]; known {
		return real
	}
	real := dir
	if above := filepath.Dir(dir); above != dir {
		if real = f.dir(above); real == above {
			real = dir // nothing above it is a link
		} else {
			real = filepath.Join(real, filepath.Base(dir))
		}
		if at, err := Lstat(real); err == nil && at.Mode&fs.ModeSymlink != 0 {
			if to, err := filepath.EvalSymlinks(real); err == nil { // one that leads nowhere is refused when something is to be written
				real = to
			}
		}
	}
	f.real[dir] = real
	f.ways.Add(dir, real)
	return real
}
