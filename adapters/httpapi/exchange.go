package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The errors that apply to every request.
var (
	ErrRoute  = fault.New(fault.NotFound, "route_unknown", "route not found")
	ErrMethod = fault.New(fault.Invalid, "method_not_allowed", "method not allowed")
	ErrMedia  = fault.New(fault.Invalid, "content_type_unsupported", "the body must be uncompressed application/json")
	ErrBody   = fault.New(fault.Invalid, "body_invalid", "the body is invalid")
	ErrLong   = fault.New(fault.Invalid, "body_too_long", "the body is too long")
	ErrQuery  = fault.New(fault.Invalid, "query_invalid", "the query is invalid")
)

// Exchange is a request and its answer.
type Exchange struct {
	W       *Watched
	R       *http.Request
	Visitor httpauth.Identity
	Name    string // the path segment that matches {name} of the route
}

// statusOf returns the status of a Refusal: that of its kind, unless HTTP has a more specific one.
func statusOf(f *fault.Error) int {
	switch f.Code {
	case ErrMethod.Code:
		return http.StatusMethodNotAllowed
	case ErrMedia.Code:
		return http.StatusUnsupportedMediaType
	case ErrLong.Code:
		return http.StatusRequestEntityTooLarge
	}
	return present.HTTPStatus(f.Kind)
}

// Refusal is the only form of this API's own errors.
type Refusal struct {
	Error Problem `json:"error"`
}

// Problem is an error: a stable code, and text for users.
type Problem struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Details any        `json:"details,omitempty"`
}

// Refuse answers with an error. Internal causes are only logged.
func (x *Exchange) Refuse(log *slog.Logger, err error) {
	f := fault.From(err)
	if f.Err != nil && (f.Kind == fault.Internal || f.Kind == fault.Unavailable) {
		log.Error("a request failed", "path", x.R.URL.Path, "code", f.Code, "cause", f.Err.Error())
	}
	x.Answer(statusOf(f), Refusal{Problem{f.Code, f.Message, f.Details}})
}

// Answer writes a value as JSON. It ignores write errors: the client may be gone.
func (x *Exchange) Answer(status int, value any) {
	doc, err := tool.Encode(value)
	if err != nil {
		status, doc = http.StatusInternalServerError, json.RawMessage(`{"error":{"code":"internal","message":"the response cannot be encoded"}}`)
	}
	x.Write(status, "application/json", doc)
}

// Write sends a whole body.
func (x *Exchange) Write(status int, media string, body []byte) {
	h := x.W.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	x.W.WriteHeader(status)
	_, _ = x.W.Write(body)
}

// Body returns the body as unchecked JSON text; nil if it is empty.
func (x *Exchange) Body() (json.RawMessage, error) {
	raw, err := io.ReadAll(x.R.Body)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, ErrLong.WithMessage("the body exceeds the limit of %d bytes", long.Limit)
	case err != nil:
		return nil, ErrBody.WithMessage("the body could not be read completely")
	case len(raw) == 0:
		return nil, nil
	}
	media, params, err := mime.ParseMediaType(x.R.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") || x.R.Header.Get("Content-Encoding") != "" {
		return nil, ErrMedia.WithMessage("the body must be uncompressed application/json; this one is %q", Shorten(x.R.Header.Get("Content-Type")))
	}
	return raw, nil
}

// Decode decodes the body of one of this API's own routes. Unknown members are rejected: the client expects them to have an effect.
func (x *Exchange) Decode(into any) error {
	raw, err := x.Body()
	if err != nil || raw == nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return ErrBody.WithMessage("invalid body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrBody.WithMessage("the body is more than one JSON value")
	}
	return nil
}

// Shorten cuts client input for an answer.
func Shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Watched is a ResponseWriter that records the status.
type Watched struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *Watched) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *Watched) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap supports http.ResponseController.
func (w *Watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Status returns the status written so far.
func (w *Watched) Status() int {
	if w.code == 0 {
		return http.StatusOK
	}
	return w.code
}
