package planner_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/tool"
)

// TestSchemaIsWhatTheEncoderWrites: schemas are written by hand, and come out as encoding/json writes them.
func TestSchemaIsWhatTheEncoderWrites(t *testing.T) {
	type property struct {
		Type        string            `json:"type"`
		Items       map[string]string `json:"items,omitempty"`
		Enum        []string          `json:"enum,omitempty"`
		Description string            `json:"description,omitempty"`
	}
	for _, name := range []tool.Name{
		"agents_init", "agents_add", "agents_remove", "agents_update", "agents_overlay_edit", "agents_overlay_path", "agents_overlay_rebase",
		"agents_import", "agents_bootstrap", "agents_doctor_fix", "agents_snapshots_show", "agents_snapshots_prune", "agents_record",
		"agents_remote_set", "agents_sync", "agents_recover", "agents_lock", "agents_score",
	} {
		var doc struct {
			Type       string              `json:"type"`
			Additional bool                `json:"additionalProperties"`
			Required   []string            `json:"required,omitempty"`
			Properties map[string]property `json:"properties"`
		}
		text := planner.InputSchema(name)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&doc), "%s: %s", name, text)
		want, err := json.Marshal(doc)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(text), name)
		assert.Contains(t, doc.Properties, "repo", name)
	}
}
