package deployment

import "io/fs"

// FileState is how a deployed file, or the part of one that a deployment manages, stands: what was deployed last, what is on disk and what the
// config repository says now, compared.
type FileState string

// The states. One holds of every file that a deployment manages or would manage.
const (
	StateUpToDate        FileState = "up_to_date"       // on disk is what the config repository says
	StateChangedUpstream FileState = "changed_upstream" // on disk is what was deployed, or all edits of it are upstream already; the config repository says something else
	StateEditedHere      FileState = "edited_here"      // the config repository says what was deployed; somebody edited the file
	StateConflict        FileState = "conflict"         // both
	StateMissing         FileState = "missing"          // it was deployed, and is gone from the disk
	StateNotDeployed     FileState = "not_deployed"     // no deployment wrote it
)

// FileStates are all states, the harmless first.
func FileStates() []FileState {
	return []FileState{StateUpToDate, StateChangedUpstream, StateEditedHere, StateConflict, StateMissing, StateNotDeployed}
}

// IsEdited reports a state with an edit that a deployment would overwrite or delete.
func (s FileState) IsEdited() bool { return s == StateEditedHere || s == StateConflict }

// FileVersion is a file as it was deployed, as it is on disk, or as the config repository says. The zero FileVersion is no file.
type FileVersion struct {
	There      bool
	Sum        Sum
	Executable bool
	Other      bool // something else than a file stands there: a symbolic link. What was deployed never is one
}

// CompareVersions is the state of a file with these versions. It is empty for a file that neither was deployed nor is wanted.
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

// partVersion is a part of a file, which has no mode; the zero sum is no part.
func partVersion(sum Sum) FileVersion { return FileVersion{There: !sum.IsZero(), Sum: sum} }

// version is what stands at a path, for a file that is wanted with that content; a link that leads to it is as good.
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

// State is how a wanted file, or the part of one, stands; have is its entry in an ownership manifest, or nil.
func (d *Desired) State(have *Owned, now Seen) (state FileState) {
	if d.shrinks(have, now) {
		return StateChangedUpstream // the whole file was wanted, and now a part of it is
	}
	if d.Part != nil {
		var deployed FileVersion
		if have != nil {
			deployed = partVersion(have.PartSum)
		}
		state = CompareVersions(deployed, partVersion(d.Merge.Now), partVersion(d.Merge.Ours))
		if state == StateChangedUpstream && d.Merge.Theirs {
			state = StateConflict // the user has added what is new upstream, too
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

// shrinks reports a block that is wanted where the whole file was deployed, and stands as it was: nobody else's is in it.
func (d *Desired) shrinks(have *Owned, now Seen) bool {
	return d.Part != nil && d.Part.Format == FormatMarkdown && have != nil && have.Part == nil && now.Kind == Regular && now.Sum == have.Sum
}

// State is how a whole file stands that was deployed and is not wanted any more.
func (f *Owned) State(now Seen) FileState {
	return CompareVersions(versionOf(f.Sum, f.Mode), now.version(FileVersion{}, 0), FileVersion{})
}
