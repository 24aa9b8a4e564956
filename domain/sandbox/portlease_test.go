package sandbox_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// newState returns a state of that many projects without sandboxes.
func newState(t testing.TB, projects int) (sandbox.State, []string) {
	s := sandbox.State{Projects: map[string]sandbox.Project{}}
	var keys []string
	for i := range projects {
		url := parse(t, fmt.Sprintf("git@host:owner/repo%d", i))
		s.Projects[url.String()] = sandbox.Project{URL: url, Name: sandbox.ProjectName(url, nil), Sandboxes: map[string]sandbox.Sandbox{}}
		keys = append(keys, url.String())
	}
	return s, keys
}

func TestLease(t *testing.T) {
	s, keys := newState(t, 1)
	p := s.Projects[keys[0]]
	got, err := sandbox.LeaseEnv(s, p, "Fix-1", nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"SANDBOX_PORT": "4300", "SANDBOX_PORT_1": "4301", "SANDBOX_PORT_2": "4302", "SANDBOX_PORT_3": "4303", "SANDBOX_PORT_4": "4304",
		"SANDBOX_PORT_5": "4305", "SANDBOX_PORT_6": "4306", "SANDBOX_PORT_7": "4307", "SANDBOX_PORT_8": "4308", "SANDBOX_PORT_9": "4309",
		"SANDBOX_NAME": "Fix-1", "SANDBOX_INDEX": "1", "SANDBOX_DB_NAME": "owner_repo0_fix_1",
	}, got)

	p.Sandboxes["fix-1"] = sandbox.Sandbox{Name: "Fix-1", Leases: got}
	again, err := sandbox.LeaseEnv(s, p, "fix-1", nil)
	require.NoError(t, err)
	assert.Equal(t, got, again, "whoever has a lease keeps it")
	again["SANDBOX_PORT"] = "1"
	assert.Equal(t, "4300", p.Sandboxes["fix-1"].Leases["SANDBOX_PORT"], "and it is a copy")

	busy, err := sandbox.LeaseEnv(s, p, "other", func(port int) bool { return port != 4315 })
	require.NoError(t, err)
	assert.Equal(t, "4320", busy["SANDBOX_PORT"], "one port in use takes its block out")
}

func TestLeaseDatabaseNames(t *testing.T) {
	s, keys := newState(t, 1)
	p := s.Projects[keys[0]]
	p.Name = "9lives-é.x"
	got, err := sandbox.LeaseEnv(s, p, "a", nil)
	require.NoError(t, err)
	assert.Equal(t, "_9lives___x_a", got[sandbox.LeaseDB], "no digit in front, so that it needs no quotes")
	p.Name = strings.Repeat("long", 30)
	long, err := sandbox.LeaseEnv(s, p, "a", nil)
	require.NoError(t, err)
	assert.Len(t, long[sandbox.LeaseDB], sandbox.MaxDBName)
}

func TestLeaseEnds(t *testing.T) {
	s, keys := newState(t, 1)
	p := s.Projects[keys[0]]
	blocks := (sandbox.LastLease - sandbox.FirstLease + 1) / sandbox.LeaseBlock
	for i := range blocks {
		name := "s" + strconv.Itoa(i)
		got, err := sandbox.LeaseEnv(s, p, name, nil)
		require.NoError(t, err)
		p.Sandboxes[name] = sandbox.Sandbox{Name: name, Leases: got}
	}
	_, err := sandbox.LeaseEnv(s, p, "more", nil)
	require.ErrorIs(t, err, sandbox.ErrNoPort)
	freed := p.Sandboxes["s7"].Leases
	delete(p.Sandboxes, "s7")
	got, err := sandbox.LeaseEnv(s, p, "more", nil)
	require.NoError(t, err)
	assert.Equal(t, freed[sandbox.LeasePort], got[sandbox.LeasePort], "what a sandbox had is returned when it goes")
}

// TestLeasesNeverMeet creates and deletes sandboxes of several projects in any order: no two share a port, an index or a database.
func TestLeasesNeverMeet(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		s, keys := newState(outer, 3)
		names := []string{"a", "A-1", "a_1", "b", strings.Repeat("x", 64), strings.Repeat("x", 63) + "y"}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p := s.Projects[rapid.SampledFrom(keys).Draw(t, "project")]
			name := rapid.SampledFrom(names).Draw(t, "name")
			if _, there := p.Sandboxes[sandbox.SandboxKey(name)]; there {
				delete(p.Sandboxes, sandbox.SandboxKey(name))
			} else {
				got, err := sandbox.LeaseEnv(s, p, name, nil)
				require.NoError(t, err)
				p.Sandboxes[sandbox.SandboxKey(name)] = sandbox.Sandbox{Name: name, Leases: got}
			}
			seen := map[string]bool{}
			for _, p := range s.Projects {
				for _, box := range p.Sandboxes {
					for variable, value := range box.Leases {
						switch {
						case strings.HasPrefix(variable, sandbox.LeasePort):
							port, err := strconv.Atoi(value)
							require.NoError(t, err)
							require.True(t, sandbox.FirstLease <= port && port <= sandbox.LastLease)
							require.False(t, seen[value], "port %s twice", value)
							seen[value] = true
						case variable == sandbox.LeaseName:
						default:
							require.False(t, seen[variable+value], "%s=%s twice", variable, value)
							seen[variable+value] = true
						}
					}
					require.Regexp(t, `^[a-z_][a-z0-9_]{0,62}$`, box.Leases[sandbox.LeaseDB])
				}
			}
		}
	})
}

func TestCleanUp(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	old := now.Add(-30 * 24 * time.Hour)
	age := sandbox.DefaultCleanupAge
	for name, row := range map[string]struct {
		finding sandbox.CleanupCandidate
		remove  bool
		reason  string
	}{
		"clean":    {sandbox.CleanupCandidate{}, true, "30 days"},
		"dirty":    {sandbox.CleanupCandidate{Changes: 2}, false, "2 files have uncommitted changes"},
		"one":      {sandbox.CleanupCandidate{Changes: 1}, false, "1 file has uncommitted changes"},
		"unpushed": {sandbox.CleanupCandidate{Unpushed: 1}, false, "1 commit is on no remote"},
		"locked":   {sandbox.CleanupCandidate{Locked: true}, false, "locked in git"},
		"gone":     {sandbox.CleanupCandidate{Missing: true}, true, "directory is missing"},
		"gonework": {sandbox.CleanupCandidate{Missing: true, Unpushed: 3}, false, "3 commits are on no remote"},
		"dark":     {sandbox.CleanupCandidate{Problem: "no permission"}, false, "no permission"},
		"busy":     {sandbox.CleanupCandidate{Busy: true, Missing: true}, false, "in progress"},
	} {
		row.finding.Sandbox = sandbox.Sandbox{Name: name, Directory: "/w/" + name, CreatedAt: old}
		got := sandbox.PlanCleanup([]sandbox.CleanupCandidate{row.finding}, now, age)
		require.Len(t, got, 1)
		assert.Equal(t, row.remove, got[0].Remove, name)
		assert.Contains(t, got[0].Reason, row.reason, name)
		assert.Equal(t, "/w/"+name, got[0].Directory)
	}
	at := func(created time.Time) sandbox.CleanupDecision {
		return sandbox.PlanCleanup([]sandbox.CleanupCandidate{{Sandbox: sandbox.Sandbox{CreatedAt: created}}}, now, age)[0]
	}
	assert.True(t, at(now.Add(-age)).Remove, "exactly as old")
	assert.False(t, at(now.Add(-age+1)).Remove)
	assert.False(t, at(now.Add(time.Hour)).Remove, "made in the future, as a clock that was set back sees it")
	assert.False(t, at(time.Time{}).Remove, "nobody knows how old")
	sorted := sandbox.PlanCleanup([]sandbox.CleanupCandidate{{Sandbox: sandbox.Sandbox{Name: "b"}}, {Sandbox: sandbox.Sandbox{Name: "a"}}}, now, age)
	assert.Equal(t, "a", sorted[0].Name)
	assert.NotNil(t, sandbox.PlanCleanup(nil, now, age))
}

// TestCleanUpNeverTakesWork: sandboxes with unsaved work always stay.
func TestCleanUpNeverTakesWork(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		f := sandbox.CleanupCandidate{
			Changes: rapid.IntRange(0, 2).Draw(t, "changes"), Unpushed: rapid.IntRange(0, 2).Draw(t, "unpushed"), Locked: rapid.Bool().Draw(t, "locked"),
			Missing: rapid.Bool().Draw(t, "missing"), Busy: rapid.Bool().Draw(t, "busy"), Problem: rapid.SampledFrom([]string{"", "x"}).Draw(t, "problem"),
			Sandbox: sandbox.Sandbox{CreatedAt: now.Add(-time.Duration(rapid.IntRange(-100, 1000).Draw(t, "hours")) * time.Hour)},
		}
		v := sandbox.PlanCleanup([]sandbox.CleanupCandidate{f}, now, sandbox.DefaultCleanupAge)[0]
		require.NotEmpty(t, v.Reason)
		if f.Changes > 0 || f.Unpushed > 0 || f.Locked || f.Busy || f.Problem != "" {
			require.False(t, v.Remove, "%+v", f)
		}
	})
}
