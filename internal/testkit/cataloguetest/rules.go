package cataloguetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// rules returns every rule as action/type/level, in the order they are listed.
func rules(t testing.TB, c projectport.Catalogue) []string {
	t.Helper()
	all, err := c.Rules.List(t.Context())
	require.NoError(t, err)
	return names(all, func(r webhook.ActionRule) string { return fmt.Sprintf("%s/%s/%s", r.ActionID, r.Type, r.Level) })
}

func rulesReplaceOneAnother(t *testing.T, c projectport.Catalogue) {
	assert.Empty(t, rules(t, c))
	put(t, c.Actions.Create, act("a", "", 0))
	for n, level := range []webhook.Level{webhook.Deny, webhook.AutoApprove, webhook.RequireConfirm, webhook.Deny} {
		for _, r := range []webhook.ActionRule{{ActionID: "a"}, {Type: project.KindScript}, {}} {
			r.Level, r.CreatedAt = level, later(n)
			put(t, c.Rules.Put, r)
		}
		all, err := c.Rules.List(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []webhook.ActionRule{
			{ActionID: "a", Level: level, CreatedAt: later(n)}, {Type: project.KindScript, Level: level, CreatedAt: later(n)}, {Level: level, CreatedAt: later(n)},
		}, all, "one each, and the later one wins")
	}
	put(t, c.Rules.Put, webhook.ActionRule{ActionID: "a", Type: project.KindScript, Level: webhook.AutoApprove, CreatedAt: start()})
	assert.Equal(t, []string{"a/script/auto_approve", "/script/deny", "//deny"}, rules(t, c), "to a rule of an action its type is nothing")
	put(t, c.Rules.Put, webhook.ActionRule{ActionID: "a", Type: project.KindWebhook, Level: webhook.Deny, CreatedAt: start()})
	put(t, c.Rules.Put, webhook.ActionRule{ActionID: "a", Level: webhook.RequireConfirm, CreatedAt: start()})
	assert.Equal(t, []string{"a//require_confirm", "/script/deny", "//deny"}, rules(t, c))
}

func rulesInOrder(t *testing.T, c projectport.Catalogue) {
	put(t, c.Actions.Create, act("a", "", 0), act("b", "", 0), act("c", "", 0))
	rule := func(id string, kind project.Kind, at int) webhook.ActionRule {
		return webhook.ActionRule{ActionID: id, Type: kind, Level: webhook.Deny, CreatedAt: later(at)}
	}
	put(t, c.Rules.Put, rule("", "", 9), rule("", project.KindScript, 7), rule("a", "", 1), rule("", project.KindWebhook, 8), rule("c", "", 2), rule("b", "", 2), rule("", project.KindWorkflow, 1))
	assert.Equal(t, []string{"b//deny", "c//deny", "a//deny", "/webhook/deny", "/script/deny", "/workflow/deny", "//deny"}, rules(t, c))
	put(t, c.Rules.Put, rule("a", "", 3))
	assert.Equal(t, []string{"a//deny", "b//deny", "c//deny"}, rules(t, c)[:3])
}

func rulesNeedTheirAction(t *testing.T, c projectport.Catalogue) {
	err := c.Rules.Put(t.Context(), webhook.ActionRule{ActionID: "nobody", Level: webhook.Deny})
	require.ErrorIs(t, err, project.ErrActionNotFound)
	assert.Contains(t, err.Error(), "nobody")
	put(t, c.Actions.Create, act("a", "", 0))
	require.ErrorIs(t, c.Rules.Put(t.Context(), webhook.ActionRule{ActionID: "A", Level: webhook.Deny}), project.ErrActionNotFound)
	assert.Empty(t, rules(t, c))
}

func rulesGoOneByOne(t *testing.T, c projectport.Catalogue) {
	remove := func(id string, kind project.Kind) bool {
		t.Helper()
		there, err := c.Rules.Delete(t.Context(), id, kind)
		require.NoError(t, err)
		return there
	}
	assert.False(t, remove("", ""), "nothing was ever stored")
	put(t, c.Actions.Create, act("a", "", 0), act("b", "", 0))
	for _, r := range []webhook.ActionRule{{ActionID: "a"}, {ActionID: "b"}, {Type: project.KindScript}, {Type: project.KindWebhook}, {}} {
		r.Level, r.CreatedAt = webhook.Deny, start()
		put(t, c.Rules.Put, r)
	}
	assert.False(t, remove("nobody", ""))
	assert.False(t, remove("", project.KindWorkflow))
	assert.False(t, remove("script", ""))
	assert.Len(t, rules(t, c), 5)
	assert.True(t, remove("", ""))
	assert.False(t, remove("", ""))
	assert.Equal(t, []string{"b//deny", "a//deny", "/webhook/deny", "/script/deny"}, rules(t, c))
	assert.True(t, remove("", project.KindScript))
	assert.True(t, remove("a", project.KindScript), "a rule of an action is of any type")
	assert.Equal(t, []string{"b//deny", "/webhook/deny"}, rules(t, c))
}

func rulesEndedContext(t *testing.T, c projectport.Catalogue) {
	global := webhook.ActionRule{Level: webhook.Deny, CreatedAt: start()}
	require.ErrorIs(t, c.Rules.Put(ended(t), global), context.Canceled)
	assert.Empty(t, rules(t, c))
	put(t, c.Rules.Put, global)
	_, err := c.Rules.List(ended(t))
	require.ErrorIs(t, err, context.Canceled)
	there, err := c.Rules.Delete(ended(t), "", "")
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, there)
	assert.Equal(t, []string{"//deny"}, rules(t, c))
}

func rulesAtOnce(t *testing.T, c projectport.Catalogue) {
	const writers = 16
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			if err := c.Rules.Put(t.Context(), webhook.ActionRule{Type: project.KindScript, Level: webhook.Deny, CreatedAt: later(n)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	assert.Equal(t, []string{"/script/deny"}, rules(t, c))
}

func custom(id, name string) shellcmd.Template {
	return shellcmd.Template{
		ID: id, Name: name, Command: `echo "<a>" && {pm} test`, Category: shellcmd.CategoryCustom, Description: "Größe", IsCustom: true, Risk: shellcmd.RiskMedium, CreatedAt: start(),
	}
}

func keepsTemplates(t *testing.T, c projectport.Catalogue) {
	list := func() []shellcmd.Template {
		t.Helper()
		all, err := c.Templates.List(t.Context())
		require.NoError(t, err)
		return all
	}
	assert.Empty(t, list())
	require.ErrorIs(t, c.Templates.Delete(t.Context(), "custom-1"), project.ErrTemplateNotFound)
	put(t, c.Templates.Create, custom("custom-1", "Über"), custom("custom-2", "bauen"), custom("custom-3", "Abräumen"), custom("custom-4", "Bauen"), custom("custom-5", "übel"))
	want := []shellcmd.Template{
		custom("custom-3", "Abräumen"), custom("custom-2", "bauen"), custom("custom-4", "Bauen"), custom("custom-5", "übel"), custom("custom-1", "Über"),
	}
	assert.Equal(t, want, list())
	list()[0].Name = "spoilt"
	require.ErrorIs(t, c.Templates.Create(t.Context(), custom("custom-1", "other")), project.ErrConflict)
	err := c.Templates.Delete(t.Context(), "custom-9")
	require.ErrorIs(t, err, project.ErrTemplateNotFound)
	assert.Contains(t, err.Error(), "custom-9")
	assert.Equal(t, want, list())
	require.NoError(t, c.Templates.Delete(t.Context(), "custom-2"))
	require.ErrorIs(t, c.Templates.Delete(t.Context(), "custom-2"), project.ErrTemplateNotFound)
	assert.Equal(t, append(want[:1], want[2:]...), list())
}

func templatesEndedContext(t *testing.T, c projectport.Catalogue) {
	require.ErrorIs(t, c.Templates.Create(ended(t), custom("custom-1", "one")), context.Canceled)
	put(t, c.Templates.Create, custom("custom-2", "two"))
	require.ErrorIs(t, c.Templates.Delete(ended(t), "custom-2"), context.Canceled)
	_, err := c.Templates.List(ended(t))
	require.ErrorIs(t, err, context.Canceled)
	all, err := c.Templates.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []shellcmd.Template{custom("custom-2", "two")}, all)
}
