package deployments

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents of the tools that seed 000 gives none for and the Go types one thing; -update
// rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "deployments", toolsnap.ByName([]toolsnap.Schema{
		{Name: "repoSchema", Doc: bind.SchemaOf[planner.RepoInput]()},
		{Name: "editSchema", Doc: bind.SchemaOf[ManifestsInput]()},
		{Name: "fixSchema", Doc: bind.SchemaOf[FixInput]()},
		{Name: "snapshotSchema", Doc: bind.SchemaOf[SnapshotInput]()},
		{Name: "pruneSchema", Doc: bind.SchemaOf[PruneInput]()},
		{Name: "recordSchema", Doc: bind.SchemaOf[RecordInput]()},
		{Name: "recoverSchema", Doc: bind.SchemaOf[RecoverInput]()},
		{Name: "bootstrapSchema", Doc: bind.SchemaOf[BootstrapInput]()},
	}))
}
