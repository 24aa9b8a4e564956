package gateway

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive checks that the published documents match the Go types; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "gateway", []toolsnap.Schema{
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "atSchema", Doc: bind.SchemaOf[At]()},
		{Name: "listSchema", Doc: bind.SchemaOf[ListInput]()},
		{Name: "historySchema", Doc: bind.SchemaOf[HistoryInput]()},
		{Name: "createSchema", Doc: bind.SchemaOf[CreateInput]()},
		{Name: "messageSchema", Doc: bind.SchemaOf[MessageInput]()},
		{Name: "sessionSchema", Doc: bind.SchemaOf[SessionInput]()},
		{Name: "permissionSchema", Doc: bind.SchemaOf[PermissionInput]()},
		{Name: "questionSchema", Doc: bind.SchemaOf[QuestionInput]()},
		{Name: "rejectSchema", Doc: bind.SchemaOf[RejectInput]()},
	})
}
