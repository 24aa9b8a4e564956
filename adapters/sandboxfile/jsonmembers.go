package sandboxfile

import (
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// reader takes members out of an object; the first thing that is wrong anywhere in the document stays in err.
type reader struct {
	doc *sandbox.Object
	at  string // the way here, for messages
	err *error
}

func (r reader) fail(key, format string, args ...any) {
	if *r.err == nil {
		*r.err = sandbox.ErrState.WithMessage("%s%s %s", r.at, key, fmt.Sprintf(format, args...))
	}
}

func (r reader) read(key string, v any) {
	if r.doc.Read(key, v) != nil { // the decoder's words may quote values
		r.fail(key, "has the wrong type")
	}
}

func (r reader) child(key string) reader {
	doc, err := r.doc.Child(key)
	if err != nil {
		r.fail(key, "is not an object")
		doc = &sandbox.Object{}
	}
	return reader{doc: doc, at: r.at + key + " → ", err: r.err}
}

func (r reader) text(key string) (s string) {
	r.read(key, &s)
	return s
}

// number returns a process ID or a port.
func (r reader) number(key string) (n int) {
	if r.read(key, &n); n < 0 || key == "port" && n > 65535 {
		r.fail(key, "is out of range")
		return 0
	}
	return n
}

func (r reader) status() sandbox.Status {
	switch s := sandbox.Status(r.text("status")); s {
	case sandbox.Starting, sandbox.Running, sandbox.Stopped, sandbox.Failed:
		return s
	case "":
		return sandbox.Stopped
	}
	return sandbox.Unknown
}

// time reads RFC 3339, and what Python writes: without a zone it is UTC.
func (r reader) time(key string) time.Time {
	text := r.text(key)
	if text == "" {
		return time.Time{}
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC()
		}
	}
	r.fail(key, "is not a time")
	return time.Time{}
}

// writer puts members into an object; the first failure stays in err.
type writer struct {
	doc *sandbox.Object
	err error
}

func (w *writer) put(key string, v any) { w.err = errors.Join(w.err, w.doc.Put(key, v)) }

// child changes a member that is an object, leaving what is not known in it.
func (w *writer) child(key string, change func(*writer)) {
	doc, err := w.doc.Child(key)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	inner := writer{doc: doc}
	change(&inner)
	w.err = errors.Join(w.err, inner.err)
	w.put(key, doc)
}

// optional is a member that is there or not; one that should not be there goes.
func (w *writer) optional(key string, there bool, v any) {
	if there {
		w.put(key, v)
		return
	}
	w.doc.Delete(key)
}

// text is null when it is empty.
func (w *writer) text(key, s string) {
	if s == "" {
		w.put(key, nil)
		return
	}
	w.put(key, s)
}

// number is null when it is zero.
func (w *writer) number(key string, n int) {
	if n == 0 {
		w.put(key, nil)
		return
	}
	w.put(key, n)
}

// time is null when it is zero.
func (w *writer) time(key string, at time.Time) {
	if at.IsZero() {
		w.put(key, nil)
		return
	}
	w.put(key, at.UTC())
}

func (w *writer) status(s sandbox.Status) {
	if s == "" {
		s = sandbox.Stopped
	}
	w.put("status", s)
}
