package commands

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites schemas.go.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "commands", []toolsnap.Schema{{Name: "execSchema", Doc: bind.SchemaOf[ExecInput]()}})
}
