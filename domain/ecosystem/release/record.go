package release

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// RecordVersion is the form of records that is written (amof contract §20.6).
const RecordVersion = 2

// MaxSubjects is how many subjects of commits are shown and recorded (amof contract §8).
const MaxSubjects = 50

// Record is what releases/<tag>.json says of a release: the keys of the original, the ecosystem, and what each repository was tagged at.
type Record struct {
	Schema       int                 `json:"schema_version"`
	Ecosystem    string              `json:"ecosystem"`
	Version      string              `json:"version"`            // empty where versions are independent
	Versions     string              `json:"versions,omitempty"` // Independent, or empty: one version for all
	Tag          string              `json:"tag"`                // where versions are independent, the name of the release
	Previous     *string             `json:"previous_tag"`
	Timestamp    time.Time           `json:"timestamp"`
	Action       string              `json:"action"` // bump or promote
	Part         *string             `json:"bump_part"`
	Stage        string              `json:"stage"`
	Number       uint64              `json:"stage_num"`
	Branch       string              `json:"branch"`
	Commit       string              `json:"commit"` // of the first repository
	Author       string              `json:"author"`
	Commits      int                 `json:"commits_since_previous"`
	Subjects     []string            `json:"commit_subjects"` // at most MaxSubjects
	FilesUpdated []string            `json:"files_updated"`
	Origin       string              `json:"origin"` // cli or agent
	DryRun       bool                `json:"dry_run"`
	Pushed       bool                `json:"pushed"`
	Repos        map[string]Recorded `json:"repos"`
}

// Recorded is what of a repository was released.
type Recorded struct {
	SHA      string `json:"sha"`
	TagSHA   string `json:"tag_sha"`                // of the annotated tag
	Tag      string `json:"tag,omitempty"`          // its own, where versions are independent
	Previous string `json:"previous_tag,omitempty"` // and the one before
}

// Independent is the word for releases in which each repository has its own version.
const Independent = "independent"

const setPrefix = "release-"

// NextSet returns the name of the next release with independent versions, counting on from those on record.
func NextSet(records []Record) string {
	var last uint64
	for _, r := range records {
		last = max(last, r.set())
	}
	return setPrefix + strconv.FormatUint(last+1, 10)
}

// set returns the number of a release with independent versions; zero for any other.
func (r Record) set() uint64 {
	digits, ok := strings.CutPrefix(r.Tag, setPrefix)
	n, good := number(digits)
	if r.Versions != Independent || !ok || !good {
		return 0
	}
	return n
}

// Text returns the record's file.
func (r Record) Text() ([]byte, error) {
	doc, err := json.MarshalIndent(r, "", "  ")
	return append(doc, '\n'), err
}

// ReadRecord reads a record's file; not ok for one that is none. Both schemas are read.
func ReadRecord(text []byte) (Record, bool) {
	var r Record
	if json.Unmarshal(text, &r) != nil || r.Tag == "" {
		return Record{}, false
	}
	return r, true
}

// Annotation is what a tag says.
type Annotation struct {
	Tag, Message, Ecosystem, Previous, Branch string
	Subjects                                  []string // as many as tell enough are taken
	Commits                                   int
}

const tagSubjects = 20 // amof contract §8

// Text returns the tag's message.
func (a Annotation) Text() string {
	var b strings.Builder
	b.WriteString(a.Tag + "\n")
	if a.Message != "" {
		b.WriteString("\n" + a.Message + "\n")
	}
	previous := a.Previous
	if previous == "" {
		previous = "none"
	}
	b.WriteString("\nEcosystem: " + a.Ecosystem + "\nPrevious: " + previous + "\nBranch: " + a.Branch + "\n")
	if len(a.Subjects) > 0 {
		b.WriteByte('\n')
	}
	for i, s := range a.Subjects {
		if i == tagSubjects {
			break
		}
		b.WriteString("- " + s + "\n")
	}
	if more := a.Commits - min(len(a.Subjects), tagSubjects); more > 0 {
		b.WriteString("- and " + count(more, "more commit") + "\n")
	}
	return b.String()
}

// CommitSubject returns the first line of the commit that a release makes.
func CommitSubject(tag string) string { return "chore(release): " + tag }
