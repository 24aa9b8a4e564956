//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAPersonDeploysAnEcosystemInTheConsole: explained in mode ask, done in mode execute, confirmed by its plan, and followed to its end as it goes on, with
// nothing pressed meanwhile.
func TestAPersonDeploysAnEcosystemInTheConsole(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.ecosystem()
	edit(t, b.at("ws/ecosystems/shop/ecosystem.yaml"), "provisioner: noop", "spin:\n  deploy: \"echo first; sleep 3; echo '::amof url=http://127.0.0.1:9'; echo last\"\n  destroy: \"true\"")
	p := b.person("/ecosystems")
	p.Press("shop")
	p.WaitText("nav[aria-label='Sections of shop'] [aria-current]", "Overview")
	p.Press("Environment")
	p.WaitText("h1", "Environment of shop")
	p.Press("Deploy shop")
	p.WaitText("main", "the mode is ask")
	p.Axe()
	p.Press("Back")
	p.WaitText("h1", "Runs of shop")
	p.Press("Environment")
	p.WaitText("h1", "Environment of shop")
	p.Choose("#mode", "execute")
	p.Press("Change mode")
	p.WaitText("main", "raise the mode of this session to execute")
	approves(p)
	p.WaitText("main", "Set mode execute")
	p.WaitFor("document.readyState === 'complete'") // nothing moves any more
	p.Press("Deploy shop")
	p.WaitText("main", "echo first")
	p.Axe()
	approves(p)
	p.WaitText("main", "Follow run")
	p.WaitText("main", "running")
	p.Eval("[...document.querySelectorAll('main a')].find((a) => a.textContent.startsWith('Follow run')).click()", nil)
	p.WaitFor(`/^\d\d:\d\d:\d\d first$/m.test(document.querySelector("main").innerText)`)
	assert.NotRegexp(t, `(?m)^\d\d:\d\d:\d\d last$`, p.Text("main"))
	p.Axe()
	p.Shot("a run goes on")
	p.WaitText("main", "success")
	assert.Regexp(t, `(?m)^\d\d:\d\d:\d\d last$`, p.Text("main"), "also what it said last")
	assert.True(t, strings.HasPrefix(p.Address(), "/ecosystems/shop/runs/"))
	p.Press("Environment")
	p.WaitText("main", "http://127.0.0.1:9")
	p.Shot("it is deployed")
	b.deserted()
}
