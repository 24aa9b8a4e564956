package ui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// stage is a server with one page that a test rewrites, and the events that it sends.
type stage struct {
	*httptest.Server
	mu      sync.Mutex
	live    string
	main    string
	count   int
	held    chan struct{} // closed when pages are answered again; nil when they are
	looks   int
	refuses bool                   // streams
	streams map[chan string]string // each open stream with its query
}

func newStage(t *testing.T, live, main string) *stage {
	t.Helper()
	s := &stage{live: live, main: main, streams: map[chan string]string{}}
	mux := http.NewServeMux()
	mux.Handle("/assets/", ui.AssetHandler())
	mux.HandleFunc("GET /page", s.page)
	mux.HandleFunc("GET /approvals/count", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = w.Write([]byte(strconv.Itoa(s.count)))
	})
	mux.HandleFunc("GET /api/v1/events", s.events)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *stage) page(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	if held := s.held; held != nil {
		s.mu.Unlock()
		<-held
		s.mu.Lock()
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Stage</title><link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/style.css"><script src="/assets/console.js" defer></script><script src="/assets/notify.js" defer></script></head>
<body%s><header class="top"><span data-count="approvals"></span></header><main id="main" tabindex="-1">%s</main><div id="said" role="status"></div></body></html>`,
		map[bool]string{true: ` data-live="` + html.EscapeString(s.live) + `"`}[s.live != ""], s.main)
}

func (s *stage) events(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	refuses := s.refuses
	s.mu.Unlock()
	if refuses {
		http.Error(w, "too many streams", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := make(chan string, 1000)
	s.mu.Lock()
	s.streams[out] = r.URL.RawQuery
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, out)
	}()
	control := http.NewResponseController(w)
	_ = control.Flush()
	for {
		select {
		case e := <-out:
			_, _ = w.Write([]byte(e))
			_ = control.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// sends has every stream told of something.
func (s *stage) sends(kind, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for out := range s.streams {
		out <- "event: " + kind + "\ndata: " + data + "\n\n"
	}
}

// open returns the queries of the streams that are open.
func (s *stage) open() (queries []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.streams {
		queries = append(queries, q)
	}
	return queries
}

func (s *stage) shows(main string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.main = main
}

// holds keeps pages from being answered until the function is called.
func (s *stage) holds() (answer func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
		close(held)
	}
}

func (s *stage) looked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

func soon(t *testing.T, ok func() bool, what string) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, 5*time.Millisecond, what)
}

func TestScriptsInABrowser(t *testing.T) {
	b := browser.Open(t)
	for name, test := range map[string]func(*testing.T, *browser.Browser){
		"parts that are the same stay": partsThatAreTheSameStay, "what is typed is carried over": whatIsTypedIsCarriedOver, "what is typed stays": whatIsTypedStaysWhereverItsFieldIs, "many events are few looks": manyEventsAreFewLooks,
		"tabs share one stream": tabsShareOneStream, "a stream grows": aStreamGrows, "a page that has ended is left alone": aPageThatHasEnded, "other kinds have a stream of their own": otherKinds,
		"a server that refuses is asked again": aServerThatRefuses, "a browser tells its person": aBrowserTellsItsPerson,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// TestElementsInABrowser: every element can be read in both colours, on a telephone, and where letters are twice as large.
func TestElementsInABrowser(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/assets/", ui.AssetHandler())
	mux.HandleFunc("GET /approvals/count", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("3")) })
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("GET /ui", func(w http.ResponseWriter, r *http.Request) { ui.Specimens(w, r, httpauth.Identity{Unasked: true}) })
	s := httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	p := browser.Open(t).Page(t, s.URL+"/ui")
	p.WaitFor(`[...document.querySelectorAll("main time")].length > 0 && [...document.querySelectorAll("main time")].every((t) => /ago$|^in |^just now$/.test(t.textContent) && /Z$/.test(t.title))`)
	p.WaitFor(`document.querySelector("[data-count]").textContent === "3"`)
	for _, dark := range []bool{false, true} {
		for _, narrow := range []bool{false, true} {
			p.Dark(dark)
			p.Narrow(narrow)
			p.Axe()
			p.Shot(fmt.Sprintf("elements, dark %v, narrow %v", dark, narrow))
		}
	}
	p.Eval(`(() => { document.documentElement.style.fontSize = "200%"; return true; })()`, nil)
	p.Narrow(true)
	p.Narrow(false)
	p.Shot("elements, letters twice as large")
}

const decided = "ai-tool-confirmation"

func partsThatAreTheSameStay(t *testing.T, b *browser.Browser) {
	card := func(id, text string) string {
		return `<article id="` + id + `"><p>` + text + `</p><details><summary>More</summary>x</details></article>`
	}
	s := newStage(t, decided, `<h1>Head</h1><div id="list" data-list>`+card("a", "one")+card("b", "two")+card("c", "three")+`</div><p>tail</p>`)
	p := b.Page(t, s.URL+"/page")
	soon(t, func() bool { return len(s.open()) == 1 }, "it listens")
	p.Eval(`(() => { window.b = document.getElementById("b"); window.h = document.querySelector("h1"); b.querySelector("details").open = true; return true; })()`, nil)
	s.shows(`<h1>Head</h1><p class="notice">news</p><div id="list" data-list>` + card("b", "two") + card("c", "changed") + card("d", "four") + `</div><p>tail</p>`)
	s.sends(decided, "{}")
	p.WaitText("main", "four")
	assert.Equal(t, "Head\nnews\ntwo\nMore\nx\nchanged\nMore\nfour\nMore\ntail", blank(p.Text("main")))
	p.WaitFor(`document.getElementById("b") === window.b && document.querySelector("h1") === window.h && window.b.querySelector("details").open`)
	s.shows(`<h1>Head</h1><div id="list" data-list></div><p>tail</p>`)
	s.sends(decided, "{}")
	p.WaitFor(`document.querySelectorAll("article").length === 0 && document.querySelector("h1") === window.h`)
	assert.Equal(t, "Head\ntail", blank(p.Text("main")))
}

// blank returns a text without empty lines.
func blank(s string) string {
	out, last := []byte{}, byte('\n')
	for i := range len(s) {
		if s[i] == '\n' && last == '\n' {
			continue
		}
		last = s[i]
		out = append(out, last)
	}
	return string(out)
}

// whatIsTypedStaysWhereverItsFieldIs: a part without a name that changes, or comes after another one, takes nothing along that somebody has typed.
func whatIsTypedStaysWhereverItsFieldIs(t *testing.T, b *browser.Browser) {
	form := func(text string) string {
		return `<form><p class="said">` + text + `</p><label for="t">Text</label><input type="text" id="t" value=""></form>`
	}
	s := newStage(t, decided, `<h1>x</h1>`+form("before"))
	p := b.Page(t, s.URL+"/page")
	soon(t, func() bool { return len(s.open()) == 1 }, "it listens")
	p.Type("#t", "sho")
	s.shows(`<h1>x</h1><p>news</p>` + form("after"))
	s.sends(decided, "{}")
	p.WaitText("main", "after")
	p.Keys("p")
	p.WaitFor(`document.getElementById("t").value === "shop"`)
	s.shows(`<h1>x</h1><section id="other">` + form("later") + `</section>`)
	s.sends(decided, "{}")
	p.WaitText("#other", "later")
	p.Keys("s")
	p.WaitFor(`document.getElementById("t").value === "shops"`)
}

func whatIsTypedIsCarriedOver(t *testing.T, b *browser.Browser) {
	form := func(text string) string {
		return `<h1>x</h1><section id="f"><p>` + text + `</p><label for="t">Text</label><input type="text" id="t" value=""><label for="k">Box</label><input type="checkbox" id="k">
			<label for="s">Choice</label><select id="s"><option value="1">one</option><option value="2">two</option></select><details><summary>More</summary>y</details></section>`
	}
	s := newStage(t, decided, form("before"))
	p := b.Page(t, s.URL+"/page")
	soon(t, func() bool { return len(s.open()) == 1 }, "it listens")
	p.Click("#k")
	p.Choose("#s", "2")
	p.Click("summary")
	p.Type("#t", "half a wor")
	s.shows(form("after"))
	s.sends(decided, "{}")
	p.WaitText("#f p", "after")
	p.Keys("d")
	p.WaitFor(`document.getElementById("t").value === "half a word" && document.getElementById("k").checked && document.getElementById("s").value === "2" && document.querySelector("details").open`)
}

func manyEventsAreFewLooks(t *testing.T, b *browser.Browser) {
	s := newStage(t, decided, "<h1>x</h1>")
	p := b.Page(t, s.URL+"/page")
	soon(t, func() bool { return len(s.open()) == 1 }, "it listens")
	soon(t, func() bool { return s.looked() >= 2 }, "it has looked once it listened")
	before := s.looked()
	answer := sync.OnceFunc(s.holds())
	t.Cleanup(answer)
	s.sends(decided, "{}")
	soon(t, func() bool { return s.looked() > before }, "it does not wait for the end of them")
	for range 399 {
		s.sends(decided, "{}")
	}
	s.shows("<h1>the last</h1>")
	s.sends(decided, "{}")
	answer()
	p.WaitText("h1", "the last")
	assert.LessOrEqual(t, s.looked()-before, 100, "400 events while it looked are one more look, or a few where they come slowly")
}

func tabsShareOneStream(t *testing.T, b *browser.Browser) {
	s := newStage(t, decided, "<h1>x</h1>")
	pages := make([]*browser.Page, 7) // one more than browsers open connections to one server
	for i := range pages {
		pages[i] = b.Page(t, s.URL+"/page")
	}
	soon(t, func() bool { return len(s.open()) == 1 }, "one listens")
	s.mu.Lock()
	s.main, s.count = "<h1>for all</h1>", 2
	s.mu.Unlock()
	s.sends(decided, "{}")
	for _, p := range pages {
		p.WaitText("h1", "for all")
		p.WaitFor(`document.title === "(2) Stage" && document.querySelector("[data-count]").textContent === "2"`)
		p.WaitText("#said", "2 pending approvals")
	}
	assert.Len(t, s.open(), 1)
	pages[0].Go(s.URL + "/assets/icon.svg") // the one that listened is gone
	soon(t, func() bool { return len(s.open()) == 1 }, "another one listens")
	s.shows("<h1>for the others</h1>")
	soon(t, func() bool { s.sends(decided, "{}"); return pages[6].Text("h1") == "for the others" }, "it tells the others")
}

func aStreamGrows(t *testing.T, b *browser.Browser) {
	s := newStage(t, "", `<h1>x</h1><pre id="log" data-stream="/api/v1/events?process=p" data-event="background-process-output" data-field="text"><code>so far
</code></pre>`)
	p := b.Page(t, s.URL+"/page")
	soon(t, func() bool { return len(s.open()) == 2 }, "it follows")
	s.sends("background-process-output", `{"text":"more <b>\n"}`)
	s.sends("another", `{"text":"not this"}`)
	s.sends("background-process-output", `{"other":1}`)
	s.sends("background-process-output", `{"text":"the end"}`)
	p.WaitText("#log", "so far\nmore <b>\nthe end")
}

func aPageThatHasEnded(t *testing.T, b *browser.Browser) {
	s := newStage(t, "tick", "<h1>runs</h1>")
	p := b.Page(t, s.URL+"/page")
	s.mu.Lock()
	s.live, s.main = "", "<h1>done</h1>"
	s.mu.Unlock()
	p.WaitText("h1", "done")
	p.WaitFor("document.body.dataset.live === undefined")
	looks := s.looked()
	s.sends(decided, "{}")
	p.Eval("new Promise((go) => setTimeout(go, 1300))", nil)
	assert.Equal(t, looks, s.looked())
}

func otherKinds(t *testing.T, b *browser.Browser) {
	s := newStage(t, decided+" audit run-progress", "<h1>x</h1>")
	p := b.Page(t, s.URL+"/page")
	soon(t, func() bool { return len(s.open()) == 2 }, "it listens twice")
	assert.ElementsMatch(t, []string{"events=ai-tool-confirmation,ai-tool-confirmation-closed,ai-tool-state,ai-tool-result", "events=audit,run-progress&topics=runs"}, s.open())
	s.shows("<h1>ran on</h1>")
	s.sends("run-progress", "{}")
	p.WaitText("h1", "ran on")
}

func aServerThatRefuses(t *testing.T, b *browser.Browser) {
	s := newStage(t, decided, "<h1>x</h1>")
	s.mu.Lock()
	s.refuses = true
	s.mu.Unlock()
	p := b.Page(t, s.URL+"/page")
	p.WaitFor(`performance.getEntriesByType("resource").some((r) => r.name.includes("/events"))`)
	s.mu.Lock()
	s.refuses, s.main = false, "<h1>again</h1>"
	s.mu.Unlock()
	p.WaitText("h1", "again")
	soon(t, func() bool { return len(s.open()) == 1 }, "it listens")
}

// switches are those of the page of approvals.
const switches = `<h1>x</h1><section id="telling" hidden><button type="button" data-tell="notices" aria-pressed="false">Notify me</button>
	<button type="button" data-tell="sound" aria-pressed="false">Play a sound</button><p role="status"></p></section>`

// watched has a page keep what it shows and plays, besides doing so.
const watched = `(() => { window.shown = []; window.tones = 0; const Real = Notification, begin = OscillatorNode.prototype.start;
	window.Notification = class extends Real { constructor(title, o) { super(title, o); window.shown.push(title + " | " + o.body); } };
	OscillatorNode.prototype.start = function (...at) { window.tones++; return begin.apply(this, at); }; return true; })()`

// aBrowserTellsItsPerson once in all its pages, after that was switched on, and remembers it.
func aBrowserTellsItsPerson(t *testing.T, b *browser.Browser) {
	s := newStage(t, decided, switches)
	b = b.Apart(t)
	waiting := func(n int, pages ...*browser.Page) {
		s.mu.Lock()
		s.count = n
		s.mu.Unlock()
		s.sends(decided, "{}")
		for _, p := range pages {
			p.WaitFor(fmt.Sprintf(`document.documentElement.dataset.waiting === "%d" && navigator.locks.request("countersign-told", () => true)`, n)) // after all that was to be told
		}
	}
	p := b.Page(t, s.URL+"/page")
	soon(t, func() bool { return len(s.open()) == 1 }, "it listens")
	p.Eval(watched, nil)
	waiting(1, p)
	p.WaitFor(`document.querySelector("link[rel=icon]").href.endsWith("/assets/icon-waiting.svg") && document.title === "(1) Stage"`)
	p.WaitFor(`window.shown.length === 0 && window.tones === 0`) // nobody has asked for it

	p.Notifications(false)
	p.Press("Notify me")
	p.WaitText("#telling", "Notifications are blocked.")
	p.WaitFor(`document.querySelector("[data-tell=notices]").getAttribute("aria-pressed") === "false"`)
	p.Notifications(true)
	p.Press("Notify me")
	p.WaitText("#telling", "Notifications enabled")
	p.Press("Play a sound")
	p.WaitText("#telling", "Sound enabled")
	p.WaitFor("window.tones === 2")
	p.WaitFor(`[...document.querySelectorAll("[data-tell]")].every((b) => b.getAttribute("aria-pressed") === "true")`)

	other := b.Page(t, s.URL+"/page")
	other.WaitFor(`document.querySelector("[data-tell=notices]").getAttribute("aria-pressed") === "true"`) // it is remembered
	other.WaitFor(`document.documentElement.dataset.waiting === "1"`)
	other.Eval(watched, nil)
	waiting(3, p, other)
	p.WaitFor("window.tones === 4") // the other page was not touched
	var here, there []string
	p.Eval("window.shown", &here)
	other.Eval("window.shown", &there)
	assert.Equal(t, []string{"3 pending approvals | Countersign"}, append(here, there...), "one of the two pages")

	waiting(0, p, other)
	p.WaitFor(`document.querySelector("link[rel=icon]").href.endsWith("/assets/icon.svg") && document.title === "Stage"`)
	p.Press("Notify me")
	p.WaitText("#telling", "Notifications disabled.")
	p.Press("Play a sound")
	p.WaitText("#telling", "Sound disabled.")
	other.WaitFor(`localStorage.getItem("countersign-notices") === "off" && localStorage.getItem("countersign-sound") === "off"`)
	waiting(1, p, other)
	p.WaitFor("window.tones === 4")
	p.Eval("window.shown", &here)
	other.Eval("window.shown", &there)
	assert.Len(t, append(here, there...), 1, "switched off for all pages")
}
