package agentpages_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
)

func TestNotServed(t *testing.T) {
	t.Parallel()
	w := open(t, func(c *local.Config) { c.Toolsets = []string{"packs"} })
	for _, path := range []string{"/deployments", "/deployments/plan", "/deployments/snapshots", "/deployments/evolve", "/deployments/maintenance", "/deployments/rollback?to=initial"} {
		p := w.Open(path)
		assert.Equal(t, http.StatusNotFound, p.Status)
		p.See("Deployments are not enabled.", "--toolsets deployments").Sound()
	}
}

// TestOnlyTheCoreIsServed: what the toolset authoring would show says so; everything else works.
func TestOnlyTheCoreIsServed(t *testing.T) {
	t.Parallel()
	w := open(t, func(c *local.Config) { c.Toolsets = []string{"deployments"} })
	w.Get("/deployments").Sound().See("5 to create").Miss("not served")
	w.deployed()
	p := w.Get("/deployments/snapshots").Sound().See("Snapshots are not enabled.", "--toolsets deployments,authoring")
	back := p.Press("Preview rollback").Sound().See("5 to delete")
	back.Press(button(back)).See("Roll back to initial: done")
	assert.Empty(t, w.reads(file(w.project, "AGENTS.md")))
	w.Get("/deployments/modules").Sound().See("Modules are not enabled.")
	w.Get("/deployments/module?id=x").Sound().See("Modules are not enabled.")
	w.Get("/deployments/maintenance").Sound().See("Maintenance tools are not enabled.")
	w.Get("/deployments/snapshots/1").Sound().See("Snapshots are not enabled.")
}

func TestNoRepositoryYet(t *testing.T) {
	t.Parallel()
	w := open(t)
	p := w.Get("/deployments?repo="+url.QueryEscape(file(w.home, "nowhere"))).Sound().See("nowhere", "countersign agents init")
	assert.Contains(t, p.HTML, `value="`+file(w.home, "nowhere")+`"`)
	p.Press("Create config repository").Settled().See("Create config repository: done")
	assert.FileExists(t, file(w.home, "nowhere", "agentpack.yaml"))
	w.Get("/deployments/plan?repo=%2Fnowhere").Sound().See("/nowhere")
	w.Get("/deployments/modules?repo=%2Fnowhere").Sound().See("No modules, or no config repository.")
	w.Get("/deployments?profile=unknown").Sound().See("unknown")
}

func TestOverviewAndDrift(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.Get("/deployments").Sound().See("Review plan: 5 to create, 0 to update, 0 to delete", "claude_code, codex", "5 not deployed yet", "not created yet", "Machine ada")
	w.deployed()
	w.Get("/deployments").Sound().See("nothing to change", "5 up to date", "No drift.").Miss("1 missing", "not deployed yet")

	w.write(file(w.project, "AGENTS.md"), "# Rules\n\nBe <b>rude</b>.\n")
	require.NoError(t, os.Remove(file(w.home, ".agents/skills/hello/SKILL.md")))
	w.write(file(w.home, ".agents/skills/mine.md"), "mine\n")
	p := w.Get("/deployments").Sound().See("3 up to date 1 edited here 1 missing 1 extra", "overwrites or deletes edits made here", "1 to create, 1 to update, 0 to delete", "prompt:hello", "instructions:base", "mine.md",
		"Planned change:", "-Be <b>rude</b>.", "+Be kind & careful.")
	p.Safe("<b>rude</b>").See("Module Claude Code Codex", "command:check 2 up to date –", "prompt:hello – 1 missing")
	w.Get("/deployments?only=missing").Sound().See("skills/hello/SKILL.md", "1 edited here 1 missing 1 extra").Miss("mine.md")
	w.Get("/deployments?target=claude_code").Sound().See("nothing to change").Miss("hello/SKILL.md", "AGENTS.md")
	assert.Contains(t, w.Get("/deployments?profile=small").HTML, `/deployments/plan?profile=small"`)
}

func TestAPlanIsDeployed(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*local.Config){"by token": func(*local.Config) {}, "by people alone": human} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, how)
			p := w.Get("/deployments/plan").Sound().See("Plan: 5 to create, 0 to update, 0 to delete", "file missing", "instructions:base from upstream", "+Check <everything>.",
				"create "+file(w.project, "AGENTS.md")+" (codex)")
			p.Safe("<everything>")
			done := p.Press("Deploy: 5 to create, 0 to update, 0 to delete")
			done.See("Deploy: 5 to create, 0 to update, 0 to delete: done", "nothing to change")
			assert.Contains(t, done.Path, "/deployments?done=", "one decision is enough")
			assert.Equal(t, helloSkill("Say hello."), w.reads(file(w.home, ".agents/skills/hello/SKILL.md")))
			assert.Contains(t, w.reads(file(w.project, "AGENTS.md")), "Be kind & careful.")
			w.Get("/deployments/plan").Sound().See("Plan: nothing to change", "No changes.")
			assert.False(t, w.Get("/deployments/plan").Has("Deploy: nothing to change"))
			waiting, err := w.door.Confirmations(t.Context(), "")
			require.NoError(t, err)
			assert.Empty(t, waiting, "nothing is left to be answered")
			trail, err := w.door.AuditTail(t.Context(), 100)
			require.NoError(t, err)
			var approved []string
			for _, rec := range trail {
				if rec.Event.Tool == "deploy_apply" && rec.Event.ApprovedBy != "" {
					approved = append(approved, rec.Event.ApprovedBy)
				}
			}
			if name == "by people alone" {
				assert.Contains(t, approved, "console key_rig")
			}
			assert.NotEmpty(t, approved)
		})
	}
}

// TestOneAgentAlone: what is chosen on the page is what is deployed.
func TestOneAgentAlone(t *testing.T) {
	t.Parallel()
	w := open(t)
	p := w.Get("/deployments/plan").Press("Show", "target", "claude_code").See("Plan: 2 to create")
	p.Press(button(p)).See("done")
	assert.NotEmpty(t, w.reads(file(w.home, ".claude/commands/check.md")))
	assert.Empty(t, w.reads(file(w.project, "AGENTS.md")))
}

// TestThePlanHasChanged: what was not shown is not done.
func TestThePlanHasChanged(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*local.Config){"by token": func(*local.Config) {}, "by people alone": human} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, how)
			p := w.Get("/deployments/plan")
			w.repo.Write("-- modules/hello.md --\nSay <i>something else</i>.\n")
			refused := p.Press(button(p))
			assert.Equal(t, http.StatusConflict, refused.Status)
			refused.Sound().See("the plan changed since you opened this page", "code deployment_plan_changed", "+Say <i>something else</i>.").Safe("<i>something")
			assert.Empty(t, w.reads(file(w.project, "AGENTS.md")))
			refused.Press(button(refused)).See("done")
			assert.Equal(t, helloSkill("Say <i>something else</i>."), w.reads(file(w.home, ".agents/skills/hello/SKILL.md")))
		})
	}
}

// TestUnmanagedFilesNeedTheBox: unmanaged files are named, and overwritten only if the box is ticked.
func TestUnmanagedFilesNeedTheBox(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*local.Config){"by token": func(*local.Config) {}, "by people alone": human} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, how)
			own := file(w.home, ".agents/skills/hello/SKILL.md")
			w.write(own, "my own\n")
			p := w.Get("/deployments/plan").Sound().See("overwrites a file that no deployment wrote", "1 file is unmanaged", "-my own", "+Say hello.")
			refused := p.Press(button(p))
			assert.Equal(t, http.StatusBadRequest, refused.Status)
			refused.Sound().See("code deployment_adopt_unticked")
			assert.Equal(t, "my own\n", w.reads(own))
			waiting, err := w.door.Confirmations(t.Context(), "")
			require.NoError(t, err)
			assert.Empty(t, waiting)
			refused.Press(button(refused), "adopt", "true").See("done")
			assert.Equal(t, helloSkill("Say hello."), w.reads(own))
		})
	}
}

// TestUnmanagedFilesAreSkipped: a second button deploys the other files of the plan, and nothing else. A plan without unmanaged or modified files has no such button.
func TestUnmanagedFilesAreSkipped(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*local.Config){"by token": func(*local.Config) {}, "by people alone": human} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, how)
			assert.NotContains(t, w.Get("/deployments/plan").Text(), "Deploy other files")
			own := file(w.home, ".agents/skills/hello/SKILL.md")
			w.write(own, "my own\n")
			p := w.Get("/deployments/plan").Sound().See("Or skip 1 unmanaged or modified file and deploy the other files.")
			label := regexp.MustCompile(`Deploy other files: [^<]*`).FindString(p.HTML)
			w.repo.Write("-- modules/check.md --\n---\ndescription: check other things\nallowed-tools: []\n---\nCheck.\n")
			refused := p.Press(label)
			assert.Equal(t, http.StatusConflict, refused.Status)
			refused.Sound().See("the plan changed since you opened this page")
			refused.Press(label).See("done")
			assert.Equal(t, "my own\n", w.reads(own))
			assert.Contains(t, w.reads(file(w.home, ".claude/commands/check.md")), "check other things")
		})
	}
}

func TestSnapshotsAndTheWayBack(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*local.Config){"by token": func(*local.Config) {}, "by people alone": human} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, how)
			w.Get("/deployments/snapshots").Sound().See("No deployments yet.")
			w.deployed()
			w.repo.Write("-- modules/hello.md --\nSay goodbye.\n")
			w.deployed()
			list := w.Get("/deployments/snapshots").Sound().See("deploy", "applied", "claude_code, codex", "before the first deployment")
			links := hrefs(list.Main(), "/deployments/rollback?")
			require.Len(t, links, 3, "newest first, and then the beginning")
			w.Get(strings.Split(hrefs(list.Main(), "/deployments/snapshots/")[1], "?")[0]).Sound().See("Changed files", "prompt:hello", "Preview rollback to this snapshot")

			back := w.Get(links[1]).Sound().See("0 to create, 1 to update, 0 to delete", "hello/SKILL.md")
			w.write(file(w.home, ".agents/skills/hello/SKILL.md"), "edited meanwhile\n")
			refused := back.Press(button(back))
			assert.Equal(t, http.StatusConflict, refused.Status)
			refused.Sound().See("code deployment_plan_changed")
			assert.Equal(t, "edited meanwhile\n", w.reads(file(w.home, ".agents/skills/hello/SKILL.md")))
			done := refused.Press(button(refused)).See("Roll back to", "done", "rollback to")
			assert.Contains(t, done.Path, "/deployments/snapshots?done=", "one decision is enough")
			assert.Equal(t, helloSkill("Say hello."), w.reads(file(w.home, ".agents/skills/hello/SKILL.md")))

			assert.Equal(t, http.StatusNotFound, w.Open("/deployments/rollback?to=nosuch").Status)
			assert.Equal(t, http.StatusNotFound, w.Open("/deployments/snapshots/nosuch").Status)
			waiting, err := w.door.Confirmations(t.Context(), "")
			require.NoError(t, err)
			assert.Empty(t, waiting)
		})
	}
}

// hrefs are the addresses of links that begin so, in their order.
func hrefs(html, begin string) (out []string) {
	for _, part := range strings.Split(html, `href="`)[1:] {
		to, _, _ := strings.Cut(part, `"`)
		if to = strings.ReplaceAll(to, "&amp;", "&"); strings.HasPrefix(to, begin) {
			out = append(out, to)
		}
	}
	return out
}

func TestEditsGoBack(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*local.Config){"by token": func(*local.Config) {}, "by people alone": human} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, how)
			w.Get("/deployments/evolve").Sound().See("No edits to propose.")
			w.deployed()
			w.write(file(w.project, ".claude/commands/check.md"), "---\ndescription: check things\nallowed-tools: []\n---\nCheck <b>nothing</b>.\n")
			require.NoError(t, os.Remove(file(w.home, ".agents/skills/hello/SKILL.md")))
			p := w.Get("/deployments/evolve").Sound().See("command:check", "+Check <b>nothing</b>.", "-Check <everything>.", "edited here", "Drift that cannot be proposed (1)", "it is not there", "prompt:hello").Safe("<b>nothing")
			done := p.Press("Propose 1 edit on a new branch").See("Propose edits on a new branch: done")
			assert.Contains(t, done.Path, "/deployments/evolve?done=")
			assert.Contains(t, w.repo.Git("branch", "--list", "evolve/*"), "evolve/propose-global-command_check-")
			branch := strings.TrimSpace(w.repo.Git("branch", "--list", "evolve/*"))
			assert.Contains(t, w.repo.Git("show", "--stat", "--format=%s", branch), "overlays/command_check")

			again := w.Get("/deployments/evolve")
			require.NoError(t, os.Remove(file(w.project, "AGENTS.md")))
			refused := again.Press("Recreate 1 missing file")
			assert.Equal(t, http.StatusConflict, refused.Status)
			refused.Sound().See("code deployment_plan_changed").Press("Recreate 2 missing files").See("Recreate missing files: done", "No missing files.")
			assert.Equal(t, helloSkill("Say hello."), w.reads(file(w.home, ".agents/skills/hello/SKILL.md")))

			w.repo.Write("-- modules/hello.md --\ndirty\n")
			p = w.Get("/deployments/evolve")
			p.Press("Propose 1 edit on a new branch", "scope", "machine", "branch", "mine").See("uncommitted changes")
			assert.Empty(t, w.repo.Git("branch", "--list", "mine"))
		})
	}
}

func TestModulesAndOverlays(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.deployed()
	p := w.Get("/deployments/modules").Sound().See("instructions:base", "prompt:hello", "2 files", "No lockfile", "No policy violations.", file(w.home, ".agentpack/repo"))
	one := w.Get(hrefs(p.Main(), "/deployments/module?")[1]).Sound().See("Module instructions:base", file(w.project, "AGENTS.md"), "overlays/instructions_base--", "no overlay")
	assert.Equal(t, 3, strings.Count(one.Main(), "no overlay"))

	require.NoError(t, w.call("agents_overlay_edit", `{"yes":true,"module_id":"instructions:base"}`).Err)
	w.Get("/deployments/module?id=instructions:base").Sound().See("up to date")
	overlays, err := filepath.Glob(file(w.repo.Dir, "overlays", "instructions_base--*", "AGENTS.md"))
	require.NoError(t, err)
	require.Len(t, overlays, 1)
	w.write(overlays[0], "# Rules\n\nBe <i>ours</i>.\n")
	w.repo.Write("-- modules/base/AGENTS.md --\n# Rules\n\nBe theirs.\n")
	w.repo.Commit("theirs")
	w.Get("/deployments/module?id=instructions:base").Sound().See("needs attention", "code deployment_rebase_conflict", "AGENTS.md")
	assert.Equal(t, "# Rules\n\nBe <i>ours</i>.\n", w.reads(overlays[0]), "looking writes nothing")

	require.NoError(t, w.call("agents_lock", `{"yes":true}`).Err)
	w.Get("/deployments/modules").Sound().See("instructions", "local 1 file, ").Miss("No lockfile")
	w.Get("/deployments/maintenance").Sound().See("Modules", "Operator assets").Press("Update modules").Settled().See("Update modules: done")
	w.Get("/deployments/snapshots").Press("Delete snapshots", "keep", "1").Settled().See("Delete snapshots")
	assert.Equal(t, http.StatusNotFound, w.Send("/deployments/do/nothing", nil).Status)
	w.Get("/deployments/module?id=%3Cscript%3E").Sound().See("Module <script>").Safe("<script>alert")
}

// TestWhatWasInterrupted is shown above the page, with buttons that finish and undo it.
func TestWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	for label, after := range map[string]string{"Finish deployment": helloSkill("Say hello."), "Undo deployment": ""} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			w.interrupt()
			p := w.Get("/deployments").Sound().See("The deployment of", "before you deploy again")
			assert.Regexp(t, `was interrupted after [1-9]\d* of `, p.Text())
			plan := w.Get("/deployments/plan")
			refused := plan.Press(button(plan))
			assert.Equal(t, http.StatusUnprocessableEntity, refused.Status)
			refused.See("finish it with resume, or take it back with undo")
			p.Press(label).See("done").Miss("was interrupted after")
			assert.Equal(t, after, w.reads(file(w.home, ".agents/skills/hello/SKILL.md")))
			w.Send("/deployments/recover", url.Values{"kind": {"<odd>"}}).Safe("<odd>").See("kind")
		})
	}
}

func TestHealthIsMended(t *testing.T) {
	t.Parallel()
	w := open(t)
	cmd := exec.Command("git", "init", "--quiet", w.project)
	cmd.Env = w.repo.Env()
	require.NoError(t, cmd.Run())
	w.deployed()
	w.write(file(w.project, ".agentpack.manifest.codex.json"), "{}") // as an earlier version left it
	p := w.Get("/deployments").Sound().See(".agentpack.manifest*.json", "Add ownership manifests to .gitignore")
	p.Press("Add ownership manifests to .gitignore").See("done").Miss("doctor --fix")
	assert.Contains(t, w.reads(file(w.project, ".gitignore")), ".agentpack.manifest*.json")
}

// TestHostileNames: what a repository calls its files and modules is only text.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	w := open(t)
	const evil = `x"><img src=x onerror=alert(1)>`
	w.repo.Write("-- agentpack.yaml --\nversion: 1\nprofiles:\n  default:\n    include_tags: [base]\ntargets:\n  codex:\n    mode: files\n    scope: user\nmodules:\n" +
		"  - id: '" + evil + "'\n    type: instructions\n    tags: [base]\n    source: {local_path: {path: modules/base}}\n" +
		"  - id: skill:s\n    type: skill\n    tags: [base]\n    source: {local_path: {path: modules/s}}\n" +
		"-- modules/s/SKILL.md --\n---\nname: s\ndescription: d\n---\n" + evil + "\n-- modules/s/a\"b'<i>.txt --\n" + evil + " \u202e\n")
	for _, path := range []string{"/deployments", "/deployments/plan", "/deployments/evolve", "/deployments/modules", "/deployments/module?id=" + url.QueryEscape(evil),
		"/deployments?repo=" + url.QueryEscape(evil) + "&profile=" + url.QueryEscape(evil) + "&machine=" + url.QueryEscape(evil), "/deployments/plan?profile=" + url.QueryEscape(evil)} {
		p := w.Get(path).Sound().Safe("<img").Safe(`<i>.txt`)
		assert.NotContains(t, p.HTML, "\u202e", path)
	}
	w.deployed()
	list := w.Get("/deployments/snapshots")
	w.Get(hrefs(list.Main(), "/deployments/snapshots/")[0]).Sound().See("a\"b'<i>.txt").Safe("<i>.txt")
	back := w.Get("/deployments/rollback?to=initial").Sound().Safe("<i>.txt")
	back.Press(button(back)).See("done")
	p := w.Open("/deployments/rollback?to=" + url.QueryEscape(evil))
	p.Safe("<img")
	assert.GreaterOrEqual(t, p.Status, 400)
}

// TestManyFiles: a large plan is listed whole, and decided about as a whole.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	w := open(t)
	var files strings.Builder
	for i := range 500 {
		fmt.Fprintf(&files, "-- modules/many/f%03d.md --\n%s\n", i, strings.Repeat("line\n", 120))
	}
	w.repo.Write("-- agentpack.yaml --\nversion: 1\nprofiles:\n  default:\n    include_tags: [base]\ntargets:\n  codex:\n    mode: files\n    scope: user\nmodules:\n" +
		"  - id: 'skill:many'\n    type: skill\n    tags: [base]\n    source: {local_path: {path: modules/many}}\n-- modules/many/SKILL.md --\n---\nname: many\ndescription: d\n---\n" + files.String())
	p := w.Get("/deployments/plan").Sound().See("Plan: 501 to create", "f000.md", "f499.md", "Show diff").Miss("are not listed")
	assert.Less(t, len(p.HTML), 4<<20)
	lines := hrefs(p.Main(), "/deployments/plan?file=")
	one := w.Get(lines[len(lines)-1]).Sound().See("f499.md", "+line").Miss("f000.md")
	assert.Equal(t, 120, strings.Count(one.Main(), "+line"))
	p.Press(button(p)).Settled().See("501 to create")
	assert.Equal(t, http.StatusNotFound, w.Open(lines[0]).Status)
	assert.Less(t, len(w.Get("/deployments").HTML), 2<<20)
	require.NoError(t, os.RemoveAll(file(w.home, ".agents/skills")))
	assert.Less(t, len(w.Get("/deployments").Sound().See("Files 501 ", "Planned change:").HTML), 2<<20)
}

// helloSkill returns the deployed file of a prompt with that text.
func helloSkill(text string) string {
	return "---\nname: hello\ndescription: \"The prompt hello, for when somebody asks for it by name\"\ndisable-model-invocation: true\n---\n\n" + text + "\n"
}
