package process

import "time"

// How much output is kept of one process (packageflow contract §6.3): the newest of it, whichever bound is met first.
const (
	MaxLines     = 10_000
	MaxBytes     = 1 << 20
	MaxLineBytes = 16 << 10 // a longer line is cut
)

// Result is a process that ran to its end while somebody waited. What did not fit MaxBytes is missing at the front.
type Result struct {
	Status  Status // final
	Exit    Exit
	Stdout  []byte
	Stderr  []byte
	Dropped int64 // bytes of either that are missing
	Elapsed time.Duration
}

// OK reports whether the process did what it was for.
func (r Result) OK() bool { return r.Status == Completed }

// Stream tells the two outputs apart.
type Stream uint8

// The streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// Line is one line of output, without its end. Numbers count from 1 over both streams and never come again.
type Line struct {
	Number int64  `json:"number"`
	Stream Stream `json:"stream"`
	Text   string `json:"text"`
}

// Cursor is a place in a process's output: the number of lines already seen. Zero is the beginning; a negative one, made by Tail, is
// so many lines before the end.
type Cursor int64

// TailCursor returns the place n lines before the end, wherever that is when it is used; n is at least 1.
func TailCursor(n int) Cursor { return -Cursor(max(n, 1)) }

// Chunk is the output after a Cursor.
type Chunk struct {
	Lines   []Line `json:"lines"`
	Next    Cursor `json:"next"`    // where to go on
	Dropped int64  `json:"dropped"` // lines after the cursor that are no longer kept
	Total   int64  `json:"total"`   // lines ever printed
	Ended   bool   `json:"ended"`   // the process has ended, and nothing follows Next
}

// Resolve finds the place in an output of which lines with numbers above gone and up to total are kept: the number of the last line to
// leave out, and how many that a reader has not seen are lost. A cursor beyond the end is the end.
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
