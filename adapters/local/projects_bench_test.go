//go:build unix

package local_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// The budgets of projects, through the whole core, with real repositories, npm and processes:
//
//	BenchmarkListProjects   200 projects                            ≤ 1.3 × one git for each of them, eight at a time; no git is started
//	BenchmarkScriptOutput   a script that prints 100 MB             ≤ 1.3 × npm run of it into a file; memory is bounded
//	BenchmarkProcessOutput  100, 2,000 or the new of 10,000 lines   ≤ 2 ms
//	BenchmarkRunScript      a script that does nothing              ≤ 1.05 × npm run of it
//	                        and once it was confirmed

// TestMain lets the test binary be the supervisor of processes in the background.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		if local.Supervise() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// projectsFixture is an opened core and directories that are registered as projects.
type projectsFixture struct {
	b     testing.TB
	core  *local.Local
	base  string
	roots []string
	call  tool.Call
}

// newProjectsFixture opens a core at which that level is in force.
func newProjectsFixture(b testing.TB, level policy.Level) *projectsFixture {
	base, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	o := person.ByCaller(local.Defaults())
	o.Policy.Level, o.Serve.Toolsets = level, []string{"all"}
	exe, err := os.Executable()
	require.NoError(b, err)
	core, err := local.Open(local.Config{Trust: nopolicy.Trust(b.TempDir()), Dir: filepath.Join(base, "state"), Options: o,
		Projects: local.Projects{Home: filepath.Join(base, "home"), Supervisor: []string{exe, "supervise"}}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, core.Close()) })
	return &projectsFixture{b: b, core: core, base: base, call: tool.Call{Session: "bench", Principal: core.Owner(), FromUser: true}}
}

// register makes that many repositories with a commit and a package.json each, and registers them.
func (y *projectsFixture) register(n int, scripts string) {
	first := filepath.Join(y.base, "project-000")
	require.NoError(y.b, os.Mkdir(first, 0o755))
	require.NoError(y.b, os.WriteFile(filepath.Join(first, "package.json"), []byte(`{"name":"shop","version":"1.2.3","scripts":`+scripts+`}`), 0o644))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "first"}} {
		said, err := exec.Command("git", append([]string{"-C", first}, args...)...).CombinedOutput()
		require.NoError(y.b, err, string(said))
	}
	for i := range n {
		dir := filepath.Join(y.base, fmt.Sprintf("project-%03d", i))
		if i > 0 {
			require.NoError(y.b, os.CopyFS(dir, os.DirFS(first)))
		}
		y.roots = append(y.roots, dir)
		y.do("project_add", map[string]any{"path": dir})
	}
}

func (y *projectsFixture) try(name tool.Name, args map[string]any) tool.Outcome {
	c := y.call
	var err error
	c.Tool = name
	c.Args, err = tool.Encode(args)
	require.NoError(y.b, err)
	return y.core.Call(y.b.Context(), c)
}

func (y *projectsFixture) do(name tool.Name, args map[string]any) json.RawMessage {
	o := y.try(name, args)
	require.NoError(y.b, o.Err)
	return o.Value
}

// confirmed returns the arguments with the confirmation that such a call is answered with.
func (y *projectsFixture) confirmed(name tool.Name, args map[string]any) map[string]any {
	o := y.try(name, args)
	require.NotNil(y.b, o.Request)
	args = maps.Clone(args)
	args["confirm_token"] = o.Request.Token.Reveal()
	return args
}

// branches returns the branches that list_projects shows.
func (y *projectsFixture) branches() (names []string) {
	var list struct {
		Projects []struct {
			Branch string `json:"currentBranch"`
			Type   string `json:"projectType"`
		}
	}
	require.NoError(y.b, json.Unmarshal(y.do("list_projects", map[string]any{}), &list))
	for _, p := range list.Projects {
		require.NotEmpty(y.b, p.Type)
		names = append(names, p.Branch)
	}
	return names
}

// TestListingProjectsStartsNoGit: of ordinary repositories the branch stands in a file. A git that leaves a trace is the only one to be found.
func TestListingProjectsStartsNoGit(t *testing.T) {
	y := newProjectsFixture(t, policy.FullAccess)
	y.register(3, `{}`)
	require.NoError(t, os.WriteFile(filepath.Join(y.roots[1], ".git", "HEAD"), []byte("ref: refs/heads/feature/x\n"), 0o644))
	bin, trace := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho \"$@\" >>"+trace+"\nexit 1\n"), 0o755))
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	for range 2 {
		assert.Equal(t, []string{"main", "feature/x", "main"}, y.branches())
	}
	assert.NoFileExists(t, trace)
	y.try("get_git_status", map[string]any{"project_path": y.roots[0]})
	assert.FileExists(t, trace, "it is the git that would be started")
}

// BenchmarkListProjects lists 200 projects.
func BenchmarkListProjects(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	y := newProjectsFixture(b, policy.FullAccess)
	y.register(200, `{"build":"vite build","test":"vitest run"}`)
	against(b, func() { require.Len(b, y.branches(), 200) }, func() {
		spread(8, len(y.roots), func(i int) {
			if out, err := exec.Command("git", "-C", y.roots[i], "symbolic-ref", "--short", "HEAD").Output(); err != nil || string(out) != "main\n" {
				panic(fmt.Sprint(string(out), err))
			}
		})
	})
}

// npm is a script run by npm itself, its output into a file or, if that is nil, read from a pipe.
func (y *projectsFixture) npm(script string, out *os.File) {
	cmd := exec.Command("npm", "run", script)
	cmd.Dir = y.roots[0]
	vars, _ := process.ChildEnvironment(os.Environ(), nil, nil, nil) // npm does less in some environments than in others
	for name, value := range vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if out != nil {
		cmd.Stdout = out
		require.NoError(y.b, cmd.Run())
		return
	}
	pipe, err := cmd.StdoutPipe()
	require.NoError(y.b, err)
	require.NoError(y.b, cmd.Start())
	_, err = io.Copy(io.Discard, pipe)
	require.NoError(y.b, err)
	require.NoError(y.b, cmd.Wait())
}

// needNPM registers one project with that script.
func (y *projectsFixture) needNPM(script string) {
	if _, err := exec.LookPath("npm"); err != nil {
		y.b.Skip("npm is not installed")
	}
	doc, err := tool.Encode(map[string]string{"work": script})
	require.NoError(y.b, err)
	y.register(1, string(doc))
}

func (y *projectsFixture) script() map[string]any {
	return map[string]any{"project_path": y.roots[0], "script_name": "work"}
}

// BenchmarkRunScript is what the core adds to npm. The time that npm takes varies by more than that: with -benchtime 60x the best are near.
func BenchmarkRunScript(b *testing.B) {
	for _, on := range []struct {
		name  string
		level policy.Level
	}{{"allowed", policy.FullAccess}, {"confirmed", policy.ExecuteWithConfirm}} {
		b.Run(on.name, func(b *testing.B) {
			var fixtures [4]*projectsFixture // a core lets so many programs start a minute
			for i := range fixtures {
				fixtures[i] = newProjectsFixture(b, on.level)
				fixtures[i].needNPM("true")
			}
			args := make([]map[string]any, max(b.N, 15)+2)
			for i := range args {
				if args[i] = fixtures[i%len(fixtures)].script(); on.level != policy.FullAccess {
					args[i] = fixtures[i%len(fixtures)].confirmed("run_script", args[i])
				}
			}
			turn := 0
			against(b, func() {
				require.Contains(b, string(fixtures[turn%len(fixtures)].do("run_script", args[turn])), `"exit_code":0`)
				turn++
			}, func() { fixtures[0].npm("work", nil) })
		})
	}
}

// BenchmarkRunScriptOverhead is the same with an npm that does nothing: what is left is the core, its records, and looking after a process.
func BenchmarkRunScriptOverhead(b *testing.B) {
	bin := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"), 0o755))
	b.Setenv("PATH", bin+":/usr/bin:/bin")
	y := newProjectsFixture(b, policy.FullAccess)
	y.needNPM("true")
	against(b, func() { require.Contains(b, string(y.do("run_script", y.script())), `"exit_code":0`) },
		func() { y.npm("work", nil) })
}

// BenchmarkScriptOutput runs a script that prints 100 MB. Beside the time it reports how much the heap held more at most than before.
func BenchmarkScriptOutput(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	y := newProjectsFixture(b, policy.FullAccess)
	y.needNPM(`yes 'src/app/main.ts:17:4 - built in 12 ms, nothing to complain about here' | head -c 100000000`)
	peak := watchHeap(b)
	against(b, func() { require.Contains(b, string(y.do("run_script", y.script())), `"truncated":true`) }, func() {
		out, err := os.Create(filepath.Join(y.base, "out"))
		require.NoError(b, err)
		y.npm("work", out)
		require.NoError(b, out.Close())
	})
	b.ReportMetric(peak(), "peak-heap-MB")
}

// watchHeap looks at the size of the heap until it is asked for the largest it saw, in MB.
func watchHeap(b *testing.B) (peak func() float64) {
	stop, largest := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for most := uint64(0); ; {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-stop:
				largest <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() float64 {
		close(stop)
		return float64(<-largest) / 1e6
	}
}

// BenchmarkProcessOutput reads what a process in the background has printed, 10,000 lines being kept: the newest hundred, and all of it by cursor.
func BenchmarkProcessOutput(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	y := newProjectsFixture(b, policy.FullAccess)
	const lines = process.MaxLines
	y.needNPM(fmt.Sprintf("yes 'a line of output as there are many, none of them very long, all the same' | head -n %d; exec sleep 300", lines))
	var begun struct {
		ID string `json:"process_id"`
	}
	require.NoError(b, json.Unmarshal(y.do("run_npm_script", map[string]any{"projectPath": y.roots[0], "scriptName": "work", "runInBackground": true}), &begun))
	defer y.do("stop_background_process", map[string]any{"processId": begun.ID, "force": true})
	require.Eventually(b, func() bool {
		var a struct {
			Total int64 `json:"totalLines"`
		}
		require.NoError(b, json.Unmarshal(y.do("get_background_process_output", map[string]any{"processId": begun.ID}), &a))
		return a.Total >= lines
	}, time.Minute, 20*time.Millisecond)
	for name, args := range map[string]map[string]any{"tail": {}, "tail-2000": {"tailLines": 2000}, "since-0": {"sinceSeq": 0}, "since-9950": {"sinceSeq": lines - 50}} {
		b.Run(name, func(b *testing.B) {
			args["processId"] = begun.ID
			var took []float64
			for range max(b.N, 101) {
				began := time.Now()
				y.do("get_background_process_output", args)
				took = append(took, time.Since(began).Seconds()*1e3)
			}
			slices.Sort(took)
			b.ReportMetric(took[0], "ms-best")
			b.ReportMetric(took[len(took)/2], "ms-median")
			b.ReportMetric(took[len(took)/2]/2, "of-budget")
			b.ReportMetric(0, "ns/op")
		})
	}
}
