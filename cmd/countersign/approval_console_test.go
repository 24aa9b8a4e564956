//go:build linux

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/browser"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// waits has a call sent that waits for the user, as its contract wants that: deploy_apply with the token of deploy, and what answers with its question at
// once a second time.
func waits(t testing.TB, agent caller, tool string, a args) func() stdiotest.Result {
	t.Helper()
	switch {
	case tool == "deploy_apply":
		named := args{"confirm_token": checked(t, agent.later("deploy", args{})()).answer(t).Token}
		for name, value := range a {
			named[name] = value
		}
		a = named
	case strings.HasPrefix(tool, "amof_"):
		agent.later(tool, a)()
	}
	return agent.later(tool, a)
}

// caller is an agent, however it is connected.
type caller interface {
	later(tool string, a args) func() stdiotest.Result
}

// callers returns the ways in which agents are connected, each with one for those toolsets.
func (b *consoleFixture) callers(dir, toolsets string) map[string]func() caller {
	return map[string]func() caller{
		"stdio": func() caller { return b.agent(dir, toolsets) },
		"http":  func() caller { return b.program("agent", "--toolsets", toolsets) },
		"newer": func() caller { return b.modern("agent", "--toolsets", toolsets) },
	}
}

// shows waits until what a call asks for is in sight, and says how long that took: 500 ms is the budget, which a busy machine may overdraw.
func (b *consoleFixture) shows(p *browser.Page, words string, ask func()) {
	b.t.Helper()
	began := time.Now()
	ask()
	p.WaitText("main", words)
	b.t.Logf("shown %v after the call (budget 500ms)", time.Since(began).Round(time.Millisecond))
}

// approves presses the button of the one question on the page, once it can be pressed.
func approves(p *browser.Page) {
	p.WaitFor("!('held' in document.body.dataset)")
	p.Click("button[value=approve]")
}

// TestAnAgentsDeploymentIsApprovedInTheConsole: its diff is in sight at once, and the call goes on when the user has pressed.
func TestAnAgentsDeploymentIsApprovedInTheConsole(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.deployment()
	for way, connect := range b.callers("site", "deployments") {
		b.part(way, func(t *testing.T) {
			p := b.person("/approvals")
			p.WaitText("main", "No pending approvals")
			agent := connect()
			edit(t, filepath.Join(b.home, ".agentpack/repo/modules/instructions/base/AGENTS.md"), "# House rules", "# House rules by "+way+"\n\n# House rules")
			var answer func() stdiotest.Result
			b.shows(p, "deploy_apply", func() { answer = waits(t, agent, "deploy_apply", args{"yes": true, "adopt": true}) })
			p.WaitText("main", "AGENTS.md")
			assert.Contains(t, p.Text("main"), "House rules by "+way, "the diff is there")
			p.Axe()
			p.Shot("a deployment waits, " + way)
			if deployed, err := os.ReadFile(b.at("site/AGENTS.md")); err == nil {
				assert.NotContains(t, string(deployed), "House rules by "+way, "nothing is done before")
			}
			approves(p)
			e := checked(t, answer())
			require.True(t, e.OK, "%+v", e.Errors)
			assert.Contains(t, read(t, b.at("site/AGENTS.md")), "House rules by "+way)
			p.WaitText("main", "completed")
			p.WaitFor("!document.querySelector('button[value=approve]')")
			p.Shot("a deployment was approved, " + way)
		})
	}
}

// TestAnAgentWorksInAnotherDirectoryThanTheServer: what is decided is about the project of the client that asked, and a change there is noticed.
func TestAnAgentWorksInAnotherDirectoryThanTheServer(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.deployment()
	b.closes()
	b.in = ""
	b.opens()
	p, agent := b.person("/approvals"), b.agent("site", "deployments")
	rules := filepath.Join(b.home, ".agentpack/repo/modules/instructions/base/AGENTS.md")
	edit(t, rules, "# House rules", "# Other rules")
	answer := waits(t, agent, "deploy_apply", args{"yes": true, "adopt": true})
	p.WaitText("main", b.at("site/AGENTS.md"))
	assert.Contains(t, p.Text("main"), "+# Other rules", "the diff is that of the agent's project")
	p.Shot("an agent elsewhere")
	approves(p)
	e := checked(t, answer())
	require.True(t, e.OK, "%+v", e.Errors)
	assert.Contains(t, read(t, b.at("site/AGENTS.md")), "# Other rules")

	edit(t, rules, "# Other rules", "# Third rules")
	answer = waits(t, agent, "deploy_apply", args{"yes": true, "adopt": true})
	p.WaitFor("document.querySelector('button[value=approve]')")
	edit(t, rules, "# Third rules", "# Fourth rules")
	approves(p)
	e = checked(t, answer())
	assert.False(t, e.OK, "what was approved is not what there is")
	assert.Contains(t, read(t, b.at("site/AGENTS.md")), "# Other rules")
}

// TestAnAgentsScriptIsAnsweredInTheConsole: approved, denied with a reason that the agent is told, and allowed for the session.
func TestAnAgentsScriptIsAnsweredInTheConsole(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	shop := b.shop(map[string]string{"hi": "echo hi; echo $0 >> ran", "risky": "curl -s http://127.0.0.1:9/x | sh"}, nil)
	hi := args{"project_path": shop, "script_name": "hi"}
	for way, connect := range b.callers("site", "projects") {
		b.part(way, func(t *testing.T) {
			p, agent := b.person("/approvals"), connect()
			var answer func() stdiotest.Result
			b.shows(p, "run_script", func() { answer = agent.later("run_script", hi) })
			for _, words := range []string{"echo hi", "npm"} {
				assert.Contains(t, p.Text("main"), words, "the command is there")
			}
			p.Axe()
			p.Shot("a script waits, " + way)
			approves(p)
			value, failed := outcome(t, answer())
			require.Nil(t, failed)
			assert.Contains(t, string(value), "hi")

			b.shows(p, "curl", func() { answer = agent.later("run_script", args{"project_path": shop, "script_name": "risky"}) })
			assert.Contains(t, p.Text("main"), "high risk")
			assert.Zero(t, p.Count("button[value=always]"), "what is dangerous is asked about every time")
			p.Type("input[name=reason]", "not before lunch")
			p.Click("button[value=deny]")
			_, failed = outcome(t, answer())
			require.NotNil(t, failed)
			assert.Equal(t, "USER_CANCELLED", failed.Code)
			assert.Contains(t, failed.Message, "not before lunch")

			b.shows(p, "run_script", func() { answer = agent.later("run_script", hi) })
			p.WaitFor("!('held' in document.body.dataset)")
			p.Press("Allow in this session …")
			p.Click("button[value=always]")
			_, failed = outcome(t, answer())
			require.Nil(t, failed)
			_, failed = outcome(t, agent.later("run_script", hi)())
			require.Nil(t, failed, "it is not asked about again")
			p.Reload()
			p.WaitText("main", "No pending approvals")
		})
	}
}

// TestAnAgentsDiscardIsTypedInTheConsole: what would be lost is listed, and only its name, typed, lets it happen.
func TestAnAgentsDiscardIsTypedInTheConsole(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	for way, connect := range b.callers("site", "ecosystems") {
		b.part(way, func(t *testing.T) {
			p, agent := b.person("/approvals"), connect()
			b.ecosystem()
			var answer func() stdiotest.Result
			b.shows(p, "amof_discard_ecosystem", func() {
				answer = waits(t, agent, "amof_discard_ecosystem", args{"ecosystem": "shop", "mode": "execute"})
			})
			p.WaitText("main", "new.txt")
			for _, words := range []string{"worktrees/shop", "workspace/shop", "high risk"} {
				assert.Contains(t, p.Text("main"), words, "what would be lost is there")
			}
			p.Axe()
			p.Shot("a discard waits, " + way)
			p.Type("input[name=typed_value]", "shot")
			approves(p)
			p.WaitText("main", "typed")
			assert.DirExists(t, b.at("ws/worktrees/shop"))
			p.Shot("mistyped, " + way)
			p.Eval("document.querySelector('input[name=typed_value]').value = ''", nil)
			p.Type("input[name=typed_value]", "shop")
			approves(p)
			r := answer()
			require.Nil(t, r.Err)
			var done said
			require.NoError(t, json.Unmarshal(r.Structured, &done), r.Text)
			require.Equal(t, "queued", done.Status, r.Text)
			eventually(t, "the run is carried out", func() bool {
				_, err := os.Stat(b.at("ws/worktrees/shop"))
				return os.IsNotExist(err)
			})
			b.deserted()
			assert.Contains(t, b.must("eco", "trash", "shop"), "shop")
		})
	}
}

// TestTwoBrowsersAnswerOneApproval: one wins, and the other is told who did.
func TestTwoBrowsersAnswerOneApproval(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	shop := b.shop(map[string]string{"hi": "echo hi >> ran"}, nil)
	agent := b.agent("site", "projects")
	answer := agent.later("run_script", args{"project_path": shop, "script_name": "hi"})
	b.questions(1)
	chromium := browser.Open(t)
	one := b.logged(chromium, "/approvals")
	two := b.logged(chromium.Apart(t), "/approvals")
	two.Scripts(false) // its page stays as it is
	two.Reload()
	one.WaitText("main", "echo hi")
	two.WaitText("main", "echo hi")
	approves(one)
	_, failed := outcome(t, answer())
	require.Nil(t, failed)
	two.Click("button[value=deny]")
	two.WaitText("main", "already decided")
	assert.Contains(t, two.Text("main"), "Approved by")
	two.Shot("somebody was faster")
	assert.Equal(t, "hi\n", read(t, filepath.Join(shop, "ran")), "it ran once")
	runs := b.runs("run_script")
	require.Len(t, runs, 1)
	assert.Equal(t, "completed", runs[0].Status)
}

// TestManyAnswersAtOnce: of many who press at the same moment exactly one decides.
func TestManyAnswersAtOnce(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	shop := b.shop(map[string]string{"hi": "echo hi >> ran"}, nil)
	agent := b.agent("site", "projects")
	for round := range 3 {
		answer := agent.later("run_script", args{"project_path": shop, "script_name": "hi"})
		q := b.questions(1)[0]
		var forms []func() int
		for range 6 {
			v := b.visitor()
			form := v.form("/approvals/" + q.ID)
			form.Set("decision", "approve")
			forms = append(forms, func() int { status, _ := v.send("POST", "/approvals/"+q.ID, form); return status })
		}
		won := atOnce(forms)
		assert.Equal(t, 1, won[200], "%v", won)
		assert.Equal(t, 5, won[409], "the others are told: %v", won)
		_, failed := outcome(t, answer())
		require.Nil(t, failed)
		assert.Equal(t, strings.Repeat("hi\n", round+1), read(t, filepath.Join(shop, "ran")))
	}
}

// TestAPageThatIsOutOfDate: an approval of what is not so any more is refused and shows the difference, whichever capability it is about; nothing is done.
func TestAPageThatIsOutOfDate(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	shop := b.shop(map[string]string{"hi": "echo hi >> ran"}, nil)
	b.ecosystem()
	b.deployment()
	rules := filepath.Join(b.home, ".agentpack/repo/modules/instructions/base/AGENTS.md")
	edit(t, rules, "# House rules", "# Other rules")
	p := b.person("/approvals")
	for _, c := range []struct {
		toolsets, tool string
		in             args
		shown          string
		change         func()
		difference     string
		typed          string
	}{
		{"projects", "run_script", args{"project_path": shop, "script_name": "hi"}, "echo hi", func() {
			edit(t, filepath.Join(shop, "package.json"), "echo hi", "echo ho")
		}, "echo ho", ""},
		{"deployments", "deploy_apply", args{"yes": true, "adopt": true}, "site/AGENTS.md", func() { edit(t, rules, "# Other rules", "# Third rules") }, "after_sha256", ""},
		{"ecosystems", "amof_discard_ecosystem", args{"ecosystem": "shop", "mode": "execute"}, "new.txt", func() {
			write(t, b.at("ws/worktrees/shop/repos/lib/another.txt"), "meanwhile\n")
		}, "another.txt", "shop"},
	} {
		b.part(c.tool, func(t *testing.T) {
			agent := b.agent("site", c.toolsets)
			var answer func() stdiotest.Result
			if strings.HasPrefix(c.tool, "amof_") { // it is answered at once, and nobody has to wait
				agent.later(c.tool, c.in)()
			} else {
				answer = waits(t, agent, c.tool, c.in)
			}
			p.WaitText("main", c.shown)
			before := b.questions(1)[0].ID
			c.change()
			if c.typed != "" {
				p.Type("input[name=typed_value]", c.typed)
			}
			approves(p)
			p.WaitText("h1", "Plan changed")
			p.WaitText("main", c.difference)
			p.Axe()
			p.Shot("out of date, " + c.tool)
			if answer != nil {
				r := answer()
				require.True(t, r.IsError, r.Text)
			}
			for _, q := range b.questions(0) {
				assert.NotEqual(t, before, q.ID, "it not pending")
			}
			p.Press("Approvals")
			p.WaitText("main", "No pending approvals")
		})
	}
	assert.NoFileExists(t, filepath.Join(shop, "ran"))
	assert.Contains(t, read(t, b.at("site/AGENTS.md")), "# House rules")
	assert.DirExists(t, b.at("ws/worktrees/shop"))
}

// TestApprovalsSurviveTheServer: killed while calls wait, it shows them again when it is back; the client that asked is answered, and what ran out meanwhile denies.
func TestApprovalsSurviveTheServer(t *testing.T) {
	needs(t, "npm")
	t.Parallel()
	b := newBureau(t)
	shop := b.shop(map[string]string{"hi": "echo hi >> ran", "ho": "echo ho >> ran"}, nil)
	local, remote := b.agent("site", "projects"), b.modern("remote", "--toolsets", "projects")
	hi, ho := args{"project_path": shop, "script_name": "hi"}, args{"project_path": shop, "script_name": "ho"}
	p := b.person("/approvals")
	waiting, gone := local.later("run_script", hi), remote.later("run_script", ho)
	b.questions(2)
	p.WaitText("main", "echo hi")
	p.WaitText("main", "echo ho")
	b.dies()
	assert.Empty(t, gone().Text, "the server's own caller is cut off")
	b.opens()

	b.diesAnswering(b.questions(2)[0].ID)
	assert.NoFileExists(t, filepath.Join(shop, "ran"))
	b.opens()

	again := b.visitor()
	for _, q := range b.questions(2) { // the one that was being answered, too
		form := again.form("/approvals/" + q.ID)
		form.Set("decision", "approve")
		status, text := again.send("POST", "/approvals/"+q.ID, form)
		require.Equal(t, 200, status, text)
	}
	_, failed := outcome(t, waiting())
	require.Nil(t, failed, "a client of another process has noticed nothing")
	_, failed = outcome(t, remote.later("run_script", ho)())
	require.Nil(t, failed, "and whoever was cut off calls again, and is not asked again")
	assert.ElementsMatch(t, []string{"hi", "ho"}, strings.Fields(read(t, filepath.Join(shop, "ran"))))
	p.Go(b.pages() + "/approvals")
	p.WaitText("main", "No pending approvals") // the browser is still logged in

	answer := local.later("run_script", ho)
	q := b.questions(1)
	stale := again.form("/approvals/" + q[0].ID)
	b.dies()
	b.expire(q[0].ID)
	_, failed = outcome(t, answer())
	require.NotNil(t, failed, "time denies")
	b.opens()
	stale.Set("decision", "approve")
	status, text := again.send("POST", "/approvals/"+q[0].ID, stale)
	assert.Equal(t, 409, status, text)
	assert.Len(t, strings.Fields(read(t, filepath.Join(shop, "ran"))), 2, "nothing more was done")
	b.questions(0)
}

// diesAnswering has the server killed when it has the user's approval in hand and cannot write it down: the database is somebody else's for the moment.
func (b *consoleFixture) diesAnswering(id string) {
	b.t.Helper()
	v := b.visitor()
	form := v.form("/approvals/" + id)
	form.Set("decision", "approve")
	lock, err := b.database().Conn(b.t.Context())
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, lock.Close()) }()
	_, err = lock.ExecContext(b.t.Context(), "BEGIN IMMEDIATE")
	require.NoError(b.t, err)
	sent, answered := make(chan struct{}), make(chan error)
	ctx := httptrace.WithClientTrace(b.t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.base+"/approvals/"+id, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", v.base)
	go func() {
		answer, err := v.http.Do(req)
		if err == nil {
			_ = answer.Body.Close()
		}
		answered <- err
	}()
	<-sent
	b.dies()
	require.Error(b.t, <-answered, "nobody is told that it was approved")
	_, err = lock.ExecContext(b.t.Context(), "ROLLBACK")
	require.NoError(b.t, err)
}
