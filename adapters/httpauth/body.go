package httpauth

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

// The errors of request bodies.
var (
	ErrTooLarge   = fault.New(fault.Invalid, "request_too_large", "the request body is too large")
	ErrTooSlow    = fault.New(fault.Timeout, "request_too_slow", "the request body did not arrive in time")
	ErrIncomplete = fault.New(fault.Invalid, "request_incomplete", "the request body is incomplete")
)

// draining is how long the rest of a refused request is read, so that the client sees the answer.
const draining = time.Second

// hasBody reports whether a body follows the request's headers.
func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// timed sets the deadline for the body to arrive. The server removes it afterwards.
func (g *Guard) timed(w http.ResponseWriter, r *http.Request) {
	if hasBody(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.limits.BodyTime)) // only connections in tests have no deadlines
	}
}

// receive reads the whole body and restores it for the handler. It fails with ErrTooLarge, ErrTooSlow and ErrIncomplete.
func receive(r *http.Request, most int64) ([]byte, error) {
	if !hasBody(r) {
		return nil, nil
	}
	if r.ContentLength > most {
		return nil, ErrTooLarge.WithMessage("the request body has %d bytes, more than the limit of %d", r.ContentLength, most)
	}
	var all bytes.Buffer
	all.Grow(int(min(max(r.ContentLength, 0), 64<<10)) + bytes.MinRead)
	n, err := all.ReadFrom(io.LimitReader(r.Body, most+1))
	switch {
	case n > most:
		return nil, ErrTooLarge.WithMessage("the request body is larger than the limit of %d bytes", most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrTooSlow
	case err != nil:
		return nil, ErrIncomplete.WithCause(err)
	}
	r.ContentLength = n
	carry(r, all.Bytes())
	return all.Bytes(), nil
}

// carry sets the request's body to those bytes.
func carry(r *http.Request, body []byte) { r.Body = io.NopCloser(bytes.NewReader(body)) }

// drain reads a limited part of the rest of a refused request's body: a client that is still sending does not read the answer. What is left after
// that is dropped with the connection.
func drain(w http.ResponseWriter, r *http.Request, most int64) {
	if !hasBody(r) || r.ProtoMajor > 1 {
		return // HTTP/2 signals this itself
	}
	control := http.NewResponseController(w)
	if r.Header.Get("Expect") == "" && control.SetReadDeadline(time.Now().Add(draining)) == nil {
		if _, err := io.CopyN(io.Discard, r.Body, most); errors.Is(err, io.EOF) {
			return
		}
	}
	w.Header().Set("Connection", "close")
}

// formOf returns the form token of the request: from its header, else from the form in its body. It is never in the URL, which ends up in logs.
func formOf(r *http.Request, body []byte) string {
	if given := r.Header.Get(HeaderForm); given != "" {
		return given
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || len(body) == 0 {
		return ""
	}
	switch media {
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
	case "multipart/form-data":
		err = r.ParseMultipartForm(int64(len(body)))
	}
	carry(r, body) // the handler may parse it itself
	if err != nil {
		return ""
	}
	return r.PostForm.Get(FieldForm)
}
