package ui

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// SectionBase is a section of the console for the tools of one toolset.
type SectionBase struct {
	Calls   *CallRunner
	Path    string    // path of its first page ("/projects")
	Title   string    // title of that page
	Toolset string    // the toolset of its tools
	Probe   tool.Name // one of them: if it is not enabled, there is nothing to show
}

// Handlers maps request patterns to handlers.
type Handlers map[string]httpauth.Handler

// Mount adds handlers to a mux, behind the authentication of users. If the toolset is not enabled, each answers with how to enable it.
func (s SectionBase) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler, handlers Handlers) {
	for pattern, h := range handlers {
		mux.Handle(pattern, person(s.served(h)))
	}
}

func (s SectionBase) served(h httpauth.Handler) httpauth.Handler {
	return func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
		if s.Calls.Serves(v, s.Probe) {
			h(w, r, v)
			return
		}
		Page{Title: s.Title, Section: s.Path, Body: []Node{Notice(Plain,
			P(Text(s.Title+" are not enabled.")),
			P(Text("To enable them, start the server with "), InlineCode("--toolsets "+s.Toolset), Text(" (or "), InlineCode("--toolsets all"), Text(").")))}}.
			Write(w, http.StatusNotFound, v)
	}
}

// Show answers with a page of the section, and with the result of the last action started there.
func (s SectionBase) Show(w http.ResponseWriter, r *http.Request, v httpauth.Identity, p Page) {
	p.Section, p.Notice = s.Path, Group{p.Notice, s.Calls.Notice(r)}
	p.Write(w, http.StatusOK, v)
}

// Fail answers with an error.
func (s SectionBase) Fail(w http.ResponseWriter, v httpauth.Identity, err error) {
	Fail(w, v, s.Path, present.HTTPStatus(fault.From(err).Kind), err)
}

// ErrorNotice returns the error of one part of a page, which does not affect the others.
func ErrorNotice(err error) Node { return Problem(fault.From(err)) }

// Lines returns the non-empty lines of a multi-line field.
func Lines(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// Args is the arguments of a tool, built from a form.
type Args map[string]any

// Set adds an argument unless the text is empty, and returns a.
func (a Args) Set(name, text string) Args {
	if text = strings.TrimSpace(text); text != "" {
		a[name] = text
	}
	return a
}

// Number adds an argument unless the text is empty: as a number, or as the text itself if it is not one, so that the tool reports the error.
func (a Args) Number(name, text string) Args {
	if text = strings.TrimSpace(text); text == "" {
		return a
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		a[name] = n
	} else {
		a[name] = text
	}
	return a
}

// Milliseconds converts a number of seconds from a form to milliseconds, and returns any other text unchanged.
func Milliseconds(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.Trim(text, "0123456789") != "" || len(text) > 9 {
		return text
	}
	return text + "000"
}

// Flag adds an argument that is true if its checkbox was ticked.
func (a Args) Flag(name, text string) Args {
	if text == "true" {
		a[name] = true
	}
	return a
}

// NumberField returns a labelled number field.
func NumberField(id, name, label, value string) Node {
	return Field(id, name, label, value, Attr("inputmode", "numeric"))
}

// OptionalText returns a node of text from other sources, and nil if it is empty, so that Facts leaves it out.
func OptionalText(s string) Node {
	if s == "" {
		return nil
	}
	return Text(Printable(s))
}

// OptionalCode is OptionalText in code font.
func OptionalCode(s string) Node {
	if s == "" {
		return nil
	}
	return InlineCode(Printable(s))
}

// Deref returns the value that p points to, or the zero value.
func Deref[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}

// Count returns a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Took returns a duration as text; empty for zero.
func Took(ms int64) string {
	if ms <= 0 {
		return ""
	}
	d := time.Duration(ms) * time.Millisecond
	if d > time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}
