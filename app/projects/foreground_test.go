package projects_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// gone reports whether the process whose number is in a file below dir has ended.
func gone(t *testing.T, r *projectrig.Rig, dir, file string) bool {
	t.Helper()
	pid := strings.TrimSpace(r.Read(dir, file))
	number, err := strconv.Atoi(pid)
	require.NoError(t, err, file)
	if stat := r.Read("/proc/"+pid, "stat"); stat != "" { // it may have ended without being waited for by its new parent
		return strings.Contains(stat, ") Z ")
	}
	return syscall.Kill(number, 0) == syscall.ESRCH
}

// TestArgumentsArePassedAsTheyAre: no shell reads them, with any package manager.
func TestArgumentsArePassedAsTheyAre(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	args := []string{"a b", `"q"`, `'s'`, "$(touch hacked)", "`touch hacked`", "; touch hacked", "&& touch hacked", "*", "", "-x", "--", "a\nb", "$HOME", `\`, "ü☂"}
	for lock, want := range map[string][]string{"package-lock.json": {"npm", "run", "args", "--"}, "pnpm-lock.yaml": {"pnpm", "run", "args"}} {
		dir, _ := d.Project(lock, shop)
		r.Write(dir, lock, "")
		out := d.Do("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "args", "args": args})
		told := r.Told()
		assert.Equal(t, append(want, args...), told[len(told)-1], "%s", lock)
		assert.NoFileExists(t, filepath.Join(dir, "hacked"))
		if lock == "package-lock.json" {
			assert.Equal(t, "<"+strings.Join(args, ">\n<")+">\n", out["stdout"])
		}
	}
	dir := filepath.Join(r.Top, "package-lock.json")
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "args", "args": []string{"a\x00b"}})))
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "args", "args": make([]string, 101)})))
	r.Write(dir, "package.json", `{"packageManager":"npm; touch hacked","scripts":{"args":"sh args.sh"}}`)
	assert.Equal(t, "INVALID_ARGUMENT", code(d.Ask("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "args"})))
}

// TestTimeLimitsAndCancelling: they stop a script with everything it started, and its output is returned.
func TestTimeLimitsAndCancelling(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	var o tool.Outcome
	for limit := 400; !strings.HasSuffix(r.Read(dir, "child"), "\n"); limit *= 2 { // as long as it takes to start
		require.Less(t, limit, 60_000, "it never runs")
		o = d.Confirmed("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "slow", "timeoutMs": limit})
		require.Equal(t, "EXECUTION_TIMEOUT", code(o))
	}
	assert.Equal(t, "started\n", details(o)["stdout"])
	assert.True(t, gone(t, r, dir, "child"), "the whole group")

	require.NoError(t, os.Remove(filepath.Join(dir, "child")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := asked(t, d, "run_script", map[string]any{"script_name": "slow", "project_path": dir})
	c.Progress = func(p tool.Progress) {
		assert.Regexp(t, `^script slow runs as run_[0-9a-f]+ \(pid \d+\)$`, p.Message)
		go func() {
			assert.Eventually(t, func() bool { return strings.HasSuffix(r.Read(dir, "child"), "\n") }, time.Minute, time.Millisecond, "its child runs")
			cancel()
		}()
	}
	o = d.Call(ctx, c)
	assert.Equal(t, "USER_CANCELLED", code(o))
	assert.Equal(t, "started\n", details(o)["stdout"])
	assert.True(t, gone(t, r, dir, "child"))
	r.Write(dir, "mortal.sh", "kill -9 $$")
	r.Write(dir, "package.json", `{"scripts":{"mortal":"sh mortal.sh"}}`)
	o = d.Confirmed("run_script", map[string]any{"script_name": "mortal", "project_path": dir})
	assert.Equal(t, "EXECUTION_FAILED", code(o))
	assert.Equal(t, "killed", details(o)["signal"])
}

// TestMuchOutput: it is truncated in its middle, within the limit of a result, and every promise about its size holds.
func TestMuchOutput(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	r.Write(dir, "loud.sh", `awk 'BEGIN { for (i = 1; i <= 9000; i++) printf "line %d of what is far too much to be shown to anybody, because there are so very many lines of it, and all alike\n", i }'`)
	o := d.Confirmed("run_script", map[string]any{"script_name": "loud", "project_path": dir})
	require.Empty(t, code(o))
	assert.False(t, o.Truncated)
	out := projectrig.Object(t, o.Value)
	text := out["stdout"].(string)
	assert.True(t, strings.HasPrefix(text, "line 1 of"), text[:40])
	assert.True(t, strings.HasSuffix(text, "line 9000 of what is far too much to be shown to anybody, because there are so very many lines of it, and all alike\n"))
	assert.Regexp(t, `\n\[\.\.\. the middle of these \d+ bytes is left out \.\.\.\]\n`, text)
	assert.Equal(t, true, out["truncated"])
	assert.Greater(t, out["total_bytes"].(float64), 900_000.0)

	r.Write(dir, "loud.sh", `awk 'BEGIN { for (i = 1; i <= 9000; i++) printf "%s\n", "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"" }' | tee /dev/stderr`)
	o = d.Confirmed("run_script", map[string]any{"script_name": "loud", "project_path": dir})
	require.Empty(t, code(o))
	assert.False(t, o.Truncated, "%d bytes", len(o.Value))
	assert.NotEmpty(t, projectrig.Object(t, o.Value)["stderr"])
	c := d.New("run_script", map[string]any{"script_name": "loud", "project_path": dir})
	c.MaxOutput = 9000
	o = d.Call(t.Context(), c)
	c.Token = o.Request.Token
	o = d.Call(t.Context(), c)
	assert.False(t, o.Truncated, "a caller that takes less gets less")
	assert.Less(t, len(o.Value), 9000)
}

// TestEnvironment: a script gets what it needs, what the project's settings pass on, and no key that happens to be set here (packageflow-security
// contract §4.8). Secrets in its output are masked.
func TestEnvironment(t *testing.T) {
	r := projectrig.New(t)
	t.Setenv("ACME_API_KEY", "acme-0123456789")
	t.Setenv("ACME_REGION", "north")
	t.Setenv("GITHUB_TOKEN", "none of its business")
	t.Setenv("NODE_OPTIONS", "--inspect")
	t.Setenv("LC_ALL", "C")
	d := r.OpenCore(nil)
	dir, id := d.Project("shop", shop)
	r.Write(dir, ".env", "DATABASE_PASSWORD=correct-horse-battery\n")
	r.Write(dir, "env.sh", "env | sort; echo the password is $(sed s/.*=// .env)")
	environment := func() string {
		return d.Do("run_script", map[string]any{"script_name": "env", "project_path": dir})["stdout"].(string)
	}
	env := environment()
	for _, there := range []string{"HOME=" + r.Home, "LC_ALL=C", "CI=true", "NO_COLOR=1", "GIT_TERMINAL_PROMPT=0"} {
		assert.Contains(t, env, there+"\n")
	}
	for _, secret := range []string{"ACME", "GITHUB", "NODE_OPTIONS", "correct-horse"} {
		assert.NotContains(t, env, secret)
	}
	assert.Contains(t, env, "the password is [REDACTED:known_value]")

	d.ByPerson("project_change", map[string]any{"project": id, "env_pass": []string{"ACME_API_KEY", "ACME_REGION"}})
	o := d.Ask("run_script", map[string]any{"script_name": "env", "project_path": dir})
	assert.Contains(t, string(o.Request.Plan), `"env_passed":["ACME_API_KEY","ACME_REGION"]`)
	assert.NotContains(t, string(o.Request.Plan), "0123456789")
	env = environment()
	assert.Contains(t, env, "ACME_REGION=north\n")
	assert.Regexp(t, `ACME_API_KEY=\[REDACTED:\w+\]`, env)
	assert.NotContains(t, env, "acme-0123456789")
	background := d.Do("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "env", "runInBackground": true, "successPattern": "the password"})
	all := fmt.Sprint(d.Do("get_background_process_output", map[string]any{"processId": background["process_id"]})["outputLines"])
	assert.NotContains(t, all, "acme-0123456789")
	assert.NotContains(t, all, "correct-horse")
}

// TestForegroundSlots: at most four scripts run in the foreground at a time.
func TestForegroundSlots(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", shop)
	ctx, cancel := context.WithCancel(t.Context())
	running, done := make(chan struct{}), make(chan string)
	for range 4 {
		c := asked(t, d, "run_script", map[string]any{"script_name": "slow", "project_path": dir})
		c.Progress = func(tool.Progress) { running <- struct{}{} }
		go func() { done <- code(d.Call(ctx, c)) }()
		<-running
	}
	o := d.Confirmed("run_script", map[string]any{"script_name": "build", "project_path": dir})
	assert.Equal(t, "PROCESS_LIMIT", code(o))
	cancel()
	for range 4 {
		assert.Equal(t, "USER_CANCELLED", <-done)
	}
	assert.Empty(t, code(d.Confirmed("run_script", map[string]any{"script_name": "build", "project_path": dir})))
}

// TestRealNPM runs a script with hooks by the npm that is installed.
func TestRealNPM(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	r := projectrig.New(t)
	r.Write(filepath.Join(r.Home, "bin"), "npm", "#!/bin/sh\nexec "+npm+" \"$@\"\n")
	d := r.OpenCore(nil)
	dir, _ := d.Project("real", `-- package.json --
{"name":"real","version":"1.0.0","scripts":{"prebuild":"echo before","build":"sh build.sh","postbuild":"echo after"}}
-- build.sh --
printf '<%s>\n' "$@"
`)
	out := d.Do("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "build", "args": []string{"a b", "$(touch hacked)", "-x"}})
	text := out["stdout"].(string)
	assert.Contains(t, text, "<a b>\n<$(touch hacked)>\n<-x>\n")
	assert.Less(t, strings.Index(text, "before\n"), strings.Index(text, "<a b>"))
	assert.Greater(t, strings.Index(text, "after\n"), strings.Index(text, "<-x>"))
	assert.NoFileExists(t, filepath.Join(dir, "hacked"))
}
