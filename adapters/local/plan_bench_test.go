//go:build unix

package local_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/cputime"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// The budgets of plans in which nothing changed, through the whole door, opened and closed again each time as a command does it. The files
// are those of the modules and, once a target, those that were deployed; both have to be looked at.
//
//	BenchmarkPlan/warm     the sums are known        ≤ 1.5 × walking both and lstat-ing every file, by one goroutine or by as many as cores
//	BenchmarkPlan/cold     nothing is known          ≤ 1.5 × reading and SHA-256-ing every file, by as many goroutines as cores
//	BenchmarkPlan/targets  four targets, known sums  ≤ 2.5 × one target: modules are composed once
//	BenchmarkPlan/status   as warm                   drift and extras too

// configFixture is a config repository of skills, a hundred files each, and what it was deployed to.
type configFixture struct {
	b                  testing.TB
	dir, home, project string
	roots              []string // of everything that a plan has to look at
}

// newFarm deploys so many files to each of the targets. It waits until the files' time stamps are believed.
func newFarm(b testing.TB, files int, targets ...string) *configFixture {
	f := &configFixture{b: b, dir: b.TempDir()}
	f.home, f.project = filepath.Join(f.dir, "home"), filepath.Join(f.dir, "project")
	repo := filepath.Join(f.home, ".agentpack", "repo")
	require.NoError(b, os.MkdirAll(filepath.Join(f.project, ".git"), 0o755))
	require.NoError(b, os.WriteFile(filepath.Join(f.project, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	var manifest strings.Builder
	manifest.WriteString("version: 1\nprofiles:\n  default:\n    include_tags: [base]\ntargets:\n")
	for _, target := range targets {
		fmt.Fprintf(&manifest, "  %s: {mode: files, scope: user, options: {write_user_skills: true}}\n", target)
	}
	manifest.WriteString("modules:\n")
	body := strings.Repeat("Line by line, what an agent should know.\n", 24)
	const each = 100
	for s := range files / each {
		name := fmt.Sprintf("skill-%d", s)
		dir := filepath.Join(repo, "modules", name)
		require.NoError(b, os.MkdirAll(filepath.Join(dir, "files"), 0o755))
		fmt.Fprintf(&manifest, "  - {id: \"skill:%s\", type: skill, tags: [base], source: {local_path: {path: modules/%s}}}\n", name, name)
		require.NoError(b, os.WriteFile(filepath.Join(dir, "SKILL.md"), fmt.Appendf(nil, "---\nname: %s\ndescription: a skill\n---\n%s", name, body), 0o644))
		for n := range each - 1 {
			require.NoError(b, os.WriteFile(filepath.Join(dir, "files", fmt.Sprintf("f%d.md", n)), fmt.Appendf(nil, "# %d %d\n%s", s, n, body), 0o644))
		}
	}
	require.NoError(b, os.WriteFile(filepath.Join(repo, "agentpack.yaml"), []byte(manifest.String()), 0o644))
	f.roots = []string{filepath.Join(repo, "modules")}
	for _, dir := range []string{".codex", ".claude", ".config/opencode", ".gemini"}[:len(targets)] {
		f.roots = append(f.roots, filepath.Join(f.home, dir))
	}
	f.deploy(files * len(targets))
	<-time.After(observe.RacyWindow + 100*time.Millisecond)
	return f
}

func (f *configFixture) open(state string) *local.Local {
	env := map[string]string{"HOME": f.home, "COUNTERSIGN_HOME": state}
	c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(f.b.TempDir()), Options: local.Defaults()}, func(name string) string { return env[name] })
	require.NoError(f.b, err)
	c.Deployments.Dir, c.Options = f.project, person.ByCaller(c.Options)
	core, err := local.Open(c)
	require.NoError(f.b, err)
	return core
}

// call opens the door, calls and closes it again.
func (f *configFixture) call(state string, name tool.Name, args string) (data struct {
	Applied bool
	Summary map[string]int
}) {
	core := f.open(state)
	o := core.Call(f.b.Context(), tool.Call{Session: "bench", Principal: core.Owner(), Tool: name, Args: json.RawMessage(args)})
	require.NoError(f.b, o.Err)
	var value struct {
		Data *struct {
			Applied bool
			Summary map[string]int
		}
	}
	value.Data = (*struct {
		Applied bool
		Summary map[string]int
	})(&data)
	require.NoError(f.b, json.Unmarshal(o.Value, &value))
	require.NoError(f.b, core.Close())
	return data
}

func (f *configFixture) deploy(want int) {
	core := f.open(f.state())
	defer func() { require.NoError(f.b, core.Close()) }()
	c := tool.Call{Session: "bench", Principal: core.Owner(), Tool: "deploy"}
	o := core.Call(f.b.Context(), c)
	require.NoError(f.b, o.Err)
	require.NotNil(f.b, o.Request)
	c.Tool, c.Args, c.Token = "deploy_apply", json.RawMessage(`{"yes":true}`), o.Request.Token
	o = core.Call(f.b.Context(), c)
	require.NoError(f.b, o.Err)
	require.Contains(f.b, string(o.Value), fmt.Sprintf(`"create":%d,"delete":0,"update":0`, want))
}

func (f *configFixture) state() string { return filepath.Join(f.dir, "state") }

// files is every file below the roots, but manifests.
func (f *configFixture) files() (out []string) {
	for _, root := range f.roots {
		require.NoError(f.b, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".agentpack") {
				out = append(out, path)
			}
			return err
		}))
	}
	return out
}

// BenchmarkPlan is plans in which nothing changed. Garbage is collected as seldom as by the command.
func BenchmarkPlan(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, size := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := newFarm(b, size, "codex")
			plan := func(state string) func() {
				return func() {
					require.Equal(b, map[string]int{"create": 0, "delete": 0, "update": 0}, f.call(state, "plan", `{}`).Summary)
				}
			}
			b.Run("warm", func(b *testing.B) { against(b, plan(f.state()), f.walk(1), f.walk(runtime.GOMAXPROCS(0))) })
			b.Run("status", func(b *testing.B) {
				against(b, func() {
					require.Equal(b, map[string]int{"extra": 0, "missing": 0, "modified": 0}, f.call(f.state(), "status", `{}`).Summary)
				}, f.walk(1), f.walk(runtime.GOMAXPROCS(0)))
			})
			b.Run("cold", func(b *testing.B) {
				fresh := 0
				against(b, func() {
					fresh++
					plan(filepath.Join(b.TempDir(), fmt.Sprint(fresh)))()
				}, f.read())
			})
			four := newFarm(b, size, "codex", "claude_code", "opencode", "gemini_cli")
			b.Run("targets", func(b *testing.B) {
				against(b, func() {
					require.Equal(b, map[string]int{"create": 0, "delete": 0, "update": 0}, four.call(four.state(), "plan", `{}`).Summary)
				}, plan(f.state()))
			})
		})
	}
}

// walk lists every directory and lstats every file; goroutines take a skill each.
func (f *configFixture) walk(workers int) func() {
	var walk func(dir string)
	walk = func(dir string) {
		open, err := os.Open(dir)
		if err != nil {
			panic(err)
		}
		entries, err := open.ReadDir(-1)
		if err != nil {
			panic(err)
		}
		open.Close()
		for _, e := range entries {
			path := dir + "/" + e.Name()
			if e.IsDir() {
				walk(path)
			} else if _, err := os.Lstat(path); err != nil {
				panic(err)
			}
		}
	}
	return func() {
		var parts []string
		for i, root := range f.roots {
			if i > 0 {
				root = filepath.Join(root, "skills")
			}
			entries, err := os.ReadDir(root)
			require.NoError(f.b, err)
			for _, e := range entries {
				if e.IsDir() {
					parts = append(parts, filepath.Join(root, e.Name()))
				}
			}
		}
		spread(workers, len(parts), func(i int) { walk(parts[i]) })
	}
}

// read hashes every file, each goroutine with one buffer for all of its.
func (f *configFixture) read() func() {
	paths := f.files()
	workers := runtime.GOMAXPROCS(0)
	return func() {
		buffers := make([][64 << 10]byte, workers)
		spread(workers, len(paths), func(i int) {
			file, err := os.Open(paths[i])
			if err != nil {
				panic(err)
			}
			defer file.Close()
			buffer := &buffers[i%workers]
			n, err := io.ReadFull(file, buffer[:])
			if err != io.ErrUnexpectedEOF {
				panic(err)
			}
			_ = sha256.Sum256(buffer[:n])
		})
	}
}

// spread does n things by so many goroutines.
func spread(workers, n int, do func(i int)) {
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	group.Wait()
}

// against runs the work and its floors in turn and reports the ratio of the best of each: what else the machine does only ever adds. The
// middle of the pairwise ratios stands beside it, and the same of the processor's time, which others disturb less.
func against(b *testing.B, work func(), floors ...func()) {
	b.Helper()
	runs := append([]func(){work}, floors...)
	best, busy := slices.Repeat([]float64{math.Inf(1)}, len(runs)), slices.Repeat([]float64{math.Inf(1)}, len(runs))
	var pairs []float64
	for round := range max(b.N, 15) + 2 {
		took := make([]float64, len(runs))
		for i, run := range runs {
			runtime.GC() // each with nobody else's garbage
			began, used := time.Now(), cputime.Self()
			run()
			took[i] = float64(time.Since(began).Nanoseconds()) / 1e6
			if round >= 2 { // the first are for warming up
				best[i], busy[i] = min(best[i], took[i]), min(busy[i], float64((cputime.Self()-used).Nanoseconds())/1e6)
			}
		}
		if round >= 2 {
			pairs = append(pairs, took[0]/slices.Min(took[1:]))
		}
	}
	slices.Sort(pairs)
	floor := slices.Min(best[1:])
	b.ReportMetric(floor, "floor-ms")
	b.ReportMetric(best[0], "work-ms")
	b.ReportMetric(best[0]/floor, "x-floor")
	b.ReportMetric(pairs[len(pairs)/2], "x-floor-median")
	b.ReportMetric(busy[0]/slices.Min(busy[1:]), "x-floor-cpu")
	b.ReportMetric(0, "ns/op")
}
