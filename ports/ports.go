// Package ports declares the interfaces that the core needs: storage, audit log, time, processes, notifications. The comments of each interface are its
// contract; the suites of ports/porttest run it against every adapter.
//
// "Port" here means what the core calls, not an inbound adapter.
package ports

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Clock returns the time. Now is UTC.
type Clock interface {
	Now() time.Time
}

// IDs makes unique identifiers.
type IDs interface {
	// NewID returns prefix and n characters chosen independently from a-z and 2-7 (RFC 4648 base32 in lower case).
	NewID(prefix string, n int) string
}

// Tokens makes the secrets of approval tokens.
type Tokens interface {
	// NewToken returns a UUIDv4 from the operating system's randomness.
	NewToken() confirm.Token
}

// PendingFilter selects approval requests. Zero fields select everything.
type PendingFilter struct {
	ID      string
	Session string
	Binding *confirm.Binding
	Names   bool // tokens that name a plan, instead of questions
	Brief   bool // without plan and exhibit, which may be large: for whoever looks at the rest only
}

// ApprovalStore is the approval store. Its content survives a restart. It stores the digest of a token, never the token. It may drop the arguments of a final
// request and what was shown beside its plan.
type ApprovalStore interface {
	// Issue stores a new request. An existing digest or ID is an internal error.
	Issue(ctx context.Context, g confirm.Request) error
	// Settle loads the request with that digest, runs f on it and stores the result whether or not f fails. At most one Settle of a digest runs at a time,
	// across all processes. It returns the error of f, or confirm.ErrUnknown if there is no such request.
	Settle(ctx context.Context, d confirm.Digest, f func(*confirm.Request) error) error
	// Pending returns copies of the requests that are neither final nor expired at now, oldest first.
	Pending(ctx context.Context, f PendingFilter, now time.Time) ([]confirm.Request, error)
	// Purge deletes every request that expired before the given time, final or not, and returns how many. Until then a used token differs from an unknown one.
	Purge(ctx context.Context, before time.Time) (int, error)
}

// Bell wakes calls that wait for a decision, in every process.
type Bell interface {
	// Ring is called after the decision on that approval request was stored. It may be lost: listeners also check at intervals.
	Ring(id string)
	// Listen signals that the approval request with that ID may have been decided, until stop is called. It may signal without a decision.
	Listen(id string) (rings <-chan struct{}, stop func())
}

// Notifier notifies the user outside this process. Its methods never block.
type Notifier interface {
	// Asked is called after an approval request was stored; byHand reports that the user made the call, and so is probably present. It returns at once and
	// delivery is not guaranteed.
	Asked(id string, byHand bool)
	// Announce reports an event on every channel. It returns at once and delivery is not guaranteed. what must hold no secret.
	Announce(what string)
}

// Channel delivers notifications in one way.
type Channel interface {
	// Name returns the name of the channel, such as "ntfy".
	Name() string
	// Send delivers the message and returns before ctx ends. Its error holds no secret of the channel; one of the kind fault.Unavailable may be retried.
	Send(ctx context.Context, m notice.Message) error
}

// AuditLog keeps the hash chain of events.
type AuditLog interface {
	// Append stores the events in order, durably and atomically. Records of several processes may alternate; the chain stays valid.
	Append(ctx context.Context, events ...audit.Event) error
	// Records returns up to limit records with Seq > after in rising order; limit ≤ 0 means 100.
	Records(ctx context.Context, after int64, limit int) ([]audit.Record, error)
	// Tail returns the last n records in rising order.
	Tail(ctx context.Context, n int) ([]audit.Record, error)
	// Search returns the newest records that the filter selects, newest first.
	Search(ctx context.Context, f audit.Filter) ([]audit.Record, error)
}

// Chain is an AuditLog whose stored records can be verified.
type Chain interface {
	AuditLog
	// Chain calls f with the log as it is stored behind that record (0 for all of it), all from one snapshot.
	Chain(ctx context.Context, after int64, f func(StoredChain) error) error
	// HashAt returns the hash of that record; zero if there is none.
	HashAt(ctx context.Context, seq int64) (canon.Hash, error)
	// End returns the recorded end of the log.
	End(ctx context.Context) (audit.End, error)
}

// Prunable is an AuditLog from which retention can remove reads.
type Prunable interface {
	// Prune removes the reads of that step of p, and records that it did, signed with the key of this machine: both or neither, and no other process writes in
	// between. It fails with audit.ErrStale if the log is not as it was when p was planned, and with audit.ErrBroken if the records are not those of the step.
	Prune(ctx context.Context, p audit.Pruning, step audit.PruneStep) (audit.Removal, error)
	// Reclaim gives the space of what was removed back to the file system, as far as that keeps no writer waiting.
	Reclaim(ctx context.Context) error
}

// StoredChain is an audit log as it is stored.
type StoredChain struct {
	End     audit.End                   // as the log records it
	Records iter.Seq2[audit.Raw, error] // every record that is there, in rising order; one is valid until the next is asked for
	// Removals returns the records that say that retention has removed reads, in no order.
	Removals func() ([]audit.Raw, error)
	// HashAt returns the hash of that record; zero if there is none.
	HashAt func(seq int64) (canon.Hash, error)
	// Index fails with audit.ErrBroken if Search may miss any record of the log. It is cheapest after all records were read.
	Index func() error
}

// Checked is an AuditLog that can also be checked against evidence outside the chain.
type Checked interface {
	// Check verifies the whole log against all evidence. Problems of the log are in the report; the error means that the check could not run.
	Check(ctx context.Context) (audit.Report, error)
	// CheckNew is Check without reading again the records that an earlier check found in order; it is Check if there was none, or if its checkpoint does not
	// fit the log.
	CheckNew(ctx context.Context) (audit.Report, error)
}

// Signer signs the end of the chain with the key of this machine.
type Signer interface {
	// Key returns the current signing key. had is the last recorded one; a missing key is created only if had is zero.
	Key(had audit.Key) (audit.Key, error)
	// Sign signs a position in the chain with that key.
	Sign(k audit.Key, at audit.Position) (audit.Head, error)
}

// Settings is the user's settings. The zero Settings of a new store is revision 0 with nothing set.
type Settings struct {
	Revision int64                     `json:"revision"`
	Level    policy.Level              `json:"permission_level"`
	Tools    map[string]policy.Setting `json:"tool_permissions"`
	Auto     policy.AutoApprove        `json:"auto_approve"`
	Approval policy.Approval           `json:"approval,omitempty"`
	MaxMode  policy.Mode               `json:"max_mode,omitempty"`
	Require  map[string]policy.Proving `json:"require,omitempty"` // by tool, policy.RequireHigh and policy.RequireType
	Forms    []string                  `json:"forms,omitempty"`   // host entries whose form may answer, sorted
	// KeepReadsDays is for how many days the audit log keeps its records of reads; zero for all time.
	KeepReadsDays int `json:"keep_reads_days,omitempty"`
}

// MostKeepReadsDays is the longest time, besides all time.
const MostKeepReadsDays = 36500

// Layer returns the settings as a policy layer with that name. Unless answered (the user's decision on them is in the audit log), they can only narrow.
func (s Settings) Layer(name string, answered bool) policy.Layer {
	return policy.Layer{Name: name, Answered: answered, Whole: true, Approval: s.Approval, Level: s.Level, Ceiling: s.MaxMode, Tools: s.Tools, Auto: s.Auto, Require: s.Require}
}

// Sum returns the hash that identifies a change to these settings; it covers all of them.
func (s Settings) Sum() canon.Hash {
	if s.Tools == nil {
		s.Tools = map[string]policy.Setting{}
	}
	s.Auto.Tools = append([]string{}, s.Auto.Tools...) // none is none, however it was kept
	sum, err := canon.Sum("settings.v1", s)
	if err != nil { // strings and integers always encode; a failure matches no record
		return canon.Hash{}
	}
	return sum
}

// Equal reports whether both have the same content and revision.
func (s Settings) Equal(o Settings) bool {
	return s.Revision == o.Revision && s.Level == o.Level && s.Approval == o.Approval && s.MaxMode == o.MaxMode && s.Auto.Enabled == o.Auto.Enabled &&
		maps.Equal(s.Tools, o.Tools) && slices.Equal(s.Auto.Tools, o.Auto.Tools) && maps.Equal(s.Require, o.Require) && slices.Equal(s.Forms, o.Forms) &&
		s.KeepReadsDays == o.KeepReadsDays
}

// Copy returns a deep copy.
func (s Settings) Copy() Settings {
	s.Tools, s.Auto.Tools, s.Require, s.Forms = maps.Clone(s.Tools), slices.Clone(s.Auto.Tools), maps.Clone(s.Require), slices.Clone(s.Forms)
	return s
}

// SettingsStore keeps the Settings.
type SettingsStore interface {
	// Load returns the current settings. It is fast enough to call before every decision.
	Load(ctx context.Context) (Settings, error)
	// Save stores s as revision s.Revision+1 and returns it. It fails with ErrSettingsConflict if another save came between.
	Save(ctx context.Context, s Settings) (Settings, error)
}

// ErrSettingsConflict is returned for settings that changed since they were read.
var ErrSettingsConflict = fault.New(fault.Conflict, "settings_conflict", "the settings have changed since they were read; read them again")

// ErrStoreNewer is returned for a store that a newer version wrote. No call runs over it, not even a read, because it could not be recorded.
var ErrStoreNewer = fault.New(fault.Unavailable, "store_schema_newer", "the database was written by a newer Countersign")

// Session is the stored state of one client instance. The zero Session has nothing set.
type Session struct {
	Mode    policy.Mode            `json:"mode"`
	Granted []confirm.SessionGrant `json:"allowances,omitempty"` // what was answered "always allow"
	// Notes is the state that capabilities keep in the session, by capability.
	Notes map[string]string `json:"notes,omitempty"`
}

// Copy returns a deep copy.
func (s Session) Copy() Session {
	s.Granted, s.Notes = slices.Clone(s.Granted), maps.Clone(s.Notes)
	return s
}

// Remember stores the state of a capability; an empty one deletes it.
func (s *Session) Remember(capability, note string) {
	if s.Notes == nil {
		s.Notes = map[string]string{}
	}
	if s.Notes[capability] = note; note == "" {
		delete(s.Notes, capability)
	}
}

// Grant adds a session grant, replacing an older one for the same, and removes those that have expired.
func (s *Session) Grant(a confirm.SessionGrant) {
	s.Granted = slices.DeleteFunc(s.Granted, func(have confirm.SessionGrant) bool {
		return have.Tool == a.Tool && have.Scope == a.Scope || !have.Holds(a.At)
	})
	s.Granted = append(s.Granted, a)
}

// Allows reports whether a session grant for the tool, or for that scope of it, is active.
func (s Session) Allows(tool, scope string, now time.Time) bool {
	return len(s.Allowing(tool, scope, now)) > 0
}

// Allowing returns the active session grants for the tool, or for that scope of it.
func (s Session) Allowing(tool, scope string, now time.Time) []confirm.SessionGrant {
	var found []confirm.SessionGrant
	for _, a := range s.Granted {
		if a.Tool == tool && (a.Scope == "" || a.Scope == scope) && a.Holds(now) {
			found = append(found, a)
		}
	}
	return found
}

// SessionKey returns the key in Sessions of a principal's client instance.
func SessionKey(principal, instance string) string { return principal + "\x00" + instance }

// SessionOf returns the inverse of SessionKey.
func SessionOf(key string) (principal, instance string) {
	principal, instance, _ = strings.Cut(key, "\x00")
	return principal, instance
}

// Sessions keeps each Session by its key (principal and client instance).
type Sessions interface {
	// Load returns a copy of the session, zero if none is stored. It is fast enough to call before every decision.
	Load(ctx context.Context, key string) (Session, error)
	// Update runs change on the session (zero if none is stored) and stores it unless change fails. One Update of a key runs at a time.
	Update(ctx context.Context, key string, change func(*Session) error) error
	// End deletes the session. It does nothing if there is none.
	End(ctx context.Context, key string) error
	// List returns copies of all sessions by key.
	List(ctx context.Context) (map[string]Session, error)
}

// DatedGrants keeps the grants until a date. It returns copies.
type DatedGrants interface {
	// Add stores a new grant durably. An existing ID is an internal error.
	Add(ctx context.Context, d confirm.Dated) error
	// Change runs change on the grant with that ID and stores the result, except for a new ID, unless change fails. One Change of a grant runs at a time,
	// across all processes. It fails with confirm.ErrNoSessionGrant if there is none.
	Change(ctx context.Context, id string, change func(*confirm.Dated) error) error
	// Remove deletes the grant with that ID. It fails with confirm.ErrNoSessionGrant if there is none.
	Remove(ctx context.Context, id string) error
	// List returns all grants, active or not, oldest first.
	List(ctx context.Context) ([]confirm.Dated, error)
}

// CombinedLoader is an optional interface of a SettingsStore that also keeps the sessions, so that one read returns both.
type CombinedLoader interface {
	// Keeps reports whether those sessions are kept in this store.
	Keeps(s Sessions) bool
	// LoadBoth returns the results of SettingsStore.Load and Sessions.Load from one snapshot.
	LoadBoth(ctx context.Context, key string) (Settings, Session, error)
}

// LoadBoth returns the settings and the session of that key, in one read if one store keeps both.
func LoadBoth(ctx context.Context, settings SettingsStore, sessions Sessions, key string) (Settings, Session, error) {
	if joint, ok := settings.(CombinedLoader); ok && joint.Keeps(sessions) {
		return joint.LoadBoth(ctx, key)
	}
	s, err := settings.Load(ctx)
	if err != nil {
		return Settings{}, Session{}, err
	}
	session, err := sessions.Load(ctx, key)
	return s, session, err
}

// Limiter limits the rate of calls.
type Limiter interface {
	// Take counts one call for key. Above the limit it fails with the error rate_limited, which says when to retry.
	Take(ctx context.Context, key string) error
}

// The default and maximum number of records in a list.
const (
	RunsListed = 50
	RunsAtMost = 200
)

// RunFilter selects call records. Zero fields select everything.
type RunFilter struct {
	Status  tool.Status
	Tool    string
	Session string
	Before  time.Time // only those asked for earlier than that
	Limit   int       // 1 to RunsAtMost; less than 1 is RunsListed
}

// Most returns the limit, brought within its bounds.
func (f RunFilter) Most() int {
	if f.Limit < 1 {
		return RunsListed
	}
	return min(f.Limit, RunsAtMost)
}

// Matches reports whether the filter selects the record, ignoring the limit.
func (f RunFilter) Matches(r *tool.Record) bool {
	return (f.Status == tool.StatusNone || f.Status == r.Status) && (f.Tool == "" || f.Tool == r.Tool) &&
		(f.Session == "" || f.Session == r.Session) && (f.Before.IsZero() || r.At.Before(f.Before))
}

// Runs is the call store: records of calls that change something. A record is found by three IDs: of its call, of the call that used its approval, and of
// the approval request.
type Runs interface {
	// Add stores a new record durably. It fails with tool.ErrTaken if the call has one, and with tool.ErrMove if a record cannot begin with that status.
	Add(ctx context.Context, r tool.Record) error
	// Change runs change on the record with that ID and stores the result durably unless change fails. One Change of a record runs at a time, across all
	// processes. It fails with tool.ErrRecordUnknown, and as tool.Record.Changed does.
	Change(ctx context.Context, id string, change func(*tool.Record) error) error
	// Load returns the record with that ID, or tool.ErrRecordUnknown.
	Load(ctx context.Context, id string) (tool.Record, error)
	// List returns the records that the filter selects, newest first.
	List(ctx context.Context, f RunFilter) ([]tool.Record, error)
	// Purge deletes every final record that is not among the newest keep or was created before the given time, and returns how many.
	Purge(ctx context.Context, keep int, before time.Time) (int, error)
}

// Credentials keeps the credentials of network requests. It stores the digest of a secret, never the secret.
type Credentials interface {
	// Add stores a new credential durably. It fails with access.ErrTaken for an existing ID or digest, or the name of a token that has not ended.
	Add(ctx context.Context, c access.Credential) error
	// Find returns the credential with that digest, or access.ErrUnknown. It is fast enough to call for every request.
	Find(ctx context.Context, d access.Digest) (access.Credential, error)
	// Change runs change on the credential with that ID and stores the result unless change fails. One Change of a credential runs at a time, across all
	// processes. It fails with access.ErrMissing if there is none.
	Change(ctx context.Context, id string, change func(*access.Credential) error) (access.Credential, error)
	// List returns all credentials, oldest first.
	List(ctx context.Context) ([]access.Credential, error)
	// Purge deletes every credential that is Gone before the given time, and returns how many.
	Purge(ctx context.Context, before time.Time) (int, error)
}

// EnrolledKeys keeps the enrolled keys. A stored key counts only if its enrolment is in the audit log.
type EnrolledKeys interface {
	// Add stores a new key durably. It fails with enrolled.ErrTaken for an existing kind and handle.
	Add(ctx context.Context, k enrolled.Key) error
	// Remove deletes the key with that ID. It fails with enrolled.ErrMissing if there is none.
	Remove(ctx context.Context, id string) error
	// List returns copies of all keys, oldest first.
	List(ctx context.Context) ([]enrolled.Key, error)
}

// KeyVerifier verifies signatures of one kind of keys. It uses only its arguments.
type KeyVerifier interface {
	// Usable fails with enrolled.ErrKey if no signature could be verified with the key.
	Usable(k enrolled.Key) error
	// Verify fails with enrolled.ErrUnproven unless the key signed that challenge in the presence of its user: verified for a passkey, by touch for a security
	// key.
	Verify(k enrolled.Key, challenge [32]byte, signed json.RawMessage) error
}

// Outreach limits the remotes that reading tools contact to approved ones.
type Outreach interface {
	// Guard returns a context in which only remotes are contacted for whose URL approved returns true; other contacts fail, and refused returns their URLs so
	// far. approved may be called concurrently.
	Guard(ctx context.Context, approved func(ctx context.Context, url string) (bool, error)) (guarded context.Context, refused func() []string)
}

// ChangeCounter is an optional interface of a SettingsStore whose store also keeps everything else.
type ChangeCounter interface {
	// ChangeCounter returns a number that changes whenever any process stores something. It is fast enough to call many times a second.
	ChangeCounter(ctx context.Context) (int64, error)
}

// ProcessIdentity identifies processes: of this machine, its containers and other machines, running or ended.
type ProcessIdentity interface {
	// Self returns the name of this process. No other process ever has the same name.
	Self() string
	// Judge returns what is known of the process with that name. Only what a Dead process owns may be taken; a process that cannot be observed is Unknown. The
	// empty name is Dead.
	Judge(name string) owner.Verdict
	// Elsewhere describes, for an Unknown process, where it is and how the user can release what it owns. For any other it returns "".
	Elsewhere(name string) string
}

// Leases records that owners are active, for processes that cannot observe them, and which owners the user declared ended.
type Leases interface {
	// Renew records that the owner is active now.
	Renew(ctx context.Context, owner string, now time.Time) error
	// Release deletes the lease of an owner that ends. The user's declaration stays.
	Release(ctx context.Context, owner string) error
	// Find returns the lease of the owner with that owner.Name; one without a record has only the name.
	Find(ctx context.Context, name string) (owner.Lease, error)
	// List returns all leases, sorted by name.
	List(ctx context.Context) ([]owner.Lease, error)
	// Forget records that the user declared the owner with that owner.Name ended. The first declaration is kept.
	Forget(ctx context.Context, name, by string, now time.Time) (owner.Lease, error)
}
