package process

import "time"

// How much output of one process is kept (packageflow contract §6.3): the newest, up to whichever limit is reached first.
const (
	MaxLines     = 10_000
	MaxBytes     = 1 << 20
	MaxLineBytes = 16 << 10 // longer lines are cut
)

// How much of the beginning of an output a Result has beside the newest, up to whichever limit is reached first.
const (
	HeadLines = 2000
	HeadBytes = 64 << 10
)

// Result is a process that ran to its end while the caller waited. Output beyond MaxBytes or MaxLines is missing between the head and the newest:
// a line in each stream says how many of its lines are missing there.
type Result struct {
	Status  Status // final
	Exit    Exit
	Stdout  []byte
	Stderr  []byte
	Dropped int64 // missing bytes of both streams
	Printed int64 // bytes of both streams, with these
	Elapsed time.Duration
}

// OK reports whether the process completed successfully.
func (r Result) OK() bool { return r.Status == Completed }

// Stream identifies standard output or standard error.
type Stream uint8

// The streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// Line is one line of output, without its line end. Numbers count from 1 over both streams and are never reused.
type Line struct {
	Number int64  `json:"number"`
	Stream Stream `json:"stream"`
	Text   string `json:"text"`
}

// Cursor is a position in a process's output: the number of lines already seen. Zero is the beginning; a negative cursor, made by TailCursor, counts
// lines back from the end.
type Cursor int64

// TailCursor returns the position n lines before the end at the time of use; n is at least 1.
func TailCursor(n int) Cursor { return -Cursor(max(n, 1)) }

// Chunk is the output after a Cursor.
type Chunk struct {
	Lines   []Line `json:"lines"`
	Next    Cursor `json:"next"`    // where to continue
	Dropped int64  `json:"dropped"` // lines after the cursor that are no longer kept
	Total   int64  `json:"total"`   // lines printed so far
	Ended   bool   `json:"ended"`   // the process has ended, and no output follows Next
}

// Resolve returns the position in an output that keeps the lines with numbers above gone and up to total: the number of the last line to leave out,
// and how many unseen lines are lost. A cursor beyond the end means the end.
func (c Cursor) Resolve(gone, total int64) (seen, dropped int64) {
	switch at := int64(c); {
	case at < 0:
		return max(total+at, gone), 0
	case at < gone:
		return gone, gone - at
	default:
		return min(at, total), 0
	}
}
