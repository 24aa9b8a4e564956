package planner

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Edit is a plan to write and delete files of the config repository (or of its home), and whatever else its command does then: a command that needs more
// to go on embeds it. Its answer has data of type T.
type Edit[T any] struct {
	Command string // as a person types it
	Place   deployment.Place
	Writes  []deployment.Write
	Report  Report[T] // what a dry run shows, and the answer once it was carried out
	Nothing bool      // there is nothing to do, and so nothing to ask
	From    []string  // remotes that it names, which are shown
	Risk    policy.Risk
	Scope   string // what an "always" covers; empty covers the tool
}

// Assessment raises the risk, and bounds what an "always" covers.
func (e *Edit[T]) Assessment() policy.Assessment {
	return policy.Assessment{Risk: e.Risk, Scope: e.Scope}
}

// Remotes are those that the edit names.
func (e *Edit[T]) Remotes() []string { return e.From }

// Idle reports an edit that does nothing.
func (e *Edit[T]) Idle() bool { return e.Nothing }

// editShown is what an edit's hash is over: what is shown, and every write with its sums.
type editShown struct {
	Command string         `json:"command"`
	Repo    string         `json:"repo"`
	Data    any            `json:"data"`
	Writes  []writtenShown `json:"writes"`
}

type writtenShown struct {
	Path   string         `json:"path"`
	Op     deployment.Op  `json:"op"`
	Before deployment.Sum `json:"before_sha256"`
	After  deployment.Sum `json:"after_sha256"`
}

// Hash names the edit.
func (e *Edit[T]) Hash() canon.Hash {
	shown := editShown{Command: e.Command, Repo: e.Place.Repo, Data: e.Report.Data}
	for _, w := range e.Writes {
		shown.Writes = append(shown.Writes, writtenShown{w.Path, w.Op, w.Before.Sum, w.After.Sum})
	}
	text, err := json.Marshal(shown)
	if err != nil {
		text = []byte(e.Command) // a report always has a JSON form
	}
	return canon.SumBytes("deployment.edit.v1", text)
}

// Prompt is one line for whoever confirms.
func (e *Edit[T]) Prompt() string { return e.Command + " in " + e.Place.Repo }

// MarshalJSON is the report.
func (e *Edit[T]) MarshalJSON() ([]byte, error) { return json.Marshal(e.Report) }

// Transaction is the edit's writes, confined to the directories they name.
func (e *Edit[T]) Transaction() deployment.Transaction {
	return deployment.Transaction{Kind: deployment.KindEdit, Place: e.Place, Writes: e.Writes}
}

// FileWrite is the write that gives a file this content, below root; nil when it has it already.
func FileWrite(root, path string, now deployment.Seen, data []byte) *deployment.Write {
	content := deployment.ContentOf(data)
	if now.Kind == deployment.Regular && now.Sum == content.Sum {
		return nil
	}
	op := deployment.OpCreate
	if now.Kind != deployment.Absent {
		op = deployment.OpUpdate
	}
	return &deployment.Write{Op: op, Path: path, Root: root, Before: now, Data: content,
		After: deployment.Seen{Kind: deployment.Regular, Sum: content.Sum, Size: content.Size, Mode: deployment.PlainMode}}
}
