package httpauth

import (
	"net/http"
	"time"
)

// writer limits the time in which a client must read each piece of an answer, so that streams may be long and no client blocks one by not reading.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	streams bool // HTTP/2: an expired deadline ends the stream, even while nothing is written
	wrote   bool
}

func newWriter(w http.ResponseWriter, r *http.Request, within time.Duration) *writer {
	out := &writer{ResponseWriter: w, control: http.NewResponseController(w), within: within, streams: r.ProtoMajor > 1}
	out.rest() // the server's own deadline is for what precedes the handler
	return out
}

// Unwrap supports http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader records that the answer has started.
func (w *writer) WriteHeader(status int) {
	w.wrote = w.wrote || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

// Write writes within the time limit.
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

// Flush is FlushError without the error.
func (w *writer) Flush() { _ = w.FlushError() }

// setDeadline starts the time limit for the next write. Only connections in tests have no deadlines.
func (w *writer) setDeadline() { _ = w.control.SetWriteDeadline(time.Now().Add(w.within)) }

// rest removes the deadline where it would do harm.
func (w *writer) rest() {
	if w.streams {
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}
