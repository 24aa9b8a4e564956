package events

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The kinds of events. The first two and their members are those of the packageflow contract; the rest is ours.
const (
	KindConfirmation  = "ai-tool-confirmation"        // a call waits for the user
	KindResult        = "ai-tool-result"              // a call that wanted to change something has ended
	KindClosed        = "ai-tool-confirmation-closed" // a question waits no longer: it was answered, withdrawn, or has run out
	KindState         = "ai-tool-state"               // a call that wants to change something is somewhere else now
	KindAudit         = "audit"                       // a new record of the audit
	KindProcessStatus = TopicProcessStatus            // a background process has begun, or ended
	KindProcessOutput = topicProcessOutput            // lines it printed
	KindRunProgress   = TopicRunProgress              // a run of an ecosystem is somewhere else, or said something
	KindUnreadable    = TopicUnreadable               // what a listener asked to hear of cannot be read, and is not any more
	KindGap           = "gap"                         // between what the listener knew and what follows, something is missing
	KindLagged        = "lagged"                      // the last event of a listener that was too slow; it may come again with what it has
)

// Kinds returns all of them.
func Kinds() []string {
	return []string{KindConfirmation, KindResult, KindClosed, KindState, KindAudit, KindProcessStatus, KindProcessOutput, KindRunProgress, KindUnreadable, KindGap, KindLagged}
}

// Event is one thing that happened.
type Event struct {
	ID   int64           // of the audit record that it comes from: Filter.After, to go on from here; zero is none
	Kind string          // one of Kinds
	Data json.RawMessage // an object, on one line

	Conversation string // the session it belongs to, empty for none
	Tool         string // that it is about, empty for none
	Call         string // id of the call, empty for none
}

// Filter says what a listener hears. The zero Filter hears every event from now on, and begins with the questions that wait.
type Filter struct {
	Conversation string           // only of that session
	Kinds        []string         // only these; empty is all
	Within       []tool.Narrowing // only about tools that every one of them covers
	After        int64            // also what the audit has after that record: at most ReplayedEvents, and none older than ReplayedFor; zero is nothing
	Topics       TopicWatcher     // what else; Kinds and Conversation do not narrow it
}

// Source is where the pump looks: an *app.App.
type Source interface {
	records
	// Stamp is another number once anything below may have changed; it is asked many times a second.
	Stamp(ctx context.Context) (int64, error)
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	// Spec returns the enabled tool with that name.
	Spec(n tool.Name) (tool.Spec, bool)
}

// records is what is on record of calls.
type records interface {
	AuditTail(ctx context.Context, n int) ([]audit.Record, error)
	AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error]
	Runs(ctx context.Context, f app.RunFilter) ([]tool.Record, error)
	RunRecord(ctx context.Context, id string) (tool.Record, error)
}

// keeps reports whether the listener hears the event. What it is told about its own listening it always hears.
func (f *Filter) keeps(e Event, spec func(tool.Name) (tool.Spec, bool)) bool {
	if e.Kind == KindGap || e.Kind == KindLagged {
		return true
	}
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind) || f.Conversation != "" && e.Conversation != f.Conversation {
		return false
	}
	if len(f.Within) == 0 || e.Tool == "" {
		return true
	}
	s, served := spec(tool.Name(e.Tool))
	return served && tool.Covered(f.Within, s)
}
