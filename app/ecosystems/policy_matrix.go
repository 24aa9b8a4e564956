package ecosystems

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PolicyRow is one row of the classification matrix (amof contract §12): how a tool is treated in each mode, and how it is confirmed. Ask is
// yes, blocked or explain; Plan is yes or dry-run; Execute is yes or execute.
type PolicyRow struct {
	Number  int    `json:"num"`
	Tool    string `json:"tool"`
	Scope   string `json:"scope"`
	Safety  string `json:"safety"`
	Ask     string `json:"ask"`
	Plan    string `json:"plan"`
	Execute string `json:"execute"`
	Confirm string `json:"confirm"`
}

// kind is a class of the matrix with its confirmation.
type kind struct{ safety, ask, plan, execute, confirm string }

// PolicyMatrix returns the whole table. Rows 1, 2, 8, 10 to 12, 20, 26 and 27 are the seed's, word for word.
func PolicyMatrix() []PolicyRow {
	reads := kind{"read-only", "yes", "yes", "yes", "none"}
	session := kind{"safe-write", "yes", "yes", "yes", "none"} // changes nothing but what the session works on
	safe := kind{"safe-write", "blocked", "dry-run", "execute", "none"}
	dangerous := func(confirm string) kind { return kind{"dangerous", "explain", "dry-run", "execute", confirm} }
	var rows []PolicyRow
	add := func(n int, tool, scope string, k kind) {
		rows = append(rows, PolicyRow{Number: n, Tool: "amof_" + tool, Scope: scope, Safety: k.safety, Ask: k.ask, Plan: k.plan, Execute: k.execute, Confirm: k.confirm})
	}
	add(1, "list_ecosystems", "global", reads)
	add(2, "get_server_status", "global", reads)
	add(3, "get_active_runs", "global", reads)
	add(4, "get_global_telemetry", "global", reads)
	add(5, "switch_ecosystem", "global", session)
	add(6, "get_ecosystem_status", "ecosystem", reads)
	add(7, "describe_ecosystem", "ecosystem", reads)
	add(8, "install_ecosystem", "ecosystem", dangerous("simple"))
	add(9, "sync_ecosystem", "ecosystem", safe)
	add(10, "push_ecosystem", "ecosystem", dangerous("simple"))
	add(11, "spin_deploy", "ecosystem", dangerous("preview"))
	add(12, "spin_destroy", "ecosystem", dangerous("type"))
	add(13, "validate_manifest", "ecosystem", reads)
	add(14, "ticket_list", "ecosystem", reads)
	add(15, "ticket_start", "ecosystem", safe)
	add(16, "ticket_switch", "ecosystem", safe)
	add(17, "ticket_end", "ecosystem", safe) // dangerous and simple with cleanup
	add(18, "create_journal", "ecosystem", safe)
	add(19, "archive_ecosystem", "ecosystem", dangerous("simple"))
	add(20, "discard_ecosystem", "ecosystem", dangerous("type"))
	add(21, "get_run_status", "run", reads)
	add(22, "get_run_logs", "run", reads)
	add(23, "summarize_run", "run", reads)
	add(24, "release_status", "release", reads)
	add(25, "release_validate", "release", reads)
	add(26, "release_bump", "release", dangerous("preview"))
	add(27, "release_promote", "release", dangerous("preview"))
	add(28, "release_log", "release", reads)
	add(29, "list_runs", "run", reads)
	add(30, "cancel_run", "run", safe)
	add(31, "create_ecosystem", "global", safe)
	add(32, "server_start", "server", safe)
	add(33, "server_stop", "server", dangerous("simple"))
	add(34, "server_restart", "server", dangerous("simple"))
	return rows
}

// Policy is the typed handle of the tool that shows the matrix; the MCP resource amof_policy is its answer.
var Policy = tool.Ref[NoInput, PublishedPolicy]{Name: "amof_policy"}

// NoInput is the input of a tool without arguments.
type NoInput struct{}

// PublishedPolicy is the mode policy: modes, what each class of tools does in them, and every tool's row.
type PublishedPolicy struct {
	Modes   []string    `json:"modes"`
	Default string      `json:"default_mode"`
	TTL     int         `json:"confirmation_ttl_seconds"`
	Rows    []PolicyRow `json:"rows"`
	runs.Envelope
}

// ttl is how long a confirmation is good, in seconds (amof contract).
const ttl = 300

func policyEntry(d runs.Deps) tool.Entry {
	spec := runs.ReadSpec("Mode policy", "Show the mode policy: how every tool is treated in ask, plan and execute, and how it is confirmed.", noSchema)
	return bind.Query(Policy, spec, func(_ context.Context, sc tool.Scope, _ NoInput) (PublishedPolicy, error) {
		rows := PolicyMatrix()
		text := runs.AnswerText{Summary: fmt.Sprintf("Listed %d rows of the mode policy", len(rows))}
		return PublishedPolicy{Modes: []string{"ask", "plan", "execute"}, Default: "ask", TTL: ttl, Rows: rows, Envelope: d.Show(sc, runs.Subject{}, text)}, nil
	})
}
