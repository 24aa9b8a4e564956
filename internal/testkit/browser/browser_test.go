package browser_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

const form = `<!doctype html><html lang="en"><head><title>t</title></head><body><main><h1>Hello</h1>
<form method="get"><label for="n">Name</label><input id="n" name="n"><button disabled aria-label="Send it">Send</button></form>
<p id="out">nothing</p></main><script>
setTimeout(() => document.querySelector("button").disabled = false, 100);
document.querySelector("form").addEventListener("submit", (e) => { e.preventDefault(); document.getElementById("out").textContent = "sent " + document.getElementById("n").value; });
</script></body></html>`

func serve(t *testing.T, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAPageIsReadWrittenAndPressed(t *testing.T) {
	t.Parallel()
	b := browser.Open(t)
	p := b.Page(t, serve(t, form).URL)
	p.WaitText("h1", "Hello")
	p.Type("#n", "Ada ✓")
	assert.Equal(t, "Name", p.Focus())
	p.Press("Send it") // once it is enabled
	p.WaitText("#out", "sent Ada ✓")
	assert.Equal(t, 1, p.Count("button"))
	assert.Equal(t, "/", p.Address())
	var sum int
	p.Eval("Promise.resolve(1 + 1)", &sum)
	assert.Equal(t, 2, sum)
	p.Axe()
	shot, err := os.Stat(p.Shot("a form"))
	require.NoError(t, err)
	assert.Positive(t, shot.Size())
}

func TestProfilesHaveCookiesOfTheirOwn(t *testing.T) {
	t.Parallel()
	b, s := browser.Open(t), serve(t, form)
	here, there := b.Page(t, s.URL), b.Apart(t).Page(t, s.URL)
	here.Eval("document.cookie = 'who=me'", nil)
	same := b.Page(t, s.URL)
	var mine, other, again string
	here.Eval("document.cookie", &mine)
	there.Eval("document.cookie", &other)
	same.Eval("document.cookie", &again)
	assert.Equal(t, "who=me", mine)
	assert.Equal(t, "who=me", again)
	assert.Empty(t, other)
}

func TestPagesThatMisbehaveAreToldOf(t *testing.T) {
	t.Parallel()
	p := browser.Open(t).Page(t, serve(t, `<!doctype html><title>t</title><script>throw new Error("broken")</script><img src="http://localhost:1/x.png" alt="">`).URL)
	p.WaitFor("document.readyState === 'complete'")
	said := p.Complaints()
	require.NotEmpty(t, said)
	assert.Contains(t, said[0]+said[len(said)-1], "broken")
	assert.Contains(t, said[0]+said[len(said)-1], "localhost:1")
}

func TestScriptsAreTurnedOffAndColoursDark(t *testing.T) {
	t.Parallel()
	s := serve(t, `<!doctype html><title>t</title><p id="p">without</p><script>document.getElementById("p").textContent = "with"</script>`)
	p := browser.Open(t).Page(t, s.URL)
	assert.Equal(t, "with", p.Text("#p"))
	p.Scripts(false)
	p.Go(s.URL)
	assert.Equal(t, "without", p.Text("#p"))
	p.Dark(true)
	var dark bool
	p.Eval("matchMedia('(prefers-color-scheme: dark)').matches", &dark)
	assert.True(t, dark)
}
