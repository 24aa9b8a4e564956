package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// SettingsInput is the complete settings after a change; their revision is the next one.
type SettingsInput struct {
	Revision int64             `json:"revision" jsonschema:"minimum=1"`
	Level    string            `json:"permission_level,omitempty"`
	Tools    map[string]string `json:"tool_permissions,omitempty"`
	Auto     *AutoInput        `json:"auto_approve,omitempty"`
	Approval string            `json:"approval,omitempty"`
	MaxMode  string            `json:"max_mode,omitempty"`
	Require  map[string]string `json:"require,omitempty"`
	Forms    []string          `json:"forms,omitempty"`
	// KeepReadsDays is for how many days records of reads are kept; zero for all time.
	KeepReadsDays int `json:"keep_reads_days,omitempty" jsonschema:"minimum=0,maximum=36500"`
}

// AutoInput is the auto-approve list.
type AutoInput struct {
	Enabled bool     `json:"enabled"`
	Tools   []string `json:"tools"`
}

// ChangeSettings stores settings. Only users may call it. What widens permissions needs an approval.
var ChangeSettings = tool.Ref[SettingsInput, ports.Settings]{Name: "change_settings"}

func settingsSpec() tool.Spec {
	return tool.Spec{Title: "Change settings", Description: "Store product-wide settings; whatever they open has to be approved first.", Class: policy.ClassScratch,
		Effects: policy.Read | policy.Write, Input: json.RawMessage(settingsSchema), UserOnly: true, When: "when it opens something",
		Unmasked: true} // names of tools and words: they say what was narrowed, should the settings be lost
}

// settingsPlan is a change of the settings.
type settingsPlan struct {
	Opens    []string       `json:"opens"`   // what becomes possible, one line each; empty for a change that only narrows
	Changes  []string       `json:"changes"` // other differences, one line each
	Settings ports.Settings `json:"settings"`
	Had      ports.Settings `json:"-"`
	looser   []string       // names of the settings that Opens is about
	require  policy.Proving
}

// Hash returns the sum of the new settings; a stored row can be compared with the approved one.
func (p settingsPlan) Hash() canon.Hash { return p.Settings.Sum() }

// Assessment requires a new approval for what would be allowed.
func (p settingsPlan) Assessment() policy.Assessment {
	if len(p.Opens) == 0 {
		return policy.Assessment{}
	}
	return policy.Assessment{Strength: policy.Preview, Human: policy.Preview, Risk: policy.RiskHigh}
}

// Insists requires an approval whatever grants exist: settings never approve settings.
func (p settingsPlan) Insists() bool { return len(p.Opens) > 0 }

// Needs requires a decision at a terminal or in a logged-in browser, and the strongest proof that policy requires for anything.
func (p settingsPlan) Needs() policy.Proving {
	if len(p.Opens) == 0 {
		return policy.ProvingNone
	}
	return max(policy.ProvingPerson, p.require)
}

// Announcement tells of settings that were loosened.
func (p settingsPlan) Announcement() string {
	if len(p.Opens) == 0 {
		return ""
	}
	return "the settings were changed, so that more may happen than before"
}

// Prompt names what would allow more; a row of the plan says how much more.
func (p settingsPlan) Prompt() string {
	if len(p.Opens) == 0 {
		return "change the settings"
	}
	return "change the settings, which allows more: " + strings.Join(p.looser, ", ")
}

// ErrNarrow is returned when a client with a limited set of tools changes settings that apply to all of them.
var ErrNarrow = fault.New(fault.Denied, "reach_too_narrow", "this caller is let in for a part of the tools, so it changes nothing that holds for all of them")

func (s service) planSettings(ctx context.Context, sc tool.Scope, in SettingsInput) (settingsPlan, error) {
	if sc.Narrow || sc.Principal.Ceiling != policy.ModeUnset && sc.Principal.Ceiling != policy.Execute {
		return settingsPlan{}, ErrNarrow
	}
	doc, err := tool.Encode(in)
	if err != nil {
		return settingsPlan{}, err
	}
	var next ports.Settings
	if err := json.Unmarshal(doc, &next); err != nil {
		return settingsPlan{}, tool.ErrArguments.WithMessage("the settings are not understood: %v", err)
	}
	had, err := s.Settings.Load(ctx)
	if err != nil {
		return settingsPlan{}, err
	}
	if next.Revision != had.Revision+1 {
		return settingsPlan{}, ports.ErrSettingsConflict
	}
	slices.Sort(next.Auto.Tools)
	slices.Sort(next.Forms)
	rules, err := s.rules(ctx, had)
	if err != nil {
		return settingsPlan{}, err
	}
	counted := effective(had, rules)
	opens, looser := app.LoosenedSettings(counted, next, s.Operator.Level), app.LoosenedNames(counted, next, s.Operator.Level)
	if rules.OffRecord {
		looser = append(looser, "what was stored until now")
		opens = append(opens, "what was stored until now is not what the last change on record stored, so something else may have loosened it; from here on it counts as approved")
	}
	return settingsPlan{Opens: append([]string{}, opens...), Changes: append([]string{}, otherwise(had, counted, next, s.Operator.Level)...), Settings: next, Had: had, looser: looser, require: strongest(rules)}, nil
}

// otherwise returns the differences that the plan's Opens does not cover. If the stored settings did not fully count, it lists everything.
func otherwise(had, counted, next ports.Settings, builtIn policy.Level) []string {
	if had.Sum() != counted.Sum() {
		return app.ChangedSettings(had, next)
	}
	return app.TightenedSettings(had, next, builtIn)
}

// effective returns the settings as far as they count: a stored row without an audit record permits nothing, and so did not before.
func effective(had ports.Settings, r policy.Resolved) ports.Settings {
	if r.OffRecord {
		if l := r.Recovered; l != nil {
			return ports.Settings{Level: l.Level, MaxMode: l.Ceiling, Tools: l.Tools, Require: l.Require}
		}
		return ports.Settings{}
	}
	if had.Approval.ByCaller() && !r.Approval.ByCaller() {
		had.Approval = policy.ApprovalHuman
	}
	return had
}

func (s service) saveSettings(ctx context.Context, _ tool.Scope, p settingsPlan) (ports.Settings, error) {
	store := p.Settings
	store.Revision = p.Had.Revision
	saved, err := s.Settings.Save(ctx, store)
	if err != nil {
		return ports.Settings{}, err
	}
	if saved.Sum() != p.Settings.Sum() {
		return saved, fmt.Errorf("settings were stored as revision %d that are not those of the plan", saved.Revision)
	}
	return saved, nil
}
