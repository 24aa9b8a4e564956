package projects

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestInfoSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "browsing", []toolsnap.Schema{
		{Name: "listSchema", Doc: bind.SchemaOf[InfoListInput]()},
		{Name: "pathSchema", Doc: bind.SchemaOf[PathInput]()},
		{Name: "projectSchema", Doc: bind.SchemaOf[ProjectInput]()},
		{Name: "worktreeSchema", Doc: bind.SchemaOf[WorktreeInput]()},
	})
}
