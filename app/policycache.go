package app

import (
	"sync/atomic"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// PolicyCache remembers the policy that the last settings made, because every decision asks for it. The zero Memory remembers nothing. It is safe for
// concurrent use.
type PolicyCache struct {
	last    atomic.Pointer[remembered]
	noticed atomic.Pointer[noticed]
}

type remembered struct {
	settings, account ports.Settings
	newest            NewestChanges
	resolved          policy.Resolved
}

// NewestChanges are the numbers of the newest records of changes of the settings, in the audit of this home and in the one below the account's own directory; zero
// where there are none. What a policy is made of depends on them too: settings that are gone are not those that were never there.
type NewestChanges struct{ Own, Account int64 }

// StoreStamps are those of the two stores, which are others once anybody has stored something there.
type StoreStamps struct{ Own, Account int64 }

type noticed struct {
	stamps StoreStamps
	newest NewestChanges
}

// Changes are the newest records that were there at those stamps; false when the last were others.
func (m *PolicyCache) Changes(at StoreStamps) (NewestChanges, bool) {
	last := m.noticed.Load()
	if last == nil || last.stamps != at {
		return NewestChanges{}, false
	}
	return last.newest, true
}

// PutChanges remembers the newest records, which were looked for after the stamps were.
func (m *PolicyCache) PutChanges(at StoreStamps, newest NewestChanges) {
	m.noticed.Store(&noticed{at, newest})
}

// Get is the policy that these settings, and those of the account, made last, with no record of a change since; false when the last were others.
func (m *PolicyCache) Get(settings, account ports.Settings, newest NewestChanges) (policy.Resolved, bool) {
	last := m.last.Load()
	if last == nil || last.newest != newest || !last.settings.Equal(settings) || !last.account.Equal(account) {
		return policy.Resolved{}, false
	}
	return last.resolved, true
}

// Put remembers the policy that these settings make.
func (m *PolicyCache) Put(settings, account ports.Settings, newest NewestChanges, r policy.Resolved) {
	m.last.Store(&remembered{settings.Copy(), account.Copy(), newest, r})
}
