package audit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/audit"
)

func TestUnattended(t *testing.T) {
	for name, c := range map[string]struct {
		event audit.Event
		want  bool
	}{
		"asked nobody":                   {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "allow", Rule: "full_access"}, true},
		"about to, asked nobody":         {audit.Event{Phase: audit.Intent, Class: "dangerous", Verdict: "allow", Rule: "auto_approve"}, true},
		"granted beforehand":             {audit.Event{Phase: audit.Intent, Class: "write", Verdict: "allow", Rule: "session_grant"}, true},
		"waived beforehand, by token":    {audit.Event{Phase: audit.Intent, Class: "write", Verdict: "confirm", Rule: "auto_approve", ApprovedBy: "auto_approve"}, true},
		"notes of its own":               {audit.Event{Phase: audit.Intent, Class: "scratch", Verdict: "allow", Rule: "scratch"}, true},
		"failed, perhaps never begun":    {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "allow", Code: "disk_full"}, false},
		"the caller's own token":         {audit.Event{Phase: audit.Intent, Class: "write", Verdict: "confirm", ApprovedBy: "token"}, true},
		"the caller's own word":          {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "confirm", ApprovedBy: "caller"}, true},
		"a token that was refused":       {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "confirm", ApprovedBy: "token", Code: "confirm_token_expired"}, false},
		"a read":                         {audit.Event{Phase: audit.Outcome, Class: "read", Verdict: "allow"}, false},
		"a person in a terminal":         {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "confirm", ApprovedBy: "terminal"}, false},
		"a person, nothing left to do":   {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "allow", ApprovedBy: "console B1"}, false},
		"still waits":                    {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "confirm", Code: "confirm_token_required"}, false},
		"refused":                        {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "deny"}, false},
		"shown":                          {audit.Event{Phase: audit.Outcome, Class: "write", Verdict: "dry_run"}, false},
		"an answer":                      {audit.Event{Phase: audit.Answer, Class: "write", Verdict: "allow"}, false},
		"a class that was not found out": {audit.Event{Phase: audit.Outcome, Verdict: "allow"}, false},
	} {
		r := audit.Record{Seq: 1, Event: c.event}
		assert.Equal(t, c.want, r.Event.Unattended(), name)
		assert.Equal(t, c.want, audit.Filter{Unattended: true}.Matches(&r), name)
		doc, err := json.Marshal(r)
		require.NoError(t, err)
		if c.want {
			assert.Contains(t, string(doc), `,"unattended":true}`, name)
		} else {
			assert.NotContains(t, string(doc), "unattended", name)
		}
	}
}
