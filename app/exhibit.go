package app

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// MaxExhibitBytes is how much people are shown beside a plan, in bytes of JSON. What would be more is left out: the plan alone is what is confirmed.
const MaxExhibitBytes = 512 << 10

// TargetAndPrompt are what a plan says of itself: what has to be typed where a name is typed, and in one line what is about to happen, or otherwise.
func TargetAndPrompt(plan tool.Plan, otherwise string) (target, prompt string) {
	if t, ok := plan.(tool.Targeter); ok {
		target = t.Target()
	}
	if p, ok := plan.(tool.Prompter); ok {
		return target, p.Prompt()
	}
	return target, otherwise
}

// ReviewJSON is what a person sees before deciding: without its secrets, as mask leaves it, and with nothing hidden in it. It is nothing for nothing.
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
