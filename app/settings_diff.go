package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/sorting"
	"github.com/countersign-dev/countersign/ports"
)

// LoosenedSettings returns what the settings next allow that had does not, one line each, in a fixed order; nothing for a change that only narrows. builtIn is
// the permission level if none is set.
func LoosenedSettings(had, next ports.Settings, builtIn policy.Level) []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if next.Approval.ByCaller() && !had.Approval.ByCaller() {
		say("no person is asked any more: whoever calls a tool approves its plan with the token it is given")
	}
	level := func(s ports.Settings) policy.Level {
		if s.Level == policy.LevelUnset {
			return builtIn
		}
		return s.Level
	}
	if level(next) > level(had) {
		say("permission level %s instead of %s", level(next), level(had))
	}
	if ceiling(next) > ceiling(had) {
		say("calls may go up to mode %s instead of %s", ceiling(next), ceiling(had))
	}
	for _, tool := range keys(had.Tools, next.Tools) {
		if loose(next.Tools[tool]) > loose(had.Tools[tool]) {
			say("%s: %s instead of %s", tool, settingSaid(next.Tools[tool]), settingSaid(had.Tools[tool]))
		}
	}
	for _, tool := range next.Auto.Tools {
		if next.Auto.Enabled && !(had.Auto.Enabled && slices.Contains(had.Auto.Tools, tool)) {
			say("%s: runs without asking, unless its plan is of high risk", tool)
		}
	}
	for _, key := range keys(had.Require, next.Require) {
		if next.Require[key] < had.Require[key] {
			say("approving %s needs %s instead of %s", key, next.Require[key].Words(), had.Require[key].Words())
		}
	}
	for _, entry := range next.Forms {
		if !slices.Contains(had.Forms, entry) {
			say("the form of the host entry %s approves plans below high risk; any process of this user can start that entry and answer its form itself", entry)
		}
	}
	return lines
}

// ChangedSettings returns all differences between the settings, one line each, in a fixed order.
func ChangedSettings(had, next ports.Settings) []string {
	var lines []string
	differs := func(what, before, after string) {
		if before != after {
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", what, after, before))
		}
	}
	word := func(s string) string {
		if s == "" {
			return "not set"
		}
		return s
	}
	differs("approval", word(had.Approval.String()), word(next.Approval.String()))
	differs("permission level", word(had.Level.String()), word(next.Level.String()))
	differs("highest mode", word(had.MaxMode.String()), word(next.MaxMode.String()))
	for _, tool := range keys(had.Tools, next.Tools) {
		differs("tool "+tool, settingSaid(had.Tools[tool]), settingSaid(next.Tools[tool]))
	}
	differs("answered in advance", list(had.Auto.Enabled, had.Auto.Tools), list(next.Auto.Enabled, next.Auto.Tools))
	for _, key := range keys(had.Require, next.Require) {
		differs("approving "+key+" needs", had.Require[key].Words(), next.Require[key].Words())
	}
	differs("forms that may approve", list(true, had.Forms), list(true, next.Forms))
	return lines
}

// list is names in words.
func list(on bool, names []string) string {
	text := strings.Join(slices.Sorted(slices.Values(names)), ", ")
	if text == "" {
		text = "none"
	}
	if !on {
		text = "off (on the list: " + text + ")"
	}
	return text
}

func ceiling(s ports.Settings) policy.Mode {
	if s.MaxMode == policy.ModeUnset {
		return policy.Execute
	}
	return s.MaxMode
}

// loose orders the settings of a tool by how much they let happen.
func loose(s policy.Setting) int {
	return map[policy.Setting]int{policy.Blocked: 0, policy.AlwaysConfirm: 1, policy.SettingNone: 2, policy.Allowed: 3}[s]
}

func settingSaid(s policy.Setting) string {
	switch s {
	case policy.SettingNone:
		return "as its class and the permission level say"
	case policy.Allowed:
		return "runs without asking"
	case policy.AlwaysConfirm:
		return "always asks"
	}
	return "blocked"
}

// keys is the keys of both maps, sorted.
func keys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	sorted := slices.Collect(maps.Keys(all))
	sorting.Stable(sorted, compare)
	return sorted
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
