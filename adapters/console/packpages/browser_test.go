package packpages_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// strict is the content security policy of the console's pages, where a page says nothing else.
const strict = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded returns the address of the same pages under that policy.
func (r *room) guarded() string {
	r.T.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Security-Policy", strict)
		r.Mux.ServeHTTP(w, req)
	}))
	r.T.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// TestPagesInABrowser: every page in a real browser under the console's content security policy, judged by axe; diagrams are drawn, hostile ones do no
// harm, and the user makes a pack by hand.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	r.input(m{"action": "upsert_diagram", "id": id, "expected_revision": 1, "section_key": "notes", "diagram_key": "evil", "title": "Evil",
		"mermaid": "graph TD\n  A[\"<img src=http://evil.example/x onerror=alert(1)><script>alert(2)</script>\"] --> B\n  click A href \"javascript:alert(3)\"\n  click B \"http://evil.example/y\""})
	r.write("cmd/main.go", "\n"+strings.Replace(program, "42", "43", 1))
	home := r.guarded()
	p := browser.Open(t).Page(t, home+"/packs")
	p.WaitText("main", "An audit")
	p.Axe()
	p.Shot("packs")

	p.Press("An audit")
	p.WaitFor("document.querySelectorAll('pre.mermaid svg').length === 2")
	assert.Zero(t, p.Count("pre.mermaid script, pre.mermaid [onerror], a[href^=javascript]"))
	blocked := func() { // some browsers say that the policy has blocked what the hostile diagram tries, while it is drawn
		for _, said := range p.Complaints() {
			assert.Contains(t, said, "Executing inline event handler violates")
		}
	}
	blocked()
	p.Axe()
	p.Shot("a pack")
	p.Dark(true)
	p.Narrow(true)
	p.Reload()
	p.WaitFor("document.querySelectorAll('pre.mermaid svg').length === 2")
	p.Axe()
	p.Shot("a pack dark and narrow")
	var wide bool
	p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1", &wide)
	assert.False(t, wide, "a pack is wider than a telephone")
	blocked()
	p.Narrow(false)
	p.Dark(false)

	for _, path := range []string{"/packs/" + id + "?tab=text", "/packs/" + id + "?tab=settings", "/packs/new", "/packs/" + id + "/meta", "/packs/" + id + "/ttl", "/packs/" + id + "/finalize", "/packs/" + id + "/reanchor", "/packs/" + id + "/delete",
		"/packs/" + id + "/section?section_key=flow", "/packs/" + id + "/anchor?section_key=flow&ref_key=main", "/packs/" + id + "/diagram", "/packs/" + id + "/remove-section?section_key=flow"} {
		p.Go(home + path)
		p.Axe()
		p.Shot(strings.ReplaceAll(path, id, "pack"))
	}

	p.Go(home + "/packs/new")
	p.Type("#f-title", "By <hand>")
	p.Press("Create pack")
	p.WaitText("h1", "By <hand>")
	p.Press("Add section")
	p.WaitText("h1", "Save section")
	p.Type("#f-section_key", "NO")
	p.Type("#f-section_title", "A note")
	p.Press("Save section")
	p.WaitText("main", "section_key")
	p.Axe()
	p.Shot("refused")
	p.Eval("document.querySelector('#f-section_key').value = 'note'", nil)
	p.Press("Save section")
	p.WaitText("main", "A note")
	var made string
	p.Eval("location.pathname", &made)
	p.Go(home + made + "?tab=settings")
	p.WaitText("main", "to the trash directory")
	p.Axe()
	p.Shot("settings")
	p.Press("Delete pack")
	p.WaitText("main", "Delete pack: done")
	p.Axe()
}
