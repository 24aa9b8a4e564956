package gitwork

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive checks that the published documents match the Go types; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "gitwork", []toolsnap.Schema{
		{Name: "changesSchema", Doc: bind.SchemaOf[ChangesInput]()},
		{Name: "stageSchema", Doc: bind.SchemaOf[StageInput]()},
		{Name: "commitSchema", Doc: bind.SchemaOf[CommitInput]()},
		{Name: "branchSchema", Doc: bind.SchemaOf[BranchInput]()},
		{Name: "switchSchema", Doc: bind.SchemaOf[SwitchInput]()},
		{Name: "stashSchema", Doc: bind.SchemaOf[StashInput]()},
		{Name: "pushSchema", Doc: bind.SchemaOf[PushInput]()},
		{Name: "pullSchema", Doc: bind.SchemaOf[PullInput]()},
	})
}
