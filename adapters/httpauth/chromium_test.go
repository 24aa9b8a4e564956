package httpauth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/internal/testkit/browser"
)

// TestLogInAndOutInABrowser logs in and out by pages without a script; and at two servers of one machine, neither of which logs it out of the other. Axe has
// nothing serious against the pages, light or dark.
func TestLogInAndOutInABrowser(t *testing.T) {
	t.Parallel()
	in := browser.Open(t)
	one, other := open(t), open(t)
	for _, r := range []*rig{one, other} {
		p := in.Page(t, httpauth.LoginURL("http://"+r.addr, r.code(t, access.Scope{}), "/page"))
		assert.Equal(t, "Log in", p.Text("h1"))
		p.Press("Log this browser in")
		p.WaitText("body", `"Person":true`)
	}
	for _, r := range []*rig{one, other} {
		in.Page(t, "http://"+r.addr+"/page").WaitText("body", `"Person":true`)
	}
	p := in.Page(t, "http://"+one.addr+"/logout")
	p.Press("Log this browser out")
	p.WaitText("h1", "Logged out")
	live, err := one.keeper.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, live)
	in.Page(t, "http://"+other.addr+"/page").WaitText("body", `"Person":true`)

	for _, page := range []string{"/login", "/login?code=x", "/page"} {
		p := in.Page(t, "http://"+one.addr+page)
		for _, dark := range []bool{false, true} {
			p.Dark(dark)
			p.WaitText("h1", "Log in")
			p.Axe()
		}
	}
}
