package push

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "push", []toolsnap.Schema{
		{Name: "pushSchema", Doc: bind.SchemaOf[PushInput]()},
		{Name: "archiveSchema", Doc: bind.SchemaOf[ArchiveInput]()},
		{Name: "discardSchema", Doc: bind.SchemaOf[runs.Target]()},
		{Name: "restoreSchema", Doc: bind.SchemaOf[RestoreInput]()},
		{Name: "trashSchema", Doc: bind.SchemaOf[runs.EcosystemInput]()},
	})
}
