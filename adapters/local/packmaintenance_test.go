package local

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
)

// TestUpkeepSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing.
func TestUpkeepSchemasAreWhatTheTypesDerive(t *testing.T) {
	assert.Equal(t, string(bind.SchemaOf[control.NoInput]()), inspectSchema)
	assert.Equal(t, string(bind.SchemaOf[QuarantineInput]()), quarantineSchema)
}
