package app

import (
	"sync/atomic"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// PolicyCache caches the last effective policy, which every decision needs. The zero PolicyCache is empty. It is safe for concurrent use.
type PolicyCache struct {
	last    atomic.Pointer[remembered]
	noticed atomic.Pointer[noticed]
}

type remembered struct {
	settings, account ports.Settings
	newest            NewestChanges
	resolved          policy.Resolved
}

// NewestChanges holds the numbers of the newest audit records of settings changes, in this home and in the account's; zero if there are none. They are part of
// the cache key: deleted settings differ from settings that never existed.
type NewestChanges struct{ Own, Account int64 }

// StoreStamps holds the change counters of the two stores.
type StoreStamps struct{ Own, Account int64 }

type noticed struct {
	stamps StoreStamps
	newest NewestChanges
}

// Changes returns the newest records as of those stamps; false if the cached stamps differ.
func (m *PolicyCache) Changes(at StoreStamps) (NewestChanges, bool) {
	last := m.noticed.Load()
	if last == nil || last.stamps != at {
		return NewestChanges{}, false
	}
	return last.newest, true
}

// PutChanges caches the newest records, which must have been read after the stamps.
func (m *PolicyCache) PutChanges(at StoreStamps, newest NewestChanges) {
	m.noticed.Store(&noticed{at, newest})
}

// Get returns the cached policy for these settings, those of the account, and these newest changes; false if the cached ones differ.
func (m *PolicyCache) Get(settings, account ports.Settings, newest NewestChanges) (policy.Resolved, bool) {
	last := m.last.Load()
	if last == nil || last.newest != newest || !last.settings.Equal(settings) || !last.account.Equal(account) {
		return policy.Resolved{}, false
	}
	return last.resolved, true
}

// Put caches the policy of these settings.
func (m *PolicyCache) Put(settings, account ports.Settings, newest NewestChanges, r policy.Resolved) {
	m.last.Store(&remembered{settings.Copy(), account.Copy(), newest, r})
}
