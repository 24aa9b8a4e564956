package push

import (
	"context"
	"encoding/json"
	"path"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// OperationNote is the name of the operation log: the step of an operation, stored before it is done, so that the next process can finish or undo it.
const OperationNote = "shipping.json"

// The phases. What was begun is undone up to PhaseRecording, unless the record is made already, and finished from PhaseRemoving on.
const (
	PhaseSending   = "sending"   // commits and pushes: Opened is unstaged, Sent is recorded if it arrived
	PhaseSaving    = "saving"    // bundles: they go
	PhaseRecording = "recording" // the archive's file: it goes, and the bundles
	PhaseRemoving  = "removing"  // the workspace on its way to the trash
	PhaseRestoring = "restoring" // and back
)

// Operation is one operation under way.
type Operation struct {
	Phase   string                   `json:"phase"`
	Opened  *StagedTree              `json:"opened,omitempty"`
	Sent    *PendingPush             `json:"sent,omitempty"`
	Entry   ecosystemport.TrashEntry `json:"stowed"`
	File    string                   `json:"file,omitempty"`    // of the archive, relative to the ecosystem's directory
	Message string                   `json:"message,omitempty"` // of the archive
}

// StagedTree is a working tree in which something is being staged.
type StagedTree struct {
	Dir   string `json:"dir"`
	Head  string `json:"head"`
	Index string `json:"index"`
}

// PendingPush is a branch that is being pushed.
type PendingPush struct {
	Repo   string `json:"repo"`
	Dir    string `json:"dir"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Save stores the operation durably.
func (j *Operation) Save(ctx context.Context, states ecosystemport.States, l ecosystem.Layout) error {
	doc, err := tool.Encode(j)
	if err == nil {
		err = states.Note(ctx, l, OperationNote, doc)
	}
	return err
}

// ClearOperation deletes the operation log.
func ClearOperation(ctx context.Context, states ecosystemport.States, l ecosystem.Layout) error {
	return states.Note(ctx, l, OperationNote, nil)
}

// LoadOperation returns the stored operation, or nil. It fails with ecosystem.ErrState.
func LoadOperation(ctx context.Context, states ecosystemport.States, l ecosystem.Layout) (*Operation, error) {
	doc, err := states.Noted(ctx, l, OperationNote)
	if err != nil || doc == nil {
		return nil, err
	}
	j := &Operation{}
	if err := json.Unmarshal(doc, j); err != nil {
		return nil, ecosystem.ErrState.WithMessage("the journal %s cannot be read; see what is in the trash, then move it away", path.Join(l.State, OperationNote)).WithCause(err)
	}
	return j, nil
}
