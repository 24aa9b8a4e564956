package toolpages

import (
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// ErrMeanwhile reports a switch that somebody else has turned since the page was made.
var ErrMeanwhile = fault.New(fault.Conflict, "tool_setting_changed", "somebody else has set this tool meanwhile")

// words are how the settings are said, in the order they are offered.
func words() []page.Choice {
	return []page.Choice{{Value: "", Text: "Default"}, {Value: policy.AlwaysConfirm.String(), Text: "Confirm"}, {Value: policy.Allowed.String(), Text: "Allowed"},
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

// switches is the form that sets a tool. It carries what the setting was, so that nobody overwrites what he has not seen.
func switches(v httpguard.Visitor, spec tool.Spec, now policy.Setting, from string) markup.Node {
	name := string(spec.Name)
	return page.Form(v, pathOf(spec.Name)+"/setting", page.Hidden("was", now.String()), page.Hidden("from", from),
		page.Pick("setting-"+name, "setting", "Setting of "+name, now.String(), words()...), markup.Text(" "), page.Button("Set", markup.Aria("label", "Set "+name)))
}

func (s *Section) set(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	name := r.PathValue("name")
	spec, served := s.door.Spec(tool.Name(name))
	if !served || !s.desk.Serves(v, spec.Name) {
		s.fail(w, v, ErrUnknown.Sayf("this server serves no tool %q", page.Printable(name)))
		return
	}
	var to, was policy.Setting
	err := to.UnmarshalText([]byte(r.PostFormValue("setting")))
	if err == nil {
		err = was.UnmarshalText([]byte(r.PostFormValue("was")))
	}
	if err == nil && to > policy.SettingNone && !s.desk.Decides(v, spec.Name) && to != policy.Blocked && to != policy.AlwaysConfirm {
		err = ErrReach
	}
	if err == nil {
		_, err = s.door.ChangeSettings(r.Context(), v.Call("", nil), func(set *app.Settings) error {
			if now := set.Tools[name]; now != was {
				return ErrMeanwhile.Sayf("somebody else has set %s to %s meanwhile, and nothing was changed; go back and look again", name, word(now))
			}
			if set.Tools == nil {
				set.Tools = map[string]policy.Setting{}
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
	back := pathOf(spec.Name)
	if r.PostFormValue("from") == "list" {
		back = path
	}
	http.Redirect(w, r, back+"?"+url.Values{"set": {name}, "was": {was.String()}, "is": {to.String()}}.Encode(), http.StatusSeeOther)
}

// ErrReach reports a browser that would allow more than its log-in may do.
var ErrReach = fault.New(fault.Denied, "setting_out_of_reach", "this browser's log-in does not reach as far as this tool, so it cannot allow it")

// changed tells what a switch was and is, on the page that it was turned on; nil when none was.
func changed(r *http.Request) markup.Node {
	q := r.URL.Query()
	var was, is policy.Setting
	if q.Get("set") == "" || was.UnmarshalText([]byte(q.Get("was"))) != nil || is.UnmarshalText([]byte(q.Get("is"))) != nil {
		return nil
	}
	return page.Notice(page.Good, markup.P(markup.Textf("%s was %s and is %s now.", page.Printable(q.Get("set")), word(was), word(is))))
}
