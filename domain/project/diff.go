package project

import (
	"bytes"
	"strconv"
	"strings"
)

// DefaultDiffBytes is the default limit of a diff in bytes (packageflow contract §2.5).
const DefaultDiffBytes = 64 << 10

// Diff is a diff as text and in numbers. The numbers count everything, even if the text is truncated.
type Diff struct {
	Text         string     // valid UTF-8, truncated by TruncateMiddle
	Files        []FileStat // in git's order, at most MaxListedNames
	FilesChanged int
	Insertions   int // lines of all files
	Deletions    int
	Total        int64 // bytes of the whole text
	Truncated    bool  // Text is not the whole text
}

// FileStat is one changed file.
type FileStat struct {
	Path       string
	From       string // its previous name; empty unless it was renamed or copied
	Insertions int    // lines; 0 in a binary file, whose lines git does not count
	Deletions  int
	Binary     bool
}

// diffReader parses the output of `git diff --numstat --patch -z` piece by piece and keeps only what a Diff holds: it is an io.Writer for the
// program's output. NewDiffReader returns one.
type diffReader struct {
	diff    Diff
	pending []byte // a record without an end so far
	from    string // the old name of a rename whose new one is still to come
	renamed int    // how many names of a rename are still to come
	stat    FileStat
	patch   bool // after the last record
	text    window
	failed  error
}

// NewDiffReader returns a reader that keeps at most limit bytes of text; 0 and less means DefaultDiffBytes.
func NewDiffReader(limit int) *diffReader {
	if limit <= 0 {
		limit = DefaultDiffBytes
	}
	return &diffReader{text: window{limit: max(limit, MinText)}}
}

// maxRecord is longer than any name that git stores, in bytes.
const maxRecord = 64 << 10

// Write parses the next piece. It fails, from then on, with project.ErrExecutionFailed if the input is not git's format.
func (r *diffReader) Write(p []byte) (int, error) {
	rest := p
	for r.failed == nil && !r.patch {
		record, after, ended := bytes.Cut(rest, []byte{0})
		r.pending = append(r.pending, record...)
		switch {
		case len(r.pending) > maxRecord:
			r.failed = unexpected("diff", string(r.pending[:maxRecord]))
		case !ended:
			return len(p), nil
		case !r.record(string(r.pending)):
			r.failed = unexpected("diff", string(r.pending))
		}
		r.pending, rest = r.pending[:0], after
	}
	if r.failed != nil {
		return 0, r.failed
	}
	_, err := r.text.Write(rest)
	return len(p), err
}

// Diff returns the result, after everything was written. It fails as Write does, and if the end is missing.
func (r *diffReader) Diff() (Diff, error) {
	if r.failed == nil && (len(r.pending) > 0 || r.renamed > 0) {
		r.failed = unexpected("diff", string(r.pending))
	}
	if r.failed != nil {
		return Diff{}, r.failed
	}
	d := r.diff
	d.Files = append([]FileStat{}, d.Files...)
	d.Text, d.Truncated = r.text.text()
	d.Total = r.text.total
	return d, nil
}

// record parses one record: numbers and a name, or numbers followed by two names, each a record of its own. An empty record ends the list.
func (r *diffReader) record(text string) bool {
	switch {
	case r.renamed > 0 && text == "":
		return false
	case r.renamed == 2:
		r.from, r.renamed = text, 1
		return true
	case r.renamed == 1:
		r.stat.From, r.stat.Path, r.renamed = plain(r.from), plain(text), 0
		r.add()
		return true
	case text == "":
		r.patch = true
		return true
	}
	fields := strings.SplitN(text, "\t", 3)
	if len(fields) < 3 {
		return false
	}
	r.stat = FileStat{Path: plain(fields[2]), Binary: fields[0] == "-" && fields[1] == "-"}
	if !r.stat.Binary {
		insertions, errI := strconv.ParseUint(fields[0], 10, 31)
		deletions, errD := strconv.ParseUint(fields[1], 10, 31)
		if errI != nil || errD != nil {
			return false
		}
		r.stat.Insertions, r.stat.Deletions = int(insertions), int(deletions)
	}
	if fields[2] == "" {
		r.renamed = 2
		return true
	}
	r.add()
	return true
}

func (r *diffReader) add() {
	r.diff.FilesChanged++
	r.diff.Insertions += r.stat.Insertions
	r.diff.Deletions += r.stat.Deletions
	if len(r.diff.Files) < MaxListedNames {
		r.diff.Files = append(r.diff.Files, r.stat)
	}
}
