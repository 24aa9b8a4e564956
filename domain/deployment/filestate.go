package deployment

import "io/fs"

// FileState is the result of comparing three versions of a deployed file, or of the managed part of one: what was deployed last, what is on disk, and
// what the config repository says now.
type FileState string

// The states. Every file that a deployment manages or would manage has exactly one.
const (
	StateUpToDate        FileState = "up_to_date"       // the file on disk is what the config repository says
	StateChangedUpstream FileState = "changed_upstream" // the file on disk is what was deployed, or all edits of it are upstream already; the config repository changed
	StateEditedHere      FileState = "edited_here"      // the config repository is unchanged; the file on disk was edited
	StateConflict        FileState = "conflict"         // both changed
	StateMissing         FileState = "missing"          // it was deployed, and the file is gone
	StateNotDeployed     FileState = "not_deployed"     // no deployment wrote it
)

// FileStates returns all states, the harmless first.
func FileStates() []FileState {
	return []FileState{StateUpToDate, StateChangedUpstream, StateEditedHere, StateConflict, StateMissing, StateNotDeployed}
}

// IsEdited reports whether the state has an edit that a deployment would overwrite or delete.
func (s FileState) IsEdited() bool { return s == StateEditedHere || s == StateConflict }

// FileVersion is a file as deployed, on disk, or in the config repository. The zero FileVersion is no file.
type FileVersion struct {
	There      bool
	Sum        Sum
	Executable bool
	Other      bool // something other than a file, such as a symbolic link; never true for what was deployed
}

// CompareVersions returns the state of a file with these versions. It is empty for a file that was neither deployed nor is wanted.
func CompareVersions(deployed, disk, wanted FileVersion) FileState {
	switch {
	case !deployed.There && !wanted.There:
		return ""
	case disk == wanted:
		return StateUpToDate
	case !deployed.There:
		return StateNotDeployed
	case !disk.There:
		return StateMissing
	case disk == deployed:
		return StateChangedUpstream
	case wanted == deployed:
		return StateEditedHere
	}
	return StateConflict
}

func versionOf(sum Sum, mode fs.FileMode) FileVersion {
	return FileVersion{There: true, Sum: sum, Executable: ModeOf(mode) == ExecutableMode}
}

// partVersion returns the version of a part of a file, which has no mode; the zero sum is no part.
func partVersion(sum Sum) FileVersion { return FileVersion{There: !sum.IsZero(), Sum: sum} }

// version returns what is at a path, for a file that is wanted with that content; a link to that content is equivalent.
func (s Seen) version(wanted FileVersion, mode fs.FileMode) FileVersion {
	switch {
	case s.Kind == Absent:
		return FileVersion{}
	case wanted.There && s.Is(wanted.Sum, mode):
		return wanted
	case s.Kind != Regular:
		return FileVersion{There: true, Sum: s.Sum, Other: true}
	}
	return versionOf(s.Sum, s.Mode)
}

// State returns the state of a wanted file, or of the managed part of one; have is its entry in an ownership manifest, or nil.
func (d *Desired) State(have *Owned, now Seen) (state FileState) {
	if d.shrinks(have, now) {
		return StateChangedUpstream // the whole file was wanted, now only a part of it
	}
	if d.Part != nil {
		var deployed FileVersion
		if have != nil {
			deployed = partVersion(have.PartSum)
		}
		state = CompareVersions(deployed, partVersion(d.Merge.Now), partVersion(d.Merge.Ours))
		if state == StateChangedUpstream && d.Merge.Theirs {
			state = StateConflict // the user has also added what is new upstream
		}
	} else {
		var deployed FileVersion
		if have != nil {
			deployed = versionOf(have.Sum, have.Mode)
		}
		wanted := versionOf(d.Content.Sum, d.Mode)
		state = CompareVersions(deployed, now.version(wanted, d.Mode), wanted)
	}
	if state == StateConflict && d.Taken {
		return StateChangedUpstream
	}
	return state
}

// shrinks reports whether a block is now wanted where the whole file was deployed, and the file is unchanged, so that it holds nobody else's text.
func (d *Desired) shrinks(have *Owned, now Seen) bool {
	return d.Part != nil && d.Part.Format == FormatMarkdown && have != nil && have.Part == nil && now.Kind == Regular && now.Sum == have.Sum
}

// State returns the state of a whole file that was deployed and is no longer wanted.
func (f *Owned) State(now Seen) FileState {
	return CompareVersions(versionOf(f.Sum, f.Mode), now.version(FileVersion{}, 0), FileVersion{})
}
