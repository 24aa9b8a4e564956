package settingpages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The ways a change is refused.
var (
	ErrMeanwhile = fault.New(fault.Conflict, "settings_changed_meanwhile", "somebody else has changed this meanwhile, and nothing was changed here; go back and look again")
	ErrReach     = fault.New(fault.Denied, "settings_out_of_reach", "this browser's log-in is for a part of the tools, so it cannot change what holds for all of them")
)

// whole fails with ErrReach for a visitor who may do less than the operator's policy: nobody gives others what is closed to himself.
func whole(v httpguard.Visitor) error {
	if free := v.Principal.Ceiling == policy.ModeUnset || v.Principal.Ceiling == policy.Execute; !free || v.Principal.Grants != policy.All ||
		!tool.Covered(v.Within, tool.Spec{Class: policy.ClassDangerous}) {
		return ErrReach
	}
	return nil
}

// change stores a change of the settings and goes back to them with what says what it was and is. It is on record before it is made.
func (s Pages) change(w http.ResponseWriter, r *http.Request, v httpguard.Visitor, edit func(*app.Settings) (told url.Values, err error)) {
	err := whole(v)
	var told url.Values
	if err == nil {
		_, err = s.door.ChangeSettings(r.Context(), v.Call("", nil), func(set *app.Settings) (err error) {
			told, err = edit(set)
			return err
		})
	}
	if err != nil {
		fail(w, v, err)
		return
	}
	http.Redirect(w, r, section+"?"+told.Encode(), http.StatusSeeOther)
}

func (s Pages) level(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	var now inForce
	if err := s.desk.Read(r.Context(), v, "get_policy", nil, &now); err != nil {
		fail(w, v, err)
		return
	}
	s.change(w, r, v, func(set *app.Settings) (url.Values, error) {
		var level policy.Level
		if err := level.UnmarshalText([]byte(r.PostFormValue("level"))); err != nil {
			return nil, err
		}
		if level == policy.LevelUnset {
			return nil, policy.ErrWord.Sayf("choose a permission level")
		}
		if was := r.PostFormValue("was"); was != now.Level {
			return nil, ErrMeanwhile.Sayf("somebody else has set the level to %s meanwhile, and nothing was changed here; go back and look again", now.Level)
		}
		set.Level = level
		return url.Values{"set": {"level"}, "was": {now.Level}, "is": {level.String()}}, nil
	})
}

// auto stores the list of tools that are answered for. A name that is no tool is refused: a list that silently holds a mistake answers nothing.
func (s Pages) auto(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	names := strings.Fields(strings.ReplaceAll(r.PostFormValue("tools"), ",", " "))
	slices.Sort(names)
	names = slices.Compact(names)
	s.change(w, r, v, func(set *app.Settings) (url.Values, error) {
		for _, name := range names {
			if _, ok := s.door.Spec(tool.Name(name)); !ok && !slices.Contains(set.Auto.Tools, name) {
				return nil, tool.ErrUnknown.Sayf("there is no tool %q here; the page of tools lists those there are", page.Printable(name))
			}
		}
		before := set.Auto
		if autoWord(before) != r.PostFormValue("was") {
			return nil, ErrMeanwhile
		}
		set.Auto = policy.AutoApprove{Enabled: r.PostFormValue("enabled") == "true", Tools: names}
		return url.Values{"set": {"auto"}, "was": {autoTold(before)}, "is": {autoTold(set.Auto)}}, nil
	})
}

// autoTold is what is answered in advance, in a word and a number.
func autoTold(a policy.AutoApprove) string {
	word := "off"
	if a.Enabled {
		word = "on"
	}
	return word + " " + number(len(a.Tools))
}

// reset forgets what was set for a tool, whether it is served here or not.
func (s Pages) reset(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	name := r.PathValue("name")
	s.change(w, r, v, func(set *app.Settings) (url.Values, error) {
		was, there := set.Tools[name]
		if !there || was.String() != r.PostFormValue("was") {
			return nil, ErrMeanwhile
		}
		delete(set.Tools, name)
		return url.Values{"set": {"tool"}, "was": {was.String()}, "is": {policy.SettingNone.String()}}, nil
	})
}

// changed tells what a setting was and is, on the page that it was changed on; nil when none was. Whatever a link says, it tells only words that
// settings have.
func changed(r *http.Request) markup.Node {
	q := r.URL.Query()
	was, is := q.Get("was"), q.Get("is")
	text := ""
	switch q.Get("set") {
	case "level":
		var a, b policy.Level
		if a.UnmarshalText([]byte(was)) == nil && b.UnmarshalText([]byte(is)) == nil && b != policy.LevelUnset {
			text = "The permission level was " + either(a.String(), "not set") + " and is " + b.String() + " now."
		}
	case "tool":
		var a policy.Setting
		if a.UnmarshalText([]byte(was)) == nil && is == "" {
			text = "The tool was set to " + a.String() + ", and follows the level now."
		}
	case "grant":
		text = "That is not always allowed any more: the next call asks."
	case "auto":
		a, b := onOff(was), onOff(is)
		if a != "" && b != "" {
			text = "What is answered in advance was " + a + " and is " + b + " now."
		}
	}
	if text == "" {
		return nil
	}
	return page.Notice(page.Good, markup.P(page.Text(text)))
}

// onOff is autoTold in words; empty for what is none.
func onOff(told string) string {
	word, many, _ := strings.Cut(told, " ")
	if word != "on" && word != "off" || many == "" || len(many) > 5 || strings.Trim(many, "0123456789") != "" {
		return ""
	}
	return word + ", with " + many + " tools on the list"
}

func (s Pages) mode(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.desk.Do(w, r, v, work.Task{Title: "Set the mode", Tool: "set_mode", Args: map[string]string{"mode": r.PostFormValue("mode")}, Back: section,
		Show: func(o tool.Outcome) markup.Node {
			var told struct {
				Mode, Previous string
				Canceled       int `json:"canceled_confirmations"`
			}
			if json.Unmarshal(o.Value, &told) != nil {
				return nil
			}
			text := "The mode of this console was " + either(told.Previous, "not set") + " and is " + told.Mode + " now."
			if told.Canceled > 0 {
				text += " Questions that were withdrawn because of it: " + number(told.Canceled) + "."
			}
			return page.Notice(page.Good, markup.P(page.Text(text)))
		}})
}

// again has calls ask again that a person said need not.
func (s Pages) again(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	if _, err := s.door.RevokeAlways(r.Context(), r.PathValue("id"), work.Who(v)); err != nil {
		fail(w, v, err)
		return
	}
	http.Redirect(w, r, section+"?set=grant", http.StatusSeeOther)
}

func (s Pages) revoke(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	err := whole(v)
	if err == nil || r.PathValue("id") == v.Credential { // everybody may leave
		_, err = s.credentials.Revoke(r.Context(), work.Who(v), r.PathValue("id"))
	}
	if err != nil {
		fail(w, v, err)
		return
	}
	http.Redirect(w, r, section, http.StatusSeeOther)
}
