package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every test here is of a defect that agentpack contract §10.2 lists, or of §10.3 where it is about looking.

// oneModule is a configuration of one module, described in YAML, for codex in the project.
func oneModule(module string) string {
	return "version: 1\nprofiles: {default: {include_tags: [base]}}\ntargets:\n  codex: {mode: files, scope: project}\nmodules:\n  - " + module + "\n"
}

// TestWaysOutAreRefused: ids, paths, URLs and refs that lead out of where they belong are refused when they are read, and nothing happens.
func TestWaysOutAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	mark := filepath.Join(s.countersign, "executed")
	git := func(source string) string {
		return `{id: "instructions:x", type: instructions, tags: [base], source: {git: {` + source + `}}}`
	}
	local := func(id, kind, path string) string {
		return fmt.Sprintf(`{id: %q, type: %s, tags: [base], source: {local_path: {path: %q}}}`, id, kind, path)
	}
	before := tree(t, s.outside, s.home, s.project)
	for name, module := range map[string]string{
		"skill id upwards":       local("skill:../../x", "skill", "modules/skills/release-notes"),
		"skill id of the parent": local("skill:..", "skill", "modules/skills/release-notes"),
		"skill id with a slash":  local("skill:a/b", "skill", "modules/skills/release-notes"),
		"absolute skill id":      local("skill:/tmp/x", "skill", "modules/skills/release-notes"),
		"local path upwards":     local("instructions:x", "instructions", "../../outside"),
		"local path inside out":  local("instructions:x", "instructions", "modules/../../../outside"),
		"absolute local path":    local("instructions:x", "instructions", s.outside),
		"subdir upwards":         git(`url: "https://example.com/x.git", subdir: "../.."`),
		"absolute subdir":        git(`url: "https://example.com/x.git", subdir: "/etc"`),
		"URL that is a program":  git(`url: "ext::sh -c touch% ` + mark + `"`),
		"URL that is an option":  git(`url: "--upload-pack=touch ` + mark + `"`),
		"ref that is an option":  git(`url: "https://example.com/x.git", ref: "--upload-pack=touch ` + mark + `"`),
	} {
		manifest := oneModule(module)
		write(t, s.inRepo("agentpack.yaml"), manifest)
		e := a.ask("deploy", nil)
		require.False(t, e.OK, name)
		assert.Contains(t, []string{"E_CONFIG_INVALID", "E_IO_INVALID_PATH"}, e.Errors[0].Code, "%s: %s", name, e.Errors[0].Message)
		require.NoError(t, os.Remove(s.inRepo("agentpack.yaml")))
		delete(before, s.inRepo("agentpack.yaml"))
		assert.Equal(t, before, tree(t, s.outside, s.home, s.project), name)
	}
	assert.NoFileExists(t, mark)
}

// TestSnapshotIDsAreNoPaths: rollback takes identifiers and nothing else.
func TestSnapshotIDsAreNoPaths(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	id := a.deploys(nil).Snapshot
	write(t, filepath.Join(s.countersign, id+".json"), read(t, filepath.Join(s.state, "state/snapshots", id+".json")))
	before := s.deployed()
	for _, to := range []string{"../" + id, "../../../../countersign/" + id, filepath.Join(s.countersign, id), id + ".json", "./" + id, "", ".", "..", id + "\x00", "999", "initial/", "INITIAL"} {
		e := a.ask("rollback", args{"to": to, "yes": true})
		require.False(t, e.OK, "%q", to)
		assert.Contains(t, []string{"E_SNAPSHOT_NOT_FOUND", "E_CONFIG_INVALID"}, e.Errors[0].Code, "%q: %s", to, e.Errors[0].Message)
	}
	assert.Equal(t, before, s.deployed())
}

// TestLinksOutOfAModuleAreRefused: a module that links to what lies outside it deploys nothing of that.
func TestLinksOutOfAModuleAreRefused(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"file": "notes.txt", "directory": ".", "nothing": "nowhere"} {
		for _, relative := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " relative ", relative), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				link := s.inRepo("modules/skills/release-notes/leak")
				to := filepath.Join(s.outside, target)
				if relative {
					var err error
					to, err = filepath.Rel(filepath.Dir(link), to)
					require.NoError(t, err)
				}
				require.NoError(t, os.Symlink(to, link))
				before := s.deployed()
				a := s.agent()
				for _, tool := range []string{"plan", "deploy"} {
					e := a.ask(tool, nil)
					require.False(t, e.OK)
					assert.Contains(t, []string{"E_CONFIG_INVALID", "E_IO_INVALID_PATH"}, e.Errors[0].Code, e.Errors[0].Message)
					assert.Contains(t, e.Errors[0].Message, "leak")
				}
				assert.Equal(t, before, s.deployed())
			})
		}
	}
}

// TestLinksBelowARootAreNotFollowed: where a directory below a root is a link out of it, nothing is written through it.
func TestLinksBelowARootAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, os.MkdirAll(s.inProject(".agents/skills"), 0o755))
	require.NoError(t, os.Symlink(s.outside, s.inProject(".agents/skills/release-notes")))
	before := s.deployed()
	a := s.agent()
	offer := a.ask("deploy", nil)
	if offer.OK {
		e := a.ask("deploy_apply", args{"yes": true, "adopt": true, "confirm_token": offer.answer(t).Token})
		e.refusal(t, "E_IO_INVALID_PATH")
	} else {
		offer.refusal(t, "E_IO_INVALID_PATH")
	}
	assert.Equal(t, before, s.deployed(), "nothing at all is written")
}

// TestLookingWritesNothing: the tools that look leave no trace below the home, the capability's own directory and the project, whatever
// state those are in.
// TestNothingLeavesTheProjectByALink: a repository that was cloned may hold links; neither is anything written through one out of the
// project, nor is what one leads to shown or proposed.
func TestNothingLeavesTheProjectByALink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, s.inProject(".cursor")))
	a := s.agent()
	token := a.does("deploy", nil).Token
	p := a.refuses("E_IO_INVALID_PATH", "deploy_apply", args{"yes": true, "adopt": true, "confirm_token": token})
	assert.Contains(t, p.Message, "link out of the root")
	assert.Empty(t, names(t, outside))

	require.NoError(t, os.Remove(s.inProject(".cursor")))
	write(t, filepath.Join(outside, "key"), "a private key\n")
	_ = os.Remove(s.inProject("AGENTS.md"))
	require.NoError(t, os.Symlink(filepath.Join(outside, "key"), s.inProject("AGENTS.md")))
	shown := a.ask("preview", args{"diff": true})
	assert.NotContains(t, fmt.Sprint(string(shown.Data)), "a private key")
	assert.Contains(t, fmt.Sprint(shown.Warnings), "a symbolic link to")
	assert.NotContains(t, string(a.ask("evolve_propose", args{"dry_run": true}).Data), `"target":"codex","path":"`+s.inProject("AGENTS.md"))
}

func TestLookingWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	looks := func(when string) {
		before := tree(t, s.home, s.project, s.outside)
		a := s.agent()
		for _, tool := range []string{"plan", "diff", "preview", "status", "doctor", "deploy", "explain"} {
			in := args{}
			switch tool {
			case "preview":
				in["diff"] = true
			case "explain":
				in["kind"] = "status"
			}
			assert.True(t, a.ask(tool, in).OK, "%s %s", tool, when)
			assert.Equal(t, before, tree(t, s.home, s.project, s.outside), "%s %s", tool, when)
		}
		for tool, in := range map[string]args{"deploy_apply": {}, "evolve_propose": {}, "evolve_restore": {}} {
			in["dry_run"] = true
			assert.True(t, a.ask(tool, in).OK, "%s %s", tool, when)
		}
		assert.Equal(t, before, tree(t, s.home, s.project, s.outside), "dry runs "+when)
	}
	looks("before anything was deployed")
	a := s.agent()
	a.deploys(nil)
	looks("after a deployment")
	edit(t, s.inProject("AGENTS.md"), "# Style", "# My style")
	require.NoError(t, os.Remove(s.inHome(".agents/skills/review/SKILL.md")))
	require.NoError(t, os.RemoveAll(s.inProject(".github/skills")))
	looks("with drift")
	a.does("rollback", args{"to": "initial", "yes": true})
	looks("after going back")
}

// TestDoctorReportsWhatIsBroken: doctor tells of a broken module and of missing directories instead of failing on them.
func TestDoctorReportsWhatIsBroken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	write(t, s.inRepo("modules/skills/release-notes/SKILL.md"), "no frontmatter\n")
	write(t, s.inProject(".cursor"), "a file where a directory should be\n")
	a := s.agent()
	a.refuses("E_CONFIG_INVALID", "plan", nil)
	e := a.ask("doctor", nil)
	require.True(t, e.OK, "%+v", e.Errors)
	assert.Contains(t, strings.Join(e.Warnings, "\n"), "skill:release-notes")
	var data struct {
		Roots []struct {
			Root, Suggestion string
			Issues           []string
		}
	}
	require.NoError(t, json.Unmarshal(e.Data, &data))
	issues := map[string]string{}
	for _, r := range data.Roots {
		issues[r.Root] = fmt.Sprint(r.Issues, " ", r.Suggestion)
	}
	assert.Equal(t, "[missing] create directory: mkdir -p "+s.inProject(".claude/skills"), issues[s.inProject(".claude/skills")])
	assert.Contains(t, issues[s.inProject(".cursor/rules")], "[not_a_directory]")
	assert.Equal(t, "[] ", issues[s.project])
}

// TestACorruptLockfileIsAlwaysSaid: no tool works around a lockfile that cannot be read, whether a module needs it or not.
func TestACorruptLockfileIsAlwaysSaid(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{"{": "E_LOCKFILE_INVALID", "": "E_LOCKFILE_INVALID", "[]": "E_LOCKFILE_INVALID", `{"version":1,"modules":[{"id":""}]}`: "E_LOCKFILE_INVALID",
		`{"version":2,"generated_at":"2026-03-01T10:00:00Z","modules":[]}`: "E_LOCKFILE_UNSUPPORTED_VERSION"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			before := s.deployed()
			write(t, s.inRepo("agentpack.lock.json"), text)
			a := s.agent()
			for _, tool := range []string{"plan", "diff", "preview", "status", "deploy", "evolve_propose", "evolve_restore"} {
				p := a.refuses(code, tool, nil)
				assert.Equal(t, s.inRepo("agentpack.lock.json"), p.Details["path"])
			}
			a.refuses(code, "explain", args{"kind": "plan"})
			a.refuses(code, "doctor", nil)
			assert.Equal(t, before, s.deployed())
		})
	}
}

// gitModule gives the site a repository to fetch from, and a configuration and lockfile that name its commit.
func (s *site) gitModule(text string) (upstream, commit string) {
	s.t.Helper()
	upstream = filepath.Join(s.countersign, "upstream")
	write(s.t, filepath.Join(upstream, "rules/AGENTS.md"), text)
	s.newProject(upstream, "")
	s.git(upstream, "add", "-A")
	s.git(upstream, "commit", "-q", "-m", "rules")
	commit = s.git(upstream, "rev-parse", "HEAD")
	s.manifest(oneModule(fmt.Sprintf(`{id: "instructions:far", type: instructions, tags: [base], source: {git: {url: %q, subdir: rules}}}`, upstream)))
	s.lock(upstream, commit, text)
	return upstream, commit
}

// lock writes the lockfile of gitModule (agentpack contract §2.4).
func (s *site) lock(upstream, commit, text string) {
	s.t.Helper()
	file := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	whole := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "AGENTS.md\n%s\n%d\n", file, len(text))))
	doc := args{"version": 1, "generated_at": "2026-03-01T10:00:00Z", "modules": []args{{"id": "instructions:far", "type": "instructions",
		"resolved_source":  args{"local_path": nil, "git": args{"url": upstream, "commit": commit, "subdir": "rules"}},
		"resolved_version": commit, "sha256": whole, "file_manifest": []args{{"path": "AGENTS.md", "sha256": file, "bytes": len(text)}}}}}
	data, err := json.Marshal(doc)
	require.NoError(s.t, err)
	write(s.t, s.inRepo("agentpack.lock.json"), string(data))
}

// TestGitSourcesAreLocked: a module from git needs the lockfile, is fetched once, is what was locked whatever its branch says now, needs
// no git and no network once it is in the cache, and is not used when the cache was changed.
func TestGitSourcesAreLocked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	upstream, commit := s.gitModule("# Far rules\n")
	lockfile := read(t, s.inRepo("agentpack.lock.json"))
	require.NoError(t, os.Remove(s.inRepo("agentpack.lock.json")))
	s.agent().refuses("E_LOCKFILE_MISSING", "plan", nil)
	write(t, s.inRepo("agentpack.lock.json"), lockfile)
	s.env["AGENTPACK_OFFLINE"] = "1"
	s.agent().refuses("E_OFFLINE", "plan", nil)
	assert.NoDirExists(t, filepath.Join(s.state, "cache/git"))
	delete(s.env, "AGENTPACK_OFFLINE")
	s.typed("agents", "plan", "--offline").refusal(t, "E_OFFLINE")

	write(t, filepath.Join(upstream, "rules/AGENTS.md"), "# Moved on\n")
	s.git(upstream, "commit", "-q", "-a", "-m", "moved on")
	s.agent().deploys(nil)
	assert.Equal(t, "# Far rules\n", read(t, s.inProject("AGENTS.md")))
	require.NoError(t, os.RemoveAll(upstream))
	path := s.env["PATH"]
	s.env["PATH"], s.env["AGENTPACK_OFFLINE"] = s.outside, "1"
	a := s.agent()
	assert.Empty(t, a.does("plan", nil).Changes, "with no git to be found and nothing to fetch from")
	require.NoError(t, os.Remove(s.inProject("AGENTS.md")))
	a.deploys(nil)
	assert.Equal(t, "# Far rules\n", read(t, s.inProject("AGENTS.md")))
	s.env["PATH"] = path

	var cached []string
	require.NoError(t, filepath.WalkDir(filepath.Join(s.state, "cache/git"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "AGENTS.md" {
			cached = append(cached, path)
		}
		return err
	}))
	require.Len(t, cached, 1)
	assert.Contains(t, cached[0], commit)
	edit(t, cached[0], "# Far rules", "# Fat rules")
	for _, tool := range []string{"plan", "deploy"} {
		a.refuses("E_CONTENT_MISMATCH", tool, nil)
	}
	assert.Equal(t, "# Far rules\n", read(t, s.inProject("AGENTS.md")))
}

// TestUnknownKeysAreSaid: a typo in the manifest is a warning with its line.
func TestUnknownKeysAreSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	edit(t, s.inRepo("agentpack.yaml"), "tags: [base]\n    targets:", "tagz: [base]\n    targets:")
	e := s.agent().ask("plan", nil)
	line := 1 + slices.IndexFunc(strings.Split(read(t, s.inRepo("agentpack.yaml")), "\n"), func(l string) bool { return strings.Contains(l, "tagz") })
	require.Len(t, e.Warnings, 1, "each warning once: %v", e.Warnings)
	assert.Contains(t, e.Warnings[0], "tagz")
	assert.Contains(t, e.Warnings[0], fmt.Sprint(line))
}
