package browser

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// watcher hears what a page complains of, and whom it asks for something.
type watcher struct {
	mu         sync.Mutex
	host       string
	complaints []string
}

// home is the address whose host the page may ask.
func (w *watcher) home(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u, err := url.Parse(address); err == nil {
		w.host = u.Host
	}
}

func (w *watcher) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		w.complain("script: %s %s", e.ExceptionDetails.Text, thrown(e))
	case *log.EventEntryAdded:
		// A page that is answered with an error status is a matter of the test.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			w.complain("%s: %s", e.Entry.Source, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && strings.HasPrefix(u.Scheme, "http") && u.Host != w.of() {
			w.complain("it asked another server: %s", e.Request.URL)
		}
	}
}

func thrown(e *runtime.EventExceptionThrown) string {
	if e.ExceptionDetails.Exception == nil {
		return ""
	}
	return e.ExceptionDetails.Exception.Description
}

func (w *watcher) of() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.host
}

func (w *watcher) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaints = append(w.complaints, fmt.Sprintf(format, args...))
}

// Complaints returns what the page has complained of until now, and they do not fail the test any more.
func (p *Page) Complaints() []string {
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	said := slices.Clone(p.watch.complaints)
	p.watch.complaints = nil
	return said
}

// wellBehaved fails the test when the page has complained of something.
func (p *Page) wellBehaved() {
	for _, said := range p.Complaints() {
		p.t.Errorf("the page complained: %s", said)
	}
}
