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
	newest            Newest
	resolved          policy.Resolved
}

// Newest are the numbers of the newest records of changes of the settings, in the audit of this home and in the one below the account's own directory; zero
// where there are none. What a policy is made of depends on them too: settings that are gone are not those that were never there.
type Newest struct{ Own, Account int64 }

// Recall is the policy that these settings, and those of the account, made last, with no record of a change since; false when the last were others.
func (m *Memory) Recall(settings, account ports.Settings, newest Newest) (policy.Resolved, bool) {
	last := m.last.Load()
	if last == nil || last.newest != newest || !last.settings.Equal(settings) || !last.account.Equal(account) {
		return policy.Resolved{}, false
	}
	return last.resolved, true
}

// Keep remembers the policy that these settings make.
func (m *Memory) Keep(settings, account ports.Settings, newest Newest, r policy.Resolved) {
	m.last.Store(&remembered{settings.Copy(), account.Copy(), newest, r})
}
