package projects

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestScriptSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "scripting", []toolsnap.Schema{
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "runSchema", Doc: bind.SchemaOf[RunInput]()},
		{Name: "runNPMSchema", Doc: bind.SchemaOf[RunNPMInput]()},
		{Name: "outputSchema", Doc: bind.SchemaOf[OutputInput]()},
		{Name: "stopSchema", Doc: bind.SchemaOf[StopInput]()},
	})
}
