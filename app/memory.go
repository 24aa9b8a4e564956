package app

import (
	"sync/atomic"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// Memory remembers the policy that the last settings made, because every decision asks for it. The zero Memory remembers nothing. It is safe for
// concurrent use.
type Memory struct {
	last    atomic.Pointer[remembered]
	noticed atomic.Pointer[noticed]
}

type remembered struct {
	settings, account ports.Settings
	newest            Newest
	resolved          policy.Resolved
}

// Newest are the numbers of the newest records of changes of the settings, in the audit of this home and in the one below the account's own directory; zero
// where there are none. What a policy is made of depends on them too: settings that are gone are not those that were never there.
type Newest struct{ Own, Account int64 }

// Stamps are those of the two stores, which are others once anybody has stored something there.
type Stamps struct{ Own, Account int64 }

type noticed struct {
	stamps Stamps
	newest Newest
}

// Noticed are the newest records that were there at those stamps; false when the last were others.
func (m *Memory) Noticed(at Stamps) (Newest, bool) {
	last := m.noticed.Load()
	if last == nil || last.stamps != at {
		return Newest{}, false
	}
	return last.newest, true
}

// Notice remembers the newest records, which were looked for after the stamps were.
func (m *Memory) Notice(at Stamps, newest Newest) { m.noticed.Store(&noticed{at, newest}) }

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
