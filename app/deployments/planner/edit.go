package planner

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Edit is a plan to write and delete files of the config repository (or of its home), and further effects of its command: a command that needs more
// to continue embeds it. Its result has data of type T.
type Edit[T any] struct {
	Command string // as typed by users
	Place   deployment.Locations
	Writes  []deployment.Write
	Report  Report[T] // the result of a dry run, and of the command once it was applied
	Nothing bool      // there is nothing to do, and so nothing to approve
	From    []string  // remotes that it names, which are shown
	Risk    policy.Risk
	Scope   string // scope of a session grant; empty: the tool
}

// Assessment raises the risk, and limits the scope of a session grant.
func (e *Edit[T]) Assessment() policy.Assessment {
	return policy.Assessment{Risk: e.Risk, Scope: e.Scope}
}

// Remotes returns those that the edit names.
func (e *Edit[T]) Remotes() []string { return e.From }

// NoOp reports whether the edit does nothing.
func (e *Edit[T]) NoOp() bool { return e.Nothing }

// editShown is the input of an edit's hash: what is shown, and every write with its sums.
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

// Prompt returns one line for the approval request.
func (e *Edit[T]) Prompt() string { return e.Command + " in " + e.Place.Repo }

// MarshalJSON returns the report.
func (e *Edit[T]) MarshalJSON() ([]byte, error) { return json.Marshal(e.Report) }

// Transaction returns the edit's writes, confined to the directories they name.
func (e *Edit[T]) Transaction() deployment.Transaction {
	return deployment.Transaction{Kind: deployment.KindEdit, Place: e.Place, Writes: e.Writes}
}

// FileWrite returns the write that gives a file this content, below root; nil if it already has it.
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
