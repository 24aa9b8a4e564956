package local

import (
	"archive/tar"
	"database/sql"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/ports"
)

// TestWhatWasApprovedBeforeARestoreLetsNothingHappen: an approval that no call has used is in the backup, is used, and comes back unused with the older
// database. It is withdrawn, on record; who puts its row back from the backup has gained nothing. Tokens, and what settings open, are told of beforehand.
func TestWhatWasApprovedBeforeARestoreLetsNothingHappen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	open := func() *Local {
		l, err := Open(Config{Dir: dir, Toolsets: []string{"control"}, Trust: noPolicy(t), Journal: filepath.Join(dir, "none"),
			Options: app.Options{Policy: policy.Policy{Ceiling: policy.Execute, Level: policy.ExecuteWithConfirm}}})
		require.NoError(t, err)
		return l
	}
	call := func(name string, args any) tool.Call {
		doc, err := json.Marshal(args)
		require.NoError(t, err)
		return tool.Call{Session: "cli", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: tool.Name(name), Args: doc, FromUser: true}
	}
	forget := call("forget_owner", map[string]string{"owner": owner.Name("7:100:another-start:4026531836:another-machine")})
	code := func(o tool.Outcome) fault.Code {
		if o.Err == nil {
			return ""
		}
		return fault.From(o.Err).Code
	}

	l := open()
	person.Settings(t, l.App, func(s *app.Settings) error {
		s.Auto = policy.AutoApprove{Enabled: true, Tools: []string{"deploy_apply"}}
		return nil
	})
	_, err := l.Admission().Issue(t.Context(), "terminal", access.Credential{Kind: access.Token, Name: "ci", Digest: access.DigestOf("secret")})
	require.NoError(t, err)
	asked := l.Call(t.Context(), forget)
	require.NotNil(t, asked.Request)
	_, err = l.Answer(t.Context(), confirm.Decision{ID: asked.Request.ID, Approve: true, By: "terminal", Proof: person.AtTerminal, Shown: asked.Request.PlanHash})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "b.tar")
	agent := call("create_backup", map[string]any{"file": file})
	agent.FromUser = false
	assert.Equal(t, fault.Code("tool_unknown"), code(l.Call(t.Context(), agent)), "no agent is served it")
	backup := l.Call(t.Context(), call("create_backup", map[string]any{"file": file}))
	require.Equal(t, fault.Code("confirm_token_required"), code(backup))
	assert.Contains(t, string(backup.Request.Plan), "keys/secret.key: opens the sealed columns of the database")
	assert.NotContains(t, string(backup.Request.Plan), backup.Request.Prompt, "nothing is said twice")
	assert.Equal(t, policy.RiskHigh.String(), backup.Request.Risk)
	require.NoError(t, person.Call(t.Context(), l.App, call("create_backup", map[string]any{"file": file})).Err)
	require.NoError(t, l.Call(t.Context(), forget).Err, "it is used")
	require.NotEmpty(t, code(l.Call(t.Context(), forget)), "and once")
	person.Settings(t, l.App, func(s *app.Settings) error {
		s.Auto = policy.AutoApprove{}
		return nil
	})
	require.NoError(t, sqlitestore.NewCatalogue(l.store).Rules.Put(t.Context(), webhook.ActionRule{Type: project.KindWebhook, Level: webhook.Deny}))
	restore := call("restore_backup", map[string]any{"file": file})
	looked := l.Call(t.Context(), restore)
	require.Equal(t, fault.Code("confirm_token_required"), code(looked))
	var shown struct {
		Loosens   []string        `json:"settings_that_open"`
		Withdrawn ports.Withdrawn `json:"does_not_come_back"`
	}
	require.NoError(t, json.Unmarshal(looked.Request.Plan, &shown))
	assert.Equal(t, []string{"deploy_apply: runs without asking, unless its plan is of high risk", "actions of type webhook: under no rule that denies or asks instead of denied"}, shown.Loosens)
	assert.Equal(t, 1, shown.Withdrawn.Approvals)
	assert.Equal(t, 1, shown.Withdrawn.Credentials)

	done := person.Call(t.Context(), l.App, restore)
	require.NoError(t, done.Err)
	assert.NoFileExists(t, filepath.Join(dir, "restore.json"), "it takes the place of the home once this process has let go of it")
	require.NoError(t, l.Close())

	l = open()
	tail, err := l.AuditTail(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, tool.Name(audit.RestoreTool), tool.Name(tail[0].Event.Tool))
	_, err = l.VerifyAudit(t.Context())
	require.NoError(t, err)
	rules, err := l.PolicyInForce(t.Context())
	require.NoError(t, err)
	assert.False(t, rules.OffRecord, "the settings of then are on record there")
	good, err := l.Admission().List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, good)
	again := l.Call(t.Context(), forget)
	require.Equal(t, fault.Code("confirm_token_required"), code(again))
	assert.NotEqual(t, asked.Request.ID, again.Request.ID)
	require.NoError(t, l.Close())

	// Whoever can write to the database brings the approval back from the backup, row for row.
	older := filepath.Join(t.TempDir(), "older.db")
	require.NoError(t, os.WriteFile(older, databaseOf(t, file), 0o600))
	db, err := sql.Open("sqlite", filepath.Join(dir, "countersign.db"))
	require.NoError(t, err)
	for _, query := range []string{"ATTACH '" + older + "' AS older", "DELETE FROM grants", "INSERT INTO grants SELECT * FROM older.grants"} {
		_, err = db.Exec(query)
		require.NoError(t, err)
	}
	var approved int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM grants WHERE state = 1 AND id = ?", asked.Request.ID).Scan(&approved))
	require.Equal(t, 1, approved)
	require.NoError(t, db.Close())
	l = open()
	assert.NotEmpty(t, code(l.Call(t.Context(), forget)), "what was answered before the restore lets nothing happen")
	require.NoError(t, l.Close())
}

// databaseOf returns the database in a backup.
func databaseOf(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		require.NoError(t, err)
		if h.Name == "countersign.db" {
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			return data
		}
	}
}
