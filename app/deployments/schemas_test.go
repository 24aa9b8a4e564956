package deployments

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive checks that the published documents of the tools without a schema in seed 000 match the Go types; -update rewrites
// schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "deployments", toolsnap.ByName([]toolsnap.Schema{
		{Name: "repoSchema", Doc: bind.SchemaOf[planner.RepoInput]()},
		{Name: "editSchema", Doc: bind.SchemaOf[ManifestsInput]()},
		{Name: "fixSchema", Doc: bind.SchemaOf[FixInput]()},
		{Name: "snapshotSchema", Doc: bind.SchemaOf[SnapshotInput]()},
		{Name: "pruneSchema", Doc: bind.SchemaOf[PruneInput]()},
		{Name: "recordSchema", Doc: bind.SchemaOf[RecordInput]()},
		{Name: "recoverSchema", Doc: bind.SchemaOf[RecoverInput]()},
		{Name: "uneditedSchema", Doc: bind.SchemaOf[UneditedInput]()},
		{Name: "bootstrapSchema", Doc: bind.SchemaOf[BootstrapInput]()},
	}))
}

// TestToolsStaySmall limits what a model sees of each of the eleven tools (name, description and input schema) to 300 tokens. The tokenizers
// o200k_base and cl100k_base take 4.2 bytes per token, so 4 are assumed; the longest is evolve_propose, with 283 tokens. The seed's words in the
// schemas cannot be shortened, and every additional target costs each of nine tools about four tokens.
func TestToolsStaySmall(t *testing.T) {
	const bound, bytesOfToken = 300, 4
	for _, e := range Capability(Deps{}).Entries {
		seen, err := json.Marshal(map[string]any{"name": e.Spec.Name, "description": e.Spec.Description, "input_schema": json.RawMessage(e.Spec.Input)})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(seen), bound*bytesOfToken, string(e.Spec.Name))
	}
}
