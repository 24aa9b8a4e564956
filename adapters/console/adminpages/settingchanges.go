package adminpages

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The errors of rejected changes.
var (
	ErrSettingsChanged = fault.New(fault.Conflict, "settings_changed_meanwhile", "not saved: these settings changed since you opened the page; reload and try again")
	ErrReach           = fault.New(fault.Denied, "settings_out_of_reach", "this browser session's scope excludes some tools, so it cannot change settings for all tools; log in without a scope and retry")
)

// whole fails with ErrReach for a visitor with less permissions than the server configuration allows: nobody can grant more than their own permissions.
func whole(v httpauth.Identity) error {
	if free := v.Principal.Ceiling == policy.ModeUnset || v.Principal.Ceiling == policy.Execute; !free || v.Principal.Grants != policy.All ||
		!tool.Covered(v.Within, tool.Spec{Class: policy.ClassDangerous}) {
		return ErrReach
	}
	return nil
}

// change stores a change of the settings: at once if it only narrows, else after an approval on a page that shows what it would widen. edit returns
// the message for the settings page.
func (s settingPages) change(w http.ResponseWriter, r *http.Request, v httpauth.Identity, title string, edit func(*app.Settings) (told string, err error)) {
	err := whole(v)
	var told string
	var call tool.Call
	if err == nil {
		call, err = s.core.SettingsCall(r.Context(), func(set *app.Settings) (err error) {
			told, err = edit(set)
			return err
		})
	}
	if err != nil {
		settingFail(w, v, err)
		return
	}
	s.runner.Do(w, r, v, ui.Task{Title: title, Tool: call.Tool, Args: call.Args, Back: settingSection, Done: told})
}

// turned returns a message about a change from one value to another; an empty value is "not set".
func turned(what, was, is string) string {
	return what + " changed from " + either(was, "not set") + " to " + either(is, "not set") + "."
}

func (s settingPages) level(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	var now control.PolicyAnswer
	if err := s.runner.Read(r.Context(), v, control.GetPolicy.Name, nil, &now); err != nil {
		settingFail(w, v, err)
		return
	}
	s.change(w, r, v, "Set permission level", func(set *app.Settings) (string, error) {
		var level policy.Level
		if err := level.UnmarshalText([]byte(r.PostFormValue("level"))); err != nil {
			return "", err
		}
		if level == policy.LevelUnset {
			return "", policy.ErrWord.WithMessage("choose a permission level")
		}
		if was := r.PostFormValue("was"); was != now.Level.String() {
			return "", ErrSettingsChanged.WithMessage("not saved: the permission level changed to %s since you opened the page; reload and try again", now.Level)
		}
		set.Level = level
		return turned("The permission level", now.Level.String(), level.String()), nil
	})
}

// approval sets the approver: human or caller.
func (s settingPages) approval(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.change(w, r, v, "Set approver", func(set *app.Settings) (string, error) {
		before := set.Approval
		if before.String() != r.PostFormValue("was") {
			return "", ErrSettingsChanged
		}
		if err := set.Approval.UnmarshalText([]byte(r.PostFormValue("approval"))); err != nil {
			return "", err
		}
		return turned("The approver", before.String(), set.Approval.String()), nil
	})
}

// ceiling sets the maximum mode.
func (s settingPages) ceiling(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.change(w, r, v, "Set maximum mode", func(set *app.Settings) (string, error) {
		before := set.MaxMode
		if before.String() != r.PostFormValue("was") {
			return "", ErrSettingsChanged
		}
		if err := set.MaxMode.UnmarshalText([]byte(r.PostFormValue("max_mode"))); err != nil {
			return "", err
		}
		return turned("The maximum mode", before.String(), set.MaxMode.String()), nil
	})
}

// require sets the weakest proof that approvals need: for a tool, for high risk, or for plans with a name to type.
func (s settingPages) require(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	key := strings.TrimSpace(r.PostFormValue("key"))
	s.change(w, r, v, "Set the proof for "+ui.Printable(key), func(set *app.Settings) (string, error) {
		before, there := set.Require[key]
		if _, known := s.core.Spec(tool.Name(key)); !known && !there && key != policy.RequireHigh && key != policy.RequireType {
			return "", tool.ErrUnknown.WithMessage("unknown tool %q; use high, type or the name of an enabled tool", ui.Printable(key))
		}
		if was := r.PostForm["was"]; len(was) > 0 && was[0] != before.String() {
			return "", ErrSettingsChanged
		}
		var needs policy.Proving
		if err := needs.UnmarshalText([]byte(r.PostFormValue("proof"))); err != nil {
			return "", err
		}
		if set.Require == nil {
			set.Require = map[string]policy.Proving{}
		}
		set.Require[key] = needs
		if needs == policy.ProvingNone {
			delete(set.Require, key)
		}
		return "The proof for " + ui.Printable(key) + " changed from " + before.Words() + " to " + needs.Words() + ".", nil
	})
}

// forms stores the host entries whose forms can approve.
func (s settingPages) forms(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.change(w, r, v, "Set host forms", func(set *app.Settings) (string, error) {
		before := set.Forms
		if strings.Join(before, " ") != r.PostFormValue("was") {
			return "", ErrSettingsChanged
		}
		set.Forms = names(r.PostFormValue("entries"))
		return turned("The list of host forms", ui.Printable(strings.Join(before, ", ")), ui.Printable(strings.Join(set.Forms, ", "))), nil
	})
}

// reads sets for how many days the audit log keeps records of reads.
func (s settingPages) reads(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.change(w, r, v, "Set audit retention", func(set *app.Settings) (string, error) {
		before := set.KeepReadsDays
		if strconv.Itoa(before) != r.PostFormValue("was") {
			return "", ErrSettingsChanged
		}
		days, err := strconv.Atoi(strings.TrimSpace(r.PostFormValue("days")))
		if err != nil || days < 0 || days > app.MostKeepReadsDays {
			return "", policy.ErrWord.WithMessage("invalid number of days %q; use 0 to %d", ui.Printable(r.PostFormValue("days")), app.MostKeepReadsDays)
		}
		set.KeepReadsDays = days
		return "Reads are now kept " + app.KeptFor(days) + "; before, " + app.KeptFor(before) + ".", nil
	})
}

// names are words between blanks, commas and line ends, each once and in order.
func names(text string) []string {
	found := strings.Fields(strings.ReplaceAll(text, ",", " "))
	slices.Sort(found)
	return slices.Compact(found)
}

// auto stores the auto-approve list. An unknown tool is rejected: a list with a mistake would silently not apply.
func (s settingPages) auto(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	tools := names(r.PostFormValue("tools"))
	s.change(w, r, v, "Set auto-approve list", func(set *app.Settings) (string, error) {
		for _, name := range tools {
			if _, ok := s.core.Spec(tool.Name(name)); !ok && !slices.Contains(set.Auto.Tools, name) {
				return "", tool.ErrUnknown.WithMessage("unknown tool %q; the Tools page lists all tools", ui.Printable(name))
			}
		}
		before := set.Auto
		if autoWord(before) != r.PostFormValue("was") {
			return "", ErrSettingsChanged
		}
		set.Auto = policy.AutoApprove{Enabled: r.PostFormValue("enabled") == "true", Tools: tools}
		return turned("Auto-approve", autoTold(before), autoTold(set.Auto)), nil
	})
}

// autoTold describes an auto-approve list.
func autoTold(a policy.AutoApprove) string {
	word := "off"
	if a.Enabled {
		word = "on"
	}
	return word + " (" + ui.Count(len(a.Tools), "tool", "tools") + ")"
}

// reset deletes the setting of a tool, enabled or not.
func (s settingPages) reset(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	name := r.PathValue("name")
	s.change(w, r, v, "Reset "+ui.Printable(name), func(set *app.Settings) (string, error) {
		was, there := set.Tools[name]
		if !there || was.String() != r.PostFormValue("was") {
			return "", ErrSettingsChanged
		}
		delete(set.Tools, name)
		return ui.Printable(name) + " was reset to the permission level; before, it was " + was.String() + ".", nil
	})
}

// changed returns the message that a session grant was revoked; nil if none was.
func changed(r *http.Request) ui.Node {
	if r.URL.Query().Get("set") != "grant" {
		return nil
	}
	return ui.Notice(ui.Good, ui.P(ui.Text("Session grant revoked. The next call asks for approval.")))
}

func (s settingPages) mode(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.runner.Do(w, r, v, ui.Task{Title: "Set console mode", Tool: control.SetMode.Name, Args: control.SetModeInput{Mode: r.PostFormValue("mode")}, Back: settingSection,
		Show: func(o tool.Outcome) ui.Node {
			var told control.ModeAnswer
			if json.Unmarshal(o.Value, &told) != nil {
				return nil
			}
			text := turned("The console mode", told.Previous.String(), told.Mode.String())
			if told.Canceled > 0 {
				text += " Cancelled approval requests: " + number(told.Canceled) + "."
			}
			return ui.Notice(ui.Good, ui.P(ui.Text(text)))
		}})
}

// again revokes grants, so that calls ask again.
func (s settingPages) again(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	if _, err := s.core.RevokeSessionGrant(r.Context(), r.PathValue("id"), ui.AnswererOf(v)); err != nil {
		settingFail(w, v, err)
		return
	}
	http.Redirect(w, r, settingSection+"?set=grant", http.StatusSeeOther)
}

func (s settingPages) revoke(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	err := whole(v)
	if err == nil || r.PathValue("id") == v.Credential { // logging out is always allowed
		_, err = s.credentials.Revoke(r.Context(), ui.AnswererOf(v), r.PathValue("id"))
	}
	if err != nil {
		settingFail(w, v, err)
		return
	}
	http.Redirect(w, r, settingSection, http.StatusSeeOther)
}
