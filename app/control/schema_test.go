package control

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// TestSchemasAreWhatTheTypesDerive keeps the published documents and the Go types one thing; -update rewrites the constants.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	golden.Compare(t, "schemas.go", []byte("package control\n\n// The published input schemas, generated from the input types by this package's schema test with -update."+
		" (Deriving them anew would\n// take a tenth of the time in which a server has to answer its first message.)\nconst (\n"+
		"\tnoSchema      = `"+string(bind.SchemaOf[NoInput]())+"`\n"+
		"\tsetModeSchema = `"+string(bind.SchemaOf[SetModeInput]())+"`\n"+
		"\tconfirmSchema = `"+string(bind.SchemaOf[ConfirmInput]())+"`\n"+
		"\tcancelSchema  = `"+string(bind.SchemaOf[CancelInput]())+"`\n"+
		"\ttailSchema    = `"+string(bind.SchemaOf[TailInput]())+"`\n)\n"))
}
