package adminpages

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// lasting returns how long a token can be good, by the word of the form; forever is the empty word.
func lasting() []ui.Choice {
	return []ui.Choice{{Value: "", Text: "until it is revoked"}, {Value: "24h", Text: "a day"}, {Value: "168h", Text: "a week"}, {Value: "2160h", Text: "90 days"}}
}

func tokenForm(v httpauth.Identity) ui.Node {
	return ui.Disclosure("Make a token", false, ui.PostForm(v, settingSection+"/tokens", ui.Field("token-name", "name", "Name, for people", ""),
		ui.Field("token-toolsets", "toolsets", "Only these toolsets (empty: all that is served)", ""), ui.CheckboxField("token-read-only", "read_only", "Only to read", false),
		ui.SelectField("token-max-mode", "max_mode", "Up to mode", "", ui.Choice{Value: "", Text: "as the operator says"}, ui.Choice{Value: "ask", Text: "ask"},
			ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}),
		ui.SelectField("token-lasts", "lasts", "Good", "", lasting()...), ui.SubmitButton("Make the token")))
}

// token creates a token once the user has approved its scope. The secret stays in this process until its page has shown it; the call contains only
// its digest.
func (s settingPages) token(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	c := access.Credential{Kind: access.Token, Name: strings.TrimSpace(r.PostFormValue("name")),
		Scope: access.Scope{Toolsets: names(r.PostFormValue("toolsets")), ReadOnly: r.PostFormValue("read_only") == "true"}}
	err := whole(v)
	if err == nil {
		err = s.known(c.Scope.Toolsets)
	}
	if err == nil {
		err = c.Scope.Ceiling.UnmarshalText([]byte(r.PostFormValue("max_mode")))
	}
	if lasts := r.PostFormValue("lasts"); err == nil && lasts != "" {
		d, wrong := time.ParseDuration(lasts)
		if wrong != nil || d <= 0 {
			err = policy.ErrWord.WithMessage("%q is no time that a token is good for", ui.Printable(lasts))
		}
		c.ExpiresAt = time.Now().Add(d).UTC().Truncate(time.Second)
	}
	if err != nil {
		settingFail(w, v, err)
		return
	}
	secret := httpauth.Secret(httpauth.TokenPrefix)
	c.Digest = access.DigestOf(secret)
	s.runner.Do(w, r, v, ui.Task{Title: "Make the token " + ui.Printable(c.Name), Tool: control.CreateCredential.Name, Args: c.Request(), Back: settingSection,
		Show: told(secret)})
}

// toldFor is how long a page shows a secret, from the first request for it.
const toldFor = 5 * time.Minute

// told shows a secret for a while.
func told(secret string) func(tool.Outcome) ui.Node {
	var mu sync.Mutex
	var until time.Time
	return func(o tool.Outcome) ui.Node {
		if o.Err != nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if until.IsZero() {
			until = time.Now().Add(toldFor)
		}
		if time.Now().After(until) {
			secret = ""
			return ui.Notice(ui.Plain, ui.P(ui.Text("The token was made, and is not shown any more.")))
		}
		return ui.Notice(ui.Good, ui.P(ui.Text("This is the token. Keep it now: it is shown for five minutes, and is stored nowhere. Programs send it as Authorization: Bearer TOKEN.")),
			ui.CodeBlock("token", secret))
	}
}

// known fails for an unknown toolset: a token for it would allow nothing, without an explanation.
func (s settingPages) known(toolsets []string) error {
	there := map[string]bool{}
	for _, t := range s.core.Toolsets() {
		there[t.Name] = true
	}
	for _, name := range toolsets {
		if !there[name] {
			return tool.ErrUnknown.WithMessage("there is no toolset %q here", ui.Printable(name))
		}
	}
	return nil
}
