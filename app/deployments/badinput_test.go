package deployments_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/deployrig"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// several is a config repository with several commands of Claude Code's, one file each.
const several = `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  claude_code: {mode: files, scope: user}
modules:
  - {id: "command:a", type: command, tags: [base], source: {local_path: {path: a.md}}}
  - {id: "command:b", type: command, tags: [base], source: {local_path: {path: b.md}}}
  - {id: "command:c", type: command, tags: [base], source: {local_path: {path: c.md}}}
`

// command returns a command's file that names the version of the repository.
func command(version string) string { return "---\ndescription: d\n---\nversion " + version + "\n" }

// disturbed is that repository, a home and a project, with a point at which something else happens: when the named file of the repository is read, or
// at a step of the machine.
type disturbed struct {
	deployport.Sources
	dir   string
	clock clock.Fake
	once  sync.Once
	event func()

	looked, read string // files of the repository: when its tree, or its bytes, are read
	step, at     string // the step of the machine, and the file that it is about
}

func newDisturbed(t *testing.T) *disturbed {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	d := &disturbed{dir: dir}
	d.put(t, "pack/repo/agentpack.yaml", several)
	d.put(t, "project/.agentpack-project", "")
	d.put(t, "home/.keep", "")
	d.version(t, "1")
	return d
}

func (d *disturbed) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(d.dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// version checks out another version of the repository.
func (d *disturbed) version(t *testing.T, version string) {
	for _, name := range []string{"a", "b", "c"} {
		d.put(t, "pack/repo/"+name+".md", command(version))
	}
}

// Local returns a module's tree, before which the event may happen.
func (d *disturbed) Local(ctx context.Context, at deployment.Locations, source string) (deployment.Tree, error) {
	if d.looked == source {
		d.once.Do(d.event)
	}
	return d.Sources.Local(ctx, at, source)
}

// Content returns a file's bytes, before which it may happen.
func (d *disturbed) Content(ctx context.Context, c deployment.Content) ([]byte, error) {
	if d.read != "" && filepath.Base(c.Origin) == d.read {
		d.once.Do(d.event)
	}
	return d.Sources.Content(ctx, c)
}

// prepare returns the plan of deploy_apply, with the approval of that plan, and a function that applies it.
func (d *disturbed) prepare(t *testing.T) (plan tool.Plan, commit func() error) {
	t.Helper()
	plan, commit, err := d.try(t)
	require.NoError(t, err)
	return plan, commit
}

// try returns prepare, which may fail.
func (d *disturbed) try(t *testing.T) (plan tool.Plan, commit func() error, err error) {
	t.Helper()
	wired := deployrig.Wire(deployrig.Wiring{Dir: filepath.Join(d.dir, "project"), Clock: &d.clock,
		Step: func(step, path string) {
			if d.step == step && filepath.Base(path) == d.at {
				d.once.Do(d.event)
			}
		},
		Env: map[string]string{"HOME": filepath.Join(d.dir, "home"), "AGENTPACK_HOME": filepath.Join(d.dir, "pack"), "AGENTPACK_MACHINE_ID": "workbench"}})
	d.Sources = wired.Compiler.Sources
	wired.Compiler.Sources, wired.Compiler.Offline, wired.Planner.Sources = d, true, d
	entries := deployments.Capability(deployments.Deps{Compiler: wired.Compiler, Planner: wired.Planner, Recovery: wired.Machine, Differ: docedit.Differ{},
		History: wired.Git, Remote: wired.Git, Clock: &d.clock, Version: "test"}).Entries
	at := slices.IndexFunc(entries, func(e tool.Entry) bool { return e.Spec.Name == "deploy_apply" })
	i, err := entries[at].Handler.Decode(json.RawMessage(`{"yes":true}`))
	require.NoError(t, err)
	sc := tool.Scope{Progress: func(tool.Progress) {}}
	plan, err = i.Prepare(t.Context(), sc)
	return plan, func() error {
		_, err := i.Commit(t.Context(), sc, plan)
		return err
	}, err
}

// deployed returns what is deployed, by the name of the command: its version, or the text of an unmanaged file.
func (d *disturbed) deployed(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		text, err := os.ReadFile(filepath.Join(d.dir, "home/.claude/commands", name+".md"))
		if err == nil {
			_, version, ours := strings.Cut(strings.TrimSpace(string(text)), "\nversion ")
			if out[name] = string(text); ours {
				out[name] = version
			}
		}
	}
	return out
}

// all returns every command in one version.
func all(version string) map[string]string {
	return map[string]string{"a": version, "b": version, "c": version}
}

// TestARepositoryThatChangesWhileItIsRead: another version is checked out at the worst points. What is deployed is what was approved, completely, or
// nothing; and an approved plan never mixes files of two versions.
func TestARepositoryThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*disturbed){
		"between two modules of a plan":      func(d *disturbed) { d.looked = "b.md" },
		"between a file's sum and its bytes": func(d *disturbed) { d.read = "b.md" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisturbed(t)
			set(d)
			happened := false
			d.event = func() { d.version(t, "2"); happened = true }
			mixed, _, err := d.try(t)
			again, commit := d.prepare(t) // as deploy_apply does, before it looks up the approval
			if err != nil {
				require.ErrorIs(t, err, deployment.ErrStale)
			} else {
				assert.NotEqual(t, mixed.Hash(), again.Hash(), "the approval of the one is none of the other")
			}
			assert.True(t, happened)
			require.NoError(t, commit())
			assert.Equal(t, all("2"), d.deployed(t))
		})
	}
	for name, set := range map[string]func(*disturbed){
		"before anything is written": func(d *disturbed) { d.step, d.at = "journalled", "journal.json" },
		"as a file is written":       func(d *disturbed) { d.step, d.at = "staged", "a.md" },
		"after the approval":         func(*disturbed) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisturbed(t)
			_, commit := d.prepare(t)
			set(d)
			happened := false
			if d.event = func() { d.version(t, "2"); happened = true }; d.step == "" {
				d.event()
			}
			if err := commit(); err != nil {
				require.ErrorIs(t, err, deployment.ErrStale)
				assert.Empty(t, d.deployed(t), "nothing is left of it")
			} else {
				assert.Equal(t, all("1"), d.deployed(t), "what was approved, whole")
			}
			assert.True(t, happened)
			_, commit = d.prepare(t)
			require.NoError(t, commit())
			assert.Equal(t, all("2"), d.deployed(t), "and the next plan is of the other version")
		})
	}
}

// TestAFileThatAnotherProgramWrites: a file written between the approval and the deployment, or during it, keeps its content; nothing else is
// changed.
func TestAFileThatAnotherProgramWrites(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*disturbed){
		"after the approval":            func(*disturbed) {},
		"as the deployment begins":      func(d *disturbed) { d.step, d.at = "journalled", "journal.json" },
		"as an earlier file is written": func(d *disturbed) { d.step, d.at = "staged", "a.md" },
		"as it is about to be replaced": func(d *disturbed) { d.step, d.at = "staged", "b.md" },
	} {
		for how, write := range map[string]func(path string) error{
			"in place": func(path string) error { return os.WriteFile(path, []byte("theirs\n"), 0o644) },
			"anew": func(path string) error {
				if err := os.WriteFile(path+".tmp", []byte("theirs\n"), 0o600); err != nil {
					return err
				}
				return os.Rename(path+".tmp", path)
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				d := newDisturbed(t)
				_, commit := d.prepare(t)
				require.NoError(t, commit())
				d.version(t, "2")
				_, commit = d.prepare(t)
				set(d)
				d.event = func() { assert.NoError(t, write(filepath.Join(d.dir, "home/.claude/commands/b.md"))) }
				if d.step == "" {
					d.event()
				}
				require.ErrorIs(t, commit(), deployment.ErrStale)
				assert.Equal(t, map[string]string{"a": "1", "b": "theirs\n", "c": "1"}, d.deployed(t))
				plan, _ := d.prepare(t)
				text, err := json.Marshal(plan)
				require.NoError(t, err)
				assert.Contains(t, string(text), "edits made here", "the next plan says so")
			})
		}
	}
}

// TestOverlaysThatLeadInACircle: links in a circle are reported by name, at once, and nothing is planned from them.
func TestOverlaysThatLeadInACircle(t *testing.T) {
	t.Parallel()
	overlay := filepath.Join("overlays", deployment.OverlayNames("command:a")[0])
	for name, links := range map[string]map[string]string{
		"a file to itself":                {overlay + "/a.md": "a.md"},
		"two files to each other":         {overlay + "/a.md": "b.md", overlay + "/b.md": "a.md"},
		"a directory to the one above":    {overlay + "/sub": ".."},
		"two overlays to each other":      {overlay: "other", "overlays/other": filepath.Base(overlay)},
		"the directory of overlays":       {"overlays": "overlays"},
		"its patches to the overlay":      {overlay + "/.agentpack/patches": "../.."},
		"a module to an overlay and back": {"a.md": overlay + "/a.md", overlay + "/a.md": "../../a.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisturbed(t)
			repo := filepath.Join(d.dir, "pack/repo")
			for link, to := range links {
				path := filepath.Join(repo, link)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				if err := os.Remove(path); err != nil {
					require.ErrorIs(t, err, os.ErrNotExist)
				}
				require.NoError(t, os.Symlink(to, path))
			}
			_, _, err := d.try(t)
			require.Error(t, err)
			f := fault.From(err)
			assert.NotEqual(t, fault.Internal, f.Kind, "%v", err)
			assert.Contains(t, f.Message, repo, "it is named")
			assert.NotContains(t, f.Message, "EvalSymlinks")
			assert.Empty(t, d.deployed(t))
		})
	}
}

// TestLinesThatEndInCRLF: modules and the documents of hosts may be written on Windows. Deployed files have the bytes of the modules, merged text
// gets the line endings of its document, and a change of all line endings by an editor is distinguished from an edit of a line.
func TestLinesThatEndInCRLF(t *testing.T) {
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	const manifest = `version: 1
profiles: {default: {include_tags: [base]}, none: {include_tags: [none]}}
targets:
  claude_code: {mode: files, scope: user, options: {write_instructions: true, instructions_mode: section, write_user_skills: true}}
  gemini_cli: {mode: files, scope: user, options: {write_instructions: false, write_skills: false}}
  codex: {mode: files, scope: project}
modules:
  - {id: "instructions:one", type: instructions, tags: [base], source: {local_path: {path: one}}}
  - {id: "instructions:two", type: instructions, tags: [base], source: {local_path: {path: two}}}
  - {id: "skill:review", type: skill, tags: [base], source: {local_path: {path: review}}, targets: [claude_code]}
  - {id: "command:go", type: command, tags: [base], source: {local_path: {path: go.md}}}
  - {id: "mcp:srv", type: mcp, tags: [base], source: {local_path: {path: servers}}, targets: [claude_code, codex]}
`
	r := deployrig.New(t, "-- agentpack.yaml --\n"+manifest)
	r.Entries = deployments.Capability(deployments.Deps{Compiler: r.Compiler, Planner: r.Planner, Recovery: r.Machine, Differ: docedit.Differ{}, History: r.Git, Remote: r.Git, Clock: r.Clock}).Entries
	r.Repo.Git("config", "user.name", "A")
	r.Repo.Git("config", "user.email", "a@example.com")
	r.Repo.Git("config", "core.autocrlf", "false")
	files := map[string]string{"agentpack.yaml": manifest, "one/AGENTS.md": "# One\nFirst.\n\nSecond.\n", "two/AGENTS.md": "# Two\n", "review/SKILL.md": "---\nname: review\ndescription: Reviews\n---\nLook.\n\nTwice.\n",
		"go.md": "---\ndescription: Goes\nallowed-tools: [\"Bash(ls:*)\"]\n---\n!`ls` $ARGUMENTS\n", "servers/srv.json": "{\n  \"command\": \"srv\"\n}\n"}
	for name, text := range files {
		r.Write(r.Repo.Dir, name, crlf(text))
	}
	r.Repo.Git("add", "-A")
	r.Repo.Git("commit", "-qm", "written on Windows")
	mine := map[string]string{".claude/CLAUDE.md": "# Mine\n\nMy rules.\n", ".claude.json": "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"mine\"}\n  }\n}\n"}
	for name, text := range mine {
		r.Write(r.UserHome, name, crlf(text))
	}
	r.Write(r.Project, ".codex/config.toml", crlf("model = \"m\"\n\n[mcp_servers.mine]\ncommand = \"mine\"\n"))

	assert.Contains(t, r.Must("deploy_apply", `{"yes":true}`), `"applied":true`)
	assert.Equal(t, crlf(files["review/SKILL.md"]), r.Read(r.UserHome, ".claude/skills/review/SKILL.md"))
	assert.Equal(t, crlf(files["go.md"]), r.Read(r.UserHome, ".claude/commands/go.md"))
	assert.Contains(t, r.Read(r.UserHome, ".gemini/commands/go.toml"), "!{ls} {{args}}")
	lonely := func(text string) bool { return strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") }
	assert.True(t, strings.HasPrefix(r.Read(r.UserHome, ".claude/CLAUDE.md"), crlf(mine[".claude/CLAUDE.md"])))
	for _, path := range []string{filepath.Join(r.UserHome, ".claude.json"), filepath.Join(r.Project, ".codex/config.toml")} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.False(t, lonely(string(text)), "%s keeps its line ends: %q", path, text)
		assert.Contains(t, string(text), "srv")
	}
	assert.Contains(t, r.Must("status", `{}`), `"drift":[]`)
	assert.Contains(t, r.Must("deploy_apply", `{"yes":true}`), `"reason":"no_changes"`)

	skill := filepath.Join(".claude", "skills", "review", "SKILL.md")
	replace(r, r.UserHome, skill, "Twice.\r\n", "Three times.\r\n")
	upstream(r, "review/SKILL.md", "Look.\r\n", "Look closely.\r\n")
	require.True(t, propose(r, `{"yes":true}`).Data.Created)
	r.Must("deploy_apply", `{"yes":true}`)
	assert.Equal(t, "---\r\nname: review\r\ndescription: Reviews\r\n---\r\nLook closely.\r\n\r\nThree times.\r\n", r.Read(r.UserHome, skill), "both edits, and the line ends")

	text := r.Read(r.UserHome, skill)
	r.Write(r.UserHome, skill, strings.ReplaceAll(text, "\r\n", "\n"))
	now, _ := states(r)
	assert.Equal(t, map[string]string{"SKILL.md": "modified edited_here"}, now, "other line ends are an edit")
	r.Write(r.UserHome, skill, text)

	r.Must("deploy_apply", `{"yes":true,"profile":"none"}`)
	for name, text := range mine {
		assert.Equal(t, crlf(text), r.Read(r.UserHome, name), "%s is as it was, to the byte", name)
	}
	assert.Equal(t, crlf("model = \"m\"\n\n[mcp_servers.mine]\ncommand = \"mine\"\n"), r.Read(r.Project, ".codex/config.toml"))
}
