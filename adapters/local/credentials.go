package local

import (
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/app"
)

// Admission issues and checks credentials for network requests. It opens nothing, and is valid until Close.
func (l *Local) Admission() *app.Credentials {
	return app.NewCredentials(app.CredentialsConfig{Credentials: sqlitestore.NewCredentials(l.store), Clock: system.Clock{}, IDs: system.IDs{}, Audit: l.audit, Log: l.config.Log})
}

// Home returns the directory of Countersign's own state, which may not exist yet.
func (l *Local) Home() string { return l.config.Dir }
