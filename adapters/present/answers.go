package present

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// short is as much of a commit as tells it apart.
const short = 12

// Changes is which files of a work tree are not as they were committed. The lists may be shorter than the counts.
type Changes struct {
	Clean      bool     `json:"clean"`
	Staged     []string `json:"staged"`
	StagedN    int      `json:"staged_count"`
	Modified   []string `json:"modified"`
	ModifiedN  int      `json:"modified_count"`
	Untracked  []string `json:"untracked"`
	UntrackedN int      `json:"untracked_count"`
	Conflicted []string `json:"conflicted"`
	ConflictN  int      `json:"conflicted_count"`
}

// Listed is one of the lists of Changes.
type Listed struct {
	What  string // in what way its files are changed, as git says it
	Names []string
	Count int // of all of them
}

// More returns how many of them have no name in the list.
func (l Listed) More() int { return max(l.Count-len(l.Names), 0) }

// The ways in which files are changed.
const (
	Conflicted = "conflicted"
	Staged     = "staged"
	Modified   = "modified"
	Untracked  = "untracked"
)

// Lists returns those of the lists that are not empty, the gravest first.
func (c Changes) Lists() []Listed {
	var out []Listed
	for _, l := range []Listed{{Conflicted, c.Conflicted, c.ConflictN}, {Staged, c.Staged, c.StagedN}, {Modified, c.Modified, c.ModifiedN}, {Untracked, c.Untracked, c.UntrackedN}} {
		if l.Count > 0 {
			out = append(out, l)
		}
	}
	return out
}

// GitStatus is what git says of a work tree (get_worktree_status).
type GitStatus struct {
	Branch   string `json:"branch"`
	Head     string `json:"head"`
	Detached bool   `json:"detached"`
	Upstream string `json:"upstream"`
	Ahead    int    `json:"ahead"`
	Behind   int    `json:"behind"`
	Changes
}

// worktree is one of a repository's work trees (list_worktrees).
type worktree struct {
	Path     string `json:"path"`
	Branch   string `json:"branch"`
	Head     string `json:"head"`
	Main     bool   `json:"is_main"`
	Bare     bool   `json:"is_bare"`
	Detached bool   `json:"is_detached"`
	Locked   bool   `json:"locked"`
	Prunable bool   `json:"prunable"`
}

// Worktrees are all of them.
type Worktrees struct {
	Worktrees []worktree `json:"worktrees"`
}

// Commit returns the beginning of the commit that is checked out.
func (w worktree) Commit() string { return w.Head[:min(len(w.Head), short)] }

// Marks returns what is special about it, in words.
func (w worktree) Marks() []string {
	var marks []string
	for _, m := range []struct {
		so   bool
		word string
	}{{w.Main, "main"}, {w.Bare, "bare"}, {w.Detached, "detached"}, {w.Locked, "locked"}, {w.Prunable, "prunable: its directory is gone"}} {
		if m.so {
			marks = append(marks, m.word)
		}
	}
	return marks
}

// Step is a step of a workflow (get_workflow).
type Step struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Name   string `json:"name"`
	Config struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd"`
		Timeout int64  `json:"timeout"` // milliseconds
		Target  string `json:"targetWorkflowId"`
		Wait    *bool  `json:"waitForCompletion"`
		OnFail  string `json:"onChildFailure"`

		Needs      []string `json:"needs"` // ids; nil waits for all steps before it
		Retry      int      `json:"retry"`
		RetryDelay int64    `json:"retryDelayMs"`
		Files      []string `json:"files"`
	} `json:"config"`
}

// When returns when and how often a step is run, in words; empty for one that simply follows those before it. names gives steps' names by their ids.
func (s Step) When(names map[string]string) string {
	var out []string
	if s.Config.Needs != nil {
		var needs []string
		for _, id := range s.Config.Needs {
			needs = append(needs, cmp.Or(names[id], id))
		}
		out = append(out, "after "+cmp.Or(strings.Join(needs, ", "), "no other step: starts immediately"))
	}
	if s.Config.Retry > 0 {
		out = append(out, fmt.Sprintf("retries: at most %d", s.Config.Retry))
	}
	if len(s.Config.Files) > 0 {
		out = append(out, "skipped while unchanged: "+strings.Join(s.Config.Files, ", "))
	}
	return strings.Join(out, "; ")
}

// WorkflowInput is an input that can be set when a workflow is run (get_workflow).
type WorkflowInput struct {
	Name        string   `json:"name"`
	Type        string   `json:"type,omitempty"`
	Description string   `json:"description,omitempty"`
	Default     *string  `json:"default,omitempty"`
	Choices     []string `json:"choices,omitempty"`
}

// Takes returns what an input takes, in words.
func (in WorkflowInput) Takes() string {
	switch in.Type {
	case "", "string":
		return "text"
	case "boolean":
		return "true or false"
	case "choice":
		return strings.Join(in.Choices, ", ")
	}
	return "a " + in.Type
}

// Starts returns what is to be known of a step that starts a workflow, in words; empty for one that runs a command.
func (s Step) Starts() string {
	if s.Config.Target == "" {
		return ""
	}
	says := "waits until it ends"
	if s.Config.Wait != nil && !*s.Config.Wait {
		says = "does not wait for it"
	}
	if s.Config.OnFail == "continue" {
		says += ", continues if it fails"
	}
	return says
}

// Action is a stored action, with what its configuration keeps secret masked (get_action).
type Action struct {
	ID          string       `json:"id"`
	Type        string       `json:"actionType"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Config      actionConfig `json:"config"`
	Project     string       `json:"projectId"`
	Enabled     bool         `json:"isEnabled"`
	Updated     time.Time    `json:"updatedAt"`
}

// actionConfig is what an action's type keeps of it.
type actionConfig struct {
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Cwd      string            `json:"cwd"`
	Env      map[string]string `json:"env"`
	Timeout  int64             `json:"timeoutMs"`
	URL      string            `json:"url"`
	Method   string            `json:"method"`
	Headers  map[string]string `json:"headers"`
	Payload  string            `json:"payloadTemplate"`
	Retries  int               `json:"retryCount"`
	Workflow string            `json:"workflowId"`
}

// The types of actions (packageflow contract §2).
const (
	TypeScript   = "script"
	TypeWebhook  = "webhook"
	TypeWorkflow = "workflow"
)

// Does returns what an action does, in one line.
func (a Action) Does() string {
	switch a.Type {
	case TypeScript:
		return CommandLine(append([]string{a.Config.Command}, a.Config.Args...))
	case TypeWebhook:
		return a.Config.Verb() + " " + a.Config.URL
	}
	return "workflow " + a.Config.Workflow
}

// Verb returns the method of its request.
func (c actionConfig) Verb() string { return cmp.Or(c.Method, http.MethodPost) }
