package projects_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// leaks returns the files of the state that contain any of the texts.
func leaks(t *testing.T, r *projectrig.Rig, texts ...string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(r.State, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, text := range texts {
			if strings.Contains(string(content), text) {
				found = append(found, filepath.Base(path)+" has "+text)
			}
		}
		return err
	}))
	return found
}

// TestSecretsAtRest: neither stored secrets nor those in arguments are on the disk in clear text.
func TestSecretsAtRest(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	flow := flowed(d, "flow", of, "a: true")
	d.ByPerson("workflow_webhook_set", map[string]any{"workflow_id": flow, "url": "https://example.org/x", "headers": map[string]string{"X-Api-Key": "hunter2-outgoing"}})
	d.ByPerson("workflow_incoming_set", map[string]any{"workflow_id": flow, "enabled": true, "token": "hunter2-token-of-more-than-twenty", "secret": "hunter2-incoming-secret-of-more"})
	d.ByPerson("action_save", map[string]any{"type": "webhook", "name": "hook", "project": of,
		"webhook": map[string]any{"url": "https://example.org/x", "method": "POST", "headers": map[string]string{"Authorization": "Bearer hunter2-header"}}})
	program := d.ByPerson("action_save", map[string]any{"type": "script", "name": "script", "project": of,
		"script": map[string]any{"command": "true", "env": map[string]string{"API_TOKEN": "hunter2-env"}}})["id"]
	d.Do("run_script", map[string]any{"actionId": program})
	require.NotEmpty(t, leaks(t, r, flow), "this looks in the right place")
	assert.Empty(t, leaks(t, r, "hunter2-outgoing", "hunter2-token", "hunter2-incoming", "hunter2-header", "hunter2-env"))
}

// TestLostKey: values that can no longer be read are shown as such, block nothing, and can be removed.
func TestLostKey(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	_, of := d.Project("shop", shop)
	flow := flowed(d, "flow", of, "a: true")
	action := d.ByPerson("action_save", map[string]any{"type": "script", "name": "script", "project": of, "script": map[string]any{"command": "true"}})["id"]
	require.NoError(t, d.Close())
	require.NoError(t, os.Remove(filepath.Join(r.State, "keys", "secret.key")))

	d = r.OpenCore(nil)
	flowed(d, "new", of, "a: true")
	assert.Len(t, d.Do("list_workflows", map[string]any{"project_id": of})["workflows"], 2)
	shown := d.Do("list_actions", nil)["actions"].([]any)
	require.Len(t, shown, 1)
	assert.Equal(t, "(cannot be read)", shown[0].(map[string]any)["name"])
	assert.Contains(t, shown[0].(map[string]any)["description"], filepath.Join("keys", "secret.key"))
	require.ErrorIs(t, d.Ask("get_workflow", map[string]any{"workflow_id": flow}).Err, project.ErrUnreadable)
	require.ErrorIs(t, d.Ask("run_script", map[string]any{"actionId": action}).Err, project.ErrUnreadable)
	d.ByPerson("workflow_remove", map[string]any{"workflow_id": flow})
	d.ByPerson("action_remove", map[string]any{"actionId": action})
	assert.Len(t, d.Do("list_workflows", map[string]any{"project_id": of})["workflows"], 1)
	assert.Empty(t, d.Do("list_actions", nil)["actions"])
}
