package present_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// boxed returns an outcome of one of the sandbox tools.
func boxed(err *fault.Error, change ...func(*tool.Outcome)) tool.Outcome {
	o := tool.Outcome{Spec: tool.Spec{Name: "opencode_sandbox_delete", Contract: present.Opencode},
		Args: json.RawMessage(`{"git_url":"https://GitHub.com/acme/shop","name":"fix-1"}`)}
	if err != nil {
		o.Err = err
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

func worth(value string, change ...func(*tool.Outcome)) tool.Outcome {
	return boxed(nil, append(change, func(o *tool.Outcome) { o.Value = json.RawMessage(value) })...)
}

func args(doc string) func(*tool.Outcome) {
	return func(o *tool.Outcome) { o.Args = json.RawMessage(doc) }
}

func boxes() map[string]tool.Outcome {
	pending := &tool.ApprovalRequest{ID: "cf_aaaaaaaaaa", Token: confirm.NewToken("3f0c8b1e-token"), Tool: "opencode_sandbox_delete", Strength: policy.Preview,
		Prompt: "delete the sandbox fix-1 of acme-shop", PlanHash: canon.SumBytes("t", nil), ExpiresAt: time.Date(2026, 3, 1, 9, 5, 0, 500_000_000, time.UTC),
		Plan: json.RawMessage(`{"git_url":"git@github.com:acme/shop.git","lost":["M a.go"]}`)}
	person, token, typed := *pending, *pending, *pending
	person.Token, person.Pending, token.Pending = confirm.Token{}, true, true
	typed.Strength, typed.Target = policy.Typed, "acme-shop"
	asking := func(i *tool.ApprovalRequest) func(*tool.Outcome) { return func(o *tool.Outcome) { o.Request = i } }
	return map[string]tool.Outcome{
		"success":         worth(`{"status":"success","project":"acme-shop","git_url":"git@github.com:acme/shop.git","message":"a<b"}`),
		"already_running": worth(`{"status":"already_running","opencode_port":4101}`),
		"waiting_for_key": worth(`{"status":"waiting_for_key","public_key":"ssh-ed25519 AAAA opencode","error_detail":"Permission denied (publickey)."}`),
		"not_found":       worth(`{"status":"not_found","git_url":"git@github.com:acme/shop.git","message":"nothing there"}`),
		"warned": worth(`{"status":"success","warnings":["credentials were dropped"],"project":"acme-shop"}`,
			func(o *tool.Outcome) { o.Warnings = []string{"the outcome was not recorded"} }),
		"status_error": worth(`{"status":"error","error":"busy","message":"somebody else is at it"}`),
		"truncated":    worth(`{"truncated":true,"bytes":300000,"head":"{\"status\":\"success"}`, func(o *tool.Outcome) { o.Truncated = true }),
		"list":         worth(`[1]`),
		"text":         boxed(nil, func(o *tool.Outcome) { o.Text = "all is well" }),
		"nothing":      worth(``),
		"empty":        worth(` {} `),
		"dry_run":      worth(`{"git_url":"git@github.com:acme/shop.git","lost":[]}`, func(o *tool.Outcome) { o.DryRun = true }),

		"project_not_found": boxed(sandbox.ErrProjectNotFound),
		"exists":            boxed(sandbox.ErrExists),
		"dirty": boxed(sandbox.ErrDirty.WithDetails(map[string]any{"git_url": "git@github.com:acme/shop.git", "changes": []string{"M a.go"}, "unpushed_commits": 2,
			"suggestion": "commit in the sandbox first"})),
		"git_failed":     boxed(sandbox.ErrGit.WithDetails(map[string]any{"command": "git fetch", "stderr": strings.Repeat("é", 3000) + " end"})),
		"invalid_url":    boxed(sandbox.ErrURL, args(`{"git_url":"-oProxyCommand=x"}`)),
		"credentials":    boxed(sandbox.ErrProjectNotFound, args(`{"git_url":"https://user:hunter2@github.com/acme/shop.git"}`)),
		"token":          boxed(sandbox.ErrProjectNotFound, args(`{"git_url":"https://ghp_0123456789@github.com/acme/shop.git"}`)),
		"local":          boxed(sandbox.ErrProjectNotFound, args(`{"git_url":"/srv/git/shop.git"}`)),
		"local_resolved": boxed(sandbox.ErrProjectNotFound.WithDetails(map[string]any{"git_url": "file:///data/git/shop.git"}), args(`{"git_url":"/srv/git/shop.git"}`)),
		"no_url":         boxed(sandbox.ErrGateway, args(`{}`)),
		"odd_details":    boxed(sandbox.ErrArguments.WithDetails([]string{"a", "b"})),
		"odd_args":       boxed(tool.ErrArguments, args(`{"git_url":7}`)),
		"internal":       boxed(fault.ErrInternal),
		"timeout":        boxed(fault.ErrTimeout),
		"rate":           boxed(fault.New(fault.Unavailable, "rate_limited", "too many calls").WithDetails(map[string]any{"retry_after_ms": 2000})),
		"policy":         boxed(app.ErrPolicy),
		"mode":           boxed(app.ErrMode),
		"explained": boxed(app.ErrMode, args(`{"name":"x"}`), func(o *tool.Outcome) {
			o.Explained, o.Value = true, json.RawMessage(`{"git_url":"git@github.com:acme/shop.git","lost":[]}`)
		}),
		"pending":       boxed(app.ErrRequired, asking(pending), args(`{"git_url":"./shop"}`)),
		"pending_by":    boxed(app.ErrRequired, asking(&person)),
		"pending_token": boxed(app.ErrRequired, asking(&token)),
		"typed":         boxed(app.ErrRequired, asking(&typed)),
		"expired":       boxed(confirm.ErrExpired),
		"used":          boxed(confirm.ErrUsed),
		"refused":       boxed(confirm.ErrDenied),
		"mistyped":      boxed(confirm.ErrTyped),
		"stale": boxed(confirm.ErrMismatch.WithDetails(app.PlanChange{Current: canon.SumBytes("t", []byte("now")), Confirmed: canon.SumBytes("t", []byte("then")),
			Differences: confirm.Differences(json.RawMessage(`{"lost":[]}`), json.RawMessage(`{"lost":["M a.go"]}`))})),
	}
}

// TestEveryOutcomeOfTheOpencodeContract keeps every outcome, and what holds for all of them (opencode contract §13, §14).
func TestEveryOutcomeOfTheOpencodeContract(t *testing.T) {
	for name, o := range boxes() {
		t.Run(name, func(t *testing.T) {
			d := present.For(present.Opencode)(o)
			golden.JSON(t, "opencode/"+name, map[string]any{"object": d.Object, "fail": d.Fail})
			assert.Equal(t, d.Text, string(d.Object), "text and structured content are one")
			assert.Equal(t, d.Text, string(d.Body))
			assert.Nil(t, d.Meta)
			var fields map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(d.Object, &fields), "one object")
			var status string
			require.NoError(t, json.Unmarshal(fields["status"], &status))
			assert.Equal(t, status == "error", d.Fail, "isError if and only if the status is error")
			if o.Err == nil {
				return
			}
			assert.True(t, d.Fail)
			assert.Equal(t, fault.From(o.Err).Kind, d.Kind)
			assert.True(t, strings.HasPrefix(d.Text, `{"status":"error","error":"`), "in the contract's order")
			assert.NotEqual(t, `""`, string(fields["message"]))
			for key := range fields {
				assert.Contains(t, []string{"status", "error", "message", "suggestion", "details", "git_url", "confirmation"}, key)
			}
			for _, secret := range []string{"hunter2", "ghp_"} {
				assert.NotContains(t, d.Text, secret)
			}
		})
	}
}

// wrong is a failure as a client reads it.
type wrong struct {
	Error, Message, Suggestion string
	Details                    map[string]any
	GitURL                     string `json:"git_url"`
}

func wrongOf(t *testing.T, o tool.Outcome) (w wrong) {
	t.Helper()
	d := present.For(present.Opencode)(o)
	require.True(t, d.Fail)
	require.NoError(t, json.Unmarshal(d.Object, &w))
	return w
}

// opencodeWords returns the codes of opencode contract §14, then those for what it cannot express.
func opencodeWords() []string {
	return strings.Fields(`project_not_found project_not_running invalid_git_url configuration_error invalid_config ssh_key_not_found invalid_ssh_key
		clone_failed base_dir_conflict no_free_port port_in_use opencode_not_installed opencode_start_failed opencode_unhealthy opencode_auth_failed
		sandbox_exists sandbox_not_found sandbox_dirty branch_not_found invalid_name git_failed unpushed_work gateway_failed busy timeout
		invalid_arguments internal

		state_damaged conflict unavailable permission_denied canceled confirmation_required confirmation_pending confirmation_expired confirmation_used
		confirmation_mismatch confirmation_denied

		server_not_found server_failed request_not_found request_refused

		base_dirty merge_conflict uncommitted moved unmerged
		agent_not_installed agent_runs isolation_missing applied branch_checked_out review_gone`)
}

// TestEveryFaultHasACodeOfTheOpencodeContract feeds the whole catalogue through the table: nothing falls out of the vocabulary, and what
// is said is the fault's own message.
func TestEveryFaultHasACodeOfTheOpencodeContract(t *testing.T) {
	for code, kind := range catalogue(t) {
		w := wrongOf(t, boxed(fault.New(kind, code, "the message")))
		assert.Equal(t, "the message", w.Message)
		assert.Contains(t, opencodeWords(), w.Error, "%s: give it a word of the contract in opencodeCodes", code)
	}
}

// TestEverySandboxFaultIsInTheTable: none of the capability's own faults is left to a rule that happens to fit, and each loses its prefix
// unless the contract says it with one.
func TestEverySandboxFaultIsInTheTable(t *testing.T) {
	source, err := os.ReadFile("../../domain/sandbox/faults.go")
	require.NoError(t, err)
	routing, err := os.ReadFile("../../domain/sandbox/routing.go")
	require.NoError(t, err)
	known := map[string]string{}
	for err, word := range sandboxFaults() {
		known[string(err.Code)] = word
	}
	for line := range strings.Lines(string(source) + string(routing)) {
		_, rest, ok := strings.Cut(line, `"sandbox_`)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, `"`)
		word := known["sandbox_"+name]
		assert.Contains(t, []string{name, "sandbox_" + name}, word)
		assert.Contains(t, opencodeWords(), word)
		delete(known, "sandbox_"+name)
	}
	assert.Empty(t, known, "a word without a fault")
}

// sandboxFaults returns the faults of the capability with the words that the contract has for them.
func sandboxFaults() map[*fault.Error]string {
	return map[*fault.Error]string{
		sandbox.ErrBaseDirty: "base_dirty", sandbox.ErrConflicts: "merge_conflict", sandbox.ErrUncommitted: "uncommitted", sandbox.ErrMoved: "moved", sandbox.ErrUnmerged: "unmerged",
		sandbox.ErrAgentMissing: "agent_not_installed", sandbox.ErrAgentRuns: "agent_runs", sandbox.ErrIsolation: "isolation_missing", sandbox.ErrApplied: "applied", sandbox.ErrReviewGone: "review_gone",
		sandbox.ErrCheckedOut: "branch_checked_out",
		sandbox.ErrURL:        "invalid_git_url", sandbox.ErrArguments: "invalid_arguments", sandbox.ErrName: "invalid_name",
		sandbox.ErrProjectNotFound: "project_not_found", sandbox.ErrNotRunning: "project_not_running", sandbox.ErrConfiguration: "configuration_error",
		sandbox.ErrConfig: "invalid_config", sandbox.ErrKeyNotFound: "ssh_key_not_found", sandbox.ErrKeyInvalid: "invalid_ssh_key",
		sandbox.ErrClone: "clone_failed", sandbox.ErrBaseDir: "base_dir_conflict", sandbox.ErrNoPort: "no_free_port", sandbox.ErrPort: "port_in_use",
		sandbox.ErrNotInstalled: "opencode_not_installed", sandbox.ErrStart: "opencode_start_failed", sandbox.ErrUnhealthy: "opencode_unhealthy",
		sandbox.ErrAuth: "opencode_auth_failed", sandbox.ErrExists: "sandbox_exists", sandbox.ErrNotFound: "sandbox_not_found",
		sandbox.ErrDirty: "sandbox_dirty", sandbox.ErrBranch: "branch_not_found", sandbox.ErrGit: "git_failed", sandbox.ErrUnpushed: "unpushed_work",
		sandbox.ErrGateway: "gateway_failed", sandbox.ErrBusy: "busy", sandbox.ErrTimeout: "timeout", sandbox.ErrState: "state_damaged",
		sandbox.ErrServer: "server_not_found", sandbox.ErrAnswer: "server_failed", sandbox.ErrRequest: "request_not_found", sandbox.ErrRefused: "request_refused",
	}
}

// TestOpencodeCodes says by hand which code stands for what, and that each has a way on.
func TestOpencodeCodes(t *testing.T) {
	rows := map[*fault.Error]string{
		tool.ErrArguments: "invalid_arguments", tool.ErrToken: "invalid_arguments", tool.ErrUnknown: "invalid_arguments",
		app.ErrPolicy: "permission_denied", app.ErrMode: "permission_denied", app.ErrRequired: "confirmation_required", app.ErrPlanStale: "conflict",
		confirm.ErrPending: "confirmation_pending", confirm.ErrExpired: "confirmation_expired", confirm.ErrUnknown: "confirmation_expired",
		confirm.ErrBurnt: "confirmation_expired", confirm.ErrCanceled: "confirmation_expired", confirm.ErrUsed: "confirmation_used",
		confirm.ErrMismatch: "confirmation_mismatch", confirm.ErrTyped: "invalid_arguments", confirm.ErrDenied: "confirmation_denied",
		fault.New(fault.Invalid, "env_file_line_invalid", "m"): "configuration_error", fault.New(fault.Conflict, "sandbox_record_shape", "m"): "state_damaged",
		fault.New(fault.Internal, "sandbox_record_contradiction", "m"): "internal", fault.New(fault.Unavailable, "document_locked", "m"): "busy",
		fault.New(fault.Unavailable, "rate_limited", "m"): "busy", fault.New(fault.Invalid, "git_url_invalid", "m"): "invalid_git_url",
		fault.ErrTimeout: "timeout", fault.ErrUnavailable: "unavailable", fault.ErrInternal: "internal",
	}
	said := map[string]bool{}
	for _, table := range []map[*fault.Error]string{rows, sandboxFaults()} {
		for err, want := range table {
			w := wrongOf(t, boxed(err))
			assert.Equal(t, want, w.Error, err.Code)
			assert.NotEmpty(t, w.Suggestion, want)
			said[want] = true
		}
	}
	for _, word := range opencodeWords() {
		assert.True(t, said[word] || word == "canceled", "%s stands for nothing", word)
	}
	w := wrongOf(t, boxed(fault.ErrCanceled))
	assert.Equal(t, "canceled", w.Error)
	assert.Empty(t, w.Suggestion, "whoever gave up needs no advice")
}

// TestASuggestionOfTheRaisingSiteWins, and leaves the details.
func TestASuggestionOfTheRaisingSiteWins(t *testing.T) {
	w := wrongOf(t, boxed(sandbox.ErrBusy.WithDetails(map[string]any{"suggestion": "ask pid 7", "pid": 7})))
	assert.Equal(t, "ask pid 7", w.Suggestion)
	assert.Equal(t, map[string]any{"pid": 7.0}, w.Details)
}

// TestNoURLIsRepeatedAsItWasTyped: git_url is canonical or absent, wherever it comes from, and never holds what the caller should not
// have sent.
func TestNoURLIsRepeatedAsItWasTyped(t *testing.T) {
	const canonical = "git@github.com:acme/shop.git"
	for raw, want := range map[string]string{
		"https://github.com/acme/shop":                canonical,
		"  git@github.com:acme/shop  ":                canonical,
		"ssh://git@github.com:22/acme/shop/":          canonical,
		"https://ghp_x@github.com/acme/shop":          "",
		"https://u:pw@host:8443/o/r.git":              "",
		"/home/me/repo":                               "",
		"file:///home/me/repo":                        "",
		"./repo":                                      "",
		"-oProxyCommand=x":                            "",
		"":                                            "",
		strings.Repeat("x", 3000):                     "",
		"https://github.com/acme/shop?token=abcdefgh": "",
	} {
		doc, err := json.Marshal(map[string]string{"git_url": raw})
		require.NoError(t, err)
		assert.Equal(t, want, wrongOf(t, boxed(sandbox.ErrProjectNotFound, args(string(doc)))).GitURL, "%.80q", raw)
	}
	own := wrongOf(t, boxed(sandbox.ErrGit.WithDetails(map[string]any{"git_url": "https://u:pw@github.com/acme/shop"}), args(`{}`)))
	assert.Empty(t, own.GitURL)
	assert.Empty(t, own.Details, "nor does it stay among the details")
}

// TestStderrIsCutAtItsHead: the end says what happened; the rest of the details is whole.
func TestStderrIsCutAtItsHead(t *testing.T) {
	for _, text := range []string{"short", strings.Repeat("x", 2048), strings.Repeat("é", 1025), strings.Repeat("世", 4000), "a" + strings.Repeat("😀", 700)} {
		w := wrongOf(t, boxed(sandbox.ErrGit.WithDetails(map[string]any{"stderr": text, "command": text})))
		got := w.Details["stderr"].(string)
		assert.LessOrEqual(t, len(got), 2048)
		assert.Greater(t, len(got), min(len(text), 2048)-utf8.UTFMax)
		assert.True(t, strings.HasSuffix(text, got))
		assert.True(t, utf8.ValidString(got))
		assert.Equal(t, text, w.Details["command"])
	}
}

// TestRenamed: six names are old, each with the tool that took its place, and no other (opencode contract §20).
func TestRenamed(t *testing.T) {
	for old, now := range map[string]tool.Name{
		"opencode_start": "opencode_project_start", "opencode_status": "opencode_project_status", "opencode_stop": "opencode_project_stop",
		"opencode_restart": "opencode_project_restart", "opencode_destroy": "opencode_project_destroy", "opencode_list": "opencode_project_list",
	} {
		got, note := present.Renamed(old)
		assert.Equal(t, now, got)
		assert.Contains(t, note, string(now))
		assert.Contains(t, note, "git_url")
	}
	for _, name := range []string{"", "opencode_", "opencode_mcp_status", "opencode_mcp_restart", "opencode_stop_mcp_tool", "opencode_llm_config",
		"opencode_llm_set_model", "opencode_project_start", "OPENCODE_START", "start"} {
		now, note := present.Renamed(name)
		assert.Empty(t, now, name)
		assert.Empty(t, note, name)
	}
}

// FuzzOpencodeURL: whatever a caller calls a repository, a failure names it in its normal form, without credentials, or not at all, and
// is one object.
func FuzzOpencodeURL(f *testing.F) {
	for _, raw := range []string{"https://github.com/acme/shop", "https://u:pw@h:8443/o/r", "git@h:o/r", "alice@h:o/r", "/srv/x", "file:///x", "-x", "", "ssh://git:pw@h/o/r",
		"h.tld/o/r", "https://t@h/o/r", "\xff", "git@h:o/r\u2028"} {
		f.Add(raw, raw)
	}
	f.Fuzz(func(t *testing.T, arg, detail string) {
		doc, err := json.Marshal(map[string]string{"git_url": arg})
		require.NoError(t, err)
		w := wrongOf(t, boxed(sandbox.ErrGit.WithDetails(map[string]any{"git_url": detail, "stderr": detail}), args(string(doc))))
		require.NotContains(t, w.Details, "git_url")
		if w.GitURL == "" {
			return
		}
		u, err := git.ParseURL(w.GitURL)
		require.NoError(t, err)
		require.Equal(t, w.GitURL, u.String())
		require.False(t, git.CarriesCredentials(w.GitURL))
	})
}

// Who calls a tool by its new name and still sends what the old one took is told where that went (opencode contract, breaking changes).
func TestTheNameThatIsDerivedNow(t *testing.T) {
	suggestion := func(err *fault.Error, doc string) string {
		var answer struct{ Suggestion string }
		require.NoError(t, json.Unmarshal(present.For(present.Opencode)(boxed(err, args(doc))).Object, &answer))
		return answer.Suggestion
	}
	refused := tool.ErrArguments.WithMessage("'project_name' is not supported")
	assert.Contains(t, suggestion(refused, `{"git_url":"git@h:o/r","project_name":"r"}`), "omit project_name")
	assert.Contains(t, suggestion(refused, `{"git_url":"git@h:o/r"}`), "correct the argument")
	assert.Contains(t, suggestion(sandbox.ErrExists, `{"git_url":"git@h:o/r","project_name":"r"}`), "choose another name")
	assert.Contains(t, suggestion(refused, `[]`), "correct the argument")
}
