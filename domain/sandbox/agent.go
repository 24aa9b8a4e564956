package sandbox

import "time"

// The agents that a sandbox can start.
const (
	AgentNone     = "none"
	AgentOpencode = "opencode" // a session of the project's server
	AgentClaude   = "claude"   // claude -p, a process of its own
	AgentCodex    = "codex"    // codex exec, likewise
)

// Agent is the agent that was last started in a sandbox.
type Agent struct {
	Name      string    `json:"name"`
	ProcessID string    `json:"process_id,omitempty"` // of Countersign's process table
	PID       int       `json:"pid,omitempty"`
	Log       string    `json:"log,omitempty"`
	Session   string    `json:"session,omitempty"` // of the project's server, instead of a process
	StartedAt time.Time `json:"started_at"`
	Ended     *AgentEnd `json:"ended,omitempty"` // nil until its end is known
}

// AgentKept is how long the end of an agent is stored if it is not read.
const AgentKept = 30 * 24 * time.Hour

// AgentEnd is how an agent that was a process of its own ended.
type AgentEnd struct {
	Status   string    `json:"status"`
	ExitCode int       `json:"exit_code"`
	At       time.Time `json:"at"`
}

// AgentArguments returns the arguments of an agent that is a process of its own. It may change files in its directory, and nothing that would need a
// permission, because there is nobody to ask.
func AgentArguments(name, prompt string) []string {
	switch name {
	case AgentClaude:
		return []string{"-p", "--permission-mode", "acceptEdits", "--", prompt}
	case AgentCodex:
		return []string{"exec", "--sandbox", "workspace-write", "--", prompt}
	}
	return nil
}
