package packfile

import (
	"io/fs"
	"time"
)

// settleAfter is how old a file's times must be when the file is read before a later change surely shows in them. Younger files are read again
// the next time, because some file systems stamp coarsely.
const settleAfter = 100 * time.Millisecond

// stamp tells a file from any other, and from itself after a change: mtime is when its content changed, as whoever may write it can set anew; ctime when
// anything of it did, which nobody can set.
type stamp struct {
	size, mtime, ctime int64
	inode, device      uint64
}

// settled returns the stamp of a file that was just read, and whether a later change of it surely shows in that.
func (s *Store) settled(info fs.FileInfo) (stamp, bool) {
	at, ok := stampOf(info)
	if !ok {
		return stamp{}, false
	}
	now := s.today().UnixNano()
	for _, t := range [...]int64{at.mtime, at.ctime} {
		if age := time.Duration(now - t); -settleAfter <= age && age <= settleAfter {
			return at, false
		}
	}
	return at, true
}

// is reports whether info describes a file of this stamp.
func (s stamp) is(info fs.FileInfo) bool {
	now, ok := stampOf(info)
	return ok && now == s
}
