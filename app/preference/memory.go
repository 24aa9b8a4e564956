package preference

import (
	"sync/atomic"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// Memory remembers the policy that the last settings made, because every decision asks for it. The zero Memory remembers nothing. It is safe for
// concurrent use.
type Memory struct{ last atomic.Pointer[remembered] }

type remembered struct {
	settings, account ports.Settings
	resolved          policy.Resolved
}

// Recall is the policy that these settings, and those of the account, made last; false when the last were others.
func (m *Memory) Recall(settings, account ports.Settings) (policy.Resolved, bool) {
	last := m.last.Load()
	if last == nil || !last.settings.Equal(settings) || !last.account.Equal(account) {
		return policy.Resolved{}, false
	}
	return last.resolved, true
}

// Keep remembers the policy that these settings make.
func (m *Memory) Keep(settings, account ports.Settings, r policy.Resolved) {
	m.last.Store(&remembered{settings.Copy(), account.Copy(), r})
}
