package httpauth

import (
	"net/http"
	"time"
)

// writer gives whoever reads an answer so much time for each piece of it, so that streams may last and nobody holds one up by not reading.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	streams bool // HTTP/2: a deadline that passes ends the stream, also while nothing is written
	wrote   bool
}

func newWriter(w http.ResponseWriter, r *http.Request, within time.Duration) *writer {
	out := &writer{ResponseWriter: w, control: http.NewResponseController(w), within: within, streams: r.ProtoMajor > 1}
	out.rest() // the server's own deadline is for what comes before the handler
	return out
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader notes that the answer has begun.
func (w *writer) WriteHeader(status int) {
	w.wrote = w.wrote || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

// Write writes within the time there is.
func (w *writer) Write(p []byte) (int, error) {
	w.wrote = true
	w.setDeadline()
	defer w.rest()
	return w.ResponseWriter.Write(p)
}

// FlushError sends what was written so far.
func (w *writer) FlushError() error {
	w.wrote = true
	w.setDeadline()
	defer w.rest()
	return w.control.Flush()
}

// Flush is FlushError for those who do not ask.
func (w *writer) Flush() { _ = w.FlushError() }

// setDeadline starts the time for what is written next. A connection that has no deadlines is a test's.
func (w *writer) setDeadline() { _ = w.control.SetWriteDeadline(time.Now().Add(w.within)) }

// rest ends it, where it would do harm.
func (w *writer) rest() {
	if w.streams {
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}
