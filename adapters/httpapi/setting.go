package httpapi

import (
	"maps"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/adapters/httpapi/exchange"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// settings is what a person set, as it is shown and sent.
type settings struct {
	Revision int64                     `json:"revision"` // of what the change was made from
	Level    policy.Level              `json:"permission_level"`
	Tools    map[string]policy.Setting `json:"tool_permissions"`
	Auto     policy.AutoApprove        `json:"auto_approve"`
	Warnings []string                  `json:"warnings,omitempty"` // only shown
}

// shownSettings is the settings with what a person should know of them.
func (a *API) shownSettings(s app.Settings) settings {
	shown := settings{Revision: s.Revision, Level: s.Level, Tools: s.Tools, Auto: s.Auto}
	if shown.Tools == nil {
		shown.Tools = map[string]policy.Setting{}
	}
	if shown.Auto.Tools == nil {
		shown.Auto.Tools = []string{}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if s.Level == policy.ReadOnly && s.Tools[name] == policy.Allowed {
			shown.Warnings = append(shown.Warnings, name+" is allowed although the permission level is read_only")
		}
	}
	names := slices.Sorted(maps.Keys(s.Tools))
	for _, name := range append(names, s.Auto.Tools...) {
		if _, ok := a.App.Spec(tool.Name(name)); !ok {
			shown.Warnings = append(shown.Warnings, name+" is no tool that is served here")
		}
	}
	shown.Warnings = slices.Compact(shown.Warnings)
	return shown
}

func (a *API) showSettings(x *exchange.Exchange) error {
	s, err := a.App.Settings(x.R.Context())
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, a.shownSettings(s))
	return nil
}

// putSettings stores settings that a person changed. They name the revision they were made from; when there is a newer one, nothing is stored.
func (a *API) putSettings(x *exchange.Exchange) error {
	if !x.Visitor.Person {
		return ErrPerson.Sayf("settings are changed by a person: in the console, or with countersign policy")
	}
	sent := settings{Revision: -1}
	if err := x.Decode(&sent); err != nil {
		return err
	}
	if sent.Revision < 0 || sent.Level == policy.LevelUnset {
		return exchange.ErrBody.Sayf("revision and permission_level have to be there; GET %s/settings shows those there are", Prefix)
	}
	for name, to := range sent.Tools {
		if to == policy.SettingNone {
			delete(sent.Tools, name)
		}
	}
	saved, err := a.App.ChangeSettings(x.R.Context(), x.Visitor.Call("", nil), func(s *app.Settings) error {
		s.Revision, s.Level, s.Tools, s.Auto = sent.Revision, sent.Level, sent.Tools, sent.Auto
		return nil
	})
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, a.shownSettings(saved))
	return nil
}
