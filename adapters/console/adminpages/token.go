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

// lasting returns the lifetimes of a token that the form offers; the empty value is no expiry.
func lasting() []ui.Choice {
	return []ui.Choice{{Value: "", Text: "when revoked"}, {Value: "24h", Text: "in 1 day"}, {Value: "168h", Text: "in 7 days"}, {Value: "2160h", Text: "in 90 days"}}
}

func tokenForm(v httpauth.Identity) ui.Node {
	return ui.Disclosure("Create token …", false, ui.PostForm(v, settingSection+"/tokens", ui.Field("token-name", "name", "Name", ""),
		ui.Field("token-toolsets", "toolsets", "Toolsets (default: all)", ""), ui.CheckboxField("token-read-only", "read_only", "Read-only", false),
		ui.SelectField("token-max-mode", "max_mode", "Maximum mode", "", ui.Choice{Value: "", Text: "server configuration"}, ui.Choice{Value: "ask", Text: "ask"},
			ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}),
		ui.SelectField("token-lasts", "lasts", "Expires", "", lasting()...), ui.SubmitButton("Create token")))
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
			err = policy.ErrWord.WithMessage("invalid token lifetime %q; use a duration such as 24h", ui.Printable(lasts))
		}
		c.ExpiresAt = time.Now().Add(d).UTC().Truncate(time.Second)
	}
	if err != nil {
		settingFail(w, v, err)
		return
	}
	secret := httpauth.Secret(httpauth.TokenPrefix)
	c.Digest = access.DigestOf(secret)
	s.runner.Do(w, r, v, ui.Task{Title: "Create token " + ui.Printable(c.Name), Tool: control.CreateCredential.Name, Args: c.Request(), Back: settingSection,
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
			return ui.Notice(ui.Plain, ui.P(ui.Text("The token was created. It is no longer shown.")))
		}
		return ui.Notice(ui.Good, ui.P(ui.Text("Copy this token now. It is shown for 5 minutes and is not stored. Programs send it in the header Authorization: Bearer TOKEN.")),
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
			return tool.ErrUnknown.WithMessage("unknown toolset %q; the Settings page lists all toolsets", ui.Printable(name))
		}
	}
	return nil
}
