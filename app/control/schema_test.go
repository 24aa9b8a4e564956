package control

import (
	"testing"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// TestSchemasAreWhatTheTypesDerive checks that the published documents match the Go types; -update rewrites the constants.
func TestSchemasAreWhatTheTypesDerive(t *testing.T) {
	toolsnap.Schemas(t, "control", []toolsnap.Schema{
		{Name: "noSchema", Doc: bind.SchemaOf[NoInput]()},
		{Name: "setModeSchema", Doc: bind.SchemaOf[SetModeInput]()},
		{Name: "confirmSchema", Doc: bind.SchemaOf[ConfirmInput]()},
		{Name: "settingsSchema", Doc: bind.SchemaOf[SettingsInput]()},
		{Name: "ownerSchema", Doc: bind.SchemaOf[OwnerInput]()},
		{Name: "credentialSchema", Doc: bind.SchemaOf[access.Request]()},
		{Name: "keySchema", Doc: bind.SchemaOf[KeyInput]()},
		{Name: "keyIDSchema", Doc: bind.SchemaOf[KeyID]()},
		{Name: "backupSchema", Doc: bind.SchemaOf[BackupInput]()},
		{Name: "restoreSchema", Doc: bind.SchemaOf[RestoreInput]()},
		{Name: "cancelSchema", Doc: bind.SchemaOf[CancelInput]()},
		{Name: "tailSchema", Doc: bind.SchemaOf[TailInput]()},
		{Name: "amofConfirmSchema", Doc: bind.SchemaOf[AmofConfirmInput]()},
		{Name: "amofTokenSchema", Doc: bind.SchemaOf[AmofToken]()},
	})
}
