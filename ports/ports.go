// Package ports is what the core needs from outside: small interfaces written in domain types, for the caller's use. Each one's
// comments are its contract, and internal/testkit/porttest is that contract executable: every adapter runs it.
//
// It refuses to know files, SQL, HTTP or any other technology. (Some books call inbound adapters "ports"; here the word means
// what the core drives.)
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

// Clock tells the time. It never goes through time zones: Now is UTC.
type Clock interface {
	Now() time.Time
}

// IDs makes identifiers that do not repeat.
type IDs interface {
	// NewID is prefix followed by n characters drawn independently from a-z and 2-7 (RFC 4648 base32 in lower case).
	NewID(prefix string, n int) string
}

// Tokens makes confirmation secrets.
type Tokens interface {
	// NewToken is a fresh UUIDv4 from the operating system's randomness.
	NewToken() confirm.Token
}

// PendingFilter chooses grants. Zero fields match everything.
type PendingFilter struct {
	ID      string
	Session string
	Binding *confirm.Binding
	Names   bool // tokens that name a plan, instead of questions
}

// Ledger keeps confirmations. What it stores survives a restart, and it never stores a token, only its digest. The arguments of a grant
// that is final may be forgotten, and what people saw beside its plan.
type Ledger interface {
	// Issue stores a new grant. A digest or ID that exists already is an internal error.
	Issue(ctx context.Context, g confirm.Request) error
	// Settle loads the grant with that digest, runs f on it, and stores what f leaves whether f fails or not; only one Settle of a
	// digest runs at a time, across all processes. It returns f's error, or confirm.ErrUnknown when there is no such grant.
	Settle(ctx context.Context, d confirm.Digest, f func(*confirm.Request) error) error
	// Pending lists copies of grants that are not final and not expired at now, oldest first.
	Pending(ctx context.Context, f PendingFilter, now time.Time) ([]confirm.Request, error)
	// Purge forgets every grant that expired before the given time, final or not, and reports how many. Until then a spent token is
	// told apart from one that never was.
	Purge(ctx context.Context, before time.Time) (int, error)
}

// Bell wakes who waits for a person to decide, in whatever process.
type Bell interface {
	// Ring is called once what was decided on the confirmation of that id is stored. It wakes at once, and promises nothing: who listens looks now and
	// then all the same.
	Ring(id string)
	// Listen hears when the confirmation of that id may have been decided, until stop is called. It may ring without cause.
	Listen(id string) (rings <-chan struct{}, stop func())
}

// Notifier tells people outside this process that something waits for them. It never holds a caller up.
type Notifier interface {
	// Asked is called once a question is stored that waits for a person; byHand where a person made the call, who is most likely there to answer. It
	// returns at once and promises nothing.
	Asked(id string, byHand bool)
	// Announce has people told of something that has happened, on every channel. It returns at once and promises nothing. what holds no secret.
	Announce(what string)
}

// Channel is one way to reach people.
type Channel interface {
	// Name is what the channel is called: "ntfy".
	Name() string
	// Send hands the message over, and returns within the life of ctx. What it fails with holds no secret of the channel. One that is fault.Unavailable may
	// succeed when it is tried again.
	Send(ctx context.Context, m notice.Message) error
}

// AuditLog keeps the hash chain of what happened.
type AuditLog interface {
	// Append stores the events in order, durably and all or none; records of several processes interleave but never break the chain.
	Append(ctx context.Context, events ...audit.Event) error
	// Records lists up to limit records with Seq > after in rising order; limit ≤ 0 means 100.
	Records(ctx context.Context, after int64, limit int) ([]audit.Record, error)
	// Tail lists the last n records in rising order.
	Tail(ctx context.Context, n int) ([]audit.Record, error)
	// Search is the newest records that the filter chooses, newest first.
	Search(ctx context.Context, f audit.Filter) ([]audit.Record, error)
}

// Chain is an AuditLog whose records can be held against the chain as they lie there.
type Chain interface {
	AuditLog
	// Chain hands f what the log says of its own end, and every record in rising order, all of one moment. A record is f's until it asks for the next.
	Chain(ctx context.Context, f func(audit.End, iter.Seq2[audit.Raw, error]) error) error
	// HashAt is the hash of that record; zero for one that there is not.
	HashAt(ctx context.Context, seq int64) (canon.Hash, error)
	// End is what the log says of its own end.
	End(ctx context.Context) (audit.End, error)
	// CheckIndex fails with audit.ErrBroken where Search may miss a record that is in the chain.
	CheckIndex(ctx context.Context) error
}

// Checked is an AuditLog that knows more ways than the chain itself to find out whether it is the one that was written.
type Checked interface {
	// Check holds the whole log against all that there is. What is wrong with the log is in the report; the error is that it could not be looked at.
	Check(ctx context.Context) (audit.Report, error)
}

// Signer signs the end of a chain with the key of this machine.
type Signer interface {
	// Key is the key that signs after had has, which is zero where nothing was signed yet. Only then is one made that is missing.
	Key(had audit.Key) (audit.Key, error)
	// Sign signs the end of the chain with that key.
	Sign(k audit.Key, seq int64, hash canon.Hash) (audit.Head, error)
}

// Settings is what a person set, product-wide. The zero Settings of a fresh store is Revision 0 with nothing set.
type Settings struct {
	Revision int64                     `json:"revision"`
	Level    policy.Level              `json:"permission_level"`
	Tools    map[string]policy.Setting `json:"tool_permissions"`
	Auto     policy.AutoApprove        `json:"auto_approve"`
	Approval policy.Approval           `json:"approval,omitempty"`
	MaxMode  policy.Mode               `json:"max_mode,omitempty"`
	Require  map[string]policy.Proving `json:"require,omitempty"` // by tool, policy.RequireHigh and policy.RequireType
	Forms    []string                  `json:"forms,omitempty"`   // host entries whose form may answer, sorted
}

// Layer is what the settings say, under that name. answered says that a person's answer to them is on record; without one they only narrow.
func (s Settings) Layer(name string, answered bool) policy.Layer {
	return policy.Layer{Name: name, Answered: answered, Whole: true, Approval: s.Approval, Level: s.Level, Ceiling: s.MaxMode, Tools: s.Tools, Auto: s.Auto, Require: s.Require}
}

// Sum is what a change that leaves these settings is known by: everything in them.
func (s Settings) Sum() canon.Hash {
	if s.Tools == nil {
		s.Tools = map[string]policy.Setting{}
	}
	s.Auto.Tools = append([]string{}, s.Auto.Tools...) // none is none, however it was kept
	sum, err := canon.Sum("settings.v1", s)
	if err != nil { // words and whole numbers always have a form; what has none is nobody's
		return canon.Hash{}
	}
	return sum
}

// Equal reports settings that say the same, in the same revision.
func (s Settings) Equal(o Settings) bool {
	return s.Revision == o.Revision && s.Level == o.Level && s.Approval == o.Approval && s.MaxMode == o.MaxMode && s.Auto.Enabled == o.Auto.Enabled &&
		maps.Equal(s.Tools, o.Tools) && slices.Equal(s.Auto.Tools, o.Auto.Tools) && maps.Equal(s.Require, o.Require) && slices.Equal(s.Forms, o.Forms)
}

// Copy shares nothing with the settings.
func (s Settings) Copy() Settings {
	s.Tools, s.Auto.Tools, s.Require, s.Forms = maps.Clone(s.Tools), slices.Clone(s.Auto.Tools), maps.Clone(s.Require), slices.Clone(s.Forms)
	return s
}

// SettingsStore keeps Settings.
type SettingsStore interface {
	// Load is the settings as they are now; cheap enough to call before every decision.
	Load(ctx context.Context) (Settings, error)
	// Save stores s as Revision s.Revision+1 and returns it; if another save came between, it fails with ErrSettingsConflict.
	Save(ctx context.Context, s Settings) (Settings, error)
}

// ErrSettingsConflict reports settings that changed since they were read.
var ErrSettingsConflict = fault.New(fault.Conflict, "settings_conflict", "the settings have changed since they were read; read them again")

// ErrStoreNewer reports a store that a newer program has written. Nothing is carried out over it, reads neither: they could not be recorded.
var ErrStoreNewer = fault.New(fault.Unavailable, "store_schema_newer", "the database was written by a newer Countersign")

// Session is what is remembered for one client instance. The zero Session is one nobody said anything to.
type Session struct {
	Mode    policy.Mode            `json:"mode"`
	Granted []confirm.SessionGrant `json:"allowances,omitempty"` // what was answered "always allow"
	// Notes is what capabilities remember of the session, by capability.
	Notes map[string]string `json:"notes,omitempty"`
}

// Copy shares nothing with the session.
func (s Session) Copy() Session {
	s.Granted, s.Notes = slices.Clone(s.Granted), maps.Clone(s.Notes)
	return s
}

// Remember keeps a capability's note; an empty one forgets it.
func (s *Session) Remember(capability, note string) {
	if s.Notes == nil {
		s.Notes = map[string]string{}
	}
	if s.Notes[capability] = note; note == "" {
		delete(s.Notes, capability)
	}
}

// Grant remembers an "always allow", in place of an older one of the same; those that have run out by then are forgotten.
func (s *Session) Grant(a confirm.SessionGrant) {
	s.Granted = slices.DeleteFunc(s.Granted, func(have confirm.SessionGrant) bool {
		return have.Tool == a.Tool && have.Scope == a.Scope || !have.Holds(a.At)
	})
	s.Granted = append(s.Granted, a)
}

// Allows reports whether "always allow" was answered for the tool, or for that scope of it, and still holds.
func (s Session) Allows(tool, scope string, now time.Time) bool {
	return len(s.Allowing(tool, scope, now)) > 0
}

// Allowing is every "always allow" that was answered for the tool, or for that scope of it, and still holds.
func (s Session) Allowing(tool, scope string, now time.Time) []confirm.SessionGrant {
	var found []confirm.SessionGrant
	for _, a := range s.Granted {
		if a.Tool == tool && (a.Scope == "" || a.Scope == scope) && a.Holds(now) {
			found = append(found, a)
		}
	}
	return found
}

// SessionKey is the key of a principal's client instance in Sessions.
func SessionKey(principal, instance string) string { return principal + "\x00" + instance }

// SessionOf is what SessionKey has made a key of.
func SessionOf(key string) (principal, instance string) {
	principal, instance, _ = strings.Cut(key, "\x00")
	return principal, instance
}

// Sessions keeps Session by key (principal and client instance).
type Sessions interface {
	// Load is the session, zero when nothing was stored; cheap enough to call before every decision. The caller owns the copy.
	Load(ctx context.Context, key string) (Session, error)
	// Update runs change on the session (zero when absent) and stores it unless change fails; one at a time per key.
	Update(ctx context.Context, key string, change func(*Session) error) error
	// End forgets the session; ending one that is absent is no error.
	End(ctx context.Context, key string) error
	// List is copies of all that is remembered, by key.
	List(ctx context.Context) (map[string]Session, error)
}

// DatedGrants keeps what people allowed until a date. What it hands out are copies.
type DatedGrants interface {
	// Add stores a new grant, durably. An id that exists already is an internal error.
	Add(ctx context.Context, d confirm.Dated) error
	// Change runs change on the grant of that id and stores what it leaves, unless it fails, except for another id; only one Change of a grant runs at a
	// time, across all processes. It fails with confirm.ErrNoSessionGrant where there is none.
	Change(ctx context.Context, id string, change func(*confirm.Dated) error) error
	// Remove forgets the grant of that id; it fails with confirm.ErrNoSessionGrant where there is none.
	Remove(ctx context.Context, id string) error
	// List is all of them, oldest first, whether they hold or not.
	List(ctx context.Context) ([]confirm.Dated, error)
}

// Joint may be implemented by a SettingsStore that keeps sessions as well: both are asked for before every decision.
type Joint interface {
	// Keeps reports whether those sessions are this store's.
	Keeps(s Sessions) bool
	// LoadBoth is SettingsStore.Load and Sessions.Load of one moment.
	LoadBoth(ctx context.Context, key string) (Settings, Session, error)
}

// LoadBoth is the settings and the session of that key as they are now, in one look where one store keeps both.
func LoadBoth(ctx context.Context, settings SettingsStore, sessions Sessions, key string) (Settings, Session, error) {
	if joint, ok := settings.(Joint); ok && joint.Keeps(sessions) {
		return joint.LoadBoth(ctx, key)
	}
	s, err := settings.Load(ctx)
	if err != nil {
		return Settings{}, Session{}, err
	}
	session, err := sessions.Load(ctx, key)
	return s, session, err
}

// Limiter bounds how often something happens.
type Limiter interface {
	// Take charges one call to key, or fails with a rate_limited fault that says when to try again.
	Take(ctx context.Context, key string) error
}

// How many runs a list has when nobody says, and at most.
const (
	RunsListed = 50
	RunsAtMost = 200
)

// RunFilter chooses runs. Zero fields match everything.
type RunFilter struct {
	Status  tool.Status
	Tool    string
	Session string
	Before  time.Time // only those asked for earlier than that
	Limit   int       // 1 to RunsAtMost; less than 1 is RunsListed
}

// Most is the limit within its bounds.
func (f RunFilter) Most() int {
	if f.Limit < 1 {
		return RunsListed
	}
	return min(f.Limit, RunsAtMost)
}

// Matches reports whether the filter chooses the record, its limit aside.
func (f RunFilter) Matches(r *tool.Record) bool {
	return (f.Status == tool.StatusNone || f.Status == r.Status) && (f.Tool == "" || f.Tool == r.Tool) &&
		(f.Session == "" || f.Session == r.Session) && (f.Before.IsZero() || r.At.Before(f.Before))
}

// Runs keeps the records of calls that wanted to change something. A record goes by three ids: of its call, of the call that redeemed
// its confirmation, and of the confirmation.
type Runs interface {
	// Add stores a new record, durably. It fails with tool.ErrTaken when there is one of that call, and with tool.ErrMove when a
	// record cannot begin so.
	Add(ctx context.Context, r tool.Record) error
	// Change runs change on the record that goes by id and stores what it leaves, durably, unless it fails; only one Change of a record
	// runs at a time, across all processes. It fails with tool.ErrRecordUnknown, and as tool.Record.Changed does.
	Change(ctx context.Context, id string, change func(*tool.Record) error) error
	// Load is the record that goes by id, or tool.ErrRecordUnknown.
	Load(ctx context.Context, id string) (tool.Record, error)
	// List is the records that the filter chooses, newest first.
	List(ctx context.Context, f RunFilter) ([]tool.Record, error)
	// Purge forgets every record that has ended and is not among the newest keep, or was asked for before the given time, and reports
	// how many.
	Purge(ctx context.Context, keep int, before time.Time) (int, error)
}

// Credentials keeps what lets requests in that arrive over a network. It never stores a secret, only its digest.
type Credentials interface {
	// Add stores a new credential, durably. It fails with access.ErrTaken when there is one of that id or digest, or a token of that name that
	// has not ended.
	Add(ctx context.Context, c access.Credential) error
	// Find is the credential with that digest, or access.ErrUnknown; cheap enough to call for every request.
	Find(ctx context.Context, d access.Digest) (access.Credential, error)
	// Change runs change on the credential of that id and stores what it leaves, unless it fails; only one Change of a credential runs at a time,
	// across all processes. It fails with access.ErrMissing when there is none.
	Change(ctx context.Context, id string, change func(*access.Credential) error) (access.Credential, error)
	// List is every credential, oldest first.
	List(ctx context.Context) ([]access.Credential, error)
	// Purge forgets every credential that is Gone before the given time, and reports how many.
	Purge(ctx context.Context, before time.Time) (int, error)
}

// EnrolledKeys keeps the keys that prove a person. That a key is kept says nothing yet: it counts as far as its enrolment is on record.
type EnrolledKeys interface {
	// Add stores a new key, durably. It fails with enrolled.ErrTaken when there is one of that kind and handle.
	Add(ctx context.Context, k enrolled.Key) error
	// Remove forgets the key of that id. It fails with enrolled.ErrMissing when there is none.
	Remove(ctx context.Context, id string) error
	// List is copies of all keys, oldest first.
	List(ctx context.Context) ([]enrolled.Key, error)
}

// KeyVerifier judges what keys of one kind have signed. It needs nothing but what it is given.
type KeyVerifier interface {
	// Usable fails with enrolled.ErrKey where nothing could ever be verified with the key.
	Usable(k enrolled.Key) error
	// Verify fails with enrolled.ErrUnproven unless the key has signed that challenge, with its person there: verified for a passkey, touching for a
	// security key.
	Verify(k enrolled.Key, challenge [32]byte, signed json.RawMessage) error
}

// Outreach holds what tools read from other machines to what a person has approved.
type Outreach interface {
	// Guard is ctx in which a remote is reached only where approved says so of its URL; whatever would reach another fails, and refused gives the URLs of
	// all those so far. approved may be asked from several goroutines at once.
	Guard(ctx context.Context, approved func(ctx context.Context, url string) (bool, error)) (guarded context.Context, refused func() []string)
}

// Stamped may be implemented by a SettingsStore in whose store everything else is as well.
type Stamped interface {
	// Stamp is a number that is another one once anybody, in whatever process, has stored something since; cheap enough to ask many times a
	// second.
	Stamp(ctx context.Context) (int64, error)
}

// Owner tells processes apart: those of this machine, of its containers and of other machines, and those that are gone.
type Owner interface {
	// Self names this process. No other process is ever named so, before or after it, here or anywhere else.
	Self() string
	// Judge is what is known of the process of that name. Only one that is Dead may be taken what it owns; of one that cannot be seen from here
	// nothing is known. Nobody's name, the empty one, is a dead process's.
	Judge(name string) owner.Verdict
	// Elsewhere says, of a process that nothing is known of, where it is and how a person settles what it owns. Of any other it says nothing.
	Elsewhere(name string) string
}

// Leases is where owners show that they are there, for those who cannot see them, and where people say that one has ended.
type Leases interface {
	// Renew puts on record that the owner is there now.
	Renew(ctx context.Context, owner string, now time.Time) error
	// Release forgets the lease of an owner that ends; what a person said of it stays.
	Release(ctx context.Context, owner string) error
	// Find is the lease of the owner with that owner.Name; one that there is not has nothing but the name.
	Find(ctx context.Context, name string) (owner.Lease, error)
	// List is all leases, in the order of their names.
	List(ctx context.Context) ([]owner.Lease, error)
	// Forget puts on record that a person said that the owner with that owner.Name has ended. The first who said so is the one on record.
	Forget(ctx context.Context, name, by string, now time.Time) (owner.Lease, error)
}
