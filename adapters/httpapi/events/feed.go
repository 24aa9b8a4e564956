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
	KindConfirmation  = "ai-tool-confirmation"        // an approval request is pending
	KindResult        = "ai-tool-result"              // a call that asked to change something has ended
	KindClosed        = "ai-tool-confirmation-closed" // an approval request was decided or withdrawn, or has expired
	KindState         = "ai-tool-state"               // a call that asks to change something has a new status
	KindAudit         = "audit"                       // a new audit record
	KindProcessStatus = TopicProcessStatus            // a background process has started or ended
	KindProcessOutput = topicProcessOutput            // lines of its output
	KindRunProgress   = TopicRunProgress              // a run of an ecosystem has a new status or new output
	KindUnreadable    = TopicUnreadable               // a requested topic cannot be read and is no longer polled
	KindGap           = "gap"                         // events between the listener's last one and the next are missing
	KindLagged        = "lagged"                      // the last event of a listener that was too slow; it may reconnect with its last ID
)

// Kinds returns all kinds.
func Kinds() []string {
	return []string{KindConfirmation, KindResult, KindClosed, KindState, KindAudit, KindProcessStatus, KindProcessOutput, KindRunProgress, KindUnreadable, KindGap, KindLagged}
}

// Event is one event.
type Event struct {
	ID   int64           // of its audit record: use it as Filter.After to continue from here; zero is none
	Kind string          // one of Kinds
	Data json.RawMessage // an object, on one line

	Conversation string // the session it belongs to, empty for none
	Tool         string // that it is about, empty for none
	Call         string // id of the call, empty for none
}

// Filter selects a listener's events. The zero Filter selects every event from now on, preceded by the pending approval requests.
type Filter struct {
	Conversation string             // only of that session
	Kinds        []string           // only these; empty is all
	Within       []tool.Restriction // only about tools that all of them cover
	After        int64              // also the events since that audit record: at most ReplayedEvents, and none older than ReplayedFor; zero is none
	Topics       TopicWatcher       // additional topics; Kinds and Conversation do not filter them
}

// Source is what the pump polls: an *app.App.
type Source interface {
	records
	// ChangeCounter returns a number that changes whenever anything below may have changed; it is called many times a second.
	ChangeCounter(ctx context.Context) (int64, error)
	Confirmations(ctx context.Context, session string) ([]confirm.View, error)
	// Spec returns the enabled tool with that name.
	Spec(n tool.Name) (tool.Spec, bool)
}

// records reads call records.
type records interface {
	AuditTail(ctx context.Context, n int) ([]audit.Record, error)
	AuditTrail(ctx context.Context, after int64) iter.Seq2[audit.Record, error]
	Calls(ctx context.Context, f app.RunFilter) ([]tool.Record, error)
	CallRecord(ctx context.Context, id string) (tool.Record, error)
}

// keeps reports whether the filter selects the event. Events about the subscription itself are always selected.
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
