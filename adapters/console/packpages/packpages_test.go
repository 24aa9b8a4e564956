package packpages_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/policy"
)

func TestNothingYet(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.Get("/packs").Sound().See("0 packs", "No packs.", "Create pack")
	p := r.Open("/packs/pk_aaaaaaaa")
	assert.Equal(t, http.StatusNotFound, p.Status)
	p.See("pack pk_aaaaaaaa not found", "code pack_not_found").Sound()
	assert.Equal(t, http.StatusNotFound, r.Open("/packs/pk_aaaaaaaa/meta").Status)
	assert.Equal(t, http.StatusNotFound, r.Open("/packs/pk_aaaaaaaa/raw").Status)
	assert.Equal(t, http.StatusBadRequest, r.Open("/packs/x").Status, "that is no name")
}

func TestNotServed(t *testing.T) {
	t.Parallel()
	r := open(t, func(c *local.Config) { c.Toolsets = []string{"deployments"} })
	for _, path := range []string{"/packs", "/packs/new", "/packs/pk_aaaaaaaa", "/packs/pk_aaaaaaaa/delete"} {
		p := r.Open(path)
		assert.Equal(t, http.StatusNotFound, p.Status)
		p.See("Packs are not enabled.", "--toolsets packs").Sound()
	}
}

func TestAPackIsShown(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	p := r.Get("/packs/"+id).Sound().See("An audit", id, "audit", "auth, x", "draft", "4 fresh", "What matters .", "The flow", "Only a note.", "it begins here",
		"cmd/main.go:4-6", "graph TD", "to see it", "Expires")
	main := p.Main()
	assert.Contains(t, main, "<strong>matters</strong>")
	assert.Contains(t, main, `<a href="https://site.example/" rel="noopener noreferrer nofollow">the site</a>`)
	assert.Contains(t, main, `<span class="quiet">4  </span><span class="hl-k">func</span> main() {`, "real lines, numbered and highlighted")
	assert.Contains(t, main, `println(<span class="hl-s">&#34;hello &lt;world&gt;&#34;</span>)`)
	assert.Contains(t, main, `<span class="hl-k">def</span> f():`)
	assert.Contains(t, main, `<pre class="mermaid"`)
	assert.Contains(t, p.HTML, "/assets/mermaid.js")
	assert.Less(t, strings.Index(main, "The flow"), strings.Index(main, "Only a note."), "sections stay in order")
	assert.Less(t, strings.Index(main, "def"), strings.Index(main, "begins here"), "groups as the tool sorts them")
	assert.Equal(t, p.Main(), r.Get("/packs/audit").Main(), "a name is as good as an id")
}

func TestTabsOfAPack(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	r.Get("/packs/"+id+"?tab=text").Sound().See("# Context pack: An audit", "4: func main() {", "Download Markdown")
	p := r.Get("/packs/" + id + "?tab=settings").Sound()
	p.Miss("denied by policy")
	p = p.Press("Save details", "title", "Another")
	p.See("Edit details: done", "Another")
	r.Get("/packs/" + id + "?tab=settings").Press("Finalize pack").See("Finalize pack: done")
	assert.Equal(t, []bool{false, true, true}, []bool{r.Get("/packs/" + id + "?tab=settings").Has("Save details"), r.Get("/packs/" + id + "?tab=settings").Has("Reopen pack"), r.Get("/packs/" + id + "?tab=settings").Has("Delete pack")})
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	r.write("cmd/main.go", "package main\n\n\n"+strings.TrimPrefix(strings.Replace(program, "return 42", "return 43 // <i>", 1), "package main\n"))
	require.NoError(t, os.Remove(filepath.Join(r.source, "lib/gone.ts")))

	p := r.Get("/packs/"+id).Sound().See("1 fresh", "1 moved", "1 changed", "1 missing",
		"moved ref: anchored at lines 4-6, found unchanged at 6-8", "lib/gone.ts does not exist", "Accept current lines")
	assert.Contains(t, p.Main(), `<span class="quiet">6  </span><span class="hl-k">func</span> main() {`, "code where it stands now")
	r.Get("/packs").See("1 fresh 1 moved 1 changed 1 missing", "An audit")

	// Finalized with its text, what it was can be shown beside what it is.
	r.write("cmd/main.go", program)
	r.write("lib/gone.ts", "const gone = 1;\n")
	done := r.Get("/packs/"+id+"/finalize").Sound().Press("Finalize pack", "snapshot", "true").See("Finalize pack: done", "finalized", "4 fresh")
	assert.Contains(t, done.Path, "/packs/"+id+"?done=")
	r.write("cmd/main.go", strings.Replace(program, "return 42", "return 43 // <i>", 1))
	p = r.Get("/packs/"+id).See("3 fresh", "1 changed", "Stored and current lines", "Earlier text: kept when the pack was finalized")
	assert.Contains(t, p.Main(), `<span class="removed">-`+"\treturn <mark>42</mark>")
	assert.Contains(t, p.Main(), `<span class="added">+`+"\treturn <mark>43 // &lt;i&gt;</mark>")
	assert.NotContains(t, p.Main(), "Edit", "a final pack is not edited")
}

func TestTheListIsFiltered(t *testing.T) {
	t.Parallel()
	r := open(t)
	for i := range 23 {
		r.pack(m{"name": fmt.Sprintf("pack-%02d", i), "title": fmt.Sprintf("Number %02d", i), "ttl_minutes": 10 + 1000*(i%2)})
	}
	p := r.Get("/packs").Sound().See("23 packs, showing 1 to 20", "Number 22", "10 expiring soon", "Next page", "expiring soon").Miss("Number 02", "Previous page")
	r.Get("/packs?offset=20").Sound().See("showing 21 to 23", "Number 02", "Previous page").Miss("Next page")
	p.Press("Filter", "query", "number 07").See("1 pack", "Number 07").Miss("Number 08")
	p.Press("Filter", "status", "finalized").See("0 packs", "No packs.")
	soon := p.Press("Filter", "freshness", "expiring_soon").See("12 packs").Miss("Number 01")
	assert.Contains(t, soon.HTML, `<option value="expiring_soon" selected>`)
	assert.Equal(t, http.StatusBadRequest, r.Open("/packs?status=odd").Status)
	r.Get("/packs?offset=x").See("23 packs")
}

func TestAPackMadeByHand(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.write("a b/ü.go", program)
	p := r.Get("/packs/new").Sound().Press("Create pack", "name", "by hand", "title", "Mine", "brief", "a\r\nb", "tags", " one, the second,,", "ttl_minutes", "60")
	p.See("Create pack: done", "Mine", "by hand", "one, the second", "This pack is empty")
	id, _, _ := strings.Cut(strings.TrimPrefix(p.Path, "/packs/"), "?")
	require.Regexp(t, `^pk_[a-z2-7]{8}$`, id)

	r.Get("/packs/"+id+"/section").Sound().Press("Save section", "section_key", "first", "section_title", "First", "section_description", "A *note*.").See("First", "A note .")
	r.Get("/packs/"+id+"/anchor?section_key=first").Sound().Press("Save anchor", "ref_key", "main", "path", "a b/ü.go", "line_start", "4", "line_end", "6", "ref_why", "because").
		See("a b/ü.go:4-6", "because", "1 fresh", "func main()")
	r.Get("/packs/"+id+"/diagram?section_key=first").Sound().Press("Save diagram", "diagram_key", "dd", "title", "D", "mermaid", "graph TD\r\nA-->B").See("graph TD A-->B")

	edit := r.Get("/packs/" + id + "/anchor?section_key=first&ref_key=main").Sound().See("Key main")
	_, _, sent := edit.Filled("Save anchor")
	assert.Equal(t, "because", sent.Get("ref_why"))
	edit.Press("Save anchor", "ref_why", "no reason", "line_end", "10").See("4-10", "no reason", "return 42")
	r.Get("/packs/"+id+"/section?section_key=first").Sound().Press("Save section", "section_title", "Second", "section_description", "").See("Second").Miss("A note .")
	r.Get("/packs/"+id+"/diagram?section_key=first&diagram_key=dd").Press("Save diagram", "title", "Drawing").See("Drawing")
	r.Get("/packs/"+id+"/meta").Sound().Press("Save details", "title", "", "tags", "three").See("by hand", "three").Miss("Mine", "the second")
	r.Get("/packs/"+id+"/ttl").Sound().Press("Change expiry", "extend_minutes", "60").See("Change expiry: done")
	r.Get("/packs").See("1h", "by hand")
	r.Get("/packs/"+id+"/finalize").Press("Finalize pack").See("finalized", "Reopen")
	r.Get("/packs/" + id + "/reopen").Sound().Press("Reopen pack").See("draft")
	r.Get("/packs/" + id + "/remove-anchor?section_key=first&ref_key=main").Sound().Press("Remove anchor").Miss("a b/ü.go")
	r.Get("/packs/" + id + "/remove-diagram?section_key=first&diagram_key=dd").Press("Remove diagram").Miss("Drawing")
	r.Get("/packs/" + id + "/remove-section?section_key=first").Press("Remove section").See("This pack is empty")

	gone := r.Get("/packs/"+id+"/delete").Sound().See("Moves the file of the pack to the trash").Press("Delete pack").See("Delete pack: done", "0 packs")
	assert.Contains(t, gone.Path, "/packs?done=")
	assert.FileExists(t, filepath.Join(r.store, "trash", id+".md"))
}

func TestAnchorsFollowTheCode(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	r.write("cmd/main.go", "// one more line\n"+strings.Replace(program, "return 42", "return 43", 1))
	r.Get("/packs/"+id).See("2 fresh", "1 moved", "1 changed")
	r.Get("/packs/"+id+"/reanchor").Sound().Press("Update anchors").See("3 fresh", "1 changed", "cmd/main.go:5-7")
	r.Get("/packs/" + id + "/reanchor?section_key=flow&ref_key=other").Sound().See("Anchor other").Press("Update anchors").See("4 fresh").Miss("1 changed")
}

// TestSomebodyWasFaster: the form comes back as it was filled in, says what happened, and can be sent again on purpose.
func TestSomebodyWasFaster(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	form := r.Get("/packs/" + id + "/meta")
	r.input(m{"action": "upsert_section", "id": id, "expected_revision": 1, "section_key": "notes", "section_title": "<s>theirs</s>"})
	p := form.Press("Save details", "title", "<b>mine</b>")
	assert.Equal(t, http.StatusConflict, p.Status)
	p.Sound().See("code pack_revision_conflict", "The pack is at revision 2 now", "overwrites that revision").Safe("<b>mine</b>")
	_, _, sent := p.Filled("Save details")
	assert.Equal(t, "<b>mine</b>", sent.Get("title"))
	p.Press("Save details").See("<b>mine</b>", "<s>theirs</s>").Safe("<b>mine</b>").Safe("<s>theirs")
}

func TestRefusalsComeBackInTheForm(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	for path, c := range map[string]struct {
		button string
		filled []string
		status int
		says   string
	}{
		"/packs/new":                              {"Create pack", []string{"ttl_minutes", "soon", "title", "kept"}, 400, "'ttl_minutes'"},
		"/packs/" + id + "/ttl":                   {"Change expiry", []string{"ttl_minutes", "1", "extend_minutes", "2"}, 400, "ttl_minutes"},
		"/packs/" + id + "/section":               {"Save section", []string{"section_key", "<NO>", "section_title", "kept"}, 400, "section_key"},
		"/packs/" + id + "/anchor":                {"Save anchor", []string{"ref_key", "key", "path", "../../etc/passwd", "line_start", "1", "line_end", "2"}, 400, "path"},
		"/packs/" + id + "/remove-anchor":         {"Remove anchor", nil, 400, "section_key"},
		"/packs/" + id + "/diagram":               {"Save diagram", []string{"diagram_key", "dd", "title", "kept"}, 400, "mermaid"},
		"/packs/" + id + "/reanchor?ref_key=main": {"Update anchors", nil, 400, "section_key"},
	} {
		p := r.Get(path).Press(c.button, c.filled...)
		assert.Equal(t, c.status, p.Status, path)
		p.Sound().See(c.says)
		_, _, sent := p.Filled(c.button)
		for i := 0; i+1 < len(c.filled); i += 2 {
			assert.Equal(t, c.filled[i+1], sent.Get(c.filled[i]), path)
		}
	}
	require.NoError(t, os.Remove(filepath.Join(r.source, "lib/gone.ts")))
	p := r.Get("/packs/" + id + "/finalize").Press("Finalize pack")
	assert.Equal(t, http.StatusUnprocessableEntity, p.Status)
	p.See("code pack_refs_stale", "flow::gone", "lib/gone.ts")
	assert.Equal(t, http.StatusForbidden, forged(r, "/packs/"+id+"/delete"))
	r.Get("/packs/" + id).See("An audit")
}

// forged returns the status of a form that no page of this console sent.
func forged(r *room, path string) int {
	r.T.Helper()
	resp, err := http.PostForm(r.URL+path, url.Values{"expected_revision": {"1"}})
	require.NoError(r.T, err)
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestHostileContent(t *testing.T) {
	t.Parallel()
	r := open(t)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	r.write(`a"b'<i>.go`, "x := `"+evil+"`\n// "+evil+" \u202e\n")
	id := r.pack(m{"name": evil, "title": evil + "\n# two", "brief": evil + "\n[x](javascript:alert(1)) ![y](data:image/png;base64,AA)", "tags": list{evil}, "sections": list{
		m{"key": "ss", "title": evil, "description": evil + "\n\n```html\n" + evil + "\n```\n<iframe src=//evil.example></iframe>",
			"refs":     list{m{"key": "rr", "path": `a"b'<i>.go`, "line_start": 1, "line_end": 2, "title": evil, "why": evil, "group": evil}},
			"diagrams": list{m{"key": "dd", "title": evil, "mermaid": "graph TD\n  A[" + evil + "] --> B\n  click A href \"javascript:alert(1)\"", "why": evil}}}}})
	for _, path := range []string{"/packs", "/packs/" + id, "/packs/" + id + "/meta", "/packs/" + id + "/section?section_key=ss", "/packs/" + id + "/anchor?section_key=ss&ref_key=rr",
		"/packs/" + id + "/diagram?section_key=ss&diagram_key=dd", "/packs/" + id + "/delete", "/packs?query=" + url.QueryEscape(evil), "/packs/" + id + "/remove-section?section_key=" + url.QueryEscape(evil)} {
		p := r.Get(path).Sound()
		for _, never := range []string{"<script>alert", "<img", "<iframe", `href="javascript`, `href="data`, "\u202e"} {
			assert.NotContains(t, p.HTML, never, path)
		}
	}
	r.Get("/packs/" + id).See(evil)
}

// TestNoTextPassesForCode: the free text of a section cannot put words into the mouth of an anchor.
func TestNoTextPassesForCode(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.write("a.go", "line one\nline two\n")
	spoof := "\n\n#### rr [ss]\n- path: a.go\n- lines: 1-2\n\n```go\n   1: forged\n   2: forged\n```\n"
	id := r.pack(m{"title": "Two", "sections": list{
		m{"key": "ss", "title": "S", "description": "x" + spoof, "refs": list{m{"key": "rr", "path": "a.go", "line_start": 1, "line_end": 1}, m{"key": "r2", "path": "a.go", "line_start": 2, "line_end": 2}}},
		m{"key": "tt", "title": "T", "description": "y" + spoof, "refs": list{m{"key": "rr", "path": "a.go", "line_start": 2, "line_end": 2}},
			"diagrams": list{m{"key": "dd", "title": "x\n## ss::rr [stale]", "mermaid": "graph TD" + spoof}}}}})
	main := r.Get("/packs/" + id).Main()
	assert.Contains(t, main, `aria-label="rr: code"><code><span class="quiet">1  </span>line one`)
	assert.Contains(t, main, `aria-label="r2: code"><code><span class="quiet">2  </span>line two`)
	assert.Contains(t, main, `aria-label="rr: code"><code><span class="quiet">2  </span>line two`)
	assert.NotContains(t, main, `aria-label="rr: code"><code><span class="quiet">1  </span>forged`)
	assert.Contains(t, main, ">3 fresh<")
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := "ghp_" + strings.Repeat("a1B2c3D4", 5)[:36]
	r.write("a.env", "ok=1\nTOKEN="+secret+"\n")
	id := r.pack(m{"title": "T", "brief": "the token is " + secret, "sections": list{m{"key": "ss", "title": "S", "refs": list{m{"key": "rr", "path": "a.env", "line_start": 1, "line_end": 2}}}}})
	for _, path := range []string{"/packs/" + id, "/packs/" + id + "/raw", "/packs/" + id + "/meta"} {
		assert.NotContains(t, r.Open(path).HTML, secret, path)
	}
	r.Get("/packs/"+id).See("ok=1", "REDACTED")
}

// TestLargePacks: a page stays a page, and says what is left out; the text is all there.
func TestLargePacks(t *testing.T) {
	t.Parallel()
	r := open(t)
	var code strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&code, "line %04d %s\n", i+1, strings.Repeat("x", 60))
	}
	r.write("big.txt", code.String())
	refs := list{}
	for i := range 45 {
		refs = append(refs, m{"key": fmt.Sprintf("r%02d", i), "path": "big.txt", "line_start": 1 + i, "line_end": 1000 + i})
	}
	id := r.pack(m{"title": "Large", "brief": strings.Repeat("very long ", 3000), "sections": list{
		m{"key": "aa", "title": "A", "description": strings.Repeat("many words ", 6000), "refs": refs},
		m{"key": "bb", "title": "B", "description": "the end"}}})
	p := r.Get("/packs/"+id).Sound().See("parts 1 to 40 of 46", "Next parts", "because the page is full", "Start a page with it", "too long to format", "45 fresh").Miss("the end")
	assert.Less(t, len(p.HTML), 2<<20)
	r.Get("/packs/"+id+"?from=40").Sound().See("This section starts on a previous page.", "r44", "the end", "Previous parts", "line 1044").Miss("r39")
	r.Get("/packs/"+id+"?from=39").See("r39", "line 1039")
	for _, odd := range []string{"-1", "46", "x", "99999999999999999999"} {
		r.Get("/packs/" + id + "?from=" + odd).See("parts 1 to 40 of 46")
	}
	raw := r.Get("/packs/" + id + "/raw")
	assert.Equal(t, 45, strings.Count(raw.HTML, "\n- lines: "))
	assert.Equal(t, 1, strings.Count(raw.HTML, "[CONTENT]"))
	assert.Equal(t, 1, strings.Count(raw.HTML, "[LEGEND]"))
	assert.Contains(t, raw.HTML, "line 1044")
	assert.Contains(t, raw.HTML, "## B [bb]")
	assert.NotContains(t, raw.HTML, "- paging:")
}

func TestRawAndDownload(t *testing.T) {
	t.Parallel()
	r := open(t)
	id := r.audit()
	for path, want := range map[string]string{"raw": "text/plain; charset=utf-8", "download": "text/markdown; charset=utf-8"} {
		resp, err := http.Get(r.URL + "/packs/audit/" + path)
		require.NoError(t, err)
		_ = resp.Body.Close()
		assert.Equal(t, want, resp.Header.Get("Content-Type"))
		assert.Equal(t, "default-src 'none'; sandbox", resp.Header.Get("Content-Security-Policy"))
		assert.Equal(t, path == "download", resp.Header.Get("Content-Disposition") == `attachment; filename="`+id+`.md"`)
	}
	doc := r.Get("/packs/" + id + "/raw").HTML
	assert.True(t, strings.HasPrefix(doc, "[LEGEND]\n# Context pack: An audit\n"), doc)
	assert.Contains(t, doc, "   4: func main() {")
}

// TestOnlyLooking: a console that may only read says so in the form.
func TestOnlyLooking(t *testing.T) {
	t.Parallel()
	writer := open(t)
	id := writer.audit()
	r := open(t, func(c *local.Config) {
		c.Packs = local.Packs{Root: writer.store, Source: writer.source}
		c.Options.Policy.Level = policy.LevelUnset
	})
	r.Get("/packs/"+id).See("An audit", "4 fresh")
	r.Get("/packs/"+id+"?tab=settings").Sound().See("Change packs: denied by policy", "raise the permission level in the settings")
	p := r.Get("/packs/" + id + "/delete").Press("Delete pack")
	assert.Equal(t, http.StatusForbidden, p.Status)
	p.See("code policy_denied")
	r.Get("/packs/" + id)
}

// TestWhatSettingsAskAbout: a change that settings say the user confirms is asked about on a page of its own, and then done.
func TestWhatSettingsAskAbout(t *testing.T) {
	t.Parallel()
	r := open(t, func(c *local.Config) {
		c.Options.Policy.Tools = map[string]policy.Setting{"input": policy.AlwaysConfirm}
	})
	p := r.Get("/packs/new").Press("Create pack", "title", "Asked about")
	p.See("create a context pack").Approve()
	assert.Equal(t, http.StatusPreconditionRequired, r.Open("/packs").Status, "such a setting is about listing packs, too")
	free := open(t, func(c *local.Config) { c.Packs = local.Packs{Root: r.store, Source: r.source} })
	free.Get("/packs").See("Asked about")
}
