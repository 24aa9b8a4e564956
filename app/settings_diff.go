package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
)

// settingChange is one setting that differs: its new value in a few words, what it newly allows, and the difference. For lists that only grow, the
// difference is what they newly allow.
type settingChange struct {
	name    string
	opens   []string
	changes string
	wholly  bool // opens describes the whole difference
}

// settingChanges returns what differs between the settings, in a fixed order. builtIn is the permission level if none is set.
func settingChanges(had, next ports.Settings, builtIn policy.Level) []settingChange {
	var all []settingChange
	add := func(name, what, before, after string, wholly bool, opens ...string) {
		c := settingChange{name: name, opens: opens, wholly: wholly && len(opens) > 0}
		if before != after {
			c.changes = fmt.Sprintf("%s: %s, was %s", what, after, before)
		}
		if c.changes != "" || len(opens) > 0 {
			all = append(all, c)
		}
	}
	when := func(opens bool, format string, args ...any) []string {
		if opens {
			return []string{fmt.Sprintf(format, args...)}
		}
		return nil
	}
	word := func(s string) string { return cmp.Or(s, "not set") }
	add("approval "+next.Approval.String(), "approval", word(had.Approval.String()), word(next.Approval.String()), true, when(next.Approval.ByCaller() && !had.Approval.ByCaller(),
		"the user is no longer asked: clients approve plans themselves, with the token that they receive")...)
	before, after := cmp.Or(had.Level, builtIn), cmp.Or(next.Level, builtIn)
	add("permission level "+after.String(), "permission level", word(had.Level.String()), word(next.Level.String()), true, when(after > before, "permission level %s instead of %s", after, before)...)
	add("maximum mode "+ceiling(next).String(), "maximum mode", word(had.MaxMode.String()), word(next.MaxMode.String()), true,
		when(ceiling(next) > ceiling(had), "calls may go up to mode %s instead of %s", ceiling(next), ceiling(had))...)
	for _, tool := range keys(had.Tools, next.Tools) {
		was, is := had.Tools[tool], next.Tools[tool]
		add(strings.TrimSuffix(tool+": "+is.String(), ": "), "tool "+tool, settingSaid(was), settingSaid(is), true, when(loose(is) > loose(was), "%s: %s instead of %s", tool, settingSaid(is), settingSaid(was))...)
	}
	var opens, names []string
	for _, tool := range next.Auto.Tools {
		if next.Auto.Enabled && !(had.Auto.Enabled && slices.Contains(had.Auto.Tools, tool)) {
			opens, names = append(opens, tool+": runs without asking, unless its plan is of high risk"), append(names, tool)
		}
	}
	add(strings.Join(names, ", "), "auto-approved", list(had.Auto.Enabled, had.Auto.Tools), list(next.Auto.Enabled, next.Auto.Tools), holds(next.Auto.Tools, had.Auto.Tools), opens...)
	for _, key := range keys(had.Require, next.Require) {
		was, is := had.Require[key], next.Require[key]
		add("approving "+key, "approving "+key+" needs", was.Words(), is.Words(), true, when(is < was, "approving %s needs %s instead of %s", key, is.Words(), was.Words())...)
	}
	opens, names = nil, nil
	for _, entry := range next.Forms {
		if !slices.Contains(had.Forms, entry) {
			opens = append(opens, fmt.Sprintf("the form of the host entry %s approves plans below high risk; any process of this user can start that entry and answer its form itself", entry))
			names = append(names, "the form of "+entry)
		}
	}
	add(strings.Join(names, ", "), "forms that may approve", list(true, had.Forms), list(true, next.Forms), holds(next.Forms, had.Forms), opens...)
	add("reads are kept "+KeptFor(next.KeepReadsDays), "reads in the audit are kept", KeptFor(had.KeepReadsDays), KeptFor(next.KeepReadsDays), true,
		when(sooner(next.KeepReadsDays, had.KeepReadsDays), "records of reads go from the audit after %s for good, and were kept %s; what changes, asks, answers or fails stays",
			strings.TrimPrefix(KeptFor(next.KeepReadsDays), "for "), KeptFor(had.KeepReadsDays))...)
	return all
}

// MostKeepReadsDays is the longest time for which reads can be kept, besides all time.
const MostKeepReadsDays = ports.MostKeepReadsDays

// KeptFor says for how long reads are kept, in words.
func KeptFor(days int) string {
	switch days {
	case 0:
		return "for all time"
	case 1:
		return "for a day"
	}
	return fmt.Sprintf("for %d days", days)
}

// sooner reports whether reads go earlier than they did.
func sooner(days, had int) bool { return days > 0 && (had == 0 || days < had) }

// holds reports whether all contains every element of some.
func holds(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// LoosenedSettings returns what the settings next allow that had does not, one line each, in a fixed order; nothing for a change that only narrows. builtIn is
// the permission level if none is set.
func LoosenedSettings(had, next ports.Settings, builtIn policy.Level) (lines []string) {
	for _, c := range settingChanges(had, next, builtIn) {
		lines = append(lines, c.opens...)
	}
	return lines
}

// LoosenedNames returns the settings that LoosenedSettings has lines about: their new values, in a few words each.
func LoosenedNames(had, next ports.Settings, builtIn policy.Level) (names []string) {
	for _, c := range settingChanges(had, next, builtIn) {
		if len(c.opens) > 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// ChangedSettings returns all differences between the settings, one line each, in a fixed order.
func ChangedSettings(had, next ports.Settings) (lines []string) {
	for _, c := range settingChanges(had, next, policy.LevelUnset) {
		if c.changes != "" {
			lines = append(lines, c.changes)
		}
	}
	return lines
}

// TightenedSettings returns the lines of ChangedSettings that LoosenedSettings does not already contain.
func TightenedSettings(had, next ports.Settings, builtIn policy.Level) (lines []string) {
	for _, c := range settingChanges(had, next, builtIn) {
		if c.changes != "" && !c.wholly {
			lines = append(lines, c.changes)
		}
	}
	return lines
}

// list describes names in words.
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

// loose orders the settings of a tool by how much they allow.
func loose(s policy.Setting) int {
	return map[policy.Setting]int{policy.Blocked: 0, policy.AlwaysConfirm: 1, policy.SettingNone: 2, policy.Allowed: 3}[s]
}

func settingSaid(s policy.Setting) string {
	switch s {
	case policy.SettingNone:
		return "default for its class and the permission level"
	case policy.Allowed:
		return "runs without asking"
	case policy.AlwaysConfirm:
		return "always asks"
	}
	return "blocked"
}

// keys returns the keys of both maps, sorted.
func keys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	sorted := slices.Collect(maps.Keys(all))
	slices.SortStableFunc(sorted, compare)
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
