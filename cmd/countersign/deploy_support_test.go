package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// The sample's overlays are for one machine and for the project of this remote.
const (
	sampleRepo    = "../../app/deployments/testdata/sample"
	sampleRemote  = "https://github.com/example/example.git"
	sampleMachine = "workbench"
)

// site is a user's machine for one test: a home with the sample as config repository, a project under git, and files around both that
// no test may see changed.
type site struct {
	t                           *testing.T
	base, home, project, repo   string
	state, countersign, outside string
	env                         map[string]string
	strict                      bool // the command as users install it, and not one in which the caller approves
}

// newSite makes a site, and holds it to leaving everything outside the roots alone when the test ends.
func newSite(t *testing.T) *site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(base, name) }
	s := &site{t: t, base: base, home: at("home"), project: at("work/shop"), repo: at("home/.agentpack/repo"),
		state: at("home/.agentpack"), countersign: at("countersign"), outside: at("outside")}
	s.env = map[string]string{"HOME": s.home, "AGENTPACK_HOME": s.state, "COUNTERSIGN_HOME": s.countersign, "AGENTPACK_MACHINE_ID": sampleMachine,
		"PATH": os.Getenv("PATH"), "TMPDIR": t.TempDir(), "COUNTERSIGN_LOG": "warn", "GORACE": "atexit_sleep_ms=0", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"}
	require.NoError(t, os.CopyFS(s.repo, os.DirFS(sampleRepo)))
	for _, name := range []string{"outside/notes.txt", "work/neighbour/AGENTS.md", "work/AGENTS.md", "home/.bashrc", "home/.ssh/config", "home/AGENTS.md",
		"home/.codex/sessions/1.jsonl", "work/shop/src/main.go", "work/shop/.github/workflows/ci.yml"} {
		write(t, at(name), "canary of "+name+"\n")
	}
	s.newProject(s.project, sampleRemote)
	require.NoError(t, os.Mkdir(s.countersign, 0o700))
	before := s.canary()
	t.Cleanup(func() { assert.Equal(t, before, s.canary(), "something outside the roots was touched") })
	return s
}

// newProject makes a directory a git work tree, with a remote or without.
func (s *site) newProject(dir, remote string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(dir, 0o755))
	s.git(dir, "init", "-q", "-b", "main")
	if remote != "" {
		s.git(dir, "remote", "add", "origin", remote)
	}
}

// canary returns everything a deployment may never touch.
func (s *site) canary() map[string]string {
	out := tree(s.t, s.outside, filepath.Join(s.base, "work/neighbour"), filepath.Join(s.home, ".ssh"), filepath.Join(s.home, ".codex/sessions"),
		filepath.Join(s.project, "src"), filepath.Join(s.project, ".git"), filepath.Join(s.project, ".github/workflows"))
	for _, name := range []string{"home/.bashrc", "home/AGENTS.md", "work/AGENTS.md"} {
		out[name] = stood(s.t, filepath.Join(s.base, name))
	}
	out["names"] = fmt.Sprint(names(s.t, s.base), names(s.t, filepath.Join(s.base, "work")))
	return out
}

// deployed returns the home and the project as a user sees them, directories included, without what the capability keeps for itself.
func (s *site) deployed() map[string]string {
	s.t.Helper()
	return treeBut(s.t, []string{s.state, s.inProject(".git")}, s.home, s.project)
}

// files returns the part of a tree that is no directory.
func files(tree map[string]string) map[string]string {
	out := maps.Clone(tree)
	maps.DeleteFunc(out, func(_, what string) bool { return strings.HasPrefix(what, "d") })
	return out
}

// contents is files without manifests, which say when they were written.
func contents(tree map[string]string) map[string]string {
	out := files(tree)
	maps.DeleteFunc(out, func(path, _ string) bool { return strings.HasPrefix(filepath.Base(path), ".agentpack.manifest") })
	return out
}

// tree returns everything below some directories, and they themselves: mode and sum of files, mode of directories, targets of links.
func tree(t testing.TB, roots ...string) map[string]string {
	t.Helper()
	return treeBut(t, nil, roots...)
}

// treeBut is tree without some directories.
func treeBut(t testing.TB, skipped []string, roots ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, root := range roots {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if slices.Contains(skipped, path) {
				return fs.SkipDir
			}
			if err == nil {
				out[path] = stood(t, path)
			}
			return err
		}))
	}
	return out
}

// stood returns what stands at a path.
func stood(t testing.TB, path string) string {
	info, err := os.Lstat(path)
	require.NoError(t, err)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		require.NoError(t, err)
		return "-> " + to
	case info.IsDir():
		return info.Mode().String()
	}
	sum := sha256.Sum256([]byte(read(t, path)))
	return info.Mode().String() + " " + hex.EncodeToString(sum[:8])
}

func names(t testing.TB, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// edit replaces a text in a file that has to hold it.
func edit(t testing.TB, path, old, changed string) {
	t.Helper()
	text := read(t, path)
	require.Contains(t, text, old, path)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(text, old, changed, 1)), 0o644))
}

func (s *site) inRepo(name string) string    { return filepath.Join(s.repo, name) }
func (s *site) inHome(name string) string    { return filepath.Join(s.home, name) }
func (s *site) inProject(name string) string { return filepath.Join(s.project, name) }

// manifest writes agentpack.yaml.
func (s *site) manifest(text string) { write(s.t, s.inRepo("agentpack.yaml"), text) }

func (s *site) git(dir string, arguments ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, arguments...)...)
	cmd.Env = s.environ()
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "git %v: %s", arguments, out)
	return strings.TrimSpace(string(out))
}

func (s *site) environ() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		out = append(out, name+"="+s.env[name])
	}
	return out
}

// commandIn is this very binary as countersign, in a directory.
func (s *site) commandIn(dir string, arguments ...string) *exec.Cmd {
	s.t.Helper()
	exe, err := os.Executable()
	require.NoError(s.t, err)
	as := "countersign"
	if s.strict {
		as = "countersign-strict"
	}
	cmd := exec.Command(exe)
	cmd.Args = append([]string{as}, arguments...)
	cmd.Dir, cmd.Env = dir, s.environ()
	return cmd
}

// tool calls a tool from the command line, approved, and returns its envelope.
func (s *site) tool(name string, a args) envelope {
	s.t.Helper()
	text, err := json.Marshal(a)
	require.NoError(s.t, err)
	return s.typed("tools", "call", name, "--args", string(text), "--yes")
}

// typed returns the envelope of a command that the user types.
func (s *site) typed(arguments ...string) envelope {
	s.t.Helper()
	var out, problems bytes.Buffer
	cmd := s.commandIn(s.project, append(arguments, "--json")...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	_ = cmd.Run()
	var e envelope
	require.NoError(s.t, json.Unmarshal(out.Bytes(), &e), "%s%s", out.String(), problems.String())
	assert.Equal(s.t, e.OK, cmd.ProcessState.ExitCode() == 0, problems.String())
	return e
}

// agent is a client of countersign mcp.
type agent struct {
	*stdiotest.Client
	t   testing.TB
	cmd *exec.Cmd
}

func (s *site) agent() *agent { return s.agentIn(s.project) }

func (s *site) agentIn(dir string, flags ...string) *agent {
	s.t.Helper()
	cmd := s.commandIn(dir, append([]string{"mcp", "--toolsets", "deployments"}, flags...)...)
	a := &agent{Client: stdiotest.Start(s.t, cmd), t: s.t, cmd: cmd}
	a.Initialize("2025-06-18")
	return a
}

// envelope is the one form of every answer (agentpack contract §6.1).
type envelope struct {
	Schema   int             `json:"schema_version"`
	OK       bool            `json:"ok"`
	Command  string          `json:"command"`
	ID       string          `json:"command_id"`
	Path     []string        `json:"command_path"`
	Version  string          `json:"version"`
	Data     json.RawMessage `json:"data"`
	Warnings []string        `json:"warnings"`
	Errors   []problem       `json:"errors"`
}

type problem struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// answer is what tests look at in data, of any tool.
type answer struct {
	Applied  *bool    `json:"applied"`
	Reason   string   `json:"reason"`
	Snapshot string   `json:"snapshot_id"`
	Event    string   `json:"event_snapshot_id"`
	Token    string   `json:"confirm_token"`
	Hash     string   `json:"confirm_plan_hash"`
	Expires  string   `json:"confirm_token_expires_at"`
	Changes  []change `json:"changes"`
	Drift    []change `json:"drift"`
	Summary  map[string]int
	Left     []string `json:"left"`
}

type change struct {
	Target     string `json:"target"`
	Op         string `json:"op"`
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	Before     string `json:"before_sha256"`
	After      string `json:"after_sha256"`
	Mode       string `json:"mode"`
	UpdateKind string `json:"update_kind"`
	DeleteKind string `json:"delete_kind"`
	Reason     string `json:"reason"`
}

// at returns the change of one path; the test fails without exactly one.
func (a answer) at(t testing.TB, path string) change {
	t.Helper()
	var found []change
	for _, c := range slices.Concat(a.Changes, a.Drift) {
		if c.Path == path {
			found = append(found, c)
		}
	}
	require.Len(t, found, 1, "changes of %s among %+v", path, a.Changes)
	return found[0]
}

// ask calls a tool and holds its answer to what is true of every one: the text and the object are the same document, and it is an error
// exactly when it is not ok.
func (a *agent) ask(tool string, in args) envelope {
	a.t.Helper()
	if in == nil {
		in = args{}
	}
	return checked(a.t, a.Call(tool, in))
}

func checked(t testing.TB, r stdiotest.Result) envelope {
	t.Helper()
	require.Nil(t, r.Err, "an error of the protocol: %+v", r.Err)
	require.JSONEq(t, r.Text, string(r.Structured), "text and structuredContent differ")
	var e envelope
	require.NoError(t, json.Unmarshal(r.Structured, &e))
	assert.Equal(t, 1, e.Schema)
	assert.Equal(t, !e.OK, r.IsError, "isError is not the opposite of ok")
	assert.Equal(t, strings.Join(e.Path, " "), e.ID)
	assert.NotNil(t, e.Warnings, "warnings are a list")
	assert.NotNil(t, e.Errors, "errors are a list")
	if !e.OK {
		require.Len(t, e.Errors, 1)
		assert.JSONEq(t, `{}`, string(e.Data), "a failure has no data")
	}
	return e
}

// does calls a tool that has to succeed.
func (a *agent) does(tool string, in args) answer {
	a.t.Helper()
	return a.ask(tool, in).answer(a.t)
}

// answer returns the data of a success.
func (e envelope) answer(t testing.TB) answer {
	t.Helper()
	require.True(t, e.OK, "%+v", e.Errors)
	var out answer
	require.NoError(t, json.Unmarshal(e.Data, &out))
	return out
}

// refuses calls a tool that has to fail with a code.
func (a *agent) refuses(code, tool string, in args) problem {
	a.t.Helper()
	return a.ask(tool, in).refusal(a.t, code)
}

func (e envelope) refusal(t testing.TB, code string) problem {
	t.Helper()
	require.False(t, e.OK, "it succeeded: %s", e.Data)
	require.Equal(t, code, e.Errors[0].Code, e.Errors[0].Message)
	if code != "E_UNEXPECTED" {
		assert.NotEmpty(t, e.Errors[0].Details["reason_code"], code)
		assert.NotEmpty(t, e.Errors[0].Details["next_actions"], code)
	}
	return e.Errors[0]
}

// deploys plans and applies in one go, adopting what is there.
func (a *agent) deploys(in args) answer {
	a.t.Helper()
	offer := a.does("deploy", in)
	apply := args{"yes": true, "adopt": true, "confirm_token": offer.Token}
	maps.Copy(apply, in)
	return a.does("deploy_apply", apply)
}

// response returns a message as the answer to a request.
func response(t testing.TB, raw json.RawMessage) (r stdiotest.Response) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &r))
	return r
}
