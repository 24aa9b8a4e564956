package push

import (
	"context"
	"encoding/json"
	"path"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// noteName is what is being done to an ecosystem, noted before it is done, so that whoever comes after a process that was killed can finish
// or undo it.
const noteName = "shipping.json"

// The phases. What was begun is undone up to Recording, unless the record is made already, and finished from Removing on.
const (
	Sending   = "sending"   // commits and pushes: Opened is unstaged, Sent is recorded if it arrived
	Saving    = "saving"    // bundles: they go
	Recording = "recording" // the archive's file: it goes, and the bundles
	Removing  = "removing"  // the workspace on its way to the trash
	Restoring = "restoring" // and back
)

// Entry is what is being done.
type Entry struct {
	Phase   string               `json:"phase"`
	Opened  *Opened              `json:"opened,omitempty"`
	Sent    *Sent                `json:"sent,omitempty"`
	Stowed  ecosystemport.Stowed `json:"stowed"`
	File    string               `json:"file,omitempty"`    // of the archive, relative to the ecosystem's directory
	Message string               `json:"message,omitempty"` // of the archive
}

// Opened is a working tree in which something is being staged.
type Opened struct {
	Dir   string `json:"dir"`
	Head  string `json:"head"`
	Index string `json:"index"`
}

// Sent is a branch that is being pushed.
type Sent struct {
	Repo   string `json:"repo"`
	Dir    string `json:"dir"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Note notes it, durably.
func (j *Entry) Note(ctx context.Context, states ecosystemport.States, l ecosystem.Layout) error {
	doc, err := tool.Encode(j)
	if err == nil {
		err = states.Note(ctx, l, noteName, doc)
	}
	return err
}

// OperationDone forgets what was noted.
func OperationDone(ctx context.Context, states ecosystemport.States, l ecosystem.Layout) error {
	return states.Note(ctx, l, noteName, nil)
}

// Noted is what was noted, or nil. It fails with ecosystem.ErrState.
func Noted(ctx context.Context, states ecosystemport.States, l ecosystem.Layout) (*Entry, error) {
	doc, err := states.Noted(ctx, l, noteName)
	if err != nil || doc == nil {
		return nil, err
	}
	j := &Entry{}
	if err := json.Unmarshal(doc, j); err != nil {
		return nil, ecosystem.ErrState.Sayf("the journal %s cannot be read; see what is in the trash, then move it away", path.Join(l.State, noteName)).Because(err)
	}
	return j, nil
}
