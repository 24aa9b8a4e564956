// Package homearchive makes backups of a home, and puts one in its place: a tar file with the database as it is at one moment, the keys, the
// configuration and whatever else is state, and at its end a list of all of it with its sums. It is a ports.Backups.
//
// It refuses to put back what it has not read to the end and held against its list, what a newer program has made, and anything but plain files below the
// home. What lets something happen (approvals, grants, sessions, credentials) does not come back.
//
//   - contents.go: what of a home is state
//   - create.go: making a backup while others use the home
//   - inspect.go: reading one
//   - restore.go: putting one in the place of the home. It is made ready beside what is there; then a note says what is done, and every step can be
//     repeated, so that whoever starts next finishes what was interrupted
//
// Its API may change at any time.
package homearchive
