package app

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// MaxExhibitBytes is the maximum size, in bytes of JSON, of what is shown beside a plan. More is left out: only the plan is approved.
const MaxExhibitBytes = 512 << 10

// TargetAndPrompt returns what the plan says of itself: the text to type for an approval, and its description in one line.
func TargetAndPrompt(plan tool.Plan, otherwise string) (target, prompt string) {
	if t, ok := plan.(tool.Targeter); ok {
		target = t.Target()
	}
	if p, ok := plan.(tool.Prompter); ok {
		return target, p.Prompt()
	}
	return target, otherwise
}

// ReviewJSON returns the document as it is shown for review: redacted by mask, with hidden characters made visible. Empty input gives an empty result.
func ReviewJSON(what any, mask func(json.RawMessage) json.RawMessage) (json.RawMessage, error) {
	if what == nil {
		return nil, nil
	}
	doc, err := tool.Encode(what)
	if err != nil {
		return nil, err
	}
	return visible.JSON(mask(doc)), nil
}
