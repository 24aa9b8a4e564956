package mcpclients_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// program is where this program lies, for tests: with a space in it.
const program = "/opt/my tools/countersign"

// stage is a home, a project and the tools, over real files.
type stage struct {
	testing.TB
	top, home, project, own string // own is COUNTERSIGN_HOME
	env                     map[string]string
	keys                    *keyring
	clock                   *clock.Fake
	step                    func(step, path string)
	lasting                 bool
	rules                   mcpclients.PolicyInfo
	gateway                 mcpclients.GatewayAccess
}

func newStage(t testing.TB) *stage {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &stage{TB: t, top: top, home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), own: filepath.Join(top, "home", ".countersign"),
		keys: &keyring{secrets: map[string]string{}, scopes: map[string][]string{}}, clock: &clock.Fake{}, lasting: true}
	s.clock.Set(time.Date(2026, 11, 22, 9, 30, 0, 0, time.UTC))
	s.env = map[string]string{"HOME": s.home, "AGENTPACK_HOME": filepath.Join(s.home, ".agentpack"), "AGENTPACK_MACHINE_ID": "ada"}
	for _, dir := range []string{s.home, filepath.Join(s.project, ".git")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.project, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	return s
}

func (s *stage) tools() []tool.Entry {
	env := func(name string) string { return s.env[name] }
	machine := deployfile.NewMachine(deployfile.Options{Index: observe.OpenIndex(""), Clock: s.clock, Env: env, Step: s.step})
	here := local.NewSurroundings(s.own, env)
	here.System, here.Program = "linux", func() (string, bool, error) { return program, s.lasting, nil }
	d := mcpclients.Deps{Places: configrepo.NewPlaces(env, s.project), Machine: machine, Recovery: machine, Documents: docedit.Documents{}, Differ: docedit.Differ{},
		Clock: s.clock, Here: here, Default: []string{"packs", "deployments"}, Rules: func(context.Context) (mcpclients.PolicyInfo, error) { return s.rules, nil }}
	if s.gateway.URL != "" {
		d.Gateway = func(context.Context, string) (mcpclients.GatewayAccess, error) { return s.gateway, nil }
	}
	if s.keys != nil {
		d.Keys = s.keys
	}
	return mcpclients.Entries(d)
}

// args are the arguments of a call.
type args map[string]any

// with returns the arguments and one more.
func (a args) with(name string, value any) args {
	out := maps.Clone(a)
	out[name] = value
	return out
}

// begun is a call that was prepared.
type begun struct {
	stage      *stage
	invocation tool.Invocation
	plan       *mcpclients.Plan
}

func (s *stage) begin(name string, a args) (begun, error) {
	s.Helper()
	raw, err := json.Marshal(a)
	require.NoError(s, err)
	entries := s.tools()
	i := slices.IndexFunc(entries, func(e tool.Entry) bool { return string(e.Spec.Name) == name })
	require.GreaterOrEqual(s, i, 0)
	require.True(s, entries[i].Spec.UserOnly, "for people alone")
	b := begun{stage: s}
	if b.invocation, err = entries[i].Handler.Decode(raw); err != nil {
		return b, err
	}
	require.LessOrEqual(s, b.invocation.Claims().Class, entries[i].Spec.Class)
	p, err := b.invocation.Prepare(context.Background(), tool.Scope{Progress: func(tool.Progress) {}})
	b.plan, _ = p.(*mcpclients.Plan)
	return b, err
}

func (b begun) commit() (json.RawMessage, []string, error) {
	b.stage.Helper()
	var p tool.Plan
	if b.plan != nil {
		p = b.plan
	}
	value, err := b.invocation.Commit(context.Background(), tool.Scope{Progress: func(tool.Progress) {}}, p)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(value)
	require.NoError(b.stage, err)
	var report struct {
		Data     json.RawMessage
		Warnings []string
	}
	require.NoError(b.stage, json.Unmarshal(text, &report))
	require.NotNil(b.stage, report.Warnings)
	return report.Data, report.Warnings, nil
}

// try returns a whole call of connect_host.
func (s *stage) try(a args) (mcpclients.ConnectResult, error) {
	s.Helper()
	b, err := s.begin("connect_host", a)
	if err != nil {
		return mcpclients.ConnectResult{}, err
	}
	data, _, err := b.commit()
	if err != nil {
		return mcpclients.ConnectResult{}, err
	}
	var answer mcpclients.ConnectResult
	require.NoError(s, json.Unmarshal(data, &answer))
	return answer, nil
}

func (s *stage) must(a args) mcpclients.ConnectResult {
	s.Helper()
	answer, err := s.try(a)
	require.NoError(s, err)
	return answer
}

// listed returns the hosts, by name.
func (s *stage) listed(a args) map[string]mcpclients.HostStatus {
	s.Helper()
	b, err := s.begin("list_hosts", a)
	require.NoError(s, err)
	data, _, err := b.commit()
	require.NoError(s, err)
	var hosts mcpclients.HostList
	require.NoError(s, json.Unmarshal(data, &hosts))
	out := map[string]mcpclients.HostStatus{}
	for _, h := range hosts.Hosts {
		out[h.Host] = h
	}
	return out
}

func (s *stage) put(path, text string) string {
	s.Helper()
	require.NoError(s, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// read returns a file's text, or what it is instead.
func (s *stage) read(path string) string {
	s.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "(no file)"
	}
	require.NoError(s, err)
	return string(data)
}

// plain returns text with this test's directories replaced by names that stay.
func (s *stage) plain(text string) string { return strings.ReplaceAll(text, s.top, "") }

// tree returns every file below the home and the project but Countersign's own, with its content.
func (s *stage) tree() map[string]string {
	s.Helper()
	out := map[string]string{}
	require.NoError(s, filepath.WalkDir(s.top, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == s.own {
			return filepath.SkipDir
		}
		if !e.IsDir() {
			out[s.plain(path)] = s.read(path)
		}
		return nil
	}))
	return out
}

// keyring is tokens in memory: the contract of TokenIssuer. The tests of package local check the real one.
type keyring struct {
	mu      sync.Mutex
	secrets map[string]string
	scopes  map[string][]string
	made    int
}

func (k *keyring) Good(_ context.Context, name, secret string, toolsets []string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return secret != "" && k.secrets[name] == secret && slices.Equal(k.scopes[name], toolsets), nil
}

func (k *keyring) Renew(_ context.Context, name string, toolsets []string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made++
	k.secrets[name], k.scopes[name] = "cst_"+canon.SumBytes("test", []byte{byte(k.made)}).Hex()[:26], toolsets
	return k.secrets[name], nil
}

func (k *keyring) Live(_ context.Context, name, secret string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, there := k.secrets[name]
	return there && (secret == "" || now == secret), nil
}

func (k *keyring) Revoke(_ context.Context, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.secrets, name)
	return nil
}
