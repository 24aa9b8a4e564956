package adminpages

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/access"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// SettingCore reads and changes the settings: an *app.App.
type SettingCore interface {
	Spec(n tool.Name) (tool.Spec, bool)
	Toolsets() []tool.Toolset
	Settings(ctx context.Context) (app.Settings, error)
	SettingsCall(ctx context.Context, change func(*app.Settings) error) (tool.Call, error)
	PolicyInForce(ctx context.Context) (policy.Resolved, error)
	SessionGrants
}

// SessionGrants lists and revokes the session grants and dated grants of all sessions.
type SessionGrants interface {
	SessionGrants(ctx context.Context) ([]confirm.ListedGrant, error)
	RevokeSessionGrant(ctx context.Context, id, by string) (confirm.ListedGrant, error)
}

// Credentials lists and revokes credentials: an *app.Credentials.
type Credentials interface {
	List(ctx context.Context) ([]access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
}

const settingSection = "/settings"

// settingPages provides the settings pages. Create it with NewSettingPages.
type settingPages struct {
	runner      *ui.CallRunner
	core        SettingCore
	credentials Credentials
}

// NewSettingPages returns the settings pages of that core and those credentials.
func NewSettingPages(runner *ui.CallRunner, core SettingCore, credentials Credentials) settingPages {
	return settingPages{runner, core, credentials}
}

// Mount adds the pages to a mux, behind the authentication of users.
func (s settingPages) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET /settings", person(s.show))
	mux.Handle("POST /settings/level", person(s.level))
	mux.Handle("POST /settings/approval", person(s.approval))
	mux.Handle("POST /settings/ceiling", person(s.ceiling))
	mux.Handle("POST /settings/require", person(s.require))
	mux.Handle("POST /settings/forms", person(s.forms))
	mux.Handle("POST /settings/reads", person(s.reads))
	mux.Handle("POST /settings/tokens", person(s.token))
	mux.Handle("POST /settings/auto", person(s.auto))
	mux.Handle("POST /settings/tools/{name}/reset", person(s.reset))
	mux.Handle("POST /settings/mode", person(s.mode))
	mux.Handle("POST /settings/grants/{id}/revoke", person(s.again))
	mux.Handle("POST /settings/credentials/{id}/revoke", person(s.revoke))
}

func (s settingPages) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	var now control.PolicyAnswer
	if err := s.runner.Read(r.Context(), v, control.GetPolicy.Name, nil, &now); err != nil {
		settingFail(w, v, err)
		return
	}
	set, err := s.core.Settings(r.Context())
	if err != nil {
		settingFail(w, v, err)
		return
	}
	rules, err := s.core.PolicyInForce(r.Context())
	if err != nil {
		settingFail(w, v, err)
		return
	}
	ui.Page{Title: "Settings", Section: settingSection, Notice: ui.Group{changed(r), s.runner.Notice(r), warning(now, set)}, Body: []ui.Node{
		layers(rules), approvalPart(v, set, rules), levelPart(v, now), ceilingPart(v, set), requirePart(v, set), formsPart(v, set), readsPart(v, set), autoPart(v, set), overrides(v, set),
		ui.Part("Keys", ui.P(ui.Text("A passkey proves that a person approved. No program on this machine can imitate it. "), ui.LinkTo(ui.KeysPath, "Manage keys"))),
		s.allowances(r.Context(), v), modePart(v, now), s.served(), s.entries(r.Context(), v),
	}}.Write(w, http.StatusOK, v)
}

// warning returns a message if a tool is allowed although the permission level is read_only; nil otherwise.
func warning(now control.PolicyAnswer, set app.Settings) ui.Node {
	var allowed []string
	for _, name := range slices.Sorted(maps.Keys(set.Tools)) {
		if set.Tools[name] == policy.Allowed {
			allowed = append(allowed, name)
		}
	}
	if now.Level != policy.ReadOnly || len(allowed) == 0 {
		return nil
	}
	return ui.Notice(ui.Warn, ui.P(ui.Text("Allowed despite permission level read_only: "+strings.Join(allowed, ", "))))
}

// levels returns the permission levels, in words.
func levels() []ui.Choice {
	return []ui.Choice{{Value: policy.ReadOnly.String(), Text: "read_only: no changes"}, {Value: policy.ExecuteWithConfirm.String(), Text: "execute_with_confirm: changes ask for approval"},
		{Value: policy.FullAccess.String(), Text: "full_access: asks only where a name must be typed"}}
}

func levelPart(v httpauth.Identity, now control.PolicyAnswer) ui.Node {
	choices := levels()
	if now.Level == policy.LevelUnset {
		choices = append([]ui.Choice{{Value: "", Text: "Not set: no changes allowed"}}, choices...)
	}
	return ui.Part("Permission level", ui.PostForm(v, settingSection+"/level", ui.Hidden("was", now.Level.String()), ui.SelectField("level", "level", "Permission level", now.Level.String(), choices...),
		ui.SubmitButton("Set permission level")))
}

// readsPart returns the form that sets how long the audit log keeps records of reads.
func readsPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Audit retention", ui.P(ui.Text("Records of successful reads that needed no approval are kept "+app.KeptFor(set.KeepReadsDays)+". All other records are kept for all time. Removals are recorded and signed. A shorter retention needs approval.")),
		ui.PostForm(v, settingSection+"/reads", ui.Hidden("was", strconv.Itoa(set.KeepReadsDays)), ui.NumberField("keep-reads", "days", "Days (0: for all time)", strconv.Itoa(set.KeepReadsDays)),
			ui.SubmitButton("Set audit retention")))
}

func autoPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Auto-approve", ui.P(ui.Text("Calls to these tools run without asking, except high-risk calls and calls that ask you to type a name.")),
		ui.PostForm(v, settingSection+"/auto", ui.Hidden("was", autoWord(set.Auto)), ui.CheckboxField("auto-on", "enabled", "Auto-approve these tools", set.Auto.Enabled),
			ui.TextareaField("auto-tools", "tools", "Tools, one per line", strings.Join(set.Auto.Tools, "\n")), ui.SubmitButton("Save auto-approve list")))
}

// autoWord returns an auto-approve list as the value of a form field.
func autoWord(a policy.AutoApprove) string {
	return strconv.FormatBool(a.Enabled) + " " + strings.Join(a.Tools, " ")
}

func overrides(v httpauth.Identity, set app.Settings) ui.Node {
	var rows []ui.Node
	for _, name := range slices.Sorted(maps.Keys(set.Tools)) {
		rows = append(rows, ui.Row(ui.LinkTo("/tools/"+url.PathEscape(name), name), ui.Text(set.Tools[name].String()),
			ui.ActionForm(v, settingSection+"/tools/"+url.PathEscape(name)+"/reset", "Reset", "for "+name, ui.Hidden("was", set.Tools[name].String()))))
	}
	return ui.Part("Tool overrides", ui.DataTable("Tool overrides", []string{"Tool", "Setting", ""}, rows,
		"No overrides. To override the permission level, use the setting on a tool's page."))
}

// allowances returns the session grants and the dated grants.
func (s settingPages) allowances(ctx context.Context, v httpauth.Identity) ui.Node {
	all, err := s.core.SessionGrants(ctx)
	if err != nil {
		return ui.Part("Session grants", ui.Problem(fault.From(err)))
	}
	var rows, dated []ui.Node
	for _, g := range all {
		revoke := ui.ActionForm(v, settingSection+"/grants/"+url.PathEscape(g.ID)+"/revoke", "Revoke", strings.TrimSpace("of "+g.Tool+" "+g.About()))
		if d := g.Dated; d != nil {
			used := ui.Node(ui.Text("never"))
			if d.Uses > 0 {
				used = ui.Group{ui.LinkTo("/audit?text="+url.QueryEscape(g.ID), ui.Count(int(d.Uses), "time", "times")), ui.Text(", last "), ui.When(d.UsedAt)}
			}
			dated = append(dated, ui.Row(ui.Text(ui.Printable(d.What)), ui.ToolName(g.Tool), ui.Text(open(g)), ui.Text(ui.Printable(strings.TrimSpace(g.By+" "+d.User))), ui.When(g.At), ui.When(g.ExpiresAt), used, revoke))
			continue
		}
		rows = append(rows, ui.Row(ui.ToolName(g.Tool), ui.Text(ui.Printable(either(g.About(), "any"))), ui.InlineCode(ui.Printable(g.Session)), ui.Text(g.By), ui.When(g.At), ui.When(g.ExpiresAt), revoke))
	}
	return ui.Group{
		ui.Part("Session grants", ui.P(ui.Text("Session grants end with their session, or after 12 hours. After you revoke one, the next call asks again.")),
			ui.DataTable("Session grants", []string{"Tool", "Arguments", "Session", "Given by", "Created", "Expires", ""}, rows, "No session grants.")),
		ui.Part("Dated grants", ui.P(ui.Text("A dated grant allows one plan in every session until it expires. Calls ask again when a bound part of the plan differs, or after you revoke the grant.")),
			ui.DataTable("Dated grants", []string{"Plan", "Tool", "Clients", "Given by", "Created", "Expires", "Used", ""}, dated, "No dated grants."))}
}

// open returns which host entries may use a dated grant, and with which arguments.
func open(g confirm.ListedGrant) string {
	who := "clients without an agent host"
	switch {
	case g.Dated.AnyEntry:
		who = "any agent host"
	case g.Dated.Entry != "":
		who = ui.Printable(g.Dated.Entry)
	}
	if g.Dated.AnyArgs {
		return who + ", with any arguments"
	}
	return who + ", with these arguments"
}

func modePart(v httpauth.Identity, now control.PolicyAnswer) ui.Node {
	return ui.Part("Console mode", ui.P(ui.Text("ask denies changes, plan previews them, and execute runs them. The maximum mode is "+now.Ceiling.String()+
		"; to change it, start the server with --max-mode.")),
		ui.Facts(ui.Fact{Name: "Server mode", Value: ui.Text(either(now.OperatorMode.String(), "toolset default"))},
			ui.Fact{Name: "Session grants", Value: listedSetting(now.AlwaysAllowed)}),
		ui.PostForm(v, settingSection+"/mode", ui.SelectField("mode", "mode", "Console mode", either(now.SessionMode.String(), policy.Execute.String()),
			ui.Choice{Value: "ask", Text: "ask"}, ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}), ui.SubmitButton("Set console mode")))
}

func (s settingPages) served() ui.Node {
	var rows []ui.Node
	for _, t := range s.core.Toolsets() {
		rows = append(rows, ui.Row(ui.InlineCode(t.Name), ui.Text(number(len(t.Served))), ui.Text(either(t.ServedWith, "–"))))
	}
	return ui.Part("Toolsets", ui.DataTable("Toolsets", []string{"Toolset", "Enabled tools", "Enabled with"}, rows, "No toolsets."))
}

func (s settingPages) entries(ctx context.Context, v httpauth.Identity) ui.Node {
	all, err := s.credentials.List(ctx)
	if err != nil {
		return ui.Part("Credentials", ui.Problem(fault.From(err)))
	}
	var rows []ui.Node
	for _, c := range all {
		name := ui.Group{ui.Text(ui.Printable(c.Name))}
		if c.ID == v.Credential {
			name = append(name, ui.Text(" "), ui.Badge(ui.Plain, "this browser"))
		}
		rows = append(rows, ui.Row(name, ui.InlineCode(c.ID), ui.Text(c.Kind.String()), ui.Text(reach(c.Scope)), ui.When(c.CreatedAt), ui.When(c.UsedAt), ends(c.ExpiresAt),
			ui.ActionForm(v, settingSection+"/credentials/"+url.PathEscape(c.ID)+"/revoke", "Revoke", c.Kind.String()+" "+c.Name)))
	}
	return ui.Part("Credentials", ui.P(ui.Text("Programs need an access token. Revoking takes effect immediately. The audit log names the browser of each decision by its ID.")), tokenForm(v),
		ui.DataTable("Credentials", []string{"Name", "ID", "Kind", "Scope", "Created", "Last used", "Expires", ""}, rows, "No credentials."))
}

func ends(t time.Time) ui.Node {
	if t.IsZero() {
		return ui.Text("when revoked")
	}
	return ui.When(t)
}

// reach returns a scope in words.
func reach(s access.Scope) string {
	words := []string{"all toolsets"}
	if len(s.Toolsets) > 0 {
		words[0] = strings.Join(s.Toolsets, ", ")
	}
	if s.ReadOnly {
		words = append(words, "read-only")
	}
	if s.Ceiling != policy.ModeUnset {
		words = append(words, "maximum mode "+s.Ceiling.String())
	}
	return strings.Join(words, "; ")
}

func listedSetting(words []string) ui.Node {
	if len(words) == 0 {
		return ui.Text("none")
	}
	return ui.Ul(ui.Map(words, func(word string) ui.Node { return ui.Li(ui.Text(word)) }))
}

func either(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

func number(n int) string { return strconv.Itoa(n) }

func settingFail(w http.ResponseWriter, v httpauth.Identity, err error) {
	ui.Fail(w, v, settingSection, present.HTTPStatus(fault.From(err).Kind), err)
}
