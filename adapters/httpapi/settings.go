package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// settings is the user's settings, as shown and sent. In a request, a missing pointer leaves its setting unchanged.
type settings struct {
	Revision int64                      `json:"revision"` // of the settings that the change is based on
	Level    policy.Level               `json:"permission_level"`
	Tools    map[string]policy.Setting  `json:"tool_permissions"`
	Auto     policy.AutoApprove         `json:"auto_approve"`
	Approval *policy.Approval           `json:"approval,omitempty"`
	MaxMode  *policy.Mode               `json:"max_mode,omitempty"`
	Require  *map[string]policy.Proving `json:"require,omitempty"`
	Forms    *[]string                  `json:"forms,omitempty"`
	KeepDays *int                       `json:"keep_reads_days,omitempty"`
	InForce  *inForce                   `json:"in_force,omitempty"` // only in answers
	Warnings []string                   `json:"warnings,omitempty"` // only in answers
}

// inForce is the settings combined with every other policy layer, and the layer that decided each part; parts without a layer are built in.
type inForce struct {
	Approval  policy.Approval           `json:"approval"`
	Level     policy.Level              `json:"permission_level"`
	Mode      policy.Mode               `json:"mode"`
	MaxMode   policy.Mode               `json:"max_mode"`
	ReadOnly  bool                      `json:"read_only"`
	Tools     map[string]policy.Setting `json:"tool_permissions"`
	Auto      policy.AutoApprove        `json:"auto_approve"`
	Require   map[string]policy.Proving `json:"require"`
	DecidedBy map[string]string         `json:"decided_by"`
}

// shownSettings returns the settings with their warnings.
func (a *API) shownSettings(ctx context.Context, s app.Settings) (settings, error) {
	shown := settings{Revision: s.Revision, Level: s.Level, Tools: s.Tools, Auto: s.Auto, Approval: &s.Approval, MaxMode: &s.MaxMode, Require: &s.Require, Forms: &s.Forms, KeepDays: &s.KeepReadsDays}
	if s.Require == nil {
		shown.Require = &map[string]policy.Proving{}
	}
	if s.Forms == nil {
		shown.Forms = &[]string{}
	}
	rules, err := a.App.PolicyInForce(ctx)
	if err != nil {
		return settings{}, err
	}
	if rules.Auto.Tools == nil {
		rules.Auto.Tools = []string{}
	}
	if rules.Approval == policy.ApprovalUnset {
		rules.Approval = policy.ApprovalHuman
	}
	shown.InForce = &inForce{Approval: rules.Approval, Level: rules.Level, Mode: rules.Mode, MaxMode: rules.Ceiling, ReadOnly: rules.ReadOnly, Tools: rules.Tools, Auto: rules.Auto,
		Require: rules.Require, DecidedBy: rules.By}
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
			shown.Warnings = append(shown.Warnings, name+" is not an enabled tool")
		}
	}
	for _, w := range rules.Wider {
		shown.Warnings = append(shown.Warnings, w.Layer+" is "+w.Key+" "+w.Value+", and it stays "+w.Than+", as "+w.By+" decides")
	}
	shown.Warnings = append(slices.Compact(shown.Warnings), rules.Missing...)
	return shown, nil
}

func (a *API) showSettings(x *Exchange) error {
	s, err := a.App.Settings(x.R.Context())
	if err != nil {
		return err
	}
	return a.answerSettings(x, s)
}

func (a *API) answerSettings(x *Exchange, s app.Settings) error {
	shown, err := a.shownSettings(x.R.Context(), s)
	if err == nil {
		x.Answer(http.StatusOK, shown)
	}
	return err
}

// putSettings stores settings. A change that only narrows is stored at once, from any client; one that widens is stored once the user has approved it
// in the console or at a terminal, and the same request is repeated. The request names the revision it is based on; if there is a newer one, nothing
// is stored.
func (a *API) putSettings(x *Exchange) error {
	sent := settings{Revision: -1}
	if err := x.Decode(&sent); err != nil {
		return err
	}
	if sent.InForce != nil || len(sent.Warnings) > 0 {
		sent.InForce, sent.Warnings = nil, nil // as they were shown: they cannot be set
	}
	if sent.Revision < 0 || sent.Level == policy.LevelUnset {
		return ErrBody.WithMessage("revision and permission_level are required; GET %s/settings shows the current ones", Prefix)
	}
	for name, to := range sent.Tools {
		if to == policy.SettingNone {
			delete(sent.Tools, name)
		}
	}
	saved, err := a.App.ChangeSettings(x.R.Context(), x.Visitor.Call("", nil), func(s *app.Settings) error {
		s.Revision, s.Level, s.Tools, s.Auto = sent.Revision, sent.Level, sent.Tools, sent.Auto
		if sent.Approval != nil {
			s.Approval = *sent.Approval
		}
		if sent.MaxMode != nil {
			s.MaxMode = *sent.MaxMode
		}
		if sent.Require != nil {
			s.Require = *sent.Require
			maps.DeleteFunc(s.Require, func(_ string, needs policy.Proving) bool { return needs == policy.ProvingNone })
		}
		if sent.Forms != nil {
			s.Forms = *sent.Forms
		}
		if sent.KeepDays != nil {
			s.KeepReadsDays = *sent.KeepDays
		}
		return nil
	})
	var unconfirmed *app.ApprovalRequiredError
	if errors.As(err, &unconfirmed) {
		return pend(x, unconfirmed)
	}
	if err != nil {
		return err
	}
	return a.answerSettings(x, saved)
}

// pend answers that the user must approve first. The answer contains no token: the client that sends the request cannot approve it.
func pend(x *Exchange, u *app.ApprovalRequiredError) error {
	i := u.Request
	x.W.Header().Set(HeaderConfirmation, i.ID)
	return u.Err.WithMessage("%s; the user approves it in the console, or in a terminal with countersign approve %s; then repeat the request", i.Prompt, i.ID).WithDetails(struct {
		Confirmation confirm.View `json:"confirmation"`
	}{confirm.View{ID: i.ID, Tool: string(i.Tool), Strength: i.Strength, Risk: i.Risk, Prompt: i.Prompt, Target: i.Target, State: confirm.Pending.String(), PlanHash: i.PlanHash,
		Plan: i.Plan, IssuedAt: i.IssuedAt, ExpiresAt: i.ExpiresAt, Needs: i.Needs}})
}
