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

// SectionBase is a section of the console over the tools of one toolset.
type SectionBase struct {
	Calls   *CallRunner
	Path    string    // of its first page ("/projects")
	Title   string    // of it
	Toolset string    // whose tools it calls
	Probe   tool.Name // one of them: where it is not served, there is nothing to show
}

// Handlers are handlers by the patterns of their requests.
type Handlers map[string]httpauth.Handler

// Mount adds handlers to a mux, through what lets users in. Where the toolset is not served, each answers with how to have it served instead.
func (s SectionBase) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler, handlers Handlers) {
	for pattern, h := range handlers {
		mux.Handle(pattern, person(s.served(h)))
	}
}

func (s SectionBase) served(h httpauth.Handler) httpauth.Handler {
	return func(w http.ResponseWriter, r *http.Request, v httpauth.Visitor) {
		if s.Calls.Serves(v, s.Probe) {
			h(w, r, v)
			return
		}
		Page{Title: s.Title, Section: s.Path, Body: []Node{Notice(Plain,
			P(Text(s.Title+" are not served here.")),
			P(Text("Start the server with "), InlineCode("--toolsets "+s.Toolset), Text(" (or "), InlineCode("--toolsets all"), Text(") to see them.")))}}.
			Write(w, http.StatusNotFound, v)
	}
}

// Show answers with a page of the section, and with what came of the last thing that was done from it.
func (s SectionBase) Show(w http.ResponseWriter, r *http.Request, v httpauth.Visitor, p Page) {
	p.Section, p.Notice = s.Path, Group{p.Notice, s.Calls.Notice(r)}
	p.Write(w, http.StatusOK, v)
}

// Fail answers with what went wrong.
func (s SectionBase) Fail(w http.ResponseWriter, v httpauth.Visitor, err error) {
	Fail(w, v, s.Path, present.HTTPStatus(fault.From(err).Kind), err)
}

// ErrorNotice returns what went wrong with one part of a page, which leaves the others as they are.
func ErrorNotice(err error) Node { return Problem(fault.From(err)) }

// Lines returns the lines of a field of several, without those that are empty.
func Lines(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// Args are the arguments of a tool, as they are put together from a form.
type Args map[string]any

// Set adds an argument unless the text is empty, and returns a.
func (a Args) Set(name, text string) Args {
	if text = strings.TrimSpace(text); text != "" {
		a[name] = text
	}
	return a
}

// Number adds an argument, unless the text is empty: as a number, and as it is where it is none, so that the tool says what is wrong with it.
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

// Milliseconds returns a number of seconds from a form in milliseconds, and what is no number as it is.
func Milliseconds(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.Trim(text, "0123456789") != "" || len(text) > 9 {
		return text
	}
	return text + "000"
}

// Flag adds an argument that is true when its box was ticked.
func (a Args) Flag(name, text string) Args {
	if text == "true" {
		a[name] = true
	}
	return a
}

// NumberField returns a labelled field for a number.
func NumberField(id, name, label, value string) Node {
	return Field(id, name, label, value, Attr("inputmode", "numeric"))
}

// OptionalText returns a node of text that others wrote, and nil for none, so that Facts leaves it out.
func OptionalText(s string) Node {
	if s == "" {
		return nil
	}
	return Text(Printable(s))
}

// OptionalCode returns the same as it stands in files and on command lines.
func OptionalCode(s string) Node {
	if s == "" {
		return nil
	}
	return InlineCode(Printable(s))
}

// Deref returns a value that may be missing.
func Deref[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}

// Count returns a number of things, in words.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Took returns how long something took, and empty for what did not last.
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
