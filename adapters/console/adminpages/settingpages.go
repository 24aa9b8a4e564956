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

// SettingCore is what keeps settings: an *app.App.
type SettingCore interface {
	Spec(n tool.Name) (tool.Spec, bool)
	Toolsets() []tool.Toolset
	Settings(ctx context.Context) (app.Settings, error)
	SettingsCall(ctx context.Context, change func(*app.Settings) error) (tool.Call, error)
	PolicyInForce(ctx context.Context) (policy.Resolved, error)
	SessionGrants
}

// SessionGrants are what users said shall always be allowed, in whichever session.
type SessionGrants interface {
	SessionGrants(ctx context.Context) ([]confirm.ListedGrant, error)
	RevokeSessionGrant(ctx context.Context, id, by string) (confirm.ListedGrant, error)
}

// Credentials is what keeps credentials: an *app.Credentials.
type Credentials interface {
	List(ctx context.Context) ([]access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
}

const settingSection = "/settings"

// settingPages are the pages of the settings; New makes them.
type settingPages struct {
	runner      *ui.CallRunner
	core        SettingCore
	credentials Credentials
}

// NewSettingPages returns the pages of that core's settings and of those credentials.
func NewSettingPages(runner *ui.CallRunner, core SettingCore, credentials Credentials) settingPages {
	return settingPages{runner, core, credentials}
}

// Mount adds the pages to a mux, through what lets users in.
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
		ui.Part("Keys", ui.P(ui.Text("A passkey proves that a person approved, in a way that no program of this machine can imitate. "), ui.LinkTo(ui.KeysPath, "Enrol, see and remove keys"))),
		s.allowances(r.Context(), v), modePart(v, now), s.served(), s.entries(r.Context(), v),
	}}.Write(w, http.StatusOK, v)
}

// warning says when a tool is allowed although the level is read-only (product rules: rulings on policy).
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
	return ui.Notice(ui.Warn, ui.P(ui.Text("Allowed although the level is read_only: "+strings.Join(allowed, ", "))))
}

// levels returns the permission levels, in words.
func levels() []ui.Choice {
	return []ui.Choice{{Value: policy.ReadOnly.String(), Text: "read_only: nothing changes"}, {Value: policy.ExecuteWithConfirm.String(), Text: "execute_with_confirm: changes ask"},
		{Value: policy.FullAccess.String(), Text: "full_access: only what wants a name typed asks"}}
}

func levelPart(v httpauth.Identity, now control.PolicyAnswer) ui.Node {
	choices := levels()
	if now.Level == policy.LevelUnset {
		choices = append([]ui.Choice{{Value: "", Text: "nobody has set one: nothing changes"}}, choices...)
	}
	return ui.Part("Permission level", ui.PostForm(v, settingSection+"/level", ui.Hidden("was", now.Level.String()), ui.SelectField("level", "level", "How much any tool may do", now.Level.String(), choices...),
		ui.SubmitButton("Set the level")))
}

// readsPart sets for how long the audit log keeps records of reads.
func readsPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Reads in the audit", ui.P(ui.Text("Records of reads that succeeded without asking are kept "+app.KeptFor(set.KeepReadsDays)+". Everything else is kept for all time. Removals are on record and signed; keeping reads for a shorter time has to be approved.")),
		ui.PostForm(v, settingSection+"/reads", ui.Hidden("was", strconv.Itoa(set.KeepReadsDays)), ui.NumberField("keep-reads", "days", "Days; 0 is for all time", strconv.Itoa(set.KeepReadsDays)),
			ui.SubmitButton("Set how long reads are kept")))
}

func autoPart(v httpauth.Identity, set app.Settings) ui.Node {
	return ui.Part("Answered in advance", ui.P(ui.Text("Simple and preview confirmations of these tools are answered with yes, except where much is at stake. What wants a name typed always asks.")),
		ui.PostForm(v, settingSection+"/auto", ui.Hidden("was", autoWord(set.Auto)), ui.CheckboxField("auto-on", "enabled", "Answer for the tools on the list", set.Auto.Enabled),
			ui.TextareaField("auto-tools", "tools", "Tools, one a line", strings.Join(set.Auto.Tools, "\n")), ui.SubmitButton("Save the list")))
}

// autoWord returns what is answered in advance, as a form carries it.
func autoWord(a policy.AutoApprove) string {
	return strconv.FormatBool(a.Enabled) + " " + strings.Join(a.Tools, " ")
}

func overrides(v httpauth.Identity, set app.Settings) ui.Node {
	var rows []ui.Node
	for _, name := range slices.Sorted(maps.Keys(set.Tools)) {
		rows = append(rows, ui.Row(ui.LinkTo("/tools/"+url.PathEscape(name), name), ui.Text(set.Tools[name].String()),
			ui.ActionForm(v, settingSection+"/tools/"+url.PathEscape(name)+"/reset", "Forget it", "for "+name, ui.Hidden("was", set.Tools[name].String()))))
	}
	return ui.Part("Single tools", ui.DataTable("Tools with a setting of their own", []string{"Tool", "Setting", ""}, rows,
		"Every tool follows the level. The page of a tool has a switch."))
}

// allowances returns the session grants and the dated grants.
func (s settingPages) allowances(ctx context.Context, v httpauth.Identity) ui.Node {
	all, err := s.core.SessionGrants(ctx)
	if err != nil {
		return ui.Part("Always allowed", ui.Problem(fault.From(err)))
	}
	var rows, dated []ui.Node
	for _, g := range all {
		revoke := ui.ActionForm(v, settingSection+"/grants/"+url.PathEscape(g.ID)+"/revoke", "Revoke", strings.TrimSpace("of "+g.Tool+" "+g.About()))
		if d := g.Dated; d != nil {
			used := ui.Node(ui.Text("not yet"))
			if d.Uses > 0 {
				used = ui.Group{ui.LinkTo("/audit?text="+url.QueryEscape(g.ID), number(int(d.Uses))+" times"), ui.Text(", last "), ui.When(d.UsedAt)}
			}
			dated = append(dated, ui.Row(ui.Text(ui.Printable(d.What)), ui.ToolName(g.Tool), ui.Text(open(g)), ui.Text(ui.Printable(strings.TrimSpace(g.By+" "+d.User))), ui.When(g.At), ui.When(g.ExpiresAt), used, revoke))
			continue
		}
		rows = append(rows, ui.Row(ui.ToolName(g.Tool), ui.Text(ui.Printable(either(g.About(), "all of it"))), ui.InlineCode(ui.Printable(g.Session)), ui.Text(g.By), ui.When(g.At), ui.When(g.ExpiresAt), revoke))
	}
	return ui.Group{
		ui.Part("Always allowed", ui.P(ui.Text("A person said so for the rest of the session that asked. It ends with that session; what is revoked is asked about again from the next call on.")),
			ui.DataTable("Always allowed", []string{"Tool", "Of it", "Session", "Allowed by", "Since", "Ends at the latest", ""}, rows, "Nothing: every session asks.")),
		ui.Part("Allowed until a date", ui.P(ui.Text("A person said so of one plan, in any session. It is asked about again as soon as anything that is bound differs, and from the moment it is revoked or has run out.")),
			ui.DataTable("Allowed until a date", []string{"What", "Tool", "Asked by", "Allowed by", "Since", "Until", "Used", ""}, dated, "Nothing."))}
}

// open returns which host entries may use a dated grant, and with which arguments.
func open(g confirm.ListedGrant) string {
	who := "calls that name no agent host"
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
	return ui.Part("Mode of this console", ui.P(ui.Text("Ask refuses changes, plan shows what they would do, execute carries them out. The highest mode here is "+now.Ceiling.String()+
		"; the operator sets it with --max-mode.")),
		ui.Facts(ui.Fact{Name: "The operator's mode", Value: ui.Text(either(now.OperatorMode.String(), "each toolset's own"))},
			ui.Fact{Name: "Always allowed in this console", Value: listedSetting(now.AlwaysAllowed)}),
		ui.PostForm(v, settingSection+"/mode", ui.SelectField("mode", "mode", "Mode of what you do here", either(now.SessionMode.String(), policy.Execute.String()),
			ui.Choice{Value: "ask", Text: "ask"}, ui.Choice{Value: "plan", Text: "plan"}, ui.Choice{Value: "execute", Text: "execute"}), ui.SubmitButton("Set the mode")))
}

func (s settingPages) served() ui.Node {
	var rows []ui.Node
	for _, t := range s.core.Toolsets() {
		rows = append(rows, ui.Row(ui.InlineCode(t.Name), ui.Text(number(len(t.Served))), ui.Text(either(t.ServedWith, "–"))))
	}
	return ui.Part("Toolsets", ui.DataTable("Toolsets", []string{"Toolset", "Tools served", "Served with"}, rows, "None."))
}

func (s settingPages) entries(ctx context.Context, v httpauth.Identity) ui.Node {
	all, err := s.credentials.List(ctx)
	if err != nil {
		return ui.Part("Who may come in", ui.Problem(fault.From(err)))
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
	return ui.Part("Who may come in", ui.P(ui.Text("A program needs a token. What is revoked is over at once; the audit names who approved something by the id of the browser.")), tokenForm(v),
		ui.DataTable("Credentials", []string{"Name", "Id", "Kind", "Reaches", "Made", "Last used", "Ends", ""}, rows, "Nobody, over the network."))
}

func ends(t time.Time) ui.Node {
	if t.IsZero() {
		return ui.Text("when it is revoked")
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
		words = append(words, "reading only")
	}
	if s.Ceiling != policy.ModeUnset {
		words = append(words, "up to mode "+s.Ceiling.String())
	}
	return strings.Join(words, "; ")
}

func listedSetting(words []string) ui.Node {
	if len(words) == 0 {
		return ui.Text("nothing")
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
