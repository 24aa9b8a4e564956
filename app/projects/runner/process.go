package runner

import (
	"cmp"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
)

// Process is a process in lists (packageflow contract §1.11).
type Process struct {
	ID          process.ID `json:"id"`
	PID         int        `json:"pid"`
	OwnerPID    int        `json:"ownerPid"` // the Countersign process that supervises it
	ScriptName  string     `json:"scriptName"`
	ProjectPath string     `json:"projectPath"`
	Status      string     `json:"status"`
	StartedAt   time.Time  `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	ExitCode    *int       `json:"exitCode,omitempty"` // of one that ended, if known
	Command     string     `json:"command"`
	Client      string     `json:"client,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	Matched     *bool      `json:"patternMatched"` // whether a line matched its starter's pattern; null without one, or if it is not known
}

// ProcessOf returns a process of this capability in the form of lists.
func ProcessOf(s process.State) Process {
	v := Process{ID: s.ID, PID: s.PID, OwnerPID: s.Owner, ScriptName: s.Labels[LabelScript], ProjectPath: s.Labels[LabelProject], Status: StatusOf(s),
		StartedAt: s.StartedAt, Command: cmp.Or(s.Labels[LabelCommand], strings.Join(s.Argv, " ")), Client: s.Labels[LabelClient],
		Reason: cmp.Or(s.Reason, s.Elsewhere)}
	if s.Status.Final() {
		v.CompletedAt = &s.EndedAt
		if !s.Lost && s.PID != 0 {
			v.ExitCode = &s.Exit.Code
		}
	}
	return v
}

// StatusOf returns a status in the contract's words, which have none for the time between a signal and the end.
func StatusOf(s process.State) string {
	if s.Status == process.Stopping {
		return process.Running.String()
	}
	return s.Status.String()
}
