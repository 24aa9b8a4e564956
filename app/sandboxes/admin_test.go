package sandboxes_test

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/fakeserver"
	"github.com/countersign-dev/countersign/internal/testkit/sandboxrig"
)

type adminArgs = map[string]any

// TestDuplicates: the same repository under two URLs is found by its first commit, and so is an unmanaged server in its clone.
func TestDuplicates(t *testing.T) {
	r := sandboxrig.New(t)
	url, dir := r.Project("shop", nil)
	twin := filepath.Join(r.Top, "origins", "twin.git")
	r.Git(r.Top, "clone", "-q", "--bare", url, twin)
	r.Do("opencode_project_start", adminArgs{"git_url": twin})
	r.Do("opencode_project_stop", adminArgs{"git_url": twin})
	r.Project("other", map[string]string{"x": "y"})
	said := r.Do("opencode_detect_duplicates", adminArgs{})
	assert.EqualValues(t, 3, said["total_projects"])
	assert.EqualValues(t, 2, said["unique_repositories"])
	require.Len(t, said["duplicates"], 1)
	double := said["duplicates"].([]any)[0].(adminArgs)
	assert.Equal(t, filepath.Base(dir), double["recommended_to_keep"], "the one that runs")
	assert.Len(t, double["instances"], 2)
	assert.Empty(t, said["foreign_servers"])

	cmd := exec.Command(filepath.Join(r.Home, "bin", fakeserver.Name), "serve")
	cmd.Dir = filepath.Join(dir, "repo")
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	r.Soon(func() bool {
		found := r.Do("opencode_detect_duplicates", adminArgs{})["foreign_servers"].([]any)
		return len(found) == 1 && found[0].(adminArgs)["pid"].(float64) == float64(cmd.Process.Pid)
	}, "a foreign server is seen")
}

// TestModels: the models that the program lists, by provider; the reason if it fails; nothing of the configuration except the model.
func TestModels(t *testing.T) {
	r := sandboxrig.New(t)
	r.Write(r.Home, ".config/opencode/opencode.json", `{"model":"a/b","provider":{"a":{"options":{"apiKey":"sk-very-secret"}}}}`)
	said := r.Do("opencode_llm_config", adminArgs{})
	assert.Equal(t, "a/b", said["current_model"])
	assert.Equal(t, adminArgs{"anthropic": []any{"claude-fake-1"}, "openai": []any{"gpt-fake/preview"}, "opencode": []any{"big-pickle"}}, said["providers"])
	assert.NotContains(t, string(sandboxrig.JSON(t, said)), "sk-very-secret")
	t.Setenv(fakeserver.Variable, "exit=2")
	said = r.Do("opencode_llm_config", adminArgs{})
	assert.Contains(t, said["warning"], "the configuration is not valid", "the reason is told")
	assert.Equal(t, []any{}, said["available_models"])
	set := r.Do("opencode_llm_set_model", adminArgs{"model": "openai/x"})
	assert.Equal(t, "a/b", set["previous_model"])
	assert.Contains(t, r.Read(r.Home, ".config/opencode/opencode.json"), "sk-very-secret", "the rest of the file stays")
	r.Refused("sandbox_invalid_arguments", "opencode_llm_set_model", adminArgs{"model": "no-provider"})
}

// TestGateway: after the user stops it, it stays stopped until a project starts; status shows its process only while there is a server.
func TestGateway(t *testing.T) {
	r := sandboxrig.New(t)
	assert.Equal(t, "not_started", r.Do("opencode_mcp_status", adminArgs{})["status"])
	r.Refused("sandbox_gateway_failed", "opencode_mcp_restart", adminArgs{})
	url, _ := r.Project("shop", nil)
	before := r.Do("opencode_mcp_status", adminArgs{})
	assert.Equal(t, "running", before["status"])
	again := r.Do("opencode_mcp_restart", adminArgs{})
	assert.NotEqual(t, before["pid"], again["pid"])
	assert.EqualValues(t, 1, r.Do("opencode_stop_mcp_tool", adminArgs{})["active_projects"])
	r.Refused("sandbox_gateway_failed", "opencode_stop_mcp_tool", adminArgs{})
	r.Do("opencode_project_status", adminArgs{"git_url": url})
	assert.Equal(t, "stopped", r.Do("opencode_mcp_status", adminArgs{})["status"], "looking does not start it")
	r.Do("opencode_project_start", adminArgs{"git_url": url})
	assert.Equal(t, "running", r.Do("opencode_mcp_status", adminArgs{})["status"])
}

// TestOrphans: a server that was started and never recorded is found and stopped, and so is the record of one that is gone.
func TestOrphans(t *testing.T) {
	r := sandboxrig.New(t)
	url, _ := r.Project("shop", nil)
	r.Edit("opencode", adminArgs{"status": "stopped"})
	require.Len(t, r.Running(), 2)
	planned := r.Core.New("opencode_cleanup_orphaned", adminArgs{})
	planned.Mode = policy.Plan
	require.True(t, r.Call(t.Context(), planned).DryRun)
	require.Len(t, r.Running(), 2, "a plan ends nothing")
	said := r.Do("opencode_cleanup_orphaned", adminArgs{})
	assert.EqualValues(t, 1, said["cleaned_count"], said)
	assert.Contains(t, said["orphaned_processes"].([]any)[0].(adminArgs)["reason"], "not recorded")
	assert.Len(t, r.Running(), 1, "the gateway")
	assert.EqualValues(t, 0, r.Do("opencode_cleanup_orphaned", adminArgs{})["orphaned_count"])

	started := r.Do("opencode_project_start", adminArgs{"git_url": url})
	require.Equal(t, "success", started["status"])
	require.NoError(t, syscall.Kill(int(started["opencode_pid"].(float64)), syscall.SIGKILL))
	r.Soon(func() bool { return len(r.Running()) == 1 }, "the supervisor has seen it")
	said = r.Do("opencode_cleanup_orphaned", adminArgs{})
	assert.EqualValues(t, 1, said["orphaned_count"], said)
	assert.EqualValues(t, 1, said["cleaned_count"], said)
	assert.Contains(t, said["orphaned_processes"].([]any)[0].(adminArgs)["reason"], "Process does not exist")
}
