package ui

import (
	"context"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// evaluator may be implemented by a Core: it returns the policy verdict for a call that makes every change that its tool can make.
type evaluator interface {
	Evaluate(ctx context.Context, c tool.Call) policy.Result
}

// PolicyNotice returns the message that policy denies the user's calls of some of these tools, or only previews them, with a link to the setting that
// allows them; nil if none is affected. verb describes the calls: "Run scripts".
func (d *CallRunner) PolicyNotice(ctx context.Context, v httpauth.Identity, verb string, names ...tool.Name) Node {
	e, ok := d.core.(evaluator)
	if !ok {
		return nil
	}
	for _, name := range names {
		spec, served := d.core.Spec(name)
		if !served || !tool.Covered(v.Within, spec) {
			continue
		}
		c := v.Call(name, nil)
		c.View = true
		switch found := e.Evaluate(ctx, c); found.Verdict {
		case policy.DryRun:
			return Notice(Warn, P(TextNode(verb+": preview only. "), allowed(name, found.Rule)))
		case policy.Deny, policy.Explain:
			return Notice(Warn, P(TextNode(verb+": denied by policy. "), allowed(name, found.Rule)))
		}
	}
	return nil
}

// allowed returns the sentence about what changes the verdict of a rule.
func allowed(name tool.Name, rule string) Node {
	setting := LinkTo("/settings", "settings")
	switch rule {
	case policy.RuleMode:
		return Group{TextNode("To allow it, set the mode to execute in the "), setting, TextNode(".")}
	case policy.RuleLevel:
		return Group{TextNode("To allow it, raise the permission level in the "), setting, TextNode(".")}
	case policy.RuleBlocked:
		return Group{TextNode("To allow it, change the setting of "), LinkTo("/tools/"+url.PathEscape(string(name)), string(name)), TextNode(".")}
	case policy.RuleGrants:
		return Group{TextNode("This browser session's scope excludes it. To include it, log in with a wider scope.")}
	}
	return Group{TextNode("Rule: " + strings.ReplaceAll(rule, "_", " ") + ". See the "), setting, TextNode(".")}
}
