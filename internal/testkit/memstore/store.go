package memstore

import (
	"sync"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/ports"
)

// Store is a ports.ApprovalStore, a ports.AuditLog and a ports.SettingsStore; Sessions, Runs, Credentials, Keys and Dated are its others. All methods may be called from
// many goroutines. A function handed to Settle or Update must not call the same port of the same Store: it would wait for itself.
type Store struct {
	ledger struct {
		sync.Mutex
		grants []*confirm.Request // in order of issue
	}
	audit    auditLog
	settings struct {
		sync.Mutex
		now ports.Settings
	}
	sessions    Sessions
	runs        Runs
	credentials Credentials
	keys        keys
	dated       Dated
}

// New returns an empty store.
func New() *Store { return &Store{sessions: Sessions{byKey: map[string]ports.Session{}}} }

// Sessions returns the store's ports.Sessions.
func (s *Store) Sessions() *Sessions { return &s.sessions }
