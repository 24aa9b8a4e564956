package sandboxes

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive checks that the published documents match the Go types; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "sandboxes", []toolsnap.Schema{
		{Name: "startSchema", Doc: bind.SchemaOf[StartInput]()},
		{Name: "urlSchema", Doc: bind.SchemaOf[URLInput]()},
		{Name: "serverSchema", Doc: bind.SchemaOf[ServerInput]()},
		{Name: "destroySchema", Doc: bind.SchemaOf[DestroyInput]()},
		{Name: "projectNoSchema", Doc: bind.SchemaOf[ProjectNoInput]()},
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "adminUrlSchema", Doc: bind.SchemaOf[URLInput]()},
		{Name: "adminNoSchema", Doc: bind.SchemaOf[AdminNoInput]()},
		{Name: "modelSchema", Doc: bind.SchemaOf[ModelInput]()},
		{Name: "createSchema", Doc: bind.SchemaOf[CreateInput]()},
		{Name: "sandboxUrlSchema", Doc: bind.SchemaOf[URLInput]()},
		{Name: "deleteSchema", Doc: bind.SchemaOf[DeleteInput]()},
		{Name: "resetSchema", Doc: bind.SchemaOf[ResetInput]()},
		{Name: "diffSchema", Doc: bind.SchemaOf[DiffInput]()},
		{Name: "mergeSchema", Doc: bind.SchemaOf[MergeInput]()},
		{Name: "updateSchema", Doc: bind.SchemaOf[UpdateInput]()},
		{Name: "reviewSchema", Doc: bind.SchemaOf[BoxInput]()},
		{Name: "commentSchema", Doc: bind.SchemaOf[CommentInput]()},
		{Name: "pushSchema", Doc: bind.SchemaOf[PushInput]()},
		{Name: "applySchema", Doc: bind.SchemaOf[ApplyInput]()},
		{Name: "agentSchema", Doc: bind.SchemaOf[AgentInput]()},
		{Name: "isolateSchema", Doc: bind.SchemaOf[IsolateInput]()},
		{Name: "archiveSchema", Doc: bind.SchemaOf[ArchiveInput]()},
		{Name: "restoreSchema", Doc: bind.SchemaOf[RestoreInput]()},
	})
}
