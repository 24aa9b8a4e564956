package adminpages_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/console/adminpages"
	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/browser"
	"github.com/countersign-dev/countersign/internal/testkit/consoletest"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/softkey"
)

// keypagesPair returns an agent whose changes of notes want a passkey, and the console in another process, reached by its name.
func keypagesPair(t *testing.T) (*consoletest.Agent, *consoletest.TestCore, *consoletest.Web) {
	t.Helper()
	dir := t.TempDir()
	wants := consoletest.With(func(o *app.Options) {
		o.Policy.Require = map[string]policy.Proving{"write_note": policy.ProvingPasskey, policy.RequireHigh: policy.ProvingPasskey}
	})
	agent, here := consoletest.Open(t, dir, wants).Agent("s1"), consoletest.Open(t, dir, wants)
	d := ui.NewCallRunner(t.Context(), here.App, func() string { return system.IDs{}.NewID("job_", 20) })
	people := adminpages.WithPasskeys(consoletest.Person(), here.App)
	web := consoletest.Serve(t, func(mux *http.ServeMux) {
		adminpages.NewKeyPages(d, here.App).Mount(mux, people)
		adminpages.NewApprovalSection(d, here.App).Mount(mux, people)
		d.Mount(mux, people)
		mux.Handle("/assets/", ui.AssetHandler())
		mux.Handle("GET /settings", people(func(w http.ResponseWriter, _ *http.Request, _ httpauth.Identity) { w.WriteHeader(http.StatusNoContent) }))
		consoletest.Events(t, mux, here, people)
	})
	return agent, here, web
}

// TestAPasskeyInABrowser: made there, approved in a terminal, and used; the user who is not verified approves nothing.
func TestAPasskeyInABrowser(t *testing.T) {
	b := browser.Open(t)
	agent, here, web := keypagesPair(t)
	base := strings.Replace(web.URL, "127.0.0.1", "localhost", 1)
	p := b.Page(t, base+"/keys")
	key := p.Authenticator()
	p.WaitText("main", "No enrolled keys.")
	p.Axe()

	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	p.Go(base + "/approvals/" + id)
	p.WaitText("#missing-"+id, "no passkey is enrolled for "+base)
	p.Shot("a passkey is missing")
	p.Press("Enrol a passkey")

	key.Verifies(false)
	p.Type("#key-name", "laptop")
	p.Press("Enrol passkey")
	p.WaitText("[data-passkey-said]", "did not verify you")
	key.Verifies(true)
	p.Press("Enrol passkey")
	p.WaitText("main", "Approval needs a decision in a terminal")
	p.Axe()
	p.Shot("the first one is approved in a terminal")
	assert.Zero(t, p.Count(`button[value="approve"]`))
	asked, err := here.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, asked, 2)
	_, err = here.Answer(t.Context(), confirm.Decision{ID: asked[1].ID, Approve: true, By: "terminal", Proof: person.AtTerminal, Shown: asked[1].PlanHash})
	require.NoError(t, err)
	p.WaitText("main", "Done")
	p.Go(base + "/keys")
	p.WaitText("table", "Valid")
	p.Axe()
	p.Shot("keys")
	p.Narrow(true)
	p.Narrow(false)
	p.Dark(true)
	p.Shot("keys, dark")
	p.Dark(false)

	p.Go(base + "/approvals/" + id)
	key.Verifies(false)
	p.Press("Approve with passkey: write note plan")
	p.WaitText("[data-passkey-said]", "did not verify you")
	p.Axe()
	p.Shot("approve with passkey")
	assert.Empty(t, here.Notes.Read("plan"))
	key.Verifies(true)
	p.Press("Approve with passkey: write note plan")
	p.WaitText("main", "approved")
	require.NoError(t, agent.Call("write_note", map[string]string{"name": "plan", "text": "text"}).Err)
	assert.Equal(t, "text", here.Notes.Read("plan"))
	said, err := here.AuditSearch(t.Context(), audit.Filter{Phase: audit.Answer, Call: id})
	require.NoError(t, err)
	require.Len(t, said, 1)
	assert.Equal(t, "passkey", said[0].Event.Surface)
	assert.Contains(t, string(said[0].Event.Proof), base, "the origin is kept with its port")
	report, err := here.CheckAudit(t.Context())
	require.NoError(t, err)
	assert.Empty(t, report.Faults)

	require.NoError(t, here.Notes.Write("old", "x"))
	burn := agent.Ask(t, "burn_note", map[string]string{"name": "old"}) // of high risk, and its name is typed
	p.Go(base + "/approvals/" + burn)
	p.Type("#typed-"+burn, "old")
	p.Press("Approve with passkey: burn note old")
	p.WaitText("main", "approved")
	require.NoError(t, agent.Call("burn_note", map[string]string{"name": "old"}).Err)

	p.Go(base + "/keys")
	p.Press("Remove passkey laptop")
	p.WaitText("main", "it approves nothing any more")
	p.Press("Approve with passkey: " + removal(t, here))
	p.WaitText("main", "No enrolled keys.")
}

// removal returns the question that waits, in its words.
func removal(t *testing.T, h *consoletest.TestCore) string {
	asked, err := h.Confirmations(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, asked, 1)
	return asked[0].Prompt
}

// TestAProgramWithABrowsersLogIn: what a program does with a stolen log-in of a browser, without one: it enrols nothing, and approves nothing.
func TestAProgramWithABrowsersLogIn(t *testing.T) {
	t.Parallel()
	agent, here, web := keypagesPair(t)
	id := agent.Ask(t, "write_note", map[string]string{"name": "plan", "text": "text"})
	k := softkey.New(t)
	k.Origin = web.URL
	got := web.Post("/keys", "name", "mine", "signed", string(k.Registration([32]byte{})))
	assert.Equal(t, http.StatusBadRequest, got.Status)
	keys, err := here.Keys(t.Context())
	require.NoError(t, err)
	assert.Empty(t, keys)
	page := web.Get("/approvals/" + id)
	assert.NotContains(t, page.Body, `value="approve"`)
	hash := regexp.MustCompile(`name="plan_hash" value="([^"]+)"`).FindStringSubmatch(page.Body)[1]
	for _, signed := range []string{"", "{}", `{"handle":"` + k.Handle() + `"}`, "nonsense"} {
		assert.NotEqual(t, http.StatusOK, web.Post("/approvals/"+id, "decision", "approve", "plan_hash", hash, "signed", signed).Status, signed)
	}
	require.ErrorIs(t, agent.Call("write_note", map[string]string{"name": "plan", "text": "text"}).Err, app.ErrRequired)
	_, err = here.Answer(t.Context(), confirm.Decision{ID: id, Approve: true, By: "terminal", Proof: person.AtTerminal})
	require.ErrorIs(t, err, confirm.ErrProof, "nor does a terminal")
}
