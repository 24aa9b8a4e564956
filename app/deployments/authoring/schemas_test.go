package authoring

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "authoring", toolsnap.ByName([]toolsnap.Schema{
		{Name: "repoSchema", Doc: bind.SchemaOf[planner.RepoInput]()},
		{Name: "editSchema", Doc: bind.SchemaOf[planner.EditInput]()},
		{Name: "initSchema", Doc: bind.SchemaOf[InitInput]()},
		{Name: "addSchema", Doc: bind.SchemaOf[AddInput]()},
		{Name: "addFromSchema", Doc: bind.SchemaOf[AddFromInput]()},
		{Name: "skillsSchema", Doc: bind.SchemaOf[SkillsInput]()},
		{Name: "removeSchema", Doc: bind.SchemaOf[RemoveInput]()},
		{Name: "updateSchema", Doc: bind.SchemaOf[UpdateInput]()},
		{Name: "remoteSchema", Doc: bind.SchemaOf[RemoteInput]()},
		{Name: "syncSchema", Doc: bind.SchemaOf[SyncInput]()},
		{Name: "importSchema", Doc: bind.SchemaOf[ImportInput]()},
		{Name: "overlayPathSchema", Doc: bind.SchemaOf[OverlayPathInput]()},
		{Name: "overlayEditSchema", Doc: bind.SchemaOf[OverlayEditInput]()},
		{Name: "rebaseSchema", Doc: bind.SchemaOf[RebaseInput]()},
	}))
}
