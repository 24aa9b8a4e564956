// Package settingpages is where people see and change how much agents may do: the permission level, what is answered in advance, the console's own mode,
// and the credentials that let programs and browsers in.
//
// It refuses to store what opens anything before a person has seen and approved that, and to change what belongs to the operator: what the layers above
// and below people's settings say, and what is served, are shown.
package settingpages

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Door is what keeps settings: an *app.App.
type Door interface {
	Spec(n tool.Name) (tool.Spec, bool)
	Toolsets() []tool.Toolset
	Settings(ctx context.Context) (app.Settings, error)
	SettingsCall(ctx context.Context, change func(*app.Settings) error) (tool.Call, error)
	PolicyInForce(ctx context.Context) (policy.Resolved, error)
	Allowances
}

// Allowances are what people said shall always be allowed, in whichever session.
type Allowances interface {
	AlwaysAllowed(ctx context.Context) ([]confirm.Always, error)
	RevokeAlways(ctx context.Context, id, by string) (confirm.Always, error)
}

// Credentials is what keeps credentials: an *admission.Keeper.
type Credentials interface {
	List(ctx context.Context) ([]access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
}

const section = "/settings"

// Pages are the pages of the settings; New makes them.
type Pages struct {
	desk        *work.Desk
	door        Door
	credentials Credentials
}

// New is the settings of that door, and those credentials.
func New(desk *work.Desk, door Door, credentials Credentials) Pages {
	return Pages{desk, door, credentials}
}

// Mount adds the pages to a mux, through what lets people in.
func (s Pages) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	mux.Handle("GET /settings", person(s.show))
	mux.Handle("POST /settings/level", person(s.level))
	mux.Handle("POST /settings/approval", person(s.approval))
	mux.Handle("POST /settings/ceiling", person(s.ceiling))
	mux.Handle("POST /settings/require", person(s.require))
	mux.Handle("POST /settings/forms", person(s.forms))
	mux.Handle("POST /settings/tokens", person(s.token))
	mux.Handle("POST /settings/auto", person(s.auto))
	mux.Handle("POST /settings/tools/{name}/reset", person(s.reset))
	mux.Handle("POST /settings/mode", person(s.mode))
	mux.Handle("POST /settings/grants/{id}/revoke", person(s.again))
	mux.Handle("POST /settings/credentials/{id}/revoke", person(s.revoke))
}

// inForce is the answer of the tool get_policy, as far as it is shown.
type inForce struct {
	SessionMode  string   `json:"session_mode"`
	OperatorMode string   `json:"operator_mode"`
	Ceiling      string   `json:"max_mode"`
	Level        string   `json:"permission_level"`
	Always       []string `json:"always_allowed"`
	Revision     int64    `json:"settings_revision"`
}

func (s Pages) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	var now inForce
	if err := s.desk.Read(r.Context(), v, "get_policy", nil, &now); err != nil {
		fail(w, v, err)
		return
	}
	set, err := s.door.Settings(r.Context())
	if err != nil {
		fail(w, v, err)
		return
	}
	rules, err := s.door.PolicyInForce(r.Context())
	if err != nil {
		fail(w, v, err)
		return
	}
	page.Page{Title: "Settings", Section: section, Notice: markup.Group{changed(r), s.desk.Notice(r), warning(now, set)}, Body: []markup.Node{
		layers(rules), approvalPart(v, set, rules), levelPart(v, now), ceilingPart(v, set), requirePart(v, set), formsPart(v, set), autoPart(v, set), overrides(v, set),
		page.Part("Keys", markup.P(page.Text("A passkey proves that a person approved, in a way that no program of this machine can imitate. "), page.To(work.KeysPath, "Enrol, see and remove keys"))),
		s.allowances(r.Context(), v), modePart(v, now), s.served(), s.entries(r.Context(), v),
	}}.Write(w, http.StatusOK, v)
}

// warning says when a tool is allowed although the level is read-only (product rules: rulings on policy).
func warning(now inForce, set app.Settings) markup.Node {
	var allowed []string
	for _, name := range slices.Sorted(maps.Keys(set.Tools)) {
		if set.Tools[name] == policy.Allowed {
			allowed = append(allowed, name)
		}
	}
	if now.Level != policy.ReadOnly.String() || len(allowed) == 0 {
		return nil
	}
	return page.Notice(page.Warn, markup.P(page.Text("Allowed although the level is read_only: "+strings.Join(allowed, ", "))))
}

// levels are the permission levels, in words.
func levels() []page.Choice {
	return []page.Choice{{Value: policy.ReadOnly.String(), Text: "read_only: nothing changes"}, {Value: policy.ExecuteWithConfirm.String(), Text: "execute_with_confirm: changes ask"},
		{Value: policy.FullAccess.String(), Text: "full_access: only what wants a name typed asks"}}
}

func levelPart(v httpguard.Visitor, now inForce) markup.Node {
	choices := levels()
	if now.Level == "" {
		choices = append([]page.Choice{{Value: "", Text: "nobody has set one: nothing changes"}}, choices...)
	}
	return page.Part("Permission level", page.Form(v, section+"/level", page.Hidden("was", now.Level), page.Select("level", "level", "How much any tool may do", now.Level, choices...),
		page.Button("Set the level")))
}

func autoPart(v httpguard.Visitor, set app.Settings) markup.Node {
	return page.Part("Answered in advance", markup.P(page.Text("Simple and preview confirmations of these tools are answered with yes, except where much is at stake. What wants a name typed always asks.")),
		page.Form(v, section+"/auto", page.Hidden("was", autoWord(set.Auto)), page.Check("auto-on", "enabled", "Answer for the tools on the list", set.Auto.Enabled),
			page.Area("auto-tools", "tools", "Tools, one a line", strings.Join(set.Auto.Tools, "\n")), page.Button("Save the list")))
}

// autoWord is what is answered in advance, as a form carries it.
func autoWord(a policy.AutoApprove) string {
	return strconv.FormatBool(a.Enabled) + " " + strings.Join(a.Tools, " ")
}

func overrides(v httpguard.Visitor, set app.Settings) markup.Node {
	var rows []markup.Node
	for _, name := range slices.Sorted(maps.Keys(set.Tools)) {
		rows = append(rows, page.Row(page.To("/tools/"+url.PathEscape(name), name), page.Text(set.Tools[name].String()),
			page.Deed(v, section+"/tools/"+url.PathEscape(name)+"/reset", "Forget it", "for "+name, page.Hidden("was", set.Tools[name].String()))))
	}
	return page.Part("Single tools", page.Table("Tools with a setting of their own", []string{"Tool", "Setting", ""}, rows,
		"Every tool follows the level. The page of a tool has a switch."))
}

// allowances are what need not be asked about any more: for the rest of a session, and until a date.
func (s Pages) allowances(ctx context.Context, v httpguard.Visitor) markup.Node {
	all, err := s.door.AlwaysAllowed(ctx)
	if err != nil {
		return page.Part("Always allowed", page.Problem(fault.From(err)))
	}
	var rows, dated []markup.Node
	for _, g := range all {
		revoke := page.Deed(v, section+"/grants/"+url.PathEscape(g.ID)+"/revoke", "Revoke", strings.TrimSpace("of "+g.Tool+" "+g.Scope))
		if d := g.Dated; d != nil {
			used := markup.Node(page.Text("not yet"))
			if d.Uses > 0 {
				used = markup.Group{page.To("/audit?text="+url.QueryEscape(g.ID), number(int(d.Uses))+" times"), page.Text(", last "), page.When(d.UsedAt)}
			}
			dated = append(dated, page.Row(page.Text(page.Printable(d.What)), page.Name(g.Tool), page.Text(open(g)), page.Text(page.Printable(strings.TrimSpace(g.By+" "+d.User))), page.When(g.At), page.When(g.ExpiresAt), used, revoke))
			continue
		}
		rows = append(rows, page.Row(page.Name(g.Tool), page.Text(either(g.Scope, "all of it")), page.Code(page.Printable(g.Session)), page.Text(g.By), page.When(g.At), page.When(g.ExpiresAt), revoke))
	}
	return markup.Group{
		page.Part("Always allowed", markup.P(page.Text("A person said so for the rest of the session that asked. It ends with that session; what is revoked is asked about again from the next call on.")),
			page.Table("Always allowed", []string{"Tool", "Of it", "Session", "Allowed by", "Since", "Ends at the latest", ""}, rows, "Nothing: every session asks.")),
		page.Part("Allowed until a date", markup.P(page.Text("A person said so of one plan, in any session. It is asked about again as soon as anything that is bound differs, and from the moment it is revoked or has run out.")),
			page.Table("Allowed until a date", []string{"What", "Tool", "Asked by", "Allowed by", "Since", "Until", "Used", ""}, dated, "Nothing."))}
}

// open is who may ask for what is allowed until a date, and with which arguments.
func open(g confirm.Always) string {
	who := "calls that name no agent host"
	switch {
	case g.Dated.AnyEntry:
		who = "any agent host"
	case g.Dated.Entry != "":
		who = page.Printable(g.Dated.Entry)
	}
	if g.Dated.AnyArgs {
		return who + ", with any arguments"
	}
	return who + ", with these arguments"
}

func modePart(v httpguard.Visitor, now inForce) markup.Node {
	return page.Part("Mode of this console", markup.P(page.Text("Ask refuses changes, plan shows what they would do, execute carries them out. The highest mode here is "+now.Ceiling+
		"; the operator sets it with --max-mode.")),
		page.Facts(page.Fact{Name: "The operator's mode", Value: page.Text(either(now.OperatorMode, "each toolset's own"))},
			page.Fact{Name: "Always allowed in this console", Value: listed(now.Always)}),
		page.Form(v, section+"/mode", page.Select("mode", "mode", "Mode of what you do here", either(now.SessionMode, policy.Execute.String()),
			page.Choice{Value: "ask", Text: "ask"}, page.Choice{Value: "plan", Text: "plan"}, page.Choice{Value: "execute", Text: "execute"}), page.Button("Set the mode")))
}

func (s Pages) served() markup.Node {
	var rows []markup.Node
	for _, t := range s.door.Toolsets() {
		rows = append(rows, page.Row(page.Code(t.Name), page.Text(number(len(t.Served))), page.Text(either(t.ServedWith, "–"))))
	}
	return page.Part("Toolsets", page.Table("Toolsets", []string{"Toolset", "Tools served", "Served with"}, rows, "None."))
}

func (s Pages) entries(ctx context.Context, v httpguard.Visitor) markup.Node {
	all, err := s.credentials.List(ctx)
	if err != nil {
		return page.Part("Who may come in", page.Problem(fault.From(err)))
	}
	var rows []markup.Node
	for _, c := range all {
		name := markup.Group{page.Text(page.Printable(c.Name))}
		if c.ID == v.Credential {
			name = append(name, page.Text(" "), page.Badge(page.Plain, "this browser"))
		}
		rows = append(rows, page.Row(name, page.Code(c.ID), page.Text(c.Kind.String()), page.Text(reach(c.Scope)), page.When(c.CreatedAt), page.When(c.UsedAt), ends(c.ExpiresAt),
			page.Deed(v, section+"/credentials/"+url.PathEscape(c.ID)+"/revoke", "Revoke", c.Kind.String()+" "+c.Name)))
	}
	return page.Part("Who may come in", markup.P(page.Text("A program needs a token. What is revoked is over at once; the audit names who approved something by the id of the browser.")), tokenForm(v),
		page.Table("Credentials", []string{"Name", "Id", "Kind", "Reaches", "Made", "Last used", "Ends", ""}, rows, "Nobody, over the network."))
}

func ends(t time.Time) markup.Node {
	if t.IsZero() {
		return page.Text("when it is revoked")
	}
	return page.When(t)
}

// reach is a scope in words.
func reach(s access.Scope) string {
	words := []string{"all toolsets"}
	if len(s.Toolsets) > 0 {
		words[0] = strings.Join(s.Toolsets, ", ")
	}
	if s.ReadOnly {
		words = append(words, "reading only")
	}
	if s.Ceiling != policy.ModeUnset {
		words = append(words, "up to mode "+s.Ceiling.String())
	}
	return strings.Join(words, "; ")
}

func listed(words []string) markup.Node {
	if len(words) == 0 {
		return page.Text("nothing")
	}
	return markup.Ul(markup.Map(words, func(word string) markup.Node { return markup.Li(page.Text(word)) }))
}

func either(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

func number(n int) string { return strconv.Itoa(n) }

func fail(w http.ResponseWriter, v httpguard.Visitor, err error) {
	page.Fail(w, v, section, present.HTTPStatus(fault.From(err).Kind), err)
}
