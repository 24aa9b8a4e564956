package runs

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "runs", []toolsnap.Schema{
		{Name: "listSchema", Doc: bind.SchemaOf[ListInput]()},
		{Name: "activeSchema", Doc: bind.SchemaOf[ActiveInput]()},
		{Name: "statusSchema", Doc: bind.SchemaOf[StatusInput]()},
		{Name: "logsSchema", Doc: bind.SchemaOf[LogsInput]()},
		{Name: "runSchema", Doc: bind.SchemaOf[RunInput]()},
		{Name: "cancelSchema", Doc: bind.SchemaOf[CancelInput]()},
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "serverSchema", Doc: bind.SchemaOf[ServerInput]()},
	})
}
