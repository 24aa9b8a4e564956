package adminpages

import (
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ErrToolChanged is returned for a tool setting that changed since the page was made.
var ErrToolChanged = fault.New(fault.Conflict, "tool_setting_changed", "not saved: the setting of this tool changed since you opened the page; reload and try again")

// words returns the settings and their texts, in the order in which they are offered.
func words() []ui.Choice {
	return []ui.Choice{{Value: "", Text: "Default"}, {Value: policy.AlwaysConfirm.String(), Text: "Confirm"}, {Value: policy.Allowed.String(), Text: "Allowed"},
		{Value: policy.Blocked.String(), Text: "Blocked"}}
}

func word(s policy.Setting) string {
	for _, c := range words() {
		if c.Value == s.String() {
			return c.Text
		}
	}
	return s.String()
}

// switches returns the form that sets a tool. It contains the previous setting, so that a concurrent change is not overwritten unseen.
func switches(v httpauth.Identity, spec tool.Spec, now policy.Setting, from string) ui.Node {
	name := string(spec.Name)
	return ui.PostForm(v, toolPathOf(spec.Name)+"/setting", ui.Hidden("was", now.String()), ui.Hidden("from", from),
		ui.InlineSelect("setting-"+name, "setting", "Setting of "+name, now.String(), words()...), ui.TextNode(" "), ui.SubmitButton("Set", ui.Aria("label", "Set "+name)))
}

func (s *toolSection) set(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	name := r.PathValue("name")
	spec, served := s.core.Spec(tool.Name(name))
	if !served || !s.runner.Serves(v, spec.Name) {
		s.fail(w, v, ErrUnknownTool.WithMessage("tool %q not found or not enabled; the Tools page lists all tools", ui.Printable(name)))
		return
	}
	var to, was policy.Setting
	err := to.UnmarshalText([]byte(r.PostFormValue("setting")))
	if err == nil {
		err = was.UnmarshalText([]byte(r.PostFormValue("was")))
	}
	if err == nil && to > policy.SettingNone && !s.runner.Decides(v, spec.Name) && to != policy.Blocked && to != policy.AlwaysConfirm {
		err = ErrToolReach
	}
	var call tool.Call
	if err == nil {
		call, err = s.core.SettingsCall(r.Context(), func(set *app.Settings) error {
			if now := set.Tools[name]; now != was {
				return ErrToolChanged.WithMessage("not saved: the setting of %s changed to %s since you opened the page; reload and try again", name, word(now))
			}
			set.Tools[name] = to
			if to == policy.SettingNone {
				delete(set.Tools, name)
			}
			return nil
		})
	}
	if err != nil {
		s.fail(w, v, err)
		return
	}
	back := toolPathOf(spec.Name)
	if r.PostFormValue("from") == "list" {
		back = toolPath
	}
	s.runner.Do(w, r, v, ui.Task{Title: "Set " + name, Tool: call.Tool, Args: call.Args, Back: back, Done: turned(name, word(was), word(to))})
}

// ErrToolReach is returned if a browser's login does not cover the tool that it would allow.
var ErrToolReach = fault.New(fault.Denied, "setting_out_of_reach", "this browser session's scope excludes this tool, so it cannot allow it; log in with a wider scope and retry")
